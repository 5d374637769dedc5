//! A state at a tick, and where its entities are.

use crate::Tick;
use crate::entities::EntityId;
use crate::table::{Rows, Schema, Table};

#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) tick: Tick,
    pub(super) table: Table,
    /// The rows of each kind by id; empty if they have not been asked for.
    indexes: Vec<Vec<(EntityId, u32)>>,
}

impl Frame {
    pub(super) fn new(schema: Schema, tick: Tick) -> Frame {
        let mut indexes = Vec::new();
        indexes.resize(schema.kinds().len(), Vec::new());
        Frame {
            tick,
            table: Table::new(schema),
            indexes,
        }
    }

    /// The table holds the state at this tick now.
    pub(super) fn on_filled(&mut self, tick: Tick) {
        self.tick = tick;
        self.indexes.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn rows(&self, kind: usize) -> &Rows {
        self.table.kind(kind).expect("frames have the same schema")
    }

    /// Prepares to be asked about the rows of another frame.
    pub(super) fn align(&mut self, kind: usize, with: &Rows) {
        let rows = self.table.kind(kind).expect("frames have the same schema");
        if self.indexes[kind].len() != rows.ids.len() && rows.ids != with.ids {
            let index = &mut self.indexes[kind];
            index.clear();
            index.extend(rows.ids.iter().copied().zip(0..));
            index.sort_unstable();
        }
    }

    /// The row that is the same as one of another frame. Lists have no ids: their rows are the same by place, as long as there
    /// are as many.
    pub(super) fn same_row(&self, kind: usize, with: &Rows, row: usize) -> Option<usize> {
        let (rows, index) = (self.rows(kind), &self.indexes[kind]);
        let Some(id) = with.ids.get(row) else {
            return (rows.count == with.count).then_some(row);
        };
        if rows.ids.get(row) == Some(id) {
            return Some(row);
        }
        let at = index.binary_search_by_key(id, |(id, _)| *id).ok()?;
        Some(index[at].1 as usize)
    }

    /// The cells of that row.
    pub(super) fn same(&self, kind: usize, with: &Rows, row: usize) -> Option<&[u64]> {
        let row = self.same_row(kind, with, row)?;
        Some(cells(self.rows(kind), row))
    }
}

/// The cells of a row.
pub(super) fn cells(rows: &Rows, row: usize) -> &[u64] {
    let width = rows.cells.len() / rows.count.max(1);
    &rows.cells[row * width..][..width]
}
