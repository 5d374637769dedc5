//! Prediction: how soon one sees what one does, and how often and how far it turns out to be wrong.

mod plots;

use std::time::Duration;

use samestep_sync::{RemotePlayers, StateSync, StateSyncConfig};

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::fight::{FightConfig, FightScenario, Played, PlayerRecord, play};
use crate::link::{self, percent_label};
use crate::parameters::{Case, Domain, Key};
use crate::stats::Samples;
use crate::testmatch::SECONDS;
use plots::plots;

/// State synchronisation in Sublockus, under links of all kinds.
pub static EXPERIMENT: Experiment = Experiment::new("prediction", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[&[
    Key::text(
        "scene",
        "fight",
        Domain::Choice(&["fight", "stroll", "alone"]),
        "fight: the inputs of bots that fought alone before; stroll: everyone runs and jumps and hurts nobody; alone: the first guest does, the others stand",
    )
    .labelled(|value| Some(value.to_string())),
    Key::number(
        "players",
        4.0,
        Domain::Whole(2, 32),
        "players, the hosting one among them",
    ),
    OTHERS,
    ROUND_TRIP_MS,
    link::JITTER_MS.labelled(link::some_jitter_label),
    link::JITTER,
    link::LOSS.labelled(percent_label),
    link::BURST_MS,
    link::DUPLICATE,
    link::REORDER,
    SECONDS,
    SETTLING_S,
    link::REPEATS,
]];

/// How others are drawn.
pub(super) const OTHERS: Key = Key::text(
    "others",
    "interpolated",
    Domain::Choice(&["interpolated", "simulated", "reckoned"]),
    "how other players are drawn: interpolated between what is known, simulated on, or dead-reckoned",
)
.labelled(|value| Some(value.to_string()).filter(|text| text != "interpolated"));

/// The minimum round trip.
pub(super) const ROUND_TRIP_MS: Key = Key::number(
    "round_trip_ms",
    100.0,
    Domain::Number(0.0, 10_000.0),
    "smallest time there and back, in ms",
)
.labelled(|value| Some(format!("{value}ms")));

/// The time until guests predict as far ahead as their connections require.
pub(super) const SETTLING_S: Key = Key::number(
    "settling_s",
    3.0,
    Domain::Whole(1, 600),
    "first seconds of each match that are not judged",
);

const METRICS: &[Metric] = &[
    Metric::new(
        "own_ticks",
        "ticks",
        "from a guest's input to the state that shows it, in states after the one that there was, most",
    ),
    Metric::new(
        "own_delay",
        "ms",
        "from a guest's input to its first picture that shows it, median; there are 60 a second",
    ),
    Metric::new("own_p99", "ms", "the same, 99th percentile"),
    Metric::new(
        "others_delay",
        "ms",
        "from another player's input to a guest's first picture that shows it, median",
    ),
    Metric::new("others_p99", "ms", "the same, 99th percentile"),
    Metric::new(
        "mispredictions",
        "/s",
        "how often anything simulated ahead was not what the authority says, per guest and second",
    ),
    Metric::new(
        "correction_p50",
        "blocks",
        "how far the correction moves the guest's own character, in the state at the same tick, median",
    ),
    Metric::new("correction_p99", "blocks", "the same, 99th percentile"),
    Metric::new(
        "corrections",
        "/s",
        "how often it moves the guest's own character at all, per guest and second",
    ),
    Metric::new(
        "blows",
        "/s",
        "those of them that show a guest another player's hit on it",
    ),
    Metric::new(
        "moved_p50",
        "blocks",
        "how far it does then, median; no row where it never does",
    ),
    Metric::new("moved_p99", "blocks", "the same, 99th percentile"),
    Metric::new("moved_most", "blocks", "the same, most"),
    Metric::new(
        "unhit_p99",
        "blocks",
        "the same of corrections that are not due to a blow, 99th percentile",
    ),
    Metric::new(
        "wrong_p50",
        "ms",
        "from the first state that is wrong about one's own character to the next that is right, median",
    ),
    Metric::new("wrong_p99", "ms", "the same, 99th percentile"),
    Metric::new(
        "astray_p99",
        "blocks",
        "distance of a player's own character as drawn from its true path, 99th percentile of all pictures",
    ),
    Metric::new("astray_most", "blocks", "the same, most"),
    Metric::new(
        "resimulated",
        "/s",
        "ticks resimulated, per guest and second",
    ),
    Metric::new(
        "lead",
        "ms",
        "how far ahead of the authority guests act at the end, mean",
    ),
    Metric::new(
        "delay",
        "ms",
        "how much later than that others are drawn at the end, mean",
    ),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    for (case, repeats) in &measured {
        findings.add(&case.name, METRICS, &[], &figures(repeats));
    }
    findings.retain_measured();
    findings.plots = plots(&context.cases, &findings);
    Ok(findings)
}

fn measure(case: &Case, seed: u64) -> Result<Played, String> {
    let setting = FightConfig::of(case, path(case)?);
    let scripted = scenario(case).scripted(&setting, seed)?;
    let config = StateSyncConfig {
        remote_players: others(case),
        ..StateSyncConfig::default()
    };
    let model = move || StateSync::new(config.clone()).expect("settings that make sense");
    play(&setting, scripted, seed, model)
}

fn scenario(case: &Case) -> FightScenario {
    match case.text("scene") {
        "stroll" => FightScenario::Stroll,
        "alone" => FightScenario::Alone,
        _ => FightScenario::Fight,
    }
}

/// How others are drawn in a case.
pub(super) fn others(case: &Case) -> RemotePlayers {
    match case.text("others") {
        "simulated" => RemotePlayers::Simulated,
        "reckoned" => RemotePlayers::DeadReckoned,
        _ => RemotePlayers::Interpolated,
    }
}

/// The path of a case, half of the round trip each way.
pub(super) fn path(case: &Case) -> Result<samestep_netem::Path, String> {
    let mut path = link::path(case)?;
    let latency = Duration::from_secs_f64(case.number("round_trip_ms") / 2e3);
    (path.up.latency, path.down.latency) = (latency, latency);
    Ok(path)
}

/// In the order of the metrics.
fn figures(played: &[Played]) -> [Option<f64>; METRICS.len()] {
    let guests = || played.iter().flat_map(Played::guests);
    let all = |of: fn(&PlayerRecord) -> &Samples| Samples::together(guests().map(of));
    let seconds: f64 = played
        .iter()
        .map(|played| played.seconds * played.guests().len() as f64)
        .sum();
    let counted = |of: fn(&samestep_sync::Status) -> u64| {
        let more = guests().map(|guest| of(&guest.status.1) - of(&guest.status.0));
        Some(more.sum::<u64>() as f64 / seconds)
    };
    let (mut moved, mut unhit, mut wrong) = (Samples::new(), Samples::new(), Samples::new());
    for played in played {
        for guest in 1..played.programs.len() {
            for (correction, by_blow) in played.corrections(guest) {
                moved.push(correction.moved);
                if !by_blow {
                    unhit.push(correction.moved);
                }
            }
            wrong.append(&played.wrong_for(guest).into_iter().collect());
        }
    }
    let mean = |of: fn(&PlayerRecord) -> f64| guests().map(of).collect::<Samples>().mean();
    let (own, others) = (all(|p| &p.own_ms).sorted(), all(|p| &p.others_ms).sorted());
    let astray = all(|p| &p.own_astray);
    let (sizes, wrong) = (moved.sorted(), wrong.sorted());
    // Most corrections move another character.
    let rewound = guests().map(|guest| guest.status.1.corrections - guest.status.0.corrections);
    let mut rewinds = moved.clone();
    for _ in moved.len()..rewound.sum::<u64>() as usize {
        rewinds.push(0.0);
    }
    let rewinds = rewinds.sorted();
    [
        all(|p| &p.own_ticks).max(),
        own.percentile(50.0),
        own.percentile(99.0),
        others.percentile(50.0),
        others.percentile(99.0),
        counted(|status| status.corrections),
        rewinds.percentile(50.0),
        rewinds.percentile(99.0),
        Some(moved.len() as f64 / seconds),
        Some((moved.len() - unhit.len()) as f64 / seconds),
        sizes.percentile(50.0),
        sizes.percentile(99.0),
        moved.max(),
        unhit.sorted().percentile(99.0),
        wrong.percentile(50.0),
        wrong.percentile(99.0),
        astray.sorted().percentile(99.0),
        astray.max(),
        counted(|status| status.resimulated),
        mean(|guest| guest.status.1.lead.as_secs_f64() * 1e3),
        mean(|guest| guest.status.1.interpolation_delay.as_secs_f64() * 1e3),
    ]
}
