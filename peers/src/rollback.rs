//! The same game rolled back equally far by ggrs and by Samestep: time, memory and bytes beyond the game's own.

mod game;
mod ggrs;
mod samestep;
mod traffic;

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
    #[arg(long, default_value_t = Settings::default().state_bytes)]
    pub state_bytes: usize,
    /// Ticks that are simulated again in every frame.
    #[arg(long, default_value_t = Settings::default().depth)]
    pub depth: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            state_bytes: 10_240,
            // The most that ggrs's default window of 8 allows.
            depth: 7,
        }
    }
}

/// A library that plays the game of two players in one thread.
pub trait Contender {
    /// The name in the tables.
    fn name(&self) -> &'static str;

    /// One frame of both players.
    fn frame(&mut self);

    /// Ticks simulated by both so far.
    fn steps(&self) -> u64;

    /// Memory that was asked for to carry messages from one to the other: not the library's doing.
    fn asked_by_network(&self) -> Asked {
        Asked::default()
    }
}

/// Time of a tick.
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);
/// Frames of each contender before the next has its turn.
const TURN: u64 = 200;
/// Turns of each that are not counted.
const WARM_UP: u64 = 10;

/// Ticks between two comparisons of the players' states, where they are compared.
const CHECK_EVERY: u32 = 60;

/// Lets the contenders take turns for so long, and then plays for as long in real time.
pub fn measure(settings: Settings, seconds: u64) -> Result<Section, Box<dyn Error>> {
    let state = Swarm::new(settings.state_bytes);
    let mut contenders = contenders(settings.depth, &state)?;
    let (turns, references) = take_turns(&mut contenders, &state, Duration::from_secs(seconds));
    for (contender, turns) in contenders.iter().zip(&turns) {
        eprintln!("rollback: {}, {} turns", contender.name(), turns.len());
    }
    let (table, shares) = time_table(&contenders, &turns);
    eprintln!("rollback: {seconds} s in real time");
    let traffic = traffic::measure(&state, seconds)?;
    let mut conclusions = Vec::new();
    for (room, plain, checked) in [
        ("a mesh", MESH, MESH_CHECKS),
        ("a hosted room", HOSTED, HOSTED_CHECKS),
    ] {
        conclusions.push(format!(
            "Beyond the game's own steps, a tick simulated again costs Samestep in {room} {:.2}× what it costs ggrs, and {:.2}× where both \
             compare their states once a second.",
            shares[plain],
            shares[checked] / shares[GGRS_CHECKS],
        ));
    }
    for (changes, share) in traffic.shares {
        conclusions.push(format!(
            "Inputs that change {changes}: Samestep, encrypted, sends {share:.2}× the bytes of ggrs, which is not."
        ));
    }
    Ok(Section {
        title: "Rollback".into(),
        notes: notes(settings, &state, &references, seconds),
        tables: vec![table, traffic.table],
        conclusions,
    })
}

/// Places of those that conclusions are about; the first is what all are compared with.
const GGRS_CHECKS: usize = 2;
const MESH: usize = 3;
const MESH_CHECKS: usize = 4;
const HOSTED: usize = 5;
const HOSTED_CHECKS: usize = 6;

fn contenders(depth: u64, state: &Swarm) -> Result<Vec<Box<dyn Contender>>, Box<dyn Error>> {
    let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
    for (name, sparse, check_every) in [
        ("ggrs", false, 0),
        ("ggrs, sparse saving", true, 0),
        ("ggrs, checks", false, CHECK_EVERY),
    ] {
        let mode = ggrs::Mode {
            sparse,
            check_every,
        };
        let pair = ggrs::Pair::new(name, mode, depth, state, Habit::Restless)?;
        contenders.push(Box::new(pair));
    }
    for (name, is_mesh, check_every) in [
        ("samestep, mesh", true, 0),
        ("samestep, mesh, checks", true, CHECK_EVERY),
        ("samestep, hosted", false, 0),
        ("samestep, hosted, checks", false, CHECK_EVERY),
    ] {
        let mode = samestep::Mode {
            is_mesh,
            check_every,
        };
        let pair = samestep::Pair::new(name, mode, depth, state, Habit::Restless)?;
        contenders.push(Box::new(pair));
    }
    Ok(contenders)
}

/// The turns of each contender, and what the game costs by itself, measured in between.
fn take_turns(
    contenders: &mut [Box<dyn Contender>],
    state: &Swarm,
    time: Duration,
) -> (Vec<Vec<Turn>>, Vec<Reference>) {
    let mut bare = Bare::new(state);
    let mut copies = Copies::new(state);
    let mut turns: Vec<Vec<Turn>> = contenders.iter().map(|_| Vec::new()).collect();
    let mut references = Vec::new();
    let start = Instant::now();
    let mut number = 0;
    while number <= WARM_UP || start.elapsed() < time {
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
        number += 1;
    }
    (turns, references)
}

/// The figures, and what each contender's ticks cost as a share of the first one's.
fn time_table(contenders: &[Box<dyn Contender>], turns: &[Vec<Turn>]) -> (Table, Vec<f64>) {
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
    let mut shares = Vec::new();
    for (contender, own) in contenders.iter().zip(turns) {
        let beyond = sorted(own.iter().map(Turn::beyond_ns));
        let beside = turns[0].iter().zip(own);
        let share = median(beside.map(|(ggrs, own)| own.beyond_ns() / ggrs.beyond_ns()));
        shares.push(share);
        let of = |figure: fn(&Turn) -> f64| median(own.iter().map(figure));
        let mean =
            |figure: fn(&Turn) -> f64| own.iter().map(figure).sum::<f64>() / own.len() as f64;
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
            format!("{share:.2}"),
            format!("{:.2}", mean(|turn| turn.allocations)),
            format!("{:.0}", mean(|turn| turn.allocated_bytes)),
        ]);
    }
    (table, shares)
}

fn notes(
    Settings { depth, .. }: Settings,
    state: &Swarm,
    references: &[Reference],
    seconds: u64,
) -> Vec<String> {
    let of = |figure: fn(&Reference) -> f64| median(references.iter().map(figure));
    vec![
        format!(
            "One game of two players, the same code for all: a state of {} bytes in one `Vec`, two bytes of input. Its step takes {:.0} ns, \
             a clone of its state {:.0} ns, a copy into memory that is there {:.0} ns.",
            state.bytes(),
            of(|reference| reference.step),
            of(|reference| reference.clone),
            of(|reference| reference.assign),
        ),
        format!(
            "First table: both players in one thread, inputs change in every tick and arrive {depth} ticks late, so that every frame goes back \
             {depth} ticks (one more with sparse saving). Time is CPU time of a frame of one player less that of the bare steps, divided by the ticks \
             simulated again: saving, loading, messages, bookkeeping. Contenders take turns of {TURN} frames for {seconds} s; medians."
        ),
        "ggrs: `P2PSession`s over a socket in memory that hands messages over as they are, requests carried out as its examples do, by cloning. \
         Samestep: two `Rollback` models, in a mesh (as those of ggrs are) or one as host of the other, and their `Live` worlds without recording; their messages \
         are encoded and decoded. \
         Checks: everyone's states are compared every 60 ticks (ggrs: only states of such frames are summed)."
            .into(),
        "Allocations are those of the library and of carrying out its requests, not of carrying messages across. Counting them makes no difference to the times \
         that could be measured."
            .into(),
        format!(
            "Second table: the same game in real time at 60 Hz over real sockets, 50 ms one way through the proxy, {seconds} s, all at the same time. Bytes are \
             those that one player sends, IP and UDP headers included. ggrs: defaults, datagrams as its `UdpNonBlockingSocket` writes them, no checks. Samestep: \
             a `Match` with `Rollback` as it comes, hosted, with checks, encrypted."
        ),
    ]
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
        let (steps, before) = (contender.steps(), asked() - contender.asked_by_network());
        let start = busy();
        (0..TURN).for_each(|_| contender.frame());
        let time = busy() - start;
        let allocated = asked() - contender.asked_by_network() - before;
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

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    quantile(&sorted(figures), 0.5)
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}
