//! What is decided when its frame leaves the window: boxes, projectiles, stars and items.

use std::time::Duration;

use samestep_sync::Rng;

use super::super::field::{Field, RADIUS};
use super::state::State;

/// The kinds of what players wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::experiments) enum Kind {
    Box,
    Projectile,
    Star,
    Item,
    BoxRemoved,
    Bounce,
}

impl Kind {
    pub(in crate::experiments) const ALL: [Kind; 6] = [
        Kind::Box,
        Kind::Projectile,
        Kind::Star,
        Kind::Item,
        Kind::BoxRemoved,
        Kind::Bounce,
    ];
}

/// An action that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ask {
    /// Which of the client's actions it is.
    pub(super) number: u64,
    pub(super) stamp: Duration,
    pub(super) character: usize,
    pub(super) kind: Kind,
    /// Where a projectile flies to, with length 1.
    pub(super) towards: [f32; 2],
}

/// What the server has decided for good, and tells all clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Decided {
    /// A box stands in a cell.
    Box { number: u64, cell: (i32, i32) },
    /// A projectile flies.
    Projectile { number: u64, flight: Flight },
    /// A star or an item was collected; the next one lies there.
    Collected {
        kind: Kind,
        by: usize,
        next: [f32; 2],
    },
    /// A box was destroyed.
    Removed { cell: (i32, i32) },
}

/// A projectile: it bounces off obstacles, and ends after some bounces or at a box, which it destroys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flight {
    pub(super) place: [f32; 2],
    pub(super) velocity: [f32; 2],
    pub(super) bounces: u8,
}

/// Cells per second.
const SPEED: f32 = 9.0;
const BOUNCES: u8 = 5;
/// How near one has to be to touch a star or an item, in cells.
const REACH: f32 = RADIUS + 0.3;

/// What a flight met in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Met {
    Nothing,
    Wall,
    Box((i32, i32)),
}

impl Flight {
    pub(super) fn from(place: [f32; 2], towards: [f32; 2]) -> Flight {
        Flight {
            place,
            velocity: towards.map(|part| part * SPEED),
            bounces: 0,
        }
    }

    /// Flies on for some time.
    pub(super) fn advance(&mut self, seconds: f32, field: &Field, boxes: &[(i32, i32)]) -> Met {
        let mut met = Met::Nothing;
        for axis in 0..2 {
            let before = self.place[axis];
            self.place[axis] += self.velocity[axis] * seconds;
            let cell = (self.place[0].floor() as i32, self.place[1].floor() as i32);
            let is_box = boxes.contains(&cell);
            if is_box || field.is_solid(cell.0, cell.1) {
                self.place[axis] = before;
                self.velocity[axis] = -self.velocity[axis];
                self.bounces += 1;
                met = if is_box { Met::Box(cell) } else { Met::Wall };
            }
        }
        met
    }

    pub(super) fn is_over(&self) -> bool {
        self.bounces > BOUNCES
    }
}

/// The things of the server, as of the last frame that has left the window.
#[derive(Debug)]
pub(super) struct Things {
    asked: Vec<Ask>,
    /// Boxes whose character is still in the cell.
    waiting: Vec<(u64, usize, (i32, i32))>,
    pub(super) boxes: Vec<(i32, i32)>,
    flights: Vec<Flight>,
    pub(super) star: [f32; 2],
    pub(super) item: [f32; 2],
    settled: Duration,
    rng: Rng,
}

impl Things {
    pub(super) fn new(field: &Field, seed: u64) -> Things {
        let mut rng = Rng::new(seed);
        Things {
            asked: Vec::new(),
            waiting: Vec::new(),
            boxes: Vec::new(),
            flights: Vec::new(),
            star: open_cell(field, &mut rng),
            item: open_cell(field, &mut rng),
            settled: Duration::ZERO,
            rng,
        }
    }

    /// A client asks for an action, in time.
    pub(super) fn ask(&mut self, ask: Ask) {
        self.asked.push(ask);
    }

    /// A frame has left the window: decides what happened in it.
    pub(super) fn settle(&mut self, state: &State, time: Duration, field: &Field) -> Vec<Decided> {
        let mut decided = Vec::new();
        let seconds = (time - self.settled).as_secs_f32();
        self.settled = time;
        let cell_of = |character: usize| {
            let place = state.characters[character].body.place;
            (place[0].floor() as i32, place[1].floor() as i32)
        };
        self.fly(seconds, field, &mut decided);
        let due: Vec<Ask> = self.asked.extract_if(.., |ask| ask.stamp <= time).collect();
        for ask in due {
            match ask.kind {
                Kind::Box => self
                    .waiting
                    .push((ask.number, ask.character, cell_of(ask.character))),
                _ => {
                    let place = state.characters[ask.character].body.place;
                    let flight = Flight::from(place, ask.towards);
                    self.flights.push(flight);
                    decided.push(Decided::Projectile {
                        number: ask.number,
                        flight,
                    });
                }
            }
        }
        let boxes = &mut self.boxes;
        self.waiting.retain(|(number, character, cell)| {
            if cell_of(*character) == *cell {
                return true;
            }
            if !boxes.contains(cell) && !field.is_solid(cell.0, cell.1) {
                boxes.push(*cell);
                decided.push(Decided::Box {
                    number: *number,
                    cell: *cell,
                });
            }
            false
        });
        self.collect(state, field, &mut decided);
        decided
    }

    fn fly(&mut self, seconds: f32, field: &Field, decided: &mut Vec<Decided>) {
        for at in (0..self.flights.len()).rev() {
            let met = self.flights[at].advance(seconds, field, &self.boxes);
            if let Met::Box(cell) = met {
                self.boxes.retain(|other| *other != cell);
                decided.push(Decided::Removed { cell });
            }
            if self.flights[at].is_over() || matches!(met, Met::Box(_)) {
                self.flights.swap_remove(at);
            }
        }
    }

    fn collect(&mut self, state: &State, field: &Field, decided: &mut Vec<Decided>) {
        for (by, character) in state.characters.iter().enumerate() {
            for kind in [Kind::Star, Kind::Item] {
                let lies = if kind == Kind::Star {
                    &mut self.star
                } else {
                    &mut self.item
                };
                if touches(character.body.place, *lies) {
                    *lies = open_cell(field, &mut self.rng);
                    let next = *lies;
                    decided.push(Decided::Collected { kind, by, next });
                }
            }
        }
    }
}

/// Whether a character reaches a star or an item.
pub(super) fn touches(place: [f32; 2], thing: [f32; 2]) -> bool {
    (place[0] - thing[0]).hypot(place[1] - thing[1]) < REACH
}

fn open_cell(field: &Field, rng: &mut Rng) -> [f32; 2] {
    let (width, height) = field.size();
    for _ in 0..1_000 {
        let cell = [width, height].map(|size| rng.below(size.max(1) as u32) as i32);
        if !field.is_solid(cell[0], cell[1]) {
            return cell.map(|at| at as f32 + 0.5);
        }
    }
    [1.5; 2]
}
