//! Who is near whom: units sorted into cells, anew in every tick.
//!
//! It is derived from the state alone, so it need not be kept with it.

use crate::place::{ONE, Place};
use crate::side::SideId;
use crate::unit::{Unit, UnitKind};

/// A cell is 2 units wide, a block 4 cells.
const CELL_BITS: u32 = 9;
const BLOCK_BITS: u32 = CELL_BITS + 2;

/// Width of a block in units; what is seen is kept for blocks.
pub(crate) const BLOCK: u16 = 1 << (BLOCK_BITS - 8);

/// What one needs to know of a unit from afar, side by side with its neighbours.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Near {
    /// Steps, which a float holds exactly; its products are computed several at once on more machines.
    pub x: f32,
    pub y: f32,
    /// Its place in the list of units.
    pub index: u16,
    pub side: SideId,
    pub kind: UnitKind,
}

impl Near {
    pub(crate) fn place(&self) -> Place {
        Place {
            x: self.x as i32,
            y: self.y as i32,
        }
    }
}

/// All units by place.
#[derive(Default, Debug)]
pub(crate) struct Grid {
    /// Cells, and blocks, in a row.
    width: usize,
    blocks_wide: usize,
    /// Where in `near` each cell begins, row by row; and the end.
    start: Vec<u16>,
    near: Vec<Near>,
    /// Which sides are present in each block.
    presence: Vec<u64>,
    cells: Vec<u32>,
}

impl Grid {
    pub(crate) fn rebuild(&mut self, size: u16, units: &[Unit], room: usize) {
        let units = &units[..units.len().min(usize::from(u16::MAX))];
        let (width, blocks_wide) = (usize::from(size) / 2, usize::from(size / BLOCK));
        (self.width, self.blocks_wide) = (width, blocks_wide);
        let limit = i32::from(size) * ONE - 1;
        let Self {
            start,
            near,
            presence,
            cells,
            ..
        } = self;
        start.clear();
        start.resize(width * width + 1, 0);
        presence.clear();
        presence.resize(blocks_wide * blocks_wide, 0);
        cells.reserve(room.saturating_sub(cells.len()));
        cells.resize(units.len(), 0);
        for (unit, cell) in units.iter().zip(cells.iter_mut()) {
            let (x, y) = (
                unit.place.x.max(0).min(limit) as u32,
                unit.place.y.max(0).min(limit) as u32,
            );
            let block = (y >> BLOCK_BITS) * blocks_wide as u32 + (x >> BLOCK_BITS);
            presence[block as usize] |= unit.side.bit();
            *cell = (y >> CELL_BITS) * width as u32 + (x >> CELL_BITS);
            start[*cell as usize] += 1;
        }
        let mut end = 0;
        for count in start.iter_mut() {
            end += *count;
            *count = end;
        }
        near.reserve(room.saturating_sub(near.len()));
        near.resize(units.len(), Near::default());
        // From the last to the first: within a cell they stay in order.
        for (index, (unit, cell)) in units.iter().zip(cells.iter()).enumerate().rev() {
            let start = &mut start[*cell as usize];
            *start -= 1;
            near[usize::from(*start)] = Near {
                x: unit.place.x as f32,
                y: unit.place.y as f32,
                index: index as u16,
                side: unit.side,
                kind: unit.kind,
            };
        }
    }

    /// A building sees, too.
    pub(crate) fn mark(&mut self, place: Place, side: SideId) {
        let (x, y) = (place.x.max(0) >> BLOCK_BITS, place.y.max(0) >> BLOCK_BITS);
        if let Some(presence) = self
            .presence
            .get_mut(y as usize * self.blocks_wide + x as usize)
        {
            *presence |= side.bit();
        }
    }

    /// All units, those of a cell side by side.
    pub(crate) fn near(&self) -> &[Near] {
        &self.near
    }

    pub(crate) fn blocks_wide(&self) -> usize {
        self.blocks_wide
    }

    /// Which sides are present in a row of blocks.
    pub(crate) fn presence(&self, row: usize) -> &[u64] {
        &self.presence[row * self.blocks_wide..(row + 1) * self.blocks_wide]
    }

    /// Units in the cells that lie within `radius` of a place along both axes, and some beyond, in runs.
    #[inline]
    pub(crate) fn around(&self, place: Place, radius: i32) -> impl Iterator<Item = &[Near]> {
        let last = self.width as i32 - 1;
        let cell = |coordinate: i32| (coordinate >> CELL_BITS).max(0).min(last) as usize;
        let (left, right) = (
            cell(place.x.saturating_sub(radius)),
            cell(place.x.saturating_add(radius)),
        );
        let rows = cell(place.y.saturating_sub(radius))..=cell(place.y.saturating_add(radius));
        rows.map(move |row| self.run(row, left, right))
    }

    /// The units of a row of cells from `left` to `right`.
    #[inline]
    fn run(&self, row: usize, left: usize, right: usize) -> &[Near] {
        let begin = self.start[row * self.width + left] as usize;
        let end = self.start[row * self.width + right + 1] as usize;
        &self.near[begin..end]
    }

    /// The nearest unit of another side within `radius`; of several the first.
    #[inline]
    pub(crate) fn nearest_enemy(&self, place: Place, side: SideId, radius: i32) -> Option<usize> {
        let last = self.width as i32 - 1;
        let cell = |coordinate: i32| (coordinate >> CELL_BITS).max(0).min(last) as usize;
        let (left, right) = (
            cell(place.x.saturating_sub(radius)),
            cell(place.x.saturating_add(radius)),
        );
        let (top, bottom) = (
            cell(place.y.saturating_sub(radius)),
            cell(place.y.saturating_add(radius)),
        );
        let (x, y) = (place.x as f32, place.y as f32);
        let mut best = ((radius * radius + 1) as f32, None);
        for block_row in top / 4..=bottom / 4 {
            let presence = self.presence(block_row);
            for (block, present) in presence
                .iter()
                .enumerate()
                .take(right / 4 + 1)
                .skip(left / 4)
            {
                if present & !side.bit() == 0 {
                    continue;
                }
                let (left, right) = (left.max(block * 4), right.min(block * 4 + 3));
                for row in top.max(block_row * 4)..=bottom.min(block_row * 4 + 3) {
                    for near in self.run(row, left, right) {
                        let (dx, dy) = (near.x - x, near.y - y);
                        let distance = dx * dx + dy * dy;
                        if distance < best.0 && near.side != side {
                            best = (distance, Some(near.index));
                        }
                    }
                }
            }
        }
        best.1.map(usize::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd() -> Vec<Unit> {
        let place = |n: i32| Place {
            x: (n * 7919) % (64 * ONE),
            y: (n * 104_729) % (64 * ONE),
        };
        let unit = |n: i32| Unit::new(UnitKind::Spear, SideId((n % 3) as u8), place(n), 0, 0);
        (0..500).map(unit).collect()
    }

    #[test]
    fn the_nearest_is_the_nearest() {
        let units = crowd();
        let mut grid = Grid::default();
        grid.rebuild(64, &units, 500);
        for unit in &units {
            for radius in [ONE, 5 * ONE, 12 * ONE] {
                let enemies = units.iter().enumerate().filter(|(_, other)| {
                    other.side != unit.side && unit.place.is_near(other.place, radius)
                });
                let distance = |at: usize| unit.place.distance_squared(units[at].place);
                let expected = enemies.map(|(at, _)| distance(at)).min();
                let found = grid.nearest_enemy(unit.place, unit.side, radius);
                assert_eq!(found.map(distance), expected);
            }
        }
    }

    #[test]
    fn everybody_around_is_found() {
        let units = crowd();
        let mut grid = Grid::default();
        grid.rebuild(64, &units, 500);
        for unit in &units {
            let found = grid.around(unit.place, 3 * ONE).flatten();
            let found = found
                .filter(|near| near.place().is_near(unit.place, 3 * ONE))
                .count();
            let near = |other: &&Unit| other.place.is_near(unit.place, 3 * ONE);
            assert_eq!(found, units.iter().filter(near).count());
        }
    }
}
