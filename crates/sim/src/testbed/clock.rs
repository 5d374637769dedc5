//! A node's own clock: set wrongly and running at not quite the right speed.

use std::time::Duration;

/// Maps world time to what one node's clock shows. Whole nanoseconds, so that both directions agree exactly.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeClock {
    /// World time at which the speed last changed, and what the clock showed then.
    since: Duration,
    shown: Duration,
    drift_ppm: f64,
    /// Nanoseconds gained per 10^15 of world time.
    gain: i128,
}

const UNIT: i128 = 1_000_000_000_000_000;

impl NodeClock {
    pub(super) fn new(now: Duration, shown: Duration) -> NodeClock {
        NodeClock {
            since: now,
            shown,
            drift_ppm: 0.0,
            gain: 0,
        }
    }

    /// Changes the speed; what the clock shows now stays.
    pub(super) fn set_drift(&mut self, now: Duration, ppm: f64) {
        assert!(
            ppm.abs() < 100_000.0,
            "a clock that drifts by {ppm} ppm is broken"
        );
        *self = NodeClock {
            since: now,
            shown: self.local(now),
            drift_ppm: ppm,
            gain: (ppm * 1e9) as i128,
        };
    }

    pub(super) fn drift_ppm(&self) -> f64 {
        self.drift_ppm
    }

    /// What the clock shows at a world time that is not before the last change of speed.
    pub(super) fn local(&self, now: Duration) -> Duration {
        let passed = now.saturating_sub(self.since);
        if self.gain == 0 {
            return self.shown + passed;
        }
        let passed = passed.as_nanos() as i128;
        self.shown + nanos(passed + passed * self.gain / UNIT)
    }

    /// The first world time at which the clock shows at least `local`.
    pub(super) fn world(&self, local: Duration) -> Duration {
        let shown = local.saturating_sub(self.shown);
        if self.gain == 0 || shown.is_zero() {
            return self.since + shown;
        }
        let target = shown.as_nanos() as i128;
        let mut passed = target * UNIT / (UNIT + self.gain);
        // Division rounds: step to the first instant that is late enough.
        while passed > 0 && passed + passed * self.gain / UNIT >= target {
            passed -= 1;
        }
        while passed + passed * self.gain / UNIT < target {
            passed += 1;
        }
        self.since + nanos(passed)
    }
}

fn nanos(count: i128) -> Duration {
    Duration::from_nanos(count.max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree_to_the_nanosecond() {
        for ppm in [0.0, 50.0, -50.0, 0.3, -1234.5, 90_000.0] {
            let mut clock = NodeClock::new(Duration::from_secs(3), Duration::from_secs(77));
            clock.set_drift(Duration::from_secs(5), ppm);
            for at in [0u64, 1, 999, 1_000_003, 40_000_000_007, 600_000_000_000_001] {
                let local = clock.shown + Duration::from_nanos(at);
                let world = clock.world(local);
                assert!(clock.local(world) >= local, "{ppm} {at}");
                let before = world.saturating_sub(Duration::from_nanos(1));
                assert!(
                    before < clock.since || at == 0 || clock.local(before) < local,
                    "{ppm} {at}"
                );
            }
        }
    }

    #[test]
    fn fifty_ppm_are_three_milliseconds_a_minute_and_changes_do_not_jump() {
        let mut clock = NodeClock::new(Duration::ZERO, Duration::ZERO);
        clock.set_drift(Duration::ZERO, 50.0);
        let minute = Duration::from_secs(60);
        assert_eq!(clock.local(minute), minute + Duration::from_millis(3));
        clock.set_drift(minute, -50.0);
        assert_eq!(clock.local(minute), minute + Duration::from_millis(3));
        assert_eq!(clock.local(2 * minute), 2 * minute);
    }
}
