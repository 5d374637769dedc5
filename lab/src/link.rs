//! The keys that describe a link, and the path they describe.

use samestep_netem::{Distribution, NetworkProfile, Path};

use crate::parameters::{Case, Domain, Key, Value, unless};

/// A named profile instead of single settings.
pub const PROFILE: Key = Key::text(
    "link.profile",
    "none",
    Domain::Listed(profiles),
    "named link profile; replaces the plan's other link settings, those given beside it with --set still apply",
)
.labelled(|value| Some(value.to_string()).filter(|name| name != "none"));

/// Smallest one-way delay.
pub const LATENCY_MS: Key = Key::number(
    "link.latency_ms",
    0.0,
    Domain::Number(0.0, 60_000.0),
    "smallest one-way delay, in ms",
);

/// Random delay on top.
pub const JITTER_MS: Key = Key::number(
    "link.jitter_ms",
    0.0,
    Domain::Number(0.0, 60_000.0),
    "random delay on top, in ms; its shape is link.jitter",
);

/// The shape of that delay.
pub const JITTER: Key = Key::text(
    "link.jitter",
    "uniform",
    Domain::Listed(distributions),
    "distribution of the jitter",
);

/// Share of datagrams lost.
pub const LOSS: Key = Key::number(
    "link.loss",
    0.0,
    Domain::Share,
    "share of datagrams lost, in each direction",
);

/// Length of bursts of loss.
pub const BURST_MS: Key = Key::number(
    "link.burst_ms",
    0.0,
    Domain::Number(0.0, 60_000.0),
    "mean length of a burst of loss, in ms; 0 for independent losses",
)
.labelled(|value| unless(0.0, value, |ms| format!("burst{ms}ms")));

/// Share of datagrams delivered twice.
pub const DUPLICATE: Key = Key::number(
    "link.duplicate",
    0.0,
    Domain::Share,
    "share of datagrams delivered twice",
);

/// Share of datagrams held back.
pub const REORDER: Key = Key::number(
    "link.reorder",
    0.0,
    Domain::Share,
    "share of datagrams held back by 20 ms, so that later ones overtake",
);

/// Rate limit.
pub const RATE_KBPS: Key = Key::number(
    "link.rate_kbps",
    0.0,
    Domain::Number(0.0, 1e9),
    "rate of each direction in kbit/s, IP and UDP headers included; 0 for no limit",
);

/// Longest wait for the rate.
pub const QUEUE_MS: Key = Key::number(
    "link.queue_ms",
    100.0,
    Domain::Number(0.0, 60_000.0),
    "longest wait for the rate, in ms; what would wait longer is dropped",
);

/// How long one measurement lasts.
pub const SECONDS: Key = Key::number(
    "seconds",
    60.0,
    Domain::Number(0.1, 100_000.0),
    "length of each measurement, in s",
);

/// How often each measurement is repeated.
pub const REPEATS: Key = Key::number(
    "repeats",
    1.0,
    Domain::Whole(1, 10_000),
    "measurements per case, each with its own seed; judged together",
);

/// Labels a latency.
pub fn latency_label(value: &Value) -> Option<String> {
    Some(format!("{value}ms"))
}

/// Labels a share as a percentage.
pub fn percent_label(value: &Value) -> Option<String> {
    match value {
        // Two roundings keep 0.29 from becoming 28.999999999999996%.
        Value::Number(share) => Some(format!("{}%", (share * 1e8).round() / 1e6)),
        Value::Text(_) => None,
    }
}

/// Labels a share as a percentage, unless it is 0.
pub fn some_percent_label(value: &Value) -> Option<String> {
    percent_label(value).filter(|label| label != "0%")
}

/// Labels jitter, always.
pub fn jitter_label(value: &Value) -> Option<String> {
    Some(format!("jitter{value}ms"))
}

/// Labels jitter, where there is some.
pub fn some_jitter_label(value: &Value) -> Option<String> {
    jitter_label(value).filter(|_| *value != Value::Number(0.0))
}

/// Delay, jitter and loss of a link whose loss is in every case's name.
pub const WITH_LOSS: &[Key] = &[
    LATENCY_MS,
    JITTER_MS.labelled(some_jitter_label),
    JITTER,
    LOSS.labelled(percent_label),
];

/// Delay, jitter and loss of a link that is good unless its name says otherwise.
pub const USUALLY_GOOD: &[Key] = &[
    LATENCY_MS,
    JITTER_MS.labelled(some_jitter_label),
    JITTER,
    LOSS.labelled(some_percent_label),
];

/// Delay, jitter and loss of a bad network, named as in the published scheme: `delay200`, `jitter100`, `loss10`.
pub const BAD: &[Key] = &[
    LATENCY_MS.labelled(|value| match value {
        Value::Number(ms) if *ms >= 1.0 => Some(format!("delay{ms}")),
        _ => None,
    }),
    JITTER_MS.labelled(|value| unless(0.0, value, |ms| format!("jitter{ms}"))),
    JITTER,
    LOSS.labelled(|value| {
        let percent = some_percent_label(value)?;
        Some(format!("loss{}", percent.trim_end_matches('%')))
    }),
];

/// The remaining keys of a link.
pub const FURTHER: &[Key] = &[BURST_MS, DUPLICATE, REORDER, RATE_KBPS, QUEUE_MS];

/// What the published scheme appends to the name of a case with a bad network: `delay200-loss10`.
pub fn bad_suffix(case: &Case) -> String {
    let parts = case.name.split('/');
    let parts = parts.filter(|part| {
        let named = |name| part.strip_prefix(name).is_some_and(|rest| !rest.is_empty());
        named("delay") || named("jitter") || named("loss")
    });
    parts.collect::<Vec<_>>().join("-")
}

fn profiles() -> Vec<&'static str> {
    std::iter::once("none")
        .chain(
            NetworkProfile::list()
                .into_iter()
                .map(|profile| profile.name),
        )
        .collect()
}

fn distributions() -> Vec<&'static str> {
    Distribution::ALL
        .iter()
        .map(|distribution| distribution.name())
        .collect()
}

/// The path a case describes: its profile, changed by the link keys the case has.
pub fn path(case: &Case) -> Result<Path, String> {
    let mut path = Path::default();
    let mut set = |key: &Key, value: &Value| {
        let name = key.name.trim_start_matches("link.");
        let name = name.trim_end_matches("_ms");
        path.set(name, &value.to_string())
            .map_err(|error| error.to_string())
    };
    // The profile first: it replaces everything before it.
    for key in [
        PROFILE, LATENCY_MS, JITTER_MS, JITTER, LOSS, BURST_MS, DUPLICATE, REORDER, RATE_KBPS,
        QUEUE_MS,
    ] {
        match case.value(key.name) {
            Some(Value::Text(name)) if name == "none" => {}
            Some(value) => set(&key, value)?,
            None => {}
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use samestep_netem::Loss;

    use super::*;
    use crate::plan::Plan;

    fn first(sets: &[(&str, &str)]) -> Case {
        let sets: Vec<_> = sets
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect();
        Plan::find("loss-latency")
            .unwrap()
            .cases(Default::default(), &sets)
            .unwrap()
            .remove(0)
    }

    #[test]
    fn keys_become_link_settings() {
        let case = first(&[
            ("link.latency_ms", "30"),
            ("link.jitter_ms", "4"),
            ("link.jitter", "exponential"),
            ("link.loss", "2%"),
            ("link.burst_ms", "40"),
            ("link.rate_kbps", "500"),
            ("link.queue_ms", "70"),
        ]);
        let link = path(&case).unwrap().up;
        assert_eq!(link.latency, Duration::from_millis(30));
        assert_eq!(link.jitter.amount, Duration::from_millis(4));
        assert_eq!(link.jitter.distribution, Distribution::Exponential);
        assert_eq!(
            link.loss,
            Loss::Burst {
                rate: 0.02,
                mean: Duration::from_millis(40)
            }
        );
        assert_eq!(
            (link.rate_bps, link.queue),
            (Some(500_000), Duration::from_millis(70))
        );
        assert!(
            case.name.starts_with("jitter4ms/2%/burst40ms/"),
            "{}",
            case.name
        );
    }

    #[test]
    fn a_profile_stands_for_all_settings_but_those_set_beside_it() {
        let lte = NetworkProfile::named("lte").unwrap();
        let case = first(&[("link.profile", "lte")]);
        assert_eq!(path(&case).unwrap(), lte.path());
        assert!(case.name.starts_with("lte/"), "{}", case.name);
        let changed = path(&first(&[("link.profile", "lte"), ("link.loss", "0.1")])).unwrap();
        assert_eq!(
            (changed.up.loss.rate(), changed.up.latency),
            (0.1, lte.up.latency)
        );
    }

    #[test]
    fn percentages_read_well() {
        let shown = [0.0, 0.005, 0.01, 0.05, 0.29, 1.0]
            .map(|share| percent_label(&Value::Number(share)).unwrap());
        assert_eq!(shown, ["0%", "0.5%", "1%", "5%", "29%", "100%"]);
    }
}
