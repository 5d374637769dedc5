//! Random network conditions.

use std::time::Duration;

use samestep_netem::{Distribution, Jitter, LinkConfig, Loss, Rng};

/// How bad the links of a world may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// A tenth of the worst.
    Mild,
    /// Half of the worst.
    Rough,
    /// The worst: see [`random_link`](Severity::random_link).
    Awful,
}

impl Severity {
    /// Any of them.
    pub fn random(rng: &mut Rng) -> Severity {
        match rng.range(0..10) {
            0..3 => Severity::Mild,
            3..7 => Severity::Rough,
            _ => Severity::Awful,
        }
    }

    /// A link as bad as this allows. Awful: loss to 30 %, duplicates to 50 %, reordering to 30 %, corruption to 5 %.
    pub fn random_link(self, rng: &mut Rng) -> LinkConfig {
        let scale = match self {
            Severity::Mild => 0.1,
            Severity::Rough => 0.5,
            Severity::Awful => 1.0,
        };
        // Each kind of trouble is absent half of the time, so that they are met alone too.
        let mut upto = |most: f64| match rng.chance(0.5) {
            true => rng.f64() * most * scale,
            false => 0.0,
        };
        let (loss, duplicate, reorder, corrupt) = (upto(0.3), upto(0.5), upto(0.3), upto(0.05));
        let (jitter_ms, latency_ms) = (upto(60.0), upto(200.0));
        let bursty = rng.chance(0.3);
        LinkConfig {
            latency: Duration::from_micros((latency_ms * 1000.0) as u64 + rng.range(0..20_000)),
            jitter: Jitter {
                amount: Duration::from_micros((jitter_ms * 1000.0) as u64),
                distribution: Distribution::ALL
                    [rng.range(0..Distribution::ALL.len() as u64) as usize],
            },
            loss: match bursty {
                true => Loss::Burst {
                    rate: loss,
                    mean: Duration::from_millis(rng.range(5..300)),
                },
                false => Loss::Bernoulli(loss),
            },
            duplicate,
            reorder,
            reorder_by: Duration::from_millis(rng.range(1..100)),
            corrupt,
            rate_bps: match rng.chance(0.3 * scale + 0.05) {
                true => Some(1000 * rng.range(64..8_000)),
                false => None,
            },
            queue: Duration::from_millis(rng.range(20..500)),
            keep_order: rng.chance(0.2),
            ..LinkConfig::default()
        }
    }
}

/// A decent connection.
pub fn good_link() -> LinkConfig {
    LinkConfig {
        latency: Duration::from_millis(20),
        jitter: Jitter {
            amount: Duration::from_millis(2),
            ..Jitter::default()
        },
        rate_bps: Some(20_000_000),
        queue: Duration::from_millis(200),
        ..LinkConfig::default()
    }
}
