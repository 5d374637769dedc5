use crate::{Distribution, Doze, Jitter, LinkConfig, LinkError, Loss, Path, Spike};
use std::time::Duration;

/// A named path: typical settings with the reason for them.
///
/// The settings are those of a whole path between two players or a player and a server, not of its access line alone.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkProfile {
    /// The name on command lines and in plans.
    pub name: &'static str,
    /// A description in one line.
    pub description: &'static str,
    /// Where the figures come from.
    pub source: &'static str,
    /// Client to server.
    pub up: LinkConfig,
    /// Server to client.
    pub down: LinkConfig,
}

impl NetworkProfile {
    /// The profile of that name, if there is one.
    pub fn named(name: &str) -> Option<NetworkProfile> {
        NetworkProfile::list()
            .into_iter()
            .find(|profile| profile.name == name)
    }

    /// Like [`NetworkProfile::named`], with an error that lists the names there are.
    pub fn find(name: &str) -> Result<NetworkProfile, LinkError> {
        NetworkProfile::named(name).ok_or_else(|| {
            let names: Vec<_> = NetworkProfile::list()
                .iter()
                .map(|profile| profile.name)
                .collect();
            LinkError::new(format!(
                "unknown profile {name:?}; there are {}",
                names.join(", ")
            ))
        })
    }

    /// Both directions.
    pub fn path(&self) -> Path {
        self.clone().into()
    }

    /// All profiles, from good to bad, then those made after published measurements.
    pub fn list() -> Vec<NetworkProfile> {
        vec![
            symmetric(
                "perfect",
                "no delay, no loss, no limit",
                "the default; shows what is left when the network costs nothing",
                LinkConfig::default(),
            ),
            symmetric(
                "lan",
                "a quiet wired network in one house",
                "0.2 ms one way with exponential jitter is what a switch and two kernels cost",
                LinkConfig {
                    latency: micros(200),
                    jitter: jitter(50, Distribution::Exponential),
                    rate_bps: Some(1_000_000_000),
                    queue: millis(20),
                    keep_order: true,
                    ..LinkConfig::default()
                },
            ),
            symmetric(
                "wan",
                "homes in different countries, each with a fast line: 120 ms round trip, 1 % loss",
                "above 100 ms through a relay, up to ten lost packets a second (deterministic lockstep thesis, 6.3.1); a host's uplink is a setting of its own",
                LinkConfig {
                    latency: millis(60),
                    loss: Loss::Bernoulli(0.01),
                    ..LinkConfig::default()
                },
            ),
            broadband(),
            lte(),
            symmetric(
                "bad-wifi",
                "a crowded channel two walls away: bursts of loss and of delay",
                "outages last as long as interference does (tens of ms), retries by the radio show as delay spikes",
                LinkConfig {
                    latency: millis(15),
                    jitter: jitter(4_000, Distribution::Exponential),
                    spikes: vec![spike(0.02, 15_000, 80_000)],
                    loss: Loss::Burst {
                        rate: 0.03,
                        mean: millis(40),
                    },
                    duplicate: 0.001,
                    rate_bps: Some(8_000_000),
                    queue: millis(250),
                    keep_order: true,
                    ..LinkConfig::default()
                },
            ),
            symmetric(
                "intercontinental",
                "Europe to Australia or east Asia",
                "130 ms one way is light in 17,000 km of fibre plus routers; loss is rare and independent",
                LinkConfig {
                    latency: millis(130),
                    jitter: jitter(1_000, Distribution::Exponential),
                    spikes: vec![spike(0.002, 6_000, 30_000)],
                    loss: Loss::Bernoulli(0.003),
                    rate_bps: Some(20_000_000),
                    queue: millis(150),
                    keep_order: true,
                    ..LinkConfig::default()
                },
            ),
            symmetric(
                "spiky-lan",
                "two games on one network, whose machines now and then take a tenth of a second to pass a message on",
                "fitted to Hat Hunters Online, 5.2: with both games polling once a frame, 26 ms round trip and spikes up to 140 ms",
                LinkConfig {
                    latency: micros(400),
                    jitter: jitter(200, Distribution::Exponential),
                    spikes: vec![spike(0.042, 75_000, 128_000)],
                    ..LinkConfig::default()
                },
            ),
            symmetric(
                "hotspot",
                "a game behind a telephone's LTE hotspot, the same smallest delay both ways",
                "fitted to Hat Hunters Online, 5.2: with both games polling once a frame, 83 ms round trip, clock differences of 6 ms",
                LinkConfig {
                    latency: millis(15),
                    jitter: jitter(6_000, Distribution::Normal),
                    spikes: vec![spike(0.01, 20_000, 80_000)],
                    loss: Loss::Bernoulli(0.005),
                    ..LinkConfig::default()
                },
            ),
            symmetric(
                "ping-deviation",
                "pings once a second that mostly do not deviate, 2.1 % of them by 6 ms or more",
                "87,600 pings to Spain and Australia: at most 14 ms, 212 ms once or twice a day (Rawrlocks thesis, 5.1.2)",
                // A spike in either direction makes two deviations, there and back again:
                // 4 × 0.00525 = 2.1 %. One ping a day suffers the large one.
                LinkConfig {
                    latency: millis(25),
                    jitter: jitter(200, Distribution::Uniform),
                    spikes: vec![
                        spike(0.005_25, 6_300, 13_800),
                        spike(0.000_006, 150_000, 211_500),
                    ],
                    keep_order: true,
                    ..LinkConfig::default()
                },
            ),
            symmetric(
                "ethernet",
                "a wired home network seen by an application: spacing kept within about 1 ms",
                "inter-arrival times of the GNAT dissertation, 6.1.2",
                LinkConfig {
                    latency: micros(200),
                    jitter: jitter(250, Distribution::Normal),
                    keep_order: true,
                    ..LinkConfig::default()
                },
            ),
            symmetric(
                "wifi",
                "a laptop near its router: within about 2 ms with spikes, variance 30 % above ethernet",
                "the GNAT dissertation, 6.1.2–3; its large variance at 500 and 1000 ms comes here from the radio's power saving",
                LinkConfig {
                    latency: millis(1),
                    jitter: jitter(275, Distribution::Normal),
                    spikes: vec![spike(0.000_6, 1_500, 4_500)],
                    doze: Some(Doze {
                        after: millis(300),
                        beacon: micros(102_400),
                    }),
                    loss: Loss::Bernoulli(0.000_001),
                    keep_order: true,
                    ..LinkConfig::default()
                },
            ),
        ]
    }
}

fn broadband() -> NetworkProfile {
    let down = LinkConfig {
        latency: millis(12),
        jitter: jitter(800, Distribution::Exponential),
        loss: Loss::Bernoulli(0.001),
        rate_bps: Some(50_000_000),
        queue: millis(100),
        keep_order: true,
        ..LinkConfig::default()
    };
    NetworkProfile {
        name: "broadband",
        description: "cable or DSL to a server in the same country",
        source: "25 ms round trip and 0.1 % loss are ordinary; 50/10 Mbit/s with the usual 100–200 ms of buffer",
        up: LinkConfig {
            rate_bps: Some(10_000_000),
            queue: millis(200),
            ..down.clone()
        },
        down,
    }
}

fn lte() -> NetworkProfile {
    let down = LinkConfig {
        latency: millis(20),
        jitter: jitter(7_700, Distribution::Exponential),
        spikes: vec![spike(0.003, 40_000, 150_000)],
        loss: Loss::Burst {
            rate: 0.005,
            mean: millis(30),
        },
        rate_bps: Some(20_000_000),
        queue: millis(300),
        keep_order: true,
        ..LinkConfig::default()
    };
    NetworkProfile {
        name: "lte",
        description: "a phone on a mobile network, standing still",
        source: "7.7 ms of jitter per direction as in published clock measurements; deep buffers, spikes at hand-over",
        up: LinkConfig {
            latency: millis(25),
            rate_bps: Some(5_000_000),
            queue: millis(500),
            ..down.clone()
        },
        down,
    }
}

fn symmetric(
    name: &'static str,
    description: &'static str,
    source: &'static str,
    config: LinkConfig,
) -> NetworkProfile {
    NetworkProfile {
        name,
        description,
        source,
        up: config.clone(),
        down: config,
    }
}

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn micros(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn jitter(amount_us: u64, distribution: Distribution) -> Jitter {
    Jitter {
        amount: micros(amount_us),
        distribution,
    }
}

fn spike(chance: f64, min_us: u64, max_us: u64) -> Spike {
    Spike {
        chance,
        min: micros(min_us),
        max: micros(max_us),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_profiles_are_valid_and_have_distinct_names() {
        let profiles = NetworkProfile::list();
        for profile in &profiles {
            profile.up.check().unwrap();
            profile.down.check().unwrap();
            assert_eq!(
                profiles
                    .iter()
                    .filter(|other| other.name == profile.name)
                    .count(),
                1
            );
            assert_eq!(NetworkProfile::named(profile.name).as_ref(), Some(profile));
        }
        assert!(
            NetworkProfile::find("moon")
                .unwrap_err()
                .to_string()
                .contains("bad-wifi")
        );
    }

    #[test]
    fn ping_deviation_reproduces_the_published_pings() {
        for seed in 0..3 {
            let (mut up, mut down) = NetworkProfile::named("ping-deviation")
                .unwrap()
                .path()
                .links(seed)
                .unwrap();
            let round_trips: Vec<f64> = (0..87_600)
                .map(|second| {
                    let sent = Duration::from_secs(second);
                    let there = up.send(sent, 64).arrivals[0];
                    let back = down.send(there, 64).arrivals[0];
                    (back - sent).as_secs_f64() * 1e3
                })
                .collect();
            let deviations: Vec<f64> = round_trips
                .windows(2)
                .map(|pair| (pair[1] - pair[0]).abs())
                .collect();
            let share = |least: f64| {
                deviations.iter().filter(|d| **d >= least).count() as f64 / deviations.len() as f64
            };
            assert!(
                (share(6.0) - 0.021).abs() < 0.004,
                "seed {seed}: {}",
                share(6.0)
            );
            assert!(
                share(1.0) < 0.03,
                "the majority does not deviate: {}",
                share(1.0)
            );
            assert!(
                share(14.5) < 8.0 / 87_600.0,
                "more than 14 ms is rare: {}",
                share(14.5)
            );
            let largest = deviations.iter().copied().fold(0.0, f64::max);
            assert!(largest <= 212.0, "{largest}");
        }
    }

    /// The variance of the inter-arrival times, in ms².
    fn variance(name: &str, interval: Duration, seed: u64) -> (f64, f64) {
        let (_, mut down) = NetworkProfile::named(name)
            .unwrap()
            .path()
            .links(seed)
            .unwrap();
        let arrivals: Vec<Duration> = (0..5000)
            .flat_map(|i| down.send(i * interval, 64).arrivals)
            .collect();
        let gaps: Vec<f64> = arrivals
            .windows(2)
            .map(|w| (w[1] - w[0]).as_secs_f64() * 1e3)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let within = |bound: f64| {
            gaps.iter()
                .filter(|gap| (*gap - mean).abs() < bound)
                .count() as f64
                / gaps.len() as f64
        };
        let bound = if name == "wifi" { 2.0 } else { 1.0 };
        (
            gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64,
            within(bound),
        )
    }

    #[test]
    fn wifi_varies_a_third_more_than_ethernet() {
        let mut ratios = 0.0;
        let intervals = [250, 125, 64, 8].map(Duration::from_millis);
        for interval in intervals {
            for seed in 0..5 {
                let (ethernet, within_1_ms) = variance("ethernet", interval, seed);
                let (wifi, within_2_ms) = variance("wifi", interval, seed);
                assert!(
                    within_1_ms > 0.99 && within_2_ms > 0.99,
                    "{within_1_ms} {within_2_ms}"
                );
                ratios += wifi / ethernet / 20.0;
            }
        }
        assert!((1.2..1.4).contains(&ratios), "{ratios}");
        let (slow, _) = variance("wifi", Duration::from_millis(500), 1);
        let (fast, _) = variance("wifi", Duration::from_millis(250), 1);
        assert!(slow > 100.0 * fast, "power saving: {slow} {fast}");
    }
}
