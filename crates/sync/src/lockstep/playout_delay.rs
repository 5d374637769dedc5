//! The playout delay: how much later than the common schedule this program simulates, so that jitter and loss do not stall it.
//!
//! An adaptive jitter buffer, as receivers of audio have (Ramjee, Kurose, Towsley, Schulzrinne: *Adaptive playout mechanisms for packetized
//! audio applications*, 1994): it grows at once when a batch arrives late, and shrinks slowly while all arrive early.

use core::time::Duration;

/// The delay shrinks once every batch has arrived in time for this long.
const CALM: Duration = Duration::from_secs(10);
const SHRINK_EVERY: Duration = Duration::from_millis(250);
/// The delay until the jitter is measured: three packets in a row may be lost.
const UNTIL_MEASURED: Duration = Duration::from_millis(50);
/// How much earlier than needed batches are to arrive, in µs.
const MARGIN_US: i64 = 2_000;

/// How much later than due this program simulates.
#[derive(Debug)]
pub(super) struct PlayoutDelay {
    /// Later batches are not waited for: the program catches up instead.
    patience: Duration,
    /// The delay of a spectator, which must not see the game earlier.
    floor: Duration,
    measured: Duration,
    /// The minimum where packets may be lost, before any was late.
    loss_allowance: Duration,
    /// A tick: by this much the delay grows beyond what was needed.
    headroom: Duration,
    /// The minimum slack of this half of the calm time and of the half before, in µs.
    min_slack: [Option<i64>; 2],
    half_ends: Duration,
    next_shrink: Duration,
}

impl PlayoutDelay {
    pub(super) fn new(patience: Duration) -> PlayoutDelay {
        PlayoutDelay {
            patience,
            floor: Duration::ZERO,
            measured: UNTIL_MEASURED,
            loss_allowance: Duration::ZERO,
            headroom: Duration::from_millis(16),
            min_slack: [None; 2],
            half_ends: Duration::ZERO,
            next_shrink: Duration::ZERO,
        }
    }

    pub(super) fn length(&self) -> Duration {
        self.floor + self.measured.max(self.loss_allowance)
    }

    pub(super) fn floor(&self) -> Duration {
        self.floor
    }

    pub(super) fn set_floor(&mut self, floor: Duration) {
        self.floor = floor;
    }

    pub(super) fn set_loss_allowance(&mut self, allowance: Duration) {
        self.loss_allowance = allowance;
    }

    /// For the authority that sequences all inputs itself, and waits for nobody.
    pub(super) fn remove(&mut self) {
        (self.measured, self.loss_allowance) = (Duration::ZERO, Duration::ZERO);
    }

    /// A batch arrived this many µs before its first tick was due by the common schedule.
    pub(super) fn on_arrival(&mut self, now: Duration, slack_us: i64) {
        let slack_us = slack_us.saturating_add(self.floor.as_micros() as i64);
        let needed = MARGIN_US - slack_us;
        if needed > self.patience.as_micros() as i64 {
            return;
        }
        let min = &mut self.min_slack[0];
        *min = Some(min.map_or(slack_us, |min| min.min(slack_us)));
        if needed > self.measured.max(self.loss_allowance).as_micros() as i64 {
            // The next late batch may be later by one more lost packet.
            self.measured = Duration::from_micros(needed as u64) + self.headroom;
            self.next_shrink = now + CALM;
        }
    }

    /// The schedule's offset grew: batches that were late by the old schedule are not late by the new one.
    pub(super) fn on_offset_grown(&mut self, by: Duration) {
        self.measured = self.measured.saturating_sub(by);
        self.min_slack = [None; 2];
    }

    /// Shrinks a little if all batches have been early for a while.
    pub(super) fn shrink(&mut self, now: Duration, tick_time: Duration) {
        self.headroom = tick_time;
        if now >= self.half_ends {
            self.half_ends = now + CALM / 2;
            self.min_slack = [None, self.min_slack[0]];
        }
        if self.next_shrink.is_zero() {
            self.next_shrink = now + CALM;
        }
        if now < self.next_shrink || self.measured.is_zero() {
            return;
        }
        self.next_shrink = now + SHRINK_EVERY;
        let Some(min_slack) = self.min_slack.into_iter().flatten().min() else {
            return;
        };
        let kept = self.headroom.as_micros() as i64 + 2 * MARGIN_US;
        let unneeded = min_slack + self.measured.as_micros() as i64 - kept;
        if unneeded > 0 {
            let less = Duration::from_micros(unneeded as u64).min(tick_time / 4);
            self.measured = self.measured.saturating_sub(less);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_batches_are_waited_for_and_later_less() {
        let tick = Duration::from_micros(16_667);
        let mut delay = PlayoutDelay::new(Duration::from_millis(500));
        delay.on_arrival(Duration::from_secs(1), -30_000);
        assert_eq!(delay.length(), UNTIL_MEASURED);
        for ms in 0..30_000u64 {
            let now = Duration::from_millis(1000 + ms);
            delay.on_arrival(now, 20_000);
            delay.shrink(now, tick);
        }
        assert!(delay.length() < Duration::from_millis(1), "{delay:?}");
        delay.on_arrival(Duration::from_secs(60), -3_000_000);
        assert!(
            delay.length() < Duration::from_millis(1),
            "an outage is no jitter"
        );
    }
}
