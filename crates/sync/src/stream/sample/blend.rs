//! The fields of a kind that blend, on the pages of a stream.

use core::f64::consts::{PI, TAU};

use crate::math::double as math;
use crate::record::{Blend, CellKind, Field, When};
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
    pub(super) field: usize,
    /// Its column in pages.
    pub(super) place: usize,
    kind: CellKind,
    pub(super) is_angle: bool,
    range: Option<(f64, f64)>,
    /// All of them have to be met for the field to have a meaning; with the columns of what decides.
    conditions: Vec<(usize, When)>,
    /// The least and the greatest whole number that was received: what lies between is one that the game can have.
    seen: (i64, i64),
}

impl Blending {
    pub(in crate::stream) fn new(number: usize, kind: &Kind) -> Blending {
        let ids = usize::from(kind.has_ids);
        let blends = |field: &Field| {
            let is_number = matches!(
                field.kind,
                CellKind::F32 | CellKind::F64 | CellKind::Signed | CellKind::Unsigned
            );
            field.shown.blend != Blend::Step && is_number && !field.shown.secret
        };
        let fields = kind.fields.iter().enumerate();
        let columns = fields.filter(|(_, field)| blends(field));
        let columns = columns.map(|(at, field)| Column {
            field: at,
            place: ids + at,
            kind: field.kind,
            is_angle: field.shown.blend == Blend::Angle,
            range: field.shown.range,
            conditions: conditions(&kind.fields, field, ids),
            seen: (i64::MAX, i64::MIN),
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
            if !column.is_whole() {
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
    fn is_whole(&self) -> bool {
        !matches!(self.kind, CellKind::F32 | CellKind::F64)
    }

    /// Its value in a row; `None` if it has no meaning there, or is no number.
    #[inline]
    pub(super) fn read(&self, grid: &Grid, kind: usize, page: &Page, row: usize) -> Option<f64> {
        for (place, when) in &self.conditions {
            let deciding = grid.cell(kind, when.field, page.columns[*place][row]);
            if !when.is_met(deciding) {
                return None;
            }
        }
        let cell = grid.cell(kind, self.field, page.columns[self.place][row]);
        let value = match self.kind {
            CellKind::F32 => f64::from(f32::from_bits(cell as u32)),
            CellKind::F64 => f64::from_bits(cell),
            CellKind::Signed => cell as i64 as f64,
            _ => cell as f64,
        };
        value.is_finite().then_some(value)
    }

    /// The way from one value to another: of angles the shorter.
    #[inline]
    pub(super) fn way(&self, from: f64, to: f64) -> f64 {
        match self.is_angle {
            true => turn(to - from),
            false => to - from,
        }
    }

    /// A value that is not between two that were received, but nearby: within what can be.
    pub(super) fn bounded(&self, value: f64) -> f64 {
        match self.range {
            Some((least, greatest)) if !self.is_angle => value.clamp(least, greatest),
            _ => value,
        }
    }

    /// The cell of a value.
    #[inline]
    pub(super) fn cell(&self, mut value: f64) -> u64 {
        if let (true, Some((least, greatest))) = (self.is_angle, self.range) {
            if value < least && value + TAU <= greatest {
                value += TAU;
            } else if value > greatest && value - TAU >= least {
                value -= TAU;
            }
        }
        match self.kind {
            CellKind::F32 => u64::from((value as f32).to_bits()),
            CellKind::F64 => value.to_bits(),
            CellKind::Signed => {
                let (least, greatest) = self.seen;
                (math::round(value) as i64).max(least).min(greatest) as u64
            }
            _ => {
                let (least, greatest) = (self.seen.0 as u64, self.seen.1 as u64);
                (math::round(value) as u64).max(least).min(greatest)
            }
        }
    }
}

/// An angle between −π and π.
pub(super) fn turn(angle: f64) -> f64 {
    match (-PI..=PI).contains(&angle) {
        true => angle,
        false => angle - TAU * math::round(angle / TAU),
    }
}

/// When a field has a meaning: also that which decides about it must have one.
fn conditions(fields: &[Field], field: &Field, ids: usize) -> Vec<(usize, When)> {
    let next = |when: &When| fields[when.field].when;
    let conditions = core::iter::successors(field.when, next);
    conditions.map(|when| (ids + when.field, when)).collect()
}
