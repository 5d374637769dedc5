//! The change itself, at one tick for all.

use core::time::Duration;

use super::message::{Checkpoint, Message};
use super::{
    Beginning, Handover, LentWorld, PlannedChange, PreviousModel, Switch, SwitchableModel, policy,
};
use crate::bytes::{Fixed, Prefixed};
use crate::{
    AdoptError, Delivery, Member, Model, ModelEvent, Outgoing, PeerId, PlayerId, SwitchConditions,
    World,
};

/// How long the model before is kept for those who have not left it.
const LINGERS: Duration = Duration::from_secs(10);
/// An epoch that was handed to a guest waits so long for what the guest still sees of the one before.
const SEEN: Duration = Duration::from_millis(150);
/// Who has not come to the next epoch so long after it began asks to be handed it, and again as often.
const ASK_AFTER: Duration = Duration::from_secs(1);
/// A state that is not larger is sent again before it is known to be lost.
const CHEAP_BYTES: usize = 8192;
/// Ticks after which it is sent again, unless the guest has changed by then.
const COPIES_AFTER: [u32; 2] = [2, 5];
/// How often guests that do not simulate are told what has taken effect.
const APPLIED_EVERY: Duration = Duration::from_millis(250);

impl Switch {
    pub(super) fn advance_running(&mut self, now: Duration, world: &mut dyn World) {
        let mut lent = LentWorld::new(world, &mut self.observed);
        self.running.advance(now, &mut lent);
        self.note_applied(now);
    }

    /// Goes on with another model if it is time.
    pub(super) fn change(&mut self, now: Duration, world: &mut dyn World) -> bool {
        if let Some(since) = self.handover.as_ref().map(|handover| handover.since) {
            let shown = |change: PlannedChange| self.running.has_shown(now, change.tick);
            if now < since + SEEN && !self.change.is_none_or(shown) {
                self.wake_at(now + self.tick_time);
                return false;
            }
            return self.take_handover(now, world);
        }
        let Some(change) = self.change else {
            return false;
        };
        let confirmed = self.running.status().confirmed_tick;
        let knows_all = self.leads() || self.running.is_same_everywhere();
        if !knows_all || confirmed < change.tick {
            return false;
        }
        if confirmed > change.tick {
            // The announcement of the change came too late.
            self.next_ask.get_or_insert(now);
            return false;
        }
        self.pass(now, change, world);
        self.handle_early(now);
        true
    }

    /// Everything before a tick is confirmed: another model goes on from there.
    fn pass(&mut self, now: Duration, change: PlannedChange, world: &mut dyn World) {
        let Some((start, schedule_offset)) = self.running.schedule() else {
            return;
        };
        let was_same = self.running.is_same_everywhere();
        self.began = was_same.then(|| world.checksum());
        let Some(mut running) = self.replace_running(change.which) else {
            return;
        };
        // The players at an authority may have seen the game through a loopback client of the model before.
        running.finish(&mut LentWorld::new(world, &mut self.observed));
        let attendance = self.observed.attendance.clone();
        self.observed.release_all(world);
        self.introduce(now);
        let at = Beginning {
            tick: change.tick,
            start,
            schedule_offset,
            is_known: was_same,
            attendance: &attendance,
        };
        let mut lent = LentWorld::new(world, &mut self.observed);
        self.running.begin(now, &at, &mut lent);
        self.introduce_successors(now);
        self.enter(now, self.epoch + 1, change.which);
        if !self.leads() {
            self.quiet = self.sent_inputs.is_uncertain();
            if !self.quiet {
                self.sent_inputs.give_again();
            }
            let epoch = self.epoch;
            return self.send_to_authority(&Message::Passed { epoch });
        }
        self.sent_inputs.give_again();
        if let Some(checkpoint) = self.replacement.take() {
            self.running.replace_state(now, &checkpoint);
        }
        self.before.push(PreviousModel {
            epoch: self.epoch - 1,
            change,
            until: now + LINGERS + running.spectator_delay(),
            running,
        });
        self.send_beginning(now, was_same);
        // Everyone begins at the same tick: before anything is simulated.
        self.hand_over_due(now, world);
    }

    /// Tells everyone where the epoch begins.
    fn send_beginning(&mut self, now: Duration, was_same: bool) {
        let others: Vec<PeerId> = self.others().collect();
        for peer in others {
            if let Some(checksum) = self.began.filter(|_| was_same) {
                let (epoch, applied) = (self.epoch, self.applied_of(peer));
                let began = Message::Began {
                    epoch,
                    checksum: Fixed(checksum),
                    applied,
                };
                self.send([peer].into(), Delivery::ReliableOrdered, &began);
                continue;
            }
            let member = self.roster.as_ref().and_then(|roster| roster.member(peer));
            // Who does not take part yet will say where it is when it does.
            if member.is_some_and(|member| member.in_sync) {
                self.to_hand.insert(peer, (now, false));
            }
        }
    }

    /// The choice takes the place of the model that runs, which is given back.
    fn replace_running(&mut self, which: usize) -> Option<Box<dyn SwitchableModel>> {
        let next = self.choices.get(which)?.build_switchable().ok()?;
        let before = core::mem::replace(&mut self.running, next);
        self.counted = self.counted_with(before.status());
        Some(before)
    }

    /// Tells a model that is new who is there.
    fn introduce(&mut self, now: Duration) {
        let model = &mut self.running;
        if let Some(roster) = &self.roster {
            model.handle_roster(now, roster);
        }
        for (peer, rate) in &self.rates {
            model.handle_rate(now, *peer, *rate);
        }
    }

    /// Tells a model that has begun of those that left before, although others have their numbers already.
    fn introduce_successors(&mut self, now: Duration) {
        let released = &self.observed.released;
        if let Some(roster) = self.roster.as_ref().filter(|_| !released.is_empty()) {
            self.running.handle_roster(now, &released.without(roster));
            self.running.handle_roster(now, roster);
        }
    }

    fn enter(&mut self, now: Duration, epoch: u64, which: usize) {
        if let Some(choice) = self.choices.get(which).filter(|_| epoch != self.epoch) {
            tracing::info!(epoch, model = choice.kind().name, "model changed");
        }
        (self.epoch, self.which, self.since) = (epoch, which, now);
        self.change = None;
        self.next_ask = None;
        self.wake_at(now);
    }

    /// At a guest: where the epoch began the authority's state had this checksum.
    pub(super) fn on_began(&mut self, now: Duration, checksum: u64, applied: &[(PlayerId, u64)]) {
        if core::mem::take(&mut self.quiet) {
            for (player, number) in applied {
                self.sent_inputs.on_applied(*player, *number);
            }
            self.sent_inputs.give_again();
        }
        if self.began.take().is_some_and(|own| own != checksum) {
            self.counted.desyncs += 1;
            tracing::warn!(
                epoch = self.epoch,
                "the state differed from the host's when the model changed"
            );
            self.trouble =
                Some("the state differed from the host's when the model changed".to_string());
            self.next_ask = Some(now);
        }
        self.wake_at(now);
    }

    pub(super) fn write_checkpoint(
        &mut self,
        now: Duration,
        newcomer: PeerId,
        world: &mut dyn World,
    ) -> Vec<u8> {
        let mut lent = LentWorld::new(world, &mut self.observed);
        let model = &mut self.running;
        let checkpoint = Checkpoint {
            epoch: self.epoch,
            which: self.which,
            change: self.change,
            model: &model.checkpoint(now, newcomer, &mut lent),
            applied: self.applied_of(newcomer),
        };
        checkpoint.write()
    }

    pub(super) fn read_checkpoint(
        &mut self,
        now: Duration,
        bytes: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        let malformed = |reason: &str| AdoptError::Malformed(reason.to_string());
        let checkpoint = Checkpoint::read(bytes)
            .ok_or_else(|| malformed("the beginning of a checkpoint is damaged"))?;
        if checkpoint.which >= self.choices.len() {
            return Err(malformed(
                "it is played with a model that is not among this program's choices",
            ));
        }
        // Who begins anew with a model in which an authority decides has to say everything again.
        let is_same = (checkpoint.epoch, checkpoint.which) == (self.epoch, self.which)
            && self.running.is_same_everywhere();
        if !is_same {
            self.replace_running(checkpoint.which);
            self.introduce(now);
        }
        let mut lent = LentWorld::new(world, &mut self.observed);
        let model = &mut self.running;
        model.adopt(now, checkpoint.model, &mut lent)?;
        self.observed.replaced = false;
        self.enter(now, checkpoint.epoch, checkpoint.which);
        for (player, number) in &checkpoint.applied {
            self.sent_inputs.on_applied(*player, *number);
            self.sent_inputs.continue_from(*player, *number);
        }
        if !is_same {
            self.sent_inputs.give_again();
        }
        (self.began, self.quiet) = (None, false);
        let newer = |handover: &Handover| handover.epoch > checkpoint.epoch;
        self.handover = self.handover.take().filter(newer);
        if let Some(change) = checkpoint.change {
            self.accept_change(now, change);
        }
        Ok(())
    }

    /// A guest takes over the epoch that it is handed.
    fn take_handover(&mut self, now: Duration, world: &mut dyn World) -> bool {
        let Some(Handover { bytes, .. }) = self.handover.take() else {
            return false;
        };
        let planned = self.change.map(|change| change.tick);
        let mut lent = LentWorld::new(world, &mut self.observed);
        self.running.finish(&mut lent);
        if let Err(error) = self.read_checkpoint(now, &bytes, world) {
            self.trouble = Some(error.to_string());
            return false;
        }
        let tick = self.running.status().tick;
        // Whoever goes the way of all goes on without a break.
        if planned != Some(tick) {
            self.events.push_back(ModelEvent::Adopted { tick });
        }
        let epoch = self.epoch;
        self.send_to_authority(&Message::Passed { epoch });
        self.handle_early(now);
        true
    }

    /// A guest that has lost its way asks for it.
    pub(super) fn follow(&mut self, now: Duration) {
        if core::mem::take(&mut self.is_new) {
            let epoch = self.epoch;
            self.send_to_authority(&Message::Passed { epoch });
        }
        if let Some(change) = self.change
            && self.next_ask.is_none()
            && let Some((start, schedule_offset)) = self.running.schedule()
        {
            let ticks = u32::try_from(change.tick.0).unwrap_or(u32::MAX);
            let due = start + schedule_offset + self.tick_time * ticks + self.spectator_delay();
            self.next_ask = Some(due + ASK_AFTER);
        }
        let Some(at) = self.next_ask else {
            return;
        };
        if now >= at {
            self.next_ask = Some(now + ASK_AFTER);
            self.send_to_authority(&Message::RequestState);
        }
        self.wake_at(at.max(now + self.tick_time));
    }

    /// Whether all who play are where the authority is.
    pub(super) fn have_all_passed(&self) -> bool {
        let (roster, epoch) = (self.roster.as_ref(), self.epoch);
        let members = roster.iter().flat_map(|roster| &roster.members);
        let lags = |member: &Member| {
            let passed = self.passed.get(&member.peer).copied().unwrap_or(0);
            let is_other = roster.is_some_and(|roster| roster.me != member.peer);
            is_other && member.in_sync && !member.watches && passed < epoch
        };
        members.filter(|member| lags(member)).count() == 0
    }

    /// What the authority does beside simulating.
    pub(super) fn lead(&mut self, now: Duration, world: &mut dyn World) {
        self.attend_to_those_behind(now);
        self.hand_over_due(now, world);
        self.send_held(now);
        self.send_copies(now);
        if let Some(at) = self.to_hand.values().map(|(at, _)| *at).min() {
            self.wake_at(at);
        }
        if !self.running.is_same_everywhere() {
            self.send_applied(now);
        }
        self.ask_policy(now, world);
    }

    fn hand_over_due(&mut self, now: Duration, world: &mut dyn World) {
        let due = self.to_hand.iter().filter(|(_, (at, _))| *at <= now);
        let due: Vec<PeerId> = due.map(|(peer, _)| *peer).collect();
        for peer in due {
            self.hand_over(now, peer, world);
        }
    }

    /// Hands over what has waited for spectators that see the game later.
    fn send_held(&mut self, now: Duration) {
        while let Some((at, peer, bytes)) = self.held.pop_front() {
            if at > now {
                self.wake_at(at);
                return self.held.push_front((at, peer, bytes));
            }
            self.outbox.push_back(Outgoing {
                to: [peer].into(),
                delivery: Delivery::ReliableOrdered,
                bytes,
            });
        }
    }

    /// Sends again what may have been lost.
    fn send_copies(&mut self, now: Duration) {
        for (at, peer, bytes) in core::mem::take(&mut self.copies) {
            if self
                .passed
                .get(&peer)
                .is_some_and(|passed| *passed >= self.epoch)
            {
                continue;
            }
            if at > now {
                self.wake_at(at);
                self.copies.push((at, peer, bytes));
                continue;
            }
            self.outbox.push_back(Outgoing {
                to: [peer].into(),
                delivery: Delivery::Unreliable,
                bytes,
            });
        }
    }

    /// Whether those in an epoch come to the next without being told its state.
    pub(super) fn comes_by_itself(&self, epoch: u64) -> bool {
        let mut before = self.before.iter();
        before.any(|old| old.epoch == epoch && old.running.is_same_everywhere())
    }

    fn hand_over(&mut self, now: Duration, peer: PeerId, world: &mut dyn World) {
        let Some((_, asked)) = self.to_hand.remove(&peer) else {
            return;
        };
        let epoch = self.epoch;
        if !asked
            && self
                .passed
                .get(&peer)
                .is_some_and(|passed| *passed >= epoch)
        {
            return;
        }
        self.handed.insert(peer, now);
        let before = self.before.iter_mut().find(|old| old.epoch + 1 == epoch);
        let farewell = before.map_or_else(Vec::new, |before| before.running.farewell(peer));
        let checkpoint = self.write_checkpoint(now, peer, world);
        self.last_handed += 1;
        let message = Message::Handover {
            epoch,
            number: self.last_handed,
            farewell: Prefixed(&farewell),
            checkpoint: &checkpoint,
        };
        self.running.trust(peer);
        let delay = self.delay_of(peer);
        match delay.is_zero() {
            true => self.send([peer].into(), Delivery::ReliableOrdered, &message),
            false => self.held.push_back((now + delay, peer, message.write())),
        }
        // Somebody waits for it: what is lost is not to cost a round trip, if that is cheap.
        let copy = message.write();
        if copy.len() <= CHEAP_BYTES {
            let due = COPIES_AFTER.map(|ticks| now + delay + self.tick_time * ticks);
            self.copies.extend(due.map(|at| (at, peer, copy.clone())));
        }
    }

    /// The models before go on answering until nobody needs them.
    fn attend_to_those_behind(&mut self, now: Duration) {
        let before = core::mem::take(&mut self.before);
        for mut before in before {
            let is_behind = |peer: &PeerId| {
                let passed = self.passed.get(peer);
                passed.is_some_and(|passed| *passed <= before.epoch)
            };
            let behind: Vec<PeerId> = self.others().filter(is_behind).collect();
            if now >= before.until {
                for peer in behind {
                    self.to_hand.entry(peer).or_insert((now, false));
                }
                continue;
            }
            if behind.is_empty() {
                continue;
            }
            before.running.linger(now);
            while before.running.poll_event().is_some() {}
            self.before.push(before);
        }
    }

    /// Tells guests that do not simulate what has taken effect of what they did.
    fn send_applied(&mut self, now: Duration) {
        if now < self.next_applied {
            return;
        }
        self.next_applied = now + APPLIED_EVERY;
        let (epoch, others) = (self.epoch, self.others().collect::<Vec<PeerId>>());
        for peer in others {
            let applied = self.applied_of(peer);
            if !applied.is_empty() {
                let message = Message::Applied { epoch, applied };
                self.send([peer].into(), Delivery::Unreliable, &message);
            }
        }
    }

    fn ask_policy(&mut self, now: Duration, world: &mut dyn World) {
        let Some(roster) = &self.roster else {
            return;
        };
        let Some(policy) = self.policy.as_mut().filter(|policy| now >= policy.next) else {
            return;
        };
        policy.next = now + policy::EVERY;
        let status = self.running.status();
        if !status.running {
            return;
        }
        let playing = roster
            .members
            .iter()
            .filter(|member| member.in_sync && !member.watches);
        let farthest = playing.clone().map(|member| member.latency).max();
        let conditions = SwitchConditions {
            players: playing.map(|member| member.players.len()).sum(),
            entities: policy.count_entities(world),
            round_trip: 2 * farthest.unwrap_or_default(),
            rate: self.rates.values().copied().min(),
            current: self.which,
            since: now.saturating_sub(self.since),
        };
        if let Some(choice) = (policy.decide)(&conditions) {
            self.to(now, choice);
        }
    }
}
