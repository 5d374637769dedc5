//! The update window: how far a character is corrected when its player's inputs arrive late, with and without an authority that counts them when they were made.

pub(super) mod corrections;
pub(super) mod field;
mod ours;
pub(super) mod played;
mod plots;
pub(super) mod theirs;
pub(super) mod walker;

use std::time::Duration;

use samestep_netem::Path;
use samestep_sync::movement::Obstacles;
use samestep_sync::{RewindConfig, WindowLength};

use super::prediction::SETTLING_S;
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, Row, RunContext};
use crate::link::{self, percent_label};
use crate::parameters::{Case, Domain, Key, plain};
use crate::stats::Samples;
use crate::testmatch::SECONDS;
use field::WIDTH;
use ours::OurConfig;
use played::Played;
use theirs::{Stamp, TheirConfig};
use walker::Errand;

/// The published algorithm beside ours, on the same field, with players who steer alike.
pub static EXPERIMENT: Experiment = Experiment::new("update-window", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    &[
        Key::text(
            "scene",
            "walk",
            Domain::Choice(&["walk", "edge"]),
            "walk: players walk about among AI characters; edge: they walk into the corners of a stump, where a hair's breadth decides on which side they pass",
        )
        .labelled(plain),
        Key::number(
            "latency_ms",
            50.0,
            Domain::Number(0.0, 10_000.0),
            "smallest time one way, in ms",
        )
        .labelled(link::latency_label),
        link::LOSS.labelled(percent_label),
        Key::text(
            "window",
            "server",
            Domain::Choice(&["none", "server", "both"]),
            "none: an input counts when it arrives; server: when it was made, if the authority's window reaches so far; both: the client has a window too",
        )
        .labelled(plain),
        Key::number(
            "window_ms",
            100.0,
            Domain::Number(0.0, 1_000.0),
            "length of the window, in ms",
        ),
        link::JITTER_MS.labelled(link::some_jitter_label),
        link::JITTER,
        Key::number(
            "players",
            4.0,
            Domain::Whole(2, 4),
            "players, the hosting one among them",
        ),
        Key::number("ai", 12.0, Domain::Whole(0, 40), "AI characters"),
        SECONDS,
        SETTLING_S,
        link::REPEATS,
    ],
    &[
        Key::text(
            "stamp",
            "sent",
            Domain::Choice(&["sent", "applied"]),
            "the time that a message of theirs carries: when it was sent, or when its force began to act",
        )
        .labelled(|value| Some(value.to_string()).filter(|text| text != "sent")),
        Key::text(
            "obstacles",
            "push",
            Domain::Choice(&["push", "around"]),
            "what their correction does about an obstacle: pushes against it, or goes around it as ours would",
        )
        .labelled(|value| Some(value.to_string()).filter(|text| text != "push")),
        Key::number(
            "sync_ms",
            6.0,
            Domain::Number(0.0, 100.0),
            "standard deviation of the error of their common time, in ms",
        ),
        Key::number(
            "alpha",
            40.0,
            Domain::Number(0.0, 1_000.0),
            "their α: force per distance, per second and second",
        ),
        Key::number(
            "beta",
            5.0,
            Domain::Number(0.0, 1_000.0),
            "their β: force per difference of velocity, per second",
        ),
        Key::number(
            "threshold",
            0.05,
            Domain::Number(0.0, 10.0),
            "how far off what others extrapolate may be before a movement message is sent, in widths of a character",
        ),
        Key::number(
            "teleport",
            1.5,
            Domain::Number(0.0, 1_000.0),
            "the distance beyond which a character is teleported, in widths of a character",
        ),
    ],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "across_mean",
        "widths",
        "largest correction of a player's own character across its direction of motion between two changes of its steering, in widths of a character, mean",
    ),
    Metric::new("across_p95", "widths", "the same, 95th percentile"),
    Metric::new("along_mean", "widths", "the same along it, mean"),
    Metric::new("along_p95", "widths", "the same, 95th percentile"),
    Metric::new("total_mean", "widths", "the same in any direction, mean"),
    Metric::new("total_p95", "widths", "the same, 95th percentile"),
    Metric::new(
        "less_across",
        "%",
        "how much smaller across_mean is than without a window, where an input counts when it arrives",
    ),
    Metric::new(
        "of_theirs",
        "%",
        "across_mean in relation to that of theirs with the same window of the server",
    ),
    Metric::new(
        "corrections",
        "/s",
        "how often a correction moves it at all, per player and second",
    ),
    Metric::new(
        "teleports",
        "/min",
        "how often it is shown to jump, per player and minute",
    ),
    Metric::new(
        "gap",
        "widths",
        "largest distance of it on its player's screen from where the authority has it at that time",
    ),
    Metric::new(
        "ignored",
        "%",
        "movement messages that are too old for the window",
    ),
    Metric::new(
        "recomputed",
        "states",
        "states that the authority computes again, per frame or tick, mean",
    ),
    Metric::new(
        "messages",
        "/s",
        "movement messages of a character and second, mean of all characters",
    ),
    Metric::new("messages_most", "/s", "the same, most of any character"),
    Metric::new(
        "reckoned",
        "widths",
        "largest error of the place that a receiver would extrapolate from them if they took no time",
    ),
    Metric::new(
        "incremental",
        "kB/s",
        "what the authority sends to each player, packet headers included",
    ),
    Metric::new(
        "full",
        "kB/s",
        "the same if it sent everything in each frame or tick",
    ),
];

/// The figures of one side, in the order of the metrics; those that compare are filled in later.
type Figures = [Option<f64>; METRICS.len()];

/// A match of each.
struct Measured {
    /// There is no client's window in theirs.
    theirs: Option<Played>,
    /// Their correction with our way around obstacles is theirs alone.
    ours: Option<Played>,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    for (case, repeats) in &measured {
        let of = |side: fn(&Measured) -> Option<&Played>| {
            let played: Vec<&Played> = repeats.iter().filter_map(side).collect();
            figures(&played)
        };
        let theirs = of(|measured| measured.theirs.as_ref());
        let ours = of(|measured| measured.ours.as_ref());
        findings.add(&case.name, METRICS, &theirs, &ours);
    }
    compare(&context.cases, &mut findings);
    findings.retain_measured();
    findings.plots = plots::plots(&context.cases, &findings);
    Ok(findings)
}

fn measure(case: &Case, seed: u64) -> Result<Measured, String> {
    let theirs = match case.text("window") {
        "both" => None,
        _ => Some(theirs::play(&their_config(case)?, seed)?),
    };
    let is_ours = case.text("stamp") == "sent" && case.text("obstacles") == "push";
    let ours = match is_ours {
        true => Some(ours::play(&our_config(case)?, seed)?),
        false => None,
    };
    Ok(Measured { theirs, ours })
}

fn our_config(case: &Case) -> Result<OurConfig, String> {
    let window = match case.text("window") {
        "none" => Duration::ZERO,
        _ => case.millis("window_ms"),
    };
    Ok(OurConfig {
        field: field_of(case),
        players: case.number("players") as u16,
        ai: case.number("ai") as u8,
        errand: errand(case),
        path: path(case)?,
        model: RewindConfig {
            window: WindowLength::Fixed(window),
            // Without a window nobody makes up for the latency.
            lead: !window.is_zero(),
            client_window: case.text("window") == "both",
            ..RewindConfig::default()
        },
        threshold: case.number("threshold") as f32 * WIDTH,
        length: case.seconds("seconds"),
        settling: case.seconds("settling_s"),
    })
}

/// The path of a case, the same each way.
fn path(case: &Case) -> Result<Path, String> {
    let mut path = link::path(case)?;
    let latency = case.millis("latency_ms");
    (path.up.latency, path.down.latency) = (latency, latency);
    Ok(path)
}

fn errand(case: &Case) -> Errand {
    match case.text("scene") {
        "edge" => Errand::Edge,
        _ => Errand::Wander,
    }
}

fn their_config(case: &Case) -> Result<TheirConfig, String> {
    let window = match case.text("window") {
        "none" => Duration::ZERO,
        _ => case.millis("window_ms"),
    };
    let players = case.number("players") as usize;
    let characters = players + case.number("ai") as usize;
    let text = field_of(case);
    Ok(TheirConfig {
        places: begin_places(text, characters),
        field: text.into(),
        players,
        errand: errand(case),
        path: path(case)?,
        window,
        sync_error: case.millis("sync_ms"),
        stamp: match case.text("stamp") {
            "applied" => Stamp::Applied,
            _ => Stamp::Sent,
        },
        alpha: case.number("alpha") as f32,
        beta: case.number("beta") as f32,
        threshold: case.number("threshold") as f32 * WIDTH,
        teleport: case.number("teleport") as f32 * WIDTH,
        obstacles: match case.text("obstacles") {
            "around" => Obstacles::default(),
            _ => Obstacles::Push,
        },
        length: case.seconds("seconds"),
        settling: case.seconds("settling_s"),
    })
}

/// A field with stumps to walk about, and one with two blocks whose corners are met.
fn field_of(case: &Case) -> &'static str {
    match case.text("scene") {
        "edge" => EDGES,
        _ => STUMPS,
    }
}

pub(super) const STUMPS: &str = "
########################
#......................#
#..#........#.......#..#
#......#...............#
#..............##......#
#...#..................#
#.........#........#...#
#......................#
#..#...........#.......#
#........#.........##..#
#......................#
#....#.......#.........#
#..................#...#
#........#.............#
#......................#
########################
";

const EDGES: &str = "
########################
#......................#
#......................#
#......................#
#....##.........##.....#
#....##.........##.....#
#......................#
#......................#
#..........##..........#
#..........##..........#
#......................#
#......................#
#....##.........##.....#
#....##.........##.....#
#......................#
########################
";

/// Open cells, spread over the field.
pub(super) fn begin_places(text: &str, count: usize) -> Vec<[f32; 2]> {
    let field = field::Field::of(text);
    let (width, height) = field.size();
    let cells = (0..height).flat_map(|row| (0..width).map(move |column| (column, row)));
    let open: Vec<(i32, i32)> = cells
        .filter(|(column, row)| !field.is_solid(*column, *row))
        .collect();
    let stride = (open.len() / count.max(1)).max(1);
    let spread = open.iter().step_by(stride).take(count);
    spread
        .map(|(column, row)| [*column as f32 + 0.5, *row as f32 + 0.5])
        .collect()
}

fn figures(repeats: &[&Played]) -> Figures {
    if repeats.is_empty() {
        return [None; METRICS.len()];
    }
    let sum = |of: fn(&Played) -> f64| repeats.iter().map(|played| of(played)).sum::<f64>();
    let mean = |of: fn(&Played) -> f64| Some(sum(of) / repeats.len().max(1) as f64);
    let most = |of: fn(&Played) -> f64| repeats.iter().map(|played| of(played)).reduce(f64::max);
    let all =
        |of: fn(&Played) -> &Samples| Samples::together(repeats.iter().map(|played| of(played)));
    let (along, across, total) = (
        all(|played| &played.corrections.along),
        all(|played| &played.corrections.across),
        all(|played| &played.corrections.total),
    );
    let seconds = sum(|played| played.client_seconds);
    [
        across.mean(),
        across.sorted().percentile(95.0),
        along.mean(),
        along.sorted().percentile(95.0),
        total.mean(),
        total.sorted().percentile(95.0),
        None,
        None,
        Some(sum(|played| played.corrections.count as f64) / seconds),
        Some(sum(|played| played.teleports as f64) * 60.0 / seconds),
        most(|played| played.gap / f64::from(WIDTH)),
        mean(|played| played.ignored),
        mean(|played| played.recomputed),
        mean(|played| played.messages),
        most(|played| played.most_messages),
        // To a millionth, since floats are no more exact.
        most(|played| (played.reckoned / f64::from(WIDTH) * 1e6).round() / 1e6),
        mean(|played| played.incremental / 1e3),
        mean(|played| played.full / 1e3),
    ]
}

/// Whose value of a row it is.
type Side = fn(&Row) -> Option<f64>;

/// Fills in how much smaller corrections are than without a window, and than those of theirs with the same window of the server.
fn compare(cases: &[Case], findings: &mut Findings) {
    for case in cases {
        // The corrections in the case that differs in its window alone.
        let across = |window: &str, side: Side| {
            let is_same = |other: &&Case| {
                let text = ["scene", "stamp", "obstacles"];
                let numbers = [
                    "latency_ms",
                    "link.loss",
                    "link.jitter_ms",
                    "window_ms",
                    "teleport",
                ];
                other.text("window") == window
                    && text.iter().all(|key| other.text(key) == case.text(key))
                    && numbers
                        .iter()
                        .all(|key| other.number(key) == case.number(key))
            };
            let other = cases.iter().find(is_same)?;
            side(findings.row(other, "across_mean")?).filter(|value| *value > 0.0)
        };
        let window = match case.text("window") {
            "both" => "server",
            window => window,
        };
        let theirs_with = across(window, |row| row.theirs);
        let without = [
            across("none", |row| row.theirs),
            across("none", |row| row.ours),
        ];
        let Some(row) = findings.row(case, "across_mean") else {
            continue;
        };
        let (of_theirs, of_ours) = (row.theirs, row.ours);
        let part = |value: Option<f64>, of: Option<f64>| Some(value? / of? * 100.0);
        let less = |value, without| part(value, without).map(|part| 100.0 - part);
        let has_window = case.text("window") != "none";
        for row in findings.rows.iter_mut().filter(|row| row.case == case.name) {
            match row.metric {
                "less_across" if has_window => {
                    row.theirs = less(of_theirs, without[0]);
                    row.ours = less(of_ours, without[1]);
                }
                "of_theirs" => row.ours = part(of_ours, theirs_with),
                _ => {}
            }
        }
    }
}
