//! Correcting a predicted state by the received snapshots: the comparison of server reconciliation.

use super::grid::Grid;
use super::page::{PAGE_ROWS, Page, rows_of};
use super::store::history::{History, Version, holds};
use super::store::rows::{Piece, least_cell};
use super::store::{KnownKind, Store};
use crate::Tick;
use crate::entities::EntityId;
use crate::table::{Kind, Rows, Table};

#[cfg(test)]
mod tests;

/// For so many ticks a prediction that an entity is gone, or there, is believed although the authority has not confirmed it.
const PATIENCE: u64 = 60;

impl Store {
    /// Makes a state that was predicted for a tick what it was, as far as that is certain: rows that the authority updated at this
    /// tick, and rows that have not changed. Rows that are known to be gone vanish. The others stay as predicted, and so do
    /// secret fields. If all rows of a kind are certain, they are in the authority's order afterwards.
    ///
    /// True if anything was not as predicted.
    pub fn correct(&mut self, tick: Tick, predicted: &mut Table) -> bool {
        let mut has_differed = false;
        for (number, kind) in self.schema.kinds().iter().enumerate() {
            let Some(rows) = predicted.kind_mut(number) else {
                continue;
            };
            let known = &mut self.kinds[number];
            let view = View {
                grid: &self.grid,
                number,
                kind,
                tick: tick.0,
            };
            let is_certain = known.is_certain(tick.0);
            has_differed |= match kind.has_ids {
                false => view.correct_list(known, rows, is_certain, number == 0),
                true if is_certain => view.correct_all(known, rows),
                true => view.correct_some(known, rows),
            };
        }
        has_differed
    }
}

/// What is corrected.
struct View<'a> {
    grid: &'a Grid,
    number: usize,
    kind: &'a Kind,
    tick: u64,
}

impl View<'_> {
    fn width(&self) -> usize {
        self.kind.fields.len()
    }

    /// Whether a row equals the cells.
    fn is_same(&self, page: &Page, row: usize, cells: &[u64]) -> bool {
        let ids = usize::from(self.kind.has_ids);
        let mut fields = self.kind.fields.iter().zip(cells).enumerate();
        fields.all(|(place, (field, cell))| {
            field.shown.secret
                || self
                    .grid
                    .cell(self.number, place, page.columns[ids + place][row])
                    == *cell
        })
    }

    /// Writes a row; secrets stay as they are.
    fn write(&self, page: &Page, row: usize, cells: &mut [u64]) {
        let ids = usize::from(self.kind.has_ids);
        for (place, (field, cell)) in self.kind.fields.iter().zip(cells).enumerate() {
            if !field.shown.secret {
                *cell = self
                    .grid
                    .cell(self.number, place, page.columns[ids + place][row]);
            }
        }
    }

    /// The cells of a row of which nothing is known.
    fn push_least(&self, cells: &mut Vec<u64>) {
        cells.extend(self.kind.fields.iter().map(least_cell));
    }

    /// All rows are certain.
    fn correct_all(&self, known: &mut KnownKind, rows: &mut Rows) -> bool {
        known.unreceived.clear();
        let mut pieces = Vec::new();
        known.pieces(true, self.tick, &mut pieces);
        for piece in &pieces {
            if let Some(history) = &mut known.pages[piece.page] {
                history.on_simulated(piece.rows, self.tick);
            }
        }
        let width = self.width();
        let mut count = 0;
        let mut is_same = true;
        'pieces: for piece in &pieces {
            let page = known.page(piece);
            for (row, place) in piece.places() {
                is_same = rows.ids.get(place).is_some_and(|id| {
                    holds(page, row, id.number())
                        && self.is_same(page, row, &rows.cells[place * width..][..width])
                });
                if !is_same {
                    break 'pieces;
                }
                count = place + 1;
            }
        }
        if is_same && count == rows.count {
            return false;
        }
        let index = index(rows);
        let mut cells = Vec::with_capacity(rows.cells.len());
        let mut ids = Vec::with_capacity(rows.ids.len());
        for piece in &pieces {
            let page = known.page(piece);
            for row in rows_of(piece.rows) {
                let Some(id) = EntityId::from_number(page.columns[0][row] as u32) else {
                    continue;
                };
                let begin = cells.len();
                match find(&index, id) {
                    Some(at) => cells.extend_from_slice(&rows.cells[at * width..][..width]),
                    None => self.push_least(&mut cells),
                }
                self.write(page, row, &mut cells[begin..]);
                ids.push(id);
            }
        }
        (rows.count, rows.ids, rows.cells) = (ids.len(), ids, cells);
        true
    }

    /// Some rows are certain.
    fn correct_some(&self, known: &mut KnownKind, rows: &mut Rows) -> bool {
        let width = self.width();
        let mut pieces = Vec::new();
        known.pieces(true, self.tick, &mut pieces);
        let index = index(rows);
        let mut has_differed = false;
        for piece in &pieces {
            let Some(history) = &mut known.pages[piece.page] else {
                continue;
            };
            let certain = history.certain(self.tick).map_or(0, |(certain, _)| certain);
            for row in rows_of(piece.rows) {
                let page = &history.versions[piece.at].page;
                let Some(id) = EntityId::from_number(page.columns[0][row] as u32) else {
                    continue;
                };
                let is_certain = certain >> row & 1 == 1;
                match find(&index, id) {
                    Some(at) => {
                        let cells = &mut rows.cells[at * width..][..width];
                        if is_certain && !self.is_same(page, row, cells) {
                            self.write(page, row, cells);
                            has_differed = true;
                        }
                    }
                    None if is_certain || self.must_be_there(history, row, id) => {
                        let begin = rows.cells.len();
                        self.push_least(&mut rows.cells);
                        self.write(page, row, &mut rows.cells[begin..]);
                        rows.ids.push(id);
                        has_differed = true;
                    }
                    None => continue,
                }
                history.on_simulated(1 << row, self.tick);
            }
        }
        rows.count = rows.ids.len();
        has_differed |= self.drop_gone(known, rows);
        has_differed | self.reorder(known, rows, &pieces)
    }

    /// If the same entities are there, they are in the authority's order.
    fn reorder(&self, known: &KnownKind, rows: &mut Rows, pieces: &[Piece]) -> bool {
        let count: usize = pieces.iter().map(|p| p.rows.count_ones() as usize).sum();
        if count != rows.count {
            return false;
        }
        let mut ids = Vec::with_capacity(count);
        for piece in pieces {
            let column = &known.page(piece).columns[0];
            ids.extend(rows_of(piece.rows).map(|row| column[row]));
        }
        let mut both = ids.iter().zip(&rows.ids);
        if both.all(|(id, row)| *id == i64::from(row.number())) {
            return false;
        }
        let index = index(rows);
        let place = |id: i64| find(&index, EntityId::from_number(id as u32)?);
        let Some(order) = ids.into_iter().map(place).collect::<Option<Vec<usize>>>() else {
            return false;
        };
        let width = self.width();
        let cells = order
            .iter()
            .flat_map(|at| &rows.cells[at * width..][..width]);
        let cells = cells.copied().collect();
        rows.ids = order.iter().map(|at| rows.ids[*at]).collect();
        rows.cells = cells;
        true
    }

    /// Whether an entity that is not certain to be there, and was predicted not to be, is there all the same: because it is there later, or because
    /// it has never been handed on, or that is long ago.
    fn must_be_there(&self, history: &History, row: usize, id: EntityId) -> bool {
        if !holds(&history.newest().page, row, id.number()) {
            return false;
        }
        let updated_at = history.updated_at(history.versions.len() - 1, row);
        let simulated_at = history.simulated_at(row);
        updated_at > self.tick || simulated_at == 0 || simulated_at + PATIENCE < self.tick
    }

    /// Drops what is known to be gone, and what was never told of.
    fn drop_gone(&self, known: &mut KnownKind, rows: &mut Rows) -> bool {
        let (width, count) = (self.width(), rows.count);
        let mut kept = 0;
        for at in 0..count {
            let id = rows.ids[at];
            if self.is_gone(known, id) {
                continue;
            }
            rows.ids[kept] = id;
            rows.cells
                .copy_within(at * width..(at + 1) * width, kept * width);
            kept += 1;
        }
        rows.count = kept;
        rows.ids.truncate(kept);
        rows.cells.truncate(kept * width);
        let recent = self.tick.saturating_sub(4 * PATIENCE);
        known.unreceived.retain(|_, since| *since >= recent);
        kept < count
    }

    /// Whether an entity is gone. It may have gone to a row of which nothing newer has arrived, so it is only once that is out of the question.
    fn is_gone(&self, known: &mut KnownKind, id: EntityId) -> bool {
        let number = id.number();
        if known.moves.contains_key(&number) {
            return false;
        }
        let Some(slot) = known.places.get(id).map(|slot| *slot as usize) else {
            let since = known.unreceived.entry(number).or_insert(self.tick);
            *since = (*since).min(self.tick);
            let since = *since;
            let searched = known.searched(usize::MAX, since);
            return searched.is_some_and(|tick| tick <= self.tick)
                || since.saturating_add(PATIENCE) < self.tick;
        };
        let (page, row) = (slot / PAGE_ROWS, slot % PAGE_ROWS);
        let history = known.history(page as u32);
        let Some((history, at)) = history.and_then(|h| Some((h, h.at(self.tick)?))) else {
            return false;
        };
        let holds = |version: &Version| holds(&version.page, row, number);
        // It may also have come only later.
        let was_there = history.versions.range(..at).any(holds);
        if !was_there || holds(&history.versions[at]) || holds(history.newest()) {
            return false;
        }
        let searched = known.searched(page, history.updated_at(at, row));
        searched.is_some_and(|tick| tick <= self.tick)
    }

    /// Rows without ids are what is in their place.
    fn correct_list(
        &self,
        known: &mut KnownKind,
        rows: &mut Rows,
        is_certain: bool,
        is_first: bool,
    ) -> bool {
        let width = self.width();
        let mut pieces = Vec::new();
        known.pieces(false, self.tick, &mut pieces);
        let mut has_differed = false;
        if !is_first && self.resize_list(known, rows, &pieces, is_certain) {
            has_differed = true;
        }
        for piece in &pieces {
            let history = known.history(piece.page as u32);
            let Some((certain, at)) = history.and_then(|history| history.certain(self.tick)) else {
                continue;
            };
            let page = &known.page(piece);
            debug_assert_eq!(at, piece.at);
            for (row, place) in piece.places() {
                let cells = rows.cells.get_mut(place * width..(place + 1) * width);
                let Some(cells) = cells.filter(|_| certain >> row & 1 == 1) else {
                    continue;
                };
                if !self.is_same(page, row, cells) {
                    self.write(page, row, cells);
                    has_differed = true;
                }
            }
        }
        has_differed
    }

    /// Makes a list as long as is known.
    fn resize_list(
        &self,
        known: &KnownKind,
        rows: &mut Rows,
        pieces: &[Piece],
        is_certain: bool,
    ) -> bool {
        let certain = |page: usize| {
            let history = known.history(page as u32);
            history
                .and_then(|history| history.certain(self.tick))
                .map_or(0, |(certain, _)| certain)
        };
        let is_end =
            |end: usize| is_certain || certain(end / PAGE_ROWS) >> (end % PAGE_ROWS) & 1 == 1;
        let known_end = pieces.iter().map(Piece::end).max().unwrap_or(0);
        let certain_end = pieces
            .iter()
            .map(|piece| piece.only(certain(piece.page)).end());
        let certain_end = certain_end.max().unwrap_or(0);
        let end = match rows.count {
            count if count > known_end && is_end(known_end) => known_end,
            count => count.max(certain_end),
        };
        if rows.count == end {
            return false;
        }
        let width = self.width();
        rows.cells.truncate(end * width);
        for place in rows.count..end {
            let begin = rows.cells.len();
            self.push_least(&mut rows.cells);
            let history = known.history((place / PAGE_ROWS) as u32);
            let at = history.and_then(|history| Some((history, history.at(self.tick)?)));
            if let Some((history, at)) = at {
                let page = &history.versions[at].page;
                if page.present >> (place % PAGE_ROWS) & 1 == 1 {
                    self.write(page, place % PAGE_ROWS, &mut rows.cells[begin..]);
                }
            }
        }
        rows.count = end;
        true
    }
}

/// The places of entities in a table, by id.
fn index(rows: &Rows) -> Vec<(EntityId, usize)> {
    let mut index: Vec<_> = rows.ids.iter().copied().zip(0..).collect();
    index.sort_unstable();
    index
}

fn find(index: &[(EntityId, usize)], id: EntityId) -> Option<usize> {
    let at = index.binary_search_by_key(&id, |(id, _)| *id).ok()?;
    Some(index[at].1)
}
