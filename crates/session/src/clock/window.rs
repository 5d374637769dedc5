//! The recent delays of one direction, and their floor.

use std::collections::VecDeque;

/// One direction's differences between sending and receiving clock, each the delay of a packet plus or minus the
/// clocks' offset. Times and values are seconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    samples: VecDeque<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: f64,
    value: f64,
}

/// The estimate of the smallest delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Floor {
    /// Mean of the lowest values: steadier than the minimum, which never settles when jitter is bell-shaped.
    pub(crate) value: f64,
    /// Expected error of that mean.
    pub(crate) error: f64,
    /// The value that a quarter of the samples exceed.
    pub(crate) upper: f64,
    /// The one that half of them exceed.
    pub(crate) median: f64,
    /// How many samples there were.
    pub(crate) samples: usize,
}

/// How values change with the clocks' rates: from the time of a sample to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slope {
    /// The time to which values are carried.
    pub(crate) to: f64,
    /// Seconds per second.
    pub(crate) rate: f64,
}

/// The latest samples, when they are far below the floor, count only once there are enough of them to tell a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspect {
    pub(crate) since: f64,
    pub(crate) below: f64,
}

impl Suspect {
    pub(crate) const NONE: Self = Self {
        since: f64::INFINITY,
        below: f64::NEG_INFINITY,
    };
}

impl Slope {
    fn carry(self, sample: &Sample) -> f64 {
        sample.value + self.rate * (self.to - sample.at)
    }
}

impl Window {
    /// The maximum number of samples; callers space them so that they span the time they need.
    const LIMIT: usize = 1024;

    pub(crate) fn push(&mut self, at: f64, value: f64) {
        if self.samples.len() == Self::LIMIT {
            self.samples.pop_front();
        }
        self.samples.push_back(Sample { at, value });
    }

    pub(crate) fn len(&self) -> usize {
        self.samples.len()
    }

    /// When the oldest sample was taken.
    pub(crate) fn begins(&self) -> Option<f64> {
        self.samples.front().map(|sample| sample.at)
    }

    /// When the `count`-th last sample was taken, if there are as many.
    pub(crate) fn last(&self, count: usize) -> Option<f64> {
        let index = self.samples.len().checked_sub(count)?;
        self.samples.get(index).map(|sample| sample.at)
    }

    /// Forgets what is older than `since`, but keeps the last `least` unless they are older than `latest`.
    pub(crate) fn forget(&mut self, since: f64, least: usize, latest: f64) {
        while let Some(first) = self.samples.front() {
            let old = first.at < since && self.samples.len() > least;
            if !old && first.at >= latest {
                break;
            }
            self.samples.pop_front();
        }
    }

    /// Forgets everything from before `since`.
    pub(crate) fn forget_before(&mut self, since: f64) {
        self.samples.retain(|sample| sample.at >= since);
    }

    /// The share of the samples to take for the lowest: a fifth of many, but up to eight of few, as the mean of one or two
    /// says little. Floors are compared only when they are of the same share.
    pub(crate) fn share(samples: usize) -> f64 {
        let lowest = (samples / 5).max((samples / 3).min(8)).max(1);
        lowest as f64 / samples.max(1) as f64 + 1e-9
    }

    /// How many samples there are in `from..until`.
    pub(crate) fn count(&self, (from, until): (f64, f64)) -> usize {
        let within = |sample: &&Sample| (from..until).contains(&sample.at);
        self.samples.iter().filter(within).count()
    }

    /// The floor of the samples taken in `from..until`. `scratch` saves an allocation.
    pub(crate) fn floor(
        &self,
        scratch: &mut Vec<f64>,
        slope: Slope,
        (from, until): (f64, f64),
        suspect: Suspect,
        share: f64,
    ) -> Option<Floor> {
        scratch.clear();
        let taken = self
            .samples
            .iter()
            .filter(|sample| (from..until).contains(&sample.at));
        let trusted = taken
            .filter(|sample| sample.at < suspect.since || slope.carry(sample) >= suspect.below);
        scratch.extend(trusted.map(|sample| slope.carry(sample)));
        let samples = scratch.len();
        if samples == 0 {
            return None;
        }
        let lowest = ((samples as f64 * share) as usize).clamp(1, samples);
        scratch.sort_unstable_by(f64::total_cmp);
        let value = scratch[..lowest].iter().sum::<f64>() / lowest as f64;
        // The spread among the lowest, and that of where they end.
        let edge = scratch[lowest - 1] - value;
        let squares = scratch[..lowest].iter().map(|v| (v - value) * (v - value));
        let variance = squares.sum::<f64>() / lowest as f64 + (1.0 - share) * edge * edge;
        Some(Floor {
            value,
            error: (variance / lowest as f64).sqrt(),
            upper: scratch[samples * 3 / 4],
            median: scratch[samples / 2],
            samples,
        })
    }

    /// The smallest of the last `count` samples or of those since `since`, whichever are more.
    pub(crate) fn recent_least(&self, slope: Slope, since: f64, count: usize) -> Option<f64> {
        if self.samples.len() < count {
            return None;
        }
        let recent = self.samples.iter().rev().enumerate();
        let recent = recent.take_while(|(taken, sample)| *taken < count || sample.at >= since);
        recent
            .map(|(_, sample)| slope.carry(sample))
            .reduce(f64::min)
    }

    /// When the values rose to what they are since `since`: after the last that was not half as far above `floor` as most are
    /// now. A few before that may have been high by chance.
    pub(crate) fn risen(
        &self,
        scratch: &mut Vec<f64>,
        slope: Slope,
        since: f64,
        floor: f64,
    ) -> f64 {
        let recent = self.samples.iter().filter(|s| s.at >= since);
        scratch.clear();
        scratch.extend(recent.map(|s| slope.carry(s)));
        scratch.sort_unstable_by(f64::total_cmp);
        let Some(level) = scratch.get(scratch.len() / 2) else {
            return since;
        };
        let half = (floor + level) / 2.0;
        let below = self.samples.iter().filter(|s| slope.carry(s) < half);
        below.map(|s| s.at + 1e-6).fold(f64::NEG_INFINITY, f64::max)
    }

    /// How many samples since `since` lie below `bound`, and the time of the first of them.
    pub(crate) fn below(&self, slope: Slope, since: f64, bound: f64) -> (usize, f64) {
        let mut found = (0, f64::INFINITY);
        for sample in self.samples.iter().rev() {
            if sample.at < since {
                break;
            }
            if slope.carry(sample) < bound {
                found = (found.0 + 1, found.1.min(sample.at));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STILL: Slope = Slope { to: 0.0, rate: 0.0 };
    const ALWAYS: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    #[test]
    fn the_floor_is_the_mean_of_the_lowest_tenth() {
        let mut window = Window::default();
        for i in 0..200 {
            window.push(f64::from(i), f64::from((i * 37) % 200));
        }
        let floor = window
            .floor(&mut Vec::new(), STILL, ALWAYS, Suspect::NONE, 0.1)
            .unwrap();
        assert_eq!(
            (floor.value, floor.median, floor.upper),
            (9.5, 100.0, 150.0)
        );
        assert_eq!(window.recent_least(STILL, 199.0, 3), Some(89.0));
        assert_eq!(window.below(STILL, 190.0, 130.0), (7, 190.0));
    }

    #[test]
    fn drift_is_taken_out() {
        let mut window = Window::default();
        for i in 0..100 {
            window.push(f64::from(i), 5.0 + 1e-3 * f64::from(i));
        }
        let slope = Slope {
            to: 100.0,
            rate: 1e-3,
        };
        let floor = window
            .floor(&mut Vec::new(), slope, ALWAYS, Suspect::NONE, 0.1)
            .unwrap();
        assert!((floor.value - 5.1).abs() < 1e-9 && floor.error < 1e-9);
    }

    #[test]
    fn the_last_samples_outlive_their_time_but_not_for_ever() {
        let mut window = Window::default();
        for i in 0..100 {
            window.push(f64::from(i), 0.0);
        }
        window.forget(95.0, 20, 10.0);
        assert_eq!(window.len(), 20);
        window.forget(95.0, 20, 90.0);
        assert_eq!(window.len(), 10);
    }
}
