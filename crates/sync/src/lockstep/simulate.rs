//! Simulating the ticks that are due, and confirming those whose inputs are all known.

use core::time::Duration;

use super::simulated::KnownInputs;
use super::{Lockstep, Pace};
use crate::{Tick, World};

/// Ticks simulated in one call; the rest follows in the next, so that the network is not kept waiting.
const MAX_AT_ONCE: u32 = 32;
/// An authority that is this many ticks behind moves the schedule instead of catching up.
const MAX_TICKS_BEHIND: i64 = 30;
/// A nearer peer has hardly any loss.
const NEAR: Duration = Duration::from_millis(5);
/// The playout delay before any batch was late, where two short turns in a row may be lost.
const LOSS_ALLOWANCE: Duration = Duration::from_millis(67);

impl Lockstep {
    /// Adjusts the playout delay, and at an authority that cannot keep up the schedule.
    pub(super) fn adjust_schedule(&mut self, now: Duration) {
        let tick_time = self.schedule.tick_time;
        self.schedule.playout_delay.shrink(now, tick_time);
        self.allow_for_loss();
        let sequences = self.room.is_sequenced() && self.room.is_authority();
        if !sequences || self.config.pace != Pace::RealTime {
            return;
        }
        let scheduled = self.schedule.tick_at(now).unwrap_or(0);
        let behind = scheduled - self.simulated.confirmed_tick.0 as i64;
        if behind > MAX_TICKS_BEHIND && !self.simulated.is_held() {
            self.schedule.delay_by(tick_time * (behind - 1) as u32);
        }
    }

    /// Far from the others two packets in a row may be lost before any loss is measured.
    fn allow_for_loss(&mut self) {
        let Some(roster) = &self.room.roster else {
            return;
        };
        let playout_delay = &mut self.schedule.playout_delay;
        if self.room.is_authority() && self.room.is_sequenced() {
            return playout_delay.remove();
        }
        let latency = match roster.is_mesh {
            true => Some(self.room.max_latency()),
            false => roster.member(roster.authority).map(|host| host.latency),
        };
        let latency = latency.unwrap_or_default();
        if latency > NEAR {
            playout_delay.set_loss_allowance(LOSS_ALLOWANCE);
        } else if latency < NEAR / 2 {
            playout_delay.set_loss_allowance(Duration::ZERO);
        }
    }

    /// How much later than due this program simulates.
    pub(super) fn playout_delay(&self) -> Duration {
        match self.predicts() {
            true => Duration::ZERO,
            false => self.schedule.playout_delay.length(),
        }
    }

    /// When this program simulates a tick.
    pub(super) fn due_here(&self, tick: Tick) -> Option<Duration> {
        let due = self.schedule.due(tick)?;
        Some(due + self.playout_delay())
    }

    /// Simulates what is due.
    pub(super) fn simulate(&mut self, now: Duration, world: &mut dyn World) {
        self.stall.behind = 0;
        if !self.reconcile(world) {
            return;
        }
        self.undo_beyond_hold(world);
        self.confirm_known(world);
        for _ in 0..MAX_AT_ONCE {
            if self.simulated.is_held() {
                self.stall.current = None;
                return;
            }
            let tick = self.simulated.predicted_tick;
            let Some(due) = self.due_here(tick) else {
                return;
            };
            if now < due {
                self.stall.catching_up = false;
                return;
            }
            let is_confirmed = tick == self.simulated.confirmed_tick && self.is_final(tick);
            let known_upto = self.known_upto();
            let lacks_state = self.timeline.lacks_replacement(tick);
            if lacks_state {
                self.await_replacement(now, tick);
            }
            if lacks_state || !is_confirmed && !self.may_predict(known_upto) {
                let lacking = known_upto.max(self.simulated.confirmed_tick);
                let blocking = self.blocked_by(lacking);
                if let Some(id) = blocking.or(self.room.authority_source()) {
                    self.stall.begin(due, lacking, id);
                }
                return;
            }
            match self.stall.end(now) {
                Some(stalled) => self.on_resumed(now, stalled),
                None if now - due <= self.schedule.tick_time => self.stall.catching_up = false,
                None if !self.stall.catching_up => self.stats.stalled_ticks += 1,
                None => {}
            }
            let timeline = &mut self.timeline;
            match is_confirmed {
                false => self.simulated.predict_step(known_upto, timeline, world),
                true => {
                    self.simulated.step(timeline, world);
                    self.confirm_known(world);
                }
            }
        }
        let reached = now.saturating_sub(self.playout_delay());
        let scheduled = self.schedule.tick_at(reached).unwrap_or(0);
        let behind = scheduled - self.simulated.predicted_tick.0 as i64;
        self.stall.behind = u64::try_from(behind).unwrap_or(0);
    }

    fn may_predict(&self, known_upto: Tick) -> bool {
        let is_blocked = || self.blocked_by(self.simulated.predicted_tick).is_some();
        self.simulated
            .may_predict(known_upto, self.room.is_spectator, is_blocked)
    }

    fn on_resumed(&mut self, now: Duration, stalled: Duration) {
        if self.config.pace != Pace::RealTime {
            return;
        }
        if !self.stall.catching_up {
            self.stats.stalled_ticks += self.schedule.ticks_in(stalled);
        }
        self.stall.catching_up = true;
        // In a mesh all have waited; through a host, the host moves the schedule.
        let may_move = match self.room.is_hub() {
            true => self.room.is_authority(),
            false => !self.room.is_sequenced() && !self.room.is_spectator,
        };
        if may_move && stalled > self.config.patience && now >= self.timers.frozen_until {
            self.schedule.delay_by(stalled);
        }
    }

    /// Whether all inputs of a tick are known, and none can change any more.
    fn is_final(&self, tick: Tick) -> bool {
        self.blocked_by(tick).is_none()
            && self.is_acknowledged(tick)
            && !self.timeline.lacks_replacement(tick)
    }

    /// The first tick that lacks the inputs of a source.
    pub(super) fn known_upto(&self) -> Tick {
        let known = self.sources.known_upto();
        known.unwrap_or(self.simulated.confirmed_tick)
    }

    fn known_inputs(&self) -> KnownInputs {
        let upto = self.known_upto();
        let last = upto.0.checked_sub(1).map(Tick);
        KnownInputs {
            upto,
            acknowledged: last.is_some_and(|last| self.is_acknowledged(last)),
        }
    }

    /// Confirms simulated ticks whose inputs are final, and forgets what is too old.
    fn confirm_known(&mut self, world: &mut dyn World) {
        let before = self.simulated.confirmed_tick;
        while self.simulated.confirmed_tick < self.simulated.predicted_tick
            && self.is_final(self.simulated.confirmed_tick)
        {
            let tick = self.simulated.confirmed_tick;
            self.simulated.confirm(&mut self.timeline, world);
            if let Some(inputs) = self.timeline.inputs(tick) {
                self.given.on_confirmed(tick, inputs);
            }
            let confirmed = self.simulated.confirmed_tick;
            if self.simulated.is_check(confirmed) {
                self.check_state(confirmed, world, true);
            }
        }
        let confirmed = self.simulated.confirmed_tick;
        if confirmed == before {
            return;
        }
        self.simulated.saves.release_before(confirmed, world);
        let keep = Tick(confirmed.0.saturating_sub(self.config.keep));
        if self.timeline.base() < keep {
            self.timeline.forget_before(keep);
            self.sources.forget_before(keep);
        }
    }

    /// Resimulates ticks whose inputs turned out to be other than predicted.
    ///
    /// False if there is no state to roll back to: then nothing is confirmed until another's state has arrived.
    fn reconcile(&mut self, world: &mut dyn World) -> bool {
        let changed = self.timeline.take_touched();
        let Some(changed) = changed.filter(|tick| *tick < self.simulated.predicted_tick) else {
            return true;
        };
        let (known, timeline) = (self.known_inputs(), &mut self.timeline);
        let done = self.simulated.reconcile(changed, known, timeline, world);
        if !done {
            self.on_save_missing(changed);
            self.timeline.touch(changed);
        }
        done
    }

    /// Rolls back to the confirmed tick, for what needs the world to be there. Returns the tick it was at, for [`resimulate`](Self::resimulate).
    pub(super) fn roll_back_to_confirmed(&mut self, world: &mut dyn World) -> Tick {
        let (reached, confirmed) = (self.simulated.predicted_tick, self.simulated.confirmed_tick);
        if reached > confirmed {
            self.timeline.take_touched();
            self.roll_back(confirmed, world);
        }
        reached
    }

    /// Undoes predicted ticks after the one at which the simulation is held.
    fn undo_beyond_hold(&mut self, world: &mut dyn World) {
        let simulated = &self.simulated;
        let hold = simulated
            .hold
            .filter(|hold| simulated.predicted_tick > *hold);
        if let Some(hold) = hold.filter(|hold| simulated.confirmed_tick <= *hold) {
            self.roll_back(hold, world);
        }
    }

    /// Sets the world back to an earlier tick.
    fn roll_back(&mut self, tick: Tick, world: &mut dyn World) {
        let known = self.known_inputs();
        if self.simulated.roll_back(tick, known, true, world) {
            self.resimulate(tick, world);
        } else {
            self.on_save_missing(tick);
        }
    }

    /// Simulates up to a tick that had been reached before.
    pub(super) fn resimulate(&mut self, to: Tick, world: &mut dyn World) {
        let (known, timeline) = (self.known_upto(), &mut self.timeline);
        self.simulated.resimulate(to, known, timeline, world);
    }

    /// A world keeps what it was told to save; one that does not gets the authority's state.
    fn on_save_missing(&mut self, tick: Tick) {
        if self.stats.trouble.is_none() {
            tracing::error!(tick = tick.0, "the world did not keep a saved state");
            if let Some(authority) = self.room.other_authority() {
                self.request_state(authority, tick);
            }
        }
        self.desync.state_is_wrong = true;
        self.stats.trouble = Some("the world did not keep a state that it was to keep".into());
    }
}
