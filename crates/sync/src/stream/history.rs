//! What a publisher remembers: the versions of every page that clients may have confirmed.

use std::collections::VecDeque;
use std::sync::Arc;

use super::grid::Grid;
use super::page::{Column, PAGE_ROWS, Page, first_rows};
use super::part::PageId;
use crate::Tick;
use crate::table::Table;

/// The snapshots of a while. A page that does not change costs nothing.
#[derive(Debug)]
pub(super) struct History {
    keep: usize,
    ticks: VecDeque<Tick>,
    /// How many there were.
    count: u32,
    kinds: Vec<Vec<Versions>>,
    free: Free,
}

/// The versions of a page: the newest that is not after the oldest snapshot, and all later ones.
#[derive(Debug, Default)]
pub(super) struct Versions {
    versions: VecDeque<Version>,
}

#[derive(Debug)]
struct Version {
    tick: Tick,
    page: Page,
    /// The rows that differ from the version before.
    changed: u64,
}

/// Memory of versions that are no longer needed.
#[derive(Debug, Default)]
struct Free {
    columns: Vec<Arc<Column>>,
    lists: Vec<Vec<Arc<Column>>>,
}

impl History {
    pub(super) fn new(grid: &Grid, keep: usize) -> History {
        let mut kinds = Vec::new();
        kinds.resize_with(grid.kinds(), Vec::new);
        History {
            keep: keep.max(1),
            ticks: VecDeque::new(),
            count: 0,
            kinds,
            free: Free::default(),
        }
    }

    pub(super) fn latest(&self) -> Option<Tick> {
        self.ticks.back().copied()
    }

    /// How many snapshots there were.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// No older snapshot is a baseline.
    pub(super) fn oldest(&self) -> Option<Tick> {
        self.ticks.front().copied()
    }

    pub(super) fn has(&self, tick: Tick) -> bool {
        self.ticks.binary_search(&tick).is_ok()
    }

    pub(super) fn kinds(&self) -> &[Vec<Versions>] {
        &self.kinds
    }

    pub(super) fn page(&self, place: PageId) -> Option<&Versions> {
        let pages = self.kinds.get(usize::from(place.kind))?;
        pages.get(place.page as usize)
    }

    /// Takes note of a state. The oldest snapshot may be one too many afterwards; [`trim`](Self::trim) forgets what is before it.
    pub(super) fn push(&mut self, grid: &Grid, tick: Tick, table: &Table) {
        assert!(
            self.latest().is_none_or(|latest| latest < tick),
            "snapshots are published in the order of their ticks"
        );
        self.ticks.push_back(tick);
        self.count = self.count.wrapping_add(1);
        if self.ticks.len() > self.keep {
            self.ticks.pop_front();
        }
        for (kind, pages) in self.kinds.iter_mut().enumerate() {
            let rows = table.kind(kind).expect("the table is one of the schema");
            let count = rows.count.div_ceil(PAGE_ROWS);
            if pages.len() < count {
                pages.resize_with(count, Versions::default);
            }
            let columns = grid.columns(kind);
            for (number, versions) in pages.iter_mut().enumerate() {
                let present = first_rows(rows.count.saturating_sub(number * PAGE_ROWS));
                versions.push(&mut self.free, tick, present, columns, |column, into| {
                    grid.read_column(kind, column, rows, number, into);
                });
            }
        }
    }

    /// Forgets versions that are no baseline any more.
    pub(super) fn trim(&mut self) {
        let Some(oldest) = self.oldest() else {
            return;
        };
        for versions in self.kinds.iter_mut().flatten() {
            versions.trim(oldest, &mut self.free);
        }
    }
}

impl Versions {
    /// The page as it is now.
    pub(super) fn latest(&self) -> Option<&Page> {
        Some(&self.versions.back()?.page)
    }

    /// The page as it was.
    pub(super) fn at(&self, tick: Tick) -> Option<&Page> {
        let versions = self.versions.iter().rev();
        let mut versions = versions.skip_while(|version| version.tick > tick);
        Some(&versions.next()?.page)
    }

    /// The rows that have changed after `tick`, also if they are again what they were.
    #[inline]
    pub(super) fn changed_since(&self, tick: Tick) -> u64 {
        let versions = self.versions.iter().rev();
        let later = versions.take_while(|version| version.tick > tick);
        later.fold(0, |rows, version| rows | version.changed)
    }

    /// The rows that have changed after `tick` and not after `end`.
    pub(super) fn changed_between(&self, tick: Tick, end: Tick) -> u64 {
        let versions = self.versions.iter().rev();
        versions
            .skip_while(|version| version.tick > end)
            .take_while(|version| version.tick > tick)
            .fold(0, |rows, version| rows | version.changed)
    }

    fn push(
        &mut self,
        free: &mut Free,
        tick: Tick,
        present: u64,
        columns: usize,
        mut read: impl FnMut(usize, &mut Column),
    ) {
        let before = self.versions.back().map(|version| &version.page);
        let mut changed = present ^ before.map_or(0, |page| page.present);
        let mut list: Option<Vec<Arc<Column>>> = None;
        let mut values = [0; PAGE_ROWS];
        for column in 0..columns {
            read(column, &mut values);
            let same = before.map(|page| &page.columns[column]);
            if let Some(same) = same.filter(|same| ***same == values) {
                if let Some(list) = &mut list {
                    list.push(same.clone());
                }
                continue;
            }
            if let Some(same) = same {
                for (row, (now, then)) in values.iter().zip(&**same).enumerate() {
                    changed |= u64::from(now != then) << row;
                }
            }
            let list = list.get_or_insert_with(|| {
                let mut list = free.lists.pop().unwrap_or_default();
                list.extend(
                    before
                        .into_iter()
                        .flat_map(|page| &page.columns[..column])
                        .cloned(),
                );
                list
            });
            list.push(free.column(&values));
        }
        // Columns of zeros are columns as well.
        let columns = match (list, before) {
            (Some(list), _) => list,
            (None, Some(page)) if changed != 0 => page.columns.clone(),
            (None, None) => Vec::new(),
            (None, Some(_)) => return,
        };
        self.versions.push_back(Version {
            tick,
            page: Page { present, columns },
            changed,
        });
    }

    fn trim(&mut self, oldest: Tick, free: &mut Free) {
        while self.versions.get(1).is_some_and(|next| next.tick <= oldest) {
            let version = self.versions.pop_front();
            let mut columns = version.expect("there is one before the next").page.columns;
            for mut column in columns.drain(..) {
                // Nobody else shares it.
                if Arc::get_mut(&mut column).is_some() {
                    free.columns.push(column);
                }
            }
            free.lists.push(columns);
        }
    }
}

impl Free {
    fn column(&mut self, values: &Column) -> Arc<Column> {
        let Some(mut column) = self.columns.pop() else {
            return Arc::new(*values);
        };
        *Arc::get_mut(&mut column).expect("only columns that nobody shares are free") = *values;
        column
    }
}
