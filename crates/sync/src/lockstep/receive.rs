//! Handling the messages of other peers.

use core::time::Duration;

use super::Lockstep;
use super::announcing::Judgement;
use super::desync::MAX_CHECKS_BEYOND;
use super::message::{Fixed, InputBatch, Message};
use crate::timeline::Change;
use crate::{Delivery, PeerId};

/// How often a resend of the same source is requested.
const RESEND_REQUEST_EVERY: Duration = Duration::from_millis(100);
/// How far a source may be ahead of the simulation, in ticks.
pub(super) const MAX_TICKS_AHEAD: u64 = 36_000;
/// A report on a late batch goes out after this time at the latest.
const REPORT_LATE_AFTER: Duration = Duration::from_millis(50);

impl Lockstep {
    /// Handles a message; `None` if it makes no sense, or its sender may not send it.
    pub(super) fn handle(&mut self, now: Duration, from: PeerId, bytes: &[u8]) -> Option<()> {
        let source = self.room.source_id(from)?;
        if self.room.is_hub() {
            let patience = self.config.patience;
            self.substitution.on_message(now, source, patience);
        }
        let message = Message::read(bytes)?;
        let roster = self.room.roster.as_ref()?;
        let (authority, me, sender) = (roster.authority, roster.me, roster.member(from)?);
        if !self.permits(sender, &message) {
            return None;
        }
        match message {
            Message::InputBatch(batch) => self.take_or_keep_batch(now, from, &batch)?,
            Message::RelayedBatches(batches) => batches.each(|batch| {
                let is_others = batch.source.peer != me;
                is_others.then(|| self.take_or_keep_batch(now, from, &batch))?
            })?,
            Message::Inputs(entries) => {
                let theirs = &sender.players;
                let (initiative, pending) = (&self.initiative, &mut self.pending);
                let mut refused = 0;
                entries.each(|_, player, input| {
                    let may = theirs.contains(&player) && initiative.may_act(player);
                    refused += u64::from(!may || !pending.push(player, input));
                })?;
                self.stats.inputs_refused += refused;
            }
            Message::EndTurn(player) => {
                if self.initiative.holder != Some(player) {
                    return None;
                }
                self.initiative.turn_ended = true;
                self.timers.wake_at(now);
            }
            Message::Report(report) => self.on_report(now, from, report),
            Message::DelayAnnouncement(announced) => self.on_delay_announced(from, announced)?,
            Message::RelayedReport { source, report } => {
                if self.sources.active(source).is_some() && source.peer != from {
                    let message = Message::Report(report);
                    self.send(source.peer, Delivery::Unreliable, &message);
                }
            }
            Message::Checksum {
                tick,
                checksum: Fixed(checksum),
            } => {
                let (confirmed, interval) =
                    (self.simulated.confirmed_tick, self.simulated.check_interval);
                if self.simulated.is_check(tick) {
                    let last = confirmed + MAX_CHECKS_BEYOND * interval;
                    self.desync.on_checksum(now, from, tick, checksum, last);
                }
            }
            Message::ResendRequest { source, from: tick } => {
                let known = self.sources.known.get(&source);
                let end = known.and_then(|source| source.end);
                let knows_end = known.is_some_and(|s| end.is_some_and(|end| s.known_upto >= end));
                if knows_end && me == authority {
                    self.send_source_end(now, from, source);
                } else if tick < self.timeline.base() {
                    // These inputs are forgotten: only the whole state helps.
                    let request = Message::StateRequest { tick };
                    self.queue_for_world(now, from, &request.write());
                } else if source.peer != me {
                    self.broadcast.relay.resend_to(source, from, tick);
                    self.timers.wake_at(now);
                } else if self.broadcast.resend_to(from, tick) {
                    self.timers.wake_at(now);
                }
            }
            Message::SourceEnd { batch } => self.on_source_end(now, &batch)?,
            Message::InputAck(acknowledgement) => self.on_input_ack(&acknowledgement),
            Message::InputSubstitution {
                substitutions,
                batch,
            } => self.on_substitution(now, substitutions, &batch)?,
            Message::SubstitutionAck {
                substitutions,
                resume,
            } => self.on_substitution_ack(now, from, substitutions, resume)?,
            Message::Replacement { tick, checkpoint } => {
                if tick >= self.simulated.confirmed_tick {
                    self.timeline.set_replacement(tick, checkpoint.into());
                    self.timers.wake_at(now);
                }
            }
            Message::Repaired { tick, description } => self.on_repaired(from, tick, description),
            Message::Checkpoint(_) => {
                if self.transfer.requested_from == Some(from) {
                    self.transfer.requested_from = None;
                }
                self.queue_for_world(now, from, bytes);
            }
            Message::DesyncNotice { .. } => {
                self.desync.state_is_wrong = true;
                self.queue_for_world(now, from, bytes);
            }
            Message::ChecksumTree { .. } | Message::StateRequest { .. } | Message::Rows { .. } => {
                self.queue_for_world(now, from, bytes)
            }
        }
        Some(())
    }

    /// Takes a batch, or keeps it until the batches before it have arrived.
    fn take_or_keep_batch(
        &mut self,
        now: Duration,
        from: PeerId,
        batch: &InputBatch<'_>,
    ) -> Option<()> {
        if self.take_batch(now, batch, true)? {
            self.retry_early_batches(now);
            if self.stall.current.is_some() {
                self.timers.wake_at(now);
            } else if self.schedule.game_delay.is_some() && self.room.is_hub() {
                // What is relayed sooner need not be delayed for as long.
                self.timers.wake_at(self.broadcast.relay.next().max(now));
            }
        } else {
            let encoded = || Message::InputBatch(batch.clone()).write();
            let relays = self.room.is_hub() && self.room.authority() == Some(from);
            self.sources.keep_early(from, relays, encoded);
        }
        Some(())
    }

    /// Takes a batch; false if inputs before it are missing. `is_fresh` unless it had to wait here.
    fn take_batch(
        &mut self,
        now: Duration,
        batch: &InputBatch<'_>,
        is_fresh: bool,
    ) -> Option<bool> {
        let id = batch.source;
        let is_authority = id.peer == self.room.authority()?;
        if self.room.is_sequenced() && !is_authority {
            return None;
        }
        if !self.sources.known.contains_key(&id) {
            // The announcement of the source has not arrived yet, or it begins where all others have ended.
            let announced = batch
                .changes
                .iter()
                .find(|(_, change)| matches!(change, Change::Source(source, _) if *source == id));
            let announced = announced.map(|(tick, _)| *tick);
            match self.sources.all_ended_at() {
                Some(end) if is_authority && announced == Some(end) => {
                    self.sources.insert(id, end, Vec::new());
                }
                _ => return Some(false),
            }
        }
        let is_departed = self.sources.departed.contains(&id);
        let (announces, has_news) = (self.may_announce(id), self.has_new_changes(batch));
        let source = self.sources.known.get_mut(&id)?;
        let is_gone = is_departed || source.end.is_some();
        let known = source.known_upto;
        if batch.from > known {
            if now >= source.next_resend_request && !is_gone {
                // More packets in a row were lost than a batch repeats.
                source.next_resend_request = now
                    + match self.simulated.prediction {
                        Some(_) => self.schedule.tick_time,
                        None => RESEND_REQUEST_EVERY,
                    };
                source.requested_from = Some(known);
                self.request_resend(id, known);
            }
            return Some(false);
        }
        let max = self.simulated.confirmed_tick.0 + MAX_TICKS_AHEAD;
        if batch.to.0 > max || is_gone || batch.to <= known || self.substitution.awaits_answer(id) {
            return Some(true);
        }
        let changes = source.announcing.judge(now, announces, has_news);
        match changes {
            Judgement::Wait => return Some(false),
            Judgement::Refuse => self.stats.refused += 1,
            Judgement::Believe => {}
        }
        // A resent batch, and one that waited for it, is later than its path takes.
        let was_requested = source.requested_from.take().is_some();
        self.on_schedule_offset(batch.schedule_offset, is_authority);
        if is_authority && self.simulated.prediction.is_some() {
            self.set_predicting(now, batch.predicting);
        }
        if is_fresh && !was_requested {
            self.note_slack(now, batch);
        }
        self.insert_batch(batch, changes == Judgement::Believe)?;
        self.substitution.on_input(now, id);
        if !batch.changes.is_empty() {
            // The room may have ended a source that is announced only now.
            self.apply_cuts(now);
        }
        if self.room.is_sequenced() {
            self.stats.turn_length = batch.to.since(known.max(batch.from));
            self.initiative.holder = batch.initiative;
        }
        Some(true)
    }

    /// Follows the schedule offset of the authority; in a mesh that of whoever has waited longest.
    fn on_schedule_offset(&mut self, offset: Duration, is_authority: bool) {
        let follows = match self.room.is_sequenced() || self.room.is_hub() {
            true => is_authority,
            false => offset > self.schedule.offset,
        };
        if !follows {
            return;
        }
        if let Some(by) = self.schedule.follow(offset).filter(|by| !by.is_zero()) {
            self.sources.reset_slack();
            self.stall.on_offset_grown(by);
        }
    }

    /// Measures by how much a batch arrived early.
    fn note_slack(&mut self, now: Duration, batch: &InputBatch<'_>) {
        if self.schedule.game_delay.is_some() {
            return self.note_transit(now, batch);
        }
        let Some(source) = self.sources.known.get(&batch.source) else {
            return;
        };
        let first = batch.from.max(source.known_upto);
        let Some(slack) = self.schedule.slack_us(now, first) else {
            return;
        };
        // Batches of long ago and those that waited here rather than on their path are not measured.
        let is_frozen = now < self.timers.frozen_until;
        if is_frozen || self.stall.catching_up || first < self.simulated.confirmed_tick {
            return;
        }
        self.stats.slack_us += (slack - self.stats.slack_us) / 8;
        let allowance = self.lateness_allowance().as_micros() as i64;
        if !self.predicts() {
            self.schedule.playout_delay.on_arrival(now, slack);
        }
        if let Some(source) = self.sources.known.get_mut(&batch.source) {
            source.slack.add(slack, first);
            if slack < -allowance {
                let soon = now + REPORT_LATE_AFTER;
                self.timers.next_report = self.timers.next_report.min(soon);
            }
        }
    }

    /// Adds the inputs of a batch that are not known yet to the timeline, and who comes and goes if its source is believed about that.
    pub(super) fn insert_batch(
        &mut self,
        batch: &InputBatch<'_>,
        believes_changes: bool,
    ) -> Option<()> {
        let known = self.sources.known.get(&batch.source)?.known_upto;
        // The changes come first: they tell whose inputs the batch may hold.
        for (tick, change) in &batch.changes {
            if *tick < self.simulated.confirmed_tick || !believes_changes {
                continue;
            }
            if let Change::Source(id, players) = change {
                self.sources.announce(*id, *tick, players);
            }
            self.timeline.change(*tick, change.clone());
        }
        let ticks = batch.to.since(batch.from);
        let is_sequenced = self.room.is_sequenced();
        let source = self.sources.known.get_mut(&batch.source)?;
        let timeline = &mut self.timeline;
        batch.entries.each(|after, player, input| {
            let tick = batch.from + after.min(1 << 32);
            let is_its_own = is_sequenced || source.players.contains(&player);
            if after < ticks && tick >= known && is_its_own {
                timeline.insert(tick, player, input);
            }
        })?;
        source.known_upto = source.known_upto.max(batch.to);
        Some(())
    }

    /// Tries batches again that arrived too early.
    pub(super) fn retry_early_batches(&mut self, now: Duration) {
        let mut progress = true;
        while progress {
            progress = false;
            for (from, bytes) in core::mem::take(&mut self.sources.early_batches) {
                let taken = match Message::read(&bytes) {
                    Some(Message::InputBatch(batch)) => self.take_batch(now, &batch, false),
                    _ => None,
                };
                match taken {
                    Some(false) => self.sources.early_batches.push((from, bytes)),
                    _ => progress = true,
                }
            }
        }
    }
}
