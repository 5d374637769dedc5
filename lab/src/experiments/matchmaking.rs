//! Matchmaking: people of known skill and place queue; how long do they wait, how even and how near are their matches, and do ratings find the true order?

mod crowd;
mod judge;
mod population;

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key, unless};
use crate::plot::{Data, Plot};
use crate::stats::Samples;
use crowd::{Crowd, CrowdConfig, Observed};
use judge::is_fair;

/// A crowd, in virtual time.
pub static EXPERIMENT: Experiment = Experiment::new("matchmaking", KEYS, METRICS, run);

const DUEL: &str = "duel";
const TEAMS: &str = "teams";
const PARTIES: &str = "parties";
const FOUR: &str = "free-for-all";

const LEARNED: &str = "learned";

/// What is nearly as near as could be, in ms of round trip.
const NEAR_MS: f64 = 20.0;

const KEYS: &[&[Key]] = &[&[
    Key::text(
        "mode",
        DUEL,
        Domain::Choice(&[DUEL, TEAMS, PARTIES, FOUR]),
        "who plays: one against one, two against two, the same with four of ten tickets for a party of two, or four each for itself",
    )
    .labelled(|value| Some(value.to_string())),
    Key::number(
        "rate",
        20.0,
        Domain::Number(0.01, 1000.0),
        "tickets each second and region",
    )
    .labelled(|value| Some(format!("rate{value}"))),
    Key::text(
        "ratings",
        "known",
        Domain::Choice(&["known", LEARNED]),
        "what the lobby knows at first: everybody's skill, or nothing, and then everybody plays 30 matches",
    )
    .labelled(|value| Some(value.to_string())),
    Key::number(
        "regions",
        3.0,
        Domain::Whole(1, 4),
        "regions, 100 ms of round trip from one to the next",
    )
    .labelled(|value| unless(3.0, value, |value| format!("{value}region"))),
    Key::number(
        "players",
        10_000.0,
        Domain::Whole(100, 1_000_000),
        "people altogether",
    ),
    Key::number(
        "tickets",
        3_000.0,
        Domain::Whole(10, 1_000_000),
        "tickets of each region that are measured where ratings are known",
    ),
    link::REPEATS,
]];

const METRICS: &[Metric] = &[
    Metric::new(
        "wait_p50",
        "s",
        "from ticket to match, median; a ticket without a match counts with its 120 s",
    ),
    Metric::new("wait_p95", "s", "the same, 95th percentile"),
    Metric::new("unmatched", "%", "tickets that ended without a match"),
    Metric::new(
        "fair",
        "%",
        "matches whose win chances, as the ratings predict them, lie within 0.40 to 0.60; of four within 0.20 to 0.30",
    ),
    Metric::new("fair_true", "%", "the same by the true skills"),
    Metric::new(
        "near",
        "%",
        "matches whose farthest player is at most 20 ms of round trip farther from the one it was built round than in the best match that was available",
    ),
    Metric::new(
        "rtt_p50",
        "ms",
        "round trip to the farthest of the others, from the one the match was built round, median",
    ),
    Metric::new("rtt_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "host_near",
        "%",
        "matches whose host is at most 20 ms farther from its farthest guest than the best of the players that can host would be",
    ),
    Metric::new(
        "rank_correlation",
        "",
        "of ratings and true skills at the end, where ratings are learned",
    ),
    Metric::new("most_waiting", "", "most tickets that waited at once"),
    Metric::wall_clock(
        "work",
        "µs",
        "processor time of the matchmaker for each ticket",
    ),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(|case, seed| Crowd::new(config(case), seed)?.play())?;
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    for (case, repeats) in &measured {
        findings.add(&case.name, METRICS, &[], &figures(case, repeats));
        if is_learned(case) {
            continue;
        }
        let waits = waits(repeats).sorted();
        let points = (0..=100).filter_map(|percent| {
            let percent = f64::from(percent);
            Some((waits.percentile(percent)?, percent))
        });
        lines.push((case.name.clone(), points.collect()));
    }
    findings.retain_measured();
    findings.plots.push(Plot::new(
        "waiting",
        "Time until a match is found",
        ["seconds", "% of the tickets"],
        Data::Lines(lines),
    ));
    Ok(findings)
}

fn is_learned(case: &Case) -> bool {
    case.text("ratings") == LEARNED
}

fn config(case: &Case) -> CrowdConfig {
    let (sides, side_size, parties) = match case.text("mode") {
        DUEL => (2, 1, 0.0),
        TEAMS => (2, 2, 0.0),
        PARTIES => (2, 2, 0.4),
        _ => (4, 1, 0.0),
    };
    CrowdConfig {
        players: case.number("players") as usize,
        regions: case.number("regions") as usize,
        rate: case.number("rate"),
        sides,
        side_size,
        parties,
        learns: is_learned(case),
        tickets: case.number("tickets") as usize,
    }
}

fn waits(repeats: &[Observed]) -> Samples {
    repeats
        .iter()
        .flat_map(|repeat| repeat.wait_s.iter().copied())
        .collect()
}

/// In the order of the metrics.
fn figures(case: &Case, repeats: &[Observed]) -> [Option<f64>; METRICS.len()] {
    let waits = waits(repeats);
    let sorted = waits.sorted();
    let unmatched: usize = repeats.iter().map(|repeat| repeat.unmatched).sum();
    let imbalances = || repeats.iter().flat_map(|repeat| &repeat.imbalance);
    let rtts = || repeats.iter().flat_map(|repeat| &repeat.rtt_ms);
    let hosts = repeats.iter().flat_map(|repeat| &repeat.host_excess_ms);
    let farthest: Samples = rtts().map(|(rtt, _)| *rtt).collect();
    let farthest = farthest.sorted();
    let correlation: Samples = repeats
        .iter()
        .map(|repeat| repeat.rank_correlation)
        .collect();
    let work: Samples = repeats.iter().map(|repeat| repeat.work_us).collect();
    let most = repeats.iter().map(|repeat| repeat.most_waiting as f64);
    [
        sorted.percentile(50.0),
        sorted.percentile(95.0),
        Some(100.0 * unmatched as f64 / waits.len().max(1) as f64),
        share(imbalances().map(|(rated, _)| is_fair(*rated))),
        share(imbalances().map(|(_, truth)| is_fair(*truth))),
        share(rtts().map(|(_, excess)| *excess <= NEAR_MS)),
        farthest.percentile(50.0),
        farthest.percentile(95.0),
        share(hosts.map(|excess| *excess <= NEAR_MS)),
        correlation.min().filter(|_| is_learned(case)),
        Some(most.fold(0.0, f64::max)),
        work.mean(),
    ]
}

/// The share of what is true, in percent.
fn share(of: impl Iterator<Item = bool>) -> Option<f64> {
    let all: Samples = of
        .map(|is_true| if is_true { 100.0 } else { 0.0 })
        .collect();
    all.mean()
}
