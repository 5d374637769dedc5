//! The fields of a kind that pass over from one value to the next.

use core::f64::consts::{PI, TAU};

use crate::math::double as math;
use crate::record::{Blend, CellKind, Field, When};
use crate::table::{Kind, Rows};

/// A cell that blends.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) cell: usize,
    kind: CellKind,
    pub(super) is_angle: bool,
    range: Option<(f64, f64)>,
    /// Columns that are one field of the game, such as the coordinates of a place, move together.
    pub(super) group: usize,
    /// All of them have to be met for the cell to have a meaning.
    conditions: Vec<When>,
    /// The least and the greatest whole number that the game ever had here: what lies between is one that it can have.
    seen: (f64, f64),
}

/// A field of the game: columns next to each other.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) is_angle: bool,
    /// What is farther away is not on the way from one to the other.
    pub(super) snap: f64,
}

/// What blends in the rows of a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Blending {
    pub(super) columns: Vec<Column>,
    pub(super) groups: Vec<Group>,
}

impl Blending {
    pub(super) fn new(kind: &Kind, snap: f64) -> Blending {
        let mut blending = Blending::default();
        for (cell, field) in kind.fields.iter().enumerate() {
            if field.shown.blend == Blend::Step || !is_number(field.kind) {
                continue;
            }
            let is_angle = field.shown.blend == Blend::Angle;
            let name = group_name(&kind.name, &field.name);
            let last = blending.groups.last();
            if last.is_none_or(|group| group.name != name || group.is_angle != is_angle) {
                let snap = if is_angle { f64::INFINITY } else { snap };
                blending.groups.push(Group {
                    name,
                    is_angle,
                    snap,
                });
            }
            blending.columns.push(Column {
                cell,
                kind: field.kind,
                is_angle,
                range: field.shown.range,
                group: blending.groups.len() - 1,
                conditions: conditions(&kind.fields, field),
                seen: (f64::INFINITY, f64::NEG_INFINITY),
            });
        }
        blending
    }

    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Takes note of what values the game has.
    pub(super) fn observe(&mut self, rows: &Rows, width: usize) {
        for column in &mut self.columns {
            if matches!(column.kind, CellKind::F32 | CellKind::F64) {
                continue;
            }
            let (mut least, mut greatest) = column.seen;
            for row in rows.cells.chunks_exact(width) {
                let value = value(column.kind, row[column.cell]);
                least = math::min(least, value);
                greatest = math::max(greatest, value);
            }
            column.seen = (least, greatest);
        }
    }

    /// What lies at `part` of the way between two rows, for each column; not a number where nothing blends.
    pub(super) fn between(
        &self,
        from: Option<&[u64]>,
        to: &[u64],
        part: f64,
        values: &mut Vec<f64>,
    ) {
        let way = |column: &Column| {
            let to = column.read(to)?;
            let from = from.and_then(|from| column.read(from)).unwrap_or(to);
            Some((to, column.way(from, to)))
        };
        values.clear();
        let columns = self.columns.chunk_by(|a, b| a.group == b.group);
        for group in columns {
            let snap = self.groups[group[0].group].snap;
            let squares = group.iter().filter_map(way).map(|(_, way)| way * way);
            let left = match snap < f64::INFINITY && squares.sum::<f64>() > snap * snap {
                true => 0.0,
                false => 1.0 - part,
            };
            let value = |column| way(column).map_or(f64::NAN, |(to, way)| to - way * left);
            values.extend(group.iter().map(value));
        }
    }
}

impl Column {
    /// Its value in a row; `None` if it has no meaning there, or is no number.
    pub(super) fn read(&self, row: &[u64]) -> Option<f64> {
        let is_there = self
            .conditions
            .iter()
            .all(|when| when.is_met(row[when.field]));
        let value = value(self.kind, row[self.cell]);
        (is_there && value.is_finite()).then_some(value)
    }

    /// The way from one value to another: of angles the shorter.
    pub(super) fn way(&self, from: f64, to: f64) -> f64 {
        match self.is_angle {
            true => turn(to - from),
            false => to - from,
        }
    }

    /// The cell of a value.
    pub(super) fn write(&self, mut value: f64) -> u64 {
        if let (true, Some((least, greatest))) = (self.is_angle, self.range) {
            if value < least && value + TAU <= greatest {
                value += TAU;
            } else if value > greatest && value - TAU >= least {
                value -= TAU;
            }
        }
        let whole = || math::round(value).clamp(self.seen.0, self.seen.1);
        match self.kind {
            CellKind::F32 => u64::from((value as f32).to_bits()),
            CellKind::F64 => value.to_bits(),
            CellKind::Signed => whole() as i64 as u64,
            _ => whole() as u64,
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

fn is_number(kind: CellKind) -> bool {
    use CellKind::{F32, F64, Signed, Unsigned};
    matches!(kind, F32 | F64 | Signed | Unsigned)
}

fn value(kind: CellKind, cell: u64) -> f64 {
    match kind {
        CellKind::F32 => f64::from(f32::from_bits(cell as u32)),
        CellKind::F64 => f64::from_bits(cell),
        CellKind::Signed => cell as i64 as f64,
        _ => cell as f64,
    }
}

/// When a field has a meaning: also that which decides about it must have one.
fn conditions(fields: &[Field], field: &Field) -> Vec<When> {
    let next = |when: &When| fields[when.field].when;
    core::iter::successors(field.when, next).collect()
}

/// `"units.position"` for `"position.0"` of the kind `"units"`: coordinates are one thing.
fn group_name(kind: &str, field: &str) -> String {
    let field = match field.rsplit_once('.') {
        Some((field, _)) => field,
        None if field.parse::<u8>().is_ok() => "",
        None => field,
    };
    let mut name = String::from(kind);
    if !field.is_empty() {
        name.push('.');
        name.push_str(field);
    }
    name
}
