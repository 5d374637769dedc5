//! What is simulated: the confirmed tick, the predicted tick, and the states to roll back to.
//!
//! The sync layer of ggrs and GGPO: ticks before the confirmed one are final; those from there to the predicted one were simulated with
//! predicted inputs, and are resimulated from a saved state when the real inputs differ.

use std::sync::Arc;

use super::prediction::Prediction;
use super::saves::Saves;
use crate::input::Attendance;
use crate::timeline::Timeline;
use crate::{Tick, TickInputs, World};

/// Right after a rollback a state is saved if the last one is this many ticks old.
const STRIDE: u64 = 4;
/// Beyond the window a state is saved every so many ticks.
const LONG_STRIDE: u64 = 16;
/// Ticks between saved states whose own inputs the host has not acknowledged yet.
const SPARSE: u64 = 8;
/// Ticks that a guest simulates before its host acknowledges its inputs.
const MAX_UNACKNOWLEDGED: u64 = 90;

/// How far the world was simulated.
#[derive(Debug)]
pub(super) struct Simulated {
    /// Ticks before this one are final.
    pub(super) confirmed_tick: Tick,
    /// Who takes part at the confirmed tick.
    pub(super) confirmed_players: TickInputs,
    /// The tick of the world: the confirmed one, or a later one that is predicted.
    pub(super) predicted_tick: Tick,
    /// Who takes part at the predicted tick, as far as known.
    pub(super) predicted_players: TickInputs,
    pub(super) saves: Saves,
    /// How far to predict; `None` for a model that never does.
    pub(super) prediction: Option<Prediction>,
    /// Whether the authority says to predict.
    pub(super) predicting: bool,
    pub(super) rollbacks: Rollbacks,
    /// No tick from this one on is simulated: another model goes on from there.
    pub(super) hold: Option<Tick>,
    /// Ticks between two desync checks; 0 for none.
    pub(super) check_interval: u64,
}

/// Counters of rollbacks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rollbacks {
    pub(super) count: u64,
    pub(super) ticks: u64,
    pub(super) max_depth: u64,
    /// The predicted tick at the last rollback.
    last_at: Option<Tick>,
}

/// How far the inputs of all sources are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownInputs {
    /// The first tick that lacks inputs.
    pub(super) upto: Tick,
    /// Whether all before that is final: the host has acknowledged this program's own inputs.
    pub(super) acknowledged: bool,
}

impl Simulated {
    pub(super) fn new(check_interval: u64) -> Simulated {
        Simulated {
            confirmed_tick: Tick(0),
            confirmed_players: TickInputs::new(),
            predicted_tick: Tick(0),
            predicted_players: TickInputs::new(),
            saves: Saves::default(),
            prediction: None,
            predicting: false,
            rollbacks: Rollbacks::default(),
            hold: None,
            check_interval,
        }
    }

    /// Goes on from a state that the world has taken over.
    pub(super) fn restart(&mut self, tick: Tick, attendance: &Attendance, world: &mut dyn World) {
        (self.confirmed_tick, self.predicted_tick) = (tick, tick);
        let attendance = Arc::new(attendance.clone());
        self.confirmed_players.set_attendance(&attendance);
        self.predicted_players.set_attendance(&attendance);
        self.saves.forget();
        if self.prediction.is_some() {
            self.save(world);
        }
    }

    /// Ticks that may be predicted without anybody waiting: the maximum of what is resimulated at once.
    pub(super) fn window(&self) -> u64 {
        let prediction = self.prediction.as_ref();
        prediction.map_or(0, |prediction| prediction.window)
    }

    /// Whether everything is simulated that ever will be.
    pub(super) fn is_held(&self) -> bool {
        self.hold.is_some_and(|hold| self.predicted_tick >= hold)
    }

    /// Whether everything that ever will be is confirmed.
    pub(super) fn is_over(&self) -> bool {
        self.hold.is_some_and(|hold| self.confirmed_tick >= hold)
    }

    /// Whether all peers compare their states at a tick.
    pub(super) fn is_check(&self, tick: Tick) -> bool {
        self.check_interval > 0 && tick.0.is_multiple_of(self.check_interval)
    }

    /// Whether the world may be simulated one tick beyond the confirmed ones. `is_blocked` tells whether that tick lacks inputs.
    pub(super) fn may_predict(
        &self,
        known_upto: Tick,
        is_spectator: bool,
        is_blocked: impl FnOnce() -> bool,
    ) -> bool {
        let max = self
            .prediction
            .as_ref()
            .map_or(0, |prediction| prediction.max);
        let head = self.predicted_tick;
        let predicted = head.since(known_upto.max(self.confirmed_tick));
        let unconfirmed = head.since(self.confirmed_tick);
        match self.predicting && !is_spectator {
            true => predicted < max && unconfirmed < max.max(MAX_UNACKNOWLEDGED),
            // Without prediction only this program's own inputs may lack their acknowledgement.
            false => max > 0 && predicted == 0 && !is_blocked() && unconfirmed < MAX_UNACKNOWLEDGED,
        }
    }

    /// Simulates one tick with the inputs that the timeline has of it.
    pub(super) fn step(&mut self, timeline: &mut Timeline, world: &mut dyn World) {
        let tick = self.predicted_tick;
        world.step(tick, timeline.complete(tick, &mut self.predicted_players));
        self.predicted_tick = tick.next();
        if self.is_check(self.predicted_tick) {
            let (tick, players) = (self.predicted_tick, &self.predicted_players);
            self.saves.keep(tick, players, true, world);
        }
    }

    /// Confirms a simulated tick whose inputs are final.
    pub(super) fn confirm(&mut self, timeline: &mut Timeline, world: &mut dyn World) {
        let tick = self.confirmed_tick;
        world.confirm(tick, timeline.complete(tick, &mut self.confirmed_players));
        let attendance = self.confirmed_players.attendance();
        timeline.released.on_attendance(attendance);
        self.confirmed_tick = tick.next();
    }

    /// Simulates a tick that may have to be resimulated. The state before it is saved, unless a recent one is.
    pub(super) fn predict_step(
        &mut self,
        known_upto: Tick,
        timeline: &mut Timeline,
        world: &mut dyn World,
    ) {
        let head = self.predicted_tick;
        let stride = match head.since(known_upto) <= self.window() {
            // The rollback in this very tick has saved states that are recent enough.
            true if self.rollbacks.last_at == Some(head) => STRIDE,
            true => 1,
            false => LONG_STRIDE,
        };
        let newest = self.saves.newest_upto(head);
        let is_old = |saved: Tick| saved + stride <= head || saved < self.confirmed_tick;
        if newest.is_none_or(|save| is_old(save.tick)) {
            self.save(world);
        }
        self.step(timeline, world);
    }

    fn save(&mut self, world: &mut dyn World) {
        let (tick, players) = (self.predicted_tick, &self.predicted_players);
        self.saves.keep(tick, players, false, world);
    }

    /// Resimulates everything from a tick whose inputs have changed. False if there is no state to roll back to.
    pub(super) fn reconcile(
        &mut self,
        changed: Tick,
        known: KnownInputs,
        timeline: &mut Timeline,
        world: &mut dyn World,
    ) -> bool {
        let reached = self.predicted_tick;
        if !self.roll_back(changed, known, false, world) {
            return false;
        }
        let depth = reached.since(self.predicted_tick);
        self.rollbacks.count += 1;
        self.rollbacks.ticks += depth;
        self.rollbacks.max_depth = self.rollbacks.max_depth.max(depth);
        tracing::debug!(tick = changed.0, depth, "rollback");
        self.resimulate(reached, known.upto, timeline, world);
        self.rollbacks.last_at = Some(reached);
        true
    }

    /// Rolls back to the last saved state not after a tick. `keep` saves the state for another rollback.
    pub(super) fn roll_back(
        &mut self,
        tick: Tick,
        known: KnownInputs,
        keep: bool,
        world: &mut dyn World,
    ) -> bool {
        // A state whose following ticks are final once they are resimulated is not needed again. A guest's own input is almost always
        // accepted by its host: for the rare other case an older state is good enough.
        let final_soon = known.upto > self.confirmed_tick && known.acknowledged;
        let is_near =
            |saved: Tick, older: Option<Tick>| older.is_some_and(|older| older + SPARSE > saved);
        let is_needed = |saved: Tick, older: Option<Tick>| {
            keep || saved >= known.upto || !(final_soon || is_near(saved, older))
        };
        let Some(save) = self.saves.roll_back(tick, is_needed, world) else {
            return false;
        };
        self.predicted_tick = save.tick;
        self.predicted_players.set_attendance(&save.attendance);
        true
    }

    /// Simulates up to a tick that had been reached before.
    pub(super) fn resimulate(
        &mut self,
        to: Tick,
        known_upto: Tick,
        timeline: &mut Timeline,
        world: &mut dyn World,
    ) {
        // The next rollback will mostly go to the first tick that lacks inputs, so states are saved from there on, and the farther from
        // there the fewer: copying states is the main cost. After rollbacks in two ticks in a row even the first are saved sparsely.
        let in_a_row = self.rollbacks.last_at.is_some_and(|last| last.next() == to);
        let mut stride = if in_a_row { STRIDE } else { 0 };
        let mut next_save = known_upto.max(self.confirmed_tick);
        if self.predicted_tick < to {
            timeline.take_touched();
        }
        while self.predicted_tick < to && !timeline.lacks_replacement(self.predicted_tick) {
            if self.predicted_tick >= next_save {
                self.save(world);
                next_save = self.predicted_tick + stride.max(1);
                stride += 1;
            }
            self.step(timeline, world);
        }
    }

    /// The world was set to a corrected state of an earlier tick: what was saved after it is wrong.
    pub(super) fn rewind(
        &mut self,
        tick: Tick,
        attendance: &Arc<Attendance>,
        world: &mut dyn World,
    ) {
        self.predicted_players.set_attendance(attendance);
        self.predicted_tick = tick;
        self.saves.release_after(tick, world);
    }
}

#[cfg(test)]
mod tests;
