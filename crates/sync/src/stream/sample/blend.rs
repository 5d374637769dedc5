//! The fields of a kind that blend, on the pages of a stream.

use crate::blend::BlendedCell;
use crate::math::double as math;
use crate::stream::grid::Grid;
use crate::stream::page::{Page, rows_of};
use crate::table::Kind;

/// What blends in the rows of a kind.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Blending {
    /// Of the kind.
    pub(super) number: usize,
    pub(super) has_ids: bool,
    pub(super) columns: Vec<Column>,
}

/// A field that blends.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) blended: BlendedCell,
    /// Its column in pages.
    pub(super) place: usize,
    /// The least and the greatest whole number that was received: what lies between is one that the game can have.
    seen: (i64, i64),
}

impl Blending {
    pub(in crate::stream) fn new(number: usize, kind: &Kind) -> Blending {
        let ids = usize::from(kind.has_ids);
        let columns = kind.fields.iter().enumerate().filter_map(|(at, field)| {
            let blended = BlendedCell::of(&kind.fields, at);
            Some(Column {
                blended: blended.filter(|_| !field.shown.secret)?,
                place: ids + at,
                seen: (i64::MAX, i64::MIN),
            })
        });
        Blending {
            number,
            has_ids: kind.has_ids,
            columns: columns.collect(),
        }
    }

    pub(in crate::stream) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Takes note of what values the game has.
    pub(in crate::stream) fn observe(&mut self, page: &Page, rows: u64) {
        for column in &mut self.columns {
            if !column.blended.is_whole() {
                continue;
            }
            let (mut least, mut greatest) = column.seen;
            for row in rows_of(rows & page.present) {
                let value = page.columns[column.place][row];
                least = least.min(value);
                greatest = greatest.max(value);
            }
            column.seen = (least, greatest);
        }
    }
}

impl Column {
    /// Its value in a row; `None` if it has no meaning there, or is no number.
    #[inline]
    pub(super) fn read(&self, grid: &Grid, kind: usize, page: &Page, row: usize) -> Option<f64> {
        let field = self.blended.field;
        for when in &self.blended.conditions {
            // Columns lie as far from each other as their fields do.
            let place = self.place + when.field - field;
            let deciding = grid.cell(kind, when.field, page.columns[place][row]);
            if !when.is_met(deciding) {
                return None;
            }
        }
        let cell = grid.cell(kind, field, page.columns[self.place][row]);
        let value = self.blended.value(cell);
        value.is_finite().then_some(value)
    }

    /// The cell of a value.
    #[inline]
    pub(super) fn cell(&self, value: f64) -> u64 {
        let (least, greatest) = self.seen;
        self.blended
            .cell(value, |value| match self.blended.is_signed() {
                true => (math::round(value) as i64).max(least).min(greatest) as u64,
                false => (math::round(value) as u64)
                    .max(least as u64)
                    .min(greatest as u64),
            })
    }
}
