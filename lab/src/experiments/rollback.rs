//! Rollback beside lockstep: the same commands, given at the same times.

mod figures;
mod plots;

use samestep_catalog::{NAMES, Visitor, visit};
use samestep_sync::{Beyond, Length, Lockstep, LockstepConfig, Rollback, RollbackConfig};

use crate::deterministic::{DeterministicConfig, DeterministicMatch, DeterministicModel};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, RunContext};
use crate::link::{self, percent_label};
use crate::parameters::{Case, Domain, Key};
use crate::testmatch::{ENTITIES, MACHINES, PLAYERS, Playable, SECONDS, TOPOLOGY, TURN, some};
use figures::{METRICS, Played, figures};
use plots::plots;

/// Both models on links of all kinds. *Theirs* is lockstep.
pub static EXPERIMENT: Experiment = Experiment {
    columns: ["lockstep", "rollback"],
    ..Experiment::new("rollback", KEYS, METRICS, run)
};

const KEYS: &[&[Key]] = &[
    &[
        Key::text(
            "game",
            "evaluation",
            Domain::Choice(NAMES),
            "evaluation: entities on random walks, each player gives 8 commands a second; skirmish: a battle between bots",
        )
        .labelled(|value| Some(value.to_string()).filter(|text| text != "evaluation")),
        TOPOLOGY,
        link::PROFILE,
        PLAYERS,
        ENTITIES,
        TURN,
        Key::number(
            "window",
            0.0,
            Domain::Whole(0, 60),
            "ticks that rollback simulates beyond what is known; 0 for its default",
        )
        .labelled(|value| some(value, "window")),
        Key::number(
            "delay",
            0.0,
            Domain::Whole(0, 600),
            "ticks from an input to its tick under rollback; 0 for as many as the window does not cover. Lockstep finds out its own",
        )
        .labelled(|value| some(value, "ahead")),
        Key::number(
            "go_on",
            0.0,
            Domain::Whole(0, 600),
            "ticks up to which rollback goes on beyond its window rather than wait; 0 for waiting",
        )
        .labelled(|value| some(value, "goon")),
        Key::number(
            "lockstep_below_ms",
            0.0,
            Domain::Number(0.0, 10_000.0),
            "rollback predicts nothing while the farthest round trip is shorter, in ms",
        ),
        link::LATENCY_MS.labelled(link::latency_label),
        Key::number(
            "later_latency_ms",
            0.0,
            Domain::Number(0.0, 60_000.0),
            "smallest one-way delay in the second half of each match, in ms; 0 for the same as in the first",
        )
        .labelled(|value| some(value, "later")),
        link::JITTER_MS.labelled(link::some_jitter_label),
        link::JITTER,
        link::LOSS.labelled(percent_label),
    ],
    link::FURTHER,
    MACHINES,
    &[SECONDS, link::REPEATS],
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    for (case, repeats) in &measured {
        let side = |of: fn(&(Played, Played)) -> &Played| {
            figures(case, &repeats.iter().map(of).collect::<Vec<_>>())
        };
        let (lockstep, rollback) = (side(|r| &r.0), side(|r| &r.1));
        findings.add(&case.name, METRICS, &lockstep, &rollback);
        if let Some((lockstep, rollback)) = repeats.first() {
            let name = case.name.replace('/', "-").replace('%', "pc");
            for (model, played) in [("lockstep", lockstep), ("rollback", rollback)] {
                played.course.write(context, &format!("{name}-{model}"))?;
            }
        }
    }
    findings.retain_measured();
    findings.plots = plots(&context.cases, &findings);
    Ok(findings)
}

/// The same match under either model.
fn measure(case: &Case, seed: u64) -> Result<(Played, Played), String> {
    let config = config(case)?;
    let both = BothModels {
        case,
        config: &config,
        seed,
    };
    visit(case.text("game"), both).expect("the key admits only games")
}

struct BothModels<'a> {
    case: &'a Case,
    config: &'a DeterministicConfig,
    seed: u64,
}

impl Visitor for BothModels<'_> {
    type Output = Result<(Played, Played), String>;

    fn visit<G: Playable>(self) -> Self::Output {
        let lockstep = play::<G, Lockstep>(self.case, self.config, self.seed)?;
        let rollback = play::<G, Rollback>(self.case, self.config, self.seed)?;
        Ok((lockstep, rollback))
    }
}

fn config(case: &Case) -> Result<DeterministicConfig, String> {
    let mut config = DeterministicConfig::of(case)?;
    let defaults = RollbackConfig::default();
    let or = |key: &str, otherwise: u64| match case.number(key) {
        0.0 => otherwise,
        ticks => ticks as u64,
    };
    let window = or("window", defaults.window);
    config.detailed = true;
    config.rollback = RollbackConfig {
        window,
        input_delay: match case.number("delay") {
            0.0 => defaults.input_delay,
            ticks => Length::Fixed(ticks as u64),
        },
        beyond: match case.number("go_on") {
            0.0 => Beyond::Wait,
            ticks => Beyond::GoOn {
                ticks: window.max(ticks as u64),
            },
        },
        lockstep_below: case.millis("lockstep_below_ms"),
        desync_check_interval: config.lockstep.desync_check_interval,
        keep: config.lockstep.keep.max(1200),
        ..defaults
    };
    // The key is rollback's here.
    config.lockstep.input_delay = LockstepConfig::default().input_delay;
    Ok(config)
}

fn play<G: Playable, M: DeterministicModel>(
    case: &Case,
    config: &DeterministicConfig,
    seed: u64,
) -> Result<Played, String> {
    let players = usize::from(config.setup.players);
    let mut room: DeterministicMatch<G, M> = DeterministicMatch::open(config.clone(), seed)?;
    room.begin(players)?;
    room.play_until(case.seconds("settling_s"))?;
    for node in room.nodes() {
        room.with(node, |now, program| program.forget_notes(now));
    }
    let later = case.millis("later_latency_ms");
    if !later.is_zero() {
        room.play_until(case.seconds("seconds") / 2)?;
        room.set_latency(later);
    }
    room.play_until(case.seconds("seconds"))?;
    room.check_equal()?;
    Ok(Played::of(&room))
}
