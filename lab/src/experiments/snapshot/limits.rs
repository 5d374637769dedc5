//! How many players, how many entities can an authority tell of?

use samestep_catalog::evaluation::Evaluation;
use samestep_sync::Snapshot;

use super::keys::{JUDGED, MATCH, setting, write};
use super::metrics::{BITS, DELAY, ERROR_P95, STALLS, WAIT_MOST, WAIT_P95};
use super::played::{Played, errors, mean, play, stalls, together, waits};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::matrix::Matrix;
use crate::parameters::{Case, Key};
use crate::plot::{Cell, Plot};

/// The published matrix of players and entities, with snapshots.
pub static EXPERIMENT: Experiment = Experiment::new("snapshot-limits", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[MATCH, link::USUALLY_GOOD, link::FURTHER, JUDGED];

const METRICS: &[Metric] = &[
    Metric::new(
        "plays",
        "",
        "1 if fewer than one picture in a hundred stands still and entities are updated within 1 s at the 95th percentile; 0 if not",
    ),
    Metric::new(
        "host_up",
        "MB/s",
        "what the host sends, IP and UDP headers included",
    ),
    Metric::new("host_packets_up", "/s", "packets the host sends"),
    Metric::new("client_down", "kB/s", "what each client is sent, mean"),
    Metric::new("client_up", "kB/s", "what each client sends, mean"),
    Metric::new(
        "snapshot",
        "kB",
        "what one snapshot takes to one client, everything included, mean",
    ),
    BITS,
    Metric::new(
        "row_bits",
        "bit",
        "the part of it that holds the entity's values",
    ),
    Metric::new("moving", "%", "entities that move at any time"),
    WAIT_P95,
    WAIT_MOST,
    ERROR_P95,
    DELAY,
    STALLS,
    Metric::new(
        "line_lost",
        "%",
        "packets that the host's line had no room for",
    ),
    Metric::wall_clock(
        "encode",
        "ms",
        "processor time in which the host simulates a tick and encodes and queues one snapshot for all, median; real",
    ),
    Metric::wall_clock(
        "host_cpu",
        "ms",
        "processor time of the host for each tick, reading, sealing and sending included, mean; real",
    ),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured =
        context.measure(|case, seed| play::<Evaluation, Snapshot>(&setting(case)?, seed))?;
    let mut findings = Findings::default();
    for (case, played) in &measured {
        let played: Vec<&Played> = played.iter().collect();
        findings.add(&case.name, METRICS, &[], &figures(&played));
        write(context, case, played.first().map(|played| &played.course))?;
    }
    findings.plots = plots(context, &Matrix::new(&context.cases), &findings);
    Ok(findings)
}

/// In the order of the metrics.
fn figures(played: &[&Played]) -> [Option<f64>; METRICS.len()] {
    let (wait_p95, wait_most) = waits(played);
    let stalls = stalls(played);
    let plays = stalls.zip(wait_p95).map(|(stalls, wait)| {
        let plays = stalls < 1.0 && wait <= 1.0;
        f64::from(u8::from(plays))
    });
    let moving = together(played, |played| played.seen.moving.clone());
    let encode = together(played, |played| played.encode.clone());
    [
        plays,
        mean(played, |played| played.host_up / 1e6),
        mean(played, |played| played.packets_down.values().iter().sum()),
        together(played, |played| played.down.clone())
            .mean()
            .map(|bytes| bytes / 1e3),
        together(played, |played| played.up.clone())
            .mean()
            .map(|bytes| bytes / 1e3),
        mean(played, |played| played.snapshot_bytes / 1e3),
        mean(played, |played| played.bits),
        mean(played, |played| played.row_bits),
        moving.mean().map(|share| share * 100.0),
        wait_p95,
        wait_most,
        errors(played).0,
        together(played, |played| played.seen.delays.clone()).mean(),
        stalls,
        mean(played, |played| played.line_lost),
        encode.sorted().percentile(50.0),
        mean(played, |played| played.work),
    ]
}

/// Overviews like theirs: what plays beside what was published, then what it costs.
fn plots(context: &RunContext, matrix: &Matrix<'_>, findings: &Findings) -> Vec<Plot> {
    let word = |plays: Option<f64>| match plays {
        Some(0.0) => Cell::Word("fails"),
        Some(_) => Cell::Word("plays"),
        None => Cell::Nothing,
    };
    let mut plots = Vec::new();
    for network in matrix.networks() {
        let panels = vec![
            matrix.panel("published, 1 a second", network, |case| {
                word(context.published(case, "plays"))
            }),
            matrix.panel("ours, 20 a second", network, |case| {
                word(findings.ours(case, "plays"))
            }),
        ];
        plots.push(matrix.plot(
            &format!("plays-{network}"),
            &format!("What can be played, {}", network.to_uppercase()),
            "",
            None,
            panels,
        ));
    }
    for (metric, title, unit) in [
        ("host_up", "What the host sends", "MB/s"),
        ("bits", "Wire bits for each update of an entity", "bit"),
        (
            "wait_p95",
            "Between two updates of an entity, 95th percentile",
            "s",
        ),
        (
            "encode",
            "Processor time to encode a snapshot for all",
            "ms",
        ),
    ] {
        let value = |case: &Case| {
            findings
                .ours(case, metric)
                .map_or(Cell::Nothing, Cell::Value)
        };
        let networks = matrix.networks().iter();
        let panels = networks.map(|network| matrix.panel(network, network, value));
        let name = metric.replace('_', "-");
        plots.push(matrix.plot(&name, title, unit, None, panels.collect()));
    }
    plots
}
