//! How bodies move: running, jumping, falling, and what stops them.

use samestep_sync::Record;

use crate::place::{ONE, Place};
use crate::terrain::{Block, Terrain};

/// How far a character reaches from its middle to each side, and up and down.
pub const HALF: Place = Place::new(360, 896);

/// How fast one runs without help, in units per tick: 8 blocks a second.
pub const RUN: i32 = 136;

/// The initial speed of a jump, which leads three and a half blocks up.
const JUMP: i32 = 290;

/// Gravity: the change of the vertical speed per tick, and while rising without holding the jump.
const GRAVITY: i32 = 11;
const HEAVY: i32 = 17;

/// Nobody moves faster along an axis: less than a block in a tick, so that nothing is passed unnoticed.
pub(crate) const FASTEST: i32 = 640;
const FASTEST_FALL: i32 = 420;

/// How quickly speed changes: on the ground and in the air, by will and by itself.
const PUSH: [i32; 2] = [24, 12];
const DRAG: [i32; 2] = [18, 4];

/// A body that moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Body {
    /// Its middle.
    pub place: Place,
    /// Units per tick.
    pub velocity: Velocity,
    /// Whether it stands on something.
    pub is_grounded: bool,
    /// Whether the jump was held in the tick before: one jumps anew by letting go first.
    pub(crate) holds_jump: bool,
    /// Jumps in the air since it stood.
    pub(crate) air_jumps: u8,
}

/// Units per tick, to the right and down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Velocity {
    /// To the right.
    pub x: i32,
    /// Down.
    pub y: i32,
}

/// The wanted direction of a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Steer {
    /// -1 to the left, 1 to the right.
    pub direction: i32,
    pub jump: bool,
    pub down: bool,
}

/// How a body moves: its speeds and jumps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gait {
    pub speed: i32,
    /// Jumps without ground.
    pub air_jumps: u8,
}

impl Body {
    pub(crate) fn at(place: Place) -> Self {
        Self {
            place,
            ..Self::default()
        }
    }

    /// The place of its feet.
    pub fn feet(&self) -> Place {
        self.place.offset(Place::new(0, HALF.y))
    }

    pub(crate) fn push(&mut self, by: Place) {
        self.velocity.x = self.velocity.x.saturating_add(by.x);
        self.velocity.y = self.velocity.y.saturating_add(by.y);
    }

    /// One tick. Returns whether it jumped.
    pub(crate) fn advance(&mut self, steer: Steer, gait: Gait, terrain: &Terrain<'_>) -> bool {
        let air = usize::from(!self.is_grounded);
        self.velocity.x = match steer.direction {
            0 => towards(self.velocity.x, 0, DRAG[air]),
            direction => {
                let wanted = direction * gait.speed;
                let is_faster = self.velocity.x * direction > gait.speed;
                let by = if is_faster { DRAG[air] } else { PUSH[air] };
                towards(self.velocity.x, wanted, by)
            }
        };
        let jumped = self.jump(steer, gait);
        let is_light = self.velocity.y >= 0 || steer.jump;
        self.velocity.y += if is_light { GRAVITY } else { HEAVY };
        self.velocity.x = self.velocity.x.clamp(-FASTEST, FASTEST);
        self.velocity.y = self.velocity.y.clamp(-FASTEST, FASTEST_FALL);
        self.move_across(terrain);
        self.move_down(steer.down, terrain);
        self.keep_inside(terrain);
        jumped
    }

    fn jump(&mut self, steer: Steer, gait: Gait) -> bool {
        let wants = steer.jump && !self.holds_jump;
        self.holds_jump = steer.jump;
        if !wants {
            return false;
        }
        if !self.is_grounded {
            if self.air_jumps >= gait.air_jumps {
                return false;
            }
            self.air_jumps += 1;
        }
        self.velocity.y = -JUMP;
        true
    }

    fn move_across(&mut self, terrain: &Terrain<'_>) {
        let speed = self.velocity.x;
        self.place.x += speed;
        if speed == 0 {
            return;
        }
        let edge = match speed > 0 {
            true => self.place.x + HALF.x - 1,
            false => self.place.x - HALF.x,
        };
        let column = edge.div_euclid(ONE);
        let (top, bottom) = self.rows();
        if (top..=bottom).any(|row| terrain.is_rock(column, row)) {
            self.place.x = match speed > 0 {
                true => column * ONE - HALF.x,
                false => (column + 1) * ONE + HALF.x,
            };
            self.velocity.x = 0;
        }
    }

    fn move_down(&mut self, falls_through: bool, terrain: &Terrain<'_>) {
        let (speed, feet) = (self.velocity.y, self.place.y + HALF.y);
        self.place.y += speed;
        self.is_grounded = false;
        let left = (self.place.x - HALF.x).div_euclid(ONE);
        let right = (self.place.x + HALF.x - 1).div_euclid(ONE);
        if speed < 0 {
            let row = (self.place.y - HALF.y).div_euclid(ONE);
            if (left..=right).any(|column| terrain.is_rock(column, row)) {
                self.place.y = (row + 1) * ONE + HALF.y;
                self.velocity.y = 0;
            }
            return;
        }
        let row = (self.place.y + HALF.y - 1).div_euclid(ONE);
        let from_above = feet <= row * ONE;
        let carries = |column: i32| match terrain.block(column, row) {
            Block::Rock => true,
            Block::Ledge => from_above && !falls_through,
            Block::Air | Block::Thorns => false,
        };
        if (left..=right).any(carries) {
            self.place.y = row * ONE - HALF.y;
            self.velocity.y = 0;
            self.is_grounded = true;
            self.air_jumps = 0;
        }
    }

    fn rows(&self) -> (i32, i32) {
        (
            (self.place.y - HALF.y).div_euclid(ONE),
            (self.place.y + HALF.y - 1).div_euclid(ONE),
        )
    }

    /// A state may be forged by a hostile peer.
    pub(crate) fn keep_inside(&mut self, terrain: &Terrain<'_>) {
        let within = |at: i32, half: i32, blocks: i32| {
            let most = (blocks.max(2) * ONE - half).max(half);
            at.clamp(half, most)
        };
        self.place.x = within(self.place.x, HALF.x, terrain.width());
        self.place.y = within(self.place.y, HALF.y, terrain.height());
        self.velocity.x = self.velocity.x.clamp(-FASTEST, FASTEST);
        self.velocity.y = self.velocity.y.clamp(-FASTEST, FASTEST);
    }
}

fn towards(now: i32, wanted: i32, by: i32) -> i32 {
    match now < wanted {
        true => now.saturating_add(by).min(wanted),
        false => now.saturating_sub(by).max(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Arena;

    const GAIT: Gait = Gait {
        speed: RUN,
        air_jumps: 0,
    };

    fn arena() -> Arena {
        let rows = [
            "################",
            "#              #",
            "#              #",
            "#              #",
            "#              #",
            "#   ---        #",
            "#            ###",
            "# S   S      ###",
            "################",
        ];
        Arena::parse(&format!("name: Test\n\n{}\n", rows.join("\n"))).unwrap()
    }

    fn run(body: &mut Body, ticks: u32, steer: Steer, gait: Gait) -> u32 {
        let arena = arena();
        let step = |_| u32::from(body.advance(steer, gait, &arena.terrain()));
        (0..ticks).map(step).sum()
    }

    fn standing() -> Body {
        let mut body = Body::at(Place::middle_of(2, 6));
        run(&mut body, 60, Steer::default(), GAIT);
        assert!(body.is_grounded);
        assert_eq!(body.feet().y, 8 * ONE);
        body
    }

    #[test]
    fn one_runs_into_a_wall_and_stops_at_it() {
        let mut body = standing();
        let right = Steer {
            direction: 1,
            ..Steer::default()
        };
        run(&mut body, 20, right, GAIT);
        assert_eq!(body.velocity.x, RUN);
        run(&mut body, 200, right, GAIT);
        assert_eq!(body.place.x, 13 * ONE - HALF.x);
        assert_eq!(body.velocity, Velocity::default());
        let left = Steer {
            direction: -1,
            ..right
        };
        run(&mut body, 300, left, GAIT);
        assert_eq!(body.place.x, ONE + HALF.x);
    }

    #[test]
    fn a_jump_is_three_and_a_half_blocks_high_and_needs_the_ground() {
        let mut body = standing();
        let up = Steer {
            jump: true,
            ..Steer::default()
        };
        let (mut highest, mut jumps) = (body.place.y, 0);
        for _ in 0..120 {
            jumps += run(&mut body, 1, up, GAIT);
            highest = highest.min(body.place.y);
        }
        let height = standing().place.y - highest;
        assert!((3 * ONE + 300..4 * ONE).contains(&height), "{height}");
        assert_eq!(jumps, 1, "who holds on does not jump again");
        // A jump that is released at once is lower.
        let mut body = standing();
        run(&mut body, 1, up, GAIT);
        let mut low = body.place.y;
        for _ in 0..60 {
            run(&mut body, 1, Steer::default(), GAIT);
            low = low.min(body.place.y);
        }
        assert!(low > highest + ONE / 2);
    }

    #[test]
    fn wings_give_a_second_jump_in_the_air() {
        let gait = Gait {
            air_jumps: 1,
            ..GAIT
        };
        let mut body = standing();
        let up = Steer {
            jump: true,
            ..Steer::default()
        };
        let mut jumps = 0;
        for _ in 0..4 {
            jumps += run(&mut body, 5, up, gait);
            jumps += run(&mut body, 5, Steer::default(), gait);
        }
        assert_eq!(jumps, 2);
    }

    #[test]
    fn ledges_carry_from_above_only() {
        let mut body = Body::at(Place::new(5 * ONE, 7 * ONE));
        run(&mut body, 30, Steer::default(), GAIT);
        let up = Steer {
            jump: true,
            ..Steer::default()
        };
        run(&mut body, 25, up, GAIT);
        run(&mut body, 60, Steer::default(), GAIT);
        assert_eq!(body.feet().y, 5 * ONE, "through it from below, and onto it");
        let down = Steer {
            down: true,
            ..Steer::default()
        };
        run(&mut body, 60, down, GAIT);
        assert_eq!(body.feet().y, 8 * ONE);
    }

    #[test]
    fn nobody_gets_out_however_hard_it_is_pushed() {
        let arena = arena();
        let mut rng = samestep_sync::Rng::new(5);
        let mut body = standing();
        for _ in 0..5000 {
            if rng.below(10) == 0 {
                let mut push = || rng.range(-3000..3000);
                body.push(Place::new(push(), push()));
            }
            let steer = Steer {
                direction: rng.range(-1..2),
                jump: rng.below(2) == 0,
                down: rng.below(4) == 0,
            };
            body.advance(steer, GAIT, &arena.terrain());
            let inside = body.place;
            assert!(
                !arena.terrain().touches(inside, HALF, Block::Rock),
                "{inside:?}"
            );
        }
    }
}
