//! Pages: 64 rows of a kind at a time, field by field, on the grid of the wire.

use std::sync::Arc;

/// Rows of a page. A set of them is a mask of 64 bits.
pub(crate) const PAGE_ROWS: usize = 64;

/// There are at most so many pages of a kind: as many rows as a table of foreign bytes may have cells.
pub(crate) const MAX_PAGES: u32 = (crate::table::Table::MAX_CELLS / PAGE_ROWS) as u32;

/// One field of a page, row by row; zero where there is no row.
pub(crate) type Column = [i64; PAGE_ROWS];

/// Row `64 * page + n` of a kind in place `n`. Columns are shared with other versions of the page that have the same.
///
/// The columns are those of [`Grid::columns`](super::grid::Grid::columns): of entities first the ids, then the fields in
/// their order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Page {
    /// The rows that exist.
    pub(crate) present: u64,
    pub(crate) columns: Vec<Arc<Column>>,
}

impl Page {
    /// A page without rows.
    pub(crate) fn empty(columns: usize) -> Page {
        let zeros = Arc::new([0; PAGE_ROWS]);
        Page {
            present: 0,
            columns: vec![zeros; columns],
        }
    }

    /// Makes sure that it has its columns.
    pub(crate) fn prepare(&mut self, columns: usize) {
        if self.columns.len() != columns {
            self.columns = Page::empty(columns).columns;
        }
    }

    /// The value of a row in a column.
    #[cfg(test)]
    pub(crate) fn value(&self, column: usize, row: usize) -> i64 {
        self.columns[column][row]
    }
}

/// The rows of a mask, in ascending order.
pub(crate) fn rows_of(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let row = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (row < PAGE_ROWS).then_some(row)
    })
}

/// The mask of the first so many rows.
pub(crate) fn first_rows(count: usize) -> u64 {
    match count {
        0 => 0,
        count => u64::MAX >> (PAGE_ROWS - count.min(PAGE_ROWS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_sets_of_rows() {
        assert!(rows_of(0b1001 | 1 << 63).eq([0, 3, 63]));
        assert_eq!(rows_of(u64::MAX).count(), 64);
        assert_eq!(first_rows(0), 0);
        assert_eq!(first_rows(3), 0b111);
        assert_eq!(first_rows(100), u64::MAX);
        assert_eq!(Page::empty(2).value(1, 63), 0);
    }
}
