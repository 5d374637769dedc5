//! How far what is shown is from what is right.

use super::frame::Frame;
use crate::table::Rows;

/// An offset of which less is left than this is over.
const NOTHING: f32 = 1e-4;

/// The offsets of a kind, for each row of the newest frame; none at all if there are none.
#[derive(Clone, Debug, Default)]
pub(super) struct Offsets {
    /// How much is left of the row's offset: 1 when it was corrected last, 0 if there is none.
    left: Vec<f32>,
    /// For each row as many as there are columns.
    values: Vec<f64>,
    width: usize,
    count: usize,
    /// How many of them have an offset.
    rows: usize,
}

impl Offsets {
    pub(super) fn clear(&mut self) {
        self.left.clear();
        self.values.clear();
        self.rows = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The offset of a row.
    pub(super) fn of(&self, row: usize) -> Option<&[f64]> {
        let is_there = self.left.get(row).is_some_and(|left| *left > 0.0);
        is_there.then(|| &self.values[row * self.width..][..self.width])
    }

    /// Time has passed: so much is left of everything.
    pub(super) fn decay(&mut self, factor: f64) {
        if self.is_empty() {
            return;
        }
        for (row, left) in self.left.iter_mut().enumerate() {
            if *left == 0.0 {
                continue;
            }
            *left *= factor as f32;
            if *left < NOTHING {
                *left = 0.0;
                self.rows -= 1;
                continue;
            }
            for value in &mut self.values[row * self.width..][..self.width] {
                *value *= factor;
            }
        }
        if self.rows == 0 {
            self.clear();
        }
    }

    /// The frame that these are of is followed by another.
    pub(super) fn realign(
        &mut self,
        kind: usize,
        before: &mut Frame,
        after: &Rows,
        next: &mut Self,
    ) {
        let rows = before.rows(kind);
        if self.is_empty() || rows.ids == after.ids && rows.count == after.count {
            return;
        }
        before.align(kind, after);
        next.begin(after.count, self.width);
        for row in 0..after.count {
            if let Some(before) = before.same_row(kind, after, row) {
                next.keep(row, self, before);
            }
        }
        core::mem::swap(self, next);
    }

    /// No offsets, of so many rows from here on. Nothing is touched until there is one.
    pub(super) fn begin(&mut self, count: usize, width: usize) {
        self.clear();
        (self.count, self.width) = (count, width);
    }

    /// Keeps the offset that a row had before, if it had one.
    pub(super) fn keep(&mut self, row: usize, before: &Offsets, at: usize) {
        if let Some(values) = before.of(at) {
            self.put(row, before.left[at], values);
        }
    }

    /// A row has been corrected.
    pub(super) fn correct(&mut self, row: usize, values: &[f64]) {
        if values.iter().any(|value| *value != 0.0) {
            self.put(row, 1.0, values);
        }
    }

    fn put(&mut self, row: usize, left: f32, values: &[f64]) {
        if self.rows == 0 {
            self.left.resize(self.count, 0.0);
            self.values.resize(self.count * self.width, 0.0);
        }
        self.rows += 1;
        self.left[row] = left;
        self.values[row * self.width..][..self.width].copy_from_slice(values);
    }
}
