//! One more player in a match that is under way.

use std::time::Duration;

use super::{OTHERS_PAUSE_TURNS, longest_pause, write};
use crate::deterministic::{DeterministicConfig, DeterministicMatch};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Key};
use crate::plot::{Data, Plot};
use crate::samples::TimeSeries;
use crate::stats::Samples;
use crate::testmatch::{LOCKSTEP_ROOM, MACHINES, OPENER};

/// The last player comes late.
pub static EXPERIMENT: Experiment = Experiment::new("lockstep-join", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    LOCKSTEP_ROOM,
    link::USUALLY_GOOD,
    link::FURTHER,
    MACHINES,
    &[link::REPEATS],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "in_step",
        "s",
        "from the newcomer's request until its simulation is as far as those of the other clients, longest of the repeats",
    ),
    Metric::new(
        "acts",
        "s",
        "from the request until its first command is executed, longest",
    ),
    OTHERS_PAUSE_TURNS,
    Metric::new("others_pause", "ms", "the same time"),
    Metric::new(
        "state",
        "kB",
        "the state that was transferred, mean of the repeats",
    ),
];

const PATIENCE: Duration = Duration::from_secs(60);
/// How long everyone has to stay the same after that.
const AFTER: Duration = Duration::from_secs(3);

struct Measured {
    course: TimeSeries,
    in_step: Duration,
    acts: Duration,
    pause: Duration,
    pause_turns: f64,
    state_bytes: f64,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    for (case, repeats) in &measured {
        let all = |of: &dyn Fn(&Measured) -> f64| repeats.iter().map(of).collect::<Samples>();
        let figures = [
            all(&|m| m.in_step.as_secs_f64()).max(),
            all(&|m| m.acts.as_secs_f64()).max(),
            all(&|m| m.pause_turns).max(),
            all(&|m| m.pause.as_secs_f64() * 1e3).max(),
            all(&|m| m.state_bytes / 1e3).mean(),
        ];
        findings.add(&case.name, METRICS, &[], &figures);
        let first = repeats.first().map(|m| &m.course);
        write(context, case, "join", first)?;
        let points = first.map(|course| course.per_second(|c| c.bytes_sent as f64 / 1e3));
        lines.push((case.name.clone(), points.unwrap_or_default()));
    }
    findings.plots.push(Plot::new(
        "sent",
        "What each client sends while one more joins",
        ["seconds", "kB/s, mean"],
        Data::Lines(lines),
    ));
    Ok(findings)
}

fn measure(case: &Case, seed: u64) -> Result<Measured, String> {
    let config = DeterministicConfig::of(case)?;
    let players = usize::from(config.setup.players);
    let mut room: DeterministicMatch = DeterministicMatch::open(config, seed)?;
    room.begin(players - 1)?;
    room.play_until(case.seconds("settling_s"))?;

    for node in room.nodes() {
        room.with(node, |now, program| program.forget_pauses(now));
    }
    let newcomer = room.join();
    let asked = room.elapsed();
    let (mut in_step, mut acts) = (None, None);
    while in_step.is_none() || acts.is_none() {
        if room.elapsed() > asked + PATIENCE {
            return Err("the newcomer was not in step within a minute".into());
        }
        let next = room.elapsed() + Duration::from_millis(10);
        room.play_until(next)?;
        let took = room.elapsed() - asked;
        let clients = room
            .programs()
            .filter(|(node, _)| ![OPENER, newcomer].contains(node));
        let slowest = clients.map(|(_, program)| program.status().tick).min();
        let program = room.program(newcomer);
        if program.is_playing() && Some(program.status().tick + 1) >= slowest {
            in_step.get_or_insert(took);
        }
        if !program.delays().is_empty() {
            acts.get_or_insert(took);
        }
    }
    let (pause, pause_turns) = longest_pause(&room, newcomer);
    let end = room.elapsed() + AFTER;
    room.play_until(end)?;
    room.check_equal()?;
    Ok(Measured {
        course: room.course().clone(),
        in_step: in_step.unwrap_or(PATIENCE),
        acts: acts.unwrap_or(PATIENCE),
        pause,
        pause_turns,
        state_bytes: room.program(newcomer).adopted_bytes() as f64,
    })
}
