//! Joining a game in progress: how long until a newcomer takes part?

use std::time::Duration;

use samestep_session::{SessionConfig, SessionEvent};
use samestep_sim::NodeId;

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key, Value};
use crate::plot::{Data, Plot, add_point};
use crate::stats::Samples;
use crate::testroom::{TOPOLOGY, TestRoom};

/// A newcomer that needs the game's state before it can play.
pub static EXPERIMENT: Experiment = Experiment::new("join", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    &[
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
    ],
    link::WITH_LOSS,
    link::FURTHER,
    &[
        Key::number(
            "players",
            4.0,
            Domain::Whole(1, 31),
            "players in the room before",
        ),
        link::REPEATS,
    ],
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

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(virtual_time)?;
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    for (case, repeats) in &measured {
        let own: Samples = repeats.iter().map(|repeat| ms(repeat.in_sync)).collect();
        let all: Samples = repeats.iter().map(|repeat| ms(repeat.everyone)).collect();
        let figures = [
            own.mean(),
            own.sorted().percentile(95.0),
            own.max(),
            all.max(),
        ];
        findings.add(&case.name, METRICS, &[], &figures);
        let loss = case.number_if_given("link.loss").unwrap_or(0.0);
        let name = format!("{} {} kB", case.text("topology"), case.number("state_kb"));
        let point = (100.0 * loss, own.mean().unwrap_or(0.0));
        add_point(&mut lines, name, point);
    }
    findings.plots.push(
        Plot::new(
            "join",
            "From the request to taking part, by the size of what is shared",
            ["loss in each direction, %", "ms"],
            Data::Lines(lines),
        )
        .log_y(),
    );
    Ok(findings)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn virtual_time(case: &Case, seed: u64) -> Result<Measured, String> {
    let path = link::path(case)?;
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
