//! Puts segments into parts.

use core::ops::Range;

use samestep_wire::{BitWriter, varint_bits};

use super::acknowledged::Delta;
use super::cache::{Cache, Content};
use super::client::Client;
use super::grid::Grid;
use super::history::History;
use super::page::{MAX_PAGES, rows_of};
use super::part::{MAX_HEADER, MAX_STEP, PageId, PartHeader, write_header, write_step};
use super::segment::{self, MAX_BASELINES};
use crate::Tick;

/// What is sent of a snapshot in one packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketPart {
    /// Its number, by which the client [acknowledges](crate::Publisher::acknowledge) it; it is also in the bytes.
    pub number: u32,
    /// What is to be sent.
    pub bytes: Vec<u8>,
}

/// What a client lacks of a page.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    pub(super) place: PageId,
    pub(super) fresh: u64,
    pub(super) gone: u64,
    /// Which of a list of differences.
    pub(super) deltas: Range<usize>,
    /// The rows that are sent; the others that are missing are left open.
    pub(super) chosen: u64,
    /// All that are missing.
    pub(super) all: u64,
    /// Those that the client has as they are; also that there are none behind the last.
    pub(super) same: u64,
}

impl Missing {
    /// The rows to name as open if these are: these, or all but those that the client has, whichever is shorter.
    fn to_leave_open(&self, rows: u64) -> u64 {
        let others = !self.same;
        match segment::mask_bits(others) < segment::mask_bits(rows) {
            true => others,
            false => rows,
        }
    }
}

/// Memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    body: Vec<u8>,
    segments: Vec<Range<u32>>,
    /// The pages of the current part.
    pages: Vec<PageId>,
}

pub(super) struct Packing<'a> {
    pub(super) grid: &'a Grid,
    pub(super) history: &'a History,
    pub(super) cache: &'a mut Cache,
    pub(super) client: &'a mut Client,
    pub(super) out: &'a mut Vec<PacketPart>,
    pub(super) scratch: &'a mut Scratch,
    pub(super) deltas: &'a [Delta],
    /// Of a whole part.
    pub(super) part_bytes: usize,
    pub(super) tick: Tick,
    pub(super) oldest: Tick,
    /// Where the current part begins, and its last segment.
    from: PageId,
    place: PageId,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// A bound of the bytes of a segment that leaves rows of the same page open, with its step.
const OPEN_ROWS: usize = 1 + 11;
/// Not more rows than this share a segment with those of other baselines.
const FEW_ROWS: u32 = 16;
/// A bound of the bytes of a segment that leaves pages open, without its step.
const OPEN_PAGES: usize = 4;

impl<'a> Packing<'a> {
    #[expect(clippy::too_many_arguments, reason = "what a publisher lends")]
    pub(super) fn new(
        grid: &'a Grid,
        history: &'a History,
        cache: &'a mut Cache,
        client: &'a mut Client,
        out: &'a mut Vec<PacketPart>,
        scratch: &'a mut Scratch,
        deltas: &'a [Delta],
        part_bytes: usize,
    ) -> Packing<'a> {
        scratch.body.clear();
        scratch.pages.clear();
        Packing {
            grid,
            tick: history.latest().expect("there is a snapshot"),
            oldest: history.oldest().expect("there is a snapshot"),
            history,
            cache,
            client,
            out,
            scratch,
            deltas,
            part_bytes,
            from: PageId::default(),
            place: PageId::default(),
            rows: 0,
            bytes: 0,
        }
    }

    /// Sends the chosen rows of a page. Pages come in ascending order.
    pub(super) fn page(&mut self, missing: &Missing) {
        self.rows(missing, missing.chosen);
    }

    /// Leaves what is missing of a page open.
    pub(super) fn open_rows(&mut self, missing: &Missing) {
        self.make_room(missing.place, MAX_STEP + OPEN_ROWS);
        self.leave_open(missing, missing.all);
    }

    /// Leaves whole pages open.
    pub(super) fn open_pages(&mut self, place: PageId, pages: u32) {
        self.make_room(place, MAX_STEP + OPEN_PAGES);
        self.segment(place, |w| segment::write_open_pages(pages, w));
    }

    fn leave_open(&mut self, missing: &Missing, rows: u64) {
        let rows = missing.to_leave_open(rows);
        self.segment(missing.place, |w| segment::write_open_rows(rows, w));
    }

    fn rows(&mut self, missing: &Missing, chosen: u64) {
        let place = missing.place;
        let mut bytes = self.code(missing, chosen) + MAX_STEP;
        let open = missing.all & !chosen;
        if open != 0 {
            bytes += OPEN_ROWS;
        }
        self.make_room(place, bytes);
        if bytes > self.room() && chosen.count_ones() > 1 {
            let (low, high) = halves(chosen);
            self.rows(missing, low);
            self.close(PageId {
                page: place.page + 1,
                ..place
            });
            (self.from, self.place) = (place, place);
            return self.rows(missing, high);
        }
        let segments = core::mem::take(&mut self.scratch.segments);
        for segment in &segments {
            self.step(place);
            let bytes = self.cache.bytes(segment.clone());
            self.scratch.body.extend_from_slice(bytes);
        }
        self.scratch.segments = segments;
        if open != 0 {
            self.leave_open(missing, open);
        }
        let gone = missing.gone & chosen;
        self.rows += u64::from(chosen.count_ones());
        let number = self.client.next_number();
        let known = self.client.known(place);
        known.on_sent(number, self.tick, chosen & !gone, gone);
        self.scratch.pages.push(place);
    }

    /// Codes the chosen rows of a page; returns the bytes that it takes, with steps of a byte.
    fn code(&mut self, missing: &Missing, chosen: u64) -> usize {
        self.scratch.segments.clear();
        if missing.gone & chosen != 0 {
            self.code_segment(missing.place, Content::Gone(missing.gone & chosen));
        }
        if missing.fresh & chosen != 0 {
            self.code_segment(missing.place, Content::Fresh(missing.fresh & chosen));
        }
        // Large sets of rows are likely to be wanted by others too, small ones share what a segment costs.
        let mut small = [Delta::default(); MAX_BASELINES];
        let mut count = 0;
        for delta in &self.deltas[missing.deltas.clone()] {
            let delta = Delta {
                rows: delta.rows & chosen,
                ..*delta
            };
            if delta.rows.count_ones() > FEW_ROWS {
                self.code_segment(missing.place, Content::Deltas(&[delta]));
            } else if delta.rows != 0 {
                small[count] = delta;
                count += 1;
            }
            if count == MAX_BASELINES {
                self.code_segment(missing.place, Content::Deltas(&small));
                count = 0;
            }
        }
        if count > 0 {
            self.code_segment(missing.place, Content::Deltas(&small[..count]));
        }
        let segments = self.scratch.segments.iter();
        segments.map(|segment| segment.len() + 1).sum()
    }

    fn code_segment(&mut self, place: PageId, content: Content<'_>) {
        let segment = self.cache.segment(self.grid, self.history, place, content);
        self.scratch.segments.push(segment);
    }

    /// How many bytes these rows take at most, with what may have to be left open before them; `None` if they do not fit one
    /// part, but would in several.
    pub(super) fn size(&mut self, missing: &Missing, chosen: u64) -> Option<usize> {
        let open = match missing.all & !chosen {
            0 => 0,
            rows => 1 + segment::open_rows_bytes(missing.to_leave_open(rows)),
        };
        let pages = self.history.kinds()[usize::from(missing.place.kind)].len() as u64;
        // One byte of the step is counted with the segment.
        let step = varint_bits(2 * pages) as usize / 8;
        let open_pages = step + segment::open_pages_bytes(pages);
        let bytes = self.code(missing, chosen);
        let needs_several = bytes + MAX_STEP + OPEN_ROWS + self.header_bytes() > self.part_bytes;
        let is_one = chosen.count_ones() == 1;
        (is_one || !needs_several).then_some(bytes + open + step - 1 + open_pages)
    }

    /// How many bytes all the rest takes at most if so many are written, of so many kinds.
    pub(super) fn overhead(&self, bytes: usize, kinds: usize) -> usize {
        // Two parts after each other are more than one can hold, but for what the bounds of their segments are too large.
        let full = self.part_bytes.saturating_sub(64).max(64);
        let parts = 2 * bytes / full + 1;
        parts * (self.header_bytes() + 1) + kinds * (2 * MAX_STEP + OPEN_PAGES)
    }

    fn room(&self) -> usize {
        let header = self.header_bytes();
        self.part_bytes
            .saturating_sub(header + self.scratch.body.len())
    }

    /// A bound of the bytes of the current part's header.
    fn header_bytes(&self) -> usize {
        let number = u64::from(self.client.next_number());
        let age = self.tick.since(self.oldest);
        let (kinds, pages) = (self.grid.kinds() as u64, u64::from(MAX_PAGES));
        let numbers = [number, self.tick.0, age, kinds, pages, kinds, pages];
        let bits: u32 = numbers.into_iter().map(varint_bits).sum();
        bits as usize / 8
    }

    /// Begins the next part with this page if it does not fit.
    fn make_room(&mut self, place: PageId, bytes: usize) {
        if bytes > self.room() && !self.scratch.body.is_empty() {
            self.close(place);
            (self.from, self.place) = (place, place);
        }
    }

    fn step(&mut self, place: PageId) {
        let mut buffer = [0; MAX_STEP];
        let mut w = BitWriter::new(&mut buffer);
        write_step(self.place, place, &mut w);
        let len = w.finish().expect("the bound of a step holds");
        self.scratch.body.extend_from_slice(&buffer[..len]);
        self.place = place;
    }

    fn segment(&mut self, place: PageId, write: impl FnOnce(&mut BitWriter<'_>)) {
        self.step(place);
        let mut buffer = [0; 16];
        let mut w = BitWriter::new(&mut buffer);
        write(&mut w);
        let len = w.finish().expect("masks and numbers are short");
        self.scratch.body.extend_from_slice(&buffer[..len]);
    }

    /// Ends the last part, which reaches to the end of all pages.
    pub(super) fn finish(&mut self) {
        self.close(PageId {
            kind: self.grid.kinds() as u16,
            page: 0,
        });
    }

    fn close(&mut self, to: PageId) {
        let number = self.client.next_number();
        let mut header = [0; MAX_HEADER];
        let mut w = BitWriter::new(&mut header);
        write_header(
            &PartHeader {
                number,
                tick: self.tick,
                oldest: self.oldest,
                from: self.from,
                to,
            },
            &mut w,
        );
        let len = w.finish().expect("the bound of a header holds");
        let mut bytes = Vec::with_capacity(len + self.scratch.body.len());
        bytes.extend_from_slice(&header[..len]);
        bytes.extend_from_slice(&self.scratch.body);
        self.bytes += bytes.len() as u64;
        self.out.push(PacketPart { number, bytes });
        self.client.on_part(self.tick, &self.scratch.pages);
        self.scratch.body.clear();
        self.scratch.pages.clear();
    }
}

/// The first half of some rows, and the others.
fn halves(rows: u64) -> (u64, u64) {
    let half = rows.count_ones() as usize / 2;
    let low = rows_of(rows).take(half).fold(0, |low, row| low | 1 << row);
    (low, rows & !low)
}
