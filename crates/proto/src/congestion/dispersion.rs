//! Packet-train dispersion: the bottleneck's rate, from how far apart packets arrive that left together.

use std::time::Duration;

use crate::pacing::Train;

/// A line through (bytes apart in a train, seconds apart at the receiver): its slope is seconds per byte at the
/// bottleneck, and the scatter around it tells how far to trust that, whatever the jitter. Packets are only
/// compared with the first one known of their own train: what stood in the queue before is the same for all of
/// them. Under jitter the packets reported first are the lucky ones, so the estimate errs to the slow, safe side.
#[derive(Default)]
pub(super) struct Dispersion {
    /// First packet known of the present train: the train's start, bytes ahead of it, when it arrived.
    first: Option<(Duration, f64, f64)>,
    n: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

/// Bytes per second.
pub(super) struct Estimate {
    /// Very likely not less than this.
    pub(super) at_least: f64,
    pub(super) likely: f64,
    samples: f64,
}

impl Estimate {
    pub(super) fn is_firm(&self) -> bool {
        self.samples >= 8.0 && self.at_least > 0.85 * self.likely
    }
}

impl Dispersion {
    pub(super) fn on_sample(&mut self, train: Train, received: f64) {
        match self.first {
            Some((start, ahead, at)) if start == train.start => {
                let (x, y) = (train.ahead - ahead, received - at);
                self.n += 1.0;
                self.xx += x * x;
                self.xy += x * y;
                self.yy += y * y;
            }
            _ => self.first = Some((train.start, train.ahead, received)),
        }
    }

    pub(super) fn rate(&self) -> Option<Estimate> {
        if self.n < 3.0 || self.xy <= 0.0 {
            return None;
        }
        let slope = self.xy / self.xx;
        let scatter = (self.yy - slope * self.xy).max(0.0) / (self.n - 1.0);
        // Two standard errors, more while there are few samples.
        let error = (scatter / self.xx).sqrt() * (2.0 + 4.0 / (self.n - 1.0));
        Some(Estimate {
            at_least: 1.0 / (slope + error),
            likely: 1.0 / slope,
            samples: self.n,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A train of 32 packets every 10 ms, every eighth reported, over 100 Mbit/s.
    fn estimate(trains: u64, jitter: f64) -> Estimate {
        let mut rng = crate::congestion::world::Rng::new(7);
        let mut dispersion = Dispersion::default();
        for train in 0..trains {
            let start = Duration::from_millis(10 * train);
            for packet in [7, 15, 23, 31] {
                let ahead = f64::from(packet) * 1228.0;
                dispersion.on_sample(
                    Train { start, ahead },
                    start.as_secs_f64() + ahead / 12.5e6 + jitter * rng.f64(),
                );
            }
        }
        dispersion.rate().expect("enough samples")
    }

    #[test]
    fn one_train_is_enough_without_jitter() {
        let estimate = estimate(1, 0.0);
        assert!(
            (estimate.likely / 12.5e6 - 1.0).abs() < 0.001
                && estimate.at_least > 0.99 * estimate.likely
        );
    }

    #[test]
    fn jitter_makes_it_cautious_until_there_is_more_to_go_by() {
        let (few, many) = (estimate(2, 0.002), estimate(50, 0.002));
        assert!(!few.is_firm() && few.at_least < 11e6);
        assert!(many.is_firm() && (many.likely / 12.5e6 - 1.0).abs() < 0.15);
    }
}
