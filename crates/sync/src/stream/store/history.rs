//! What is known of a page: its versions, oldest first.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::stream::page::{PAGE_ROWS, Page, rows_of};
use crate::stream::sample::Drift;

/// A page as it was at a tick, as far as known: of each row the newest that is not later.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Version {
    pub(in crate::stream) tick: u64,
    /// If nothing was updated, it may have been the same at all ticks from this one on.
    from: u64,
    /// The rows that were updated at this very tick.
    pub(in crate::stream) updated: u64,
    /// The rows that are certain at this tick: what was updated, and what has not changed.
    pub(in crate::stream) sure: u64,
    /// The rows that were updated and of which the authority may still believe that only something older is known here.
    owed: u64,
    pub(in crate::stream) page: Page,
}

impl Version {
    /// Nothing was updated, but some rows have not changed.
    fn quiet(tick: u64, sure: u64, page: Page) -> Version {
        Version {
            tick,
            from: tick,
            updated: 0,
            sure,
            owed: 0,
            page,
        }
    }
}

/// All that is kept of a page.
#[derive(Clone, Debug)]
pub(in crate::stream) struct History {
    /// Never empty. The first contains all updates before it, too.
    pub(in crate::stream) versions: VecDeque<Version>,
    /// When each row of the first version was updated.
    updated_at: Box<[u64; PAGE_ROWS]>,
    /// Whether there were versions before it.
    has_dropped: bool,
    /// Rows with entities that have also been in other rows.
    pub(in crate::stream) moved: u64,
    /// Rows that are shown elsewhere than they are.
    pub(in crate::stream) drift: Option<Box<Drift>>,
    /// For each row, when whoever simulates had it last.
    simulated: Option<Box<[u64; PAGE_ROWS]>>,
}

/// An entity is in a row that it has not been in before.
pub(super) struct Placed {
    pub(super) id: u32,
    pub(super) row: usize,
}

impl History {
    /// Rows that were updated at a tick, and nothing before.
    pub(super) fn new(tick: u64, rows: u64, sure: u64, mut page: Page) -> History {
        page.present &= rows;
        let updated_at = core::array::from_fn(|row| match rows >> row & 1 {
            1 => tick,
            _ => 0,
        });
        History {
            versions: VecDeque::from([Version {
                tick,
                from: tick,
                updated: rows,
                sure: sure | rows,
                owed: rows,
                page,
            }]),
            has_dropped: false,
            updated_at: Box::new(updated_at),
            moved: 0,
            drift: None,
            simulated: None,
        }
    }

    /// The place of the newest version that is not after a tick.
    pub(in crate::stream) fn at(&self, tick: u64) -> Option<usize> {
        self.after(tick).checked_sub(1)
    }

    /// The place of the first version that is after a tick.
    pub(in crate::stream) fn after(&self, tick: u64) -> usize {
        // Mostly one of the last is asked for.
        let later = self.versions.iter().rev();
        let later = later.take_while(|version| version.tick > tick).count();
        self.versions.len() - later
    }

    pub(in crate::stream) fn newest(&self) -> &Version {
        self.versions.back().expect("there is a version")
    }

    /// When a row of a version was updated last.
    pub(in crate::stream) fn updated_at(&self, at: usize, row: usize) -> u64 {
        let versions = self.versions.range(1..=at).rev();
        let updated = versions.into_iter().find(|v| v.updated >> row & 1 == 1);
        updated.map_or(self.updated_at[row], |version| version.tick)
    }

    /// The rows that are certain at a tick, and the version that has them.
    pub(in crate::stream) fn certain(&self, tick: u64) -> Option<(u64, usize)> {
        let at = self.at(tick)?;
        let version = &self.versions[at];
        let mut certain = match version.tick == tick {
            true => version.sure,
            false => 0,
        };
        // What is there and has not changed until later is certain, too. What was not there may have come and gone untold.
        let mut undecided = !certain;
        for later in self.versions.range(at + 1..) {
            let unchanged = match later.from <= tick {
                true => u64::MAX,
                false => version.page.present,
            };
            certain |= undecided & later.sure & !later.updated & unchanged;
            undecided &= !later.sure;
            if undecided == 0 {
                break;
            }
        }
        Some((certain, at))
    }

    /// The first tick, not before this one, at which all rows are certain.
    pub(super) fn all_sure_from(&self, tick: u64) -> Option<u64> {
        let first = self.after(tick.saturating_sub(1));
        let mut later = self.versions.range(first..);
        Some(later.find(|v| v.sure == u64::MAX && v.tick >= tick)?.tick)
    }

    /// What a delta against a tick is based on; without the rows of which that is not known any more.
    pub(super) fn baseline(&self, tick: u64) -> Option<Page> {
        if let Some(at) = self.at(tick) {
            return Some(self.versions[at].page.clone());
        }
        let mut page = self.versions[0].page.clone();
        for row in rows_of(page.present) {
            if self.updated_at[row] > tick {
                page.present &= !(1 << row);
            }
        }
        (page.present != 0).then_some(page)
    }

    /// Rows did not change up to a tick.
    pub(super) fn confirm(&mut self, tick: u64, unchanged: u64) {
        let after = self.after(tick);
        let Some(at) = after.checked_sub(1) else {
            if !self.has_dropped {
                self.begin_earlier(tick, unchanged);
            }
            return;
        };
        let is_last = after == self.versions.len();
        let version = &mut self.versions[at];
        if version.tick == tick {
            version.sure |= unchanged;
        } else if is_last
            && unchanged == u64::MAX
            && version.updated == 0
            && version.sure == u64::MAX
        {
            version.tick = tick;
        } else if is_last
            || self.versions[after].updated & unchanged != 0
            || self.versions[after].sure & unchanged != unchanged
        {
            let page = self.versions[at].page.clone();
            self.versions
                .insert(after, Version::quiet(tick, unchanged, page));
        }
    }

    /// Updates rows at a tick; those in `unchanged` are what they were before. Calls `placed` with entities that are in other rows than before.
    pub(super) fn update(
        &mut self,
        tick: u64,
        rows: u64,
        unchanged: u64,
        values: &Page,
        has_ids: bool,
        placed: &mut dyn FnMut(Placed),
    ) {
        let after = self.after(tick);
        let Some(at) = after.checked_sub(1) else {
            return self.update_before_all(tick, rows, unchanged, values, has_ids, placed);
        };
        let place = match self.versions[at].tick == tick {
            true => {
                self.versions[at].from = tick;
                at
            }
            false => {
                let page = self.versions[at].page.clone();
                self.versions.insert(after, Version::quiet(tick, 0, page));
                after
            }
        };
        let version = &mut self.versions[place];
        if has_ids {
            newly_placed(&version.page, values, rows, placed);
        }
        version.updated |= rows;
        version.owed |= rows;
        version.sure |= rows | unchanged;
        if place == 0 {
            for row in rows_of(rows) {
                self.updated_at[row] = tick;
            }
        }
        write(&mut version.page, rows, values);
        self.carry_on(place + 1, rows, values);
    }

    /// What is the first version came first, but there was something before.
    fn begin_earlier(&mut self, tick: u64, sure: u64) {
        let columns = self.versions[0].page.columns.len();
        *self.updated_at = [0; PAGE_ROWS];
        self.versions
            .push_front(Version::quiet(tick, sure, Page::empty(columns)));
    }

    /// Applies a late update of a time of which only the outcome is known.
    fn update_before_all(
        &mut self,
        tick: u64,
        mut rows: u64,
        unchanged: u64,
        values: &Page,
        has_ids: bool,
        placed: &mut dyn FnMut(Placed),
    ) {
        if !self.has_dropped {
            self.begin_earlier(tick, unchanged);
            return self.update(tick, rows, unchanged, values, has_ids, placed);
        }
        for row in rows_of(rows) {
            match self.updated_at[row] < tick {
                true => self.updated_at[row] = tick,
                false => rows &= !(1 << row),
            }
        }
        if has_ids {
            newly_placed(&self.versions[0].page, values, rows, placed);
        }
        write(&mut self.versions[0].page, rows, values);
        self.carry_on(1, rows, values);
    }

    /// A late update holds until the next one.
    fn carry_on(&mut self, from: usize, mut rows: u64, values: &Page) {
        for version in self.versions.range_mut(from..) {
            rows &= !version.updated;
            if rows == 0 {
                break;
            }
            write(&mut version.page, rows, values);
        }
    }

    /// The authority knows that rows are known here as they were at a tick.
    pub(super) fn trust(&mut self, rows: u64, tick: u64) {
        for version in &mut self.versions {
            if version.tick > tick {
                break;
            }
            version.owed &= !rows;
        }
    }

    /// Whether the authority may refer to the first version, or something before, where the second has something newer.
    pub(super) fn owes_first(&self) -> bool {
        self.versions.get(1).is_none_or(|second| second.owed != 0)
    }

    /// Drops the first version, if there is another. Returns what it was.
    pub(super) fn drop_first(&mut self) -> Option<Version> {
        let next = self.versions.get(1)?;
        for row in rows_of(next.updated) {
            self.updated_at[row] = next.tick;
        }
        self.has_dropped = true;
        self.versions.pop_front()
    }

    /// Another entity is in a row.
    pub(super) fn on_placed(&mut self, row: usize) {
        if let Some(simulated) = &mut self.simulated {
            simulated[row] = 0;
        }
    }

    /// Whoever simulates has these rows at a tick.
    pub(in crate::stream) fn on_simulated(&mut self, rows: u64, tick: u64) {
        let simulated = self
            .simulated
            .get_or_insert_with(|| Box::new([0; PAGE_ROWS]));
        for row in rows_of(rows) {
            simulated[row] = simulated[row].max(tick);
        }
    }

    /// When whoever simulates had a row last; 0 if it never had what is there now.
    pub(in crate::stream) fn simulated_at(&self, row: usize) -> u64 {
        self.simulated
            .as_ref()
            .map_or(0, |simulated| simulated[row])
    }

    /// Whether any version has an entity in a row.
    pub(super) fn has_had(&self, row: usize, id: u32) -> bool {
        self.versions.iter().any(|v| holds(&v.page, row, id))
    }
}

/// Whether an entity is in a row of a page.
pub(in crate::stream) fn holds(page: &Page, row: usize, id: u32) -> bool {
    page.present >> row & 1 == 1 && page.columns[0][row] == i64::from(id)
}

/// Calls `placed` with entities that are now in rows where others were, or none.
fn newly_placed(before: &Page, values: &Page, rows: u64, placed: &mut dyn FnMut(Placed)) {
    let mut candidates = rows & values.present;
    if Arc::ptr_eq(&before.columns[0], &values.columns[0]) {
        candidates &= !before.present;
    }
    for row in rows_of(candidates) {
        let id = values.columns[0][row] as u32;
        if !holds(before, row, id) {
            placed(Placed { id, row });
        }
    }
}

/// Writes rows of a page; columns that stay as they are stay shared.
fn write(page: &mut Page, rows: u64, values: &Page) {
    let kept = page.present & !rows;
    page.present = kept | values.present & rows;
    let written = rows & values.present;
    for (column, values) in page.columns.iter_mut().zip(&values.columns) {
        if Arc::ptr_eq(column, values) {
            continue;
        }
        // What is in rows that are not there does not matter.
        if kept == 0 {
            *column = values.clone();
        } else if rows_of(written).any(|row| column[row] != values[row]) {
            let column = Arc::make_mut(column);
            for row in rows_of(written) {
                column[row] = values[row];
            }
        }
    }
}
