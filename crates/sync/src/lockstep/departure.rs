//! How a departed input source ends, at the same tick for everyone.
//!
//! In a mesh the room decides it when it excludes the member (`cut.rs`): a copy holds the source back when it is asked to, says what it has, and ends
//! it where the cut says. In a hosted room guests know what the host has relayed and nothing else: the host ends a source where its own knowledge ends, and
//! tells the others.

use core::time::Duration;

use super::message::{Bytes, InputBatch, Message, MessageField};
use super::send::SENT_BACK;
use super::{FREEZE_THRESHOLD, Lockstep};
use crate::cut::{Cut, Departing, Held};
use crate::timeline::{Change, SourceId};
use crate::{PeerId, Tick};

/// What a copy hands over of one source, in bytes: the oldest items are left out.
const MAX_HELD_BYTES: usize = 1 << 20;
/// Cuts that are remembered, for sources that are announced or taken over with a state later.
const MAX_CUTS: usize = 64;

impl Lockstep {
    /// Looks for sources whose peers are gone, or are back in another incarnation: in a mesh everyone does, elsewhere the authority.
    pub(super) fn find_departed(&mut self) {
        let Some(roster) = &self.room.roster else {
            return;
        };
        let (is_mesh, authority) = (roster.is_mesh, roster.authority);
        if !is_mesh && roster.me != authority {
            // What a former host found out alone does not count: the present one says who is gone.
            return self.sources.set_departed(|_| false);
        }
        let is_former = self.room.is_sequenced() && !is_mesh;
        let gone = |id: &SourceId| {
            let member = roster.member(id.peer);
            let is_here =
                member.is_some_and(|member| member.in_sync && member.incarnation == id.incarnation);
            !is_here || (is_former && id.peer != authority)
        };
        self.sources.set_departed(gone);
    }

    /// The room is about to exclude these: their batches are not taken from now on, those of all others are. Tells what is known of them.
    pub(super) fn hold_sources(&mut self, now: Duration, departing: &[Departing]) -> Vec<Held> {
        self.sources.held = departing
            .iter()
            .map(
                |Departing {
                     peer, incarnation, ..
                 }| SourceId {
                    peer: *peer,
                    incarnation: *incarnation,
                },
            )
            .collect();
        self.find_departed();
        self.retry_early_batches(now);
        self.timers.wake_at(now);
        let held = departing.iter().filter_map(|asked| {
            let id = SourceId {
                peer: asked.peer,
                incarnation: asked.incarnation,
            };
            let source = self.sources.known.get(&id)?;
            Some(Held {
                peer: asked.peer,
                last: source.known_upto.0,
                items: self.items_of(id, Tick(asked.above), source.known_upto),
            })
        });
        held.collect()
    }

    /// What is known of a source, by tick: as much as is kept, no more than is sent back to anybody, and from a tick on.
    fn items_of(&self, id: SourceId, above: Tick, to: Tick) -> Vec<Vec<u8>> {
        let kept = self
            .timeline
            .base()
            .max(Tick(to.0.saturating_sub(SENT_BACK)));
        let begun = self.sources.known.get(&id).map_or(to, |source| source.from);
        let from = above.max(kept).max(begun);
        let (mut items, mut entries, mut bytes) = (Vec::new(), Vec::new(), 0);
        for tick in (from.0..to.0).rev().map(Tick) {
            self.encode_inputs_of(id, tick, tick.next(), usize::MAX, &mut entries);
            let mut batch = self.batch_of(id, tick, tick.next(), &entries);
            if tick.next() < to {
                // The last one tells all that was announced for later ticks.
                batch.changes.retain(|(at, _)| *at == tick);
            }
            let mut item = Vec::new();
            batch.write(&mut item);
            bytes += item.len();
            if bytes > MAX_HELD_BYTES {
                break;
            }
            items.push(item);
        }
        items.reverse();
        items
    }

    /// Another view is in force: the sources of those whom it excludes end, now or as soon as they are announced, and all others are released.
    pub(super) fn on_cuts(&mut self, now: Duration, cuts: &[Cut]) {
        for cut in cuts {
            let id = SourceId {
                peer: cut.peer,
                incarnation: cut.incarnation,
            };
            if self.sources.cuts.len() >= MAX_CUTS {
                self.sources.cuts.pop_front();
            }
            self.sources.cuts.push_back((id, cut.clone()));
        }
        self.apply_cuts(now);
        self.sources.held.clear();
        self.find_departed();
        self.retry_early_batches(now);
        self.timers.wake_at(now);
    }

    /// Ends the sources that are known by now, and that the room has cut.
    pub(super) fn apply_cuts(&mut self, now: Duration) {
        let sources = &self.sources;
        let is_due = |id: &SourceId| sources.known.get(id).is_some_and(|s| s.end.is_none());
        let due = sources.cuts.iter().filter(|(id, _)| is_due(id)).cloned();
        let due: Vec<(SourceId, Cut)> = due.collect();
        for (id, cut) in due {
            self.apply_cut(now, id, &cut);
        }
    }

    fn apply_cut(&mut self, now: Duration, id: SourceId, cut: &Cut) {
        let Some(source) = self.sources.known.get(&id) else {
            return;
        };
        let end = cut.last.map_or(source.known_upto, Tick).max(source.from);
        // What an authority said last, others may know alone; nobody else is believed about who comes and goes.
        let believes =
            cut.was_authority || source.announcing.has_announced() || !self.announces_in_turn();
        let first = end.0.saturating_sub(cut.items.len() as u64);
        for (tick, item) in (first..).map(Tick).zip(&cut.items) {
            let known = self.known_upto_of(id);
            if tick != known {
                continue;
            }
            let batch = InputBatch::read(&mut Bytes(item));
            let batch = batch.filter(|b| (b.source, b.from, b.to) == (id, tick, tick.next()));
            let taken = batch.and_then(|batch| {
                if self.room.is_sequenced() {
                    self.initiative.holder = batch.initiative;
                }
                self.insert_batch(&batch, believes)
            });
            if taken.is_none() {
                // Somebody made it up: everyone goes on without.
                self.stats.refused += 1;
                self.sources.skip(id, tick.next());
            }
        }
        if self.known_upto_of(id) < end {
            // More is missing than anybody hands over: another's state has it.
            self.request_other_state(self.simulated.confirmed_tick);
        }
        let heir = cut
            .heir
            .map(|(peer, incarnation)| SourceId { peer, incarnation });
        if !self.room.is_sequenced() {
            let absent = |player| match cut.keeps_place {
                true => Change::Away(player),
                false => Change::Leave(player),
            };
            let gone = self.sources.absent_from(id, end);
            for player in self.sources.players_of(id).to_vec() {
                self.timeline.change(gone, absent(player));
            }
        }
        self.end_source(now, id, end, heir);
    }

    /// Requests the state of the authority or, if this is the authority, of another member.
    fn request_other_state(&mut self, tick: Tick) {
        let another = || {
            let mut others = self.room.others().filter(|m| m.in_sync && !m.watches);
            others.next().map(|member| member.peer)
        };
        let Some(from) = self.room.other_authority().or_else(another) else {
            return;
        };
        if self.room.is_authority() {
            self.transfer.requested_from = Some(from);
        }
        self.request_state(from, tick);
    }

    /// A host ends the sources of those who are gone.
    pub(super) fn end_departed(&mut self, now: Duration) {
        if self.sources.departed.is_empty() || self.room.is_mesh() || !self.room.is_authority() {
            return;
        }
        for id in self.sources.departed.clone() {
            let end = self.known_upto_of(id);
            let gone = self.sources.absent_from(id, end);
            for player in self.sources.players_of(id) {
                if self.may_return(*player) {
                    self.timeline.change(gone, Change::Away(*player));
                }
            }
            let mut entries = Vec::new();
            let batch = self.last_batch(id, &mut entries);
            self.send_to_all(now, &Message::SourceEnd { batch });
            self.end_source(now, id, end, self.room.authority_source());
        }
    }

    /// The newest inputs of a source, back to where no peer that still follows can be.
    fn last_batch<'a>(&self, id: SourceId, entries: &'a mut Vec<u8>) -> InputBatch<'a> {
        let to = self.known_upto_of(id);
        let from = Tick(to.0.saturating_sub(SENT_BACK));
        let from = from.max(self.timeline.base()).min(to);
        self.encode_inputs_of(id, from, to, usize::MAX, entries);
        self.batch_of(id, from, to, entries)
    }

    /// Tells a peer that has missed it how a source ended.
    pub(super) fn send_source_end(&mut self, now: Duration, to: PeerId, id: SourceId) {
        let mut entries = Vec::new();
        let batch = self.last_batch(id, &mut entries);
        self.send_when_allowed(now, to, &Message::SourceEnd { batch });
    }

    /// The authority tells how a departed source ends. In a mesh it tells only who asks, and what the room has decided.
    pub(super) fn on_source_end(&mut self, now: Duration, batch: &InputBatch<'_>) -> Option<()> {
        let source = self.sources.known.get(&batch.source)?;
        if source.end.is_some_and(|end| source.known_upto >= end) {
            return Some(());
        }
        if self.room.is_mesh() && self.sources.active(batch.source).is_some() {
            return None;
        }
        if batch.from > source.known_upto {
            // Too many inputs are missing to follow.
            let authority = self.room.authority()?;
            self.request_state(authority, self.simulated.confirmed_tick);
            return Some(());
        }
        self.insert_batch(batch, true)?;
        self.end_source(now, batch.source, batch.to, self.room.authority_source());
        Some(())
    }

    /// Ends a source. Where one peer sequences, the next goes on from there.
    fn end_source(&mut self, now: Duration, id: SourceId, end: Tick, next: Option<SourceId>) {
        let Some((players, knew_more)) = self.sources.end(id, end) else {
            return;
        };
        tracing::debug!(peer = %id.peer, tick = end.0, "input source ended");
        if knew_more {
            // Nobody whose answer counts had received that.
            let forgotten = match self.room.is_sequenced() {
                true => self.room.players(),
                false => players.clone(),
            };
            self.timeline
                .forget_between(end, Tick(u64::MAX), &forgotten);
            if self.simulated.confirmed_tick > end {
                self.desync.state_is_wrong = true;
                self.request_other_state(Tick(0));
            }
        }
        if self.room.is_sequenced() {
            if let Some(next) = next {
                self.sources.insert(next, end, Vec::new());
                self.follow_sequencer();
                let attendance = self.attendance_at_end();
                self.sources.set_announced(&attendance);
                // The first turns of a new authority are late for a reason that does not last.
                self.timers.frozen_until = now + FREEZE_THRESHOLD;
                self.broadcast.resend_from(end);
            }
        } else {
            let gone = self.sources.absent_from(id, end);
            for player in players {
                if !self.timeline.changes(gone).contains(&Change::Away(player)) {
                    self.timeline.change(gone, Change::Leave(player));
                }
            }
        }
        self.retry_early_batches(now);
        self.timers.wake_at(now);
    }

    /// Where one member of a mesh sequences the inputs of all, it does so until the room excludes it, also if another leads meanwhile: a source ends
    /// with a view, not with a leader.
    pub(super) fn follow_sequencer(&mut self) {
        let going_on = self.sources.known.iter().find(|(_, s)| s.end.is_none());
        let sequencer = going_on.map(|(id, _)| id.peer);
        let sequences = self.room.is_mesh() && self.room.is_sequenced();
        if let (Some(roster), Some(peer), true) = (&mut self.room.roster, sequencer, sequences) {
            roster.authority = peer;
        }
    }
}
