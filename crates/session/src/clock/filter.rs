//! The offset of another clock, from the floors of the delays there and back.

use core::time::Duration;

use super::Exchange;
use super::direction::{Direction, ENOUGH, Extrapolation, JUMP};
use super::drift::Drift;
use super::slew::SlewConfig;
use super::window::{Floor, Window};

/// Settings of the common clock.
///
/// Per direction the clock takes the mean of the lowest delays of half a minute, which queues, spikes and losses hardly touch, and
/// compensates for the drift between the clocks. When a floor jumps, the route has changed rather than the clock: it coasts,
/// learns the new delays and takes the difference between the two directions for the route's.
#[derive(Clone, PartialEq, Debug)]
pub struct ClockConfig {
    /// The number of probes at the beginning, for a quick first fix; with none the first comes after `interval`. Default 40.
    pub burst: u32,
    /// Time between them. Default 25 ms.
    pub burst_interval: Duration,
    /// The longest time between two exchanges after that; other traffic counts, so a busy connection is not probed.
    /// A shorter time is more exact and costs a small packet in each direction. Default 100 ms.
    pub interval: Duration,
    /// The same while the estimated error is below `calm_error`. Default 250 ms.
    pub calm_interval: Duration,
    /// Default 0.2 ms.
    pub calm_error: Duration,
    /// How long a delay is remembered. Longer averages more and follows slower. Default 30 s.
    pub window: Duration,
    /// How long delays are learned after a change of route. Default 8 s.
    pub learning: Duration,
    /// How the shown time follows.
    pub slew: SlewConfig,
}

impl Default for ClockConfig {
    fn default() -> Self {
        Self {
            burst: 40,
            burst_interval: Duration::from_millis(25),
            interval: Duration::from_millis(100),
            calm_interval: Duration::from_millis(250),
            calm_error: Duration::from_micros(200),
            window: Duration::from_secs(30),
            learning: Duration::from_secs(8),
            slew: SlewConfig::default(),
        }
    }
}

/// An estimate of one other clock.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    config: ClockConfig,
    begun: Duration,
    /// Nanoseconds of the first offset seen: everything else is small beside it.
    anchor: i128,
    up: Direction,
    down: Direction,
    scratch: Vec<f64>,
    /// The asymmetry of the path: the seconds by which the one-way delay there exceeds the one back, as far as changes of route have shown.
    asymmetry: f64,
    /// Other clock minus ours minus anchor, at `at`.
    offset: f64,
    at: f64,
    error: f64,
    drift: Drift,
    last_point: f64,
    last_comparison: f64,
    last_sample: f64,
    first_sample: Option<f64>,
    /// When there was a first estimate.
    fixed: Option<f64>,
    learning: Option<Learning>,
    /// The smallest round trip of a settled route, and the asymmetry that went with it.
    best: Option<(f64, f64)>,
}

/// A route has changed.
#[derive(Clone, Copy, Debug)]
struct Learning {
    since: f64,
    until: f64,
    /// The delays there and back before the change, by the estimate of that time.
    before: (f64, f64),
}

impl Filter {
    /// Exchanges for a first fix, or the time after which fewer will do.
    const FIX: usize = 8;
    const FIX_BY: f64 = 0.5;
    /// Samples kept whatever their age, for connections with little traffic, and their greatest age.
    const LEAST: usize = 64;
    const OLDEST: f64 = 300.0;
    /// When floors are known well enough to tell a jump from chance.
    const SETTLED: f64 = 3.0;
    /// Until then the smallest round trip counts, after that the continuity of the clock.
    const YOUNG: f64 = 12.0;
    /// How far to look back at least: a jump has to be noticed before what was before it is out of sight.
    const SHORTEST: f64 = 8.0;
    /// Time between two points on the line of drift.
    const POINT: f64 = 5.0;

    pub(crate) fn new(now: Duration, config: &ClockConfig) -> Self {
        Self {
            config: config.clone(),
            begun: now,
            anchor: 0,
            up: Direction::there(),
            down: Direction::back(),
            scratch: Vec::new(),
            asymmetry: 0.0,
            offset: 0.0,
            at: 0.0,
            error: f64::INFINITY,
            drift: Drift::new(),
            last_point: f64::NEG_INFINITY,
            last_comparison: f64::NEG_INFINITY,
            last_sample: f64::NEG_INFINITY,
            first_sample: None,
            fixed: None,
            learning: None,
            best: None,
        }
    }

    /// Handles an exchange. Returns whether the estimate is new.
    pub(crate) fn on_exchange(&mut self, exchange: &Exchange) -> bool {
        if exchange.returned_at < exchange.sent_at || exchange.answered_at < exchange.received_at {
            return false;
        }
        let sent = self.local(exchange.sent_at);
        let now = self.local(exchange.returned_at);
        // A busy connection brings more samples than are needed; until the first fix all are used.
        let spacing = match self.fixed {
            Some(at) if now > at + 1.5 => self.config.window.as_secs_f64() / 600.0,
            _ => 0.004,
        };
        if now < self.last_sample + spacing {
            return false;
        }
        if self.first_sample.is_none() {
            let (received, sent) = (exchange.received_at, exchange.sent_at);
            self.anchor = received.as_nanos() as i128 - sent.as_nanos() as i128;
        }
        self.last_sample = now;
        let there = self.difference(exchange.received_at, exchange.sent_at);
        let back = -self.difference(exchange.answered_at, exchange.returned_at);
        if self.contradicts(now, there, back) {
            self.restart();
        }
        self.first_sample.get_or_insert(now);
        self.up.window.push(sent, there);
        self.down.window.push(now, back);
        let since = now - self.config.window.as_secs_f64();
        for direction in [&mut self.up, &mut self.down] {
            let window = &mut direction.window;
            window.forget(since, Self::LEAST, now - Self::OLDEST);
        }
        // Ten estimates a second are plenty.
        if self.fixed.is_some_and(|at| now > at + 2.0) && now < self.at + 0.1 {
            return false;
        }
        self.estimate(now)
    }

    /// Whether there is an estimate.
    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed.is_some()
    }

    /// Seconds since the first estimate.
    pub(crate) fn age(&self, now: Duration) -> f64 {
        self.fixed.map_or(0.0, |at| self.local(now) - at)
    }

    pub(crate) fn anchor(&self) -> i128 {
        self.anchor
    }

    /// Other clock minus ours minus anchor, in seconds.
    pub(crate) fn offset(&self, now: Duration) -> f64 {
        self.coasted(self.local(now))
    }

    pub(crate) fn rate(&self) -> f64 {
        self.drift.rate()
    }

    /// The expected error of the offset, in seconds. It grows while no exchange arrives.
    pub(crate) fn error(&self, now: Duration) -> f64 {
        let unheard = (self.local(now) - self.at).max(0.0);
        self.error + unheard * self.drift.error()
    }

    /// Whether a change of route is being learned.
    pub(crate) fn is_learning(&self) -> bool {
        self.learning.is_some()
    }

    fn local(&self, at: Duration) -> f64 {
        if at >= self.begun {
            (at - self.begun).as_secs_f64()
        } else {
            -(self.begun - at).as_secs_f64()
        }
    }

    fn difference(&self, other: Duration, own: Duration) -> f64 {
        (other.as_nanos() as i128 - own.as_nanos() as i128 - self.anchor) as f64 * 1e-9
    }

    fn coasted(&self, now: f64) -> f64 {
        self.offset + self.drift.rate() * (now - self.at)
    }

    fn moment(&self, now: f64) -> Extrapolation {
        Extrapolation {
            now,
            rate: self.drift.rate(),
            rate_error: self.drift.error(),
            measured: self.at,
        }
    }

    /// No packet arrives before it was sent: if it seems so by far, the clocks themselves have jumped (a machine slept).
    fn contradicts(&self, now: f64, there: f64, back: f64) -> bool {
        let allowed = 5e-3 + 3.0 * self.drift.error() * (now - self.at).max(0.0);
        let offset = self.coasted(now);
        self.fixed.is_some() && (there - offset < -allowed || back + offset < -allowed)
    }

    fn restart(&mut self) {
        self.up = Direction::there();
        self.down = Direction::back();
        self.asymmetry = 0.0;
        self.error = f64::INFINITY;
        self.drift = Drift::new();
        self.first_sample = None;
        self.fixed = None;
        self.learning = None;
        self.best = None;
    }

    fn estimate(&mut self, now: f64) -> bool {
        if self.fixed.is_none() {
            let samples = self.up.window.len();
            let late = self.first_sample.is_some_and(|at| now >= at + Self::FIX_BY);
            if samples < Self::FIX && !late {
                return false;
            }
        }
        self.notice_jumps(now);
        if let Some(learning) = self.learning {
            self.coast(now);
            if now < learning.until || !self.learned(now, learning) {
                return true;
            }
            self.settle(now, learning);
        }
        let Some((up, down)) = self.measure(now) else {
            return false;
        };
        self.offset = (up.value - down.value - self.asymmetry) / 2.0;
        self.at = now;
        self.error = up.error.hypot(down.error) / 2.0 + 20e-6;
        (self.up.floor, self.down.floor) = (Some(up), Some(down));
        if self.fixed.is_none() {
            self.fixed = Some(now);
            self.last_point = now;
        }
        self.compare_with_best(now, &up, &down);
        if now >= self.last_point + Self::POINT {
            self.measure_drift(now);
        }
        true
    }

    fn is_young(&self, now: f64) -> bool {
        self.fixed.is_none_or(|at| now < at + Self::YOUNG)
    }

    /// Remembers the smallest round trip, and returns to its asymmetry when it is back.
    fn compare_with_best(&mut self, now: f64, up: &Floor, down: &Floor) {
        let round_trip = up.value + down.value;
        match self.best {
            Some((best, asymmetry)) if !self.is_young(now) => {
                let noise = 3.0 * up.error.hypot(down.error) + JUMP;
                if asymmetry == self.asymmetry {
                    self.best = Some((best.min(round_trip), asymmetry));
                } else if round_trip < best - noise {
                    self.best = Some((round_trip, self.asymmetry));
                } else if round_trip < best + noise {
                    self.drift.shift((self.asymmetry - asymmetry) / 2.0);
                    self.asymmetry = asymmetry;
                    self.offset = (up.value - down.value - asymmetry) / 2.0;
                }
            }
            _ => self.best = Some((round_trip, self.asymmetry)),
        }
    }

    /// How far back to look: as far as more samples reduce the error by more than the unknown drift adds to it.
    fn span(&self) -> f64 {
        match (self.up.floor, self.down.floor) {
            (Some(up), Some(down)) if self.learning.is_none() => {
                let longest = self.config.window.as_secs_f64().max(Self::SHORTEST);
                let error = up.error.hypot(down.error) / 2.0;
                (2.0 * error / self.drift.error()).clamp(Self::SHORTEST, longest)
            }
            _ => f64::INFINITY,
        }
    }

    /// The floors of both directions.
    fn measure(&mut self, now: f64) -> Option<(Floor, Floor)> {
        let fewer = |span| self.up.window.count(span).min(self.down.window.count(span));
        let mut span = (now - self.span(), f64::INFINITY);
        if fewer(span) < ENOUGH {
            span.0 = f64::NEG_INFINITY;
        }
        let share = Window::share(fewer(span));
        let moment = self.moment(now);
        let wary = self.fixed.is_some_and(|at| now > at + Self::SETTLED);
        let scratch = &mut self.scratch;
        let up = self.up.measure(scratch, moment, span, share, wary)?;
        let down = self.down.measure(scratch, moment, span, share, wary)?;
        Some((up, down))
    }

    fn notice_jumps(&mut self, now: f64) {
        if self.fixed.is_none_or(|at| now <= at + Self::SETTLED) {
            return;
        }
        let closely = now >= self.last_comparison + 0.5;
        if closely {
            self.last_comparison = now;
        }
        let moment = self.moment(now);
        let offset = self.coasted(now);
        let (up, down) = (self.up.carried(moment), self.down.carried(moment));
        let there = self.up.jumps(&mut self.scratch, moment, closely);
        let back = self.down.jumps(&mut self.scratch, moment, closely);
        if !there && !back {
            return;
        }
        // A second jump while the first is being learned: what was before is known already.
        let learning = self.learning.get_or_insert(Learning {
            since: now,
            until: now,
            before: (
                up.unwrap_or(offset) - offset,
                down.unwrap_or(-offset) + offset,
            ),
        });
        // A route that keeps changing must not keep the clock from measuring for ever.
        let longest = learning.since + 60.0;
        learning.until = (now + self.config.learning.as_secs_f64()).min(longest);
    }

    /// Goes on without measurements, as long as no delay seems negative.
    fn coast(&mut self, now: f64) {
        let rate = self.drift.rate();
        let floors = self.measure(now);
        self.offset = self.coasted(now);
        let recent = now - 1.0;
        let least = |of: &Direction| of.window.recent_least(of.slope(now, rate), recent, 1);
        if let Some(least) = least(&self.up) {
            self.offset = self.offset.min(least);
        }
        if let Some(least) = least(&self.down) {
            self.offset = self.offset.max(-least);
        }
        // Further jumps are noticed against the floors since the last.
        let known = |floor: Floor| (floor.samples >= ENOUGH).then_some(floor);
        if let Some((up, down)) = floors {
            (self.up.floor, self.down.floor) = (known(up), known(down));
        }
        self.at = now;
    }

    /// Whether the delays since a change of route are known well enough.
    fn learned(&self, now: f64, learning: Learning) -> bool {
        let (Some(up), Some(down)) = (self.up.floor, self.down.floor) else {
            return false;
        };
        let long = 1.5 * self.config.learning.as_secs_f64();
        up.error.hypot(down.error) < 5e-4 || now > learning.until + long
    }

    /// The delays after a change are known: what they differ by from before is the route's, unless the smallest
    /// round trip is back or the round trip has not changed at all.
    fn settle(&mut self, now: f64, learning: Learning) {
        let Some((up, down)) = self.measure(now) else {
            return;
        };
        let offset = self.coasted(now);
        let round_trip = up.value + down.value;
        let (longer_up, longer_down) = (
            up.value - offset - learning.before.0,
            down.value + offset - learning.before.1,
        );
        let noise = (3.0 * up.error.hypot(down.error))
            .min((longer_up.abs() + longer_down.abs()) / 8.0)
            + JUMP;
        let continuous = up.value - down.value - 2.0 * offset;
        let asymmetry = match self.best {
            Some((best, asymmetry)) if (round_trip - best).abs() <= noise => asymmetry,
            Some((best, _)) if round_trip < best && self.is_young(now) => 0.0,
            _ if opposite(longer_up, longer_down, noise) => self.asymmetry,
            _ => continuous.clamp(-round_trip.max(0.0), round_trip.max(0.0)),
        };
        self.asymmetry = asymmetry;
        self.drift.shift((continuous - asymmetry) / 2.0);
        self.last_point = now;
        self.learning = None;
    }

    /// Adds the offset of the last seconds alone to the line the drift is drawn from.
    fn measure_drift(&mut self, now: f64) {
        let span = (self.last_point, f64::INFINITY);
        let fewer = self.up.window.count(span).min(self.down.window.count(span));
        let middle = Extrapolation {
            now: (self.last_point + now) / 2.0,
            ..self.moment(now)
        };
        self.last_point = now;
        let (scratch, share) = (&mut self.scratch, Window::share(fewer));
        let up = self.up.measure(scratch, middle, span, share, false);
        let down = self.down.measure(scratch, middle, span, share, false);
        if let (Some(up), Some(down)) = (up, down)
            && fewer >= 4
        {
            let offset = (up.value - down.value - self.asymmetry) / 2.0;
            let error = up.error.hypot(down.error) / 2.0;
            self.drift.push(middle.now, offset, error);
        }
    }
}

/// Whether the two directions have changed by the same amount in opposite directions: then a clock has jumped, not the route.
fn opposite(up: f64, down: f64, noise: f64) -> bool {
    (up + down).abs() <= noise.max(0.1 * (up - down).abs()) && (up - down).abs() > 4.0 * noise
}
