//! The relay of a host: each guest gets the input batches of all others, once a tick, in one packet if they fit.

use core::time::Duration;
use std::collections::BTreeMap;

use super::Lockstep;
use super::message::{Message, RelayedBatches, SPLIT_BYTES};
use super::send::{ONE_PACKET_BYTES, SENT_BACK};
use crate::timeline::SourceId;
use crate::{Delivery, PeerId, Tick};

/// A longer batch goes by itself.
const LONG_BYTES: usize = 300;
/// Ticks that one source may be behind another in one packet.
const MAX_BEHIND: u64 = 60;

/// How far every guest was sent the inputs of every source.
#[derive(Debug, Default)]
pub(super) struct Relay {
    sent: BTreeMap<(SourceId, PeerId), Tick>,
    /// The next packets go out no earlier: the batches of one tick share a packet.
    next: Duration,
    /// Memory to write a packet into.
    packet: Vec<u8>,
}

impl Relay {
    /// A guest has a state that contains the inputs of a source up to a tick.
    pub(super) fn set_sent(&mut self, source: SourceId, peer: PeerId, upto: Tick) {
        self.sent.insert((source, peer), upto);
    }

    /// When the batches that have arrived since the last packets go out.
    pub(super) fn next(&self) -> Duration {
        self.next
    }

    /// A guest requests the inputs of a source from a tick on.
    pub(super) fn resend_to(&mut self, source: SourceId, peer: PeerId, from: Tick) {
        if let Some(sent) = self.sent.get_mut(&(source, peer)) {
            *sent = from.min(*sent);
        }
    }

    pub(super) fn retain(&mut self, here: impl Fn(PeerId) -> bool) {
        self.sent.retain(|(_, peer), _| here(*peer));
    }
}

impl Lockstep {
    /// The host sends every guest the batches of the others.
    pub(super) fn relay_batches(&mut self, now: Duration) {
        let is_turn = self.broadcast.unsent && self.broadcast.rate.is_none();
        let is_due = now >= self.broadcast.relay.next || is_turn;
        if !self.room.is_hub() || !self.room.is_authority() || !is_due {
            return;
        }
        self.broadcast.relay.next = now + self.schedule.tick_time;
        let (base, mut at) = (self.timeline.base(), 0);
        while let Some(roster) = &self.room.roster
            && let Some(member) = roster.members.get(at)
        {
            at += 1;
            let (peer, in_sync, watches) = (member.peer, member.in_sync, member.watches);
            if Some(peer) != self.room.me() {
                self.relay_to(now, peer, in_sync, watches, base);
            }
        }
        self.send_acknowledgements();
        let sources = &self.sources.known;
        let relay = &mut self.broadcast.relay;
        relay.sent.retain(|(id, _), _| sources.contains_key(id));
    }

    /// Sends a guest the batches of the others: in one packet, as far as they fit.
    fn relay_to(&mut self, now: Duration, peer: PeerId, in_sync: bool, watches: bool, base: Tick) {
        let repeated = self.repeated_turns(core::iter::once(peer)) as u64;
        let mut packet = core::mem::take(&mut self.broadcast.relay.packet);
        let mut entries = core::mem::take(&mut self.broadcast.scratch);
        let (mut begun, mut last) = (None, None);
        while let Some(id) = self.sources.after(last) {
            last = Some(id);
            let Some(source) = self.sources.known.get(&id).filter(|_| id.peer != peer) else {
                continue;
            };
            // A guest without a state is sent what follows the state that it gets.
            let has_state = in_sync || self.broadcast.relay.sent.contains_key(&(id, peer));
            if Some(id.peer) == self.room.me() || !has_state {
                continue;
            }
            let (known, begins) = (source.known_upto, source.from);
            let first = Tick(known.0.saturating_sub(SENT_BACK)).max(begins);
            let until = match watches {
                true => self.delayed_upto(now, known),
                false => known,
            };
            let sent = self.broadcast.relay.sent.entry((id, peer)).or_insert(first);
            if *sent >= until {
                continue;
            }
            let from = core::mem::replace(sent, until).max(base);
            let again = Tick(from.0.saturating_sub(repeated)).max(begins).max(base);
            let end = self.encode_inputs_of(id, again, until, SPLIT_BYTES, &mut entries);
            let is_long = end < until || entries.len() > LONG_BYTES;
            // Ticks are counted from one that is before all batches of the packet.
            let fits = !is_long && {
                let begin = *begun.get_or_insert_with(|| {
                    packet.clear();
                    let begin = Tick(again.0.saturating_sub(MAX_BEHIND));
                    let predicting = self.simulated.predicting;
                    RelayedBatches::begin(self.schedule.offset, predicting, begin, &mut packet);
                    begin
                });
                let fits = again >= begin && packet.len() + entries.len() <= ONE_PACKET_BYTES;
                if fits {
                    RelayedBatches::add(&mut packet, begin, id, (again, until), &entries);
                }
                fits
            };
            if !fits {
                self.broadcast.receivers.push((from, until, peer));
                self.send_to_receivers(id);
            }
        }
        if begun.is_some() {
            let message = Message::RelayedBatches(RelayedBatches::encoded(&packet));
            self.send(peer, Delivery::Unreliable, &message);
        }
        (self.broadcast.relay.packet, self.broadcast.scratch) = (packet, entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resend_request_moves_back_one_guest_and_one_source() {
        let id = |peer| SourceId {
            peer: PeerId(peer),
            incarnation: 1,
        };
        let mut relay = Relay::default();
        relay.set_sent(id(1), PeerId(2), Tick(50));
        relay.set_sent(id(1), PeerId(3), Tick(50));
        relay.resend_to(id(1), PeerId(2), Tick(40));
        relay.resend_to(id(1), PeerId(2), Tick(60));
        relay.resend_to(id(9), PeerId(2), Tick(0));
        assert_eq!(relay.sent[&(id(1), PeerId(2))], Tick(40));
        assert_eq!(relay.sent[&(id(1), PeerId(3))], Tick(50));
        relay.retain(|peer| peer == PeerId(3));
        assert_eq!(relay.sent.len(), 1);
    }
}
