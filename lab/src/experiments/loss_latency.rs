//! Delivery latency and bytes on the wire of every channel kind under loss.

use samestep_proto::{ChannelConfig, Delivery, LossRecovery};

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::pair::delivery;
use crate::parameters::{Case, Domain, Key, plain};
use crate::plot::{Data, Plot};
use crate::real;
use crate::stats::Samples;
use crate::stream::{self, StreamConfig, StreamLog};

/// A steady stream of small messages. *Theirs* mends losses by sending again, as the source documents' libraries do.
pub static EXPERIMENT: Experiment = Experiment {
    real: true,
    ..Experiment::new("loss-latency", KEYS, METRICS, run)
};

const KEYS: &[&[Key]] = &[
    &[link::PROFILE],
    link::WITH_LOSS,
    link::FURTHER,
    &[
        Key::text(
            "channel",
            "reliable-ordered",
            Domain::Choice(&Delivery::NAMES),
            "kind of channel",
        )
        .labelled(plain),
        Key::number(
            "rate_hz",
            60.0,
            Domain::Number(0.1, 10_000.0),
            "messages per second",
        ),
        Key::number(
            "message_bytes",
            100.0,
            Domain::Whole(32, 60_000),
            "size of a message",
        ),
        link::SECONDS,
        link::REPEATS,
    ],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "latency_p50",
        "ms",
        "median time from the sending call to the receiving application",
    ),
    Metric::new("latency_p95", "ms", "its 95th percentile"),
    Metric::new("latency_p99", "ms", "its 99th percentile"),
    Metric::new("latency_max", "ms", "the longest"),
    Metric::new("delivered", "%", "messages that arrived"),
    Metric::new(
        "wire_bytes",
        "B/s",
        "bytes on the wire in both directions: headers, tags, acks, IP and UDP",
    ),
    Metric::new(
        "bytes_ratio",
        "x",
        "those bytes over the bytes of an unreliable channel under the same conditions",
    ),
];

struct Measured {
    ours: StreamLog,
    theirs: Option<StreamLog>,
    unreliable: StreamLog,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = match context.real {
        true => context.measure_with(context.cases.len().min(8), real_time)?,
        false => context.measure(virtual_time)?,
    };
    let mut findings = Findings::default();
    for (case, repeats) in &measured {
        let seconds = case.number("seconds");
        let reference: Vec<_> = repeats.iter().map(|repeat| &repeat.unreliable).collect();
        let ours: Vec<_> = repeats.iter().map(|repeat| &repeat.ours).collect();
        let theirs: Vec<_> = repeats
            .iter()
            .filter_map(|repeat| repeat.theirs.as_ref())
            .collect();
        let (ours, theirs) = (
            summary(&ours, &reference, seconds),
            summary(&theirs, &reference, seconds),
        );
        findings.add(&case.name, METRICS, &theirs, &ours);
    }
    findings.plots = plots(&measured);
    Ok(findings)
}

fn config(case: &Case) -> StreamConfig {
    let interval = std::time::Duration::from_secs_f64(1.0 / case.number("rate_hz"));
    let count = case.number("seconds") * case.number("rate_hz");
    StreamConfig::of(case, interval, count)
}

fn virtual_time(case: &Case, seed: u64) -> Result<Measured, String> {
    let path = link::path(case)?;
    let delivery = delivery(case.text("channel"));
    let run = |channel| stream::run(&path, channel, None, config(case), seed);
    let resends = delivery.is_reliable() && !delivery.is_redundant();
    let theirs = resends
        .then(|| run(ChannelConfig::new(delivery).recovery(LossRecovery::Retransmit)))
        .transpose()?;
    let unreliable = run(ChannelConfig::new(Delivery::Unreliable))?;
    Ok(Measured {
        ours: run(ChannelConfig::new(delivery))?,
        theirs,
        unreliable,
    })
}

fn real_time(case: &Case, seed: u64) -> Result<Measured, String> {
    let path = link::path(case)?;
    let run = |delivery| real::stream_udp(&path, delivery, config(case), seed);
    let ours = run(delivery(case.text("channel")))?;
    Ok(Measured {
        ours,
        theirs: None,
        unreliable: run(Delivery::Unreliable)?,
    })
}

fn summary(logs: &[&StreamLog], reference: &[&StreamLog], seconds: f64) -> [Option<f64>; 7] {
    if logs.is_empty() {
        return [None; 7];
    }
    let latencies = Samples::together(logs.iter().map(|log| log.latencies_ms()));
    let sorted = latencies.sorted();
    let bytes = |logs: &[&StreamLog]| logs.iter().map(|log| log.wire_bytes as f64).sum::<f64>();
    let sent: u32 = logs.iter().map(|log| log.sent).sum();
    [
        sorted.percentile(50.0),
        sorted.percentile(95.0),
        sorted.percentile(99.0),
        sorted.percentile(100.0),
        Some(100.0 * latencies.len() as f64 / f64::from(sent)),
        Some(bytes(logs) / (seconds * logs.len() as f64)),
        Some(bytes(logs) / bytes(reference)),
    ]
}

/// The tail of the latencies, one plot per condition.
fn plots(measured: &[(&Case, Vec<Measured>)]) -> Vec<Plot> {
    let condition = |case: &Case| {
        case.name
            .rsplit_once('/')
            .map_or("all", |(condition, _)| condition)
            .to_string()
    };
    let mut conditions: Vec<String> = measured.iter().map(|(case, _)| condition(case)).collect();
    conditions.dedup();
    let tail = |logs: Vec<&StreamLog>| {
        let latencies = Samples::together(logs.iter().map(|log| log.latencies_ms()));
        let tail = latencies.sorted().tail(300).into_iter();
        tail.map(|(ms, share)| (ms, 100.0 * share))
            .collect::<Vec<_>>()
    };
    let plot = |wanted: String| {
        let mut lines = Vec::new();
        // What is never mended comes at once or not at all.
        let mended = |case: &Case| delivery(case.text("channel")).is_reliable();
        for (case, repeats) in measured
            .iter()
            .filter(|(case, _)| condition(case) == wanted && mended(case))
        {
            lines.push((
                format!("ours, {}", case.text("channel")),
                tail(repeats.iter().map(|repeat| &repeat.ours).collect()),
            ));
        }
        for (_, repeats) in measured.iter().filter(|(case, _)| {
            condition(case) == wanted && case.text("channel") == "reliable-ordered"
        }) {
            let theirs = tail(
                repeats
                    .iter()
                    .filter_map(|repeat| repeat.theirs.as_ref())
                    .collect(),
            );
            lines.push(("theirs, reliable-ordered".into(), theirs));
        }
        Plot::new(
            format!("tail-{}", wanted.replace('%', "").replace('/', "-")),
            format!(
                "How many messages take longer than that; loss {}",
                wanted.replace('/', ", ")
            ),
            ["latency, ms", "% of the messages"],
            Data::Steps(lines),
        )
        .log_y()
    };
    conditions.into_iter().map(plot).collect()
}
