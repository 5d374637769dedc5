//! Whether to predict, and the input delay that latency and loss require then.

use core::time::Duration;

use super::input_delay::InputDelay;
use super::{FREEZE_THRESHOLD, Lockstep};

/// Ticks of the window that are not counted on: a packet may be lost, or wait for the next tick.
const UNCOUNTED: u64 = 2;
/// The input delay falls by a tick once every input has arrived in time for this long.
const CALM: Duration = Duration::from_secs(3);
/// How often the loss estimate may rise by a percent.
const LOSS_UPDATE_EVERY: Duration = Duration::from_millis(500);

/// How far to predict.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Prediction {
    /// Ticks that latency may take up.
    pub(crate) window: u64,
    /// Ticks that are predicted before the simulation waits for anybody.
    pub(crate) max: u64,
    /// Nothing is predicted while the longest round trip is shorter.
    pub(crate) lockstep_below: Duration,
}

/// The loss to allow for. Loss is measured on few packets, so a rise is believed percent by percent, a fall at once.
#[derive(Debug)]
pub(super) struct LossEstimate {
    percent: u8,
    next_update: Duration,
}

impl Default for LossEstimate {
    fn default() -> Self {
        LossEstimate {
            percent: 10,
            next_update: Duration::ZERO,
        }
    }
}

impl LossEstimate {
    /// Follows a measured rise a little. Returns whether the estimate has changed.
    fn rise(&mut self, now: Duration, measured: u8) -> bool {
        if now < self.next_update {
            return false;
        }
        self.next_update = now + LOSS_UPDATE_EVERY;
        let rises = measured > self.percent;
        self.percent += u8::from(rises);
        rises
    }

    /// Follows a measured fall, and tells how many packets are lost in a row about every ten thousandth time.
    fn losses_in_a_row(&mut self, measured: u8) -> u64 {
        self.percent = self.percent.min(measured);
        match self.percent {
            0..=1 => 2,
            2..=5 => 3,
            6..=12 => 4,
            13..=20 => 5,
            21..=30 => 6,
            _ => 8,
        }
    }
}

impl Lockstep {
    /// Makes this a model that predicts: every peer is an input source of its own.
    pub(crate) fn set_prediction(&mut self, prediction: Prediction) {
        self.simulated.predicting = true;
        self.simulated.prediction = Some(prediction);
        self.schedule.input_delay = InputDelay::new(self.config.input_delay, 0, CALM);
        self.room.decide_topology(true, self.config.pace);
    }

    /// Whether ticks are simulated before all their inputs are known. A spectator sees confirmed ticks only.
    pub(super) fn predicts(&self) -> bool {
        let simulated = &self.simulated;
        simulated.predicting && simulated.prediction.is_some() && !self.room.is_spectator
    }

    /// How late a batch may be without anybody waiting for it.
    pub(super) fn lateness_allowance(&self) -> Duration {
        let window = match self.simulated.predicting {
            true => self.simulated.window(),
            false => 0,
        };
        self.schedule.tick_time * window.saturating_sub(UNCOUNTED) as u32
    }

    /// Follows the measured loss.
    pub(super) fn update_loss_estimate(&mut self, now: Duration) {
        let predicts = self.simulated.prediction.is_some();
        if predicts && self.loss.rise(now, self.room.max_loss()) {
            self.expect_latency();
        }
    }

    /// The authority decides whether latencies are so low that nothing need be predicted.
    pub(super) fn decide_whether_to_predict(&mut self, now: Duration) {
        let Some(prediction) = &self.simulated.prediction else {
            return;
        };
        if !self.room.is_authority() {
            return;
        }
        let Some([(_, far), (_, second)]) = self.room.two_farthest() else {
            return;
        };
        // Through a host, inputs from guest to guest take both their paths.
        let is_mesh = self
            .room
            .roster
            .as_ref()
            .is_some_and(|roster| roster.is_mesh);
        let round_trip = match is_mesh {
            true => 2 * far,
            false => 2 * (far + second),
        };
        let limit = prediction.lockstep_below;
        let predicting = match self.simulated.predicting {
            true => round_trip >= limit * 3 / 4,
            false => round_trip >= limit,
        };
        self.set_predicting(now, predicting);
    }

    /// Begins or ceases to predict.
    pub(super) fn set_predicting(&mut self, now: Duration, predicting: bool) {
        if core::mem::replace(&mut self.simulated.predicting, predicting) == predicting {
            return;
        }
        tracing::info!(predicting, "prediction changed");
        self.schedule.input_delay.restart(now);
        self.expect_latency();
        // Lateness is measured against the schedule at the time of sending, so this change would distort it: samples taken before every
        // peer has applied the change are dropped.
        self.timers.frozen_until = now + 2 * self.max_latency() + FREEZE_THRESHOLD;
        self.sources.reset_slack();
        self.stall.catching_up = true;
    }

    /// Sets the input delay that latency and loss require.
    pub(super) fn expect_latency(&mut self) {
        let max_latency = self.max_latency();
        if let Some(delay) = &mut self.schedule.game_delay {
            return delay.expect_latency(max_latency);
        }
        let latency = self.schedule.ticks_in(max_latency);
        if self.simulated.prediction.is_none() || !self.simulated.predicting {
            return self.schedule.input_delay.expect_latency(latency);
        }
        let lost = self.loss.losses_in_a_row(self.room.max_loss());
        // A batch waits for the next tick, and at a host for the host's.
        let relayed = u64::from(!self.substitution.beyond_host.is_zero());
        let needed = latency + lost + 1 + relayed;
        let floor = needed.saturating_sub(self.simulated.window());
        self.schedule.input_delay.set_floor(floor);
    }

    /// The maximum one-way latency to a peer that needs this program's inputs.
    pub(super) fn max_latency(&self) -> Duration {
        self.room.max_latency() + self.substitution.beyond_host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_of_loss_is_believed_slowly_and_a_fall_at_once() {
        let mut loss = LossEstimate::default();
        assert_eq!(loss.losses_in_a_row(0), 2);
        let rises = |loss: &mut LossEstimate, ms| loss.rise(Duration::from_millis(ms), 30);
        assert!(rises(&mut loss, 0) && !rises(&mut loss, 100));
        for second in 1..30 {
            rises(&mut loss, 1000 * second);
        }
        assert_eq!((loss.percent, loss.losses_in_a_row(30)), (30, 6));
        assert!(!loss.rise(Duration::from_secs(60), 30));
    }
}
