//! Players come, vanish and return: how soon does everyone agree on who is there?

mod churning;

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Domain, Key};
use crate::plot::{Data, Plot};
use crate::stats::Samples;
use crate::testroom::TOPOLOGY;
use churning::{ChurningRoom, Kind};

/// A room that never comes to rest.
pub static EXPERIMENT: Experiment = Experiment::new("churn", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    &[
        TOPOLOGY,
        Key::number(
            "players",
            16.0,
            Domain::Whole(3, 64),
            "players when all are there; the host stays",
        )
        .labelled(|value| Some(format!("{value}p"))),
        link::PROFILE,
    ],
    link::WITH_LOSS,
    link::FURTHER,
    &[
        Key::number(
            "stay_s",
            60.0,
            Domain::Number(1.0, 10_000.0),
            "how long a player stays, on average, in s",
        ),
        Key::number(
            "away_s",
            25.0,
            Domain::Number(0.1, 10_000.0),
            "how long a player is away, on average, in s",
        ),
        Key::number(
            "timeout_ms",
            5_000.0,
            Domain::Number(500.0, 60_000.0),
            "silence after which a peer counts as gone, in ms",
        ),
        Key::number(
            "grace_s",
            30.0,
            Domain::Number(1.0, 10_000.0),
            "how long a slot is kept, in s",
        ),
        link::SECONDS,
        link::REPEATS,
    ],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "agree_max",
        "s",
        "from any change until everyone who is there agrees on it, longest of all; from silence the time-out is subtracted",
    ),
    Metric::new("agree_p99", "s", "the same, 99th percentile"),
    Metric::new("agree_mean", "s", "the same, mean"),
    Metric::new(
        "join_max",
        "s",
        "of newcomers alone, from their request, longest",
    ),
    Metric::new(
        "return_max",
        "s",
        "of those who come back, from their request, longest",
    ),
    Metric::new(
        "leave_max",
        "s",
        "of those who say that they leave, longest",
    ),
    Metric::new(
        "vanish_max",
        "s",
        "of those who vanish, from the time-out, longest",
    ),
    Metric::new(
        "forget_max",
        "s",
        "longest time from the end of the grace period until a slot is freed everywhere",
    ),
    Metric::new(
        "changes",
        "",
        "changes of the member list, mean of the repeats",
    ),
    Metric::new(
        "slots_lost",
        "",
        "players who returned in time and did not get their slot back, of all repeats",
    ),
    Metric::new(
        "ghosts",
        "",
        "members listed who were gone for more than two seconds longer than allowed, of all repeats",
    ),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(|case, seed| ChurningRoom::open(case, seed)?.live())?;
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    let header = ["case", "repeat", "kind", "node", "agreed_s", "took_s"];
    let mut csv = context.csv("changes.csv", &header)?;
    for (case, repeats) in &measured {
        if let Some(csv) = &mut csv {
            for (repeat, room) in repeats.iter().enumerate() {
                for (change, at, took) in &room.settled {
                    csv.line(&[
                        case.name.clone(),
                        repeat.to_string(),
                        format!("{:?}", change.kind).to_lowercase(),
                        change.node.0.to_string(),
                        format!("{:.6}", at.as_secs_f64()),
                        format!("{:.6}", took.as_secs_f64()),
                    ])?;
                }
            }
        }
        let took = |wanted: Option<Kind>| -> Samples {
            let all = repeats.iter().flat_map(|room| &room.settled);
            all.filter(|(change, ..)| wanted.is_none_or(|wanted| change.kind == wanted))
                .map(|(_, _, took)| took.as_secs_f64())
                .collect()
        };
        let all = took(None);
        let sorted = all.sorted();
        let figures = [
            all.max(),
            sorted.percentile(99.0),
            all.mean(),
            took(Some(Kind::Join)).max(),
            took(Some(Kind::Return)).max(),
            took(Some(Kind::Leave)).max(),
            took(Some(Kind::Vanish)).max(),
            took(Some(Kind::Forget)).max(),
            Some(all.len() as f64 / repeats.len() as f64),
            Some(repeats.iter().map(|room| room.slots_lost as f64).sum()),
            Some(repeats.iter().map(|room| room.ghosts as f64).sum()),
        ];
        findings.add(&case.name, METRICS, &[], &figures);
        let points = (0..=200).filter_map(|step| {
            let share = 100.0 * f64::from(step) / 200.0;
            Some((sorted.percentile(share)?, share))
        });
        lines.push((case.name.clone(), points.collect()));
    }
    if let Some(csv) = csv {
        csv.finish()?;
    }
    findings.plots.push(Plot::new(
        "agreement",
        "Time until everyone agrees on a change",
        ["seconds", "% of the changes"],
        Data::Lines(lines),
    ));
    Ok(findings)
}
