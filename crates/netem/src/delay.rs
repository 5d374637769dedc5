use crate::{LinkConfig, LinkError, Rng};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Random delay on top of a link's latency, drawn anew for each datagram and never negative: the latency stays the
/// smallest delay there is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter {
    /// The size; what it measures depends on the distribution.
    pub amount: Duration,
    /// The shape.
    pub distribution: Distribution,
}

/// The shape of [`Jitter`]; `amount` is the amount of the jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    /// Evenly between 0 and `amount`. Mean `amount`/2, standard deviation 0.29 `amount`.
    #[default]
    Uniform,
    /// A bell of standard deviation `amount` around 3 `amount`, cut at 0 and 6 `amount`. Few datagrams come near
    /// the minimum, which makes it the hard case for clock estimates. To centre it on a wanted delay, set the
    /// latency 3 `amount` lower.
    Normal,
    /// The positive half of a bell: |N(0, `amount`²)|. Mean 0.8 `amount`, standard deviation 0.6 `amount`.
    HalfNormal,
    /// Mean and standard deviation `amount`: mostly small, 1 % above 4.6 `amount`.
    Exponential,
    /// A heavy tail (Lomax, shape 4): mean `amount`, standard deviation 1.4 `amount`, 1 % above 6.5 `amount`, 0.1 % above
    /// 13.9 `amount`.
    Pareto,
}

impl Distribution {
    /// All of them, for lists of choices.
    pub const ALL: [Distribution; 5] = [
        Distribution::Uniform,
        Distribution::Normal,
        Distribution::HalfNormal,
        Distribution::Exponential,
        Distribution::Pareto,
    ];

    /// The name used on command lines and in plans.
    pub fn name(self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Normal => "normal",
            Distribution::HalfNormal => "half-normal",
            Distribution::Exponential => "exponential",
            Distribution::Pareto => "pareto",
        }
    }

    /// A sample for an amount of 1.
    fn sample(self, rng: &mut Rng) -> f64 {
        match self {
            Distribution::Uniform => rng.f64(),
            Distribution::Normal => (3.0 + rng.normal()).clamp(0.0, 6.0),
            Distribution::HalfNormal => rng.normal().abs(),
            Distribution::Exponential => rng.exponential(),
            // The fourth root as two square roots, which are exact on every platform.
            Distribution::Pareto => 3.0 * (1.0 / (1.0 - rng.f64()).sqrt().sqrt() - 1.0),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Distribution {
    type Err = LinkError;

    fn from_str(name: &str) -> Result<Distribution, LinkError> {
        let found = Distribution::ALL.into_iter().find(|d| d.name() == name);
        found.ok_or_else(|| {
            let names = Distribution::ALL.map(Distribution::name).join(", ");
            LinkError::new(format!(
                "unknown jitter distribution {name:?}; there are {names}"
            ))
        })
    }
}

/// A rare, large extra delay. A link may have several kinds; a datagram suffers at most one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spike {
    /// Fraction of the datagrams that suffer it.
    pub chance: f64,
    /// The smallest extra delay.
    pub min: Duration,
    /// The largest; uniform in between.
    pub max: Duration,
}

/// A receiver's radio that sleeps when nothing comes (Wi-Fi power saving): the first datagram after a silence waits
/// for the next beacon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doze {
    /// The silence after which the radio sleeps.
    pub after: Duration,
    /// The time between beacons; a datagram waits evenly between 0 and this.
    pub beacon: Duration,
}

/// Draws the delays of one link.
#[derive(Clone, Debug)]
pub(crate) struct DelayProcess {
    rng: Rng,
    last_sent: Option<Duration>,
}

impl DelayProcess {
    pub(crate) fn new(rng: Rng) -> DelayProcess {
        DelayProcess {
            rng,
            last_sent: None,
        }
    }

    /// The time from leaving the queue at `now` to arriving.
    pub(crate) fn delay(&mut self, now: Duration, config: &LinkConfig) -> Duration {
        let mut delay = config.latency;
        if !config.jitter.amount.is_zero() {
            let jitter = config.jitter;
            delay += scale(jitter.amount, jitter.distribution.sample(&mut self.rng));
        }
        if !config.spikes.is_empty() {
            delay += self.spike(&config.spikes);
        }
        if let Some(doze) = config.doze {
            let asleep = self
                .last_sent
                .is_some_and(|last| now.saturating_sub(last) > doze.after);
            if asleep {
                delay += scale(doze.beacon, self.rng.f64());
            }
            self.last_sent = Some(now);
        }
        delay
    }

    fn spike(&mut self, spikes: &[Spike]) -> Duration {
        let mut left = self.rng.f64();
        for spike in spikes {
            if left < spike.chance {
                // The rest of the draw is uniform below `chance`, so it also gives the size of the spike.
                return spike.min + scale(spike.max - spike.min, left / spike.chance);
            }
            left -= spike.chance;
        }
        Duration::ZERO
    }
}

fn scale(duration: Duration, factor: f64) -> Duration {
    Duration::from_nanos((duration.as_nanos() as f64 * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(config: &LinkConfig, count: u32) -> Vec<f64> {
        let mut delays = DelayProcess::new(Rng::new(5));
        (0..count)
            .map(|i| {
                delays
                    .delay(i * Duration::from_millis(10), config)
                    .as_secs_f64()
                    * 1e3
            })
            .collect()
    }

    #[test]
    fn distributions_are_as_documented() {
        let expected = [
            (Distribution::Uniform, 5.0, 2.887),
            (Distribution::Normal, 30.0, 9.93),
            (Distribution::HalfNormal, 7.98, 6.03),
            (Distribution::Exponential, 10.0, 10.0),
            (Distribution::Pareto, 10.0, 14.1),
        ];
        for (distribution, mean, deviation) in expected {
            let jitter = Jitter {
                amount: Duration::from_millis(10),
                distribution,
            };
            let latency = Duration::from_millis(50);
            let config = LinkConfig {
                latency,
                jitter,
                ..LinkConfig::default()
            };
            let sample = milliseconds(&config, 200_000);
            assert!(
                sample.iter().all(|ms| *ms >= 50.0),
                "{distribution}: the latency is the minimum"
            );
            let n = sample.len() as f64;
            let got_mean = sample.iter().sum::<f64>() / n - 50.0;
            let variance = sample
                .iter()
                .map(|ms| (ms - 50.0 - got_mean).powi(2))
                .sum::<f64>()
                / n;
            assert!(
                (got_mean / mean - 1.0).abs() < 0.02,
                "{distribution}: mean {got_mean}"
            );
            assert!(
                (variance.sqrt() / deviation - 1.0).abs() < 0.06,
                "{distribution}: {}",
                variance.sqrt()
            );
        }
    }

    #[test]
    fn spikes_come_as_often_and_as_large_as_asked() {
        let spike = |chance, min, max| Spike {
            chance,
            min: Duration::from_millis(min),
            max: Duration::from_millis(max),
        };
        let config = LinkConfig {
            spikes: vec![spike(0.02, 6, 14), spike(0.001, 100, 200)],
            ..LinkConfig::default()
        };
        let sample = milliseconds(&config, 200_000);
        let count = |low: f64, high: f64| {
            sample
                .iter()
                .filter(|ms| (low..=high).contains(*ms))
                .count()
        };
        assert!(
            (3_800..4_200).contains(&count(6.0, 14.0)),
            "{}",
            count(6.0, 14.0)
        );
        assert!((160..240).contains(&count(100.0, 200.0)));
        assert_eq!(
            count(0.0, 0.0) + count(6.0, 14.0) + count(100.0, 200.0),
            sample.len()
        );
    }

    #[test]
    fn a_dozing_radio_delays_only_after_silence() {
        let doze = Some(Doze {
            after: Duration::from_millis(300),
            beacon: Duration::from_millis(100),
        });
        let config = LinkConfig {
            doze,
            ..LinkConfig::default()
        };
        let mut delays = DelayProcess::new(Rng::new(6));
        let mut longest = |interval: Duration| {
            (0..1000)
                .map(|i| delays.delay(i * interval, &config))
                .max()
                .unwrap()
        };
        assert_eq!(longest(Duration::from_millis(250)), Duration::ZERO);
        let slow = longest(Duration::from_millis(500));
        assert!(
            (Duration::from_millis(90)..=Duration::from_millis(100)).contains(&slow),
            "{slow:?}"
        );
    }

    #[test]
    fn names_and_distributions_agree() {
        for distribution in Distribution::ALL {
            assert_eq!(
                distribution.name().parse::<Distribution>(),
                Ok(distribution)
            );
        }
        assert!(
            "gaussian"
                .parse::<Distribution>()
                .unwrap_err()
                .to_string()
                .contains("half-normal")
        );
    }
}
