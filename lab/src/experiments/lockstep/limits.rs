//! How many players, how many entities?

use super::{
    Played, desyncs, lagged, median_delay, of_all, of_clients, of_host, play_all, sum, write,
};
use crate::arena::{
    self, CHECK_EVERY, CPU_NS_PER_ENTITY, DELAY, ENTITIES, PLAYERS, SECONDS, SETTLING_S, TOPOLOGY,
    TURN, UPLINK_KBPS,
};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link::{self, percent_label};
use crate::parameters::{Case, Key};
use crate::plot::{Cell, Data, Overview, Panel, Plot};
use crate::samples::COLUMNS;
use crate::stats::Samples;

/// The published matrix of players and entities.
pub struct Limits;

pub(super) const KEYS: &[Key] = &[
    TOPOLOGY,
    link::PROFILE,
    PLAYERS,
    ENTITIES,
    TURN,
    DELAY,
    link::LATENCY_MS,
    link::JITTER_MS.labelled(link::some_jitter_label),
    link::JITTER,
    link::LOSS.labelled(|value| percent_label(value).filter(|label| label != "0%")),
    link::BURST_MS,
    link::DUPLICATE,
    link::REORDER,
    link::RATE_KBPS,
    link::QUEUE_MS,
    UPLINK_KBPS,
    CPU_NS_PER_ENTITY,
    CHECK_EVERY,
    SETTLING_S,
    SECONDS,
    link::REPEATS,
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
    Metric::new(
        "delay_median",
        "ms",
        "from a player's input to its execution in that player's simulation, median",
    ),
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
    Metric::new(
        "host_cores",
        "",
        "processors the host kept busy, with --real",
    ),
    Metric::new(
        "client_cores",
        "",
        "processors all clients together kept busy, with --real",
    ),
];

impl Experiment for Limits {
    fn name(&self) -> &'static str {
        "lockstep-limits"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn metrics(&self) -> &'static [Metric] {
        METRICS
    }

    fn real(&self) -> bool {
        true
    }

    fn run(&self, context: &RunContext) -> Result<Findings, LabError> {
        let measured = play_all(context)?;
        let mut findings = Findings::default();
        for (case, played) in &measured {
            rows(case, played, &mut findings);
            write(
                context,
                case,
                "",
                played.first().map(|played| &played.course),
            )?;
        }
        findings.plots = plots(context, &measured, &findings);
        Ok(findings)
    }
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
    // What cannot be measured in this kind of run is left out.
    for (metric, ours) in METRICS.iter().zip(figures) {
        if ours.is_some() {
            findings.push(case, metric.name, None, ours);
        }
    }
}

/// Overviews like theirs: lagged ticks beside what was published, then every metric of their table.
fn plots(
    context: &RunContext,
    measured: &[(&Case, Vec<Played>)],
    findings: &Findings,
) -> Vec<Plot> {
    let distinct = |key: &str| {
        let mut values: Vec<f64> = measured.iter().map(|(case, _)| case.number(key)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let (players, entities) = (distinct("players"), distinct("entities"));
    let mut networks: Vec<&str> = Vec::new();
    for (case, _) in measured {
        let network = arena::network_name(case);
        if !networks.contains(&network) {
            networks.push(network);
        }
    }
    let panel = |title: String, network: &str, value: &dyn Fn(&Case, &[Played]) -> Cell| {
        let cell = |entities: f64, players: f64| {
            let found = measured.iter().find(|(case, _)| {
                arena::network_name(case) == network
                    && case.number("players") == players
                    && case.number("entities") == entities
            });
            found.map_or(Cell::Nothing, |(case, played)| value(case, played))
        };
        let row = |e: &f64| players.iter().map(|p| cell(*e, *p)).collect();
        Panel {
            title,
            cells: entities.iter().map(row).collect(),
        }
    };
    let overview = |scale: (f64, f64), panels: Vec<Panel>| Overview {
        columns: players.iter().map(f64::to_string).collect(),
        rows: entities.iter().map(f64::to_string).collect(),
        scale,
        panels,
    };
    let plot = |name: String, title: String, unit: &str, data: Overview| Plot {
        name,
        title,
        x: "players".into(),
        y: "entities".into(),
        log_y: false,
        data: Data::Overview(unit.into(), data),
    };
    let ours = |case: &Case, metric: &str| {
        let row = findings.rows.iter();
        let mut row = row.filter(|row| row.case == case.name && row.metric == metric);
        row.next()?.ours
    };
    let of = |value: Option<f64>| value.map_or(Cell::Nothing, Cell::Value);
    let mut plots = Vec::new();
    for network in &networks {
        let published = |case: &Case, _: &[Played]| {
            let plays = context.published(case, "plays");
            match (context.published(case, "lagged_mean"), plays) {
                (Some(value), _) => Cell::Value(value),
                (None, Some(0.0)) => Cell::Word("failed"),
                (None, Some(_)) => Cell::Word("plays"),
                (None, None) => Cell::Nothing,
            }
        };
        let measured = |case: &Case, _: &[Played]| of(ours(case, "lagged_mean"));
        let panels = vec![
            panel("published".into(), network, &published),
            panel("ours".into(), network, &measured),
        ];
        plots.push(plot(
            format!("lagged-{network}"),
            format!("Avg. DeltaTicksLagged:dl-{network} (60 is a standstill)"),
            "ticks/s",
            overview((0.0, 60.0), panels),
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
        let value = |case: &Case, played: &[Played]| of(of_all(case, played, column).mean());
        let panels: Vec<Panel> = networks
            .iter()
            .map(|network| panel(network.to_string(), network, &value))
            .collect();
        let cells = panels.iter().flat_map(|panel| panel.cells.iter().flatten());
        let high = cells.fold(0.0_f64, |high, cell| match cell {
            Cell::Value(value) => value.max(high),
            _ => high,
        });
        plots.push(plot(
            name.to_lowercase(),
            format!("Avg. {name}:dl"),
            unit,
            overview((0.0, if high > 0.0 { high } else { 1.0 }), panels),
        ));
    }
    plots
}
