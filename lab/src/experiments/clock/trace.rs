//! The error of a clock over time.

use std::time::Duration;

use crate::stats::Samples;

/// One run of one clock.
#[derive(Clone, Debug, Default)]
pub struct ClockTrace {
    /// The time at which the client joined the room, in seconds.
    pub joined: Option<f64>,
    /// Seconds since the beginning, and milliseconds by which the clock was ahead of the truth.
    pub errors: Vec<(f64, f64)>,
    /// Differences between estimated and shown time once a cycle, in milliseconds, as the source measured them: 0 for an answer
    /// that was not let through.
    pub differences: Vec<f64>,
    /// Round trips as the clock measured them, in milliseconds.
    pub round_trips: Vec<f64>,
    /// Looks at which the clock showed less than before.
    pub backwards: u32,
    shown: Vec<Duration>,
}

/// Below this a clock is usable.
const USABLE_MS: f64 = 5.0;
/// For how long the error has to stay below to count.
const STAYS: f64 = 5.0;

impl ClockTrace {
    /// Notes what a member's clock shows.
    pub fn look(&mut self, member: usize, shown: Duration) {
        self.shown
            .resize(self.shown.len().max(member + 1), Duration::ZERO);
        self.backwards += u32::from(shown < self.shown[member]);
        self.shown[member] = shown;
    }

    /// Compares a client with its server at a true time.
    pub fn compare(
        &mut self,
        now: Duration,
        joined: bool,
        server: Option<Duration>,
        client: Option<Duration>,
    ) {
        let now = now.as_secs_f64();
        if joined {
            self.joined.get_or_insert(now);
        }
        if let (Some(truth), Some(shown)) = (server, client) {
            self.look(0, shown);
            let error = (shown.as_secs_f64() - truth.as_secs_f64()) * 1e3;
            self.errors.push((now, error));
        }
    }

    /// Errors from `from` seconds on.
    pub fn errors_from(&self, from: f64) -> Samples {
        let late = self.errors.iter().filter(|(at, _)| *at >= from);
        late.map(|(_, error)| *error).collect()
    }

    /// Seconds from joining until the error is below 5 ms for the next five seconds; `None` if it never is.
    pub fn usable(&self) -> Option<f64> {
        let mut since = None;
        for (at, error) in &self.errors {
            if error.abs() >= USABLE_MS {
                since = None;
            } else if *at - *since.get_or_insert(*at) >= STAYS {
                return since.map(|since| (since - self.joined.unwrap_or(0.0)).max(0.0));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usable_is_when_it_stays_so() {
        let mut trace = ClockTrace::default();
        for i in 0..200 {
            let at = f64::from(i) * 0.1;
            let error = if i < 10 || i == 30 { 9.0 } else { -1.0 };
            trace.errors.push((at, error));
        }
        assert!((trace.usable().unwrap() - 3.1).abs() < 1e-9);
        trace.errors.truncate(40);
        assert_eq!(trace.usable(), None);
    }

    #[test]
    fn steps_back_are_counted_per_member() {
        let mut trace = ClockTrace::default();
        for (member, ms) in [(0, 10), (1, 5), (0, 9), (1, 6), (0, 9)] {
            trace.look(member, Duration::from_millis(ms));
        }
        assert_eq!(trace.backwards, 1);
    }
}
