use crate::{Doze, Jitter, Loss, Spike};
use std::fmt;
use std::time::Duration;

/// How one direction of a path behaves. The default is perfect: no delay, no loss, no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// The smallest one-way delay. Default 0.
    pub latency: Duration,
    /// Random delay on top. Independent per datagram, hence larger jitter than sending interval reorders, unless
    /// `keep_order`. Default none.
    pub jitter: Jitter,
    /// Rare large delays on top. Default none.
    pub spikes: Vec<Spike>,
    /// A radio that sleeps in silences. Default none.
    pub doze: Option<Doze>,
    /// Which datagrams are lost. Default none.
    pub loss: Loss,
    /// Fraction delivered twice; the second copy has its own jitter and costs no rate. Default 0.
    pub duplicate: f64,
    /// Fraction held back by `reorder_by`, `keep_order` or not. Default 0.
    pub reorder: f64,
    /// How long reordered datagrams are held back; datagrams sent within that time overtake them. Default 20 ms.
    pub reorder_by: Duration,
    /// Fraction delivered with one bit flipped. Default 0.
    pub corrupt: f64,
    /// Bits per second, counting [`IP_UDP_OVERHEAD_BYTES`](crate::IP_UDP_OVERHEAD_BYTES) for each datagram. Default unlimited.
    pub rate_bps: Option<u64>,
    /// Longest wait for the rate; a datagram that would wait longer is dropped. Without a rate nothing waits.
    /// Default 100 ms.
    pub queue: Duration,
    /// Whether later datagrams wait for earlier ones that were delayed more, as in one cable. Default no.
    pub keep_order: bool,
    /// Later changes of the link, in order of time. Default none.
    pub changes: Vec<Change>,
}

impl Default for LinkConfig {
    fn default() -> LinkConfig {
        LinkConfig {
            latency: Duration::ZERO,
            jitter: Jitter::default(),
            spikes: Vec::new(),
            doze: None,
            loss: Loss::None,
            duplicate: 0.0,
            reorder: 0.0,
            reorder_by: Duration::from_millis(20),
            corrupt: 0.0,
            rate_bps: None,
            queue: Duration::from_millis(100),
            keep_order: false,
            changes: Vec::new(),
        }
    }
}

/// A change of a link at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When, on the clock given to [`Link::send`](crate::Link::send).
    pub at: Duration,
    /// What.
    pub effect: Effect,
}

/// What a [`Change`] does. What is already on its way still arrives.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// These settings replace the present ones; their own `changes` must be empty.
    Settings(Box<LinkConfig>),
    /// From now on nothing gets through.
    PartitionStart,
    /// The partition is over.
    PartitionEnd,
}

impl LinkConfig {
    /// Adds a partition from `start` to `end`, keeping `changes` in order of time.
    pub fn partition(mut self, start: Duration, end: Duration) -> LinkConfig {
        self.changes.push(Change {
            at: start,
            effect: Effect::PartitionStart,
        });
        self.changes.push(Change {
            at: end,
            effect: Effect::PartitionEnd,
        });
        self.changes.sort_by_key(|change| change.at);
        self
    }

    /// Adds new settings from `at` on, keeping `changes` in order of time.
    pub fn then(mut self, at: Duration, settings: LinkConfig) -> LinkConfig {
        self.changes.push(Change {
            at,
            effect: Effect::Settings(Box::new(settings)),
        });
        self.changes.sort_by_key(|change| change.at);
        self
    }

    /// Says what is wrong with the settings, if anything.
    pub fn check(&self) -> Result<(), LinkError> {
        const LONGEST: Duration = Duration::from_secs(86_400);
        let probabilities = [
            ("loss", self.loss.rate()),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
            ("corrupt", self.corrupt),
            (
                "the chance of all spikes",
                self.spikes.iter().map(|spike| spike.chance).sum(),
            ),
        ];
        for (name, p) in probabilities {
            if !(0.0..=1.0).contains(&p) {
                return Err(LinkError::new(format!(
                    "{name} is a fraction from 0 to 1, not {p}"
                )));
            }
        }
        let times = [
            ("latency", self.latency),
            ("jitter", self.jitter.amount),
            ("reorder_by", self.reorder_by),
            ("queue", self.queue),
        ];
        for (name, time) in times {
            if time > LONGEST {
                return Err(LinkError::new(format!(
                    "{name} is at most a day, not {time:?}"
                )));
            }
        }
        for spike in &self.spikes {
            if spike.chance < 0.0 || spike.min > spike.max || spike.max > LONGEST {
                return Err(LinkError::new(format!(
                    "a spike has a chance from 0 and lasts from min to max, at most a day: not a chance of {}, {:?} to {:?}",
                    spike.chance, spike.min, spike.max
                )));
            }
        }
        if let Some(doze) = self.doze
            && doze.beacon > LONGEST
        {
            return Err(LinkError::new(format!(
                "the beacon interval of a radio that dozes is at most a day, not {:?}",
                doze.beacon
            )));
        }
        if let Loss::Burst { mean, .. } = self.loss
            && !(Duration::from_micros(10)..=LONGEST).contains(&mean)
        {
            return Err(LinkError::new(format!(
                "the mean burst lasts from 10 µs to a day, not {mean:?}"
            )));
        }
        if self.rate_bps.is_some_and(|rate| rate < 100) {
            return Err(LinkError::new(
                "the rate is at least 100 bits per second; lose everything with loss 1".into(),
            ));
        }
        if !self.changes.is_sorted_by_key(|change| change.at) {
            return Err(LinkError::new("changes are listed in order of time".into()));
        }
        for change in &self.changes {
            if let Effect::Settings(settings) = &change.effect {
                if !settings.changes.is_empty() {
                    return Err(LinkError::new(
                        "settings inside a change have no changes of their own".into(),
                    ));
                }
                settings.check()?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for LinkConfig {
    /// One line with what differs from a perfect link.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.latency)?;
        if !self.jitter.amount.is_zero() {
            write!(
                f,
                ", jitter {:?} {}",
                self.jitter.amount, self.jitter.distribution
            )?;
        }
        if !self.spikes.is_empty() {
            f.write_str(", spikes")?;
        }
        if self.doze.is_some() {
            f.write_str(", dozing")?;
        }
        let percent = |p: f64| format!("{} %", (p * 1e6).round() / 1e4);
        if self.loss.rate() > 0.0 {
            write!(f, ", loss {}", percent(self.loss.rate()))?;
        }
        if let Loss::Burst { mean, .. } = self.loss {
            write!(f, " in bursts of {mean:?}")?;
        }
        for (name, p) in [
            ("duplicates", self.duplicate),
            ("reordered", self.reorder),
            ("corrupt", self.corrupt),
        ] {
            if p > 0.0 {
                write!(f, ", {name} {}", percent(p))?;
            }
        }
        if let Some(rate) = self.rate_bps {
            write!(
                f,
                ", {} kbit/s with a queue of {:?}",
                rate as f64 / 1e3,
                self.queue
            )?;
        }
        if !self.changes.is_empty() {
            write!(f, ", {} changes", self.changes.len())?;
        }
        Ok(())
    }
}

/// What is wrong with a link's settings: a message for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkError(String);

impl LinkError {
    pub(crate) fn new(message: String) -> LinkError {
        LinkError(message)
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LinkError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_in_words() {
        let refused = |config: LinkConfig| config.check().unwrap_err().to_string();
        let perfect = LinkConfig::default;
        assert!(perfect().check().is_ok());
        assert_eq!(
            refused(LinkConfig {
                loss: Loss::Bernoulli(5.0),
                ..perfect()
            }),
            "loss is a fraction from 0 to 1, not 5"
        );
        assert!(
            refused(LinkConfig {
                duplicate: f64::NAN,
                ..perfect()
            })
            .contains("duplicate")
        );
        assert!(
            refused(LinkConfig {
                rate_bps: Some(0),
                ..perfect()
            })
            .contains("rate")
        );
        let mean = Duration::ZERO;
        assert!(
            refused(LinkConfig {
                loss: Loss::Burst { rate: 0.1, mean },
                ..perfect()
            })
            .contains("burst")
        );
        let spike = Spike {
            chance: 0.1,
            min: Duration::from_millis(30),
            max: Duration::from_millis(20),
        };
        assert_eq!(
            refused(LinkConfig {
                spikes: vec![spike],
                ..perfect()
            }),
            "a spike has a chance from 0 and lasts from min to max, at most a day: not a chance of 0.1, 30ms to 20ms"
        );
        let inner = perfect().partition(Duration::ZERO, Duration::from_secs(1));
        assert!(refused(perfect().then(Duration::from_secs(1), inner)).contains("inside a change"));
        let mut unsorted = perfect().partition(Duration::from_secs(1), Duration::from_secs(2));
        unsorted.changes.reverse();
        assert!(refused(unsorted).contains("order of time"));
    }

    #[test]
    fn the_summary_names_what_is_set() {
        let config = LinkConfig {
            latency: Duration::from_millis(50),
            loss: Loss::Bernoulli(0.05),
            rate_bps: Some(1_000_000),
            ..LinkConfig::default()
        };
        assert_eq!(
            config.to_string(),
            "50ms, loss 5 %, 1000 kbit/s with a queue of 100ms"
        );
    }
}
