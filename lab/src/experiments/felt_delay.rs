//! Felt delay: from a key to the picture that shows it, under every model in every kind of room.

mod room;

use samestep_sync::{ModelKind, RoomKind};

use super::prediction::SETTLING_S;
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key, plain};
use crate::plot::{Data, Line, Plot, add_point};
use crate::stats::Samples;
use crate::testmatch::SECONDS;
use room::{Felt, Room, RoomConfig};

/// Keys are pressed, and pictures looked at.
pub static EXPERIMENT: Experiment = Experiment::new("felt-delay", KEYS, METRICS, run);

const ROOMS: [(&str, RoomKind); 3] = [
    ("mesh", RoomKind::Mesh),
    ("hosted", RoomKind::Hosted),
    ("dedicated", RoomKind::Dedicated),
];

fn models() -> Vec<&'static str> {
    ModelKind::ALL.iter().map(|kind| kind.name).collect()
}

const KEYS: &[&[Key]] = &[
    &[
        Key::text(
            "room",
            "hosted",
            Domain::Choice(&["mesh", "hosted", "dedicated"]),
            "mesh: everyone talks to everyone; hosted: through a player's program; dedicated: through a server",
        )
        .labelled(plain),
        Key::text(
            "model",
            "rollback",
            Domain::Listed(models),
            "what keeps everyone together",
        )
        .labelled(plain),
        Key::number(
            "round_trip_ms",
            100.0,
            Domain::Number(0.0, 10_000.0),
            "smallest round trip from each player to the host or server, in a mesh to each other player, in ms",
        )
        .labelled(link::latency_label),
        Key::number("players", 3.0, Domain::Whole(2, 16), "players"),
        Key::number(
            "frames_hz",
            144.0,
            Domain::Number(10.0, 1_000.0),
            "pictures each player draws per second",
        ),
        link::JITTER_MS,
        link::JITTER,
        link::LOSS,
    ],
    link::FURTHER,
    &[SECONDS, SETTLING_S, link::REPEATS],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "own_p50",
        "ms",
        "from a player's key to its own first picture that shows it, median",
    ),
    Metric::new("own_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "others_p50",
        "ms",
        "from another's key to a player's first picture that shows it, median",
    ),
    Metric::new("others_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "told",
        "ms",
        "what the model's status says of the delay of own inputs, mean",
    ),
    Metric::new(
        "off",
        "ms",
        "how far that is from the mean delay of own inputs, in either direction",
    ),
    Metric::new("deepest", "ticks", "the deepest rollback or correction"),
    Metric::new(
        "stalled",
        "/s",
        "ticks in which the simulation could not go on, per player and second",
    ),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    for (case, repeats) in &measured {
        findings.add(&case.name, METRICS, &[], &figures(repeats));
    }
    findings.retain_measured();
    findings.plots = vec![
        plot(
            "own",
            "A player's own key, median",
            "own_p50",
            &context.cases,
            &findings,
        ),
        plot(
            "others",
            "Another player's key, median",
            "others_p50",
            &context.cases,
            &findings,
        ),
    ];
    findings.plots.retain(Plot::has_lines);
    Ok(findings)
}

fn measure(case: &Case, seed: u64) -> Result<Felt, String> {
    let kind = ModelKind::named(case.text("model")).expect("a model that is listed");
    let (_, room) = ROOMS
        .into_iter()
        .find(|(name, _)| *name == case.text("room"))
        .expect("a room that is listed");
    if !kind.works_in(room) {
        return Err(format!("{} does not work in such a room", kind.name));
    }
    let mut path = link::path(case)?;
    let latency = case.millis("round_trip_ms") / 2;
    (path.up.latency, path.down.latency) = (latency, latency);
    let config = RoomConfig {
        room,
        model: kind.config(),
        players: case.number("players") as usize,
        path,
        frame: std::time::Duration::from_secs_f64(1.0 / case.number("frames_hz")),
    };
    let mut room = Room::open(config, seed)?;
    let settling = case.seconds("settling_s");
    room.play_for(settling)?;
    room.judge();
    room.play_for(case.seconds("seconds").saturating_sub(settling))?;
    Ok(room.felt())
}

/// In the order of the metrics.
fn figures(repeats: &[Felt]) -> [Option<f64>; METRICS.len()] {
    let all = |of: fn(&Felt) -> &Samples| Samples::together(repeats.iter().map(of));
    let (own, others) = (all(|felt| &felt.own_ms), all(|felt| &felt.others_ms));
    let told = all(|felt| &felt.told_ms).mean();
    let off = told.zip(own.mean()).map(|(told, own)| (told - own).abs());
    let (own, others) = (own.sorted(), others.sorted());
    let seconds: f64 = repeats.iter().map(|felt| felt.player_seconds).sum();
    let stalled: u64 = repeats.iter().map(|felt| felt.stalled_ticks).sum();
    [
        own.percentile(50.0),
        own.percentile(95.0),
        others.percentile(50.0),
        others.percentile(95.0),
        told,
        off,
        repeats
            .iter()
            .map(|felt| felt.deepest as f64)
            .reduce(f64::max),
        Some(stalled as f64 / seconds),
    ]
}

/// A line for each model in each room.
fn plot(name: &str, title: &str, metric: &str, cases: &[Case], findings: &Findings) -> Plot {
    let mut lines: Vec<Line> = Vec::new();
    for case in cases {
        if let Some(ms) = findings.ours(case, metric) {
            let line = format!("{}, {}", case.text("model"), case.text("room"));
            add_point(&mut lines, line, (case.number("round_trip_ms"), ms));
        }
    }
    Plot::new(
        name,
        title,
        ["round trip (ms)", "key to picture (ms)"],
        Data::Lines(lines),
    )
}
