//! How fast an application may offer data.
//!
//! A rate measured from deliveries is a lower bound while the application is what limits it (RFC 9002, section 7.8, and BBR call such a
//! sender *application-limited*). Who sizes its messages by the rate must therefore be offered more than was measured for as long as nothing
//! waits, and less as soon as something does.

use std::time::Duration;

/// A path whose packets queue for longer than this, or a connection with more bytes waiting than it carries in this time, is full.
const FULL: Duration = Duration::from_millis(20);
/// Bytes a second that are offered whatever is measured.
const MIN_RATE: u64 = 8_000;
/// More than any application sends, in bytes a second.
const MAX_RATE: u64 = 1 << 30;

/// The rate offered to the application: it grows while nothing waits and falls below the measured rate when something does.
#[derive(Debug, Default)]
pub struct AvailableRate {
    offered: u64,
}

impl AvailableRate {
    /// The rate to offer from now on, in bytes a second. Each call lets it grow by a quarter at most, so call it at steady intervals.
    ///
    /// `measured` is the path's rate in bytes a second, `queueing` the time packets wait in the path's queue, `jitter` the mean deviation
    /// of its round trip, `queued` the bytes that wait here.
    pub fn next(
        &mut self,
        measured: u64,
        queueing: Duration,
        jitter: Duration,
        queued: usize,
    ) -> u64 {
        let carried = measured.saturating_mul(FULL.as_millis() as u64);
        let is_full = queueing > FULL + jitter * 2 || queued as u64 * 1000 > carried;
        let rate = match is_full {
            true => measured - measured / 10,
            false => measured
                .saturating_add(measured / 2 + 16_000)
                .max(self.offered + self.offered / 4),
        };
        self.offered = rate.clamp(MIN_RATE, MAX_RATE);
        self.offered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_TIME: Duration = Duration::ZERO;

    #[test]
    fn it_grows_while_nothing_waits() {
        let mut rate = AvailableRate::default();
        assert_eq!(rate.next(10_000, NO_TIME, NO_TIME, 0), 31_000);
        assert_eq!(rate.next(10_000, NO_TIME, NO_TIME, 200), 38_750);
        assert_eq!(rate.next(100_000, NO_TIME, NO_TIME, 0), 166_000);
    }

    #[test]
    fn it_falls_below_the_measured_rate_when_something_waits() {
        let mut rate = AvailableRate::default();
        rate.next(100_000, NO_TIME, NO_TIME, 0);
        let queueing = Duration::from_millis(31);
        assert_eq!(rate.next(100_000, queueing, NO_TIME, 0), 90_000);
        // Jitter looks like a queue, so more of it is forgiven.
        let jitter = Duration::from_millis(6);
        assert_eq!(rate.next(100_000, queueing, jitter, 0), 166_000);
        assert_eq!(rate.next(100_000, NO_TIME, NO_TIME, 2_001), 90_000);
    }

    #[test]
    fn it_stays_within_its_bounds() {
        let mut rate = AvailableRate::default();
        assert_eq!(rate.next(100, NO_TIME, NO_TIME, 1_000), MIN_RATE);
        assert_eq!(rate.next(u64::MAX, NO_TIME, NO_TIME, 0), MAX_RATE);
    }
}
