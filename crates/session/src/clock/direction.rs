//! One direction of a path: its delays, their floor, and when it jumps.

use super::window::{Floor, Slope, Suspect, Window};

/// One direction of a path between two clocks.
#[derive(Clone, Debug)]
pub(crate) struct Direction {
    pub(crate) window: Window,
    /// As last measured; `None` until there are enough samples since the last jump.
    pub(crate) floor: Option<Floor>,
    /// 1 where the other clock's lead adds to the delay, −1 where it shortens it.
    sign: f64,
}

/// The time values are extrapolated to, and the line along which they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extrapolation {
    pub(crate) now: f64,
    /// How fast the other clock gains.
    pub(crate) rate: f64,
    /// How exactly that is known.
    pub(crate) rate_error: f64,
    /// When the floors were measured.
    pub(crate) measured: f64,
}

/// Samples that have to agree that a floor has risen, and the time they span at least.
const RISEN: usize = 12;
const RECENT: f64 = 2.0;
/// Samples of which three have to agree that a floor has fallen.
const DOUBTED: usize = 8;
/// The smallest jump that is handled, in seconds: the error of ignoring one is half of it.
pub(crate) const JUMP: f64 = 1e-3;
/// The number of samples needed for a floor.
pub(crate) const ENOUGH: usize = 2 * RISEN;

impl Direction {
    pub(crate) fn there() -> Self {
        Self::new(1.0)
    }

    pub(crate) fn back() -> Self {
        Self::new(-1.0)
    }

    fn new(sign: f64) -> Self {
        Self {
            window: Window::default(),
            floor: None,
            sign,
        }
    }

    /// How values of this direction change.
    pub(crate) fn slope(&self, to: f64, rate: f64) -> Slope {
        Slope {
            to,
            rate: self.sign * rate,
        }
    }

    /// The floor when last measured, extrapolated to another time.
    pub(crate) fn carried(&self, moment: Extrapolation) -> Option<f64> {
        let moved = self.sign * moment.rate * (moment.now - moment.measured);
        Some(self.floor?.value + moved)
    }

    /// The floor of the samples in `span`. With `wary`, single delays far below the last one do not count yet.
    pub(crate) fn measure(
        &self,
        scratch: &mut Vec<f64>,
        moment: Extrapolation,
        span: (f64, f64),
        share: f64,
        wary: bool,
    ) -> Option<Floor> {
        let suspect = match (self.floor, self.carried(moment)) {
            (Some(floor), Some(value)) if wary && floor.samples >= ENOUGH => Suspect {
                since: self.recent(moment),
                below: value - self.too_low(moment, &floor),
            },
            _ => Suspect::NONE,
        };
        let slope = self.slope(moment.now, moment.rate);
        self.window.floor(scratch, slope, span, suspect, share)
    }

    /// Whether the delays have jumped; then those before are forgotten, and the floor with them. `closely` looks for jumps
    /// smaller than the jitter too.
    pub(crate) fn jumps(
        &mut self,
        scratch: &mut Vec<f64>,
        moment: Extrapolation,
        closely: bool,
    ) -> bool {
        let (Some(floor), Some(value)) = (self.floor, self.carried(moment)) else {
            return false;
        };
        if floor.samples < ENOUGH {
            return false;
        }
        let since = self
            .jump(scratch, moment, &floor, value)
            .or_else(|| closely.then(|| self.shift(scratch, moment)).flatten());
        if let Some(since) = since {
            self.window.forget_before(since);
            self.floor = None;
        }
        since.is_some()
    }

    /// The time of a jump that single delays show.
    fn jump(
        &self,
        scratch: &mut Vec<f64>,
        moment: Extrapolation,
        floor: &Floor,
        value: f64,
    ) -> Option<f64> {
        let slope = self.slope(moment.now, moment.rate);
        let (count, first) = self.window.below(
            slope,
            self.recent(moment),
            value - self.too_low(moment, floor),
        );
        if count >= 3 {
            return Some(first);
        }
        let since = moment.now - RECENT;
        // Higher than most were. If the rise has begun to lift the upper quarter already, half of that will do.
        let usual = (floor.median + floor.upper) / 2.0 - floor.value;
        let high = value + usual.max(self.least_jump(moment));
        let least = self.window.recent_least(slope, since, RISEN)?;
        (least > high).then(|| self.window.risen(scratch, slope, since, value))
    }

    /// When the floor moved by less than the jitter: the floors of the last seconds and of the time before tell, where single
    /// delays do not.
    fn shift(&self, scratch: &mut Vec<f64>, moment: Extrapolation) -> Option<f64> {
        let recent = (moment.now - 2.0 * RECENT, f64::INFINITY);
        let before = (f64::NEG_INFINITY, moment.now - 2.5 * RECENT);
        let samples = self.window.count(recent);
        if samples < ENOUGH || self.window.count(before) < samples {
            return None;
        }
        let share = Window::share(samples);
        let new = self.measure(scratch, moment, recent, share, false)?;
        let old = self.measure(scratch, moment, before, share, false)?;
        let chance = 5.0 * new.error.hypot(old.error) + JUMP + self.least_jump(moment);
        ((new.value - old.value).abs() > chance).then_some(recent.0)
    }

    /// Since when samples are so new that a few far below the floor are still doubted.
    fn recent(&self, moment: Extrapolation) -> f64 {
        let since = moment.now - RECENT;
        self.window.last(DOUBTED).map_or(since, |at| at.min(since))
    }

    /// How far below a floor a delay has to be to be no chance of jitter.
    fn too_low(&self, moment: Extrapolation, floor: &Floor) -> f64 {
        (1.2 * (floor.median - floor.value)).max(self.least_jump(moment))
    }

    /// The smallest jump that cannot be drift.
    fn least_jump(&self, moment: Extrapolation) -> f64 {
        let span = moment.now - self.window.begins().unwrap_or(moment.now);
        JUMP + 3.0 * moment.rate_error * span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays of 10 ms, every tenth of a second, with a little jitter, and from `from` seconds on longer by `by`.
    fn direction(from: f64, by: f64) -> Direction {
        let mut direction = Direction::there();
        for i in 0..300 {
            let at = f64::from(i) * 0.1;
            let jitter = f64::from((i * 7) % 13) * 1e-4;
            let longer = if at >= from { by } else { 0.0 };
            direction.window.push(at, 0.010 + jitter + longer);
        }
        let before = (f64::NEG_INFINITY, from);
        let moment = Extrapolation {
            now: 30.0,
            rate: 0.0,
            rate_error: 1e-6,
            measured: 30.0,
        };
        let floor = direction.measure(&mut Vec::new(), moment, before, 0.2, false);
        direction.floor = floor;
        direction
    }

    #[test]
    fn jumps_are_noticed_and_what_was_before_forgotten() {
        for by in [0.060, -0.008, 0.003, -0.003] {
            let mut direction = direction(27.0, by);
            let moment = Extrapolation {
                now: 30.0,
                rate: 0.0,
                rate_error: 1e-6,
                measured: 30.0,
            };
            assert!(direction.jumps(&mut Vec::new(), moment, true), "{by}");
            assert!(direction.window.len() <= 41 && direction.floor.is_none());
        }
    }

    #[test]
    fn jitter_is_no_jump() {
        let mut direction = direction(31.0, 0.060);
        let moment = Extrapolation {
            now: 30.0,
            rate: 0.0,
            rate_error: 1e-6,
            measured: 30.0,
        };
        assert!(!direction.jumps(&mut Vec::new(), moment, true));
        assert_eq!(direction.window.len(), 300);
    }
}
