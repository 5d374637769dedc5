//! How far every peer was sent this program's inputs.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use super::packet_rate::PacketRate;
use super::relay::Relay;
use crate::{Member, PeerId, Tick};

/// Turns that are repeated where every third packet or more is lost.
pub(super) const MAX_REPEATED_TURNS: usize = 12;

/// Which inputs were sent to whom.
#[derive(Debug, Default)]
pub(super) struct Broadcast {
    pub(super) cursors: BTreeMap<PeerId, Cursor>,
    pub(super) relay: Relay,
    /// Where the newest turns of this program begin.
    turns: VecDeque<Tick>,
    /// This program has announced who comes and goes: it may be the only one who knows.
    pub(super) has_announced: bool,
    /// Some peer may not have been sent everything.
    pub(super) unsent: bool,
    /// How often batches are sent; with every turn if there is none.
    pub(super) rate: Option<PacketRate>,
    /// Memory to encode inputs into.
    pub(super) scratch: Vec<u8>,
    /// Memory to list ranges of ticks and the peers to send them to.
    pub(super) receivers: Vec<(Tick, Tick, PeerId)>,
}

/// How far a peer was sent this program's inputs, and what it last reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    incarnation: u64,
    pub(super) sent: Tick,
    /// It is known to know everything before this tick.
    pub(super) acknowledged: Tick,
    /// Ticks by which the peer's machine is behind what it could have simulated.
    pub(super) behind: u64,
}

impl Broadcast {
    /// A turn was closed.
    pub(super) fn on_turn(&mut self, begin: Tick, has_news: bool, packets: u32) {
        if let Some(rate) = &mut self.rate {
            rate.on_turn(has_news, packets);
        }
        if self.turns.len() > MAX_REPEATED_TURNS {
            self.turns.pop_front();
        }
        self.turns.push_back(begin);
        self.unsent = true;
    }

    /// Where the last `turns` turns before a tick begin.
    pub(super) fn turns_before(&self, tick: Tick, turns: usize) -> Tick {
        let before = self.turns.iter().rev().filter(|begin| **begin < tick);
        before.take(turns).last().copied().unwrap_or(tick)
    }

    /// A peer has a state that contains everything sent before a tick.
    pub(super) fn set_sent(&mut self, peer: PeerId, incarnation: u64, sent: Tick) {
        let cursor = Cursor {
            incarnation,
            sent,
            acknowledged: sent,
            behind: 0,
        };
        self.cursors.insert(peer, cursor);
        self.hurry();
    }

    /// Batches without inputs are this far apart.
    pub(super) fn set_interval(&mut self, interval: Duration) {
        self.rate = Some(PacketRate::new(interval));
    }

    /// The next batch does not wait.
    pub(super) fn hurry(&mut self) {
        if let Some(rate) = &mut self.rate {
            rate.hurry();
        }
    }

    /// The longest time from one batch to the next; none where one is sent with every turn.
    pub(super) fn longest_wait(&self) -> Duration {
        let rate = self.rate.as_ref();
        rate.map_or(Duration::ZERO, PacketRate::longest_wait)
    }

    /// Whether to send batches now, if there are any.
    pub(super) fn is_due(&mut self, now: Duration) -> bool {
        let rate = self.rate.as_mut();
        rate.is_none_or(|rate| rate.is_due(now))
    }

    /// What all these peers are known to know; `None` where batches are sent with every turn.
    pub(super) fn acknowledged_by(&self, peers: impl Iterator<Item = PeerId>) -> Option<Tick> {
        self.rate.as_ref()?;
        let cursors = peers.map(|peer| self.cursors.get(&peer));
        let acknowledged = cursors.map(|cursor| cursor.map_or(Tick(0), |it| it.acknowledged));
        acknowledged.min()
    }

    /// The cursor of a member; one that is new, or back in another incarnation, is sent everything from `first` on.
    pub(super) fn cursor(&mut self, member: &Member, first: Tick) -> &mut Cursor {
        let incarnation = member.incarnation;
        let cursor = self.cursors.entry(member.peer).or_insert(Cursor {
            incarnation,
            sent: first,
            acknowledged: first,
            behind: 0,
        });
        if cursor.incarnation != incarnation {
            (cursor.incarnation, cursor.sent) = (incarnation, first);
            cursor.acknowledged = first;
        }
        cursor
    }

    /// A peer requests what was sent from a tick on. False if it is unknown.
    pub(super) fn resend_to(&mut self, peer: PeerId, from: Tick) -> bool {
        let Some(cursor) = self.cursors.get_mut(&peer) else {
            return false;
        };
        cursor.sent = cursor.sent.min(from);
        cursor.acknowledged = cursor.acknowledged.min(from);
        self.unsent = true;
        self.hurry();
        true
    }

    /// Everything from a tick on is sent again to all.
    pub(super) fn resend_from(&mut self, tick: Tick) {
        for cursor in self.cursors.values_mut() {
            cursor.sent = cursor.sent.min(tick);
        }
        self.unsent = true;
        self.hurry();
    }

    /// Nothing before a tick is sent to anybody.
    pub(super) fn skip_to(&mut self, tick: Tick) {
        for cursor in self.cursors.values_mut() {
            cursor.sent = cursor.sent.max(tick);
        }
    }

    pub(super) fn retain(&mut self, here: impl Fn(PeerId) -> bool) {
        self.cursors.retain(|peer, _| here(*peer));
        self.relay.retain(here);
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn member(incarnation: u64) -> Member {
        Member {
            peer: PeerId(1),
            players: Vec::new(),
            in_sync: true,
            away: false,
            watches: false,
            incarnation,
            latency: Duration::ZERO,
            loss: 0,
        }
    }

    #[test]
    fn a_peer_that_is_back_is_sent_everything_again() {
        let mut broadcast = Broadcast::default();
        broadcast.cursor(&member(1), Tick(5)).sent = Tick(50);
        assert_eq!(broadcast.cursor(&member(1), Tick(5)).sent, Tick(50));
        assert_eq!(broadcast.cursor(&member(2), Tick(30)).sent, Tick(30));
        broadcast.skip_to(Tick(40));
        assert!(!broadcast.unsent && broadcast.resend_to(PeerId(1), Tick(35)));
        assert!(broadcast.unsent && !broadcast.resend_to(PeerId(9), Tick(0)));
        broadcast.resend_from(Tick(38));
        assert_eq!(broadcast.cursors[&PeerId(1)].sent, Tick(35));
        broadcast.retain(|_| false);
        assert!(broadcast.cursors.is_empty());
    }

    #[test]
    fn the_newest_turns_are_remembered() {
        let mut broadcast = Broadcast::default();
        assert_eq!(broadcast.turns_before(Tick(9), 3), Tick(9));
        for begin in (0..100).step_by(5) {
            broadcast.on_turn(Tick(begin), false, 1);
        }
        assert_eq!(broadcast.turns_before(Tick(90), 3), Tick(75));
        assert_eq!(broadcast.turns_before(Tick(90), 100), Tick(35));
    }
}
