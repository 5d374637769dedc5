//! Power-up: two players run for one power-up from opposite sides, and both judge by what they simulate who has it.

mod ours;
mod races;
mod theirs;

use samestep_sync::GameDelay;

use super::fireball::{BACK_MS, GAME_DELAY, THEIR_TRIES, game_delay, links};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key, unless};
use crate::stats::Samples;

/// Two peers judge the same races.
pub static EXPERIMENT: Experiment = Experiment::new("powerup", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    &[
        GAME_DELAY,
        link::PROFILE,
        link::LATENCY_MS.labelled(link::latency_label),
        BACK_MS,
        Key::number(
            "lead_ms",
            0.0,
            Domain::Number(0.0, 200.0),
            "by how much either may start before the other, in ms; 0 for equal races",
        )
        .labelled(|value| unless(0.0, value, |ms| format!("lead{ms}ms"))),
        link::JITTER_MS.labelled(link::some_jitter_label),
        link::JITTER,
        link::LOSS.labelled(link::some_percent_label),
    ],
    link::FURTHER,
    &[
        Key::number(
            "races",
            30_000.0,
            Domain::Whole(10, 10_000_000),
            "races of each measurement",
        ),
        THEIR_TRIES,
        Key::number(
            "their_clocks_ms",
            0.5,
            Domain::Number(0.0, 100.0),
            "how late a player starts by its clock in the published design: up to twice as much, evenly, in ms",
        ),
        link::REPEATS,
    ],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "one_winner",
        "%",
        "races in which exactly one player has the power-up, and both peers hold so in the end",
    ),
    Metric::new(
        "agreement",
        "%",
        "races of which both peers held the same when they first simulated the tick that decided them",
    ),
    Metric::new(
        "owner_wins",
        "%",
        "races won by the player who owns the power-up in the published design: the second one",
    ),
    Metric::new(
        "disagreed",
        "ms",
        "where they disagreed: how much later the winner comes than oneself in the view of who did not get it, mean",
    ),
    Metric::new("disagreed_max", "ms", "the same, maximum"),
    Metric::new(
        "within_10ms",
        "%",
        "disagreements of at most 10 ms; no row without any",
    ),
    Metric::new(
        "settled",
        "ms",
        "from the first verdict on a race to both peers' holding the same, mean of all races",
    ),
    Metric::new(
        "input_delay",
        "ms",
        "from a player's key to its start at itself, mean",
    ),
    Metric::new("races", "", "how many races there were"),
];

/// What both peers held of many races.
#[derive(Clone, Debug, Default)]
struct Outcome {
    races: u64,
    one_winner: u64,
    agreed: u64,
    owner_wins: u64,
    disagreed_ms: Samples,
    settled_ms: Samples,
    input_delay_ms: Samples,
}

impl Outcome {
    fn add(&mut self, other: &Outcome) {
        self.races += other.races;
        self.one_winner += other.one_winner;
        self.agreed += other.agreed;
        self.owner_wins += other.owner_wins;
        self.disagreed_ms.append(&other.disagreed_ms);
        self.settled_ms.append(&other.settled_ms);
        self.input_delay_ms.append(&other.input_delay_ms);
    }
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    for (case, repeats) in measured {
        let [mut ours, mut theirs] = [Outcome::default(), Outcome::default()];
        for (one, other) in &repeats {
            ours.add(one);
            theirs.add(other);
        }
        findings.add(&case.name, METRICS, &figures(&theirs), &figures(&ours));
    }
    findings.retain_measured();
    Ok(findings)
}

fn measure(case: &Case, seed: u64) -> Result<(Outcome, Outcome), String> {
    let links = links(case)?;
    let links = [&links[0], &links[1]];
    let (delay, lead) = (game_delay(case), case.millis("lead_ms"));
    let ours = ours::play(delay, links, lead, case.number("races") as u64, seed)?;
    let theirs = match (delay, case.number("their_tries") as u64) {
        (GameDelay::Constant(delay), races) if races > 0 => {
            let clocks = case.millis("their_clocks_ms");
            theirs::play(delay, links, lead, clocks, races, seed)?
        }
        _ => Outcome::default(),
    };
    Ok((ours, theirs))
}

/// In the order of the metrics.
fn figures(outcome: &Outcome) -> Vec<Option<f64>> {
    if outcome.races == 0 {
        return Vec::new();
    }
    let races = outcome.races as f64;
    let share = |count: u64| Some(100.0 * count as f64 / races);
    let disagreed = &outcome.disagreed_ms;
    let near = disagreed.values().iter().filter(|ms| **ms <= 10.0).count();
    vec![
        share(outcome.one_winner),
        share(outcome.agreed),
        share(outcome.owner_wins),
        disagreed.mean(),
        disagreed.max(),
        (!disagreed.is_empty()).then(|| 100.0 * near as f64 / disagreed.len() as f64),
        outcome.settled_ms.mean(),
        outcome.input_delay_ms.mean(),
        Some(races),
    ]
}
