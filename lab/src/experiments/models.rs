//! Models: a game, the same inputs, every model on every kind of link. The table that tells which one to pick.

mod plots;

use samestep_sync::{ModelConfig, ModelKind, RemotePlayers, StateSyncConfig};

use super::prediction::SETTLING_S;
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::fight::{
    FightConfig, FightScenario, Played, PlayerRecord, brawl, hunt, play, play_ruled,
};
use crate::link;
use crate::parameters::{Case, Domain, Key};
use crate::stats::Samples;
use crate::testmatch::SECONDS;
use plots::plots;

/// Every model, side by side.
pub static EXPERIMENT: Experiment = Experiment::new("models", KEYS, METRICS, run);

/// The models with their default settings, and what else is compared with them.
fn models() -> impl Iterator<Item = (&'static str, ModelConfig)> {
    let kinds = ModelKind::ALL.iter();
    let state_sync = |remote_players| {
        ModelConfig::StateSync(StateSyncConfig {
            remote_players,
            ..StateSyncConfig::default()
        })
    };
    kinds.map(|kind| (kind.name, kind.config())).chain([
        ("state-sync-simulated", state_sync(RemotePlayers::Simulated)),
        (
            "state-sync-reckoned",
            state_sync(RemotePlayers::DeadReckoned),
        ),
    ])
}

/// Not a model but two, side by side: everyone owns its movement, and one host decides the rules.
const BESIDE: &str = "movement-beside-rules";

fn names() -> Vec<&'static str> {
    models().map(|(name, _)| name).chain([BESIDE]).collect()
}

/// The game that the plan is about, and another.
const SUBLOCKUS: &str = "sublockus";
const HUNT: &str = "hat-hunters";
const RAWRLOCKS: &str = "rawrlocks";

const KEYS: &[&[Key]] = &[
    &[
        Key::text(
            "game",
            SUBLOCKUS,
            Domain::Choice(&[SUBLOCKUS, HUNT, RAWRLOCKS]),
            "what they play; of Hat Hunters four players have characters and are judged, others watch, and a block is a cell; Rawrlocks is for up to ten, and a block is the radius of a character, 23 yards",
        )
        .labelled(|value| Some(value.to_string()).filter(|text| text != SUBLOCKUS)),
        link::PROFILE,
        Key::text(
            "model",
            "state-sync",
            Domain::Listed(names),
            "what keeps everyone together; movement-beside-rules is for Sublockus alone, and plays in a mesh",
        )
        .labelled(|value| Some(value.to_string())),
        Key::number(
            "players",
            6.0,
            Domain::Whole(2, 32),
            "players, the hosting one among them",
        ),
        link::LATENCY_MS,
        link::JITTER_MS,
        link::JITTER,
        link::LOSS,
    ],
    link::FURTHER,
    &[SECONDS, SETTLING_S, link::REPEATS],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "own_delay",
        "ms",
        "from a guest's input to its own first picture that shows it, median",
    ),
    Metric::new("own_p99", "ms", "the same, 99th percentile"),
    Metric::new(
        "others_delay",
        "ms",
        "from another's input to a guest's first picture that shows it, median",
    ),
    Metric::new("others_p99", "ms", "the same, 99th percentile"),
    Metric::new(
        "apart",
        "blocks",
        "how far from each other two players see the same character at the same moment, mean",
    ),
    Metric::new("apart_p99", "blocks", "the same, 99th percentile"),
    Metric::new(
        "own_ahead",
        "ms",
        "host's advantage: how much sooner than guests the host sees its own inputs, by the medians",
    ),
    Metric::new("others_ahead", "ms", "the same of others' inputs"),
    Metric::new(
        "corrections",
        "/s",
        "how often one's own character was moved away from where it was at the same tick, per guest and second",
    ),
    Metric::new(
        "moved_p99",
        "blocks",
        "how far, 99th percentile; no row without corrections",
    ),
    Metric::new(
        "astray_own",
        "blocks",
        "distance of a guest's own character as drawn from its true path, 99th percentile of its pictures",
    ),
    Metric::new("astray_others", "blocks", "the same of other characters"),
    Metric::new(
        "lagged",
        "/s",
        "ticks in which the simulation could not go on, per guest and second",
    ),
    Metric::new(
        "up",
        "kB/s",
        "what a guest sends, packet headers included, mean",
    ),
    Metric::new("down", "kB/s", "what a guest receives, mean"),
    Metric::new("host_up", "kB/s", "what the host sends"),
    Metric::new(
        "verdict_delay",
        "ms",
        "from a guest's shot to its own first picture that shows what came of it by the rules, median; no row where movement and rules are one",
    ),
    Metric::new("verdict_p99", "ms", "the same, 99th percentile"),
    Metric::wall_clock(
        "host_work",
        "µs",
        "processor time of the host for each tick; real, and different from run to run",
    ),
    Metric::wall_clock("guest_work", "µs", "the same of a guest, mean"),
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
    let setting = FightConfig::of(case, link::path(case)?);
    let model = case.text("model");
    if model == BESIDE {
        return match case.text("game") {
            SUBLOCKUS => play_ruled(&setting, seed),
            game => Err(format!(
                "{BESIDE} is for {SUBLOCKUS} alone: {game} has no movement without its rules; leave out `game`, or choose another model"
            )),
        };
    }
    let (_, config) = models()
        .find(|(name, _)| *name == model)
        .expect("a model that is listed");
    let build = move || config.build().expect("default settings make sense");
    match case.text("game") {
        HUNT => play(&setting, setting.rehearsed(hunt(seed)?, seed), seed, build),
        RAWRLOCKS => {
            let game = brawl(seed, setting.players)?;
            play(&setting, setting.rehearsed(game, seed), seed, build)
        }
        _ => play(
            &setting,
            FightScenario::Fight.scripted(&setting, seed)?,
            seed,
            build,
        ),
    }
}

/// In the order of the metrics.
fn figures(played: &[Played]) -> [Option<f64>; METRICS.len()] {
    let guests = || played.iter().flat_map(Played::guests);
    let hosts = || played.iter().map(|played| &played.programs[0]);
    let all = |of: fn(&PlayerRecord) -> &Samples| Samples::together(guests().map(of)).sorted();
    let host = |of: fn(&PlayerRecord) -> &Samples| {
        let all = Samples::together(hosts().map(of));
        all.sorted().percentile(50.0)
    };
    let apart = Samples::together(played.iter().map(|played| &played.apart));
    let mut moved = Samples::new();
    for played in played {
        for guest in 1..played.programs.len() {
            let corrections = played.corrections(guest).into_iter();
            moved.append(
                &corrections
                    .map(|(correction, _)| correction.moved)
                    .collect(),
            );
        }
    }
    let seconds: f64 = played.iter().map(|played| played.seconds).sum();
    let guest_seconds = seconds * guests().count() as f64 / played.len().max(1) as f64;
    let rate = |bytes: u64, seconds: f64| Some(bytes as f64 / 1e3 / seconds);
    let sum = |of: fn(&PlayerRecord) -> u64| guests().map(of).sum::<u64>();
    let work = |of: &mut dyn Iterator<Item = &PlayerRecord>| {
        let work = of
            .filter_map(|program| program.work_ms)
            .collect::<Samples>();
        work.mean().map(|ms| ms * 1e3)
    };
    let (own, others) = (all(|p| &p.own_ms), all(|p| &p.others_ms));
    let verdict = all(|p| &p.verdict_ms);
    let ahead = |guests: Option<f64>, host: Option<f64>| guests.zip(host).map(|(g, h)| g - h);
    [
        own.percentile(50.0),
        own.percentile(99.0),
        others.percentile(50.0),
        others.percentile(99.0),
        apart.mean(),
        apart.sorted().percentile(99.0),
        ahead(own.percentile(50.0), host(|p| &p.own_ms)),
        ahead(others.percentile(50.0), host(|p| &p.others_ms)),
        Some(moved.len() as f64 / guest_seconds),
        moved.sorted().percentile(99.0),
        all(|p| &p.own_astray).percentile(99.0),
        all(|p| &p.others_astray).percentile(99.0),
        Some(sum(|p| p.status.1.stalled_ticks - p.status.0.stalled_ticks) as f64 / guest_seconds),
        rate(sum(|p| p.bytes.0), guest_seconds),
        rate(sum(|p| p.bytes.1), guest_seconds),
        rate(hosts().map(|p| p.bytes.0).sum(), seconds),
        verdict.percentile(50.0),
        verdict.percentile(99.0),
        work(&mut hosts()),
        work(&mut guests()),
    ]
}
