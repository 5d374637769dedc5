//! The flush of a departed input source, as in view synchrony (Birman and Joseph 1987).
//!
//! Some peers have received more of it than others, and may have simulated on that. So every peer sends the authority what it has received,
//! and the authority sends everyone the whole, and where it ends: all go on with the same inputs.

use core::time::Duration;
use std::collections::BTreeSet;

use super::message::{InputBatch, Message};
use super::send::SENT_BACK;
use super::{FREEZE_THRESHOLD, Lockstep};
use crate::timeline::{Change, SourceId};
use crate::{Delivery, PeerId, Tick};

/// How often a peer that has not answered is asked again.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// A flush that is under way.
#[derive(Debug, Default)]
pub(super) struct Flush {
    answered: BTreeSet<PeerId>,
    next_request: Duration,
}

impl Flush {
    /// A peer has sent what it knows, or knows nothing more.
    pub(super) fn on_answer(&mut self, peer: PeerId) {
        self.answered.insert(peer);
    }

    /// Another peer leads the flush: answers to the one before may be lost.
    pub(super) fn on_new_authority(&mut self) {
        *self = Flush::default();
    }

    /// Whether those who have not answered are to be asked now.
    fn asks(&mut self, now: Duration) -> bool {
        let asks = now >= self.next_request;
        if asks {
            self.next_request = now + ASK_EVERY;
        }
        asks
    }
}

impl Lockstep {
    /// The authority looks for sources whose peers are gone, or are back in another incarnation.
    pub(super) fn find_departed(&mut self) {
        let Some(roster) = &self.room.roster else {
            return;
        };
        if roster.me != roster.authority {
            return;
        }
        let is_sequenced = self.room.is_sequenced();
        let gone = self.sources.known.keys().filter(|id| {
            let member = roster.member(id.peer);
            let is_here =
                member.is_some_and(|member| member.in_sync && member.incarnation == id.incarnation);
            !is_here || (is_sequenced && id.peer != roster.authority)
        });
        let gone: Vec<SourceId> = gone.copied().collect();
        for id in gone {
            self.sources.depart(id);
        }
    }

    /// The authority goes on with all flushes.
    pub(super) fn poll_flushes(&mut self, now: Duration) {
        if self.sources.departed.is_empty() || !self.room.is_authority() {
            return;
        }
        let departed: Vec<SourceId> = self.sources.departed.keys().copied().collect();
        for id in departed {
            self.poll_flush(now, id);
        }
    }

    /// Ends a source once all have answered, else asks those who have not.
    fn poll_flush(&mut self, now: Duration, id: SourceId) {
        let knows_all = self.knows_all();
        let Some(flush) = self.sources.departed.get_mut(&id) else {
            return;
        };
        let others = self
            .room
            .others()
            .filter(|peer| !peer.away && !peer.watches);
        let silent = others.map(|member| member.peer);
        let silent = silent.filter(|peer| !knows_all && !flush.answered.contains(peer));
        let silent: Vec<PeerId> = silent.collect();
        if !silent.is_empty() {
            if flush.asks(now) {
                tracing::debug!(peer = %id.peer, unanswered = silent.len(), "flush requested");
                let message = Message::Flush(id);
                message.push_to(&mut self.outbox, silent, Delivery::ReliableOrdered);
            }
            return self.timers.wake_at(now + ASK_EVERY);
        }
        self.announce_absences(id);
        let mut entries = Vec::new();
        let batch = self.known_batch(id, &mut entries);
        let end = batch.to;
        self.send_to_all(now, &Message::Flushed { batch });
        self.end_source(now, id, end);
    }

    /// Whether this is a host that relayed all inputs from the beginning: it knows the most itself.
    fn knows_all(&self) -> bool {
        self.room.is_hub() && self.room.always_led
    }

    /// The authority announces which players of a departed source may come back; the others are gone for good.
    fn announce_absences(&mut self, id: SourceId) {
        let end = self.known_upto_of(id);
        for player in self.sources.players_of(id) {
            if self.room.keeps_place_of(*player) {
                self.timeline.change(end, Change::Away(*player));
            }
        }
    }

    /// The authority flushes a source: this program no longer takes its batches and sends what it knows of it.
    pub(super) fn on_flush(&mut self, id: SourceId) {
        if let Some(authority) = self.room.authority() {
            self.sources.depart(id);
            self.send_flush_reply(authority, id);
        }
    }

    /// Sends the authority what is known of a departed source.
    pub(super) fn send_flush_reply(&mut self, authority: PeerId, id: SourceId) {
        let mut entries = Vec::new();
        let batch = self.known_batch(id, &mut entries);
        let message = Message::FlushReply { batch };
        self.send(authority, Delivery::ReliableOrdered, &message);
    }

    /// The newest inputs of a source, back to where no peer that still follows can be.
    fn known_batch<'a>(&self, id: SourceId, entries: &'a mut Vec<u8>) -> InputBatch<'a> {
        let to = self.known_upto_of(id);
        let from = Tick(to.0.saturating_sub(SENT_BACK));
        let from = from.max(self.timeline.base()).min(to);
        self.encode_inputs_of(id, from, to, usize::MAX, entries);
        self.batch_of(id, from, to, entries)
    }

    /// A peer sends the authority what it knows of a departed source.
    pub(super) fn on_flush_reply(
        &mut self,
        now: Duration,
        from: PeerId,
        batch: &InputBatch<'_>,
    ) -> Option<()> {
        if !self.room.is_authority() {
            return Some(());
        }
        let source = self.sources.known.get(&batch.source)?;
        if let Some(end) = source.end {
            // The flush is over already, and this peer has missed it.
            self.send_flushed(now, from, batch.source, end);
        } else if !self.sources.departed.contains_key(&batch.source) {
            // An authority before this one had begun the flush, and the source came back.
            let message = Message::FlushCancelled(batch.source);
            self.send(from, Delivery::ReliableOrdered, &message);
        } else if self.knows_all() {
            // Nobody was asked.
        } else if batch.from > source.known_upto && !self.may_be_corrected() {
            return None;
        } else if batch.from > source.known_upto {
            // The peer no longer has the inputs between, but its state contains them: everyone goes on from that state.
            self.transfer.requested_from = Some(from);
            self.request_state(from, self.simulated.confirmed_tick);
        } else {
            // What a departed authority said last, others may know alone.
            let announced = source.announcing.has_announced();
            self.insert_batch(batch, announced || !self.announces_in_turn())?;
            if let Some(flush) = self.sources.departed.get_mut(&batch.source) {
                flush.on_answer(from);
            }
            self.timers.wake_at(now);
        }
        Some(())
    }

    /// Tells a peer that has missed it how a source ended.
    pub(super) fn send_flushed(&mut self, now: Duration, to: PeerId, id: SourceId, end: Tick) {
        let mut entries = Vec::new();
        let mut batch = self.known_batch(id, &mut entries);
        batch.to = end;
        self.send_when_allowed(now, to, &Message::Flushed { batch });
    }

    /// The authority tells how a departed source ends.
    pub(super) fn on_flushed(&mut self, now: Duration, batch: &InputBatch<'_>) -> Option<()> {
        let source = self.sources.known.get(&batch.source)?;
        if source.end.is_some() {
            return Some(());
        }
        if batch.from > source.known_upto {
            // Too many inputs are missing to follow.
            let authority = self.room.authority()?;
            self.request_state(authority, self.simulated.confirmed_tick);
            return Some(());
        }
        self.insert_batch(batch, true)?;
        self.end_source(now, batch.source, batch.to);
        Some(())
    }

    fn end_source(&mut self, now: Duration, id: SourceId, end: Tick) {
        let Some((players, knew_more)) = self.sources.end(id, end) else {
            return;
        };
        tracing::debug!(peer = %id.peer, tick = end.0, "input source flushed");
        if self.room.is_sequenced() {
            if let Some(next) = self.room.authority_source() {
                self.sources.insert(next, end, Vec::new());
                let attendance = self.attendance_at_end();
                self.sources.set_announced(&attendance);
                // The first turns of a new authority are late for a reason that does not last.
                self.timers.frozen_until = now + FREEZE_THRESHOLD;
                self.broadcast.resend_from(end);
            }
        } else {
            if knew_more {
                // Nobody whose answer counts had received that.
                self.timeline.forget_between(end, Tick(u64::MAX), &players);
                if let Some(authority) = self.room.authority()
                    && self.simulated.confirmed_tick > end
                {
                    self.desync.state_is_wrong = true;
                    self.request_state(authority, Tick(0));
                }
            }
            for player in players {
                if !self.timeline.changes(end).contains(&Change::Away(player)) {
                    self.timeline.change(end, Change::Leave(player));
                }
            }
        }
        self.retry_early_batches(now);
        self.timers.wake_at(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_have_not_answered_are_asked_again_and_by_a_new_authority_at_once() {
        let mut flush = Flush::default();
        assert!(flush.asks(Duration::from_millis(10)));
        assert!(!flush.asks(Duration::from_millis(500)));
        assert!(flush.asks(Duration::from_millis(1010)));
        flush.on_answer(PeerId(3));
        flush.on_new_authority();
        assert!(flush.answered.is_empty() && flush.asks(Duration::from_millis(1020)));
    }
}
