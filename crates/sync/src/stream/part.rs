//! Packet parts: a part travels in one packet and is decoded without the others.

use samestep_wire::{BitReader, BitWriter, DecodeError};

use super::grid::Grid;
use super::page::{MAX_PAGES, Page};
use super::segment::{self, Head};
use crate::Tick;
use crate::bytes::MAX_COUNT;

/// A page of a kind; they are ordered by kind, then by page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct PageId {
    /// By its place in the schema. In the end of a range it may be the number of kinds: all of the last one.
    pub(crate) kind: u16,
    pub(crate) page: u32,
}

/// What a part says about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PartHeader {
    /// Counts the parts to one client; to be acknowledged.
    pub(crate) number: u32,
    /// What it says is about this instant.
    pub(crate) tick: Tick,
    /// No baseline before this one is used, in this part or those written later. Of each row the newest version not after it is still needed.
    /// (A part that was overtaken has an older one; if that has been forgotten, the part is of no use.)
    pub(crate) oldest: Tick,
    /// It speaks of the pages from here
    pub(crate) from: PageId,
    /// up to here, which is not included. All rows of them that no [`PartContent`] mentions have not changed: they are at `tick` what they are in the
    /// newest version not after `tick`, of rows never heard of: not there.
    pub(crate) to: PageId,
}

/// What a part says about some pages, in ascending order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum PartContent {
    /// About one page. It is mentioned once in a part.
    Page(PageUpdate),
    /// Nothing: rows of these pages may have changed.
    Open {
        /// The first.
        place: PageId,
        /// How many, 1 or more; all within the range of the part.
        pages: u32,
    },
}

/// What rows of a page are at the part's tick.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PageUpdate {
    pub(crate) place: PageId,
    /// The rows of which the part says what they are: `values.present` tells whether they are there. Never hidden ones: those are not there.
    pub(crate) rows: u64,
    /// The rows that have not changed since what the receiver knows, as those of pages that are not mentioned. Rows
    /// that are in neither mask stay unknown.
    pub(crate) unchanged: u64,
    /// Of rows outside `rows`, the values and whether they are there mean nothing.
    pub(crate) values: Page,
}

/// Finds what rows were: of each row of a page the newest version not after a tick.
pub(crate) type FindBaseline<'a> = dyn FnMut(PageId, Tick) -> Option<Page> + 'a;

/// Reads the header alone.
pub(crate) fn read_header(grid: &Grid, bytes: &[u8]) -> Result<PartHeader, DecodeError> {
    header(grid, &mut BitReader::new(bytes))
}

/// Reads a part. After an error some contents may have been visited already; they are to be dropped.
///
/// A baseline that is not found is an error: such a part is of no use, and must not be acknowledged.
pub(crate) fn read(
    grid: &Grid,
    bytes: &[u8],
    baseline: &mut FindBaseline<'_>,
    each: &mut dyn FnMut(PartContent),
) -> Result<PartHeader, DecodeError> {
    let mut r = BitReader::new(bytes);
    let header = header(grid, &mut r)?;
    let mut reading = Reading {
        grid,
        header,
        place: header.from,
        open_to: header.from,
        current: None,
    };
    while !r.is_empty() {
        reading.segment(&mut r, baseline, each)?;
        r.align()?;
    }
    reading.finish_page(each);
    Ok(header)
}

struct Reading<'a> {
    grid: &'a Grid,
    header: PartHeader,
    place: PageId,
    /// Pages before this have been left open.
    open_to: PageId,
    current: Option<PageUpdate>,
}

impl Reading<'_> {
    fn finish_page(&mut self, each: &mut dyn FnMut(PartContent)) {
        if let Some(mut update) = self.current.take() {
            let columns = self.grid.columns(usize::from(update.place.kind));
            update.values.prepare(columns);
            each(PartContent::Page(update));
        }
    }

    fn segment(
        &mut self,
        r: &mut BitReader<'_>,
        baseline: &mut FindBaseline<'_>,
        each: &mut dyn FnMut(PartContent),
    ) -> Result<(), DecodeError> {
        let place = step(self.place, r)?;
        let is_new = self.current.as_ref().is_none_or(|u| u.place != place);
        if place >= self.header.to || (is_new && place < self.open_to) || place.page >= MAX_PAGES {
            return Err(DecodeError::OutOfRange);
        }
        self.place = place;
        if is_new {
            self.finish_page(each);
        }
        let kind = usize::from(place.kind);
        let head = segment::read_head(self.header.tick, r)?;
        if let Head::OpenPages(pages) = head {
            let end = place.page.saturating_add(pages);
            let to = PageId { page: end, ..place };
            if self.current.is_some() || end > MAX_PAGES || to > self.header.to {
                return Err(DecodeError::OutOfRange);
            }
            self.open_to = to;
            each(PartContent::Open { place, pages });
            return Ok(());
        }
        let columns = self.grid.columns(kind);
        let update = self.current.get_or_insert_with(|| PageUpdate {
            place,
            rows: 0,
            unchanged: u64::MAX,
            values: Page::default(),
        });
        let values = &mut update.values;
        let rows = match head {
            Head::Gone(rows) => rows,
            Head::Fresh(rows) => {
                values.prepare(columns);
                segment::read_fresh(self.grid, kind, rows, values, r)?;
                rows
            }
            Head::Delta(differences) => {
                let ticks = differences.baselines().iter();
                let pages = ticks.map(|tick| {
                    let page = baseline(place, *tick);
                    page.filter(|page| page.columns.len() == columns)
                });
                let pages: Option<Vec<Page>> = pages.collect();
                let pages = pages.ok_or(DecodeError::OutOfRange)?;
                if values.columns.is_empty() {
                    values.columns.clone_from(&pages[0].columns);
                }
                segment::read_delta(self.grid, kind, &differences, &pages, values, r)?;
                differences.rows
            }
            Head::OpenRows(rows) => {
                update.unchanged &= !rows;
                return Ok(());
            }
            Head::OpenPages(_) => return Ok(()),
        };
        // A part updates a row once at most.
        if rows & update.rows != 0 {
            return Err(DecodeError::OutOfRange);
        }
        update.rows |= rows;
        update.unchanged &= !rows;
        Ok(())
    }
}

fn header(grid: &Grid, r: &mut BitReader<'_>) -> Result<PartHeader, DecodeError> {
    let number = u32::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?;
    let tick = r.read_varint()?;
    if tick >= MAX_COUNT {
        return Err(DecodeError::OutOfRange);
    }
    let age = r.read_varint()?;
    let oldest = tick.checked_sub(age).ok_or(DecodeError::OutOfRange)?;
    let (from, to) = (read_place(r)?, read_place(r)?);
    let end = PageId {
        kind: grid.kinds() as u16,
        page: 0,
    };
    if from > to || to > end {
        return Err(DecodeError::OutOfRange);
    }
    Ok(PartHeader {
        number,
        tick: Tick(tick),
        oldest: Tick(oldest),
        from,
        to,
    })
}

/// A bound of the bytes of a header.
pub(super) const MAX_HEADER: usize = 5 + 10 + 10 + 2 * (3 + 5);

pub(super) fn write_header(header: &PartHeader, w: &mut BitWriter<'_>) {
    w.write_varint(u64::from(header.number));
    w.write_varint(header.tick.0);
    w.write_varint(header.tick.since(header.oldest));
    for place in [header.from, header.to] {
        w.write_varint(u64::from(place.kind));
        w.write_varint(u64::from(place.page));
    }
}

fn read_place(r: &mut BitReader<'_>) -> Result<PageId, DecodeError> {
    let kind = u16::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?;
    let page = u32::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?;
    match page <= MAX_PAGES {
        true => Ok(PageId { kind, page }),
        false => Err(DecodeError::OutOfRange),
    }
}

/// A bound of the bytes of a step.
pub(super) const MAX_STEP: usize = 1 + 3 + 5;

/// Where the next segment is, seen from the last one: twice the pages further on; or 1, the kinds further on, the page.
pub(super) fn write_step(from: PageId, to: PageId, w: &mut BitWriter<'_>) {
    if from.kind == to.kind {
        w.write_varint(u64::from(to.page - from.page) << 1);
    } else {
        w.write_varint(1);
        w.write_varint(u64::from(to.kind - from.kind));
        w.write_varint(u64::from(to.page));
    }
}

fn step(from: PageId, r: &mut BitReader<'_>) -> Result<PageId, DecodeError> {
    let step = r.read_varint()?;
    let (kinds, page) = match step {
        1 => match r.read_varint()? {
            0 => return Err(DecodeError::OutOfRange),
            kinds => (kinds, Some(r.read_varint()?)),
        },
        step if step & 1 == 1 => return Err(DecodeError::OutOfRange),
        step => (0, u64::from(from.page).checked_add(step >> 1)),
    };
    let kind = u64::from(from.kind).checked_add(kinds);
    let place = || {
        Some(PageId {
            kind: u16::try_from(kind?).ok()?,
            page: u32::try_from(page?).ok()?,
        })
    };
    place().ok_or(DecodeError::OutOfRange)
}
