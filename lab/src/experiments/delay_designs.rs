//! Delay designs: event delay beside the designs that were discussed with it, over latency and loss.

use samestep_sync::GameDelay;

use super::fireball::{
    BACK_MS, DESIGNS, Design, GAME_DELAY, Outcome, game_delay, links, play_design, play_ours,
};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key, plain};

/// The same tries under each design.
pub static EXPERIMENT: Experiment = Experiment::new("delay-designs", KEYS, METRICS, run);

/// The name of our own design.
const OURS: &str = "event-delay";

fn names() -> Vec<&'static str> {
    let others = DESIGNS.iter().map(|(name, _)| *name);
    std::iter::once(OURS).chain(others).collect()
}

const KEYS: &[&[Key]] = &[
    &[
        Key::text(
            "design",
            OURS,
            Domain::Listed(names),
            "event-delay; position: places are sent as they will be, which was built; history: one's own movement at once, everything else of one's own after twice the delay; pairs: keys and how long they are held; frames: the inputs of the last four frames",
        )
        .labelled(plain),
        GAME_DELAY.labelled(|value| Some(value.to_string()).filter(|text| text != "50").map(|text| format!("gd{text}"))),
        link::PROFILE,
        link::LATENCY_MS.labelled(link::latency_label),
        BACK_MS,
        link::JITTER_MS.labelled(link::some_jitter_label),
        link::JITTER,
        link::LOSS.labelled(link::some_percent_label),
    ],
    link::FURTHER,
    &[
        Key::number(
            "tries",
            3_000.0,
            Domain::Whole(10, 10_000_000),
            "tries of each measurement",
        ),
        link::REPEATS,
    ],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "agreement",
        "%",
        "tries of which both peers held the same when they judged them",
    ),
    Metric::new(
        "apart_mean",
        "units",
        "how far from each other both had the walker when it was hit, mean",
    ),
    Metric::new("apart_max", "units", "the same, maximum"),
    Metric::new(
        "events_apart",
        "ms",
        "difference between the instants at which both executed a throw, mean",
    ),
    Metric::new(
        "input_delay",
        "ms",
        "from the thrower's key to the throw at itself, mean",
    ),
    Metric::new(
        "traffic",
        "kbit/s",
        "what a peer sends to the other, IP and UDP headers included, mean; ours is encrypted and acts four times a second, the others once in a try",
    ),
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    for (case, repeats) in measured {
        let mut outcome = Outcome::default();
        repeats.iter().for_each(|repeat| outcome.add(repeat));
        let figures = figures(&outcome);
        // The design that was built is theirs; the others were compared with it, and stand alone.
        match case.text("design") == "position" {
            true => findings.add(&case.name, METRICS, &figures, &[]),
            false => findings.add(&case.name, METRICS, &[], &figures),
        }
    }
    findings.retain_measured();
    Ok(findings)
}

fn measure(case: &Case, seed: u64) -> Result<Outcome, String> {
    let links = links(case)?;
    let links = [&links[0], &links[1]];
    let (delay, tries) = (game_delay(case), case.number("tries") as u64);
    let mut designs = DESIGNS.iter();
    let design: Option<Design> = designs
        .find(|(name, _)| *name == case.text("design"))
        .map(|(_, design)| *design);
    match (design, delay) {
        (None, _) => play_ours(delay, links, tries, seed, false),
        (Some(design), GameDelay::Constant(delay)) => {
            play_design(design, delay, links, tries, seed)
        }
        (Some(_), GameDelay::Dynamic { .. }) => Err(
            "only event-delay has a delay that follows the path: give a game_delay in ms".into(),
        ),
    }
}

/// In the order of the metrics.
fn figures(outcome: &Outcome) -> [Option<f64>; METRICS.len()] {
    [
        Some(outcome.agreement()),
        outcome.apart.mean(),
        outcome.apart.max(),
        outcome.events_apart_ms.mean(),
        outcome.input_delay_ms.mean(),
        Some(outcome.traffic()),
    ]
}
