//! From pages to the rows of a table.

use super::history::holds;
use super::{KnownKind, Store};
use crate::Tick;
use crate::entities::EntityId;
use crate::record::{CellKind, Field};
use crate::stream::grid::Grid;
use crate::stream::page::{PAGE_ROWS, Page, rows_of};
use crate::table::{Kind, Rows, Table};

/// Rows of a version of a page, and where they are in a table.
#[derive(Clone, Copy, Debug)]
pub(in crate::stream) struct Piece {
    pub(in crate::stream) page: usize,
    /// The version.
    pub(in crate::stream) at: usize,
    pub(in crate::stream) rows: u64,
    /// The place of the first row of the mask; lists keep the place of each.
    pub(in crate::stream) first: usize,
    is_list: bool,
}

impl Piece {
    /// The end of its rows in a list; 0 if there are none.
    pub(in crate::stream) fn end(&self) -> usize {
        match self.rows {
            0 => 0,
            rows => self.first + PAGE_ROWS - rows.leading_zeros() as usize,
        }
    }

    /// Without other rows than these.
    pub(in crate::stream) fn only(&self, rows: u64) -> Piece {
        Piece {
            rows: self.rows & rows,
            ..*self
        }
    }

    /// The rows, and the place of each in the table.
    pub(in crate::stream) fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let Piece { first, is_list, .. } = *self;
        let place = move |(nth, row)| match is_list {
            true => (row, first + row),
            false => (row, first + nth),
        };
        rows_of(self.rows).enumerate().map(place)
    }
}

impl Store {
    /// Writes down the state as it was at a tick, as far as known: the newest update of every row until then, in the order
    /// of the authority. Rows of lists that are not known, and secret fields, are zero.
    ///
    /// Whether all of it is known: there was an update of the fields that are in no collection, and all parts of one tick at least have arrived.
    pub fn known(&self, tick: Tick, table: &mut Table) -> bool {
        let mut pieces = Vec::new();
        for (number, kind) in self.schema.kinds().iter().enumerate() {
            let Some(rows) = table.kind_mut(number) else {
                continue;
            };
            self.kinds[number].pieces(kind.has_ids, tick.0, &mut pieces);
            self.kinds[number].resize(kind, number == 0, &pieces, rows);
            for piece in &pieces {
                let page = self.kinds[number].page(piece);
                write_rows(&self.grid, number, kind, page, piece, rows);
            }
        }
        let has_globals = self.schema.kinds()[0].fields.is_empty() || self.kinds[0].at(0, tick.0);
        has_globals && self.ticks.complete_by(tick.0)
    }
}

impl KnownKind {
    /// Whether a page is known at a tick.
    fn at(&self, page: u32, tick: u64) -> bool {
        self.history(page).is_some_and(|h| h.at(tick).is_some())
    }

    pub(in crate::stream) fn page(&self, piece: &Piece) -> &Page {
        let history = self.pages[piece.page].as_deref();
        &history.expect("a piece is of a page").versions[piece.at].page
    }

    /// The rows that are there at a tick.
    pub(in crate::stream) fn pieces(&self, has_ids: bool, tick: u64, pieces: &mut Vec<Piece>) {
        pieces.clear();
        let mut count = 0;
        for (page, history) in self.pages.iter().enumerate() {
            let Some(history) = history else { continue };
            let Some(at) = history.at(tick) else { continue };
            let version = &history.versions[at].page;
            let mut rows = version.present;
            for row in rows_of(rows & history.moved) {
                if !self.is_home(page * PAGE_ROWS + row, version.columns[0][row], tick) {
                    rows &= !(1 << row);
                }
            }
            let first = match has_ids {
                true => count,
                false => page * PAGE_ROWS,
            };
            count += rows.count_ones() as usize;
            pieces.push(Piece {
                page,
                at,
                rows,
                first,
                is_list: !has_ids,
            });
        }
    }

    /// Whether an entity that seems to be in a row at a tick is not known to have gone to another one since it was seen there.
    pub(in crate::stream) fn is_home(&self, slot: usize, id: i64, tick: u64) -> bool {
        let Some(slots) = self.moves.get(&(id as u32)) else {
            return true;
        };
        let Some(here) = self.seen_in(slot, id as u32, tick) else {
            return true;
        };
        let others = slots.iter().map(|other| *other as usize);
        let mut others = others.filter(|other| *other != slot);
        !others.any(|other| {
            let there = self.seen_in(other, id as u32, tick);
            there.is_some_and(|there| there > here || there == here && other < slot)
        })
    }

    /// When an entity was last received in a row, up to a tick.
    fn seen_in(&self, slot: usize, id: u32, tick: u64) -> Option<u64> {
        let (page, row) = (slot / PAGE_ROWS, slot % PAGE_ROWS);
        let history = self.pages.get(page)?.as_deref()?;
        let at = history.at(tick)?;
        let had = |at: &usize| holds(&history.versions[*at].page, row, id);
        let at = (0..=at).rev().find(had)?;
        Some(history.updated_at(at, row))
    }

    /// Makes room in a table.
    pub(in crate::stream) fn resize(
        &self,
        kind: &Kind,
        is_first: bool,
        pieces: &[Piece],
        rows: &mut Rows,
    ) {
        let width = kind.fields.len();
        rows.count = match kind.has_ids {
            true => pieces.iter().map(|p| p.rows.count_ones() as usize).sum(),
            false => pieces.iter().map(Piece::end).max().unwrap_or(0),
        };
        if is_first {
            rows.count = 1;
        }
        rows.ids.clear();
        rows.cells.resize(rows.count * width, 0);
        if kind.has_ids {
            rows.counter = counter(self.counter);
            return;
        }
        // Of a list there may be rows between those that are known.
        let known: usize = pieces.iter().map(|p| p.rows.count_ones() as usize).sum();
        if known < rows.count {
            for row in rows.cells.chunks_exact_mut(width.max(1)) {
                for (cell, field) in row.iter_mut().zip(&kind.fields) {
                    *cell = least_cell(field);
                }
            }
        }
    }
}

/// The number of the next entity.
pub(in crate::stream) fn counter(above: u32) -> u32 {
    match EntityId::from_number(above) {
        Some(id) if !id.is_fixed() => above,
        _ => 1,
    }
}

/// What a field holds of which nothing is known: zero, if that is a value.
pub(in crate::stream) fn least_cell(field: &Field) -> u64 {
    u64::from(field.kind == CellKind::Entity && field.when.is_none())
}

/// Writes the rows of a piece into a table that has room for them.
pub(in crate::stream) fn write_rows(
    grid: &Grid,
    number: usize,
    kind: &Kind,
    page: &Page,
    piece: &Piece,
    rows: &mut Rows,
) {
    let ids = usize::from(kind.has_ids);
    if kind.has_ids {
        let id = |row| EntityId::from_number(page.columns[0][row] as u32);
        let first = EntityId::fixed(0);
        rows.ids
            .extend(rows_of(piece.rows).map(|row| id(row).unwrap_or(first)));
    }
    let width = kind.fields.len();
    for (place, field) in kind.fields.iter().enumerate() {
        let column = &page.columns[ids + place];
        let fixed = field.shown.secret.then(|| least_cell(field));
        for (row, at) in piece.places() {
            let cell = rows.cells.get_mut(at * width + place);
            if let Some(cell) = cell {
                *cell = fixed.unwrap_or_else(|| grid.cell(number, place, column[row]));
            }
        }
    }
}
