//! Units do not stand on each other: whoever is too near is pushed away, a little at a time.

use samestep_sync::{math, random};

use crate::place::ONE;
use crate::skirmish::Skirmish;

/// A unit in this many is pushed each tick.
const ROUND: u64 = 6;

/// How near two units may be, in steps.
pub(crate) const APART: i32 = ONE;

/// One over the square of that.
const NEAR: f32 = 1.0 / (APART * APART) as f32;

/// How far one is pushed at once at most, along each axis.
const PUSH: i32 = ONE * 3 / 8;

impl Skirmish {
    pub(crate) fn separate(&mut self, tick: u64) {
        let grid = &self.scratch.grid;
        let units = self.units.as_mut_slice();
        let due = (tick % ROUND) as usize;
        // Those trained in this tick are not in the grid yet.
        for at in (due..grid.near().len().min(units.len())).step_by(ROUND as usize) {
            let place = units[at].place;
            let (x, y) = (place.x as f32, place.y as f32);
            let (mut px, mut py, mut here) = (0.0, 0.0, 0);
            for run in grid.around(place, APART) {
                for other in run {
                    let (dx, dy) = (x - other.x, y - other.y);
                    let squared = dx * dx + dy * dy;
                    // The push: d·(1 − d²), the same way out for all that are far enough, and no branch to guess.
                    let push = math::max(1.0 - squared * NEAR, 0.0);
                    px += dx * push;
                    py += dy * push;
                    here += u32::from(squared == 0.0);
                }
            }
            // In the very same place as somebody else: each goes its own way.
            if here > 1 {
                let dice = random::hash32(tick as u32, at as u32, 0);
                px += ((dice & 0x7f) as i32 - 64) as f32;
                py += ((dice >> 8 & 0x7f) as i32 - 64) as f32;
            }
            let unit = &mut units[at];
            // Who walks gets through, who stands gives way.
            if unit.velocity != (0, 0) {
                (px, py) = (px / 2.0, py / 2.0);
            }
            unit.place = place.offset(
                (px as i32).clamp(-PUSH, PUSH),
                (py as i32).clamp(-PUSH, PUSH),
            );
        }
    }
}
