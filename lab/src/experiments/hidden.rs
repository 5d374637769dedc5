//! Hidden: can an observer tell the characters of remote players from those of the AI by timing alone?

mod boosting;
mod forms;
mod judge;
mod look;
mod played;
mod room;
mod their_server;
mod track;

use samestep_sync::RewindConfig;

use super::prediction::SETTLING_S;
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key, plain, unless};
use forms::{Form, FormConfig};
use judge::{Guesses, JudgeConfig, Judged, Known, judge};
use look::{Look, feature_name};
use played::MatchLength;
use room::RoomConfig;
use their_server::TheirServerConfig;

/// Players with the brain of an AI character, and an observer who has learnt from other matches.
pub static EXPERIMENT: Experiment = Experiment::new("hidden", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[&[
    Key::text(
        "form",
        "masked",
        Domain::Choice(&["masked", "present", "server", "peers", "one-peer"]),
        "masked: the authority tells of the tick that everybody's inputs have reached; present: of its present; of the source, server: the published algorithm; peers: every peer has its share of the AI; one-peer: one has all of it",
    )
    .labelled(plain),
    Key::text(
        "room",
        "hosted",
        Domain::Choice(&["hosted", "dedicated"]),
        "hosted: the first player's program is the authority; dedicated: a server is; the forms of the source are always among players",
    )
    .labelled(|value| Some(value.to_string()).filter(|room| room != "hosted")),
    Key::text(
        "observer",
        "guest",
        Domain::Choice(&["guest", "host"]),
        "guest: the programs of all but the hosting player, by all they are told; host: that of the hosting player, by all it shows",
    )
    .labelled(|value| Some(format!("seen-by-{value}")).filter(|of| of != "seen-by-guest")),
    Key::number("players", 4.0, Domain::Whole(2, 4), "players"),
    Key::number("ai", 12.0, Domain::Whole(1, 40), "AI characters"),
    Key::number(
        "latency_least_ms",
        20.0,
        Domain::Number(0.0, 1_000.0),
        "least latency that a player draws for its way to the authority, or between two peers, one way, in ms",
    ),
    Key::number(
        "latency_most_ms",
        80.0,
        Domain::Number(0.0, 1_000.0),
        "most latency that a player draws, in ms",
    )
    .labelled(|value| unless(80.0, value, |ms| format!("{ms}ms"))),
    link::JITTER_MS,
    link::JITTER,
    link::LOSS,
    Key::number(
        "track_s",
        2.0,
        Domain::Number(0.5, 600.0),
        "length of each track: for how long a character is observed, in s",
    ),
    Key::number(
        "seconds",
        45.0,
        Domain::Number(1.0, 3_600.0),
        "length of each match, in s; as many matches are played as it takes",
    ),
    SETTLING_S,
    Key::number(
        "tracks",
        1_200.0,
        Domain::Whole(2, 100_000),
        "labelled tracks from which the observer learns, half of them of humans",
    ),
    Key::number(
        "pairs",
        1_000.0,
        Domain::Whole(1, 100_000),
        "pairs of a human and an AI track from other matches, in each of which it guesses",
    ),
    Key::number(
        "stumps",
        100.0,
        Domain::Whole(1, 10_000),
        "rules of the observer: decision stumps that are boosted",
    ),
    link::REPEATS,
]];

const METRICS: &[Metric] = &[
    Metric::new(
        "right",
        "%",
        "guesses that are right: of a human and an AI character that it has seen for as long, the observer names the human's",
    ),
    Metric::new(
        "right_elsewhere",
        "%",
        "the same of AI characters that the observer's own program does not have, where it has some",
    ),
    Metric::new(
        "human_delay",
        "ms",
        "from a change of a human's steering until the observer's program knows of it, mean",
    ),
    Metric::new("ai_delay", "ms", "the same of an AI character's, mean"),
    Metric::new(
        "human_late",
        "%",
        "changes of a human's steering of whose ticks the observer's program had been told otherwise",
    ),
    Metric::new("ai_late", "%", "the same of an AI character's"),
    Metric::new(
        "tracks",
        "",
        "labelled tracks that the observer learnt from",
    ),
    Metric::new("guesses", "", "guesses"),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    let mut csv = context.csv("strongest.csv", &["case", "repeat", "feature", "share"])?;
    for (case, repeats) in &measured {
        let figures = figures(repeats);
        match theirs(case) {
            Some(_) => findings.add(&case.name, METRICS, &figures, &[]),
            None => findings.add(&case.name, METRICS, &[], &figures),
        }
        for (repeat, judged) in repeats.iter().enumerate() {
            for (feature, share) in &judged.strongest {
                let line = [
                    case.name.clone(),
                    repeat.to_string(),
                    feature_name(*feature),
                    share.to_string(),
                ];
                csv.as_mut().map_or(Ok(()), |csv| csv.line(&line))?;
            }
        }
    }
    csv.map_or(Ok(()), |csv| csv.finish())?;
    findings.retain_measured();
    Ok(findings)
}

/// What a case is about, if it is of the source document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Theirs {
    /// The server that the document decides for: the published algorithm.
    Server,
    /// What it weighs before.
    Peers(Form),
}

fn theirs(case: &Case) -> Option<Theirs> {
    match case.text("form") {
        "server" => Some(Theirs::Server),
        "peers" => Some(Theirs::Peers(Form::SpreadOverPeers)),
        "one-peer" => Some(Theirs::Peers(Form::OnePeer)),
        _ => None,
    }
}

fn measure(case: &Case, seed: u64) -> Result<Judged, String> {
    let config = JudgeConfig {
        tracks: case.number("tracks") as usize,
        pairs: case.number("pairs") as usize,
        stumps: case.number("stumps") as usize,
    };
    judge(&config, playing(case)?, seed)
}

/// Plays a match of a case by its seed.
type Play = Box<dyn Fn(u64) -> Result<Vec<Look>, String>>;

fn playing(case: &Case) -> Result<Play, String> {
    let latency = (
        case.millis("latency_least_ms"),
        case.millis("latency_most_ms"),
    );
    if latency.0 > latency.1 {
        return Err("the least latency is larger than the most: set latency_most_ms".into());
    }
    let (settling, track) = (case.seconds("settling_s"), case.seconds("track_s"));
    let rest = case.seconds("seconds").saturating_sub(settling);
    let windows = rest.div_duration_f64(track) as usize;
    if windows == 0 {
        return Err("a match is too short for a track: set seconds to more than settling_s and track_s together".into());
    }
    let length = MatchLength {
        settling,
        track,
        windows,
    };
    let (players, ai) = (case.number("players") as usize, case.number("ai") as u8);
    let path = link::path(case)?;
    match theirs(case) {
        Some(Theirs::Server) => {
            let config = TheirServerConfig {
                players,
                ai,
                path,
                latency,
                length,
            };
            return Ok(Box::new(move |seed| their_server::play(&config, seed)));
        }
        Some(Theirs::Peers(form)) => {
            let config = FormConfig {
                form,
                players,
                ai,
                link: path.up,
                latency,
                length,
            };
            return Ok(Box::new(move |seed| forms::play(&config, seed)));
        }
        None => {}
    }
    if (case.text("room"), case.text("observer")) == ("dedicated", "host") {
        return Err(
            "nobody plays at a dedicated server: set room to hosted, or observer to guest".into(),
        );
    }
    let config = RoomConfig {
        is_dedicated: case.text("room") == "dedicated",
        players,
        ai,
        model: RewindConfig {
            client_window: case.text("form") == "masked",
            ..RewindConfig::default()
        },
        path,
        latency,
        host_observes: case.text("observer") == "host",
        length,
    };
    Ok(Box::new(move |seed| room::play(&config, seed)))
}

/// In the order of the metrics.
fn figures(repeats: &[Judged]) -> [Option<f64>; METRICS.len()] {
    let sum = |of: &dyn Fn(&Judged) -> f64| repeats.iter().map(of).sum::<f64>();
    let ratio = |of: &dyn Fn(&Judged) -> f64, to: &dyn Fn(&Judged) -> f64| {
        let to = sum(to);
        (to > 0.0).then(|| sum(of) / to)
    };
    let right = |guesses: fn(&Judged) -> Guesses| {
        let right = ratio(&|judged| guesses(judged).right, &|judged| {
            guesses(judged).count as f64
        });
        right.map(|share| share * 100.0)
    };
    let delay = |known: fn(&Judged) -> Known| {
        let ticks = ratio(&|judged| known(judged).delay_ticks, &|judged| {
            known(judged).explained as f64
        });
        ticks.map(|ticks| ticks * crate::testmatch::TICK.as_secs_f64() * 1e3)
    };
    let late = |known: fn(&Judged) -> Known| {
        let share = ratio(&|judged| known(judged).late as f64, &|judged| {
            known(judged).changes as f64
        });
        share.map(|share| share * 100.0)
    };
    let has_some = repeats
        .iter()
        .any(|judged| judged.elsewhere.count < judged.all.count);
    [
        right(|judged| judged.all),
        right(|judged| judged.elsewhere).filter(|_| has_some),
        delay(|judged| judged.human),
        delay(|judged| judged.ai),
        late(|judged| judged.human),
        late(|judged| judged.ai),
        Some(sum(&|judged| judged.tracks as f64)),
        Some(sum(&|judged| judged.all.count as f64)),
    ]
}
