//! How much faster the other clock runs.

use std::collections::VecDeque;

/// The slope of offsets measured every few seconds, cautious as long as there are few.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drift {
    points: VecDeque<Point>,
    rate: f64,
    error: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Point {
    at: f64,
    offset: f64,
    error: f64,
}

impl Drift {
    /// Crystals are within some 30 ppm of their nominal rate, and of each other.
    const EXPECTED: f64 = 30e-6;
    /// Three minutes of points 5 s apart: long enough for a ppm, short enough to follow a warming machine.
    const KEPT: usize = 36;

    pub(crate) fn new() -> Self {
        Self {
            error: Self::EXPECTED,
            ..Self::default()
        }
    }

    /// Seconds gained per second.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Expected error of the rate.
    pub(crate) fn error(&self) -> f64 {
        self.error
    }

    /// Moves all that was measured, when the offset turns out to have been wrong by a constant.
    pub(crate) fn shift(&mut self, by: f64) {
        for point in &mut self.points {
            point.offset += by;
        }
    }

    pub(crate) fn push(&mut self, at: f64, offset: f64, error: f64) {
        if self.points.len() == Self::KEPT {
            self.points.pop_front();
        }
        self.points.push_back(Point { at, offset, error });
        self.fit();
    }

    /// A line through the points by least squares, drawn towards no drift as strongly as the points are uncertain;
    /// a second pass leaves out those far from the first.
    fn fit(&mut self) {
        if self.points.len() < 3 {
            return;
        }
        let mut memory = [Point::default(); Self::KEPT];
        let mut len = self.points.len();
        for (kept, point) in memory.iter_mut().zip(&self.points) {
            *kept = *point;
        }
        for pass in 0..2 {
            let kept = &memory[..len];
            let count = kept.len() as f64;
            let mean = |of: fn(&Point) -> f64| kept.iter().map(of).sum::<f64>() / count;
            let (at, offset) = (mean(|p| p.at), mean(|p| p.offset));
            let (mut sxx, mut sxy) = (0.0, 0.0);
            for point in kept {
                sxx += (point.at - at) * (point.at - at);
                sxy += (point.at - at) * (point.offset - offset);
            }
            let line = sxy / sxx.max(1e-9);
            let residual = |p: &Point| p.offset - offset - line * (p.at - at);
            let scatter = kept.iter().map(|p| residual(p) * residual(p)).sum::<f64>()
                / (count - 2.0).max(1.0);
            let variance = scatter.max(mean(|p| p.error * p.error)).max(1e-10);
            let information = sxx / variance + 1.0 / (Self::EXPECTED * Self::EXPECTED);
            self.rate = sxy / variance / information;
            self.error = (1.0 / information).sqrt();
            if pass == 0 {
                let mut sizes = [0.0; Self::KEPT];
                for (size, point) in sizes.iter_mut().zip(kept) {
                    *size = residual(point).abs();
                }
                let sizes = &mut sizes[..len];
                sizes.sort_unstable_by(f64::total_cmp);
                let far = 4.0 * sizes[len / 2].max(20e-6);
                let mut near = [Point::default(); Self::KEPT];
                let mut count = 0;
                for point in kept.iter().filter(|p| residual(p).abs() <= far) {
                    near[count] = *point;
                    count += 1;
                }
                if count < 3 || count == len {
                    break;
                }
                (memory, len) = (near, count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_drift_is_found_in_spite_of_one_bad_point() {
        let mut drift = Drift::new();
        for i in 0..20 {
            let at = 5.0 * f64::from(i);
            let bad = if i == 11 { 0.02 } else { 0.0 };
            drift.push(at, -50e-6 * at + bad, 30e-6);
        }
        assert!((drift.rate() + 50e-6).abs() < 1e-6, "{}", drift.rate());
        assert!(drift.error() < 1e-6);
    }

    #[test]
    fn few_noisy_points_say_little() {
        let mut drift = Drift::new();
        for (i, offset) in [0.002, -0.001, 0.004].into_iter().enumerate() {
            drift.push(5.0 * i as f64, offset, 2e-3);
        }
        assert!(drift.rate().abs() < 10e-6, "{}", drift.rate());
    }
}
