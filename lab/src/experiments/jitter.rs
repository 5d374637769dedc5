//! Spacing of messages on arrival by sending interval and kind of link (GNAT, 6.1).

use samestep_proto::{ChannelConfig, Delivery};

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link::{self, latency_label, some_jitter_label};
use crate::parameters::{Case, Domain, Key};
use crate::plot::{Data, Plot};
use crate::real;
use crate::stats::Samples;
use crate::stream::{self, StreamConfig, StreamLog};

/// Unreliable messages at steady intervals; how steadily do they arrive? `--real` is the localhost series.
pub static EXPERIMENT: Experiment = Experiment {
    summaries: &[COMPARISON],
    real: true,
    ..Experiment::new("jitter", KEYS, METRICS, run)
};

const KEYS: &[&[Key]] = &[&[
    link::PROFILE,
    link::LATENCY_MS.labelled(|value| latency_label(value).filter(|label| label != "0ms")),
    link::JITTER_MS.labelled(some_jitter_label),
    link::JITTER,
    link::LOSS.labelled(link::some_percent_label),
    link::BURST_MS,
    link::RATE_KBPS,
    link::QUEUE_MS,
    Key::number(
        "interval_ms",
        64.0,
        Domain::Number(0.5, 60_000.0),
        "time between two messages, in ms",
    )
    .labelled(|value| Some(format!("every-{value}ms"))),
    Key::number(
        "message_bytes",
        64.0,
        Domain::Whole(32, 60_000),
        "size of a message",
    ),
    Key::number(
        "messages",
        5_001.0,
        Domain::Whole(10, 10_000_000),
        "messages per series",
    ),
    Key::number(
        "seconds",
        0.0,
        Domain::Number(0.0, 100_000.0),
        "longest series, in s; 0 for no limit",
    ),
    link::REPEATS,
]];

const METRICS: &[Metric] = &[
    Metric::new(
        "spacing_std_dev",
        "ms",
        "standard deviation of the time between two arrivals",
    ),
    Metric::new("spacing_variance", "ms²", "its variance"),
    Metric::new(
        "within_1ms",
        "%",
        "spacings at most 1 ms off the sending interval",
    ),
    Metric::new(
        "within_2ms",
        "%",
        "spacings at most 2 ms off the sending interval",
    ),
    Metric::new("messages", "", "messages that arrived"),
    Metric::new(
        "variance_ratio",
        "x",
        "variance on Wi-Fi over variance on Ethernet, intervals up to 250 ms",
    ),
];

/// The row that compares the two kinds of link.
const COMPARISON: &str = "wifi-to-ethernet";

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = match context.real {
        true => localhost(context)?,
        false => in_virtual_time(context)?,
    };
    let mut findings = Findings::default();
    for (name, interval_ms, log) in &measured {
        let spacings = log.spacings_ms();
        let percent = |width| {
            spacings
                .share_within(*interval_ms, width)
                .map(|share| 100.0 * share)
        };
        let figures = [
            spacings.std_dev(),
            spacings.variance(),
            percent(1.0),
            percent(2.0),
            Some(log.arrivals.len() as f64),
        ];
        findings.add(name, &METRICS[..figures.len()], &[], &figures);
    }
    if let Some(ratio) = comparison(&measured) {
        findings.push(COMPARISON, "variance_ratio", None, Some(ratio));
    }
    write_spacings(context, &measured)?;
    findings.plots = plots(&measured);
    Ok(findings)
}

/// A series: its name, its interval in ms, its messages.
type Series = (String, f64, StreamLog);

fn config(case: &Case) -> StreamConfig {
    let (interval, limit) = (case.millis("interval_ms"), case.number("seconds"));
    let fitting = if limit == 0.0 {
        f64::INFINITY
    } else {
        (limit / interval.as_secs_f64()).ceil().max(2.0)
    };
    StreamConfig::of(case, interval, case.number("messages").min(fitting))
}

fn in_virtual_time(context: &RunContext) -> Result<Vec<Series>, LabError> {
    let measured = context.measure(|case, seed| {
        let path = link::path(case)?;
        let channel = ChannelConfig::new(Delivery::Unreliable);
        stream::run(&path, channel, None, config(case), seed)
    })?;
    Ok(series(measured, ""))
}

/// All intervals at the same time, as they would disturb each other on one machine.
fn localhost(context: &RunContext) -> Result<Vec<Series>, LabError> {
    let measured = context.measure_with(context.cases.len(), |case, seed| {
        real::stream_udp(&link::path(case)?, Delivery::Unreliable, config(case), seed)
    })?;
    Ok(series(measured, "localhost/"))
}

/// The series of all cases, with what their names begin with.
fn series(measured: Vec<(&Case, Vec<StreamLog>)>, prefix: &str) -> Vec<Series> {
    let series = |(case, repeats): (&Case, Vec<StreamLog>)| {
        let name = format!("{prefix}{}", case.name);
        (name, case.number("interval_ms"), joined(repeats))
    };
    measured.into_iter().map(series).collect()
}

fn joined(repeats: Vec<StreamLog>) -> StreamLog {
    let mut all = StreamLog::default();
    for log in repeats {
        all.sent += log.sent;
        all.arrivals.extend(log.arrivals);
    }
    all
}

/// Mean over the shorter intervals; the source leaves out 500 and 1000 ms, where one lost packet outweighs the rest.
fn comparison(measured: &[Series]) -> Option<f64> {
    let mut ratios = Samples::new();
    for (name, _, wifi) in measured
        .iter()
        .filter(|(_, interval, _)| *interval <= 250.0)
    {
        let Some(rest) = name.strip_prefix("wifi/") else {
            continue;
        };
        let twin = format!("ethernet/{rest}");
        let ethernet = measured.iter().find(|(name, _, _)| *name == twin);
        let Some((_, _, ethernet)) = ethernet else {
            continue;
        };
        let variance = |log: &StreamLog| log.spacings_ms().variance();
        if let (Some(wifi), Some(ethernet)) = (variance(wifi), variance(ethernet)) {
            ratios.push(wifi / ethernet);
        }
    }
    ratios.mean()
}

fn write_spacings(context: &RunContext, measured: &[Series]) -> Result<(), LabError> {
    let Some(mut csv) = context.csv(
        "spacings.csv",
        &["case", "number", "message_id", "spacing_ms"],
    )?
    else {
        return Ok(());
    };
    for (name, _, log) in measured {
        for (number, pair) in log.arrivals.windows(2).enumerate() {
            let spacing = (pair[1].received - pair[0].received).as_secs_f64() * 1e3;
            let id = pair[1].stamp.id.to_string();
            csv.line(&[
                name.clone(),
                number.to_string(),
                id,
                format!("{spacing:.4}"),
            ])?;
        }
    }
    csv.finish()
}

fn plots(measured: &[Series]) -> Vec<Plot> {
    let mut intervals: Vec<f64> = measured.iter().map(|(_, interval, _)| *interval).collect();
    intervals.sort_by(f64::total_cmp);
    intervals.dedup();
    let kind = |name: &str| {
        name.rsplit_once('/')
            .map_or("link", |(kind, _)| kind)
            .to_string()
    };
    let mut kinds: Vec<String> = measured.iter().map(|(name, _, _)| kind(name)).collect();
    kinds.dedup();
    let variance = |of: &str, at: f64| {
        let series = measured
            .iter()
            .find(|(name, interval, _)| kind(name) == of && *interval == at)?;
        series.2.spacings_ms().variance()
    };
    let heights = |kind: &String| intervals.iter().map(|at| variance(kind, *at)).collect();
    let bars = kinds.iter().map(|kind| (kind.clone(), heights(kind)));
    let groups = intervals.iter().copied().map(crate::table::number);
    let mut plots = vec![
        Plot::new(
            "variance",
            "Variance of the spacing on arrival",
            ["sending interval, ms", "ms²"],
            Data::Bars(groups.collect(), bars.collect()),
        )
        .log_y(),
    ];
    // The source shows the first few hundred spacings of three intervals; one is enough to see the shape.
    if let Some(interval) = intervals.iter().copied().find(|interval| *interval >= 64.0) {
        let line = |(name, _, log): &Series| {
            let spacings = log.spacings_ms();
            let points = spacings
                .values()
                .iter()
                .take(400)
                .enumerate()
                .map(|(i, ms)| (i as f64, *ms - interval))
                .collect();
            (name.clone(), points)
        };
        let shown = measured.iter().filter(|(_, at, _)| *at == interval);
        plots.push(Plot::new(
            "spacing",
            format!("How far the spacing on arrival is from the {interval} ms of sending"),
            ["message", "ms too long"],
            Data::Lines(shown.map(line).collect()),
        ));
    }
    plots
}
