//! The common clock: one time for everyone in the room, estimated from what travels anyway.
//!
//! A [`Clock`] follows one other clock, the host's; a [`MeshClock`] agrees with all members of a mesh on one time that
//! survives each of them. Both only see [`Exchange`]s, so anything that carries time stamps can feed them, and in virtual time their error is
//! measured against the truth.
//!
//! An exchange has the four time stamps of NTP (RFC 5905, section 8), and a sample's error is bounded by half its round trip, as Cristian
//! showed (*Probabilistic clock synchronization*, 1989). The estimate departs from NTP's clock filter: instead of the sample with the
//! smallest round trip it takes the floor of the delays of each direction by itself, because queues of games' links are long and one-sided;
//! and the shown time is slewed, never stepped back.

mod direction;
mod drift;
mod filter;
mod mesh;
mod slew;
mod solve;
#[cfg(test)]
mod trial;
#[cfg(test)]
mod trial_mesh;
#[cfg(test)]
mod trial_random;
mod window;

use core::time::Duration;

pub use filter::ClockConfig;
pub use mesh::{MeshClock, MeshOffset, MeshReport};
pub use slew::SlewConfig;

use filter::Filter;
use slew::Slew;

/// A packet's way to another clock and an answer's way back, by both clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// When the packet left, on our clock.
    pub sent_at: Duration,
    /// When it arrived, on the other clock.
    pub received_at: Duration,
    /// When the answer left, on the other clock.
    pub answered_at: Duration,
    /// When the answer arrived, on our clock.
    pub returned_at: Duration,
}

impl Exchange {
    /// The same exchange with a clock that is so far ahead of the other one.
    pub(crate) fn seen_ahead(self, ahead_us: i64) -> Self {
        let shifted = |at: Duration| {
            let by = Duration::from_micros(ahead_us.unsigned_abs());
            match ahead_us >= 0 {
                true => at.saturating_add(by),
                false => at.saturating_sub(by),
            }
        };
        Self {
            received_at: shifted(self.received_at),
            answered_at: shifted(self.answered_at),
            ..self
        }
    }
}

/// An estimate of another clock.
///
/// ```
/// use core::time::Duration;
/// use samestep_session::clock::{Clock, ClockConfig, Exchange};
///
/// let ms = Duration::from_millis;
/// let mut clock = Clock::new(ms(0), &ClockConfig::default());
/// assert_eq!(clock.time(ms(0)), None);
/// // The other clock is 5 s ahead, 20 ms away, and probed as often as the clock wants.
/// while !clock.is_steady() {
///     let now = clock.next_probe();
///     clock.on_probe(now);
///     let there = now + ms(20) + ms(5_000);
///     clock.on_exchange(now + ms(40), Exchange {
///         sent_at: now,
///         received_at: there,
///         answered_at: there,
///         returned_at: now + ms(40),
///     });
/// }
/// assert_eq!(clock.time(ms(1_200)), Some(ms(6_200)));
/// ```
#[derive(Clone, Debug)]
pub struct Clock {
    config: ClockConfig,
    filter: Filter,
    probes: Probes,
    slew: Option<Slew>,
}

impl Clock {
    /// Seconds after the first estimate during which the shown time may still be slewed fast.
    const FRESH: f64 = 3.0;

    /// Creates a clock without an estimate.
    pub fn new(now: Duration, config: &ClockConfig) -> Self {
        Self {
            config: config.clone(),
            filter: Filter::new(now, config),
            probes: Probes::new(now, config),
            slew: None,
        }
    }

    /// Handles an exchange with the other clock. Pass on all there are: the clock picks what it needs.
    pub fn on_exchange(&mut self, now: Duration, exchange: Exchange) {
        let Self {
            config,
            filter,
            probes,
            slew,
        } = self;
        probes.on_exchange(now, exchange.sent_at);
        if !filter.on_exchange(&exchange) || !filter.is_fixed() {
            return;
        }
        let calm = filter.error(now) < config.calm_error.as_secs_f64() && !filter.is_learning();
        probes.set_calm(calm);
        let offset = filter.offset(now);
        let slew = slew.get_or_insert_with(|| Slew::new(now, config.slew, filter.anchor(), offset));
        let fresh = filter.age(now) < Self::FRESH;
        slew.follow(now, offset, filter.rate(), fresh);
    }

    /// The other clock's time; `None` until there is a first estimate. Never runs backwards for a `now` that does not, and
    /// never faster or slower by more than the settings say.
    pub fn time(&self, now: Duration) -> Option<Duration> {
        self.slew.as_ref().map(|slew| slew.time(now))
    }

    /// Whether the first fix is complete: from here on corrections are small.
    pub fn is_steady(&self) -> bool {
        self.filter.is_fixed() && self.probes.burst_is_over()
    }

    /// The clock's own estimate of its error. A difference between the one-way delays there and back that exists from the
    /// beginning cannot be observed and is not in it.
    pub fn error(&self, now: Duration) -> Duration {
        let behind = self.slew.as_ref().map_or(0.0, |s| s.ahead(now).abs());
        Duration::try_from_secs_f64(self.filter.error(now) + behind).unwrap_or(Duration::MAX)
    }

    /// The other clock's time, as estimated, minus the time shown, in seconds: what remains to be corrected.
    pub fn difference(&self, now: Duration) -> f64 {
        self.slew.as_ref().map_or(0.0, |s| -s.ahead(now))
    }

    /// How much faster the other clock runs, in parts per million.
    pub fn drift_ppm(&self) -> f64 {
        self.filter.rate() * 1e6
    }

    /// When the clock wants another exchange.
    pub fn next_probe(&self) -> Duration {
        self.probes.next
    }

    /// Notes that a probe was sent.
    pub fn on_probe(&mut self, now: Duration) {
        self.probes.on_probe(now);
    }
}

/// When exchanges are wanted: a burst, then often enough. Traffic that brings exchanges of its own makes probes needless.
#[derive(Clone, Debug)]
struct Probes {
    burst_left: u32,
    burst_interval: Duration,
    interval: Duration,
    intervals: [Duration; 2],
    next: Duration,
    /// A burst of which half gets lost ends too: counted from its first probe.
    burst_ends: Option<Duration>,
    burst_lasts: Duration,
    over: bool,
}

impl Probes {
    const SHORTEST: Duration = Duration::from_millis(1);

    fn new(now: Duration, config: &ClockConfig) -> Self {
        let interval = config.interval.max(Self::SHORTEST);
        Self {
            burst_left: config.burst,
            burst_interval: config.burst_interval.max(Self::SHORTEST),
            interval,
            intervals: [config.interval, config.calm_interval].map(|i| i.max(Self::SHORTEST)),
            next: if config.burst == 0 {
                now + interval
            } else {
                now
            },
            burst_ends: None,
            burst_lasts: config
                .burst_interval
                .saturating_mul(config.burst.saturating_mul(2)),
            over: config.burst == 0,
        }
    }

    /// How often exchanges are wanted after the burst.
    fn set_calm(&mut self, calm: bool) {
        self.interval = self.intervals[usize::from(calm)];
    }

    fn burst_is_over(&self) -> bool {
        self.over
    }

    fn on_probe(&mut self, now: Duration) {
        self.burst_ends.get_or_insert(now + self.burst_lasts);
        self.next = now
            + if self.over {
                self.interval
            } else {
                self.burst_interval
            };
    }

    fn on_exchange(&mut self, now: Duration, sent_at: Duration) {
        if self.over {
            self.next = self.next.max(sent_at + self.interval);
            return;
        }
        self.burst_left = self.burst_left.saturating_sub(1);
        self.over = self.burst_left == 0 || self.burst_ends.is_some_and(|end| now >= end);
    }
}
