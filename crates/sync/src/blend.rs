//! Cells that blend: numbers that are shown between two of their values.

use core::f64::consts::{PI, TAU};

use crate::math::double as math;
use crate::record::{Blend, CellKind, Field, When};

/// A cell that blends.
#[derive(Clone, Debug)]
pub(crate) struct BlendedCell {
    /// Its place among the fields of its row.
    pub(crate) field: usize,
    pub(crate) is_angle: bool,
    /// All of them have to be met for the cell to have a meaning: what decides about it must have one as well.
    pub(crate) conditions: Vec<When>,
    kind: CellKind,
    range: Option<(f64, f64)>,
}

impl BlendedCell {
    /// The cell of a field, if that is a number which blends.
    pub(crate) fn of(fields: &[Field], at: usize) -> Option<BlendedCell> {
        use CellKind::{F32, F64, Signed, Unsigned};
        let field = &fields[at];
        let blends = field.shown.blend != Blend::Step;
        let next = |when: &When| fields[when.field].when;
        (blends && matches!(field.kind, F32 | F64 | Signed | Unsigned)).then(|| BlendedCell {
            field: at,
            is_angle: field.shown.blend == Blend::Angle,
            conditions: core::iter::successors(field.when, next).collect(),
            kind: field.kind,
            range: field.shown.range,
        })
    }

    pub(crate) fn is_whole(&self) -> bool {
        !matches!(self.kind, CellKind::F32 | CellKind::F64)
    }

    pub(crate) fn is_signed(&self) -> bool {
        self.kind == CellKind::Signed
    }

    /// The value of a cell.
    #[inline]
    pub(crate) fn value(&self, cell: u64) -> f64 {
        match self.kind {
            CellKind::F32 => f64::from(f32::from_bits(cell as u32)),
            CellKind::F64 => f64::from_bits(cell),
            CellKind::Signed => cell as i64 as f64,
            _ => cell as f64,
        }
    }

    /// The cell of a value; `whole` rounds it where the cell holds a whole number.
    #[inline]
    pub(crate) fn cell(&self, mut value: f64, whole: impl FnOnce(f64) -> u64) -> u64 {
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
            _ => whole(value),
        }
    }

    /// The way from one value to another: of angles the shorter.
    #[inline]
    pub(crate) fn way(&self, from: f64, to: f64) -> f64 {
        match self.is_angle {
            true => turn(to - from),
            false => to - from,
        }
    }

    /// A value that is not between two that were received, but nearby: within what can be.
    pub(crate) fn bounded(&self, value: f64) -> f64 {
        match self.range {
            Some((least, greatest)) if !self.is_angle => value.clamp(least, greatest),
            _ => value,
        }
    }
}

/// An angle between −π and π.
pub(crate) fn turn(angle: f64) -> f64 {
    match (-PI..=PI).contains(&angle) {
        true => angle,
        false => angle - TAU * math::round(angle / TAU),
    }
}
