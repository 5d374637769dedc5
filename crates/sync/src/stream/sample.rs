//! What is shown between the updates that have arrived.

use std::sync::Arc;

use super::grid::Grid;
use super::jitter_buffer::Interpolation;
use super::page::{PAGE_ROWS, Page, rows_of};
use super::store::history::{History, holds};
use super::store::rows::{Piece, write_rows};
use super::store::{KnownKind, Store};
use crate::math::double as math;
use crate::table::{Rows, Table};

mod blend;
mod drift;
mod motion;

#[cfg(test)]
mod tests;

pub(super) use blend::Blending;
pub(super) use drift::Drift;

use motion::Values;

/// What was shown beyond what was known glides to where it is right: after so many ticks a third is left of the way.
const GLIDE_TICKS: f64 = 6.0;

/// What is shown: a time in ticks, and how to get there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct SampleTime {
    pub(super) ticks: f64,
    how: Interpolation,
    /// Ticks.
    extrapolate: f64,
}

/// Memory that is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    now: Values,
    before: Values,
    /// The page that `before` is of.
    was: Page,
    pieces: Vec<Piece>,
}

impl Store {
    /// Writes down the state as it is to be shown at a time in ticks, in the order of the authority.
    ///
    /// Each row is between its own last update and its next. Where there is no next yet, it goes on as before for at most
    /// `extrapolate_ticks`, and then stands; when the update has come, it glides to where it should be. What appears or vanishes does so
    /// at the time of the update that says so. Fields that do not blend change at the time of the update.
    pub fn sample(
        &mut self,
        ticks: f64,
        how: Interpolation,
        extrapolate_ticks: f64,
        table: &mut Table,
    ) {
        let moment = SampleTime {
            ticks,
            how,
            extrapolate: math::max(extrapolate_ticks, 0.0),
        };
        self.glide(ticks);
        self.shown = Some(moment);
        let schema = self.schema.clone();
        for (number, kind) in schema.kinds().iter().enumerate() {
            let Some(rows) = table.kind_mut(number) else {
                continue;
            };
            let mut pieces = core::mem::take(&mut self.scratch.pieces);
            let known = &self.kinds[number];
            known.pieces(kind.has_ids, moment.tick(), &mut pieces);
            known.resize(kind, number == 0, &pieces, rows);
            let blending = &self.blending[number];
            for piece in &pieces {
                write_rows(&self.grid, number, kind, known.page(piece), piece, rows);
                if !blending.is_empty() {
                    let values = &mut self.scratch.now;
                    moment.blend(&self.grid, blending, known, piece, values, rows);
                }
            }
            self.scratch.pieces = pieces;
        }
    }

    /// Lets time pass for what is on its way to where it should be.
    fn glide(&mut self, ticks: f64) {
        let Some(shown) = &self.shown else { return };
        let passed = math::max(ticks - shown.ticks, 0.0);
        let left = math::exp(-passed / GLIDE_TICKS);
        let pages = self.kinds.iter_mut().flat_map(|known| &mut known.pages);
        for history in pages.flatten() {
            if history
                .drift
                .as_mut()
                .is_some_and(|drift| !drift.pass(left))
            {
                history.drift = None;
            }
        }
    }
}

impl SampleTime {
    /// The tick that has been reached.
    fn tick(&self) -> u64 {
        // A cast cuts off, and what is below is 0.
        self.ticks as u64
    }

    /// Puts the rows of a piece where they are between updates.
    fn blend(
        &self,
        grid: &Grid,
        blending: &Blending,
        known: &KnownKind,
        piece: &Piece,
        values: &mut Values,
        rows: &mut Rows,
    ) {
        let Some(history) = known.history(piece.page as u32) else {
            return;
        };
        self.move_rows(grid, blending, history, piece.rows, values);
        for row in rows_of(piece.rows & history.moved) {
            self.move_to_other_row(grid, blending, known, piece, row, values);
        }
        let page = known.page(piece);
        if let Some(drift) = &history.drift {
            let rows = piece.rows & drift.rows;
            values.complete(grid, blending, page, rows);
            drift.add_to(values, rows);
        }
        let width = rows.cells.len() / rows.count.max(1);
        for (column, at) in blending.columns.iter().zip(0..) {
            let active = values.active(at);
            if active == 0 {
                continue;
            }
            for (row, place) in piece.places() {
                let cell = rows.cells.get_mut(place * width + column.blended.field);
                if let Some(cell) = cell.filter(|_| active >> row & 1 == 1) {
                    *cell = column.cell(values.of(at, row));
                }
            }
        }
    }

    /// An entity whose next update is in another row.
    fn move_to_other_row(
        &self,
        grid: &Grid,
        blending: &Blending,
        known: &KnownKind,
        piece: &Piece,
        row: usize,
        values: &mut Values,
    ) {
        let (page, tick) = (known.page(piece), self.tick());
        let id = page.columns[0][row] as u32;
        let here = piece.page * PAGE_ROWS + row;
        let slots = known.moves.get(&id).into_iter().flatten();
        let next = slots.filter_map(|slot| {
            let (page, row) = (*slot as usize / PAGE_ROWS, *slot as usize % PAGE_ROWS);
            let history = known.history(page as u32)?;
            let mut later = history.versions.range(history.after(tick)..);
            let is_told = |v: &&super::store::history::Version| {
                v.updated >> row & 1 == 1 && holds(&v.page, row, id)
            };
            Some((later.find(is_told)?, *slot as usize))
        });
        let Some((next, slot)) = next.min_by_key(|(next, _)| next.tick) else {
            return;
        };
        let Some(history) = known.history(piece.page as u32).filter(|_| slot != here) else {
            return;
        };
        let sure = history
            .versions
            .iter()
            .rev()
            .find(|v| v.tick < next.tick && v.sure >> row & 1 == 1 && holds(&v.page, row, id));
        let from = sure.map_or_else(|| history.updated_at(0, row), |version| version.tick);
        let part = self.part(from, next.tick);
        let there = slot % PAGE_ROWS;
        for (at, column) in blending.columns.iter().enumerate() {
            let from = column.read(grid, blending.number, page, row);
            let to = column.read(grid, blending.number, &next.page, there);
            if let (Some(from), Some(to)) = (from, to) {
                values.set(at, row, from + column.blended.way(from, to) * part);
            }
        }
    }

    /// How much of the way between two ticks has been gone.
    fn part(&self, from: u64, to: u64) -> f64 {
        let (from, to) = (from as f64, to as f64);
        match to > from {
            true => ((self.ticks - from) / (to - from)).clamp(0.0, 1.0),
            false => 1.0,
        }
    }

    /// Before rows are updated: notes where they are shown, if the update bears on that. Returns those rows.
    pub(super) fn before_change(
        &self,
        grid: &Grid,
        blending: &Blending,
        history: &History,
        tick: u64,
        mut rows: u64,
        scratch: &mut Scratch,
    ) -> u64 {
        if blending.is_empty() {
            return 0;
        }
        let shown = self.tick();
        let (first, end) = match tick > shown {
            true => (history.after(shown), history.after(tick.saturating_sub(1))),
            false => (history.after(tick), history.after(shown)),
        };
        // What is between two updates does not depend on others, but for curves, which know one more.
        let mut once = !0;
        for version in history.versions.range(first..end.max(first)) {
            match self.how {
                Interpolation::Hermite => {
                    rows &= once | !version.updated;
                    once &= !version.updated;
                }
                Interpolation::Linear => rows &= !version.updated,
            }
        }
        let Some(at) = history.at(shown).filter(|_| rows != 0) else {
            return 0;
        };
        let page = &history.versions[at].page;
        rows &= page.present;
        self.move_rows(grid, blending, history, rows, &mut scratch.before);
        scratch.before.complete(grid, blending, page, rows);
        scratch.was.clone_from(page);
        rows
    }

    /// After the update: what is shown stays where it is for now.
    pub(super) fn after_change(
        &self,
        grid: &Grid,
        blending: &Blending,
        history: &mut History,
        mut rows: u64,
        scratch: &mut Scratch,
    ) {
        let Some(at) = history.at(self.tick()).filter(|_| rows != 0) else {
            return;
        };
        let page = &history.versions[at].page;
        rows &= page.present;
        if blending.has_ids && !Arc::ptr_eq(&page.columns[0], &scratch.was.columns[0]) {
            for row in rows_of(rows) {
                if page.columns[0][row] != scratch.was.columns[0][row] {
                    rows &= !(1 << row);
                }
            }
        }
        self.move_rows(grid, blending, history, rows, &mut scratch.now);
        scratch.now.complete(grid, blending, page, rows);
        let width = blending.columns.len();
        let mut drift = history.drift.take();
        for (at, column) in blending.columns.iter().enumerate() {
            let both = scratch.now.active(at) & scratch.before.active(at);
            for row in rows_of(rows & both) {
                let way = column
                    .blended
                    .way(scratch.now.of(at, row), scratch.before.of(at, row));
                if way != 0.0 {
                    let drift = drift.get_or_insert_with(|| Box::new(Drift::new(width)));
                    drift.push(at, row, way);
                }
            }
        }
        history.drift = drift;
    }
}
