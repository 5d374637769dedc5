//! The jitter buffer: an adaptive interpolation delay, after the playout buffers of RTP receivers (RFC 3550; Ramjee et al., *Adaptive Playout Mechanisms*,
//! 1994). It decides how far behind the authority's present snapshots are shown, so that there is nearly always a next one to interpolate to.

use core::time::Duration;
use std::collections::VecDeque;

use crate::math::double as math;

#[cfg(test)]
mod tests;

/// How a view gets from one update of a row to the next, where its fields blend.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Interpolation {
    /// On a straight line.
    #[default]
    Linear,
    /// On a curve through the updates without corners. Angles turn evenly.
    Hermite,
}

/// How much later than the authority's present a stream is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InterpolationDelay {
    /// As much as latency, jitter and loss require, within bounds.
    Adaptive {
        /// Not less than this.
        least: Duration,
        /// Not more than this, whatever is missing then.
        most: Duration,
    },
    /// Always the same.
    Fixed(Duration),
}

/// As needed, up to a second.
impl Default for InterpolationDelay {
    fn default() -> Self {
        InterpolationDelay::Adaptive {
            least: Duration::ZERO,
            most: Duration::from_secs(1),
        }
    }
}

/// How a [`JitterBuffer`] runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct JitterBufferConfig {
    /// Default: adaptive, up to a second.
    pub delay: InterpolationDelay,
    /// Time between two snapshots. Default 50 ms.
    pub interval: Duration,
    /// How much slower than the authority's clock it may run to get a greater delay, and, at two fifths of it, faster to get a smaller one.
    /// Default 0.05. For two seconds after the beginning it may be four times as much.
    pub speed: f64,
    /// The share of time in which what is to be shown may be missing. Default 0.005.
    pub missing: f64,
}

impl Default for JitterBufferConfig {
    fn default() -> Self {
        Self {
            delay: InterpolationDelay::default(),
            interval: Duration::from_millis(50),
            speed: 0.05,
            missing: 0.005,
        }
    }
}

/// The playout clock of a stream of snapshots: runs behind the authority's clock, a little faster or slower than it where the delay has to change,
/// never backwards.
///
/// All times are those of the common clock. The delay is what would have sufficed for the parts of the last ten seconds, and what
/// chance would make of their delays and losses: it rises as soon as that is known, and falls slowly.
#[derive(Clone, Debug)]
pub(crate) struct JitterBuffer {
    config: JitterBufferConfig,
    interval: f64,
    /// What is needed, as measured last, and what is had.
    wanted: f64,
    delay: f64,
    /// When the first part came.
    since: Option<Duration>,
    /// When the delay was brought up to date.
    moved_at: Duration,
    /// When anything was asked or told last, and until when what comes may have waited here.
    awake_at: Option<Duration>,
    drowsy_until: Duration,
    shown: Duration,
    /// Of the newest part.
    newest: Option<Newest>,
    arrivals: Arrivals,
    sorted: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    tick_time: Duration,
    number: u32,
}

/// How long what is measured counts, in seconds.
const WINDOW: f64 = 10.0;

/// A program that was not called for this long was suspended: what arrives then may have waited.
const ASLEEP: Duration = Duration::from_millis(250);

/// How long a batch that has waited takes to be read.
const WAKING: Duration = Duration::from_millis(60);

/// A longer gap is a break, for which no delay makes up.
const BREAK: f64 = 1.5;

/// A delay that is off by more than this is not waited for, in seconds.
const JUMP: f64 = 0.5;

/// For so long after the beginning it may hurry, in seconds.
const SETTLING: f64 = 2.0;

/// A part that was overtaken and has not arrived after so many seconds is lost.
const OVERTAKEN: f64 = 0.25;

/// So many are remembered that may still come.
const MOST_SKIPPED: u32 = 1024;

/// Arrivals measured at most in a second.
const RATE: u32 = 40;

impl JitterBuffer {
    /// A clock that nothing has arrived at.
    pub fn new(config: JitterBufferConfig) -> JitterBuffer {
        let fixed = match config.delay {
            InterpolationDelay::Fixed(delay) => delay.as_secs_f64(),
            InterpolationDelay::Adaptive { .. } => 0.0,
        };
        JitterBuffer {
            interval: config.interval.as_secs_f64().max(0.001),
            config,
            wanted: fixed,
            delay: fixed,
            since: None,
            moved_at: Duration::ZERO,
            awake_at: None,
            drowsy_until: Duration::ZERO,
            shown: Duration::ZERO,
            newest: None,
            arrivals: Arrivals::default(),
            sorted: Vec::new(),
        }
    }

    /// Snapshots come at another pace from now on.
    pub fn set_interval(&mut self, interval: Duration) {
        self.config.interval = interval;
        self.interval = interval.as_secs_f64().max(0.001);
    }

    /// Another sends from now on, with numbers and latencies of its own. What is shown goes on.
    pub fn on_new_sender(&mut self) {
        self.newest = None;
        self.arrivals = Arrivals::default();
    }

    /// The part of this number, which tells of `tick_time`, has arrived; once for each.
    pub fn handle_arrival(&mut self, now: Duration, tick_time: Duration, number: u32) {
        self.on_awake(now);
        let (at, delay) = (now.as_secs_f64(), signed(now, tick_time));
        let Some(newest) = self.newest else {
            if self.since.is_none() {
                self.begin(now, delay);
            }
            self.newest = Some(Newest { tick_time, number });
            self.arrivals.begin(at, delay);
            return;
        };
        let steps = number.wrapping_sub(newest.number) as i32;
        let waited = now < self.drowsy_until;
        self.arrivals.count(at, number, steps.max(0) as u32);
        if !waited && delay < BREAK {
            self.arrivals.push_delay(at, delay, number);
        }
        if steps > 0 {
            self.newest = Some(Newest {
                tick_time: tick_time.max(newest.tick_time),
                number,
            });
        }
        if tick_time > newest.tick_time {
            let need = signed(now, newest.tick_time);
            if !waited && need < BREAK {
                self.arrivals.push_need(at, need);
            }
            self.estimate(at);
        }
    }

    /// What is to be shown at `now`: `None` until something has arrived. Never less than before.
    pub fn display_time(&mut self, now: Duration) -> Option<Duration> {
        self.on_awake(now);
        self.since?;
        self.move_on(now);
        let delay = Duration::from_secs_f64(self.delay.max(0.0));
        let ahead = Duration::from_secs_f64((-self.delay).max(0.0));
        self.shown = self.shown.max((now + ahead).saturating_sub(delay));
        Some(self.shown)
    }

    /// How far behind the common clock it is.
    pub fn delay(&self) -> Duration {
        Duration::from_secs_f64(self.delay.max(0.0))
    }

    fn on_awake(&mut self, now: Duration) {
        let before = self.awake_at.replace(now);
        if before.is_some_and(|before| now.saturating_sub(before) > ASLEEP) {
            self.drowsy_until = now + WAKING;
        }
    }

    fn begin(&mut self, now: Duration, delay: f64) {
        self.since = Some(now);
        self.moved_at = now;
        if let InterpolationDelay::Adaptive { .. } = self.config.delay {
            self.wanted = self.bounded(delay + 1.1 * self.interval);
            self.delay = self.wanted;
        }
    }

    fn bounded(&self, delay: f64) -> f64 {
        match self.config.delay {
            InterpolationDelay::Fixed(delay) => delay.as_secs_f64(),
            InterpolationDelay::Adaptive { least, most } => {
                let least = match least.is_zero() {
                    // Clocks may be off by more than latency.
                    true => f64::NEG_INFINITY,
                    false => least.as_secs_f64(),
                };
                math::max(math::min(delay, most.as_secs_f64()), least)
            }
        }
    }

    /// Measures what is needed.
    fn estimate(&mut self, at: f64) {
        let InterpolationDelay::Adaptive { .. } = self.config.delay else {
            return;
        };
        self.arrivals.forget(at - WINDOW);
        let (missing, interval) = (self.config.missing, self.interval);
        let chance = self
            .arrivals
            .enough_by_chance(interval, missing, &mut self.sorted);
        let needs = self.arrivals.enough_for_needs(missing, &mut self.sorted);
        // A moment for what was measured not to be missed by a hair.
        let wanted = math::max(chance, needs) + 0.02 * interval;
        self.wanted = match wanted.is_finite() {
            true => self.bounded(wanted),
            false => self.wanted,
        };
    }

    /// Brings the delay nearer to what is wanted.
    fn move_on(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.moved_at).as_secs_f64();
        self.moved_at = self.moved_at.max(now);
        let way = self.wanted - self.delay;
        if !(-JUMP..=JUMP).contains(&way) {
            self.delay = self.wanted;
            return;
        }
        let age = self.since.map_or(0.0, |since| signed(now, since));
        let speed = match age < SETTLING {
            true => 4.0 * self.config.speed,
            false => self.config.speed,
        };
        // The nearer the slower, so that the change of speed is not seen either.
        let pace = (way / 0.25).clamp(-0.4 * speed, speed);
        let step = pace * passed;
        self.delay += match way < 0.0 {
            true => math::max(step, way),
            false => math::min(step, way),
        };
    }
}

/// What has arrived lately. Times and delays are seconds.
#[derive(Clone, Debug, Default)]
struct Arrivals {
    /// When a part came, and how long it took.
    delays: VecDeque<(f64, f64)>,
    /// When something newer came, and what delay would have had something to show until then.
    needs: VecDeque<(f64, f64)>,
    /// Numbers of parts that were overtaken, or lost, and when that was seen.
    skipped: VecDeque<(f64, u32)>,
    /// Parts of each of the last seconds.
    seconds: VecDeque<Second>,
    /// Every so many parts are measured.
    stride: u32,
    began_at: f64,
    ends_at: f64,
}

#[derive(Clone, Copy, Debug)]
struct Second {
    from: f64,
    arrived: u32,
    lost: u32,
}

impl Arrivals {
    fn begin(&mut self, at: f64, delay: f64) {
        self.stride = 1;
        (self.began_at, self.ends_at) = (at, at);
        self.seconds.push_back(Second {
            from: at,
            arrived: 1,
            lost: 0,
        });
        self.delays.push_back((at, delay));
    }

    fn count(&mut self, at: f64, number: u32, steps: u32) {
        if self.seconds.back().is_none_or(|last| at - last.from >= 1.0) {
            self.stride = self
                .seconds
                .back()
                .map_or(1, |last| (last.arrived / RATE).max(1));
            self.seconds.push_back(Second {
                from: at,
                arrived: 0,
                lost: 0,
            });
        }
        if steps == 0 {
            self.skipped.retain(|(_, skipped)| *skipped != number);
        }
        for back in (1..steps.min(MOST_SKIPPED)).rev() {
            self.skipped.push_back((at, number.wrapping_sub(back)));
        }
        let is_lost = |(then, _): &&(f64, u32)| *then < at - OVERTAKEN;
        let lost = self.skipped.iter().take_while(is_lost).count();
        let lost = lost.max(self.skipped.len().saturating_sub(MOST_SKIPPED as usize));
        self.skipped.drain(..lost);
        if let Some(last) = self.seconds.back_mut() {
            last.arrived += 1;
            last.lost = last.lost.saturating_add(lost as u32);
        }
    }

    fn push_delay(&mut self, at: f64, delay: f64, number: u32) {
        self.ends_at = at;
        if number.is_multiple_of(self.stride) {
            self.delays.push_back((at, delay));
        }
    }

    fn push_need(&mut self, at: f64, need: f64) {
        self.needs.push_back((at, need));
    }

    fn forget(&mut self, before: f64) {
        self.began_at = math::max(self.began_at, before);
        // What takes no time to arrive can come in any number.
        let most = (RATE as f64 * WINDOW) as usize;
        for samples in [&mut self.delays, &mut self.needs] {
            while samples.len() > 2 * most || samples.front().is_some_and(|(at, _)| *at < before) {
                samples.pop_front();
            }
        }
        while self.seconds.len() > 1 && self.seconds[0].from + 1.0 < before {
            self.seconds.pop_front();
        }
    }

    /// The share of parts that did not arrive; few parts say little.
    fn loss(&self) -> f64 {
        let (mut arrived, mut lost) = (0u64, 0u64);
        for second in &self.seconds {
            arrived += u64::from(second.arrived);
            lost += u64::from(second.lost);
        }
        (lost as f64 / (arrived + lost + 20) as f64).clamp(0.0, 0.7)
    }

    /// The least delay with which, if each part is delayed or lost independently, nothing newer is there for so small a share of time.
    fn enough_by_chance(&self, interval: f64, missing: f64, sorted: &mut Vec<f64>) -> f64 {
        sorted.clear();
        sorted.extend(self.delays.iter().map(|(_, delay)| *delay));
        sorted.sort_unstable_by(f64::total_cmp);
        let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
            return f64::NAN;
        };
        let there = 1.0 - self.loss();
        // Whether anything newer is missing when the last thing shown is `delay` old: neither the next has come, nor the one after, …
        let is_missing = |delay: f64| {
            let mut chance = 1.0;
            let mut age = delay - interval;
            while age >= *first && chance > missing {
                let come = sorted.partition_point(|delay| *delay <= age);
                chance *= 1.0 - there * come as f64 / sorted.len() as f64;
                age -= interval;
            }
            chance > missing
        };
        let (mut least, mut enough) = (*first, *last + interval);
        while is_missing(enough) && enough < *last + 40.0 * interval {
            least = enough;
            enough += interval;
        }
        while enough - least > 0.0005 {
            let middle = 0.5 * (least + enough);
            match is_missing(middle) {
                true => least = middle,
                false => enough = middle,
            }
        }
        enough
    }

    /// The least delay with which something newer would have been missing for so small a share of the time measured.
    fn enough_for_needs(&self, missing: f64, sorted: &mut Vec<f64>) -> f64 {
        sorted.clear();
        sorted.extend(self.needs.iter().map(|(_, need)| *need));
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let allowed = missing * (self.ends_at - self.began_at).clamp(0.0, WINDOW);
        let mut above = 0.0;
        for (count, need) in sorted.iter().enumerate() {
            // The greater ones, each as far as it exceeds this one.
            if above - count as f64 * need > allowed {
                return (above - allowed) / count as f64;
            }
            above += need;
        }
        sorted.last().copied().unwrap_or(f64::NAN)
    }
}

fn signed(a: Duration, b: Duration) -> f64 {
    match a >= b {
        true => (a - b).as_secs_f64(),
        false => -(b - a).as_secs_f64(),
    }
}
