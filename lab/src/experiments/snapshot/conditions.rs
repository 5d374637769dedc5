//! Delay, jitter and loss: does the view go on, and is it right?

use samestep_catalog::evaluation::Evaluation;
use samestep_sync::Snapshot;

use super::keys::{JUDGED, MATCH, setting, write};
use super::metrics::{BITS, DELAY, ERROR_P95, STALLS, WAIT_MOST, WAIT_P95};
use super::played::{Played, errors, mean, play, stalls, together, waits};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::Key;
use crate::plot::{Data, Plot};
use crate::testmatch::TICK;

/// Networks that are bad in one way, or in all.
pub static EXPERIMENT: Experiment = Experiment::new("snapshot-conditions", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[MATCH, link::BAD, link::FURTHER, JUDGED];

const METRICS: &[Metric] = &[
    Metric::new(
        "plays",
        "",
        "1 if fewer than one picture in a hundred stands still; 0 if not",
    ),
    STALLS,
    Metric::new(
        "longest_stall",
        "ms",
        "longest time in which most of what moves stood still",
    ),
    ERROR_P95,
    Metric::new("error_p99", "units", "the same, 99th percentile"),
    Metric::new(
        "error_share",
        "%",
        "the 95th percentile as a share of what things that move move in a second",
    ),
    DELAY,
    WAIT_P95,
    WAIT_MOST,
    BITS,
    Metric::new("client_down", "kB/s", "what each client is sent, mean"),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured =
        context.measure(|case, seed| play::<Evaluation, Snapshot>(&setting(case)?, seed))?;
    let mut findings = Findings::default();
    let mut groups = Vec::new();
    let mut bars: [Vec<Option<f64>>; 2] = Default::default();
    for (case, played) in &measured {
        let played: Vec<&Played> = played.iter().collect();
        let figures = figures(&played);
        findings.add(&case.name, METRICS, &[], &figures);
        let suffix = link::bad_suffix(case).replace('-', " + ");
        groups.push(if suffix.is_empty() {
            "LAN".into()
        } else {
            suffix
        });
        bars[0].push(figures[5]);
        bars[1].push(figures[6]);
        write(context, case, played.first().map(|played| &played.course))?;
    }
    let plot = |name, title, y, bars| {
        let data = Data::Bars(groups.clone(), vec![("ours".into(), bars)]);
        Plot::new(name, title, ["", y], data)
    };
    let [errors, delays] = bars;
    findings.plots = vec![
        plot(
            "error",
            "From where things are shown to where they were, 95th percentile",
            "% of the way in a second",
            errors,
        ),
        plot(
            "delay",
            "How much later than the host's present things are shown",
            "ms",
            delays,
        ),
    ];
    Ok(findings)
}

/// In the order of the metrics.
fn figures(played: &[&Played]) -> [Option<f64>; METRICS.len()] {
    let (p95, share) = errors(played);
    let (wait_p95, wait_most) = waits(played);
    let stalls = stalls(played);
    let longest = played.iter().map(|played| played.seen.longest_stall).max();
    let all = together(played, |played| played.seen.errors.clone()).sorted();
    [
        stalls.map(|stalls| f64::from(u8::from(stalls < 1.0))),
        stalls,
        longest.map(|pictures| pictures as f64 * TICK.as_secs_f64() * 1e3),
        p95,
        all.percentile(99.0),
        share,
        together(played, |played| played.seen.delays.clone()).mean(),
        wait_p95,
        wait_most,
        mean(played, |played| played.bits),
        together(played, |played| played.down.clone())
            .mean()
            .map(|bytes| bytes / 1e3),
    ]
}
