//! The evaluation game under lockstep.

pub mod conditions;
pub mod join;
pub mod limits;
pub mod resync;
pub mod scale;

use std::borrow::Borrow;
use std::time::Duration;

use samestep_sim::NodeId;

use crate::deterministic::{DeterministicConfig, DeterministicMatch};
use crate::error::LabError;
use crate::experiment::{Metric, RunContext};
use crate::parameters::Case;
use crate::real_room::RealRoom;
use crate::samples::{self, Counts, TimeSeries};
use crate::stats::Samples;
use crate::testmatch::{OPENER, TICK};

/// The delay of commands.
const DELAY_MEDIAN: Metric = Metric::new(
    "delay_median",
    "ms",
    "from a player's input to its execution in that player's simulation, median",
);

/// The longest pause of the others.
const OTHERS_PAUSE_TURNS: Metric = Metric::new(
    "others_pause_turns",
    "turns",
    "longest time any other simulation stood still meanwhile, in turns",
);

/// One match, played from the beginning.
struct Played {
    course: TimeSeries,
    /// From input to execution, in ms.
    delays: Samples,
    /// Ticks of a turn and between its end and its first tick, at the end, on the host.
    turn: u64,
    ahead: u64,
    /// Processors the host and all clients together kept busy; only where time is real.
    cores: Option<(f64, f64)>,
}

/// Plays a match in which everyone has to stay the same.
fn play(case: &Case, config: DeterministicConfig, seed: u64) -> Result<Played, String> {
    let players = usize::from(config.setup.players);
    let mut room: DeterministicMatch = DeterministicMatch::open(config, seed)?;
    room.begin(players)?;
    room.play_until(case.seconds("seconds"))?;
    room.check_equal()?;
    let status = room.program(OPENER).status();
    Ok(Played {
        delays: room.command_delays(case.seconds("settling_s")),
        course: room.course().clone(),
        turn: status.turn_length,
        ahead: status.input_delay,
        cores: None,
    })
}

/// Plays a match, or several beside each other in virtual time.
fn play_all(context: &RunContext) -> Result<Vec<(&Case, Vec<Played>)>, LabError> {
    match context.real {
        // One after the other, lest they disturb each other.
        true => context.measure_with(1, play_for_real),
        false => context.measure(|case, seed| play(case, DeterministicConfig::of(case)?, seed)),
    }
}

/// The same over sockets of this machine: the link is this machine's own, and so is the time that steps take.
fn play_for_real(case: &Case, seed: u64) -> Result<Played, String> {
    let config = DeterministicConfig::of(case)?;
    let mut room = RealRoom::new(config.setup.players, config.entities);
    room.seconds = case.number("seconds") as u32;
    room.seed = seed;
    if case.number("turn") > 0.0 {
        room.lockstep.turn = config.lockstep.turn;
    }
    if case.number("delay") > 0.0 {
        room.lockstep.input_delay = config.lockstep.input_delay;
    }
    let outcome = crate::real_room::play(&room)?;
    Ok(Played {
        course: outcome.course,
        delays: Samples::new(),
        turn: 0,
        ahead: 0,
        cores: Some((outcome.host_cores, outcome.client_cores)),
    })
}

/// Writes the samples of a case's first repeat under the name their scheme gives it.
fn write(
    context: &RunContext,
    case: &Case,
    suffix: &str,
    course: Option<&TimeSeries>,
) -> Result<(), LabError> {
    let name = samples::name("dl", case, suffix);
    course.map_or(Ok(()), |course| course.write(context, &name))
}

fn first_course(played: &[Played]) -> Option<&TimeSeries> {
    played.first().map(|played| &played.course)
}

fn settling(case: &Case) -> u32 {
    case.number("settling_s") as u32
}

/// A metric of all repeats after settling, of everyone.
fn of_all<P: Borrow<Played>>(case: &Case, played: &[P], of: fn(&Counts) -> f64) -> Samples {
    together(played, |played| played.course.all(settling(case), of))
}

/// The same of the host.
fn of_host<P: Borrow<Played>>(case: &Case, played: &[P], of: fn(&Counts) -> f64) -> Samples {
    together(played, |played| played.course.host(settling(case), of))
}

/// The same of all but the host.
fn of_clients<P: Borrow<Played>>(case: &Case, played: &[P], of: fn(&Counts) -> f64) -> Samples {
    together(played, |played| played.course.others(settling(case), of))
}

fn together<P: Borrow<Played>>(played: &[P], of: impl Fn(&Played) -> Samples) -> Samples {
    Samples::together(played.iter().map(|played| of(played.borrow())))
}

/// The median of command delays over all repeats.
fn median_delay<P: Borrow<Played>>(played: &[P]) -> Option<f64> {
    together(played, |played| played.delays.clone())
        .sorted()
        .percentile(50.0)
}

/// The longest time that any simulation but one stood still since pauses were forgotten, and the same in turns.
fn longest_pause(room: &DeterministicMatch, except: NodeId) -> (Duration, f64) {
    let turn = room.program(OPENER).status().turn_length.max(1);
    let others = room.programs().filter(|(node, _)| *node != except);
    let pause = others.map(|(_, program)| program.longest_pause()).max();
    let pause = pause.unwrap_or_default();
    let turns = pause.as_secs_f64() / (TICK * turn as u32).as_secs_f64();
    (pause, turns)
}

fn lagged(counts: &Counts) -> f64 {
    counts.ticks_lagged as f64
}

fn desyncs(counts: &Counts) -> f64 {
    counts.desyncs as f64
}

fn sum(samples: &Samples) -> Option<f64> {
    Some(samples.values().iter().sum())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
