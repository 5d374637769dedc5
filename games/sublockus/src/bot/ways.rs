//! How one gets from block to block: found by trying out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::motion::{Body, Gait, HALF, Steer};
use crate::place::{ONE, Place};
use crate::sublockus::Sublockus;
use crate::terrain::{Block, Terrain};

/// Ticks after which something that was begun must have come to an end.
const LONGEST: u32 = 110;

/// A way of getting from one block, in which one stands, to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Move {
    /// Walking on.
    Walk { direction: i8 },
    /// Leaving the ground, from the middle of a block: when to begin to steer, and for how long.
    Leap {
        direction: i8,
        jump: bool,
        down: bool,
        after: u8,
        ticks: u8,
    },
}

impl Move {
    /// The controls in a tick after it was begun.
    pub fn steer(self, tick: u32) -> Steer {
        match self {
            Move::Walk { direction } => Steer {
                direction: i32::from(direction),
                ..Steer::default()
            },
            Move::Leap {
                direction,
                jump,
                down,
                after,
                ticks,
            } => {
                let (after, ticks) = (u32::from(after), u32::from(ticks));
                let is_steering = tick >= after && tick - after < ticks;
                Steer {
                    direction: i32::from(direction) * i32::from(is_steering),
                    jump: jump && tick < 40,
                    down: down && tick < 12,
                }
            }
        }
    }
}

/// All leaps that are tried.
fn leaps() -> impl Iterator<Item = Move> {
    let leap = |direction, jump, after, ticks| Move::Leap {
        direction,
        jump,
        down: false,
        after,
        ticks,
    };
    let sideways = [-1, 1].into_iter().flat_map(move |direction| {
        [
            leap(direction, false, 0, 255),
            leap(direction, true, 0, 12),
            leap(direction, true, 0, 17),
            leap(direction, true, 0, 23),
            leap(direction, true, 0, 30),
            leap(direction, true, 0, 255),
            leap(direction, true, 16, 10),
            leap(direction, true, 16, 255),
        ]
    });
    let straight = [
        leap(0, true, 0, 0),
        Move::Leap {
            direction: 0,
            jump: false,
            down: true,
            after: 0,
            ticks: 0,
        },
    ];
    sideways.chain(straight)
}

/// A block in which one can stand: its place in the arena, row by row.
pub(super) type Stand = u32;

#[derive(Clone, Copy, Debug)]
struct Edge {
    to: Stand,
    ticks: u32,
    by: Move,
}

/// The paths through an arena at a given speed, computed on demand.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways {
    /// The speed and arena they were found for.
    key: Option<(u64, i32)>,
    width: i32,
    edges: Vec<Option<Box<[Edge]>>>,
    /// Ticks to each block in the last search, and the move that leads there.
    reached: Vec<(u32, Option<(Stand, Move)>)>,
}

impl Ways {
    /// Forgets everything if the arena or the speed is another.
    pub fn prepare(&mut self, game: &Sublockus, speed: i32) {
        let terrain = game.terrain();
        let blocks = terrain.rows().iter().fold(17, |hash, row| {
            samestep_sync::random::hash(hash, row.bits(0), row.bits(1) ^ row.bits(2) ^ row.bits(3))
        });
        let key = Some((blocks, speed));
        if self.key == key {
            return;
        }
        self.key = key;
        self.width = terrain.width();
        let count = (terrain.width() * terrain.height()) as usize;
        self.edges.clear();
        self.edges.resize(count, None);
    }

    fn place(&self, stand: Stand) -> (i32, i32) {
        (
            stand as i32 % self.width.max(1),
            stand as i32 / self.width.max(1),
        )
    }

    /// The middle of a character that stands there.
    pub fn standing(&self, stand: Stand) -> Place {
        let (column, row) = self.place(stand);
        Place::new(column * ONE + ONE / 2, (row + 1) * ONE - HALF.y)
    }

    /// Where a body stands, if it does.
    pub fn stand_of(&self, body: &Body, terrain: &Terrain<'_>) -> Option<Stand> {
        if !body.is_grounded {
            return None;
        }
        let feet = body.feet().bounded();
        let row = feet.y / ONE - 1;
        let columns = [feet.x, feet.x - HALF.x, feet.x + HALF.x - 1].map(|x| x.div_euclid(ONE));
        let column = columns
            .into_iter()
            .find(|column| can_stand(terrain, *column, row))?;
        self.number(column, row)
    }

    fn number(&self, column: i32, row: i32) -> Option<Stand> {
        let stand = (row * self.width + column) as u32;
        ((stand as usize) < self.edges.len()).then_some(stand)
    }

    /// The block on which a character that falls from a place lands.
    fn ground_below(&self, place: Place, terrain: &Terrain<'_>) -> Place {
        let (column, row) = place.bounded().block();
        let mut rows = row..terrain.height();
        let stand = rows.find(|row| can_stand(terrain, column, *row));
        let stand = stand.and_then(|row| self.number(column, row));
        stand.map_or(place.bounded(), |stand| self.standing(stand))
    }

    /// Tries everything out from a block.
    fn try_out(&self, from: Stand, gait: Gait, terrain: &Terrain<'_>) -> Box<[Edge]> {
        let (column, row) = self.place(from);
        let mut edges: Vec<Edge> = Vec::new();
        for direction in [-1, 1] {
            let beside = column + i32::from(direction);
            if can_stand(terrain, beside, row)
                && let Some(to) = self.number(beside, row)
            {
                let ticks = (ONE / gait.speed.max(1)) as u32 + 1;
                let by = Move::Walk { direction };
                edges.push(Edge { to, ticks, by });
            }
        }
        for by in leaps() {
            let Some((to, ticks)) = self.land(from, by, gait, terrain) else {
                continue;
            };
            match edges.iter_mut().find(|edge| edge.to == to) {
                Some(edge) if edge.ticks <= ticks => {}
                Some(edge) => *edge = Edge { to, ticks, by },
                None if to != from => edges.push(Edge { to, ticks, by }),
                None => {}
            }
        }
        edges.into()
    }

    /// Where a leap leads, and in how many ticks.
    fn land(
        &self,
        from: Stand,
        leap: Move,
        gait: Gait,
        terrain: &Terrain<'_>,
    ) -> Option<(Stand, u32)> {
        let mut body = Body::at(self.standing(from));
        body.is_grounded = true;
        let mut has_left = false;
        for tick in 0..LONGEST {
            body.advance(leap.steer(tick), gait, terrain);
            if terrain.touches(body.place, HALF, Block::Thorns) {
                return None;
            }
            has_left |= !body.is_grounded;
            if body.is_grounded && has_left {
                // Getting to the middle of a block to leap takes time as well.
                return Some((self.stand_of(&body, terrain)?, tick + 20));
            }
            if !has_left && tick > 25 {
                return None;
            }
        }
        None
    }

    /// The moves that lead from a block to where it is nearest to a goal, the last one first; and the block they lead to.
    pub fn find(
        &mut self,
        from: Stand,
        goal: Place,
        gait: Gait,
        terrain: &Terrain<'_>,
        path: &mut Vec<(Stand, Move)>,
    ) {
        path.clear();
        if from as usize >= self.edges.len() {
            return;
        }
        self.reached.clear();
        self.reached.resize(self.edges.len(), (u32::MAX, None));
        self.reached[from as usize].0 = 0;
        let goal = self.ground_below(goal, terrain);
        let far = |stand: Stand, ways: &Self| ways.standing(stand).distance(goal);
        // Ticks that are left at least.
        let (width, speed) = (self.width.max(1), gait.speed.max(1) as u32);
        let left = |stand: Stand| {
            let x = stand as i32 % width * ONE + ONE / 2;
            (x - goal.x).unsigned_abs() / speed
        };
        let mut best = (far(from, self), from);
        let mut open = BinaryHeap::from([Reverse((left(from), 0, from))]);
        while let Some(Reverse((_, ticks, at))) = open.pop() {
            if ticks > self.reached[at as usize].0 {
                continue;
            }
            best = best.min((far(at, self), at));
            if best.0 < ONE {
                break;
            }
            if self.edges[at as usize].is_none() {
                self.edges[at as usize] = Some(self.try_out(at, gait, terrain));
            }
            let edges = self.edges[at as usize].as_deref().unwrap_or_default();
            for edge in edges {
                let total = ticks + edge.ticks;
                let reached = &mut self.reached[edge.to as usize];
                if total < reached.0 {
                    *reached = (total, Some((at, edge.by)));
                    open.push(Reverse((total + left(edge.to), total, edge.to)));
                }
            }
        }
        let mut at = best.1;
        while let Some((before, by)) = self.reached[at as usize].1 {
            path.push((at, by));
            at = before;
        }
    }
}

/// Whether a character can stand in a block: there is ground, and room for the head.
pub(super) fn can_stand(terrain: &Terrain<'_>, column: i32, row: i32) -> bool {
    let is_free = |row| matches!(terrain.block(column, row), Block::Air | Block::Ledge);
    let carries = matches!(terrain.block(column, row + 1), Block::Rock | Block::Ledge);
    carries && is_free(row) && is_free(row - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::RUN;
    use crate::{ArenaChoice, Builtin, SublockusConfig};

    #[test]
    fn every_place_of_every_arena_can_be_reached_from_every_spawn_point() {
        for builtin in Builtin::ALL {
            let config = SublockusConfig {
                arena: ArenaChoice::Builtin(builtin),
                ..SublockusConfig::default()
            };
            let game = Sublockus::new(&config).unwrap();
            let (arena, terrain) = (game.arena(), game.terrain());
            let gait = Gait {
                speed: RUN,
                air_jumps: 0,
            };
            let mut ways = Ways::default();
            ways.prepare(&game, RUN);
            let mut path = Vec::new();
            let pads = arena.pads().iter().map(|pad| pad.spot);
            let spots: Vec<_> = arena.spawns().iter().copied().chain(pads).collect();
            let mut missed = Vec::new();
            for from in arena.spawns() {
                let begin = ways.number(from.column.into(), from.row.into()).unwrap();
                for to in &spots {
                    ways.find(begin, to.standing(), gait, &terrain, &mut path);
                    let end = path.first().map_or(begin, |(to, _)| *to);
                    let left = ways.standing(end).distance(to.standing());
                    if left >= 2 * ONE {
                        missed.push((from, to));
                    }
                }
            }
            assert_eq!(
                missed.first(),
                None,
                "{builtin:?}, and {} more",
                missed.len()
            );
        }
    }

    #[test]
    fn leaps_end_where_they_are_said_to() {
        let game = Sublockus::new(&SublockusConfig::duel(1)).unwrap();
        let terrain = game.terrain();
        let gait = Gait {
            speed: RUN,
            air_jumps: 0,
        };
        let mut ways = Ways::default();
        ways.prepare(&game, RUN);
        let mut leaps = 0;
        for from in 0..ways.edges.len() as Stand {
            let (column, row) = ways.place(from);
            if !can_stand(&terrain, column, row) {
                continue;
            }
            for edge in ways.try_out(from, gait, &terrain) {
                let Move::Leap { .. } = edge.by else {
                    continue;
                };
                assert_ne!(edge.to, from);
                let landed = ways.land(from, edge.by, gait, &terrain);
                assert_eq!(landed, Some((edge.to, edge.ticks)));
                leaps += 1;
            }
        }
        assert!(leaps > 200, "{leaps}");
    }
}
