//! Mean delivery latency of position messages by delivery method, minimum latency and loss (Sublockus, tables 1–3).

use samestep_proto::{ChannelConfig, LossRecovery};

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link::{self, latency_label, percent_label, some_jitter_label};
use crate::pair::{FRAME, delivery};
use crate::parameters::{Case, Domain, Key, plain};
use crate::plot::{Data, Plot};
use crate::real;
use crate::stats::Samples;
use crate::stream::{self, StreamConfig, StreamLog};

/// One position message per 100 ms. *Theirs* is what their library does: losses are mended by sending again, and both
/// ends look at the network once a frame.
pub static EXPERIMENT: Experiment = Experiment {
    real: true,
    ..Experiment::new("delivery", KEYS, METRICS, run)
};

const KEYS: &[&[Key]] = &[
    &[
        Key::text("transport", "udp", Domain::Choice(&["udp", "tcp"]), "what carries the datagrams; tcp needs --real, and the link loses datagrams before TCP sees them")
            .labelled(|value| Some(value.to_string()).filter(|name| name != "udp")),
        link::PROFILE,
        link::LATENCY_MS.labelled(latency_label),
        link::JITTER_MS.labelled(some_jitter_label),
        link::JITTER,
        link::LOSS.labelled(percent_label),
    ],
    link::FURTHER,
    &[
        Key::text("channel", "reliable-ordered", Domain::Choice(&samestep_proto::Delivery::NAMES), "delivery method").labelled(plain),
        Key::number("interval_ms", 100.0, Domain::Number(1.0, 10_000.0), "time between two messages, in ms"),
        Key::number("message_bytes", 32.0, Domain::Whole(32, 60_000), "size of a message, time stamps included"),
        link::SECONDS,
        link::REPEATS,
    ],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "latency_mean",
        "ms",
        "mean time from the sending call to the receiving application",
    ),
    Metric::new("latency_p99", "ms", "its 99th percentile"),
    Metric::new("delivered", "%", "messages that arrived"),
];

const CSV: [&str; 15] = [
    "transport",
    "minimum_latency_ms",
    "loss",
    "message_id",
    "message_type",
    "created_ms",
    "sent_ms",
    "received_ms",
    "processed_ms",
    "latency_ms",
    "jitter_ms",
    "drop_rate",
    "size_bytes",
    "delivery_method",
    "configuration",
];

struct Measured {
    ours: StreamLog,
    theirs: Option<StreamLog>,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    if !context.real
        && context
            .cases
            .iter()
            .any(|case| case.text("transport") == "tcp")
    {
        return Err(LabError::Unsupported(
            "transport=tcp needs real sockets: add --real".into(),
        ));
    }
    let measured = if context.real {
        // Every case waits for a real clock, so they run side by side; the load of each is a few packets a second.
        context.measure_with(context.cases.len().min(32), real_time)?
    } else {
        context.measure(virtual_time)?
    };
    write_messages(context, &measured)?;
    let mut findings = Findings::default();
    for (case, repeats) in &measured {
        let ours = summary(repeats.iter().map(|repeat| &repeat.ours));
        let theirs = summary(repeats.iter().filter_map(|repeat| repeat.theirs.as_ref()));
        findings.add(&case.name, METRICS, &theirs, &ours);
    }
    findings.plots = plots(context, &measured);
    Ok(findings)
}

fn config(case: &Case) -> StreamConfig {
    let interval = case.millis("interval_ms");
    let seconds = case.seconds("seconds").as_secs_f64();
    StreamConfig::of(case, interval, seconds / interval.as_secs_f64())
}

fn virtual_time(case: &Case, seed: u64) -> Result<Measured, String> {
    let path = link::path(case)?;
    let delivery = delivery(case.text("channel"));
    let run = |channel, poll| stream::run(&path, channel, poll, config(case), seed);
    let resending = ChannelConfig::new(delivery).recovery(LossRecovery::Retransmit);
    Ok(Measured {
        ours: run(ChannelConfig::new(delivery), None)?,
        theirs: Some(run(resending, Some(FRAME))?),
    })
}

fn real_time(case: &Case, seed: u64) -> Result<Measured, String> {
    let delivery = delivery(case.text("channel"));
    let stream = config(case);
    let path = link::path(case)?;
    let ours = match case.text("transport") {
        "tcp" => real::stream_tcp(&path, delivery, stream, seed),
        _ => real::stream_udp(&path, delivery, stream, seed),
    };
    Ok(Measured {
        ours: ours?,
        theirs: None,
    })
}

/// Mean, p99 and share delivered over all repeats.
fn summary<'a>(logs: impl Iterator<Item = &'a StreamLog>) -> [Option<f64>; 3] {
    let mut latencies = Samples::new();
    let (mut sent, mut arrived) = (0, 0);
    for log in logs {
        latencies.append(&log.latencies_ms());
        sent += log.sent as usize;
        arrived += log.arrivals.len();
    }
    let delivered = (sent > 0).then(|| 100.0 * arrived as f64 / sent as f64);
    [
        latencies.mean(),
        latencies.sorted().percentile(99.0),
        delivered,
    ]
}

/// A line per message of the first repeat, with what their log held; messages that never arrived have empty times.
fn write_messages(
    context: &RunContext,
    measured: &[(&Case, Vec<Measured>)],
) -> Result<(), LabError> {
    let Some(mut csv) = context.csv("messages.csv", &CSV)? else {
        return Ok(());
    };
    let ms = |time: std::time::Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
    for (case, repeats) in measured {
        let given = |key: &str| {
            let number = case.number_if_given(key);
            number.map(|number| number.to_string()).unwrap_or_default()
        };
        let (latency, loss) = (given("link.latency_ms"), given("link.loss"));
        if let Some(repeat) = repeats.first() {
            for (name, log) in [
                ("ours", Some(&repeat.ours)),
                ("theirs", repeat.theirs.as_ref()),
            ] {
                let Some(log) = log else { continue };
                let mut lost = vec![true; log.sent as usize];
                let head = [
                    case.text("transport").to_string(),
                    latency.clone(),
                    loss.clone(),
                ];
                let tail = [
                    log.bytes.to_string(),
                    case.text("channel").to_string(),
                    name.to_string(),
                ];
                for arrival in &log.arrivals {
                    let stamp = &arrival.stamp;
                    lost[stamp.id as usize] = false;
                    let line = [
                        stamp.id.to_string(),
                        "position".into(),
                        ms(stamp.created),
                        ms(stamp.sent),
                        ms(arrival.received),
                        ms(arrival.processed),
                        ms(stamp.latency),
                        ms(stamp.jitter),
                        format!("{:.4}", stamp.loss),
                    ];
                    csv.line(&[&head[..], &line[..], &tail[..]].concat())?;
                }
                for (id, _) in lost.iter().enumerate().filter(|(_, lost)| **lost) {
                    let mut line = vec![String::new(); 9];
                    line[0] = id.to_string();
                    line[1] = "position".into();
                    csv.line(&[&head[..], &line[..], &tail[..]].concat())?;
                }
            }
        }
    }
    csv.finish()
}

/// A bar chart per minimum latency, as in the source.
fn plots(context: &RunContext, measured: &[(&Case, Vec<Measured>)]) -> Vec<Plot> {
    let latency = |case: &Case| {
        case.number_if_given("link.latency_ms")
            .map_or("profile".into(), |ms| format!("{ms}ms"))
    };
    let mut minima: Vec<String> = Vec::new();
    for (case, _) in measured {
        if !minima.contains(&latency(case)) {
            minima.push(latency(case));
        }
    }
    let plot = |minimum: String| {
        let cases: Vec<_> = measured
            .iter()
            .filter(|(case, _)| latency(case) == minimum)
            .collect();
        let label = |case: &Case| {
            let rest = case
                .name
                .replace(&format!("{minimum}/"), "")
                .replace('/', " ");
            rest.replace("reliable", "rel.")
                .replace("unordered", "unord.")
                .replace("ordered", "ord.")
        };
        let ours = |repeats: &[Measured]| summary(repeats.iter().map(|repeat| &repeat.ours))[0];
        let theirs = |repeats: &[Measured]| {
            summary(repeats.iter().filter_map(|repeat| repeat.theirs.as_ref()))[0]
        };
        let of_all = |of: &dyn Fn(&Case, &[Measured]) -> Option<f64>| {
            let bars = cases.iter().map(|(case, repeats)| of(case, repeats));
            bars.collect()
        };
        let bars = vec![
            ("ours".into(), of_all(&|_, repeats| ours(repeats))),
            (
                "theirs: resend, polled".into(),
                of_all(&|_, repeats| theirs(repeats)),
            ),
            (
                "published".into(),
                of_all(&|case, _| context.published(case, "latency_mean")),
            ),
        ];
        Plot::new(
            format!("latency-{minimum}"),
            format!("Mean time to deliver a message over a link of {minimum}"),
            ["loss and delivery method", "ms"],
            Data::Bars(cases.iter().map(|(case, _)| label(case)).collect(), bars),
        )
    };
    minima.into_iter().map(plot).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Plan, RunOptions, run};

    fn set(pairs: &[(&str, &str)]) -> RunOptions {
        let sets = pairs
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect();
        RunOptions {
            sets,
            ..RunOptions::default()
        }
    }

    #[test]
    fn a_clean_link_costs_its_latency_and_polling_a_frame_more() {
        let options = set(&[
            ("link.latency_ms", "200"),
            ("link.loss", "0"),
            ("seconds", "10"),
            ("repeats", "1"),
        ]);
        let result = run(&Plan::find("delivery").unwrap(), &options).unwrap();
        for row in result
            .rows
            .iter()
            .filter(|row| row.metric == "latency_mean")
        {
            assert!((row.ours.unwrap() - 200.0).abs() < 0.5, "{row:?}");
            assert!((201.0..240.0).contains(&row.theirs.unwrap()), "{row:?}");
        }
        assert_eq!(result.changed.len(), 4);
    }

    #[test]
    fn tcp_in_virtual_time_is_refused() {
        let error = run(
            &Plan::find("delivery").unwrap(),
            &set(&[("transport", "tcp")]),
        )
        .err()
        .unwrap();
        assert!(error.to_string().contains("--real"), "{error}");
    }
}
