use crate::Rng;
use std::time::Duration;

/// Which datagrams a link loses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each with this probability, independently of the others.
    Bernoulli(f64),
    /// In bursts: a Gilbert–Elliott model in continuous time.
    ///
    /// The link is either good (loses nothing) or bad (loses everything), and stays so for exponentially distributed
    /// times: `mean` when bad, and when good as long as makes `rate` of the time bad. A model in time rather than in
    /// packets, so that sending more often does not change how long an outage lasts.
    Burst {
        /// Fraction of the time, hence of evenly spaced datagrams, that is lost.
        rate: f64,
        /// Mean duration of a burst.
        mean: Duration,
    },
}

impl Loss {
    /// Fraction of the datagrams lost in the long run.
    pub fn rate(&self) -> f64 {
        match *self {
            Loss::None => 0.0,
            Loss::Bernoulli(rate) | Loss::Burst { rate, .. } => rate,
        }
    }
}

/// The state of a link's loss process.
#[derive(Clone, Debug)]
pub(crate) struct LossProcess {
    rng: Rng,
    bad: bool,
    /// When the burst or the gap between bursts ends; `None` before the first datagram.
    until: Option<Duration>,
}

impl LossProcess {
    pub(crate) fn new(rng: Rng) -> LossProcess {
        LossProcess {
            rng,
            bad: false,
            until: None,
        }
    }

    /// Forgets the burst in progress: the settings have changed.
    pub(crate) fn restart(&mut self) {
        self.until = None;
    }

    pub(crate) fn loses(&mut self, now: Duration, loss: Loss) -> bool {
        match loss {
            Loss::None => false,
            Loss::Bernoulli(p) => self.rng.chance(p),
            Loss::Burst { rate, .. } if rate <= 0.0 || rate >= 1.0 => rate >= 1.0,
            Loss::Burst { rate, mean } => {
                let good = mean.as_secs_f64() * (1.0 - rate) / rate;
                let cycle = mean.as_secs_f64() + good;
                let mut until = match self.until {
                    // After a long silence the state no longer depends on what it was: draw it afresh
                    // instead of walking through every burst that nobody saw.
                    Some(until) if now.saturating_sub(until).as_secs_f64() < 64.0 * cycle => until,
                    _ => {
                        self.bad = self.rng.chance(rate);
                        now + self.holding_time(mean.as_secs_f64(), good)
                    }
                };
                while until <= now {
                    self.bad = !self.bad;
                    until += self.holding_time(mean.as_secs_f64(), good);
                }
                self.until = Some(until);
                self.bad
            }
        }
    }

    fn holding_time(&mut self, bad: f64, good: f64) -> Duration {
        let mean = if self.bad { bad } else { good };
        // At least a nanosecond: time must pass. At most a century: it must stay representable.
        let seconds = (mean * self.rng.exponential()).clamp(1e-9, 3.2e9);
        Duration::from_secs_f64(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(loss: Loss, interval: Duration, count: u32) -> Vec<bool> {
        let mut process = LossProcess::new(Rng::new(11));
        (0..count)
            .map(|i| process.loses(i * interval, loss))
            .collect()
    }

    fn fraction(lost: &[bool]) -> f64 {
        lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
    }

    #[test]
    fn bernoulli_loses_its_share() {
        let lost = lost(Loss::Bernoulli(0.05), Duration::from_millis(16), 100_000);
        assert!((fraction(&lost) - 0.05).abs() < 0.004);
        let pairs =
            lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / lost.len() as f64;
        assert!(
            (pairs - 0.0025).abs() < 0.001,
            "losses are independent: {pairs}"
        );
    }

    #[test]
    fn bursts_do_not_depend_on_the_packet_rate() {
        let loss = Loss::Burst {
            rate: 0.05,
            mean: Duration::from_millis(50),
        };
        for interval in [Duration::from_millis(1), Duration::from_millis(5)] {
            let lost = lost(loss, interval, 400_000);
            assert!((fraction(&lost) - 0.05).abs() < 0.01, "{}", fraction(&lost));
            let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
            let mean = fraction(&lost) * lost.len() as f64 / bursts as f64 * interval.as_secs_f64();
            // Sampling misses the shortest bursts and lengthens the mean of those seen by about an interval.
            assert!(
                (0.045..0.060).contains(&mean),
                "mean burst {mean} s at {interval:?}"
            );
        }
    }

    #[test]
    fn bursts_keep_their_rate_over_long_silences() {
        let loss = Loss::Burst {
            rate: 0.2,
            mean: Duration::from_millis(50),
        };
        let lost = lost(loss, Duration::from_secs(86_400), 20_000);
        assert!((fraction(&lost) - 0.2).abs() < 0.02);
    }

    #[test]
    fn the_ends_of_the_scale_are_exact() {
        let interval = Duration::from_millis(1);
        for (rate, expected) in [(0.0, false), (1.0, true)] {
            let mean = Duration::from_millis(50);
            assert!(
                lost(Loss::Burst { rate, mean }, interval, 999)
                    .iter()
                    .all(|l| *l == expected)
            );
            assert!(
                lost(Loss::Bernoulli(rate), interval, 999)
                    .iter()
                    .all(|l| *l == expected)
            );
        }
    }
}
