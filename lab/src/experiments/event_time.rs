//! Event time: how far from each other in time the peers of a mesh execute the same event.

mod ours;
mod theirs;

use samestep_netem::LinkConfig;
use samestep_sync::{GameDelay, Rng};

use super::fireball::{GAME_DELAY, game_delay};
use super::prediction::SETTLING_S;
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key};
use crate::plot::{Data, Line, Plot, add_point};
use crate::stats::Samples;
use crate::testmatch::SECONDS;

/// Players do something now and then, and the instants are compared at which all execute it.
pub static EXPERIMENT: Experiment = Experiment {
    real: true,
    ..Experiment::new("event-time", KEYS, METRICS, run)
};

const KEYS: &[&[Key]] = &[
    &[
        GAME_DELAY,
        Key::number(
            "players",
            10.0,
            Domain::Whole(2, 32),
            "players, one to a program",
        )
        .labelled(|value| Some(format!("{value}p"))),
        Key::number(
            "nearest_ms",
            5.0,
            Domain::Number(0.0, 1_000.0),
            "smallest one-way delay of the nearest pair, in ms: those of the others are drawn between it and link.latency_ms, alike both ways; over real sockets all have the mean of both",
        ),
        link::LATENCY_MS.labelled(|_| None),
        link::JITTER_MS.labelled(link::some_jitter_label),
        link::JITTER,
        link::LOSS.labelled(link::some_percent_label),
        Key::number(
            "events_per_second",
            5.0,
            Domain::Number(0.1, 100.0),
            "events of all players together",
        ),
    ],
    link::FURTHER,
    &[SECONDS, SETTLING_S, link::REPEATS],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "spread",
        "ms",
        "from the first peer's execution of an event to the last one's, mean",
    ),
    Metric::new("spread_p99", "ms", "the same, 99th percentile"),
    Metric::new("spread_max", "ms", "the same, maximum"),
    Metric::new(
        "late",
        "%",
        "events that some peer executed after their tick, as a repair; in the published design, that reached some peer after their time",
    ),
    Metric::new("within_10ms", "%", "events that all executed within 10 ms"),
    Metric::new("events", "", "how many there were"),
];

/// What was measured in one room.
#[derive(Clone, Debug, Default)]
struct Outcome {
    spread_ms: Samples,
    late: u64,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = match context.real {
        true => context.measure_with(1, |case, seed| measure(case, seed, true))?,
        false => context.measure(|case, seed| measure(case, seed, false))?,
    };
    let mut findings = Findings::default();
    let mut lines: Vec<Line> = Vec::new();
    for (case, repeats) in &measured {
        let ours = figures(repeats.iter().map(|(ours, _)| ours));
        let theirs = figures(repeats.iter().map(|(_, theirs)| theirs));
        findings.add(&case.name, METRICS, &theirs, &ours);
        for (whose, figures) in [("ours", &ours), ("theirs", &theirs)] {
            if let Some(Some(ms)) = figures.get(1) {
                add_point(&mut lines, whose.into(), (case.number("players"), *ms));
            }
        }
    }
    findings.retain_measured();
    let plot = Plot::new(
        "spread",
        "Difference between the first and the last execution of an event, 99th percentile",
        ["players", "ms"],
        Data::Lines(lines),
    );
    findings.plots.extend(Some(plot).filter(Plot::has_lines));
    Ok(findings)
}

fn measure(case: &Case, seed: u64, real: bool) -> Result<(Outcome, Outcome), String> {
    let room = Room {
        players: case.number("players") as u16,
        delay: game_delay(case),
        events_per_second: case.number("events_per_second"),
        seconds: case.number("seconds") - case.number("settling_s"),
        seed,
    };
    let ways = ways(case, seed)?;
    let ours = ours::play(&room, &ways, case.seconds("settling_s"), real)?;
    let theirs = match room.delay {
        GameDelay::Constant(delay) if !real => theirs::play(&room, &ways, delay)?,
        _ => Outcome::default(),
    };
    Ok((ours, theirs))
}

/// What a case is about.
struct Room {
    players: u16,
    delay: GameDelay,
    events_per_second: f64,
    /// The judged time.
    seconds: f64,
    seed: u64,
}

/// The ways between all pairs, each equally slow in both directions.
struct Ways {
    usual: LinkConfig,
    pairs: Vec<(u16, u16, LinkConfig)>,
}

impl Ways {
    fn of(&self, one: u16, other: u16) -> &LinkConfig {
        let pair = (one.min(other), one.max(other));
        let mut pairs = self.pairs.iter();
        let found = pairs.find(|(first, second, _)| (*first, *second) == pair);
        found.map_or(&self.usual, |(_, _, link)| link)
    }
}

fn ways(case: &Case, seed: u64) -> Result<Ways, String> {
    let farthest = link::path(case)?.up;
    let nearest = case.millis("nearest_ms").min(farthest.latency);
    let mut rng = Rng::new(seed ^ 0x3a75);
    let players = case.number("players") as u16;
    let mut pairs = Vec::new();
    for other in 1..players {
        for one in 0..other {
            let mut link = farthest.clone();
            link.latency = nearest + (farthest.latency - nearest).mul_f32(rng.unit());
            pairs.push((one, other, link));
        }
    }
    let mut usual = farthest.clone();
    usual.latency = (nearest + farthest.latency) / 2;
    Ok(Ways { usual, pairs })
}

/// In the order of the metrics.
fn figures<'a>(outcomes: impl Iterator<Item = &'a Outcome> + Clone) -> Vec<Option<f64>> {
    let spread = Samples::together(outcomes.clone().map(|outcome| &outcome.spread_ms));
    if spread.is_empty() {
        return Vec::new();
    }
    let late: u64 = outcomes.map(|outcome| outcome.late).sum();
    let count = spread.len() as f64;
    let near = spread.values().iter().filter(|ms| **ms <= 10.0).count();
    vec![
        spread.mean(),
        spread.sorted().percentile(99.0),
        spread.max(),
        Some(100.0 * late as f64 / count),
        Some(100.0 * near as f64 / count),
        Some(count),
    ]
}
