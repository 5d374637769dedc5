//! Where the rows of a page are at a time between its versions.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Moment;
use super::blend::{Blending, Column};
use crate::math::double as math;
use crate::stream::grid::Grid;
use crate::stream::page::{PAGE_ROWS, Page, rows_of};
use crate::stream::playout::Interpolation;
use crate::stream::store::history::History;

/// The values of the fields that blend, of those rows that are not where their last update says.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    columns: Vec<(u64, [f64; PAGE_ROWS])>,
}

impl Values {
    fn begin(&mut self, columns: usize) {
        self.columns.resize(columns, (0, [0.0; PAGE_ROWS]));
        for (active, _) in &mut self.columns {
            *active = 0;
        }
    }

    /// The rows of which there is a value.
    pub(super) fn active(&self, column: usize) -> u64 {
        self.columns[column].0
    }

    pub(super) fn of(&self, column: usize, row: usize) -> f64 {
        self.columns[column].1[row]
    }

    pub(super) fn set(&mut self, column: usize, row: usize, value: f64) {
        let (active, values) = &mut self.columns[column];
        *active |= 1 << row;
        values[row] = value;
    }

    /// Those that are where their update says are there.
    pub(super) fn complete(&mut self, grid: &Grid, blending: &Blending, page: &Page, rows: u64) {
        for (at, column) in blending.columns.iter().enumerate() {
            for row in rows_of(rows & !self.active(at)) {
                if let Some(value) = column.read(grid, blending.number, page, row) {
                    self.set(at, row, value);
                }
            }
        }
    }
}

/// Rows that go from one version to another.
struct Way {
    /// The version they are in.
    at: usize,
    /// The last version in which they are certain to be there, if it is kept, and its tick.
    from: Option<usize>,
    from_tick: u64,
    /// The version they are going to.
    to: usize,
    rows: u64,
}

impl Moment {
    /// Where the rows are. Those that are not told of by `values` are where their last update says.
    pub(super) fn move_rows(
        &self,
        grid: &Grid,
        blending: &Blending,
        history: &History,
        rows: u64,
        values: &mut Values,
    ) {
        values.begin(blending.columns.len());
        let Some(at) = history.at(self.tick()) else {
            return;
        };
        let versions = &history.versions;
        let mut rows = rows & versions[at].page.present;
        for to in at + 1..versions.len() {
            let next = rows & versions[to].said;
            if next != 0 {
                rows &= !next;
                let next = same(blending, &versions[at].page, &versions[to].page, next);
                each_way(history, at, to, next, |way| {
                    self.interpolate(grid, blending, history, &way, values);
                });
            }
            if rows == 0 {
                return;
            }
        }
        // Of the others nothing newer is known; those that are known not to move do not.
        for version in versions.range(at + 1..) {
            rows &= !version.sure;
        }
        for last in (1..=at).rev() {
            if rows == 0 {
                return;
            }
            let moving = rows & versions[last].said;
            rows &= !versions[last].sure;
            let before = &versions[last - 1].page;
            let moving = same(blending, before, &versions[last].page, moving);
            each_way(history, last - 1, last, moving, |way| {
                self.extrapolate(grid, blending, history, &way, values);
            });
        }
    }

    fn interpolate(
        &self,
        grid: &Grid,
        blending: &Blending,
        history: &History,
        way: &Way,
        values: &mut Values,
    ) {
        let part = self.part(way.from_tick, history.versions[way.to].tick);
        if part <= 0.0 {
            return;
        }
        let (from, to) = pages(history, way);
        for (at, column) in blending.columns.iter().enumerate() {
            if Arc::ptr_eq(&from.columns[column.place], &to.columns[column.place]) {
                continue;
            }
            let is_curve = self.how == Interpolation::Hermite && !column.is_angle;
            for row in rows_of(way.rows) {
                let Some((from, step)) = step(grid, blending, column, (from, to), row) else {
                    continue;
                };
                let part = match is_curve {
                    true => self.curved(grid, blending, column, history, way, row, step, part),
                    false => part,
                };
                values.set(at, row, from + step * part);
            }
        }
    }

    fn extrapolate(
        &self,
        grid: &Grid,
        blending: &Blending,
        history: &History,
        way: &Way,
        values: &mut Values,
    ) {
        let to_tick = history.versions[way.to].tick;
        let ahead = math::min(self.ticks - to_tick as f64, self.extrapolate);
        let ticks = to_tick.saturating_sub(way.from_tick) as f64;
        if ahead <= 0.0 || ticks <= 0.0 {
            return;
        }
        let (from, to) = pages(history, way);
        for (at, column) in blending.columns.iter().enumerate() {
            if Arc::ptr_eq(&from.columns[column.place], &to.columns[column.place]) {
                continue;
            }
            for row in rows_of(way.rows) {
                if let Some((from, step)) = step(grid, blending, column, (from, to), row) {
                    let value = from + step + step * (ahead / ticks);
                    values.set(at, row, column.bounded(value));
                }
            }
        }
    }

    /// The part of a step on a curve that knows the steps before and after it.
    ///
    /// It overshoots by no more than a seventh of the step at each end.
    #[expect(clippy::too_many_arguments)]
    fn curved(
        &self,
        grid: &Grid,
        blending: &Blending,
        column: &Column,
        history: &History,
        way: &Way,
        row: usize,
        step: f64,
        part: f64,
    ) -> f64 {
        let versions = &history.versions;
        let ticks = versions[way.to].tick.saturating_sub(way.from_tick) as f64;
        let bit = 1u64 << row;
        // Each slope is that at an end, in steps: 1 is a straight line.
        let slope = |ways: Option<(f64, f64)>| {
            let Some((other_step, other_ticks)) = ways else {
                return 1.0;
            };
            let (here, there) = (1.0 / ticks, other_step / step / other_ticks);
            let mean = (here * other_ticks + there * ticks) / (ticks + other_ticks);
            (mean * ticks).clamp(-1.0, 3.0)
        };
        let value = |at: usize| column.read(grid, blending.number, &versions[at].page, row);
        let is_same =
            |a: usize, b: usize| same(blending, &versions[a].page, &versions[b].page, bit) != 0;
        let before = way.from.and_then(|from| {
            if versions[from].said & bit == 0 {
                return Some((0.0, 1.0));
            }
            let before = from
                .checked_sub(1)
                .filter(|before| is_same(*before, from))?;
            let sure = (0..from).rev().find(|at| versions[*at].sure & bit != 0);
            let tick = sure.map_or_else(|| history.said_at(0, row), |at| versions[at].tick);
            let ticks = versions[from].tick.saturating_sub(tick) as f64;
            Some((value(from)? - value(before)?, ticks)).filter(|(_, ticks)| *ticks > 0.0)
        });
        let after = (way.to + 1..versions.len()).find(|at| versions[*at].sure & bit != 0);
        let after = after.and_then(|after| {
            if versions[after].said & bit == 0 {
                return Some((0.0, 1.0));
            }
            let is_there = is_same(way.to, after);
            let ticks = (versions[after].tick - versions[way.to].tick) as f64;
            is_there.then_some((value(after)? - value(way.to)?, ticks))
        });
        let (a, b) = (slope(before), slope(after));
        let (square, cube) = (part * part, part * part * part);
        a * (cube - 2.0 * square + part) + (3.0 * square - 2.0 * cube) + b * (cube - square)
    }
}

/// The value a row comes from, and the way it has to go; `None` if it does not.
#[inline]
fn step(
    grid: &Grid,
    blending: &Blending,
    column: &Column,
    (from, to): (&Page, &Page),
    row: usize,
) -> Option<(f64, f64)> {
    if from.columns[column.place][row] == to.columns[column.place][row] {
        return None;
    }
    let from = column.read(grid, blending.number, from, row)?;
    let to = column.read(grid, blending.number, to, row)?;
    Some((from, column.way(from, to)))
}

fn pages<'a>(history: &'a History, way: &Way) -> (&'a Page, &'a Page) {
    let versions = &history.versions;
    (&versions[way.at].page, &versions[way.to].page)
}

/// Those of the rows that are the same thing in both pages.
fn same(blending: &Blending, a: &Page, b: &Page, rows: u64) -> u64 {
    let mut rows = rows & a.present & b.present;
    if blending.has_ids && !Arc::ptr_eq(&a.columns[0], &b.columns[0]) {
        for row in rows_of(rows) {
            if a.columns[0][row] != b.columns[0][row] {
                rows &= !(1 << row);
            }
        }
    }
    rows
}

/// Tells from when on rows may have been on their way to a version: together those for which that is the same.
fn each_way(history: &History, at: usize, to: usize, mut rows: u64, mut tell: impl FnMut(Way)) {
    for from in (0..to).rev() {
        if rows == 0 {
            return;
        }
        let version = &history.versions[from];
        let sure = rows & version.sure;
        rows &= !sure;
        if sure != 0 {
            tell(Way {
                at,
                from: Some(from),
                from_tick: version.tick,
                to,
                rows: sure,
            });
        }
    }
    for row in rows_of(rows) {
        tell(Way {
            at,
            from: None,
            from_tick: history.said_at(0, row),
            to,
            rows: 1 << row,
        });
    }
}
