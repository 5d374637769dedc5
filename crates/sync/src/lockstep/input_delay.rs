//! The input delay: how many ticks before its first tick a turn is closed, so that its inputs arrive everywhere in time.
//!
//! GGPO's frame delay, but measured instead of set: it grows at once when inputs arrive late and falls slowly while they are early.

use core::time::Duration;

use super::Length;
use crate::Tick;

/// How often the delay falls by a tick.
const FALL_EVERY: Duration = Duration::from_millis(500);

/// How many ticks before its first tick a turn is closed.
#[derive(Debug)]
pub(super) struct InputDelay {
    allowed: Length,
    /// The delay falls once every input has arrived in time for this long.
    calm: Duration,
    ticks: u64,
    /// The minimum that latency and loss are known to require.
    floor: u64,
    /// Turns before this tick were closed with a smaller delay.
    since: Tick,
    /// The minimum slack of this half of the calm time and of the half before, in µs.
    min_slack: [Option<i64>; 2],
    half_ends: Duration,
    next_fall: Duration,
    /// With more slack than this, in µs, inputs would be in time with a tick less.
    falls_above: i64,
    tick_us: i64,
}

impl InputDelay {
    pub(super) fn new(allowed: Length, first: u64, calm: Duration) -> InputDelay {
        InputDelay {
            allowed,
            calm,
            ticks: allowed.clamp(first),
            floor: 0,
            since: Tick(0),
            min_slack: [None; 2],
            half_ends: Duration::ZERO,
            next_fall: Duration::ZERO,
            falls_above: i64::MAX,
            tick_us: 0,
        }
    }

    /// Begins anew from the minimum: what was measured before no longer applies.
    pub(super) fn restart(&mut self, now: Duration) {
        self.ticks = self.allowed.clamp(0);
        self.measure_anew(now);
    }

    fn measure_anew(&mut self, now: Duration) {
        self.min_slack = [None; 2];
        self.half_ends = now + self.calm / 2;
        self.next_fall = now + self.calm;
    }

    pub(super) fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Raises the delay to what latency alone requires.
    pub(super) fn expect_latency(&mut self, ticks: u64) {
        self.ticks = self.ticks.max(self.allowed.clamp(ticks + 1));
    }

    /// Sets the minimum that is required whatever is measured.
    pub(super) fn set_floor(&mut self, ticks: u64) {
        self.floor = ticks;
        self.ticks = self.ticks.max(self.allowed.clamp(ticks));
    }

    /// A peer reports that inputs for `tick` arrived so many µs before it was due. Turns up to `closed` are closed by now.
    pub(super) fn on_report(
        &mut self,
        now: Duration,
        slack_us: i64,
        tick: Tick,
        closed: Tick,
        tick_time: Duration,
    ) {
        let min = &mut self.min_slack[0];
        *min = Some(min.map_or(slack_us, |min| min.min(slack_us)));
        self.tick_us = tick_time.as_micros() as i64;
        let margin = self.tick_us / 2;
        self.falls_above = self.tick_us + margin;
        if slack_us < margin && tick >= self.since {
            let missing = (margin - slack_us).div_euclid(tick_time.as_micros() as i64) + 1;
            let ticks = self.allowed.clamp(self.ticks + missing as u64);
            if ticks > self.ticks {
                (self.ticks, self.since) = (ticks, closed);
                self.measure_anew(now);
                tracing::debug!(ticks, slack_us, "input delay raised");
            }
        }
    }

    /// Falls by a tick if all inputs have been early enough for a while.
    pub(super) fn fall(&mut self, now: Duration) {
        if now >= self.half_ends {
            self.half_ends = now + self.calm / 2;
            self.min_slack = [None, self.min_slack[0]];
        }
        if now < self.next_fall {
            return;
        }
        self.next_fall = now + FALL_EVERY;
        let min_slack = self.min_slack.into_iter().flatten().min();
        if min_slack.is_some_and(|slack| slack > self.falls_above) {
            let less = self.ticks.saturating_sub(1).max(self.floor);
            let ticks = self.allowed.clamp(less);
            if ticks < self.ticks {
                self.ticks = ticks;
                // The slack was measured with a tick more.
                for slack in self.min_slack.iter_mut().flatten() {
                    *slack -= self.tick_us;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: Duration = Duration::from_secs(10);
    const TICK: Duration = Duration::from_micros(16_667);

    #[test]
    fn rises_at_once_and_falls_slowly() {
        let mut delay = InputDelay::new(Length::Dynamic { min: 1, max: 20 }, 2, CALM);
        let now = Duration::from_secs(1);
        delay.on_report(now, -50_000, Tick(60), Tick(64), TICK);
        assert_eq!(delay.ticks(), 6);
        // Sent before the delay was raised: nothing new.
        delay.on_report(now, -50_000, Tick(62), Tick(66), TICK);
        assert_eq!(delay.ticks(), 6);
        for second in 2..30u32 {
            let now = Duration::from_secs(second.into());
            delay.on_report(now, 200_000, Tick(second.into()) + 200, Tick(1000), TICK);
            delay.fall(now);
        }
        assert!((1..=3).contains(&delay.ticks()), "{delay:?}");
    }

    #[test]
    fn fixed_stays_fixed() {
        let mut delay = InputDelay::new(Length::Fixed(15), 2, CALM);
        delay.on_report(Duration::ZERO, -900_000, Tick(0), Tick(1), TICK);
        delay.fall(Duration::from_secs(60));
        assert_eq!(delay.ticks(), 15);
    }
}
