//! How far rows are shown from where they are: what went on without an update, until it came.

use super::motion::Values;
use crate::stream::page::{PAGE_ROWS, rows_of};

/// Of which less is left than this is over.
const NOTHING: f64 = 1e-3;

/// The offsets of the rows of a page.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Drift {
    /// The rows that have one.
    pub(super) rows: u64,
    /// Of each field that blends.
    offsets: Vec<[f64; PAGE_ROWS]>,
    /// How much is left of the newest.
    left: f64,
}

impl Drift {
    pub(super) fn new(columns: usize) -> Drift {
        Drift {
            rows: 0,
            offsets: vec![[0.0; PAGE_ROWS]; columns],
            left: 1.0,
        }
    }

    /// A row is not where it is shown, by this much more.
    pub(super) fn push(&mut self, column: usize, row: usize, way: f64) {
        self.rows |= 1 << row;
        self.offsets[column][row] += way;
        self.left = 1.0;
    }

    /// So much is left of the offsets; false if that is nothing.
    pub(super) fn pass(&mut self, left: f64) -> bool {
        self.left *= left;
        for offsets in &mut self.offsets {
            for row in rows_of(self.rows) {
                offsets[row] *= left;
            }
        }
        self.left > NOTHING
    }

    pub(super) fn add_to(&self, values: &mut Values, rows: u64) {
        for (column, offsets) in self.offsets.iter().enumerate() {
            for row in rows_of(rows & values.active(column)) {
                values.set(column, row, values.of(column, row) + offsets[row]);
            }
        }
    }
}
