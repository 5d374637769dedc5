//! Fireball: somebody walks, somebody else throws a fireball across the way, and both judge by what they simulate.

mod designs;
mod ours;
mod plots;
pub(super) mod published;
mod range;
mod scenario;
#[cfg(test)]
mod tests;

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_sync::GameDelay;

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key, Value, plain, unless};
pub(super) use designs::{DESIGNS, Design, play as play_design};
pub(super) use ours::play as play_ours;
pub(super) use scenario::Outcome;

/// Two peers judge the same tries.
pub static EXPERIMENT: Experiment = Experiment {
    real: true,
    ..Experiment::new("fireball", KEYS, METRICS, run)
};

/// How long after it was made an input takes effect.
pub(super) const GAME_DELAY: Key = Key::text(
    "game_delay",
    "50",
    Domain::Choice(&["0", "25", "50", "100", "150", "200", "300", "dynamic"]),
    "how long after it was made an input takes effect, in ms; 0 is no event delay, dynamic follows the path up to 300 ms",
)
.labelled(|value| match value {
    Value::Text(text) if text == "dynamic" => plain(value),
    _ => Some(format!("gd{value}")),
});

/// What the way back takes.
pub(super) const BACK_MS: Key = Key::number(
    "back_ms",
    0.0,
    Domain::Number(0.0, 10_000.0),
    "smallest delay of the way from the second player to the first, in ms; 0 for that of the other way",
)
.labelled(|value| unless(0.0, value, |ms| format!("back{ms}ms")));

/// Tries of the published design: it takes the machine longer than ours.
pub(super) const THEIR_TRIES: Key = Key::number(
    "their_tries",
    1500.0,
    Domain::Whole(0, 1_000_000),
    "tries of the published design; 0 leaves it out",
);

const KEYS: &[&[Key]] = &[
    &[
        GAME_DELAY,
        link::PROFILE,
        link::LATENCY_MS.labelled(link::latency_label),
        BACK_MS,
        link::JITTER_MS.labelled(link::some_jitter_label),
        link::JITTER,
        link::LOSS.labelled(link::some_percent_label),
    ],
    link::FURTHER,
    &[
        Key::number(
            "tries",
            30_000.0,
            Domain::Whole(10, 10_000_000),
            "tries of each measurement",
        ),
        THEIR_TRIES,
        link::REPEATS,
    ],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "agreement",
        "%",
        "tries of which both peers held the same when they first simulated the tick that decided them",
    ),
    Metric::new(
        "apart_mean",
        "units",
        "how far from each other both had the walker at the instant of the thrower's hit, mean",
    ),
    Metric::new("apart_max", "units", "the same, maximum"),
    Metric::new("within_unit", "%", "hits at which it was less than one"),
    Metric::new(
        "disagreed",
        "ms",
        "from the first verdict of a try to both peers' holding the same, mean of all tries",
    ),
    Metric::new(
        "events_apart",
        "ms",
        "difference between the instants at which both executed a throw, mean",
    ),
    Metric::new("events_max", "ms", "the same, maximum"),
    Metric::new("within_10ms", "%", "throws for which it was at most 10 ms"),
    Metric::new(
        "input_delay",
        "ms",
        "from the thrower's key to the throw at itself, mean",
    ),
    Metric::new("hits", "%", "tries that were hits for the thrower"),
    Metric::new("tries", "", "how many tries there were"),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = match context.real {
        // Rooms would disturb each other.
        true => context.measure_with(1, |case, seed| measure(case, seed, true))?,
        false => context.measure(|case, seed| measure(case, seed, false))?,
    };
    let mut findings = Findings::default();
    let mut outcomes = Vec::new();
    for (case, repeats) in measured {
        let [mut ours, mut theirs] = [Outcome::default(), Outcome::default()];
        for (one, other) in &repeats {
            ours.add(one);
            theirs.add(other);
        }
        findings.add(&case.name, METRICS, &figures(&theirs), &figures(&ours));
        outcomes.push((case, ours, theirs));
    }
    findings.retain_measured();
    findings.plots = plots::plots(&outcomes);
    Ok(findings)
}

fn measure(case: &Case, seed: u64, real: bool) -> Result<(Outcome, Outcome), String> {
    let links = links(case)?;
    let links = [&links[0], &links[1]];
    let delay = game_delay(case);
    let ours = ours::play(delay, links, case.number("tries") as u64, seed, real)?;
    let theirs = match (delay, case.number("their_tries") as u64) {
        (GameDelay::Constant(delay), tries) if tries > 0 => {
            designs::play(Design::Position, delay, links, tries, seed)?
        }
        _ => Outcome::default(),
    };
    Ok((ours, theirs))
}

/// The ways from the first player to the second and back.
pub(super) fn links(case: &Case) -> Result<[LinkConfig; 2], String> {
    let path = link::path(case)?;
    let (there, mut back) = (path.up, path.down);
    if case.number("back_ms") > 0.0 {
        back.latency = case.millis("back_ms");
    }
    Ok([there, back])
}

/// The game delay of a case.
pub(super) fn game_delay(case: &Case) -> GameDelay {
    match case.text("game_delay").parse() {
        Ok(ms) => GameDelay::Constant(Duration::from_millis(ms)),
        Err(_) => samestep_sync::EventDelayConfig::default().delay,
    }
}

/// In the order of the metrics.
fn figures(outcome: &Outcome) -> Vec<Option<f64>> {
    if outcome.tries == 0 {
        return Vec::new();
    }
    let tries = outcome.tries as f64;
    let share = |of: &crate::stats::Samples, is_fit: fn(f64) -> bool| {
        let fit = of.values().iter().filter(|value| is_fit(**value)).count();
        (!of.is_empty()).then(|| 100.0 * fit as f64 / of.len() as f64)
    };
    let Outcome {
        apart,
        events_apart_ms: events,
        ..
    } = outcome;
    vec![
        Some(outcome.agreement()),
        apart.mean(),
        apart.max(),
        share(apart, |units| units < 1.0),
        outcome.disagreed_ms.mean(),
        events.mean(),
        events.max(),
        share(events, |ms| ms <= 10.0),
        outcome.input_delay_ms.mean(),
        Some(100.0 * outcome.hits as f64 / tries),
        Some(tries),
    ]
}
