//! How a character is moved when its program learns from the authority where it really is.

use super::field::WIDTH;
use crate::stats::Samples;

/// The corrections of characters, in widths of a character: along the direction of motion, across it, and as a whole. Each sample is the largest between
/// two changes of the player's steering, nothing where there was none: a program that is told more often is not better for it.
#[derive(Clone, Debug, Default)]
pub(in crate::experiments) struct Corrections {
    pub(in crate::experiments) along: Samples,
    pub(in crate::experiments) across: Samples,
    pub(in crate::experiments) total: Samples,
    /// How many there were that moved anything.
    pub(in crate::experiments) count: u64,
    /// The largest since the last change of the steering.
    largest: [f64; 3],
}

/// A body slower than this, in cells per second, has no direction: then all of a correction is along it.
const SLOW: f64 = 0.5;

impl Corrections {
    /// A character with a velocity in cells per second is to be somewhere else, by so many cells.
    pub(in crate::experiments) fn push(&mut self, by: [f64; 2], velocity: [f64; 2]) {
        let (length, speed) = (by[0].hypot(by[1]), velocity[0].hypot(velocity[1]));
        let (along, across) = match speed < SLOW {
            true => (length, 0.0),
            false => (
                (by[0] * velocity[0] + by[1] * velocity[1]) / speed,
                (by[0] * velocity[1] - by[1] * velocity[0]) / speed,
            ),
        };
        self.count += u64::from(length > 0.0);
        for (largest, part) in self.largest.iter_mut().zip([along, across, length]) {
            *largest = largest.max(part.abs() / f64::from(WIDTH));
        }
    }

    /// The player steers otherwise.
    pub(in crate::experiments) fn turn(&mut self) {
        let [along, across, total] = std::mem::take(&mut self.largest);
        self.along.push(along);
        self.across.push(across);
        self.total.push(total);
    }

    pub(in crate::experiments) fn append(&mut self, other: &Corrections) {
        self.along.append(&other.along);
        self.across.append(&other.across);
        self.total.append(&other.total);
        self.count += other.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_is_split_by_the_direction_of_motion() {
        let mut corrections = Corrections::default();
        let width = f64::from(WIDTH);
        corrections.push([-2.0 * width, 0.0], [4.0, 0.0]);
        corrections.turn();
        corrections.push([-width, width], [4.0, 0.0]);
        corrections.push([0.0, 3.0 * width], [4.0, 0.0]);
        corrections.turn();
        corrections.turn();
        corrections.push([0.0, width], [0.0, 0.1]);
        corrections.turn();
        let rounded = |samples: &Samples| -> Vec<f64> {
            samples.values().iter().map(|v| v.round()).collect()
        };
        assert_eq!(rounded(&corrections.along), [2.0, 1.0, 0.0, 1.0]);
        assert_eq!(rounded(&corrections.across), [0.0, 3.0, 0.0, 0.0]);
        assert_eq!(rounded(&corrections.total), [2.0, 3.0, 0.0, 1.0]);
        assert_eq!(corrections.count, 4);
    }
}
