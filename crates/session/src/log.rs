//! The numbered changes of a room: what an entry is, how a room follows the log, and what a host keeps of it.

use std::collections::VecDeque;

use samestep_wire::{Wire, encode_to_vec};

use crate::agreement::{Entry as Agreed, NextView};
use crate::id::PeerId;
use crate::room::{Change, Presence, Room};

/// Denied actions of each peer that are remembered.
const DENIED: usize = 128;
/// Changes kept for those that lag behind; who lags further must join anew.
pub(crate) const KEPT: usize = 4096;

/// One numbered change. Its index follows from its place.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Entry {
    /// The proposal it answers.
    pub(crate) origin: Option<Origin>,
    pub(crate) change: Change,
}

/// Whose proposal, and which of that peer's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Origin {
    pub(crate) peer: PeerId,
    pub(crate) lane: Lane,
    #[wire(varint)]
    pub(crate) number: u32,
}

/// A game may take its time to decide about an action; the room's own affairs do not wait for that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Wire)]
pub(crate) enum Lane {
    /// Who comes, who is ready, what things are called.
    House,
    /// What the game decides.
    Action,
}

/// The log of a hosted room: every entry counts as soon as it is there. A host keeps the last ones for guests that return.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostLog {
    /// The index before the first entry that is kept, and what all entries up to there come to.
    base: u64,
    base_chain: u64,
    entries: VecDeque<Entry>,
    /// What all entries come to: who has the same has the same log.
    chain: u64,
}

/// What a log comes to with one more entry: a hash of all of them (FNV-1a).
fn link(chain: u64, entry: &Entry) -> u64 {
    let bytes = encode_to_vec(entry).unwrap_or_default();
    let chained = chain.to_le_bytes().into_iter().chain(bytes);
    chained.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl HostLog {
    /// A log whose entries up to an index are not kept.
    pub(crate) fn after(base: u64) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    /// A log with these last entries, the last of which has this index.
    pub(crate) fn of(last: u64, chain: u64, entries: Vec<Entry>) -> Self {
        let mut log = Self {
            base: last.saturating_sub(entries.len() as u64),
            base_chain: chain,
            entries: VecDeque::new(),
            chain,
        };
        for entry in entries {
            log.append(entry);
        }
        log
    }

    /// What all entries come to.
    pub(crate) fn chain(&self) -> u64 {
        self.chain
    }

    /// What the entries up to an index come to, if that is known.
    pub(crate) fn chain_at(&self, index: u64) -> Option<u64> {
        let count = index.checked_sub(self.base)?;
        let count = usize::try_from(count).ok()?;
        let known = count <= self.entries.len();
        let entries = self.entries.iter().take(count);
        known.then(|| entries.fold(self.base_chain, link))
    }

    /// Up to so many of the last entries, and what all before them come to.
    pub(crate) fn last_entries(&self, most: usize) -> (u64, Vec<Entry>) {
        let skip = self.entries.len().saturating_sub(most);
        let before = self.entries.iter().take(skip);
        let chain = before.fold(self.base_chain, link);
        (chain, self.entries.iter().skip(skip).cloned().collect())
    }

    /// The index of the last entry.
    pub(crate) fn last(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    /// Adds an entry and returns its index.
    pub(crate) fn append(&mut self, entry: Entry) -> u64 {
        self.chain = link(self.chain, &entry);
        self.entries.push_back(entry);
        self.last()
    }

    /// Up to `most` entries after an index.
    pub(crate) fn entries_after(&self, index: u64, most: usize) -> Vec<Entry> {
        let skip = index.saturating_sub(self.base) as usize;
        self.entries.iter().skip(skip).take(most).cloned().collect()
    }

    /// Forgets all but the last `keep` entries.
    pub(crate) fn trim(&mut self, keep: usize) {
        while self.entries.len() > keep {
            if let Some(entry) = self.entries.pop_front() {
                self.base_chain = link(self.base_chain, &entry);
            }
            self.base += 1;
        }
    }
}

impl Room {
    /// Remembers that a proposal became a change.
    pub(crate) fn settle(&mut self, entry: &Entry) {
        if let Some(origin) = entry.origin
            && let Some(peer) = self.peer_mut(origin.peer)
        {
            if entry.change == Change::Denial {
                if peer.denied.len() == DENIED {
                    peer.denied.remove(0);
                }
                peer.denied.push(origin.number);
            }
            let settled = &mut peer.settled[origin.lane as usize];
            *settled = origin.number.max(*settled);
        }
    }

    /// What another view means for the members: who is in it is in sync, who is no longer in it is away.
    pub(crate) fn changes_of_view(&self, next: &NextView) -> Vec<Change> {
        let decides = |peer: &crate::room::PeerInfo| {
            let mut members = next.members.iter();
            members.any(|m| m.slot.0 == peer.id.0 && m.incarnation == peer.incarnation)
        };
        let presence = self.peers().iter().filter_map(|info| {
            let peer = info.id;
            match (decides(info), info.presence) {
                (true, Presence::Loading | Presence::Away) => Some(Change::InSync { peer }),
                (false, Presence::InSync) => Some(Change::Away { peer }),
                _ => None,
            }
        });
        let mut changes: Vec<Change> = presence.collect();
        let breaks_ties = |m: &&crate::agreement::Member| m.incarnation == next.tie_breaker;
        if let Some(member) = next.members.iter().find(breaks_ties) {
            let peer = PeerId(member.slot.0);
            changes.push(Change::TieBreaker { peer });
        }
        changes
    }

    /// Follows an entry of a mesh's log, telling nobody.
    pub(crate) fn follow(&mut self, index: u64, entry: &Agreed<Entry>) {
        match entry {
            Agreed::Command { command, .. } => {
                self.apply(index, &command.change);
                self.settle(command);
            }
            Agreed::Next(next) => {
                for change in self.changes_of_view(next) {
                    self.apply(index, &change);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_keeps_the_last_entries() {
        let mut log = HostLog::after(10);
        let entry = Entry {
            origin: None,
            change: Change::Rematch,
        };
        for at in 11..=20 {
            assert_eq!(log.append(entry.clone()), at);
        }
        log.trim(4);
        let all = log.chain();
        assert!(log.chain_at(16).is_some() && log.chain_at(20) == Some(all));
        assert!(log.chain_at(15).is_none() && log.chain_at(21).is_none());
        let (before, last) = log.last_entries(3);
        let same = HostLog::of(20, before, last);
        assert_eq!((same.last(), same.chain()), (20, all));
        assert_eq!(log.entries_after(18, 64).len(), 2);
    }
}
