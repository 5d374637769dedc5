//! The fields of a kind that pass over from one value to the next.

use crate::blend::BlendedCell;
use crate::math::double as math;
use crate::table::{Kind, Rows};

/// A cell that blends.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) blended: BlendedCell,
    /// Columns that are one field of the game, such as the coordinates of a place, move together.
    pub(super) group: usize,
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
            let Some(blended) = BlendedCell::of(&kind.fields, cell) else {
                continue;
            };
            let is_angle = blended.is_angle;
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
                blended,
                group: blending.groups.len() - 1,
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
            if !column.blended.is_whole() {
                continue;
            }
            let (mut least, mut greatest) = column.seen;
            for row in rows.cells.chunks_exact(width) {
                let value = column.blended.value(row[column.blended.field]);
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
            Some((to, column.blended.way(from, to)))
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
        let mut conditions = self.blended.conditions.iter();
        let is_there = conditions.all(|when| when.is_met(row[when.field]));
        let value = self.blended.value(row[self.blended.field]);
        (is_there && value.is_finite()).then_some(value)
    }

    /// The cell of a value.
    pub(super) fn write(&self, value: f64) -> u64 {
        self.blended.cell(value, |value| {
            let whole = math::round(value).clamp(self.seen.0, self.seen.1);
            match self.blended.is_signed() {
                true => whole as i64 as u64,
                false => whole as u64,
            }
        })
    }
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
