//! The field: what stands in which cell.

use samestep_sync::Record;

use crate::motion::RADIUS;
use crate::place::{Cell, ONE, Place};

/// The widest field, in cells.
pub const MAX_WIDTH: usize = 40;

/// The highest field, in cells.
pub const MAX_HEIGHT: usize = 30;

/// What stands in a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ground {
    /// Nothing.
    #[default]
    Floor,
    /// A stump: nothing destroys it.
    Stump,
    /// A box, which items destroy.
    Box,
    /// A bush: nothing destroys it, and it grows in some modes.
    Bush,
}

/// One row of cells: a bit for each column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Row {
    pub(crate) stumps: u64,
    pub(crate) boxes: u64,
    pub(crate) bushes: u64,
}

impl Row {
    /// What stands in a column.
    pub fn ground(&self, column: usize) -> Ground {
        let bit = 1u64.checked_shl(column as u32).unwrap_or(0);
        match () {
            () if self.stumps & bit != 0 => Ground::Stump,
            () if self.bushes & bit != 0 => Ground::Bush,
            () if self.boxes & bit != 0 => Ground::Box,
            () => Ground::Floor,
        }
    }

    pub(crate) fn set(&mut self, column: usize, ground: Ground) {
        let bit = 1u64.checked_shl(column as u32).unwrap_or(0);
        for (kind, bits) in [
            (Ground::Stump, &mut self.stumps),
            (Ground::Box, &mut self.boxes),
            (Ground::Bush, &mut self.bushes),
        ] {
            *bits = *bits & !bit | if kind == ground { bit } else { 0 };
        }
    }

    /// The columns in which something stands.
    pub(crate) fn solid(&self) -> u64 {
        self.stumps | self.boxes | self.bushes
    }
}

/// The cells of a field. Outside of it are stumps.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    rows: &'a [Row],
    width: i32,
}

impl<'a> Field<'a> {
    pub(crate) fn new(rows: &'a [Row], width: u8) -> Self {
        let rows = &rows[..rows.len().min(MAX_HEIGHT)];
        Self {
            rows,
            width: i32::from(width).min(MAX_WIDTH as i32),
        }
    }

    /// Cells from left to right.
    pub fn width(&self) -> i32 {
        self.width
    }

    /// Cells from top to bottom.
    pub fn height(&self) -> i32 {
        self.rows.len() as i32
    }

    /// What stands in a column and row.
    #[inline]
    pub fn ground(&self, column: i32, row: i32) -> Ground {
        if column < 0 || column >= self.width || row < 0 {
            return Ground::Stump;
        }
        match self.rows.get(row as usize) {
            Some(row) => row.ground(column as usize),
            None => Ground::Stump,
        }
    }

    /// What stands in a cell.
    pub fn at(&self, cell: Cell) -> Ground {
        let (column, row) = cell.column_and_row();
        self.ground(column, row)
    }

    /// Whether something stands in a column and row, so that nobody passes.
    #[inline]
    pub fn is_solid(&self, column: i32, row: i32) -> bool {
        if column < 0 || column >= self.width || row < 0 {
            return true;
        }
        match self.rows.get(row as usize) {
            Some(row) => row.solid() >> column & 1 != 0,
            None => true,
        }
    }

    /// Whether a place is in something solid.
    pub(crate) fn blocks(&self, place: Place) -> bool {
        let (column, row) = place.column_and_row();
        self.is_solid(column, row)
    }

    /// Whether a character can walk straight from one place to another.
    pub(crate) fn is_clear(&self, from: Place, to: Place) -> bool {
        let way = from.to(to).bounded();
        let steps = way.length() / (ONE / 4) + 1;
        let along =
            |way: i32, step: i32| (i64::from(way) * i64::from(step) / i64::from(steps)) as i32;
        (1..=steps).all(|step| {
            let middle = from.offset(Place::new(along(way.x, step), along(way.y, step)));
            let corners = [(-1, -1), (1, -1), (-1, 1), (1, 1)];
            let corners = corners.map(|(x, y)| Place::new(x * RADIUS, y * RADIUS));
            corners
                .into_iter()
                .all(|corner| !self.blocks(middle.offset(corner)))
        })
    }

    /// Every cell in which nothing stands, row by row.
    pub(crate) fn floor(&self) -> impl Iterator<Item = Cell> + use<'a> {
        let width = self.width as u8;
        let rows = (0..).zip(self.rows);
        rows.flat_map(move |(row, cells)| {
            let solid = cells.solid();
            let columns = (0..width).filter(move |column| solid >> column & 1 == 0);
            columns.map(move |column| Cell::new(column, row))
        })
    }
}
