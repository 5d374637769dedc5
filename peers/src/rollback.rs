//! The same game rolled back equally far by ggrs and by Samestep: time, memory and bytes beyond the game's own.

pub mod game;
pub mod ggrs;
pub mod samestep;

use std::{
    error::Error,
    hint::black_box,
    time::{Duration, Instant},
};

use nix::time::{ClockId, clock_gettime};
use samestep_counting::{Asked, asked};

use crate::report::{Section, Table};
use game::{Habit, PLAYERS, Swarm};

/// What is measured.
#[derive(Clone, Copy, clap::Args)]
pub struct Settings {
    /// Bytes of the game's state.
    #[arg(long, default_value_t = 10_240)]
    pub state_bytes: usize,
    /// Ticks that are simulated again in every frame.
    #[arg(long, default_value_t = 7)]
    pub depth: u64,
}

/// A library that plays the game of two players in one thread.
pub trait Contender {
    /// The name in the tables.
    fn name(&self) -> &'static str;

    /// One frame of both players.
    fn frame(&mut self);

    /// Ticks simulated by both so far.
    fn steps(&self) -> u64;
}

/// Frames of each contender before the next has its turn.
const TURN: u64 = 200;
/// Turns of each that are not counted.
const WARM_UP: u64 = 10;

/// Lets the contenders take turns for so long.
pub fn measure(settings: Settings, seconds: u64) -> Result<Section, Box<dyn Error>> {
    let Settings { state_bytes, depth } = settings;
    let state = Swarm::new(state_bytes);
    let habit = Habit::Restless;
    let mut contenders: Vec<Box<dyn Contender>> = vec![
        Box::new(ggrs::Pair::new("ggrs", false, depth, &state, habit)?),
        Box::new(ggrs::Pair::new(
            "ggrs, sparse saving",
            true,
            depth,
            &state,
            habit,
        )?),
    ];
    let live = || ::samestep::sync::Live::without_recording(state.clone());
    for (name, check_every) in [("samestep", 60), ("samestep, no checks", 0)] {
        let pair = samestep::Pair::new(name, depth, check_every, habit, live)?;
        contenders.push(Box::new(pair));
    }
    let mut bare = Bare::new(&state);
    let mut copies = Copies::new(&state);
    let mut turns: Vec<Vec<Turn>> = contenders.iter().map(|_| Vec::new()).collect();
    let mut references = Vec::new();
    let start = Instant::now();
    for number in 0.. {
        if number > WARM_UP && start.elapsed() > Duration::from_secs(seconds) {
            break;
        }
        let reference = Reference {
            step: bare.measure(),
            clone: copies.clone(),
            assign: copies.assign(),
        };
        for (contender, turns) in contenders.iter_mut().zip(&mut turns) {
            let turn = Turn::of(&mut **contender, reference.step);
            if number >= WARM_UP {
                turns.push(turn);
            }
        }
        if number >= WARM_UP {
            references.push(reference);
        }
    }
    Ok(section(&contenders, &turns, &references, settings, &state))
}

fn section(
    contenders: &[Box<dyn Contender>],
    turns: &[Vec<Turn>],
    references: &[Reference],
    Settings { depth, .. }: Settings,
    state: &Swarm,
) -> Section {
    let mut table = Table::new(
        1,
        &[
            "library",
            "again/frame",
            "µs/frame",
            "beyond steps, ns/tick",
            "quartiles",
            "of ggrs",
            "allocations/frame",
            "bytes",
        ],
    );
    let mut ratios = Vec::new();
    for (contender, own) in contenders.iter().zip(turns) {
        let beyond = sorted(own.iter().map(Turn::beyond_ns));
        let against = turns[0].iter().zip(own);
        let ratio = quantile(
            &sorted(against.map(|(ggrs, own)| own.beyond_ns() / ggrs.beyond_ns())),
            0.5,
        );
        ratios.push(ratio);
        let of = |figure: fn(&Turn) -> f64| quantile(&sorted(own.iter().map(figure)), 0.5);
        table.row([
            contender.name().to_owned(),
            format!("{:.1}", of(Turn::resimulated)),
            format!("{:.2}", of(|turn| turn.frame_ns / 1e3)),
            format!("{:.0}", quantile(&beyond, 0.5)),
            format!(
                "{:.0}–{:.0}",
                quantile(&beyond, 0.25),
                quantile(&beyond, 0.75)
            ),
            format!("{ratio:.2}"),
            format!("{:.1}", of(|turn| turn.allocations)),
            format!("{:.0}", of(|turn| turn.allocated_bytes)),
        ]);
    }
    let of = |figure: fn(&Reference) -> f64| quantile(&sorted(references.iter().map(figure)), 0.5);
    Section {
        title: "Rollback".into(),
        notes: vec![format!(
            "Two players whose inputs change in every tick and arrive {depth} ticks late, so that every frame goes back {depth} ticks. \
                 One state of {} bytes in a `Vec`; the game's step takes {:.0} ns, a clone of the state {:.0} ns, a copy into memory \
                 that is there {:.0} ns.",
            state.bytes(),
            of(|reference| reference.step),
            of(|reference| reference.clone),
            of(|reference| reference.assign),
        )],
        tables: vec![table],
        conclusions: Vec::new(),
    }
}

/// What one contender did in one turn, for one player.
struct Turn {
    frame_ns: f64,
    step_ns: f64,
    /// Ticks simulated per frame, the new one included.
    steps: f64,
    allocations: f64,
    allocated_bytes: f64,
}

impl Turn {
    fn of(contender: &mut dyn Contender, step_ns: f64) -> Turn {
        let (steps, before): (u64, Asked) = (contender.steps(), asked());
        let start = busy();
        (0..TURN).for_each(|_| contender.frame());
        let time = busy() - start;
        let allocated = asked() - before;
        let frames = (TURN * PLAYERS.len() as u64) as f64;
        Turn {
            frame_ns: time.as_nanos() as f64 / frames,
            step_ns,
            steps: (contender.steps() - steps) as f64 / frames,
            allocations: allocated.times as f64 / frames,
            allocated_bytes: allocated.bytes as f64 / frames,
        }
    }

    /// Ticks simulated again per frame.
    fn resimulated(&self) -> f64 {
        self.steps - 1.0
    }

    /// What each of them costs beyond the game's own steps.
    fn beyond_ns(&self) -> f64 {
        (self.frame_ns - self.steps * self.step_ns) / self.resimulated()
    }
}

/// What the game and its state cost by themselves, in ns.
struct Reference {
    step: f64,
    clone: f64,
    assign: f64,
}

/// The game without any library.
struct Bare {
    states: [Swarm; 2],
    ticks: u64,
}

impl Bare {
    fn new(state: &Swarm) -> Bare {
        Bare {
            states: [state.clone(), state.clone()],
            ticks: 0,
        }
    }

    fn measure(&mut self) -> f64 {
        per_call(|| {
            let controls = PLAYERS.map(|player| Habit::Restless.controls(player, self.ticks));
            self.states
                .iter_mut()
                .for_each(|state| state.simulate(controls));
            self.ticks += 1;
        }) / 2.0
    }
}

/// Copies of the state as rollback keeps them: each over the oldest.
struct Copies {
    from: Swarm,
    kept: Vec<Swarm>,
    at: usize,
}

impl Copies {
    fn new(state: &Swarm) -> Copies {
        Copies {
            from: state.clone(),
            kept: vec![state.clone(); 8],
            at: 0,
        }
    }

    fn clone(&mut self) -> f64 {
        per_call(|| {
            self.at = (self.at + 1) % self.kept.len();
            self.kept[self.at] = black_box(&self.from).clone();
        })
    }

    fn assign(&mut self) -> f64 {
        per_call(|| {
            self.at = (self.at + 1) % self.kept.len();
            ::samestep::sync::Replicate::assign(&mut self.kept[self.at], black_box(&self.from));
        })
    }
}

/// How long this thread has been busy: time in which it had to wait for others is not counted.
fn busy() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(Duration::ZERO, Duration::from)
}

/// Time of a call, in ns.
fn per_call(mut call: impl FnMut()) -> f64 {
    const CALLS: u32 = 1000;
    let start = busy();
    (0..CALLS).for_each(|_| call());
    (busy() - start).as_nanos() as f64 / f64::from(CALLS)
}

fn sorted(figures: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}
