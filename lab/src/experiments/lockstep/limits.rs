//! How many players, how many entities?

use super::{
    DELAY_MEDIAN, Played, desyncs, first_course, lagged, median_delay, of_all, of_clients, of_host,
    play_all, sum, write,
};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::matrix::Matrix;
use crate::parameters::{Case, Key};
use crate::plot::{Cell, Plot};
use crate::samples::COLUMNS;
use crate::stats::Samples;
use crate::testmatch::{LOCKSTEP_ROOM, MACHINES, SECONDS};

/// The published matrix of players and entities.
pub static EXPERIMENT: Experiment = Experiment {
    real: true,
    ..Experiment::new("lockstep-limits", KEYS, METRICS, run)
};

pub(super) const KEYS: &[&[Key]] = &[
    LOCKSTEP_ROOM,
    link::USUALLY_GOOD,
    link::FURTHER,
    MACHINES,
    &[SECONDS, link::REPEATS],
];

pub(super) const METRICS: &[Metric] = &[
    Metric::new(
        "lagged_mean",
        "/s",
        "ticks per second in which a simulation could not go on, mean of all clients and seconds after settling",
    ),
    Metric::new(
        "lagged_max",
        "/s",
        "the same, most of any client in any second after settling",
    ),
    Metric::new(
        "plays",
        "",
        "1 if fewer than half of the ticks lag: the source calls that playable; 0 if not",
    ),
    Metric::new("desyncs", "", "differences of a state that were found"),
    DELAY_MEDIAN,
    Metric::new(
        "turn",
        "ticks",
        "length of a turn at the end, mean of the repeats",
    ),
    Metric::new(
        "host_packets_up",
        "/s",
        "packets the host sends (in a mesh the opener)",
    ),
    Metric::new("host_packets_down", "/s", "packets it receives"),
    Metric::new(
        "client_packets_up",
        "/s",
        "packets each of the others sends, mean",
    ),
    Metric::new(
        "client_packets_down",
        "/s",
        "packets each of the others receives",
    ),
    Metric::new("host_up", "kB/s", "UDP payload the host sends"),
    Metric::new(
        "client_up",
        "kB/s",
        "UDP payload each of the others sends, mean",
    ),
    Metric::wall_clock(
        "host_cores",
        "",
        "processors the host kept busy, with --real",
    ),
    Metric::wall_clock(
        "client_cores",
        "",
        "processors all clients together kept busy, with --real",
    ),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = play_all(context)?;
    let mut findings = Findings::default();
    for (case, played) in &measured {
        rows(case, played, &mut findings);
        write(context, case, "", first_course(played))?;
    }
    findings.plots = plots(context, &measured, &findings);
    Ok(findings)
}

/// The figures of one case, in the order of the metrics.
pub(super) fn rows(case: &Case, played: &[Played], findings: &mut Findings) {
    let ticks = of_all(case, played, lagged);
    let turns = played.iter().map(|played| played.turn as f64).sum::<f64>();
    let cores = |of: fn((f64, f64)) -> f64| -> Samples {
        let measured = played.iter().filter_map(|played| played.cores);
        measured.map(of).collect()
    };
    let figures = [
        ticks.mean(),
        ticks.max(),
        ticks.mean().map(|mean| f64::from(u8::from(mean < 30.0))),
        sum(&of_all(case, played, desyncs)),
        median_delay(played),
        Some(turns / played.len() as f64).filter(|turn| *turn > 0.0),
        of_host(case, played, |c| c.packets_sent as f64).mean(),
        of_host(case, played, |c| c.packets_received as f64).mean(),
        of_clients(case, played, |c| c.packets_sent as f64).mean(),
        of_clients(case, played, |c| c.packets_received as f64).mean(),
        of_host(case, played, |c| c.bytes_sent as f64 / 1e3).mean(),
        of_clients(case, played, |c| c.bytes_sent as f64 / 1e3).mean(),
        cores(|(host, _)| host).mean(),
        cores(|(_, clients)| clients).mean(),
    ];
    findings.add(&case.name, METRICS, &[], &figures);
    // What cannot be measured in this kind of run is left out.
    findings.retain_measured();
}

/// Overviews like theirs: lagged ticks beside what was published, then every metric of their table.
fn plots(
    context: &RunContext,
    measured: &[(&Case, Vec<Played>)],
    findings: &Findings,
) -> Vec<Plot> {
    let matrix = Matrix::new(&context.cases);
    let of = |value: Option<f64>| value.map_or(Cell::Nothing, Cell::Value);
    let mut plots = Vec::new();
    for network in matrix.networks() {
        let published = |case: &Case| {
            let plays = context.published(case, "plays");
            match (context.published(case, "lagged_mean"), plays) {
                (Some(value), _) => Cell::Value(value),
                (None, Some(0.0)) => Cell::Word("failed"),
                (None, Some(_)) => Cell::Word("plays"),
                (None, None) => Cell::Nothing,
            }
        };
        let lagged = |case: &Case| of(findings.ours(case, "lagged_mean"));
        let panels = vec![
            matrix.panel("published", network, published),
            matrix.panel("ours", network, lagged),
        ];
        plots.push(matrix.plot(
            &format!("lagged-{network}"),
            &format!(
                "Lagged ticks a second, {}: 60 is a standstill",
                network.to_uppercase()
            ),
            "Avg. DeltaTicksLagged",
            Some((0.0, 60.0)),
            panels,
        ));
    }
    for (name, column) in COLUMNS {
        let unit = match name {
            "Fps" => "Hz",
            "MaxAvgRtt" => "s",
            "DeltaTicksLagged" | "DeltaDesyncs" => continue,
            name if name.starts_with("DeltaPackets") => "packets/s",
            _ => "bytes/s",
        };
        let value = |case: &Case| {
            let played = measured.iter().find(|(other, _)| *other == case);
            of(played.and_then(|(_, played)| of_all(case, played, column).mean()))
        };
        let networks = matrix.networks().iter();
        let panels = networks.map(|network| matrix.panel(network, network, value));
        plots.push(matrix.plot(
            &name.to_lowercase(),
            &format!("Avg. {name}:dl"),
            unit,
            None,
            panels.collect(),
        ));
    }
    plots
}
