//! The rules of the races under `EventDelay`: in each lane two players walk towards a power-up between them, and who touches it has it.

use std::time::Duration;

use samestep_sync::{
    Events, Input, Inputs, PlayerId, Record, Replicate, Rng, Simulation, Wire, random,
};

use crate::delay_room::tries::{LANES, beginning};

/// How fast players are, in units a second.
pub const SPEED: f64 = 90.0;
/// How far from the power-up they begin, and from how near they have it.
pub const DISTANCE: f64 = 100.0;
pub const REACH: f64 = 10.0;
const TICKS: u32 = 60;

/// When both start in a race, from its beginning.
pub fn starts(seed: u64, which: u64, lead: Duration) -> [Duration; 2] {
    let mut rng = Rng::new(random::hash(seed, which, 5));
    let start = Duration::from_micros(300_000 + u64::from(rng.below(200_000)));
    let lead = lead.mul_f32(rng.unit());
    match rng.below(2) {
        0 => [start + lead, start],
        _ => [start, start + lead],
    }
}

/// A player's input: the lanes in which it starts now.
#[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
pub struct Start {
    #[wire(varint)]
    lanes: u16,
}

impl Start {
    pub fn in_lane(lane: usize) -> Start {
        Start { lanes: 1 << lane }
    }
}

impl Input for Start {
    fn predict(&self) -> Self {
        Start::default()
    }

    fn merge(&mut self, late: &Self) -> bool {
        self.lanes |= late.lanes;
        true
    }
}

/// Something happened in a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum Happened {
    Started {
        which: u32,
        player: PlayerId,
    },
    /// A player touches the place of the power-up.
    Reached {
        which: u32,
        player: PlayerId,
    },
    /// A player has it.
    Taken {
        which: u32,
        by: PlayerId,
    },
}

/// A lane, and the race in it.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub struct Lane {
    which: u32,
    /// How far each has come, in thousandths of a unit.
    walked: [i32; 2],
    walks: [bool; 2],
    taken: bool,
}

/// The whole state.
#[derive(Clone, Replicate)]
pub struct Races {
    seed: u64,
    lanes: Vec<Lane>,
}

impl Races {
    pub fn new(seed: u64) -> Races {
        let empty = Lane {
            which: 0,
            walked: [0; 2],
            walks: [false; 2],
            taken: true,
        };
        Races {
            seed,
            lanes: vec![empty; LANES],
        }
    }
}

impl Lane {
    fn step(&mut self, seed: u64, starts: [bool; 2], events: &mut Events<Happened>) {
        let which = self.which;
        let mut reached = [false; 2];
        for at in 0..2 {
            let player = PlayerId(at as u16);
            if starts[at] && !self.walks[at] {
                self.walks[at] = true;
                events.emit(Happened::Started { which, player });
            }
            let there = ((DISTANCE - REACH) * 1000.0) as i32;
            let before = self.walked[at];
            if self.walks[at] {
                self.walked[at] += (SPEED * 1000.0) as i32 / TICKS as i32;
            }
            reached[at] = before < there && self.walked[at] >= there;
            if reached[at] {
                events.emit(Happened::Reached { which, player });
            }
        }
        if self.taken || reached == [false; 2] {
            return;
        }
        self.taken = true;
        let by = match reached {
            [true, true] => (random::hash(seed, which.into(), 7) & 1) as u16,
            [first, _] => u16::from(!first),
        };
        let by = PlayerId(by);
        events.emit(Happened::Taken { which, by });
    }
}

impl Simulation for Races {
    type Input = Start;
    type Event = Happened;
    const NAME: &'static str = "power-up";
    const TICKS_PER_SECOND: u32 = TICKS;

    fn step(&mut self, inputs: &Inputs<'_, Start>, events: &mut Events<Happened>) {
        let starts = [0, 1].map(|player| inputs.of(PlayerId(player)).map_or(0, |it| it.lanes));
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            if let Some(which) = beginning(inputs.tick(), at) {
                *lane = Lane {
                    which: which as u32,
                    walked: [0; 2],
                    walks: [false; 2],
                    taken: false,
                };
            }
            let starts = starts.map(|lanes| lanes & 1 << at != 0);
            lane.step(self.seed, starts, events);
        }
    }
}
