//! The numbered changes of a room, and how far they are certain.

use std::borrow::Cow;
use std::collections::VecDeque;

use samestep_wire::Wire;

use crate::control::Introduced;
use crate::id::PeerId;
use crate::room::{Change, Presence, Room};

/// Denied actions of each peer that are remembered.
const DENIED: usize = 128;
/// Changes kept for members that lag behind; who lags further must join anew.
pub(crate) const KEPT: usize = 4096;

/// One numbered change. Its index follows from its place.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Entry {
    /// The reign of the authority that wrote it.
    #[wire(varint)]
    pub(crate) term: u32,
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

/// A place in the log: by index, and by the term of the entry there, which together name all that went before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub(crate) struct Position {
    #[wire(varint)]
    pub(crate) index: u64,
    #[wire(varint)]
    pub(crate) term: u32,
}

impl Position {
    /// Whether a log that ends here holds everything one that ends at `other` can have made certain.
    pub(crate) fn covers(self, other: Self) -> bool {
        (self.term, self.index) >= (other.term, other.index)
    }
}

/// The log. Entries up to `committed` are certain and have been applied to the room; later ones may yet be replaced by
/// those of another authority.
#[derive(Debug)]
pub(crate) struct Log {
    /// The position before the first kept entry.
    base: Position,
    entries: VecDeque<Entry>,
    committed: u64,
}

impl Log {
    /// A log whose entries up to `base` are certain and not kept.
    pub(crate) fn after(base: Position) -> Self {
        Self {
            base,
            entries: VecDeque::new(),
            committed: base.index,
        }
    }

    /// A log that holds these entries, all of them certain.
    pub(crate) fn with_history(base: Position, history: Vec<Entry>) -> Self {
        Self {
            base,
            committed: base.index + history.len() as u64,
            entries: history.into(),
        }
    }

    /// The last certain entries, at most `most`, and what they follow.
    pub(crate) fn history(&self, most: usize) -> (Position, Vec<Entry>) {
        let index = self
            .committed
            .saturating_sub(most as u64)
            .max(self.base.index);
        let term = self.term_at(index).unwrap_or(0);
        let count = (self.committed - index) as usize;
        (Position { index, term }, self.entries_after(index, count))
    }

    pub(crate) fn last(&self) -> Position {
        Position {
            index: self.base.index + self.entries.len() as u64,
            term: self.entries.back().map_or(self.base.term, |e| e.term),
        }
    }

    /// The index before the first entry that is kept.
    pub(crate) fn first(&self) -> u64 {
        self.base.index
    }

    pub(crate) fn committed(&self) -> u64 {
        self.committed
    }

    /// Adds an entry at the end and returns its index.
    pub(crate) fn append(&mut self, entry: Entry) -> u64 {
        self.entries.push_back(entry);
        self.last().index
    }

    /// The entry at an index, if it is still kept.
    pub(crate) fn entry(&self, index: u64) -> Option<&Entry> {
        let at = index.checked_sub(self.base.index + 1)?;
        self.entries.get(at as usize)
    }

    /// The term at an index, if known.
    pub(crate) fn term_at(&self, index: u64) -> Option<u32> {
        if index == self.base.index {
            return Some(self.base.term);
        }
        self.entry(index).map(|e| e.term)
    }

    /// Whether this log has that very history.
    pub(crate) fn contains(&self, position: Position) -> bool {
        self.term_at(position.index) == Some(position.term)
    }

    /// Those who have joined after an index.
    pub(crate) fn joined_after(&self, index: u64) -> Vec<Introduced> {
        let skip = index.saturating_sub(self.base.index) as usize;
        let later = self.entries.iter().skip(skip);
        let joined = later.filter_map(|entry| match &entry.change {
            Change::Joined(newcomer) => Some(Introduced {
                peer: newcomer.peer,
                key: newcomer.key,
            }),
            _ => None,
        });
        joined.collect()
    }

    /// Up to `most` entries after an index.
    pub(crate) fn entries_after(&self, index: u64, most: usize) -> Vec<Entry> {
        let skip = index.saturating_sub(self.base.index) as usize;
        self.entries.iter().skip(skip).take(most).cloned().collect()
    }

    /// Takes entries that follow `previous`, replacing uncertain ones that differ. Returns the index up to which this log
    /// now equals the sender's, or `None` if it does not hold `previous`, or would have to give up something certain.
    pub(crate) fn merge(&mut self, previous: Position, entries: Vec<Entry>) -> Option<u64> {
        if previous.index < self.base.index {
            // What was applied and forgotten is certain, so it was the same.
            let known = (self.base.index - previous.index) as usize;
            if entries.len() <= known {
                return Some(previous.index + entries.len() as u64);
            }
            let rest = entries.into_iter().skip(known).collect();
            return self.merge(self.base, rest);
        }
        if !self.contains(previous) {
            return None;
        }
        let mut index = previous.index;
        for entry in entries {
            index += 1;
            match self.term_at(index) {
                Some(term) if term == entry.term => {}
                Some(_) if index <= self.committed => return None,
                Some(_) => {
                    self.entries
                        .truncate((index - 1 - self.base.index) as usize);
                    self.append(entry);
                }
                None => {
                    self.append(entry);
                }
            }
        }
        Some(index)
    }

    /// The next entry to apply, if everything up to `certain` is certain.
    pub(crate) fn commit_next(&mut self, certain: u64) -> Option<(u64, Entry)> {
        if self.committed >= certain.min(self.last().index) {
            return None;
        }
        self.committed += 1;
        let entry = self.entry(self.committed)?.clone();
        Some((self.committed, entry))
    }

    /// Forgets certain entries beyond what laggards may need, the last `keep`.
    pub(crate) fn trim(&mut self, keep: usize) {
        while self.entries.len() > keep && self.base.index < self.committed {
            if let Some(entry) = self.entries.pop_front() {
                self.base = Position {
                    index: self.base.index + 1,
                    term: entry.term,
                };
            }
        }
    }

    /// Drops what never became certain.
    pub(crate) fn forget_uncertain(&mut self) {
        self.entries
            .truncate((self.committed - self.base.index) as usize);
    }

    fn uncertain(&self) -> impl Iterator<Item = &Entry> {
        let skip = (self.committed - self.base.index) as usize;
        self.entries.iter().skip(skip)
    }

    /// Whose acknowledgements count, by the newest word about it, also if that is not certain yet.
    pub(crate) fn voters(&self, room: &Room) -> Vec<PeerId> {
        let mut voters = room.voters();
        if !room.is_mesh() {
            return voters;
        }
        for entry in self.uncertain() {
            match &entry.change {
                Change::InSync { peer } if !voters.contains(peer) => voters.push(*peer),
                Change::Away { peer } | Change::Left { peer, .. } => voters.retain(|v| v != peer),
                _ => {}
            }
        }
        voters.sort_unstable();
        voters
    }

    /// Whether a change of voters is under way: the next must wait, so that any two majorities have a member in common.
    pub(crate) fn voters_changing(&self, room: &Room) -> bool {
        room.is_mesh() && self.uncertain().any(|e| e.change.changes_voters(room))
    }

    /// The last of a peer's proposals that became a change, certain or not.
    pub(crate) fn settled(&self, room: &Room, peer: PeerId, lane: Lane) -> u32 {
        let certain = room.peer(peer).map_or(0, |p| p.settled[lane as usize]);
        self.uncertain()
            .filter_map(|e| e.origin)
            .filter(|origin| origin.peer == peer && origin.lane == lane)
            .map(|origin| origin.number)
            .fold(certain, u32::max)
    }

    /// Whether actions have been decided that have not taken place yet.
    pub(crate) fn has_uncertain_commands(&self) -> bool {
        self.uncertain()
            .any(|e| matches!(e.change, Change::Command { .. }))
    }

    /// Whether somebody is being sent away.
    pub(crate) fn sends_away(&self) -> bool {
        self.uncertain().any(|e| e.change.sends_away())
    }

    /// Whether the password is being changed.
    pub(crate) fn changes_password(&self) -> bool {
        self.uncertain()
            .any(|e| matches!(e.change, Change::Password { .. }))
    }

    /// Whether the leader has announced that the room is closed.
    pub(crate) fn announces_close(&self) -> bool {
        self.uncertain()
            .any(|e| matches!(e.change, Change::Closed { .. }))
    }

    /// What the room will say of a peer's presence once everything is certain; `None` if it will not be there.
    pub(crate) fn presence(&self, room: &Room, peer: PeerId) -> Option<Presence> {
        let mut presence = room.peer(peer).map(|p| p.presence);
        for entry in self.uncertain() {
            match &entry.change {
                Change::Joined(newcomer) if newcomer.peer == peer => {
                    presence = Some(Presence::Loading);
                }
                Change::Returned { peer: p, .. } if *p == peer => {
                    presence = Some(Presence::Loading)
                }
                Change::InSync { peer: p } if *p == peer => presence = Some(Presence::InSync),
                Change::Away { peer: p } if *p == peer => presence = Some(Presence::Away),
                Change::Left { peer: p, .. } if *p == peer => presence = None,
                _ => {}
            }
        }
        presence
    }

    /// The room as it will be once everything is certain: what the authority decides by.
    pub(crate) fn expected<'a>(&self, room: &'a Room) -> Cow<'a, Room> {
        let mut expected = Cow::Borrowed(room);
        let mut index = self.committed;
        for entry in self.uncertain() {
            index += 1;
            expected.to_mut().apply(index, &entry.change);
            expected.to_mut().settle(entry);
        }
        expected
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
}

/// Whether these members may decide for all of `voters`: more than half, or half with the one that breaks ties.
pub(crate) fn is_quorum(
    voters: &[PeerId],
    tie_breaker: PeerId,
    with: impl Fn(PeerId) -> bool,
) -> bool {
    let agreeing = voters.iter().filter(|v| with(**v)).count();
    agreeing * 2 > voters.len()
        || (agreeing * 2 == voters.len() && voters.contains(&tie_breaker) && with(tie_breaker))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(term: u32) -> Entry {
        Entry {
            term,
            origin: None,
            change: Change::Rematch,
        }
    }

    fn log(terms: &[u32]) -> Log {
        let mut log = Log::after(Position::default());
        for term in terms {
            log.append(entry(*term));
        }
        log
    }

    fn at(index: u64, term: u32) -> Position {
        Position { index, term }
    }

    #[test]
    fn a_gap_is_refused_and_an_overlap_is_not_taken_twice() {
        let mut log = log(&[1, 1]);
        assert_eq!(log.merge(at(3, 1), vec![entry(1)]), None);
        assert_eq!(log.merge(at(1, 1), vec![entry(1), entry(1)]), Some(3));
        assert_eq!(log.last(), at(3, 1));
    }

    #[test]
    fn a_later_reign_replaces_what_is_uncertain() {
        let mut log = log(&[1, 1, 1]);
        while log.commit_next(1).is_some() {}
        assert_eq!(log.merge(at(1, 1), vec![entry(2)]), Some(2));
        assert_eq!(log.last(), at(2, 2));
    }

    #[test]
    fn what_is_certain_stays() {
        let mut log = log(&[1, 1, 1]);
        while log.commit_next(3).is_some() {}
        assert_eq!(log.merge(at(1, 1), vec![entry(2)]), None);
        assert_eq!(log.last(), at(3, 1));
    }

    #[test]
    fn old_entries_are_forgotten_and_still_recognised() {
        let mut log = log(&[1; KEPT + 10]);
        while log.commit_next(u64::MAX).is_some() {}
        log.trim(KEPT);
        assert_eq!(log.entry(5), None);
        let end = KEPT as u64 + 10;
        let again = vec![entry(1); KEPT + 11];
        assert_eq!(log.merge(Position::default(), again), Some(end + 1));
    }

    #[test]
    fn of_two_halves_one_goes_on() {
        let four: Vec<PeerId> = (0..4).map(PeerId).collect();
        let low = |p: PeerId| p.0 < 2;
        let high = |p: PeerId| p.0 >= 2;
        assert!(is_quorum(&four, PeerId(1), low));
        assert!(!is_quorum(&four, PeerId(1), high));
        assert!(is_quorum(&four, PeerId(9), |p| p.0 < 3));
        assert!(!is_quorum(&four, PeerId(9), low));
    }
}
