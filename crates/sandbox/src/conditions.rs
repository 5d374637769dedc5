//! The network conditions of a player's connection.

use std::time::Duration;

use samestep_netem::{LinkConfig, Loss, NetworkProfile, Path};

/// Profiles to choose from, from good to bad, with their names on the screen.
pub const PRESETS: [(&str, &str); 6] = [
    ("perfect", "Perfect"),
    ("lan", "LAN"),
    ("broadband", "Broadband"),
    ("lte", "LTE"),
    ("bad-wifi", "Bad Wi-Fi"),
    ("intercontinental", "Intercontinental"),
];

/// The network conditions of a player's connection: a profile and what was changed of it. The values apply in both directions.
#[derive(Clone, PartialEq, Debug)]
pub struct Conditions {
    profile: NetworkProfile,
    /// Minimum one-way delay.
    pub latency_ms: f64,
    /// Maximum random delay on top.
    pub jitter_ms: f64,
    /// Fraction lost.
    pub loss: f64,
    /// Mean duration of a burst of loss; 0: losses are independent.
    pub burst_ms: f64,
    /// Fraction delivered twice.
    pub duplicate: f64,
    /// Bandwidth in kbit/s, headers included; `None`: no limit.
    pub rate_kbps: Option<f64>,
}

impl Default for Conditions {
    fn default() -> Self {
        Self::of(NetworkProfile::named("perfect").expect("it is always there"))
    }
}

impl Conditions {
    /// Those of a named profile of [`samestep_netem`]; [`PRESETS`] has a choice of them.
    pub fn preset(name: &str) -> Result<Conditions, samestep_netem::LinkError> {
        NetworkProfile::find(name).map(Self::of)
    }

    fn of(profile: NetworkProfile) -> Conditions {
        let line = &profile.down;
        Conditions {
            latency_ms: millis(line.latency),
            jitter_ms: millis(line.jitter.amount),
            loss: line.loss.rate(),
            burst_ms: match line.loss {
                Loss::Burst { mean, .. } => millis(mean),
                _ => 0.0,
            },
            duplicate: line.duplicate,
            rate_kbps: line.rate_bps.map(|bps| bps as f64 / 1e3),
            profile,
        }
    }

    /// The name of the profile it began with.
    pub fn profile(&self) -> &'static str {
        self.profile.name
    }

    /// Whether something is not as in that profile.
    pub fn is_changed(&self) -> bool {
        *self != Self::of(self.profile.clone())
    }

    /// Both directions. What was not changed is as in the profile, which may differ by direction.
    pub fn path(&self) -> Path {
        let usual = Self::of(self.profile.clone());
        let mut path = self.profile.path();
        for link in [&mut path.up, &mut path.down] {
            self.change(&usual, link);
        }
        path
    }

    fn change(&self, usual: &Conditions, link: &mut LinkConfig) {
        let differs = |one: f64, other: f64| one != other;
        if differs(self.latency_ms, usual.latency_ms) {
            link.latency = duration(self.latency_ms);
        }
        if differs(self.jitter_ms, usual.jitter_ms) {
            link.jitter.amount = duration(self.jitter_ms);
        }
        if differs(self.loss, usual.loss) || differs(self.burst_ms, usual.burst_ms) {
            let (rate, mean) = (self.loss.clamp(0.0, 0.95), duration(self.burst_ms));
            link.loss = match mean.is_zero() {
                true => Loss::Bernoulli(rate),
                false => Loss::Burst { rate, mean },
            };
        }
        if differs(self.duplicate, usual.duplicate) {
            link.duplicate = self.duplicate.clamp(0.0, 1.0);
        }
        if self.rate_kbps != usual.rate_kbps {
            link.rate_bps = self.rate_kbps.map(|kbps| (kbps * 1e3).max(1_000.0) as u64);
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

fn duration(ms: f64) -> Duration {
    Duration::from_nanos((ms.clamp(0.0, 60_000.0) * 1e6) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_profile_and_stays_what_it_is() {
        for (name, _) in PRESETS {
            let conditions = Conditions::preset(name).unwrap();
            assert!(!conditions.is_changed());
            assert_eq!(
                conditions.path(),
                NetworkProfile::named(name).unwrap().path()
            );
        }
        let error = Conditions::preset("pigeons").unwrap_err().to_string();
        assert!(error.contains("bad-wifi"), "{error}");
    }

    #[test]
    fn what_is_changed_applies_both_ways_and_the_rest_stays() {
        let mut conditions = Conditions::preset("lte").unwrap();
        let before = conditions.path();
        conditions.latency_ms = 75.5;
        conditions.burst_ms = 0.0;
        assert!(conditions.is_changed());
        let path = conditions.path();
        for (link, before) in [(&path.up, &before.up), (&path.down, &before.down)] {
            assert_eq!(link.latency, Duration::from_micros(75_500));
            assert_eq!(link.loss, Loss::Bernoulli(0.005));
            assert_eq!(
                (&link.spikes, link.rate_bps),
                (&before.spikes, before.rate_bps)
            );
            link.check().unwrap();
        }
    }
}
