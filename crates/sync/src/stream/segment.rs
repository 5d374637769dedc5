//! Segments: what a part says about some rows of a page.

use std::sync::Arc;

use samestep_wire::{BitReader, BitWriter, DecodeError, varint_bits};

use super::acknowledged::Delta;
use super::column;
use super::grid::Grid;
use super::history::Versions;
use super::page::{PAGE_ROWS, Page, rows_of};
use crate::Tick;

const FORM_BITS: u32 = 2;
/// The rows are not there, or not to be seen.
const GONE: u64 = 0;
/// The rows as they are.
const FRESH: u64 = 1;
/// The rows as they differ from a baseline.
const DELTA: u64 = 2;
/// The rows, or whole pages, stay unknown but for what other segments contain.
const OPEN: u64 = 3;

/// What a segment begins with.
pub(super) enum Head {
    Gone(u64),
    Fresh(u64),
    Delta(Differences),
    OpenRows(u64),
    OpenPages(u32),
}

/// Which rows differ from which baselines.
#[derive(Clone, Copy)]
pub(super) struct Differences {
    pub(super) rows: u64,
    count: usize,
    baselines: [Tick; MAX_BASELINES],
    /// Of each row, which of them.
    which: [u8; PAGE_ROWS],
}

/// A segment has at most so many baselines.
pub(super) const MAX_BASELINES: usize = 8;
const COUNT_BITS: u32 = 3;

impl Differences {
    pub(super) fn baselines(&self) -> &[Tick] {
        &self.baselines[..self.count]
    }
}

/// A bound of the bytes that a segment takes.
pub(super) const fn max_bytes(columns: usize) -> usize {
    32 + 10 * MAX_BASELINES + 24 + (columns * (column::max_bits(PAGE_ROWS) + 80)).div_ceil(8)
}

pub(super) fn write_gone(rows: u64, w: &mut BitWriter<'_>) {
    w.write_bits(GONE, FORM_BITS);
    write_mask(rows, w);
    w.align();
}

pub(super) fn write_open_rows(rows: u64, w: &mut BitWriter<'_>) {
    w.write_bits(OPEN, FORM_BITS);
    w.write_varint(0);
    write_mask(rows, w);
    w.align();
}

pub(super) fn write_open_pages(pages: u32, w: &mut BitWriter<'_>) {
    w.write_bits(OPEN, FORM_BITS);
    w.write_varint(u64::from(pages));
    w.align();
}

/// The bytes of [`write_open_rows`].
pub(super) fn open_rows_bytes(rows: u64) -> usize {
    (FORM_BITS + varint_bits(0) + mask_bits(rows)).div_ceil(8) as usize
}

/// The bytes of [`write_open_pages`].
pub(super) fn open_pages_bytes(pages: u64) -> usize {
    (FORM_BITS + varint_bits(pages)).div_ceil(8) as usize
}

/// All columns of the rows: each as it is, or as it differs from row to row.
pub(super) fn write_fresh(page: &Page, rows: u64, w: &mut BitWriter<'_>) {
    w.write_bits(FRESH, FORM_BITS);
    write_mask(rows, w);
    for column in &page.columns {
        let mut values = [0; PAGE_ROWS];
        let mut steps = [0; PAGE_ROWS];
        let mut count = 0;
        let mut before = 0i64;
        for row in rows_of(rows) {
            values[count] = column[row];
            steps[count] = column[row].wrapping_sub(before);
            before = column[row];
            count += 1;
        }
        let is_chained = spread(&steps[1..count]) < spread(&values[..count]);
        w.write_bool(is_chained);
        if is_chained {
            w.write_zigzag(values[0]);
            column::write(&steps[1..count], w);
        } else {
            column::write(&values[..count], w);
        }
    }
    w.align();
}

/// How far numbers lie apart.
fn spread(values: &[i64]) -> u64 {
    let Some(&first) = values.first() else {
        return 0;
    };
    let (mut least, mut greatest) = (first, first);
    for value in values {
        least = least.min(*value);
        greatest = greatest.max(*value);
    }
    greatest.wrapping_sub(least) as u64
}

/// The differences of all columns but the ids, which are the same. Each of the 1 to 8 sets of rows has a baseline of its own.
pub(super) fn write_delta(
    versions: &Versions,
    has_ids: bool,
    tick: Tick,
    deltas: &[Delta],
    w: &mut BitWriter<'_>,
) {
    let page = versions.latest().expect("a page that is coded is there");
    let mut baselines = [page; MAX_BASELINES];
    let baselines = &mut baselines[..deltas.len()];
    let mut rows = 0;
    w.write_bits(DELTA, FORM_BITS);
    w.write_bits(deltas.len() as u64 - 1, COUNT_BITS);
    for (delta, baseline) in deltas.iter().zip(&mut *baselines) {
        *baseline = versions.at(delta.baseline).expect("baselines are kept");
        w.write_varint(tick.since(delta.baseline));
        rows |= delta.rows;
    }
    write_mask(rows, w);
    let mut which = [0; PAGE_ROWS];
    for (place, delta) in deltas.iter().enumerate().skip(1) {
        rows_of(delta.rows).for_each(|row| which[row] = place);
    }
    let width = which_bits(deltas.len());
    if width > 0 {
        rows_of(rows).for_each(|row| w.write_bits(which[row] as u64, width));
    }
    let mut differences = [0; PAGE_ROWS];
    for place in usize::from(has_ids)..page.columns.len() {
        let now = &page.columns[place];
        let mut count = 0;
        let mut any = 0;
        match &*baselines {
            // Mostly nothing has changed, and then it is the same memory.
            baselines
                if baselines
                    .iter()
                    .all(|then| Arc::ptr_eq(&then.columns[place], now)) => {}
            [then] => {
                let then = &then.columns[place];
                for row in rows_of(rows) {
                    differences[count] = now[row].wrapping_sub(then[row]);
                    any |= differences[count];
                    count += 1;
                }
            }
            baselines => {
                for row in rows_of(rows) {
                    let then = &baselines[which[row]].columns[place];
                    differences[count] = now[row].wrapping_sub(then[row]);
                    any |= differences[count];
                    count += 1;
                }
            }
        }
        w.write_bool(any != 0);
        if any != 0 {
            column::write(&differences[..count], w);
        }
    }
    w.align();
}

/// How many bits tell one of so many baselines.
fn which_bits(baselines: usize) -> u32 {
    usize::BITS - (baselines - 1).leading_zeros()
}

pub(super) fn read_head(tick: Tick, r: &mut BitReader<'_>) -> Result<Head, DecodeError> {
    Ok(match r.read_bits(FORM_BITS)? {
        GONE => Head::Gone(read_mask(r)?),
        FRESH => Head::Fresh(read_mask(r)?),
        DELTA => Head::Delta(read_differences(tick, r)?),
        _ => match u32::try_from(r.read_varint()?) {
            Ok(0) => Head::OpenRows(read_mask(r)?),
            Ok(pages) => Head::OpenPages(pages),
            Err(_) => return Err(DecodeError::OutOfRange),
        },
    })
}

fn read_differences(tick: Tick, r: &mut BitReader<'_>) -> Result<Differences, DecodeError> {
    let count = r.read_bits(COUNT_BITS)? as usize + 1;
    let mut baselines = [tick; MAX_BASELINES];
    for baseline in &mut baselines[..count] {
        let age = r.read_varint()?;
        baseline.0 = tick.0.checked_sub(age).ok_or(DecodeError::OutOfRange)?;
    }
    let rows = read_mask(r)?;
    let mut which = [0; PAGE_ROWS];
    let width = which_bits(count);
    if width > 0 {
        for row in rows_of(rows) {
            which[row] = r.read_bits(width)? as u8;
            if usize::from(which[row]) >= count {
                return Err(DecodeError::OutOfRange);
            }
        }
    }
    Ok(Differences {
        rows,
        count,
        baselines,
        which,
    })
}

/// Reads rows into a page that has the columns of its kind.
pub(super) fn read_fresh(
    grid: &Grid,
    kind: usize,
    rows: u64,
    into: &mut Page,
    r: &mut BitReader<'_>,
) -> Result<(), DecodeError> {
    let count = rows.count_ones() as usize;
    for (place, column) in into.columns.iter_mut().enumerate() {
        let mut values = [0; PAGE_ROWS];
        if r.read_bool()? {
            values[0] = r.read_zigzag()?;
            column::read(&mut values[1..count], r)?;
            for at in 1..count {
                values[at] = values[at].wrapping_add(values[at - 1]);
            }
        } else {
            column::read(&mut values[..count], r)?;
        }
        let is_id = |value: &i64| (1..=i64::from(u32::MAX)).contains(value);
        if place == 0 && grid.has_ids(kind) && !values[..count].iter().all(is_id) {
            return Err(DecodeError::OutOfRange);
        }
        let column = Arc::make_mut(column);
        for (row, value) in rows_of(rows).zip(values) {
            column[row] = value;
        }
    }
    into.present |= rows;
    Ok(())
}

/// Reads rows into a page that has the columns of its kind, the same as one of the baselines or others. The baselines are as many as
/// [`Differences::baselines`].
pub(super) fn read_delta(
    grid: &Grid,
    kind: usize,
    differences: &Differences,
    baselines: &[Page],
    into: &mut Page,
    r: &mut BitReader<'_>,
) -> Result<(), DecodeError> {
    let rows = differences.rows;
    let baseline = |row: usize| &baselines[usize::from(differences.which[row])];
    if rows_of(rows).any(|row| baseline(row).present >> row & 1 == 0) {
        return Err(DecodeError::OutOfRange);
    }
    let count = rows.count_ones() as usize;
    let ids = usize::from(grid.has_ids(kind));
    for (place, into) in into.columns.iter_mut().enumerate() {
        let mut values = [0; PAGE_ROWS];
        let has_changed = place >= ids && r.read_bool()?;
        if has_changed {
            column::read(&mut values[..count], r)?;
        } else if baselines
            .iter()
            .all(|then| Arc::ptr_eq(&then.columns[place], into))
        {
            continue;
        }
        let into = Arc::make_mut(into);
        for (row, difference) in rows_of(rows).zip(values) {
            into[row] = baseline(row).columns[place][row].wrapping_add(difference);
        }
    }
    into.present |= rows;
    Ok(())
}

const MASK_BITS: u32 = 2;
const ALL: u64 = 0;
const MARKS: u64 = 1;
const FEW: u64 = 2;
const ALL_BUT_FEW: u64 = 3;
/// This many rows are listed at most.
const LISTED: u32 = 8;
const LISTED_BITS: u32 = 3;
const ROW_BITS: u32 = 6;

/// How many bits a mask takes.
pub(super) fn mask_bits(rows: u64) -> u32 {
    let list = |count| MASK_BITS + LISTED_BITS + count * ROW_BITS;
    match rows.count_ones() {
        64 => MASK_BITS,
        few @ 1..=LISTED => list(few),
        many @ 56.. => list(64 - many),
        _ => MASK_BITS + 64,
    }
}

fn write_mask(rows: u64, w: &mut BitWriter<'_>) {
    let (form, listed) = match rows.count_ones() {
        64 => (ALL, 0),
        1..=LISTED => (FEW, rows),
        56.. => (ALL_BUT_FEW, !rows),
        _ => (MARKS, 0),
    };
    w.write_bits(form, MASK_BITS);
    if form == MARKS {
        w.write_bits(rows, 64);
    } else if listed != 0 {
        w.write_bits(u64::from(listed.count_ones() - 1), LISTED_BITS);
        for row in rows_of(listed) {
            w.write_bits(row as u64, ROW_BITS);
        }
    }
}

fn read_mask(r: &mut BitReader<'_>) -> Result<u64, DecodeError> {
    let form = r.read_bits(MASK_BITS)?;
    let mut listed = 0u64;
    if form == FEW || form == ALL_BUT_FEW {
        for _ in 0..=r.read_bits(LISTED_BITS)? {
            let row = r.read_bits(ROW_BITS)?;
            if listed >> row != 0 {
                return Err(DecodeError::OutOfRange);
            }
            listed |= 1 << row;
        }
    }
    match form {
        ALL => Ok(u64::MAX),
        MARKS => match r.read_bits(64)? {
            0 => Err(DecodeError::OutOfRange),
            rows => Ok(rows),
        },
        FEW => Ok(listed),
        _ => Ok(!listed),
    }
}
