//! Hits: do shooter and authority agree on who was hit?

mod liar;
mod range;
mod shot;

use std::time::Duration;

use samestep_sync::{StateSync, StateSyncConfig};

use super::prediction::{OTHERS, ROUND_TRIP_MS, others, path};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link::{self, percent_label};
use crate::parameters::{Case, Domain, Key};
use crate::plot::{Data, Plot};
use range::{Cheat, RangeConfig, Shot, Shots, shoot};

/// Bolts at players who run and jump, judged by what the shooter saw and, beside it, by the present alone.
pub static EXPERIMENT: Experiment = Experiment {
    columns: ["by the present", "as seen"],
    ..Experiment::new("hits", KEYS, METRICS, run)
};

const KEYS: &[&[Key]] = &[&[
    Key::text(
        "cheat",
        "none",
        Domain::Choice(&["none", "hits", "sights"]),
        "hits: shooters tell the authority that they have hit; sights: they claim to have seen the target where their shot goes",
    )
    .labelled(|value| Some(format!("claims-{value}")).filter(|_| value.to_string() != "none")),
    Key::number(
        "shooters",
        3.0,
        Domain::Whole(1, 16),
        "guests who shoot",
    ),
    Key::number(
        "targets",
        5.0,
        Domain::Whole(1, 16),
        "players who run and jump, the hosting one among them",
    ),
    OTHERS,
    ROUND_TRIP_MS,
    Key::number(
        "bound_ms",
        150.0,
        Domain::Number(0.0, 1_000.0),
        "round trip up to which shots are judged by what the shooter saw, in ms",
    ),
    link::JITTER_MS.labelled(link::some_jitter_label),
    link::JITTER,
    link::LOSS.labelled(percent_label),
    link::BURST_MS,
    link::DUPLICATE,
    link::REORDER,
    Key::number(
        "seconds",
        60.0,
        Domain::Whole(3, 3_600),
        "length of each match, in s",
    ),
    Key::number(
        "settling_s",
        3.0,
        Domain::Whole(1, 600),
        "first seconds of each match in which nobody shoots",
    ),
    link::REPEATS,
]];

const METRICS: &[Metric] = &[
    Metric::new(
        "agreement",
        "%",
        "shots that were fired of which shooter and authority say the same: who was hit, or nobody",
    ),
    Metric::new(
        "close_agreement",
        "%",
        "the same of those that pass within one radius of the target's edge",
    ),
    Metric::new("close", "%", "shots that do"),
    Metric::new(
        "denied",
        "%",
        "of shots that hit in what the shooter saw, those that did not",
    ),
    Metric::new("hit", "%", "shots that hit, as the authority says"),
    Metric::new(
        "gain",
        "points",
        "by how much that is more with lies than with the same shots and none",
    ),
    Metric::new(
        "unfired",
        "%",
        "shots that never were: the shooter had been killed meanwhile, or could not pay for them",
    ),
    Metric::new(
        "beyond",
        "%",
        "shooters who were informed that the authority judges them by its own present",
    ),
    Metric::new(
        "delay",
        "ms",
        "how much later than the authority's present shooters see others, mean",
    ),
    Metric::new("shots", "", "shots"),
];

/// Where the shots that hit are in the figures, and what lies gain.
const HIT: usize = 4;
const GAIN: usize = 5;

/// The same match by the present, by what shooters saw, and if they lie without their lies.
struct Measured {
    uncompensated: Shots,
    compensated: Shots,
    honest: Option<Shots>,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    for (case, repeats) in &measured {
        let side =
            |of: fn(&Measured) -> &Shots| figures(&repeats.iter().map(of).collect::<Vec<_>>());
        let (mut present, mut seen) = (side(|m| &m.uncompensated), side(|m| &m.compensated));
        let honest: Vec<&Shots> = repeats.iter().filter_map(|m| m.honest.as_ref()).collect();
        let without = figures(&honest)[HIT].filter(|_| !honest.is_empty());
        let gain = seen[HIT].zip(without);
        (present[GAIN], seen[GAIN]) = (None, gain.map(|(with, without)| with - without));
        findings.add(&case.name, METRICS, &present, &seen);
    }
    findings.retain_measured();
    findings.plots.extend(plot(&context.cases, &findings));
    Ok(findings)
}

fn measure(case: &Case, seed: u64) -> Result<Measured, String> {
    let cheat = match case.text("cheat") {
        "hits" => Cheat::Hits,
        "sights" => Cheat::Sights,
        _ => Cheat::None,
    };
    let path = path(case)?;
    let play = |bound: Option<Duration>, cheat: Cheat| {
        let model = StateSyncConfig {
            remote_players: others(case),
            compensation: bound,
            ..StateSyncConfig::default()
        };
        StateSync::new(model.clone()).map_err(|error| error.to_string())?;
        let config = RangeConfig {
            shooters: case.number("shooters") as u16,
            targets: case.number("targets") as u16,
            path: path.clone(),
            model,
            cheat,
            length: case.seconds("seconds"),
            settling: case.seconds("settling_s"),
        };
        shoot(&config, seed)
    };
    let bound = Some(case.millis("bound_ms"));
    Ok(Measured {
        uncompensated: play(None, cheat)?,
        compensated: play(bound, cheat)?,
        honest: match cheat {
            Cheat::None => None,
            _ => Some(play(bound, Cheat::None)?),
        },
    })
}

/// In the order of the metrics.
fn figures(matches: &[&Shots]) -> [Option<f64>; METRICS.len()] {
    let shots = || matches.iter().flat_map(|shots| &shots.shots);
    let share = |of: fn(&&Shot) -> bool, is: fn(&&Shot) -> bool| {
        let all = shots().filter(of).count();
        (all > 0).then(|| shots().filter(of).filter(is).count() as f64 * 100.0 / all as f64)
    };
    let mean = |of: fn(&Shots) -> f64| {
        let sum: f64 = matches.iter().map(|shots| of(shots)).sum();
        (!matches.is_empty()).then(|| sum / matches.len() as f64)
    };
    [
        share(|shot| shot.fired, |shot| shot.agrees()),
        share(|shot| shot.fired && shot.is_close(), |shot| shot.agrees()),
        share(|_| true, |shot| shot.is_close()),
        share(
            |shot| shot.fired && shot.seen.is_some(),
            |shot| shot.hit != shot.seen,
        ),
        share(|shot| shot.fired, |shot| shot.hit.is_some()),
        None,
        share(|_| true, |shot| !shot.fired),
        mean(|shots| shots.beyond * 100.0),
        mean(|shots| shots.delay_ms),
        Some(shots().count() as f64),
    ]
}

/// Agreement over the round trip.
fn plot(cases: &[Case], findings: &Findings) -> Option<Plot> {
    let line = |name: &str, loss: f64, ours: bool| {
        let of = cases.iter().filter(|case| {
            case.text("cheat") == "none"
                && case.text("others") == "interpolated"
                && case.number("link.loss") == loss
                && case.number("link.jitter_ms") == 0.0
        });
        let points = of.filter_map(|case| {
            let row = findings.row(case, "agreement")?;
            let value = if ours { row.ours } else { row.theirs };
            Some((case.number("round_trip_ms"), value?))
        });
        let mut points: Vec<(f64, f64)> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (name.to_string(), points)
    };
    let lines = vec![
        line("by what was seen", 0.0, true),
        line("by what was seen, 2 % loss", 0.02, true),
        line("by the present", 0.0, false),
        line("by the present, 2 % loss", 0.02, false),
    ];
    let plot = Plot::new(
        "agreement",
        "Shots of which shooter and authority say the same",
        ["round trip, ms", "% of the shots"],
        Data::Lines(lines),
    );
    plot.has_lines().then_some(plot)
}
