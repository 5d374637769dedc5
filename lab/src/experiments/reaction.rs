//! Reaction: from the key to the picture of what must not be taken back.

mod ours;
mod screen;

use std::time::Duration;

use samestep_catalog::hat_hunters::Confirmations;
use samestep_netem::Path;
use samestep_sync::movement::Obstacles;
use samestep_sync::{Confirmation, RewindConfig, WindowLength};

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
use ours::OurConfig;

/// Somebody presses keys and looks at the pictures: a client of the published algorithm, and a guest of ours.
pub static EXPERIMENT: Experiment = Experiment::new("reaction", KEYS, METRICS, run);

/// What the game does where nothing is set.
const DEFAULT: &str = "default";

fn confirmations() -> Vec<&'static str> {
    let all = Confirmation::ALL.map(Confirmation::name);
    [DEFAULT].into_iter().chain(all).collect()
}

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
    Key::text(
        "confirm",
        DEFAULT,
        Domain::Listed(confirmations),
        "when effects count in ours: all kinds predicted, at once or at the end of the window; default: projectiles and bounces predicted, the others at the end of the window",
    )
    .labelled(|value| Some(value.to_string()).filter(|text| text != DEFAULT)),
    Key::number(
        "window_ms",
        100.0,
        Domain::Number(0.0, 500.0),
        "length of the window, in ms",
    ),
    Key::number(
        "players",
        4.0,
        Domain::Whole(2, 4),
        "players of ours, the hosting one among them; one guest presses the keys, the others are bots",
    ),
    Key::number("ai", 12.0, Domain::Whole(0, 40), "AI characters of ours"),
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
        "from the picture in which the own character touches a star, or from the one before if it has it at once, to the one in which it has it, median",
    ),
    Metric::new("star_p95", "ms", "the same, 95th percentile"),
    Metric::new("item_p50", "ms", "the same of an item, median"),
    Metric::new("item_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "removal_p50",
        "ms",
        "from the picture in which a projectile hits a box, or from the one before if it is gone at once, to the one without the box, median",
    ),
    Metric::new("removal_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "bounce_p50",
        "ms",
        "from the picture before a projectile reaches an obstacle to the one in which it flies back, median",
    ),
    Metric::new("bounce_p95", "ms", "the same, 95th percentile"),
    Metric::new("lost", "%", "keys of which nothing came"),
    Metric::new(
        "taken_back",
        "%",
        "projectiles and bounces that were predicted and did not come",
    ),
];

/// A match of each.
struct Measured {
    /// How ours confirms makes no difference to theirs.
    theirs: Option<Reactions>,
    ours: Reactions,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    for (case, repeats) in &measured {
        let theirs: Vec<&Reactions> = repeats.iter().filter_map(|it| it.theirs.as_ref()).collect();
        let ours: Vec<&Reactions> = repeats.iter().map(|it| &it.ours).collect();
        findings.add(&case.name, METRICS, &figures(&theirs), &figures(&ours));
    }
    findings.retain_measured();
    Ok(findings)
}

fn measure(case: &Case, seed: u64) -> Result<Measured, String> {
    let mut path = link::path(case)?;
    let latency = case.millis("latency_ms");
    (path.up.latency, path.down.latency) = (latency, latency);
    let theirs = match case.text("confirm") {
        DEFAULT => Some(react(&their_config(case, path.clone()), seed)?),
        _ => None,
    };
    let ours = ours::react(&our_config(case, path), seed)?;
    Ok(Measured { theirs, ours })
}

fn our_config(case: &Case, path: Path) -> OurConfig {
    let confirm = case.text("confirm");
    let same = Confirmation::ALL
        .into_iter()
        .find(|it| it.name() == confirm);
    OurConfig {
        players: case.number("players") as u16,
        ai: case.number("ai") as u8,
        path,
        model: RewindConfig {
            window: WindowLength::Fixed(case.millis("window_ms")),
            ..RewindConfig::default()
        },
        confirmations: same.map_or_else(Confirmations::default, Confirmations::all),
        length: case.seconds("seconds"),
        settling: case.seconds("settling_s"),
    }
}

fn their_config(case: &Case, path: Path) -> TheirConfig {
    TheirConfig {
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
    }
}

/// In the order of the metrics.
fn figures(repeats: &[&Reactions]) -> Vec<Option<f64>> {
    let mut figures = Vec::new();
    for kind in Kind::ALL {
        let delays = repeats.iter().filter_map(|of| of.delays.get(&kind));
        let delays = Samples::together(delays).sorted();
        figures.extend([delays.percentile(50.0), delays.percentile(95.0)]);
    }
    let sum = |of: fn(&Reactions) -> u64| repeats.iter().map(|it| of(it)).sum::<u64>() as f64;
    let part = |of: f64, all: f64| (all > 0.0).then(|| of * 100.0 / all);
    figures.push(part(sum(|of| of.lost), sum(|of| of.keys)));
    figures.push(part(sum(|of| of.taken_back), sum(|of| of.predicted)));
    figures
}
