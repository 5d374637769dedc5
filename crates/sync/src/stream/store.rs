//! What a client knows of the authority's state: the recent versions of every page.

use std::collections::{BTreeMap, VecDeque};

use samestep_wire::DecodeError;

use super::grid::Grid;
use super::page::{PAGE_ROWS, Page, first_rows};
use super::part::{self, PageId, PageUpdate, PartContent, PartHeader};
use super::sample::{Blending, SampleTime, Scratch};
use crate::Tick;
use crate::entities::{Entities, EntityId};
use crate::table::{Schema, Table};

pub(super) mod history;
mod numbers;
pub(super) mod rows;
mod ticks;

#[cfg(test)]
pub(super) mod tests;

use history::{History, Placed};
use numbers::Numbers;
use ticks::Ticks;

/// Versions of a page that are kept for a display that has not begun,
const UNSHOWN: usize = 24;
/// for one that does not go on,
const SHOWN: usize = 96;
/// for parts that come late and refer to older ones than others did already,
const LATE: usize = 12;
/// and as long as the authority may refer to them.
const MOST: usize = 160;

/// What a client has received of a stream, and what it knows from it.
///
/// Parts may come in any order, twice or not at all. Of every row the recent versions are kept: to decode deltas against them, to
/// show the state as it was between two of them ([`sample`](Self::sample)), and to put right what was predicted
/// ([`correct`](Self::correct)).
#[derive(Clone, Debug)]
pub struct Store {
    pub(super) schema: Schema,
    pub(super) grid: Grid,
    pub(super) kinds: Vec<KnownKind>,
    pub(super) blending: Vec<Blending>,
    /// What was shown last, and how.
    pub(super) shown: Option<SampleTime>,
    pub(super) scratch: Scratch,
    pub(super) ticks: Ticks,
    numbers: Numbers,
    /// Cells of all pages.
    cells: usize,
    contents: Vec<PartContent>,
    /// What the part that is being read refers to.
    baselines: Vec<(PageId, u64)>,
    stats: StoreStats,
}

/// What is known of a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownKind {
    pub(super) pages: Vec<Option<Box<History>>>,
    /// The row where each entity was put last.
    pub(super) places: Entities<u32>,
    /// The rows in which entities are or were that have been in more than one.
    pub(super) moves: BTreeMap<u32, Vec<u32>>,
    /// The last ticks at which there was nothing after the last page, in ascending order.
    beyond: VecDeque<u64>,
    /// Entities that were predicted and never received, and since when.
    pub(super) unreceived: BTreeMap<u32, u64>,
    /// Above all ids that were counted up.
    pub(super) counter: u32,
}

/// What a part brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ReceivedPart {
    /// The tick it tells of.
    pub tick: Tick,
    /// Its number.
    pub number: u32,
    /// Whether it was applied: it came for the first time, and its baselines were there.
    pub is_new: bool,
    /// Whether all parts of the tick have arrived.
    pub complete: bool,
}

/// What has become of the parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct StoreStats {
    /// Parts that were applied.
    pub parts: u64,
    /// Parts that had arrived before.
    pub doubled: u64,
    /// Parts that were based on what is not known any more.
    pub unusable: u64,
    /// Parts that were damaged.
    pub damaged: u64,
    /// Rows that were updated.
    pub rows: u64,
}

impl Store {
    /// Knows nothing yet.
    pub fn new(schema: Schema) -> Store {
        let kinds = schema.kinds();
        let mut known = Vec::new();
        known.resize(kinds.len(), KnownKind::default());
        Store {
            grid: Grid::new(&schema),
            blending: kinds
                .iter()
                .enumerate()
                .map(|(number, kind)| Blending::new(number, kind))
                .collect(),
            kinds: known,
            shown: None,
            scratch: Scratch::default(),
            ticks: Ticks::new(kinds.len()),
            numbers: Numbers::default(),
            cells: 0,
            contents: Vec::new(),
            baselines: Vec::new(),
            stats: StoreStats::default(),
            schema,
        }
    }

    /// Takes in a part.
    ///
    /// A part whose baseline is not kept any more is neither applied nor acknowledged; the authority sends its rows again, on another baseline.
    ///
    /// # Errors
    /// If it is damaged; then nothing has changed.
    pub fn handle(&mut self, bytes: &[u8]) -> Result<ReceivedPart, DecodeError> {
        let result = self.read(bytes);
        self.stats.damaged += u64::from(result.is_err());
        result
    }

    fn read(&mut self, bytes: &[u8]) -> Result<ReceivedPart, DecodeError> {
        let header = part::read_header(&self.grid, bytes)?;
        if !self.numbers.is_new(header.number) {
            self.stats.doubled += 1;
            return Ok(self.received(&header, false));
        }
        let (grid, kinds) = (&self.grid, &self.kinds);
        let mut is_lacking = false;
        let baselines = &mut self.baselines;
        baselines.clear();
        let mut baseline = |place: PageId, tick: Tick| {
            let history = kinds[usize::from(place.kind)].history(place.page);
            let page = history.and_then(|history| history.baseline(tick.0));
            let first = history.map_or(u64::MAX, |history| history.versions[0].tick);
            is_lacking |= first > tick.0;
            baselines.push((place, tick.0));
            page
        };
        let mut contents = core::mem::take(&mut self.contents);
        contents.clear();
        let read = part::read(grid, bytes, &mut baseline, &mut |content| {
            contents.push(content)
        });
        let fits = read.is_ok() && self.makes_room(&contents);
        if fits {
            self.apply(&header, &contents);
            self.numbers.insert(header.number);
            self.stats.parts += 1;
        }
        self.contents = contents;
        match read {
            Ok(_) if fits => Ok(self.received(&header, true)),
            Ok(_) => Err(DecodeError::OutOfRange),
            Err(_) if is_lacking => {
                self.stats.unusable += 1;
                Ok(self.received(&header, false))
            }
            Err(error) => Err(error),
        }
    }

    fn received(&self, header: &PartHeader, is_new: bool) -> ReceivedPart {
        ReceivedPart {
            tick: header.tick,
            number: header.number,
            is_new,
            complete: self.ticks.is_complete(header.tick.0),
        }
    }

    /// Which parts have arrived: the newest, and in bit `i` the one whose number is less by `1 + i`.
    pub fn acknowledgement(&self) -> Option<(u32, u128)> {
        Some(self.numbers.acknowledgement(self.numbers.latest()?))
    }

    /// The same for so many runs of 129 parts, the newest first: for when more than that arrive between two acknowledgements.
    pub fn acknowledgements(&self, runs: usize) -> impl Iterator<Item = (u32, u128)> {
        let before = |number: &u32| self.numbers.at_most(number.checked_sub(129)?);
        core::iter::successors(self.numbers.latest(), before)
            .take(runs)
            .map(|number| self.numbers.acknowledgement(number))
    }

    /// The newest tick that anything is known of.
    pub fn latest(&self) -> Option<Tick> {
        self.ticks.latest().map(Tick)
    }

    /// The newest tick about which all has arrived.
    pub fn complete(&self) -> Option<Tick> {
        self.ticks.complete().map(Tick)
    }

    /// What has become of the parts.
    pub fn stats(&self) -> StoreStats {
        self.stats
    }

    /// The two received ticks between which a display time lies, and which part of the way has been
    /// gone. After the last it is at the last.
    pub fn seen(&self, ticks: f64) -> Option<(Tick, Tick, f32)> {
        self.ticks.around(ticks)
    }

    /// Begins anew, from a state that the authority knows this client to have.
    pub fn seed(&mut self, tick: Tick, table: &Table) {
        *self = Store::new(self.schema.clone());
        let schema = self.schema.clone();
        for kind in 0..schema.kinds().len() {
            let Some(rows) = table.kind(kind) else {
                continue;
            };
            for number in 0..rows.count.div_ceil(PAGE_ROWS) {
                let mut page = Page::empty(self.grid.columns(kind));
                page.present = first_rows(rows.count - number * PAGE_ROWS);
                for (place, column) in page.columns.iter_mut().enumerate() {
                    let column = std::sync::Arc::make_mut(column);
                    self.grid.read_column(kind, place, rows, number, column);
                }
                let place = PageId {
                    kind: kind as u16,
                    page: number as u32,
                };
                self.update_page(
                    tick.0,
                    &PageUpdate {
                        place,
                        rows: u64::MAX,
                        unchanged: 0,
                        values: page,
                    },
                );
            }
        }
        let (from, to) = self.ticks.everything();
        self.ticks.on_part(&PartHeader {
            number: 0,
            tick,
            oldest: tick,
            from,
            to,
        });
        for known in &mut self.kinds {
            known.on_nothing_beyond(tick.0);
        }
    }

    /// Whether there is room for the contents of a part.
    fn makes_room(&mut self, contents: &[PartContent]) -> bool {
        let mut cells = self.cells;
        for content in contents {
            if let PartContent::Page(update) = content {
                let kind = usize::from(update.place.kind);
                if self.kinds[kind].history(update.place.page).is_none() {
                    cells += PAGE_ROWS * (1 + self.grid.columns(kind));
                }
            }
        }
        cells <= Table::MAX_CELLS
    }

    fn apply(&mut self, header: &PartHeader, contents: &[PartContent]) {
        let tick = header.tick.0;
        let is_later = self.ticks.latest().is_some_and(|latest| tick > latest);
        if is_later {
            self.forget_moves();
        }
        self.ticks.on_part(header);
        let mut from = header.from;
        for content in contents {
            let (place, pages) = match content {
                PartContent::Page(update) => (update.place, 1),
                PartContent::Open { place, pages } => (*place, *pages),
            };
            self.confirm(tick, from, place);
            from = PageId {
                page: place.page.saturating_add(pages),
                ..place
            };
            if let PartContent::Page(update) = content {
                self.update_page(tick, update);
            }
        }
        self.confirm(tick, from, header.to);
    }

    /// Nothing has changed in these pages.
    fn confirm(&mut self, tick: u64, from: PageId, to: PageId) {
        for kind in from.kind..=to.kind {
            let Some(known) = self.kinds.get_mut(usize::from(kind)) else {
                break;
            };
            let first = if kind == from.kind { from.page } else { 0 };
            let end = if kind == to.kind { to.page } else { u32::MAX };
            if (first..end).contains(&(known.pages.len() as u32)) {
                known.on_nothing_beyond(tick);
            }
            let end = (end as usize).min(known.pages.len());
            for page in first as usize..end {
                match &mut known.pages[page] {
                    Some(history) => {
                        history.confirm(tick, u64::MAX);
                        history.trust(u64::MAX, tick);
                        let limits = (self.ticks.needed(), self.shown.as_ref());
                        trim(history, &mut known.places, page, limits);
                    }
                    // Pages between others in which there is nothing to be seen are few.
                    empty if self.cells < Table::MAX_CELLS / 4 => {
                        let columns = self.grid.columns(usize::from(kind));
                        self.cells += PAGE_ROWS * (1 + columns);
                        let page = Page::empty(columns);
                        *empty = Some(Box::new(History::new(tick, 0, u64::MAX, page)));
                    }
                    None => {}
                }
            }
        }
    }

    /// Updates a page at a tick.
    fn update_page(&mut self, tick: u64, update: &PageUpdate) {
        let (kind, number) = (usize::from(update.place.kind), update.place.page as usize);
        let has_ids = self.grid.has_ids(kind);
        self.stats.rows += u64::from(update.rows.count_ones());
        let known = &mut self.kinds[kind];
        self.blending[kind].observe(&update.values, update.rows);
        if known.pages.len() <= number {
            if update.rows & update.values.present == 0 {
                return;
            }
            known.pages.resize_with(number + 1, || None);
        }
        let mut placed: Vec<Placed> = Vec::new();
        match &mut known.pages[number] {
            Some(history) => {
                let what = (update.rows, update.unchanged, &update.values);
                if update.rows == 0 {
                    history.confirm(tick, update.unchanged);
                } else {
                    let drift = self.shown.as_ref().map(|shown| {
                        shown.before_change(
                            &self.grid,
                            &self.blending[kind],
                            history,
                            tick,
                            what.0,
                            &mut self.scratch,
                        )
                    });
                    let mut place = |new| placed.push(new);
                    history.update(tick, what.0, what.1, what.2, has_ids, &mut place);
                    if let (Some(rows), Some(shown)) = (drift, &self.shown) {
                        let blending = &self.blending[kind];
                        shown.after_change(&self.grid, blending, history, rows, &mut self.scratch);
                    }
                }
                let baselines = self.baselines.iter();
                let baselines = baselines.filter(|(place, _)| *place == update.place);
                if let Some(oldest) = baselines.map(|(_, tick)| *tick).min() {
                    history.trust(update.rows, oldest);
                }
                history.trust(update.unchanged, tick);
                let limits = (self.ticks.needed(), self.shown.as_ref());
                trim(history, &mut known.places, number, limits);
            }
            page => {
                if update.rows & update.values.present == 0 {
                    return;
                }
                self.cells += PAGE_ROWS * (1 + self.grid.columns(kind));
                let values = update.values.clone();
                let history = History::new(tick, update.rows, update.unchanged, values);
                if has_ids {
                    let present = history.newest().page.present;
                    let ids = &update.values.columns[0];
                    placed.extend(super::page::rows_of(present).map(|row| Placed {
                        id: ids[row] as u32,
                        row,
                    }));
                }
                *page = Some(Box::new(history));
            }
        }
        for Placed { id, row } in placed {
            if let Some(Some(history)) = known.pages.get_mut(number) {
                history.on_placed(row);
            }
            known.place(id, (number * PAGE_ROWS + row) as u32);
        }
    }

    /// Entities that have long been where they are have not moved.
    fn forget_moves(&mut self) {
        let moving = |known: &&mut KnownKind| !known.moves.is_empty();
        for known in self.kinds.iter_mut().filter(moving) {
            let KnownKind {
                pages,
                moves,
                places,
                ..
            } = known;
            moves.retain(|id, slots| {
                slots.retain(|slot| {
                    let history = pages[*slot as usize / PAGE_ROWS].as_deref();
                    let row = *slot as usize % PAGE_ROWS;
                    history.is_some_and(|history| history.has_had(row, *id))
                });
                if let ([slot], Some(id)) = (&slots[..], EntityId::from_number(*id)) {
                    places.insert_fixed(id, *slot);
                }
                slots.len() > 1
            });
            // The marks of those that are left, and of no others.
            for history in pages.iter_mut().flatten() {
                history.moved = 0;
            }
            for slot in moves.values().flatten() {
                if let Some(history) = &mut pages[*slot as usize / PAGE_ROWS] {
                    history.moved |= 1 << (*slot as usize % PAGE_ROWS);
                }
            }
        }
    }
}

impl KnownKind {
    pub(super) fn history(&self, page: u32) -> Option<&History> {
        self.pages.get(page as usize)?.as_deref()
    }

    fn on_nothing_beyond(&mut self, tick: u64) {
        if let Err(at) = self.beyond.binary_search(&tick) {
            self.beyond.insert(at, tick);
        }
        if self.beyond.len() > MOST {
            self.beyond.pop_front();
        }
    }

    /// Whether an entity that was there at a tick, in this page or one before, would have been seen since. They only ever go to earlier rows, so
    /// each page must have been seen not before the one behind it. Returns when the search ended.
    pub(super) fn searched(&self, page: usize, since: u64) -> Option<u64> {
        let mut seen = match page >= self.pages.len() {
            true => *self.beyond.iter().find(|beyond| **beyond >= since)?,
            false => since,
        };
        for page in self.pages.iter().take(page.saturating_add(1)).rev() {
            seen = page.as_ref()?.all_sure_from(seen)?;
        }
        Some(seen)
    }

    /// Whether all rows are certain at a tick.
    pub(super) fn is_certain(&self, tick: u64) -> bool {
        let is_certain = |page: &Option<Box<History>>| {
            let certain = page.as_ref().and_then(|history| history.certain(tick));
            matches!(certain, Some((u64::MAX, _)))
        };
        self.beyond.binary_search(&tick).is_ok() && self.pages.iter().all(is_certain)
    }

    /// An entity is in a row that it was not in before.
    fn place(&mut self, id: u32, slot: u32) {
        let Some(entity) = EntityId::from_number(id) else {
            return;
        };
        if !entity.is_fixed() {
            self.counter = self.counter.max(id.saturating_add(1));
        }
        let before = self.places.insert_fixed(entity, slot);
        if before == Some(slot) || before.is_none() && !self.moves.contains_key(&id) {
            return;
        }
        let slots = self.moves.entry(id).or_default();
        for slot in before.into_iter().chain([slot]) {
            if !slots.contains(&slot) {
                slots.push(slot);
            }
            if let Some(Some(history)) = self.pages.get_mut(slot as usize / PAGE_ROWS) {
                history.moved |= 1 << (slot as usize % PAGE_ROWS);
            }
        }
    }
}

/// Drops versions that nobody needs any more.
fn trim(
    history: &mut History,
    places: &mut Entities<u32>,
    page: usize,
    (needed, shown): (u64, Option<&SampleTime>),
) {
    loop {
        let versions = &history.versions;
        let count = versions.len();
        let is_unseen = || match shown {
            None => count > UNSHOWN,
            Some(shown) => count > 3 && versions[3].tick as f64 <= shown.ticks,
        };
        let is_needless = count > MOST
            || count > 1
                && (versions[1].tick <= needed || count > LATE && !history.owes_first())
                && (count > SHOWN || is_unseen());
        if !is_needless {
            return;
        }
        let Some(dropped) = history.drop_first() else {
            return;
        };
        forget_ids(&dropped.page, history, places, page);
    }
}

/// Entities that were in a version that was dropped, and are not there any more, are in no place.
fn forget_ids(dropped: &Page, history: &History, places: &mut Entities<u32>, page: usize) {
    let newest = &history.newest().page;
    let Some(ids) = dropped.columns.first() else {
        return;
    };
    let is_same = std::sync::Arc::ptr_eq(ids, &newest.columns[0]);
    if places.is_empty() || is_same && dropped.present & !newest.present == 0 {
        return;
    }
    for row in super::page::rows_of(dropped.present) {
        let id = ids[row] as u32;
        let slot = (page * PAGE_ROWS + row) as u32;
        let entity = EntityId::from_number(id);
        let entity = entity.filter(|_| !history.has_had(row, id));
        let entity = entity.filter(|entity| places.get(*entity) == Some(&slot));
        if let Some(entity) = entity {
            places.remove(entity);
        }
    }
}

/// What is known of one tick after the other.
pub(super) type Snapshots = VecDeque<ticks::Snapshot>;
