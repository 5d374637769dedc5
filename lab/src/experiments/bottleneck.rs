//! More offered than the link carries: how much gets through, and how long does it wait?

use std::time::Duration;

use samestep_proto::{ChannelConfig, Delivery};

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link::{self, jitter_label, percent_label};
use crate::pair::Pair;
use crate::parameters::{Case, Domain, Key, Value};
use crate::plot::{Data, Plot};
use crate::stats::Samples;
use crate::stream::{Stream, StreamConfig};

/// Unreliable messages at twice the rate of the link, in front of a long queue.
pub static EXPERIMENT: Experiment = Experiment::new("bottleneck", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    &[
        link::PROFILE,
        link::LATENCY_MS.labelled(|value| match value {
            Value::Number(ms) => Some(format!("rtt{}ms", 2.0 * ms)),
            Value::Text(_) => None,
        }),
        link::JITTER_MS.labelled(jitter_label),
        link::JITTER,
        link::LOSS.labelled(percent_label),
    ],
    link::FURTHER,
    &[
        Key::number(
            "offered_kbps",
            2_000.0,
            Domain::Number(1.0, 1e6),
            "message bytes offered, in kbit/s",
        ),
        Key::number(
            "message_bytes",
            1_000.0,
            Domain::Whole(32, 60_000),
            "size of a message",
        ),
        link::SECONDS,
        link::REPEATS,
    ],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "goodput",
        "%",
        "bytes of messages that arrived, of what the link could carry in that time",
    ),
    Metric::new("link_use", "%", "the same with every header counted"),
    Metric::new(
        "queue_p95",
        "ms",
        "95th percentile of the time a datagram waits in the link's queue",
    ),
    Metric::new("queue_max", "ms", "the longest wait"),
    Metric::new(
        "queue_dropped",
        "%",
        "datagrams dropped because the queue was full",
    ),
    Metric::new(
        "latency_p95",
        "ms",
        "95th percentile from the sending call to the receiving application",
    ),
];

struct Measured {
    /// What the link could carry while messages were offered.
    capacity_bytes: f64,
    good_bytes: f64,
    used_bytes: f64,
    queued_ms: Samples,
    datagrams: u64,
    dropped: u64,
    latencies_ms: Samples,
    /// (time, wait) in s and ms.
    trace: Vec<(f64, f64)>,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(virtual_time)?;
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    for (case, repeats) in &measured {
        let sum = |of: fn(&Measured) -> f64| repeats.iter().map(of).sum::<f64>();
        let all = |of: fn(&Measured) -> &Samples| Samples::together(repeats.iter().map(of));
        let (queued, latencies) = (all(|m| &m.queued_ms), all(|m| &m.latencies_ms));
        let capacity = sum(|repeat| repeat.capacity_bytes);
        let figures = [
            Some(100.0 * sum(|repeat| repeat.good_bytes) / capacity),
            Some(100.0 * sum(|repeat| repeat.used_bytes) / capacity),
            queued.sorted().percentile(95.0),
            queued.max(),
            Some(
                100.0 * sum(|repeat| repeat.dropped as f64) / sum(|repeat| repeat.datagrams as f64),
            ),
            latencies.sorted().percentile(95.0),
        ];
        findings.add(&case.name, METRICS, &[], &figures);
        lines.push((case.name.clone(), repeats[0].trace.clone()));
    }
    // The corners of the matrix: all cases in one plot would hide each other.
    let last = lines.len().saturating_sub(1);
    let shown = lines
        .into_iter()
        .enumerate()
        .filter(|(index, _)| *index == 0 || *index == last);
    findings.plots.push(Plot::new(
        "queue",
        "Time in the queue of a link that is offered twice what it carries",
        ["seconds", "ms"],
        Data::Lines(shown.map(|(_, line)| line).collect()),
    ));
    Ok(findings)
}

fn virtual_time(case: &Case, seed: u64) -> Result<Measured, String> {
    let path = link::path(case)?;
    let rate_bps = path
        .up
        .rate_bps
        .ok_or("a bottleneck needs a rate: set link.rate_kbps")?;
    let mut pair = Pair::connect(
        &path,
        &[ChannelConfig::new(Delivery::Unreliable)],
        None,
        seed,
    )?;
    pair.world.watch_link(pair.client, pair.server);
    let bytes = case.number("message_bytes") as usize;
    let interval =
        Duration::from_secs_f64(bytes as f64 * 8.0 / (case.number("offered_kbps") * 1e3));
    let config = StreamConfig::of(
        case,
        interval,
        case.number("seconds") / interval.as_secs_f64(),
    );
    let start = pair.world.now();
    let before = pair.world.link_stats(pair.client, pair.server);
    let mut stream = Stream::start(&mut pair, config);
    let end = start + case.seconds("seconds");
    // What is sent in the last moment counts if it arrives when a link without a queue would have brought it.
    let counted = end + path.up.latency;
    while let Some(wake) = pair.world.next(counted) {
        stream.on_wake(&mut pair, &wake)?;
    }
    let after = pair.world.link_stats(pair.client, pair.server);
    let passages = pair.world.passages(pair.client, pair.server);
    let passed: Vec<_> = passages
        .iter()
        .filter(|p| p.at >= start && p.at < end && p.arrived.is_some())
        .collect();
    let wait_ms = |wait: Duration| wait.as_secs_f64() * 1e3;
    let overhead = samestep_netem::IP_UDP_OVERHEAD_BYTES as f64;
    let in_time = passed
        .iter()
        .filter(|p| p.arrived.is_some_and(|at| at <= counted));
    Ok(Measured {
        capacity_bytes: rate_bps as f64 / 8.0 * case.number("seconds"),
        good_bytes: (stream.log.arrivals.len() * bytes) as f64,
        used_bytes: in_time.map(|p| p.bytes as f64 + overhead).sum(),
        queued_ms: passed.iter().map(|p| wait_ms(p.queued)).collect(),
        datagrams: after.sent - before.sent,
        dropped: after.dropped_queue - before.dropped_queue,
        latencies_ms: stream.log.latencies_ms(),
        trace: passed
            .iter()
            .step_by(7)
            .map(|p| ((p.at - start).as_secs_f64(), wait_ms(p.queued)))
            .collect(),
    })
}
