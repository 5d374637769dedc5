//! The grid of the wire: which values a field can have in a stream.

use super::page::{Column, PAGE_ROWS};
use crate::record::{CellKind, Field};
use crate::table::{Rows, Schema, Table};

/// What a stream makes of the cells of a schema: floats that declare a `precision` lie on its steps, everything else is exact,
/// and what is `secret` is zero.
///
/// ```
/// use samestep_sync::{Entities, Grid, Record, Replicate, Table};
///
/// #[derive(Clone, Record)]
/// struct Car {
///     #[field(range(0.0, 100.0), precision = 0.25)]
///     at: f32,
///     #[field(secret)]
///     plan: u8,
/// }
///
/// #[derive(Clone, Replicate)]
/// struct Race {
///     cars: Entities<Car>,
/// }
///
/// let mut race = Race { cars: Entities::new() };
/// let car = race.cars.insert(Car { at: 7.3, plan: 9 });
/// let mut table = Table::new(Race::schema());
/// race.extract(&mut table);
///
/// let grid = Grid::new(&Race::schema());
/// grid.snap(&mut table);
/// let race = Race::from_table(&table)?;
/// assert_eq!((race.cars[car].at, race.cars[car].plan), (7.25, 0));
/// # Ok::<(), samestep_sync::RestoreError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Grid {
    kinds: Vec<KindGrid>,
}

#[derive(Clone, Debug)]
struct KindGrid {
    has_ids: bool,
    fields: Vec<Scale>,
}

/// The values of one field.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Scale {
    /// The bits of the cell.
    Exact,
    /// Zero.
    Secret,
    /// Steps from the least value.
    Steps {
        is_double: bool,
        least: f64,
        step: f64,
        /// In steps, of the values that are sent.
        range: (f64, f64),
    },
}

impl Grid {
    /// The grid of all states of this schema.
    pub fn new(schema: &Schema) -> Grid {
        let kinds = schema.kinds().iter().map(|kind| KindGrid {
            has_ids: kind.has_ids,
            fields: kind.fields.iter().map(Scale::of).collect(),
        });
        Grid {
            kinds: kinds.collect(),
        }
    }

    /// Puts every cell on the grid, as whoever receives the state has it.
    pub fn snap(&self, table: &mut Table) {
        for (number, kind) in self.kinds.iter().enumerate() {
            let Some(rows) = table.kind_mut(number) else {
                continue;
            };
            let width = kind.fields.len();
            for (place, scale) in kind.fields.iter().enumerate() {
                if *scale == Scale::Exact {
                    continue;
                }
                for cell in rows.cells.iter_mut().skip(place).step_by(width) {
                    *cell = scale.cell(scale.value(*cell));
                }
            }
        }
    }

    /// How many kinds there are.
    pub(crate) fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// Whether the rows of a kind are entities: then the ids are its first column.
    pub(crate) fn has_ids(&self, kind: usize) -> bool {
        self.kinds[kind].has_ids
    }

    /// How many columns a page of a kind has.
    pub(crate) fn columns(&self, kind: usize) -> usize {
        self.kinds[kind].fields.len() + usize::from(self.kinds[kind].has_ids)
    }

    /// The cell of a value.
    pub(crate) fn cell(&self, kind: usize, field: usize, value: i64) -> u64 {
        self.kinds[kind].fields[field].cell(value)
    }

    /// Reads a column of a page from a table, zeros after the last row.
    pub(crate) fn read_column(
        &self,
        kind: usize,
        column: usize,
        rows: &Rows,
        page: usize,
        into: &mut Column,
    ) {
        let grid = &self.kinds[kind];
        let begin = page * PAGE_ROWS;
        let count = rows.count.saturating_sub(begin).min(PAGE_ROWS);
        into[count..].fill(0);
        if count == 0 {
            return;
        }
        let into = &mut into[..count];
        let Some(field) = column.checked_sub(usize::from(grid.has_ids)) else {
            for (value, id) in into.iter_mut().zip(&rows.ids[begin..]) {
                *value = i64::from(id.number());
            }
            return;
        };
        let width = grid.fields.len();
        let cells = rows.cells[begin * width + field..].iter().step_by(width);
        let cells = into.iter_mut().zip(cells);
        match grid.fields[field] {
            Scale::Secret => into.fill(0),
            Scale::Exact => cells.for_each(|(value, cell)| *value = *cell as i64),
            scale => cells.for_each(|(value, cell)| *value = scale.value(*cell)),
        }
    }
}

impl Scale {
    fn of(field: &Field) -> Scale {
        let is_double = match field.kind {
            _ if field.shown.secret => return Scale::Secret,
            CellKind::F32 => false,
            CellKind::F64 => true,
            _ => return Scale::Exact,
        };
        let Some(step) = field.shown.precision else {
            return Scale::Exact;
        };
        // Beyond this, steps of one cannot be told apart.
        let most = 9_007_199_254_740_992.0;
        let Some((least, greatest)) = field.shown.range else {
            return Scale::Steps {
                is_double,
                least: 0.0,
                step,
                range: (-most, most),
            };
        };
        let steps = (greatest - least) / step;
        // Where a float cannot hold the steps, it is its own grid.
        let fine = match is_double {
            true => f64::EPSILON,
            false => f64::from(f32::EPSILON),
        };
        if steps > most || least.abs().max(greatest.abs()) * fine * 2.0 > step {
            return Scale::Exact;
        }
        Scale::Steps {
            is_double,
            least,
            step,
            // Whole steps that lie within; the border itself does even if a division says that it falls short by a hair.
            range: (0.0, ((steps * (1.0 + 1e-9)) as i64) as f64),
        }
    }

    #[inline]
    fn value(self, cell: u64) -> i64 {
        let Scale::Steps {
            is_double,
            least,
            step,
            range,
        } = self
        else {
            return match self {
                Scale::Secret => 0,
                _ => cell as i64,
            };
        };
        let value = match is_double {
            true => f64::from_bits(cell),
            false => f64::from(f32::from_bits(cell as u32)),
        };
        // What is no number becomes 0; a cast cuts off, so half a step more rounds.
        let steps = ((value - least) / step).clamp(range.0, range.1);
        match steps < 0.0 {
            true => (steps - 0.5) as i64,
            false => (steps + 0.5) as i64,
        }
    }

    #[inline]
    fn cell(self, value: i64) -> u64 {
        match self {
            Scale::Exact => value as u64,
            Scale::Secret => 0,
            Scale::Steps {
                is_double,
                least,
                step,
                range,
            } => {
                let at = least + (value as f64).clamp(range.0, range.1) * step;
                match is_double {
                    true => at.to_bits(),
                    false => u64::from((at as f32).to_bits()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Describe, Shown};

    fn scale(kind: CellKind, shown: Shown) -> Scale {
        let mut describe = Describe::default();
        describe.enter_shown("field", shown);
        describe.cell(kind);
        describe.leave();
        Scale::of(&describe.finish()[0])
    }

    #[test]
    fn values_on_the_grid_stay() {
        let shown = Shown::EXACT.range(-512.0, 512.0).precision(0.01);
        for kind in [CellKind::F32, CellKind::F64] {
            let scale = scale(kind, shown);
            for steps in (0..=102_400).step_by(7) {
                assert_eq!(scale.value(scale.cell(steps)), steps);
            }
        }
    }

    #[test]
    fn what_is_outside_goes_to_the_border() {
        let scale = scale(CellKind::F32, Shown::EXACT.range(1.0, 9.0).precision(0.25));
        let value = |x: f32| scale.value(u64::from(x.to_bits()));
        assert_eq!(value(-3.0), 0);
        assert_eq!(value(1e30), 32);
        assert_eq!(value(f32::INFINITY), 32);
        assert_eq!(value(f32::NAN), 0);
        assert_eq!(value(3.1), 8);
        assert_eq!(scale.cell(i64::MAX), u64::from(9f32.to_bits()));
        assert_eq!(scale.cell(i64::MIN), u64::from(1f32.to_bits()));
    }

    #[test]
    fn a_precision_that_floats_do_not_have_is_exact() {
        let shown = Shown::EXACT.range(0.0, 1e6).precision(0.001);
        assert_eq!(scale(CellKind::F32, shown), Scale::Exact);
        assert_ne!(scale(CellKind::F64, shown), Scale::Exact);
        assert_eq!(scale(CellKind::Unsigned, shown), Scale::Exact);
        assert_eq!(scale(CellKind::F32, Shown::EXACT), Scale::Exact);
    }

    #[test]
    fn a_precision_without_a_range_reaches_far_to_both_sides() {
        let scale = scale(CellKind::F64, Shown::EXACT.precision(0.5));
        assert_eq!(scale.value((-7.3f64).to_bits()), -15);
        assert_eq!(scale.cell(-15), (-7.5f64).to_bits());
        assert_eq!(scale.value(1e300f64.to_bits()), 1 << 53);
    }

    #[test]
    fn secrets_are_zero() {
        let scale = scale(CellKind::Unsigned, Shown::EXACT.secret());
        assert_eq!((scale.value(77), scale.cell(77)), (0, 0));
    }
}
