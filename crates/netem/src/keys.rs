use crate::{LinkConfig, LinkError, Loss, NetworkProfile};
use std::time::Duration;

impl LinkConfig {
    /// The keys that [`LinkConfig::set`] understands, each with what it means: the names of the fields. Times are in milliseconds unless they end in `s`.
    pub const KEYS: [(&'static str, &'static str); 12] = [
        (
            "profile",
            "a named profile; replaces all other settings, so give it first",
        ),
        ("latency", "smallest one-way delay: 20, 20ms or 0.02s"),
        (
            "jitter",
            "random delay on top, or its distribution: uniform, normal, half-normal, exponential, pareto",
        ),
        ("loss", "fraction lost: 0.05 or 5%"),
        (
            "burst",
            "mean duration of a burst of loss; 0 for independent losses",
        ),
        ("duplicate", "fraction delivered twice"),
        ("reorder", "fraction held back by reorder_by"),
        ("reorder_by", "how long those are held back"),
        ("corrupt", "fraction delivered with one bit flipped"),
        (
            "rate_kbps",
            "rate limit in kbit/s, headers included; 0 for none",
        ),
        (
            "queue",
            "longest wait for the rate before a datagram is dropped",
        ),
        ("keep_order", "true: delayed datagrams hold up later ones"),
    ];

    /// Changes one setting from text, as given on a command line or in a plan.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), LinkError> {
        match key {
            "profile" => *self = NetworkProfile::find(value)?.down,
            "latency" => self.latency = time(key, value)?,
            "jitter" if value.trim().starts_with(char::is_alphabetic) => {
                self.jitter.distribution = value.parse()?;
            }
            "jitter" => self.jitter.amount = time(key, value)?,
            "loss" => {
                let rate = fraction(key, value)?;
                self.loss = match self.loss {
                    Loss::Burst { mean, .. } => Loss::Burst { rate, mean },
                    _ => Loss::Bernoulli(rate),
                };
            }
            "burst" => {
                let (mean, rate) = (time(key, value)?, self.loss.rate());
                self.loss = if mean.is_zero() {
                    Loss::Bernoulli(rate)
                } else {
                    Loss::Burst { rate, mean }
                };
            }
            "duplicate" => self.duplicate = fraction(key, value)?,
            "reorder" => self.reorder = fraction(key, value)?,
            "reorder_by" => self.reorder_by = time(key, value)?,
            "corrupt" => self.corrupt = fraction(key, value)?,
            "rate_kbps" => {
                let bps = number(key, value, "kbit/s", 1e12)? * 1e3;
                self.rate_bps = (bps > 0.0).then_some(bps as u64);
            }
            "queue" => self.queue = time(key, value)?,
            "keep_order" => {
                self.keep_order = value.parse().map_err(|_| {
                    LinkError::new(format!("{key} is true or false, not {value:?}"))
                })?;
            }
            _ => {
                let keys = LinkConfig::KEYS.map(|(key, _)| key).join(", ");
                return Err(LinkError::new(format!(
                    "unknown link setting {key:?}; there are {keys}"
                )));
            }
        }
        self.check()
    }
}

fn number(key: &str, value: &str, unit: &str, max: f64) -> Result<f64, LinkError> {
    match value.trim().parse::<f64>() {
        Ok(number) if (0.0..=max).contains(&number) => Ok(number),
        _ => Err(LinkError::new(format!(
            "{key} is a number of {unit} from 0 to {max}, not {value:?}"
        ))),
    }
}

/// A time: `20` and `20ms` are milliseconds, `1.5s` seconds.
fn time(key: &str, value: &str) -> Result<Duration, LinkError> {
    const DAY: f64 = 86_400.0;
    let value = value.trim();
    let ms = match (value.strip_suffix("ms"), value.strip_suffix('s')) {
        (None, Some(seconds)) => number(key, seconds, "seconds", DAY)? * 1e3,
        (ms, _) => number(key, ms.unwrap_or(value), "milliseconds", DAY * 1e3)?,
    };
    Ok(Duration::from_nanos((ms * 1e6).round() as u64))
}

fn fraction(key: &str, value: &str) -> Result<f64, LinkError> {
    let wrong = || {
        LinkError::new(format!(
            "{key} is a fraction from 0 to 1 or a percentage like 5%, not {value:?}"
        ))
    };
    let text = value.trim();
    let (text, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let fraction = text.parse::<f64>().map_err(|_| wrong())? / scale;
    if !(0.0..=1.0).contains(&fraction) {
        return Err(wrong());
    }
    Ok(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distribution;

    #[test]
    fn every_key_is_understood() {
        let mut config = LinkConfig::default();
        for (key, _) in LinkConfig::KEYS {
            let value = match key {
                "profile" => "lte",
                "keep_order" => "true",
                "rate_kbps" => "250.5",
                _ => "0.25",
            };
            config
                .set(key, value)
                .unwrap_or_else(|error| panic!("{key}: {error}"));
        }
        config.set("jitter", "normal").unwrap();
        assert_eq!(config.latency, Duration::from_micros(250));
        assert_eq!(config.jitter.amount, Duration::from_micros(250));
        assert_eq!(config.jitter.distribution, Distribution::Normal);
        assert_eq!(config.rate_bps, Some(250_500));
        assert!(config.keep_order);
        assert_eq!(
            (config.duplicate, config.reorder, config.corrupt),
            (0.25, 0.25, 0.25)
        );
        let mean = Duration::from_micros(250);
        assert_eq!(config.loss, Loss::Burst { rate: 0.25, mean });
    }

    #[test]
    fn loss_and_bursts_come_in_either_order() {
        let set = |pairs: [(&str, &str); 2]| {
            let mut config = LinkConfig::default();
            for (key, value) in pairs {
                config.set(key, value).unwrap();
            }
            config
        };
        let burst = set([("loss", "5%"), ("burst", "50")]);
        assert_eq!(burst, set([("burst", "0.05s"), ("loss", "0.05")]));
        assert_eq!(
            set([("loss", "1 %"), ("burst", "0")]).loss,
            Loss::Bernoulli(0.01)
        );
    }

    #[test]
    fn mistakes_are_explained() {
        let mistake = |key, value| {
            LinkConfig::default()
                .set(key, value)
                .unwrap_err()
                .to_string()
        };
        assert!(
            mistake("delay", "5").contains("latency"),
            "an unknown key lists the known ones"
        );
        assert_eq!(
            mistake("loss", "5"),
            "loss is a fraction from 0 to 1 or a percentage like 5%, not \"5\""
        );
        for (key, value) in [
            ("loss", "NaN"),
            ("loss", "-1%"),
            ("latency", "-1"),
            ("latency", "1e300s"),
            ("jitter", "bell"),
            ("rate_kbps", "fast"),
            ("rate_kbps", "0.001"),
            ("keep_order", "maybe"),
            ("profile", "moon"),
        ] {
            assert!(!mistake(key, value).is_empty());
        }
    }
}
