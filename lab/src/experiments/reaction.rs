//! Reaction: from the key to the picture of what must not be taken back.

use std::time::Duration;

use samestep_sync::movement::Obstacles;

use super::prediction::SETTLING_S;
use super::update_window::field::WIDTH;
use super::update_window::theirs::{Kind, Reactions, Stamp, TheirConfig, react};
use super::update_window::walker::Errand;
use super::update_window::{STUMPS, begin_places};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link::{self, percent_label};
use crate::parameters::{Case, Domain, Key};
use crate::stats::Samples;
use crate::testmatch::SECONDS;

/// A client of the published algorithm presses keys, and looks at its pictures.
pub static EXPERIMENT: Experiment = Experiment::new("reaction", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[&[
    Key::number(
        "latency_ms",
        50.0,
        Domain::Number(0.0, 10_000.0),
        "smallest time one way, in ms",
    )
    .labelled(link::latency_label),
    link::LOSS.labelled(percent_label),
    link::JITTER_MS.labelled(link::some_jitter_label),
    link::JITTER,
    Key::number(
        "window_ms",
        100.0,
        Domain::Number(0.0, 1_000.0),
        "length of the window, in ms",
    ),
    SECONDS,
    SETTLING_S,
    link::REPEATS,
]];

const METRICS: &[Metric] = &[
    Metric::new(
        "box_p50",
        "ms",
        "from the key to the picture with the box, which waits until its character has left the cell, median",
    ),
    Metric::new("box_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "projectile_p50",
        "ms",
        "from the key to the picture with the projectile, median",
    ),
    Metric::new("projectile_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "star_p50",
        "ms",
        "from the picture in which the own character touches a star to the one in which it has it, median",
    ),
    Metric::new("star_p95", "ms", "the same, 95th percentile"),
    Metric::new("item_p50", "ms", "the same of an item, median"),
    Metric::new("item_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "removal_p50",
        "ms",
        "from the picture in which a projectile hits a box to the one without the box, median",
    ),
    Metric::new("removal_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "bounce_p50",
        "ms",
        "from the picture before a projectile reaches an obstacle to the one in which it flies back, median",
    ),
    Metric::new("bounce_p95", "ms", "the same, 95th percentile"),
    Metric::new("lost", "%", "keys of which nothing came"),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    for (case, repeats) in &measured {
        findings.add(&case.name, METRICS, &figures(repeats), &[]);
    }
    findings.retain_measured();
    Ok(findings)
}

fn measure(case: &Case, seed: u64) -> Result<Reactions, String> {
    let mut path = link::path(case)?;
    let latency = case.millis("latency_ms");
    (path.up.latency, path.down.latency) = (latency, latency);
    let config = TheirConfig {
        field: STUMPS.into(),
        places: begin_places(STUMPS, 1),
        players: 1,
        errand: Errand::Wander,
        path,
        window: case.millis("window_ms"),
        sync_error: Duration::from_millis(6),
        stamp: Stamp::Sent,
        alpha: 40.0,
        beta: 5.0,
        threshold: 0.05 * WIDTH,
        teleport: 1.5 * WIDTH,
        obstacles: Obstacles::Push,
        length: case.seconds("seconds"),
        settling: case.seconds("settling_s"),
    };
    react(&config, seed)
}

/// In the order of the metrics.
fn figures(repeats: &[Reactions]) -> Vec<Option<f64>> {
    let mut figures = Vec::new();
    for kind in Kind::ALL {
        let delays = repeats.iter().filter_map(|of| of.delays.get(&kind));
        let delays = Samples::together(delays).sorted();
        figures.extend([delays.percentile(50.0), delays.percentile(95.0)]);
    }
    let sum = |of: fn(&Reactions) -> u64| repeats.iter().map(of).sum::<u64>() as f64;
    let keys = sum(|of| of.keys);
    figures.push((keys > 0.0).then(|| sum(|of| of.lost) * 100.0 / keys));
    figures
}
