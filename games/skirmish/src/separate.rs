//! Units do not stand on each other: whoever is too near is pushed away, a little at a time.

use crate::config::around;
use crate::place::ONE;
use crate::skirmish::Skirmish;

/// A unit in this many is pushed each tick.
const ROUND: u64 = 4;

/// How near two units may be, in steps.
pub(crate) const APART: i32 = ONE;

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
            let (mut px, mut py, mut here) = (0, 0, 0);
            for run in grid.around(place, APART) {
                for other in run {
                    let (dx, dy) = (place.x - other.x, place.y - other.y);
                    let squared = dx * dx + dy * dy;
                    // The push: d·(1 − d²), the same way out for all that are far enough, and no branch to guess.
                    let push = (APART * APART - squared).max(0);
                    px += (dx * push) >> 16;
                    py += (dy * push) >> 16;
                    here += i32::from(squared == 0);
                }
            }
            // In the very same place as somebody else: each goes its own way.
            if here > 1 {
                let away = around(place, 1, at);
                px += (away.x - place.x) / 4;
                py += (away.y - place.y) / 4;
            }
            let unit = &mut units[at];
            unit.place = place.offset(px.clamp(-PUSH, PUSH), py.clamp(-PUSH, PUSH));
        }
    }
}
