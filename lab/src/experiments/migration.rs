//! The host of a match is lost: how long do those who are left stand still, and what is lost with it?

use std::time::Duration;

use samestep_sim::{HostLoss, Migration, MigrationOutcome};
use samestep_sync::ModelKind;

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key};
use crate::plot::{Data, Plot};
use crate::stats::Samples;

/// Hosts that die, and hosts that leave.
pub static EXPERIMENT: Experiment = Experiment::new("migration", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    &[
        Key::text(
            "model",
            "state-sync",
            Domain::Choice(&["lockstep", "rollback", "event-delay", "snapshot", "state-sync", "rewind"]),
            "what keeps the match in step",
        )
        .labelled(|value| Some(value.to_string())),
        Key::text(
            "host",
            "dies",
            Domain::Choice(&["dies", "leaves", "twice", "while-joining"]),
            "what becomes of the host: it dies, it leaves, it and three seconds later the next one die, or it dies while somebody joins",
        )
        .labelled(|value| Some(value.to_string())),
        Key::number(
            "players",
            4.0,
            Domain::Whole(2, 31),
            "programs with a player each, the host's among them",
        )
        .labelled(|value| Some(format!("{value}p"))),
        Key::number(
            "standbys",
            2.0,
            Domain::Whole(1, 7),
            "programs that follow the host",
        ),
        link::PROFILE,
    ],
    link::WITH_LOSS,
    link::FURTHER,
    &[link::REPEATS],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "standstill_mean",
        "ms",
        "the longest time in which the confirmed tick of a survivor does not advance, mean of all survivors and repeats",
    ),
    Metric::new("standstill_p95", "ms", "the same, 95th percentile"),
    Metric::new("standstill_max", "ms", "the same, longest"),
    Metric::new(
        "picture_p95",
        "ms",
        "the longest time in which the picture of a survivor does not move, 95th percentile of all survivors and repeats",
    ),
    Metric::new("picture_max", "ms", "the same, longest"),
    Metric::new(
        "events_lost",
        "",
        "events that a survivor was told to be confirmed and that did not happen, or happened again",
    ),
    Metric::new(
        "inputs_lost",
        "",
        "inputs taken from survivors that came to nothing",
    ),
    Metric::new(
        "broken",
        "",
        "repeats in which survivors had different states or scores, two hosts or none",
    ),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(play)?;
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    for (case, repeats) in &measured {
        let samples = |of: fn(&MigrationOutcome) -> &Vec<Duration>| -> Samples {
            let all = repeats.iter().flat_map(of);
            all.map(|time| time.as_secs_f64() * 1e3).collect()
        };
        let all = samples(|outcome| &outcome.standstills);
        let pictures = samples(|outcome| &outcome.frozen_pictures);
        let sorted = all.sorted();
        let count = |of: fn(&MigrationOutcome) -> usize| -> Option<f64> {
            Some(repeats.iter().map(|outcome| of(outcome) as f64).sum())
        };
        let figures = [
            all.mean(),
            sorted.percentile(95.0),
            all.max(),
            pictures.sorted().percentile(95.0),
            pictures.max(),
            count(|outcome| outcome.events_lost),
            count(|outcome| outcome.inputs_lost),
            count(|outcome| usize::from(!outcome.broken.is_empty())),
        ];
        findings.add(&case.name, METRICS, &[], &figures);
        let points = (0..=200).filter_map(|step| {
            let share = 100.0 * f64::from(step) / 200.0;
            Some((sorted.percentile(share)?, share))
        });
        lines.push((case.name.clone(), points.collect()));
    }
    findings.plots.push(Plot::new(
        "standstill",
        "How long a survivor stands still",
        ["ms", "% of the survivors"],
        Data::Lines(lines),
    ));
    Ok(findings)
}

fn play(case: &Case, seed: u64) -> Result<MigrationOutcome, String> {
    let name = case.text("model");
    let kind = ModelKind::named(name).ok_or_else(|| format!("there is no model {name}"))?;
    let host = case.text("host");
    let loss = HostLoss::ALL.into_iter().find(|loss| loss.name() == host);
    let loss = loss.ok_or_else(|| format!("a host does not do that: {host}"))?;
    let players = case.number("players") as usize;
    if players == 2 && loss == HostLoss::Twice {
        return Err("two hosts in a row need at least three players".into());
    }
    let mut migration = Migration::new(kind.config(), players, Duration::ZERO, loss);
    migration.link = link::path(case)?.up;
    migration.standbys = case.number("standbys") as usize;
    Ok(migration.run(seed, &mut |_| ()))
}
