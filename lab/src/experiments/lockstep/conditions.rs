//! Delay, jitter and loss: does the game go on, and how late is a command?

use super::{
    DELAY_MEDIAN, Played, desyncs, lagged, median_delay, ms, of_all, play, sum, together, write,
};
use crate::deterministic::DeterministicConfig;
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Key};
use crate::plot::{Data, Plot};
use crate::reference::Probes;
use crate::stats::Samples;
use crate::testmatch::{LOCKSTEP_ROOM, MACHINES, SECONDS, TICK};
use samestep_sync::LockstepConfig;

/// Networks that are bad in one way, or in all. *Theirs* is lockstep as the source ran it: turns of 15 ticks, commands two turns ahead.
pub static EXPERIMENT: Experiment = Experiment::new("lockstep-conditions", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    LOCKSTEP_ROOM,
    link::BAD,
    link::FURTHER,
    MACHINES,
    &[SECONDS, link::REPEATS],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "lagged_share",
        "%",
        "ticks in which a simulation could not go on, of all ticks of all clients after settling",
    ),
    Metric::new("lagged_mean", "/s", "the same, per client and second"),
    Metric::new("desyncs", "", "differences of a state that were found"),
    DELAY_MEDIAN,
    Metric::new("delay_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "path_p99",
        "ms",
        "from client through host to client on the same links without any model, 99th percentile",
    ),
    Metric::new(
        "delay_to_path",
        "",
        "delay_median less one tick, in units of path_p99",
    ),
    Metric::new("turn", "ticks", "length of a turn at the end"),
    Metric::new(
        "ahead",
        "ticks",
        "from the end of a turn to its first tick, at the end",
    ),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    let mut groups = Vec::new();
    let mut lagging = series(&["theirs", "ours"]);
    let mut late = series(&["the path, p99", "theirs, median", "ours, median"]);
    let most = measured.iter().map(|(case, _)| case.number("entities"));
    let most = most.fold(0.0, f64::max);
    for (case, repeats) in &measured {
        let path = Samples::together(repeats.iter().map(|(_, _, path)| path));
        let path = path.sorted().percentile(99.0);
        let side = |of: fn(&(Played, Played, Samples)) -> &Played| {
            figures(case, &repeats.iter().map(of).collect::<Vec<_>>(), path)
        };
        let (theirs, ours) = (side(|r| &r.0), side(|r| &r.1));
        findings.add(&case.name, METRICS, &theirs, &ours);
        if case.number("entities") == most {
            groups.push(link::bad_suffix(case).replace('-', " + "));
            push(&mut lagging, [theirs[0], ours[0]]);
            push(&mut late, [path, theirs[3], ours[3]]);
        }
        let first = repeats.first().map(|(_, ours, _)| &ours.course);
        write(context, case, &link::bad_suffix(case), first)?;
    }
    let plot =
        |name, title, y, bars| Plot::new(name, title, ["", y], Data::Bars(groups.clone(), bars));
    findings.plots = vec![
        plot(
            "delay",
            "From a player's input to its execution",
            "ms",
            late,
        ),
        plot(
            "lagged",
            "Lagged ticks once settled",
            "% of all ticks",
            lagging,
        ),
    ];
    Ok(findings)
}

type Bars = Vec<(String, Vec<Option<f64>>)>;

fn series(names: &[&str]) -> Bars {
    let named = names.iter().map(|name| (name.to_string(), Vec::new()));
    named.collect()
}

fn push<const N: usize>(series: &mut Bars, values: [Option<f64>; N]) {
    for ((_, heights), value) in series.iter_mut().zip(values) {
        heights.push(value);
    }
}

/// Theirs, ours, and what the path takes.
fn measure(case: &Case, seed: u64) -> Result<(Played, Played, Samples), String> {
    let config = DeterministicConfig::of(case)?;
    let probes = Probes {
        link: config.setup.path.up.clone(),
        clients: u32::from(config.setup.players) - 1,
        tick: TICK,
        length: case.seconds("seconds"),
    };
    let path = probes.run(seed).map_err(|error| error.to_string())?;
    let theirs = DeterministicConfig {
        lockstep: LockstepConfig::classic(),
        ..config.clone()
    };
    Ok((play(case, theirs, seed)?, play(case, config, seed)?, path))
}

/// In the order of the metrics.
fn figures(case: &Case, played: &[&Played], path: Option<f64>) -> [Option<f64>; 9] {
    let ticks = of_all(case, played, lagged);
    let per_second = ticks.mean();
    let delay = median_delay(played);
    let delays = together(played, |played| played.delays.clone());
    let mean = |of: fn(&Played) -> u64| {
        let all: Samples = played.iter().map(|played| of(played) as f64).collect();
        all.mean()
    };
    [
        per_second.map(|lagged| lagged * TICK.as_secs_f64() * 100.0),
        per_second,
        sum(&of_all(case, played, desyncs)),
        delay,
        delays.sorted().percentile(95.0),
        path,
        delay
            .zip(path)
            .map(|(delay, path)| (delay - ms(TICK)) / path),
        mean(|played| played.turn),
        mean(|played| played.ahead),
    ]
}
