//! A time that follows an estimate without ever stepping back.

use core::time::Duration;

/// How fast the time that others see follows the estimate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SlewConfig {
    /// Change per second while it is close: small, so that what moves by this clock moves smoothly. Default 0.5 ms.
    pub near: Duration,
    /// Change per second while it is off by more than `far_off`, and during the first seconds. Default 30 ms.
    pub far: Duration,
    /// What counts as far off. Default 2 ms.
    pub far_off: Duration,
    /// When it is behind by more than this it jumps forward; when it is ahead by more it runs at half speed. Default 250 ms.
    pub jump: Duration,
}

impl Default for SlewConfig {
    fn default() -> Self {
        Self {
            near: Duration::from_micros(500),
            far: Duration::from_millis(30),
            far_off: Duration::from_millis(2),
            jump: Duration::from_millis(250),
        }
    }
}

/// The time that others see: an estimate and the rest of the way to it.
#[derive(Clone, Debug)]
pub(crate) struct Slew {
    config: SlewConfig,
    /// Nanoseconds added to local time before `offset`, so that `offset` stays small and exact.
    anchor: i128,
    at: Duration,
    /// Where it is heading: seconds at `at`, and per second after.
    offset: f64,
    rate: f64,
    /// How far it is ahead of that, and how fast it gets there.
    ahead: f64,
    speed: f64,
    /// The last time shown.
    shown: i128,
}

impl Slew {
    /// Starts exactly at an offset.
    pub(crate) fn new(now: Duration, config: SlewConfig, anchor: i128, offset: f64) -> Self {
        Self {
            config,
            anchor,
            at: now,
            offset,
            rate: 0.0,
            ahead: 0.0,
            speed: 0.0,
            shown: i128::MIN,
        }
    }

    /// Heads for another offset, from where it is.
    pub(crate) fn follow(&mut self, now: Duration, offset: f64, rate: f64, hurry: bool) {
        self.shown = self.nanos(now);
        let ahead = self.current(now) - offset;
        let jump = self.config.jump.as_secs_f64();
        let far = hurry || ahead.abs() > self.config.far_off.as_secs_f64();
        (self.ahead, self.speed) = if ahead < -jump {
            (0.0, 0.0)
        } else if ahead > jump {
            (ahead, 0.5)
        } else if far {
            (ahead, self.config.far.as_secs_f64().min(0.5))
        } else {
            (ahead, self.config.near.as_secs_f64().min(0.5))
        };
        self.at = now;
        self.offset = offset;
        self.rate = rate;
    }

    /// The time it shows.
    pub(crate) fn time(&self, now: Duration) -> Duration {
        let nanos = self.nanos(now).max(0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How far it is ahead of where it is heading, in seconds.
    pub(crate) fn ahead(&self, now: Duration) -> f64 {
        self.current(now) - self.heading(now)
    }

    /// The offset it shows, in seconds after the anchor.
    pub(crate) fn current(&self, now: Duration) -> f64 {
        let passed = now.saturating_sub(self.at).as_secs_f64();
        let left = (self.ahead.abs() - self.speed * passed).max(0.0);
        self.heading(now) + left.copysign(self.ahead)
    }

    fn heading(&self, now: Duration) -> f64 {
        self.offset + self.rate * now.saturating_sub(self.at).as_secs_f64()
    }

    fn nanos(&self, now: Duration) -> i128 {
        let offset = (self.current(now) * 1e9).round() as i128;
        (now.as_nanos() as i128 + self.anchor + offset).max(self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_steps_back_and_arrives() {
        let second = Duration::from_secs(1);
        let mut slew = Slew::new(second, SlewConfig::default(), 5_000_000_000, 0.0);
        assert_eq!(slew.time(second), Duration::from_secs(6));
        slew.follow(second, -0.020, 0.0, false);
        let mut last = Duration::ZERO;
        for ms in 0..2_000 {
            let time = slew.time(second + Duration::from_millis(ms));
            assert!(time > last);
            last = time;
        }
        assert_eq!(
            slew.time(Duration::from_secs(3)),
            Duration::from_millis(7_980)
        );
    }

    #[test]
    fn far_behind_it_jumps_and_far_ahead_it_waits() {
        let mut slew = Slew::new(Duration::ZERO, SlewConfig::default(), 0, 0.0);
        slew.follow(Duration::ZERO, 3_600.0, 0.0, false);
        assert_eq!(slew.time(Duration::ZERO), Duration::from_secs(3_600));
        slew.follow(Duration::ZERO, 3_598.0, 0.0, false);
        let at = Duration::from_secs(2);
        assert_eq!(slew.time(at), Duration::from_secs(3_601));
        assert_eq!(
            slew.time(2 * at),
            Duration::from_secs(3_602),
            "it has been caught up with"
        );
    }

    #[test]
    fn times_before_the_epoch_are_zero() {
        let slew = Slew::new(Duration::ZERO, SlewConfig::default(), -5_000_000_000, 0.0);
        assert_eq!(slew.time(Duration::from_secs(1)), Duration::ZERO);
        assert_eq!(slew.time(Duration::from_secs(7)), Duration::from_secs(2));
    }
}
