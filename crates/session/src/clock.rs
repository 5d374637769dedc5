//! The common clock: one time for everyone in the room, estimated from what travels anyway.
//!
//! A [`Clock`] follows one other clock, the host's; a [`MeshClock`] agrees with all members of a mesh on one time that
//! survives each of them. Both only see [`Exchange`]s, so anything that carries time stamps can feed them, and in virtual time their error is
//! measured against the truth.

mod cycle;
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

pub use cycle::{CycleConfig, CycleMessage, CycleSample, CycleServer, Gate, Messages};
pub use filter::FilterConfig;
pub use mesh::{MeshClock, MeshOffset, MeshReport};
pub use slew::SlewConfig;

use cycle::Cycles;
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

/// How the common time is kept.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClockConfig {
    /// The way of estimating. Default: our filter.
    pub method: ClockMethod,
}

impl ClockConfig {
    /// Keeps time as in an experiment of the source: see [`CycleConfig::published`].
    pub fn published(experiment: u8) -> Self {
        Self {
            method: ClockMethod::Cycles(CycleConfig::published(experiment)),
        }
    }
}

/// A way of estimating another clock.
#[derive(Clone, PartialEq, Debug)]
pub enum ClockMethod {
    /// From the time stamps of all traffic: exact, smooth, never backwards.
    Filtered(FilterConfig),
    /// In cycles of messages of its own, for comparison: steps in both directions.
    Cycles(CycleConfig),
}

impl Default for ClockMethod {
    fn default() -> Self {
        Self::Filtered(FilterConfig::default())
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
/// // The other clock is 5 s ahead, 20 ms away, and asked as often as the clock wants.
/// while !clock.is_steady() {
///     let now = clock.next_probe().expect("it always wants to know more");
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
    method: Method,
}

#[derive(Clone, Debug)]
enum Method {
    Filtered(Box<Filtered>),
    Cycles(Cycles),
}

#[derive(Clone, Debug)]
struct Filtered {
    config: FilterConfig,
    filter: Filter,
    probes: Probes,
    slew: Option<Slew>,
}

impl Clock {
    /// How long after the first estimate it may still be hurried along.
    const FRESH: f64 = 3.0;

    /// A clock that knows nothing yet.
    pub fn new(now: Duration, config: &ClockConfig) -> Self {
        let method = match &config.method {
            ClockMethod::Filtered(config) => Method::Filtered(Box::new(Filtered {
                config: config.clone(),
                filter: Filter::new(now, config),
                probes: Probes::new(now, config),
                slew: None,
            })),
            ClockMethod::Cycles(config) => Method::Cycles(Cycles::new(now, config)),
        };
        Self { method }
    }

    /// Takes in an exchange with the other clock. As many as there are: it picks what it needs.
    pub fn on_exchange(&mut self, now: Duration, exchange: Exchange) {
        let Method::Filtered(ours) = &mut self.method else {
            return;
        };
        let Filtered {
            config,
            filter,
            probes,
            slew,
        } = &mut **ours;
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
    /// never faster or slower by more than the settings say, unless the method is [`ClockMethod::Cycles`].
    pub fn time(&self, now: Duration) -> Option<Duration> {
        match &self.method {
            Method::Filtered(ours) => ours.slew.as_ref().map(|slew| slew.time(now)),
            Method::Cycles(cycles) => cycles.time(now),
        }
    }

    /// Whether the first fix is complete: from here on corrections are small.
    pub fn is_steady(&self) -> bool {
        match &self.method {
            Method::Filtered(ours) => ours.filter.is_fixed() && ours.probes.burst_is_over(),
            Method::Cycles(cycles) => cycles.is_steady(),
        }
    }

    /// Its own idea of its error. What differs between the ways there and back from the beginning cannot be seen and is not
    /// in it.
    pub fn error(&self, now: Duration) -> Duration {
        let seconds = match &self.method {
            Method::Filtered(ours) => {
                let behind = ours.slew.as_ref().map_or(0.0, |s| s.ahead(now).abs());
                ours.filter.error(now) + behind
            }
            Method::Cycles(cycles) => cycles.error(),
        };
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// The other clock's time, as estimated, minus the time shown, in seconds: what remains to be corrected.
    pub fn difference(&self, now: Duration) -> f64 {
        match &self.method {
            Method::Filtered(ours) => ours.slew.as_ref().map_or(0.0, |s| -s.ahead(now)),
            Method::Cycles(cycles) => cycles.last().map_or(0.0, |cycle| cycle.difference),
        }
    }

    /// How much faster the other clock runs, in parts per million.
    pub fn drift_ppm(&self) -> f64 {
        match &self.method {
            Method::Filtered(ours) => ours.filter.rate() * 1e6,
            Method::Cycles(_) => 0.0,
        }
    }

    /// Whether it coasts because the delays have changed.
    pub fn is_coasting(&self) -> bool {
        matches!(&self.method, Method::Filtered(ours) if ours.filter.is_learning())
    }

    /// When it wants another exchange, or, in cycles, to speak.
    pub fn next_probe(&self) -> Option<Duration> {
        match &self.method {
            Method::Filtered(ours) => Some(ours.probes.next),
            Method::Cycles(cycles) => Some(cycles.next()),
        }
    }

    /// An exchange has been provoked.
    pub fn on_probe(&mut self, now: Duration) {
        if let Method::Filtered(ours) = &mut self.method {
            ours.probes.on_probe(now);
        }
    }

    /// In cycles: the message that begins the next one, if it is due.
    pub fn poll_cycle(&mut self, now: Duration) -> Option<CycleMessage> {
        match &mut self.method {
            Method::Filtered(_) => None,
            Method::Cycles(cycles) => cycles.poll_cycle(now),
        }
    }

    /// In cycles: takes in the server's message and gives the answer to it, if there is one.
    pub fn handle_cycle(&mut self, now: Duration, message: CycleMessage) -> Option<CycleMessage> {
        match &mut self.method {
            Method::Filtered(_) => None,
            Method::Cycles(cycles) => cycles.handle_cycle(now, message),
        }
    }

    /// In cycles: what the latest one brought.
    pub fn cycle(&self) -> Option<CycleSample> {
        match &self.method {
            Method::Filtered(_) => None,
            Method::Cycles(cycles) => cycles.last(),
        }
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

    fn new(now: Duration, config: &FilterConfig) -> Self {
        Self {
            burst_left: config.burst,
            burst_interval: config.burst_interval.max(Self::SHORTEST),
            interval: config.interval.max(Self::SHORTEST),
            intervals: [config.interval, config.calm_interval].map(|i| i.max(Self::SHORTEST)),
            next: now,
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
