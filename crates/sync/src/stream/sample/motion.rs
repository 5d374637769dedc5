//! Where the rows of a page are at a time between its versions.

use std::sync::Arc;

use super::SampleTime;
use super::blend::{Blending, Column};
use crate::math::double as math;
use crate::stream::grid::Grid;
use crate::stream::jitter_buffer::Interpolation;
use crate::stream::page::{PAGE_ROWS, Page, rows_of};
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
struct Trajectory {
    /// The version they are in.
    at: usize,
    /// The last version in which they are certain to be there, if it is kept, and its tick.
    from: Option<usize>,
    from_tick: u64,
    /// The version they are going to.
    to: usize,
    rows: u64,
}

impl SampleTime {
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
            let next = rows & versions[to].updated;
            if next != 0 {
                rows &= !next;
                let next = same(blending, &versions[at].page, &versions[to].page, next);
                each_trajectory(history, at, to, next, |way| {
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
            let moving = rows & versions[last].updated;
            rows &= !versions[last].sure;
            let before = &versions[last - 1].page;
            let moving = same(blending, before, &versions[last].page, moving);
            each_trajectory(history, last - 1, last, moving, |way| {
                self.extrapolate(grid, blending, history, &way, values);
            });
        }
    }

    fn interpolate(
        &self,
        grid: &Grid,
        blending: &Blending,
        history: &History,
        way: &Trajectory,
        values: &mut Values,
    ) {
        let part = self.part(way.from_tick, history.versions[way.to].tick);
        if part <= 0.0 {
            return;
        }
        let (from, to) = pages(history, way);
        let common = way.common(history);
        let neighbours = Neighbours::new(blending, history, way, common);
        for (at, column) in blending.columns.iter().enumerate() {
            if Arc::ptr_eq(&from.columns[column.place], &to.columns[column.place]) {
                continue;
            }
            let is_curve = self.how == Interpolation::Hermite && !column.blended.is_angle;
            for row in rows_of(way.rows) {
                let Some((from, step)) = step(grid, blending, column, (from, to), row) else {
                    continue;
                };
                let part = match is_curve {
                    true => {
                        let value = |page: &Page| column.read(grid, blending.number, page, row);
                        let ends = (from, from + step);
                        let slopes = match common >> row & 1 {
                            1 => neighbours.slopes(ends, value),
                            _ => Neighbours::new(blending, history, way, 1 << row)
                                .slopes(ends, value),
                        };
                        curved(slopes, part)
                    }
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
        way: &Trajectory,
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
                    values.set(at, row, column.blended.bounded(value));
                }
            }
        }
    }
}

impl Trajectory {
    /// Rows that have all been told of right before and right after: most.
    fn common(&self, history: &History) -> u64 {
        let versions = &history.versions;
        let Some(before) = self.from.and_then(|from| from.checked_sub(1)) else {
            return 0;
        };
        let after = versions.get(self.to + 1).map_or(u64::MAX, |v| v.updated);
        self.rows & versions[before].sure & versions[before + 1].updated & after
    }
}

/// The steps before and after that of rows on their way.
struct Neighbours<'a> {
    /// Ticks of their own step.
    ticks: f64,
    before: Neighbour<'a>,
    after: Neighbour<'a>,
}

enum Neighbour<'a> {
    /// Nothing is known: a straight line.
    Unknown,
    /// It stood.
    Still,
    /// It was in a page so many ticks away.
    Page(&'a Page, f64),
}

impl<'a> Neighbours<'a> {
    /// Of rows for which they are the same; of the first, where they are not.
    fn new(
        blending: &Blending,
        history: &'a History,
        way: &Trajectory,
        rows: u64,
    ) -> Neighbours<'a> {
        let versions = &history.versions;
        let row = rows.trailing_zeros().min(63) as usize;
        let bit = rows & rows.wrapping_neg();
        let is_same = |a: &Page, b: &Page| same(blending, a, b, rows) == rows;
        let before = || {
            let from = way.from?;
            if versions[from].updated & bit == 0 {
                return Some(Neighbour::Still);
            }
            let page = &versions[from.checked_sub(1)?].page;
            let sure = (0..from).rev().find(|at| versions[*at].sure & bit != 0);
            let tick = sure.map_or_else(|| history.updated_at(0, row), |at| versions[at].tick);
            let ticks = versions[from].tick.saturating_sub(tick) as f64;
            let is_there = ticks > 0.0 && is_same(page, &versions[from].page);
            is_there.then_some(Neighbour::Page(page, ticks))
        };
        let after = || {
            let after = (way.to + 1..versions.len()).find(|at| versions[*at].sure & bit != 0)?;
            if versions[after].updated & bit == 0 {
                return Some(Neighbour::Still);
            }
            let page = &versions[after].page;
            let ticks = versions[after].tick.saturating_sub(versions[way.to].tick) as f64;
            is_same(&versions[way.to].page, page).then_some(Neighbour::Page(page, ticks))
        };
        Neighbours {
            ticks: versions[way.to].tick.saturating_sub(way.from_tick) as f64,
            before: before().unwrap_or(Neighbour::Unknown),
            after: after().unwrap_or(Neighbour::Unknown),
        }
    }

    /// The slopes at both ends of a row's step, in steps: 1 is that of a straight line.
    fn slopes(&self, (from, to): (f64, f64), value: impl Fn(&Page) -> Option<f64>) -> (f64, f64) {
        let step = to - from;
        let slope = |other: Option<(f64, f64)>| {
            let Some((other_step, other_ticks)) = other else {
                return 1.0;
            };
            let there = other_step / step * self.ticks / other_ticks;
            let mean = (other_ticks + there * self.ticks) / (self.ticks + other_ticks);
            mean.clamp(-1.0, 3.0)
        };
        let before = match self.before {
            Neighbour::Unknown => None,
            Neighbour::Still => Some((0.0, self.ticks)),
            Neighbour::Page(page, ticks) => value(page).map(|before| (from - before, ticks)),
        };
        let after = match self.after {
            Neighbour::Unknown => None,
            Neighbour::Still => Some((0.0, self.ticks)),
            Neighbour::Page(page, ticks) => value(page).map(|after| (after - to, ticks)),
        };
        (slope(before), slope(after))
    }
}

/// The part of a step that has been gone on a curve with these slopes, where it would be `part` on a straight line.
///
/// It overshoots by no more than a seventh of the step at each end.
fn curved((before, after): (f64, f64), part: f64) -> f64 {
    let (square, cube) = (part * part, part * part * part);
    before * (cube - 2.0 * square + part) + (3.0 * square - 2.0 * cube) + after * (cube - square)
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
    Some((from, column.blended.way(from, to)))
}

fn pages<'a>(history: &'a History, way: &Trajectory) -> (&'a Page, &'a Page) {
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
fn each_trajectory(
    history: &History,
    at: usize,
    to: usize,
    mut rows: u64,
    mut visit: impl FnMut(Trajectory),
) {
    for from in (0..to).rev() {
        if rows == 0 {
            return;
        }
        let version = &history.versions[from];
        let sure = rows & version.sure;
        rows &= !sure;
        if sure != 0 {
            visit(Trajectory {
                at,
                from: Some(from),
                from_tick: version.tick,
                to,
                rows: sure,
            });
        }
    }
    for row in rows_of(rows) {
        visit(Trajectory {
            at,
            from: None,
            from_tick: history.updated_at(0, row),
            to,
            rows: 1 << row,
        });
    }
}
