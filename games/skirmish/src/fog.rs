//! Fog of war: what each side sees and has seen, in blocks of the map.

use samestep_sync::Record;

use crate::grid::{BLOCK, Grid};
use crate::place::{ONE, Place};
use crate::side::SideId;
use crate::skirmish::Skirmish;

/// In every tick one row in this many is brought up to date.
const ROUND: u64 = 16;

/// The visibility of a block of 8 × 8 units; one bit for each side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct FogBlock {
    /// The sides that see it now.
    pub visible: u64,
    /// The sides that have ever seen it.
    pub explored: u64,
}

impl Skirmish {
    /// Whether a side sees a place: it has a unit or a building in the block or one beside it.
    pub fn sees(&self, side: SideId, place: Place) -> bool {
        let block = self.fog_at(place);
        block.is_some_and(|block| block.visible & side.bit() != 0)
    }

    /// Whether a side has ever seen a place.
    pub fn has_explored(&self, side: SideId, place: Place) -> bool {
        let block = self.fog_at(place);
        block.is_some_and(|block| block.explored & side.bit() != 0)
    }

    fn fog_at(&self, place: Place) -> Option<&FogBlock> {
        let block = |coordinate: i32| (coordinate.max(0) / (i32::from(BLOCK) * ONE)) as usize;
        let at = block(place.y) * usize::from(self.size / BLOCK) + block(place.x);
        self.fog.get(at)
    }

    /// Brings some rows up to date with where everybody is.
    pub(crate) fn lift_fog(&mut self, tick: u64) {
        let grid = &self.scratch.grid;
        let wide = grid.blocks_wide();
        if self.fog.len() != wide * wide {
            return;
        }
        for row in ((tick % ROUND) as usize..wide).step_by(ROUND as usize) {
            see_row(&mut self.fog[row * wide..(row + 1) * wide], grid, row);
        }
    }

    /// Brings everything up to date.
    pub(crate) fn lift_all_fog(&mut self) {
        for tick in 0..ROUND {
            self.lift_fog(tick);
        }
    }
}

fn see_row(fog: &mut [FogBlock], grid: &Grid, row: usize) {
    let wide = fog.len();
    for (at, block) in fog.iter_mut().enumerate() {
        let beside = at.saturating_sub(1)..(at + 2).min(wide);
        let rows = row.saturating_sub(1)..(row + 2).min(wide);
        let seen = rows.flat_map(|row| &grid.presence(row)[beside.clone()]);
        block.visible = seen.fold(0, |all, present| all | present);
        block.explored |= block.visible;
    }
}
