//! Statistics of a list of measurements: mean, spread, percentiles.

use std::borrow::Borrow;

/// Measurements of one quantity, all in the same unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    values: Vec<f64>,
}

impl Samples {
    /// An empty list.
    pub fn new() -> Samples {
        Samples::default()
    }

    /// Adds one measurement.
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
    }

    /// Adds every measurement of another list: repeats of one case are judged together.
    pub fn append(&mut self, other: &Samples) {
        self.values.extend_from_slice(&other.values);
    }

    /// The measurements of several lists, in their order.
    pub fn together<S: Borrow<Samples>>(lists: impl IntoIterator<Item = S>) -> Samples {
        let mut all = Samples::new();
        for list in lists {
            all.append(list.borrow());
        }
        all
    }

    /// How many measurements there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True when nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The measurements in the order they were taken.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Arithmetic mean; `None` without measurements.
    pub fn mean(&self) -> Option<f64> {
        if self.values.is_empty() {
            return None;
        }
        Some(self.values.iter().sum::<f64>() / self.values.len() as f64)
    }

    /// Population variance (the theses divide by n too); `None` without measurements.
    pub fn variance(&self) -> Option<f64> {
        let mean = self.mean()?;
        let squares: f64 = self.values.iter().map(|v| (v - mean) * (v - mean)).sum();
        Some(squares / self.values.len() as f64)
    }

    /// Standard deviation; `None` without measurements.
    pub fn std_dev(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// Largest measurement.
    pub fn max(&self) -> Option<f64> {
        self.values.iter().copied().reduce(f64::max)
    }

    /// Smallest measurement.
    pub fn min(&self) -> Option<f64> {
        self.values.iter().copied().reduce(f64::min)
    }

    /// Share (0 to 1) of measurements at most `width` away from `centre`.
    pub fn share_within(&self, centre: f64, width: f64) -> Option<f64> {
        if self.values.is_empty() {
            return None;
        }
        let near = self.values.iter().filter(|v| (*v - centre).abs() <= width);
        Some(near.count() as f64 / self.values.len() as f64)
    }

    /// The measurements in ascending order, for percentiles and distribution plots.
    pub fn sorted(&self) -> Sorted {
        let mut values = self.values.clone();
        values.sort_by(f64::total_cmp);
        Sorted { values }
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Samples {
        Samples {
            values: values.into_iter().collect(),
        }
    }
}

/// Measurements in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Sorted {
    values: Vec<f64>,
}

impl Sorted {
    /// The smallest measurement that at least `percent` of all do not exceed (nearest rank): always a value that
    /// was really measured, so a tail cannot look better than it was.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        assert!(
            (0.0..=100.0).contains(&percent),
            "a percentile lies between 0 and 100"
        );
        if self.values.is_empty() {
            return None;
        }
        // The small allowance keeps 99.9 % of 1000 at rank 999 in spite of rounding.
        let rank = (percent / 100.0 * self.values.len() as f64 - 1e-9).ceil() as usize;
        Some(self.values[rank.clamp(1, self.values.len()) - 1])
    }

    /// Points `(value, share of measurements above it)` of the tail distribution, at most `points` of them.
    pub fn tail(&self, points: usize) -> Vec<(f64, f64)> {
        let count = self.values.len();
        let step = (count / points.max(1)).max(1);
        // Every step-th value, but all of the last hundred: the tail is what one looks at.
        let shown = |index: &usize| index.is_multiple_of(step) || index + 100 >= count;
        (0..count)
            .filter(shown)
            .map(|i| (self.values[i], 1.0 - i as f64 / count as f64))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_spread() {
        let samples: Samples = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
            .into_iter()
            .collect();
        assert_eq!(samples.mean(), Some(5.0));
        assert_eq!(samples.variance(), Some(4.0));
        assert_eq!(samples.std_dev(), Some(2.0));
        assert_eq!((samples.min(), samples.max()), (Some(2.0), Some(9.0)));
        assert_eq!(samples.share_within(5.0, 1.0), Some(5.0 / 8.0));
    }

    #[test]
    fn nothing_measured_is_none_not_zero() {
        let none = Samples::new();
        assert_eq!(none.mean(), None);
        assert_eq!(none.variance(), None);
        assert_eq!(none.max(), None);
        assert_eq!(none.share_within(0.0, 1.0), None);
        assert_eq!(none.sorted().percentile(50.0), None);
        assert!(none.sorted().tail(10).is_empty());
    }

    #[test]
    fn percentile_is_the_nearest_rank() {
        let samples: Samples = (1..=1000).rev().map(f64::from).collect();
        let sorted = samples.sorted();
        assert_eq!(sorted.percentile(0.0), Some(1.0));
        assert_eq!(sorted.percentile(50.0), Some(500.0));
        assert_eq!(sorted.percentile(99.0), Some(990.0));
        assert_eq!(sorted.percentile(99.9), Some(999.0));
        assert_eq!(sorted.percentile(100.0), Some(1000.0));
        let one: Samples = [7.0].into_iter().collect();
        assert_eq!(one.sorted().percentile(1.0), Some(7.0));
    }

    #[test]
    fn repeats_are_judged_together() {
        let mut all: Samples = [1.0, 2.0].into_iter().collect();
        all.append(&[3.0].into_iter().collect());
        assert_eq!(all.values(), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn tail_falls_from_one() {
        let samples: Samples = (0..1000).map(f64::from).collect();
        let tail = samples.sorted().tail(50);
        assert_eq!(tail[0], (0.0, 1.0));
        assert!(tail.windows(2).all(|w| w[0].1 > w[1].1));
        assert!(tail.len() <= 200);
    }
}
