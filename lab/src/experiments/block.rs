//! A large block beside a small stream: how fast is the one, and does the other notice?

use std::time::Duration;

use samestep_proto::{ChannelConfig, ChannelId, Delivery};
use samestep_sim::Wake;

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link::{self, jitter_label, percent_label};
use crate::pair::Pair;
use crate::parameters::{Case, Domain, Key};
use crate::plot::{Data, Plot};
use crate::stats::Samples;
use crate::stream::{Stream, StreamConfig};

/// A block on a reliable channel while an unreliable stream runs in the same direction.
pub static EXPERIMENT: Experiment = Experiment::new("block", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    &[
        link::PROFILE,
        link::LATENCY_MS,
        link::JITTER_MS.labelled(jitter_label),
        link::JITTER,
        link::LOSS.labelled(|value| percent_label(value).filter(|label| label != "2%")),
    ],
    link::FURTHER,
    &[
        Key::number(
            "block_mib",
            16.0,
            Domain::Number(0.001, 32.0),
            "size of the block, in MiB",
        ),
        Key::number(
            "rate_hz",
            60.0,
            Domain::Number(1.0, 10_000.0),
            "messages of the stream per second",
        ),
        Key::number(
            "message_bytes",
            100.0,
            Domain::Whole(32, 1_000),
            "size of a message of the stream",
        ),
        Key::number(
            "seconds",
            10.0,
            Domain::Number(1.0, 1_000.0),
            "how long the stream runs alone first, in s",
        ),
        link::REPEATS,
    ],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "block_seconds",
        "s",
        "from sending the block to having all of it, the slowest of the repeats",
    ),
    Metric::new("block_seconds_mean", "s", "the same, mean of the repeats"),
    Metric::new(
        "stream_p99_idle",
        "ms",
        "p99 latency of the stream before the block",
    ),
    Metric::new(
        "stream_p99_busy",
        "ms",
        "p99 latency of the stream during the transfer",
    ),
    Metric::new("stream_p99_added", "ms", "the difference of the two"),
    Metric::new(
        "wire_ratio",
        "x",
        "bytes on the wire during the transfer over the bytes of the block",
    ),
];

struct Measured {
    block: Duration,
    idle: Samples,
    busy: Samples,
    wire_bytes: u64,
    /// (time since the block, latency) in s and ms.
    trace: Vec<(f64, f64)>,
}

const BLOCK: ChannelId = ChannelId(1);

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(virtual_time)?;
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    for (case, repeats) in &measured {
        let times: Samples = repeats
            .iter()
            .map(|repeat| repeat.block.as_secs_f64())
            .collect();
        let p99 = |of: fn(&Measured) -> &Samples| {
            let all = Samples::together(repeats.iter().map(of));
            all.sorted().percentile(99.0)
        };
        let (idle, busy) = (p99(|m| &m.idle), p99(|m| &m.busy));
        let bytes: u64 = repeats.iter().map(|repeat| repeat.wire_bytes).sum();
        let ratio = bytes as f64 / (case.number("block_mib") * 1_048_576.0 * repeats.len() as f64);
        let added = idle.zip(busy).map(|(idle, busy)| busy - idle);
        let figures = [times.max(), times.mean(), idle, busy, added, Some(ratio)];
        findings.add(&case.name, METRICS, &[], &figures);
        lines.push((case.name.clone(), repeats[0].trace.clone()));
    }
    findings.plots.push(Plot::new(
        "stream",
        "Latency of a small stream while a large block passes beside it",
        ["seconds since the block was sent", "ms"],
        Data::Lines(lines),
    ));
    Ok(findings)
}

fn virtual_time(case: &Case, seed: u64) -> Result<Measured, String> {
    let path = link::path(case)?;
    // The game's own traffic goes first: a block is background.
    let channels = [
        ChannelConfig::new(Delivery::Unreliable),
        ChannelConfig::new(Delivery::ReliableOrdered).priority(10),
    ];
    let mut pair = Pair::connect(&path, &channels, None, seed)?;
    let interval = Duration::from_secs_f64(1.0 / case.number("rate_hz"));
    let config = StreamConfig {
        bytes: case.number("message_bytes") as usize,
        interval,
        count: u32::MAX,
    };
    let mut stream = Stream::start(&mut pair, config);
    let start = pair.world.now() + case.seconds("seconds");
    while let Some(wake) = pair.world.next(start) {
        stream.on_wake(&mut pair, &wake)?;
    }
    let block: Vec<u8> = (0..(case.number("block_mib") * 1_048_576.0) as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let before = pair.wire_bytes();
    pair.world
        .send(pair.client, pair.id, BLOCK, &block)
        .map_err(|error| format!("could not send the block: {error}"))?;
    let patience = start + Duration::from_secs(600);
    let done = loop {
        match pair.world.next(patience) {
            None => return Err("the block did not arrive within ten minutes".into()),
            Some(Wake::Message(received))
                if received.node == pair.server && received.channel == BLOCK =>
            {
                if received.payload != block {
                    return Err("the block arrived damaged".into());
                }
                break received.at;
            }
            Some(wake) => stream.on_wake(&mut pair, &wake)?,
        }
    };
    let wire_bytes = pair.wire_bytes() - before;
    // Messages sent during the transfer may still be on their way.
    let rest = done + Duration::from_secs(1) + path.up.latency;
    while let Some(wake) = pair.world.next(rest) {
        stream.on_wake(&mut pair, &wake)?;
    }
    let mut measured = Measured {
        block: done - start,
        idle: Samples::new(),
        busy: Samples::new(),
        wire_bytes,
        trace: Vec::new(),
    };
    for arrival in &stream.log.arrivals {
        let (sent, latency) = (
            arrival.stamp.sent,
            (arrival.processed - arrival.stamp.sent).as_secs_f64() * 1e3,
        );
        if sent < start && arrival.processed < start {
            measured.idle.push(latency);
        } else if sent >= start && sent < done {
            measured.busy.push(latency);
        }
        measured
            .trace
            .push((sent.as_secs_f64() - start.as_secs_f64(), latency));
    }
    measured.trace.retain(|(at, _)| *at > -1.0);
    Ok(measured)
}
