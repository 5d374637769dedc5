//! The offset of another clock, from the floors of the delays there and back.

use core::time::Duration;

use super::Exchange;
use super::drift::Drift;
use super::slew::SlewConfig;
use super::window::{Floor, Slope, Suspect, Window};

/// Settings of our own way to keep time.
///
/// Per direction it takes the mean of the lowest delays of half a minute, which queues, spikes and losses hardly touch, and
/// compensates for the drift between the clocks. When a floor jumps, the route has changed rather than the clock: it coasts,
/// learns the new delays and takes the difference between the two directions for the route's.
#[derive(Clone, PartialEq, Debug)]
pub struct FilterConfig {
    /// Exchanges asked for at the beginning, for a quick first fix. Default 40.
    pub burst: u32,
    /// Time between them. Default 25 ms.
    pub burst_interval: Duration,
    /// Longest time between two exchanges after that; other traffic counts, so a busy connection is asked for nothing.
    /// Shorter is more exact and costs a small packet each way. Default 100 ms.
    pub interval: Duration,
    /// How long a delay is remembered. Longer averages more and follows slower. Default 30 s.
    pub window: Duration,
    /// How long delays are learned after a change of route. Default 8 s.
    pub learning: Duration,
    /// How the shown time follows.
    pub slew: SlewConfig,
}

impl Default for FilterConfig {
    fn default() -> Self {
        Self {
            burst: 40,
            burst_interval: Duration::from_millis(25),
            interval: Duration::from_millis(100),
            window: Duration::from_secs(30),
            learning: Duration::from_secs(8),
            slew: SlewConfig::default(),
        }
    }
}

/// An estimate of one other clock.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    config: FilterConfig,
    begun: Duration,
    /// Nanoseconds of the first offset seen: everything else is small beside it.
    anchor: i128,
    up: Window,
    down: Window,
    scratch: Vec<f64>,
    /// Seconds the way there is longer than the way back, as far as changes of route have shown.
    asymmetry: f64,
    /// Other clock minus ours minus anchor, at `at`.
    offset: f64,
    at: f64,
    error: f64,
    drift: Drift,
    last_point: f64,
    last_comparison: f64,
    last_sample: f64,
    last_exchange: f64,
    exchanges: u64,
    fixed: Option<f64>,
    floors: Option<(Floor, Floor)>,
    learning: Option<Learning>,
    /// The smallest round trip of a settled route, and the asymmetry that went with it.
    best: Option<(f64, f64)>,
}

/// A route has changed.
#[derive(Clone, Copy, Debug)]
struct Learning {
    since: f64,
    until: f64,
    /// The floors before, carried along with the coasting offset: delays there and back.
    before: (f64, f64),
}

impl Filter {
    /// Exchanges for a first fix.
    const FIX: usize = 8;
    /// Samples kept whatever their age, for connections with little traffic, and their greatest age.
    const LEAST: usize = 64;
    const OLDEST: f64 = 300.0;
    /// Samples that have to agree that a floor has risen, and the time they span at least.
    const RISEN: usize = 12;
    const RECENT: f64 = 2.0;
    /// A jump smaller than this is not worth the trouble: half of it is the error.
    const JUMP: f64 = 1e-3;
    /// Until then the smallest round trip counts, after that the continuity of the clock.
    const YOUNG: f64 = 12.0;
    const POINT: f64 = 5.0;

    pub(crate) fn new(now: Duration, config: &FilterConfig) -> Self {
        Self {
            config: config.clone(),
            begun: now,
            anchor: 0,
            up: Window::default(),
            down: Window::default(),
            scratch: Vec::new(),
            asymmetry: 0.0,
            offset: 0.0,
            at: 0.0,
            error: f64::INFINITY,
            drift: Drift::new(),
            last_point: f64::NEG_INFINITY,
            last_comparison: f64::NEG_INFINITY,
            last_sample: f64::NEG_INFINITY,
            last_exchange: f64::NEG_INFINITY,
            exchanges: 0,
            fixed: None,
            floors: None,
            learning: None,
            best: None,
        }
    }

    /// Takes an exchange in; true if the estimate is new.
    pub(crate) fn on_exchange(&mut self, exchange: &Exchange) -> bool {
        if exchange.returned_at < exchange.sent_at || exchange.answered_at < exchange.received_at {
            return false;
        }
        let sent = self.local(exchange.sent_at);
        let now = self.local(exchange.returned_at);
        if self.exchanges == 0 {
            self.anchor =
                exchange.received_at.as_nanos() as i128 - exchange.sent_at.as_nanos() as i128;
        }
        self.exchanges += 1;
        self.last_exchange = now;
        // A busy connection brings more than it takes; while the first fix is sought, everything is welcome.
        let spacing = if self.fixed.is_some_and(|at| now > at + 1.5) {
            self.config.window.as_secs_f64() / 600.0
        } else {
            0.004
        };
        if now < self.last_sample + spacing {
            return false;
        }
        self.last_sample = now;
        let there = self.difference(exchange.received_at, exchange.sent_at);
        let back = -self.difference(exchange.answered_at, exchange.returned_at);
        if self.contradicts(now, there, back) {
            self.restart();
        }
        self.up.push(sent, there);
        self.down.push(now, back);
        let since = now - self.config.window.as_secs_f64();
        for window in [&mut self.up, &mut self.down] {
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

    /// Expected error of the offset, in seconds. Grows while nothing is heard.
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

    /// No packet arrives before it was sent: if it seems so by far, the clocks themselves have jumped (a machine slept).
    fn contradicts(&self, now: f64, there: f64, back: f64) -> bool {
        let allowed = 5e-3 + 3.0 * self.drift.error() * (now - self.at).max(0.0);
        let offset = self.coasted(now);
        self.fixed.is_some() && (there - offset < -allowed || back + offset < -allowed)
    }

    fn restart(&mut self) {
        self.up.clear();
        self.down.clear();
        self.asymmetry = 0.0;
        self.error = f64::INFINITY;
        self.drift = Drift::new();
        self.fixed = None;
        self.floors = None;
        self.learning = None;
        self.best = None;
    }

    fn slopes(&self, now: f64) -> (Slope, Slope) {
        let rate = self.drift.rate();
        (
            Slope { to: now, rate },
            Slope {
                to: now,
                rate: -rate,
            },
        )
    }

    fn estimate(&mut self, now: f64) -> bool {
        let first = self.last_exchange;
        if self.fixed.is_none() {
            let waited = self.up.len() >= Self::FIX || (self.up.len() > 1 && first > 0.5);
            if !waited {
                return false;
            }
        }
        self.notice_jumps(now);
        if let Some(learning) = self.learning {
            self.offset = self.coasted(now);
            self.at = now;
            self.keep_possible(now);
            if now < learning.until || !self.learned(now, learning) {
                return true;
            }
            self.settle(now, learning);
            self.learning = None;
        }
        let Some((up, down)) = self.measure(now) else {
            return false;
        };
        self.offset = (up.value - down.value - self.asymmetry) / 2.0;
        self.at = now;
        self.error = up.error.hypot(down.error) / 2.0 + 20e-6;
        self.floors = Some((up, down));
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

    /// Remembers the smallest round trip, and returns to its asymmetry when it is back.
    fn compare_with_best(&mut self, now: f64, up: &Floor, down: &Floor) {
        let round_trip = up.value + down.value;
        match self.best {
            Some((best, asymmetry)) if now > Self::YOUNG => {
                let noise = 3.0 * up.error.hypot(down.error) + Self::JUMP;
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

    /// Whether the delays since a change of route are known well enough.
    fn learned(&self, now: f64, learning: Learning) -> bool {
        let samples = self.up.len().min(self.down.len());
        let exact = self
            .floors
            .is_some_and(|(up, down)| up.error.hypot(down.error) < 5e-4);
        let long = now > learning.until + 1.5 * self.config.learning.as_secs_f64();
        samples >= 2 * Self::RISEN && (exact || long)
    }

    /// How far back to look: as far as the unknown part of the drift does less harm than more samples do good.
    fn span(&self) -> f64 {
        let Some((up, down)) = self.floors.filter(|_| self.learning.is_none()) else {
            return f64::INFINITY;
        };
        let longest = self.config.window.as_secs_f64();
        let error = up.error.hypot(down.error) / 2.0;
        (2.0 * error / self.drift.error()).clamp(Self::POINT, longest.max(Self::POINT))
    }

    /// The floors of both directions.
    fn measure(&mut self, now: f64) -> Option<(Floor, Floor)> {
        let (there, back) = self.slopes(now);
        let mut span = (now - self.span(), f64::INFINITY);
        if self.up.count(span).min(self.down.count(span)) < 2 * Self::RISEN {
            span.0 = f64::NEG_INFINITY;
        }
        let share = Window::share(self.up.count(span).min(self.down.count(span)));
        let (mut suspect_up, mut suspect_down) = (Suspect::NONE, Suspect::NONE);
        if let Some((up, down)) = self.floors.filter(|_| self.settled(now)) {
            let moved = self.drift.rate() * (now - self.at);
            let since = now - Self::RECENT;
            let suspect = |below| Suspect { since, below };
            suspect_up = suspect(up.value + moved - too_low(&up));
            suspect_down = suspect(down.value - moved - too_low(&down));
        }
        let up = self
            .up
            .floor(&mut self.scratch, there, span, suspect_up, share)?;
        let down = self
            .down
            .floor(&mut self.scratch, back, span, suspect_down, share)?;
        Some((up, down))
    }

    /// Whether the floors are known well enough to tell a jump from chance.
    fn settled(&self, now: f64) -> bool {
        self.fixed.is_some_and(|at| now > at + 3.0)
            && self
                .floors
                .is_some_and(|(up, down)| up.samples.min(down.samples) >= 2 * Self::RISEN)
    }

    fn notice_jumps(&mut self, now: f64) {
        let Some((up, down)) = self.floors.filter(|_| self.settled(now)) else {
            return;
        };
        let moved = self.drift.rate() * (now - self.at);
        let (there, back) = self.slopes(now);
        let scratch = &mut self.scratch;
        let mut jumps = [
            jump(&self.up, scratch, there, &up, moved, now),
            jump(&self.down, scratch, back, &down, -moved, now),
        ];
        if now >= self.last_comparison + 0.5 {
            self.last_comparison = now;
            jumps[0] = jumps[0].or_else(|| shift(&self.up, scratch, there, now));
            jumps[1] = jumps[1].or_else(|| shift(&self.down, scratch, back, now));
        }
        if jumps.iter().all(Option::is_none) {
            return;
        }
        if let Some(since) = jumps[0] {
            self.up.forget_before(since);
        }
        if let Some(since) = jumps[1] {
            self.down.forget_before(since);
        }
        let offset = self.coasted(now);
        let learning = self.learning.get_or_insert(Learning {
            since: now,
            until: now,
            before: (up.value + moved - offset, down.value - moved + offset),
        });
        // Routes that never come to rest must not keep the clock from its measurements for ever.
        let longest = learning.since + 60.0;
        learning.until = (now + self.config.learning.as_secs_f64()).min(longest);
        // The floors to compare with from here on are those of the new route, as soon as there are enough samples.
        self.floors = None;
    }

    /// While coasting, delays must not seem negative.
    fn keep_possible(&mut self, now: f64) {
        let (there, back) = self.slopes(now);
        if let Some(least) = self.up.recent_least(there, now - 1.0, 1) {
            self.offset = self.offset.min(least);
        }
        if let Some(least) = self.down.recent_least(back, now - 1.0, 1) {
            self.offset = self.offset.max(-least);
        }
        if self.floors.is_none() {
            // Further jumps are noticed against the new floors.
            if let Some((up, down)) = self.measure(now)
                && up.samples.min(down.samples) >= 2 * Self::RISEN
            {
                self.floors = Some((up, down));
            }
        } else {
            self.floors = self.measure(now);
        }
    }

    /// The delays after a change are known: what they differ by from before is the route's, unless the smallest
    /// round trip is back or the round trip has not changed at all.
    fn settle(&mut self, now: f64, learning: Learning) {
        self.floors = None;
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
            + Self::JUMP;
        let continuous = up.value - down.value - 2.0 * offset;
        let asymmetry = match self.best {
            Some((best, asymmetry)) if (round_trip - best).abs() <= noise => asymmetry,
            Some((best, _)) if round_trip < best && now < Self::YOUNG => 0.0,
            _ if opposite(longer_up, longer_down, noise) => self.asymmetry,
            _ => continuous.clamp(-round_trip.max(0.0), round_trip.max(0.0)),
        };
        self.asymmetry = asymmetry;
        self.drift.shift((continuous - asymmetry) / 2.0);
        self.last_point = now;
        self.floors = Some((up, down));
    }

    /// Adds the offset of the last seconds alone to the line the drift is drawn from.
    fn measure_drift(&mut self, now: f64) {
        let span = (self.last_point, f64::INFINITY);
        let middle = (self.last_point + now) / 2.0;
        let rate = self.drift.rate();
        let there = Slope { to: middle, rate };
        let back = Slope {
            to: middle,
            rate: -rate,
        };
        let share = Window::share(self.up.count(span).min(self.down.count(span)));
        let up = self
            .up
            .floor(&mut self.scratch, there, span, Suspect::NONE, share);
        let down = self
            .down
            .floor(&mut self.scratch, back, span, Suspect::NONE, share);
        self.last_point = now;
        let (Some(up), Some(down)) = (up, down) else {
            return;
        };
        if up.samples.min(down.samples) >= 4 {
            let offset = (up.value - down.value - self.asymmetry) / 2.0;
            let before = self.coasted(now);
            self.drift
                .push(middle, offset, up.error.hypot(down.error) / 2.0);
            // The samples are carried along another line from here on, which must not move the estimate of now.
            self.offset = before;
        }
    }
}

/// How far below a floor a delay has to be to be no chance of jitter.
fn too_low(floor: &Floor) -> f64 {
    (1.2 * (floor.median - floor.value)).max(Filter::JUMP)
}

/// When a direction's delays jumped, if they did. `moved` is the floor's drift since it was measured.
fn jump(
    window: &Window,
    scratch: &mut Vec<f64>,
    slope: Slope,
    floor: &Floor,
    moved: f64,
    now: f64,
) -> Option<f64> {
    let since = now - Filter::RECENT;
    let value = floor.value + moved;
    let (count, first) = window.below(slope, since, value - too_low(floor));
    if count >= 3 {
        return Some(first);
    }
    let high = (floor.upper + moved).max(value + Filter::JUMP);
    let least = window.recent_least(slope, since, Filter::RISEN)?;
    (least > high).then(|| window.risen(scratch, slope, since, value))
}

/// When a direction's floor moved by less than its jitter, if it did: the floors of the last seconds and of the time before
/// tell, where single delays do not.
fn shift(window: &Window, scratch: &mut Vec<f64>, slope: Slope, now: f64) -> Option<f64> {
    let recent = (now - 2.0 * Filter::RECENT, f64::INFINITY);
    let before = (f64::NEG_INFINITY, now - 2.5 * Filter::RECENT);
    let samples = window.count(recent);
    if samples < 2 * Filter::RISEN || window.count(before) < samples {
        return None;
    }
    let share = Window::share(samples);
    let new = window.floor(scratch, slope, recent, Suspect::NONE, share)?;
    let old = window.floor(scratch, slope, before, Suspect::NONE, share)?;
    let chance = 5.0 * new.error.hypot(old.error) + 2.0 * Filter::JUMP;
    ((new.value - old.value).abs() > chance).then_some(recent.0)
}

/// The two directions have changed by the same amount in opposite ways: that is no route, that is a clock.
fn opposite(up: f64, down: f64, noise: f64) -> bool {
    (up + down).abs() <= noise.max(0.1 * (up - down).abs()) && (up - down).abs() > 4.0 * noise
}
