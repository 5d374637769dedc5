//! The rules of the tries under `EventDelay`: several lanes, so that both players act as often as in a fight, and nothing else.

use samestep_sync::{Events, Input, Inputs, PlayerId, Record, Replicate, Simulation, Wire};

use super::scenario::{BALL_FROM, BALL_SPEED, CAST, RADIUS, SPEED, Try};
use crate::delay_room::tries::{LANES, beginning};

const TICKS: u32 = 60;

/// Places are in thousandths of a unit.
fn thousandths(units: f64) -> i32 {
    (units * 1000.0).round() as i32
}

/// A player's input: the lanes whose walker walks from now on, and those whose ball is thrown.
#[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
pub struct Act {
    #[wire(varint)]
    walk: u16,
    #[wire(varint)]
    throw: u16,
}

impl Act {
    pub fn walk(lane: usize) -> Act {
        Act {
            walk: 1 << lane,
            throw: 0,
        }
    }

    pub fn throw(lane: usize) -> Act {
        Act {
            walk: 0,
            throw: 1 << lane,
        }
    }
}

impl Input for Act {
    fn predict(&self) -> Self {
        Act::default()
    }

    fn merge(&mut self, late: &Self) -> bool {
        self.walk |= late.walk;
        self.throw |= late.throw;
        true
    }
}

/// Something happened in a try.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Happened {
    pub which: u32,
    pub what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum What {
    Thrown,
    Hit,
    Missed,
}

/// A lane, and the try in it.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub struct Lane {
    which: u32,
    place: i32,
    walks: bool,
    /// Ticks since the ball was thrown, and one; 0 before.
    ball: u32,
    judged: bool,
}

/// The whole state.
#[derive(Clone, Replicate)]
pub struct Range {
    seed: u64,
    lanes: Vec<Lane>,
}

impl Range {
    pub fn new(seed: u64) -> Range {
        let empty = Lane {
            which: 0,
            place: 0,
            walks: false,
            ball: 0,
            judged: true,
        };
        Range {
            seed,
            lanes: vec![empty; LANES],
        }
    }

    /// Where every walker is, in units, and how fast it is.
    pub fn walkers(&self) -> [(f64, f64); LANES] {
        let mut walkers = [(0.0, 0.0); LANES];
        for (walker, lane) in walkers.iter_mut().zip(&self.lanes) {
            let speed = if lane.walks { SPEED } else { 0.0 };
            *walker = (f64::from(lane.place) / 1000.0, speed);
        }
        walkers
    }
}

impl Lane {
    fn begin(seed: u64, which: u64) -> Lane {
        Lane {
            which: which as u32,
            place: thousandths(Try::of(seed, which).place),
            walks: false,
            ball: 0,
            judged: false,
        }
    }

    fn step(&mut self, walks: bool, throws: bool, events: &mut Events<Happened>) {
        self.walks |= walks;
        if self.walks {
            self.place += thousandths(SPEED / f64::from(TICKS));
        }
        let which = self.which;
        let happened = |what| Happened { which, what };
        if throws && self.ball == 0 {
            self.ball = 1;
            events.emit(happened(What::Thrown));
        } else if self.ball > 0 {
            self.ball += 1;
        }
        let cast = (CAST * f64::from(TICKS)) as u32;
        let Some(flown) = self.ball.checked_sub(cast + 1).filter(|_| !self.judged) else {
            return;
        };
        let step = i64::from(thousandths(BALL_SPEED / f64::from(TICKS)));
        let y = i64::from(flown) * step - i64::from(thousandths(BALL_FROM));
        let (x, radius) = (i64::from(self.place), i64::from(thousandths(RADIUS)));
        let what = match x * x + y * y <= radius * radius {
            true => What::Hit,
            false if y > radius => What::Missed,
            false => return,
        };
        self.judged = true;
        events.emit(happened(what));
    }
}

impl Simulation for Range {
    type Input = Act;
    type Event = Happened;
    const NAME: &'static str = "fireball";
    const TICKS_PER_SECOND: u32 = TICKS;

    fn step(&mut self, inputs: &Inputs<'_, Act>, events: &mut Events<Happened>) {
        let (mut walk, mut throw) = (0, 0);
        for (player, act) in inputs.iter() {
            // The first player owns the walkers, the second throws.
            match player {
                PlayerId(0) => walk |= act.walk,
                _ => throw |= act.throw,
            }
        }
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            if let Some(which) = beginning(inputs.tick(), at) {
                *lane = Lane::begin(self.seed, which);
            }
            lane.step(walk & 1 << at != 0, throw & 1 << at != 0, events);
        }
    }
}
