//! Joining a game in progress: how long until a newcomer takes part?

use std::time::Duration;

use samestep_session::{SessionConfig, SessionEvent};
use samestep_sim::NodeId;

use super::in_case;
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link::{self, percent_label};
use crate::parameters::{Case, Domain, Key, Value};
use crate::plot::{Data, Plot};
use crate::stats::Samples;
use crate::testroom::{TOPOLOGY, TestRoom};

/// A newcomer that needs the game's state before it can play.
pub struct Join;

const KEYS: &[Key] = &[
    TOPOLOGY,
    Key::number(
        "state_kb",
        10.0,
        Domain::Number(0.0, 20_000.0),
        "size of the game's state, in units of 1000 bytes; 0 for none",
    )
    .labelled(|value| match value {
        Value::Number(kb) if *kb >= 1_000.0 => Some(format!("{}MB", kb / 1_000.0)),
        value => Some(format!("{value}kB")),
    }),
    link::PROFILE,
    link::LATENCY_MS,
    link::JITTER_MS.labelled(link::some_jitter_label),
    link::JITTER,
    link::LOSS.labelled(percent_label),
    link::BURST_MS,
    link::DUPLICATE,
    link::REORDER,
    link::RATE_KBPS,
    link::QUEUE_MS,
    Key::number(
        "players",
        4.0,
        Domain::Whole(1, 31),
        "players in the room before",
    ),
    link::REPEATS,
];

const METRICS: &[Metric] = &[
    Metric::new(
        "in_sync_mean",
        "ms",
        "from the newcomer's request to taking part, mean of the repeats",
    ),
    Metric::new("in_sync_p95", "ms", "the same, 95th percentile"),
    Metric::new("in_sync_max", "ms", "the same, slowest of the repeats"),
    Metric::new(
        "everyone_max",
        "ms",
        "from the request until the last of the others knows, slowest of the repeats",
    ),
];

const PATIENCE: Duration = Duration::from_secs(600);

struct Measured {
    in_sync: Duration,
    everyone: Duration,
}

impl Experiment for Join {
    fn name(&self) -> &'static str {
        "join"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn metrics(&self) -> &'static [Metric] {
        METRICS
    }

    fn run(&self, context: &RunContext) -> Result<Findings, LabError> {
        let measured =
            context.measure(|case, seed| virtual_time(case, seed).map_err(in_case(case)))?;
        let mut findings = Findings::default();
        let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        for (case, repeats) in &measured {
            let own: Samples = repeats.iter().map(|repeat| ms(repeat.in_sync)).collect();
            let all: Samples = repeats.iter().map(|repeat| ms(repeat.everyone)).collect();
            let figures = [
                own.mean(),
                own.sorted().percentile(95.0),
                own.max(),
                all.max(),
            ];
            for (metric, ours) in METRICS.iter().zip(figures) {
                findings.push(case, metric.name, None, ours);
            }
            let loss = case.number_if_given("link.loss").unwrap_or(0.0);
            let name = format!("{} {} kB", case.text("topology"), case.number("state_kb"));
            let point = (100.0 * loss, own.mean().unwrap_or(0.0));
            match lines.iter_mut().find(|(known, _)| *known == name) {
                Some((_, points)) => points.push(point),
                None => lines.push((name, vec![point])),
            }
        }
        findings.plots.push(Plot {
            name: "join".into(),
            title: "From the request to taking part, by the size of what is shared".into(),
            x: "loss in each direction, %".into(),
            y: "ms".into(),
            log_y: true,
            data: Data::Lines(lines),
        });
        Ok(findings)
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn virtual_time(case: &Case, seed: u64) -> Result<Measured, String> {
    let path = link::path(case).map_err(|error| error.to_string())?;
    let state: Vec<u8> = (0..(case.number("state_kb") * 1000.0) as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let mut config = SessionConfig::new("samestep-lab", 1);
    config.capacity = 64;
    config.load_grace = PATIENCE;
    config.protocol.connect_timeout = Duration::from_secs(60);
    let mut room = TestRoom::open(seed, case, &path.up, config, state);
    let players = case.number("players") as usize;
    room.gather(players, None)?;
    room.run_for(Duration::from_secs(2))?;
    let newcomer = room.testbed.add_node();
    room.join(newcomer, NodeId(0), None);
    let asked = room.testbed.now();
    let (mut in_sync, mut knowing) = (None, 0);
    while let Some((at, node, event)) = room.next(asked + PATIENCE)? {
        match event {
            SessionEvent::InSync if node == newcomer => in_sync = Some(at),
            SessionEvent::PeerInSync { .. } if node != newcomer => knowing += 1,
            SessionEvent::Left { reason } if node == newcomer => {
                return Err(format!("the newcomer did not get in: {reason}"));
            }
            _ => {}
        }
        if let (Some(in_sync), true) = (in_sync, knowing == players) {
            return Ok(Measured {
                in_sync: in_sync - asked,
                everyone: at - asked,
            });
        }
    }
    Err("the newcomer was not in sync within ten minutes".into())
}
