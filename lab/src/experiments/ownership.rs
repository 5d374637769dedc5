//! The owner of a variable vanishes: what becomes of the changes that others have asked for, and how long does an heir take?

mod theirs;

use std::time::Duration;

use samestep_sim::{Owners, OwnersOutcome, Vanishing};

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key};
use crate::plot::{Data, Plot};
use crate::stats::Samples;

/// Owners that crash, leave and are cut off.
pub static EXPERIMENT: Experiment = Experiment::new("ownership", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    &[
        Key::number(
            "peers",
            5.0,
            Domain::Whole(2, 16),
            "members of the mesh, the owner among them",
        )
        .labelled(|value| Some(format!("{value}p"))),
        Key::text(
            "vanishing",
            "crashes",
            Domain::Choice(&["crashes", "leaves", "cut-off"]),
            "what becomes of the owner: it falls silent, it says that it leaves, or nothing reaches it any more while it goes on asking",
        )
        .labelled(|value| Some(value.to_string())),
        link::PROFILE,
    ],
    link::WITH_LOSS,
    link::FURTHER,
    &[link::REPEATS],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "made",
        "",
        "changes that their requesters were told to be made, in all repeats",
    ),
    Metric::new(
        "lost",
        "",
        "changes told to be made that a survivor does not have in the end",
    ),
    Metric::new("twice", "", "changes that were made twice"),
    Metric::new(
        "unanswered",
        "",
        "changes that survivors asked for and were never told of",
    ),
    Metric::new(
        "owners_most",
        "",
        "the most owners that a variable has in the end",
    ),
    Metric::new(
        "owners_least",
        "",
        "the fewest owners that a variable has in the end",
    ),
    Metric::new(
        "heir_p95",
        "ms",
        "the time from the end of the owner to the first of its variable's changes that was asked for afterwards and told to be made, 95th percentile of the repeats",
    ),
    Metric::new("heir_max", "ms", "the same, longest"),
    Metric::new(
        "took_p50",
        "ms",
        "the time from asking for a change to being told that it was made, while the owner is there, median",
    ),
    Metric::new("took_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "broken",
        "",
        "repeats in which survivors had different values, or saw a sequence change",
    ),
];

/// How often each member asks for a change.
const PAUSE: Duration = Duration::from_millis(100);

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(play)?;
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    for (case, repeats) in &measured {
        let [theirs, ours] = [0, 1].map(|side| {
            let outcomes: Vec<&OwnersOutcome> = repeats.iter().map(|pair| &pair[side]).collect();
            figures(&outcomes)
        });
        findings.add(&case.name, METRICS, &theirs, &ours);
        let heirs: Samples = repeats.iter().filter_map(|pair| ms(pair[1].heir)).collect();
        let sorted = heirs.sorted();
        let points = (0..=100).filter_map(|step| {
            let share = f64::from(step);
            Some((sorted.percentile(share)?, share))
        });
        lines.push((case.name.clone(), points.collect()));
    }
    findings.plots.push(Plot::new(
        "heir",
        "How long an heir takes",
        ["ms", "% of the repeats"],
        Data::Lines(lines),
    ));
    Ok(findings)
}

fn ms(time: Option<Duration>) -> Option<f64> {
    time.map(|time| time.as_secs_f64() * 1e3)
}

fn figures(outcomes: &[&OwnersOutcome]) -> Vec<Option<f64>> {
    let sum = |of: fn(&OwnersOutcome) -> u64| -> Option<f64> {
        Some(outcomes.iter().map(|outcome| of(outcome) as f64).sum())
    };
    let heirs: Samples = outcomes.iter().filter_map(|o| ms(o.heir)).collect();
    let took = outcomes.iter().flat_map(|outcome| &outcome.took);
    let took: Samples = took.filter_map(|time| ms(Some(*time))).collect();
    let took = took.sorted();
    let most = outcomes.iter().map(|outcome| outcome.owners.0 as f64);
    let least = outcomes.iter().map(|outcome| outcome.owners.1 as f64);
    vec![
        sum(|outcome| outcome.made),
        sum(|outcome| outcome.lost),
        sum(|outcome| outcome.twice),
        sum(|outcome| outcome.unanswered),
        most.reduce(f64::max),
        least.reduce(f64::min),
        heirs.sorted().percentile(95.0),
        heirs.max(),
        took.percentile(50.0),
        took.percentile(95.0),
        sum(|outcome| u64::from(!outcome.broken.is_empty())),
    ]
}

/// Their outcome and ours.
fn play(case: &Case, seed: u64) -> Result<[OwnersOutcome; 2], String> {
    let name = case.text("vanishing");
    let vanishing = Vanishing::ALL.into_iter().find(|how| how.name() == name);
    let owners = Owners {
        peers: case.number("peers") as usize,
        link: link::path(case)?.up,
        vanishing: vanishing.ok_or_else(|| format!("an owner does not do that: {name}"))?,
        pause: PAUSE,
    };
    if owners.peers == 2 && vanishing == Some(Vanishing::CutOff) {
        return Err(
            "of two that are cut off from each other both may stand still: use three peers".into(),
        );
    }
    Ok([theirs::run(&owners, seed), owners.run(seed)])
}
