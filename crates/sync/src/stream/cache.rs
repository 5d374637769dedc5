//! Segments of the latest snapshot, each coded once, whoever they are for.

use core::ops::Range;

use samestep_wire::BitWriter;

use super::acknowledged::Delta;
use super::grid::Grid;
use super::history::History;
use super::part::PageId;
use super::segment;

/// What a segment says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content<'a> {
    Gone(u64),
    Fresh(u64),
    /// Of 1 to 8 baselines.
    Deltas(&'a [Delta]),
}

#[derive(Debug, Default)]
pub(super) struct Cache {
    kinds: Vec<Vec<Vec<CachedSegment>>>,
    bytes: Vec<u8>,
    deltas: Vec<Delta>,
    scratch: Vec<u8>,
    /// Pages that have entries.
    used: Vec<PageId>,
    pub(super) coded: u64,
    pub(super) reused: u64,
}

#[derive(Debug)]
struct CachedSegment {
    key: Key,
    bytes: Range<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Key {
    Gone(u64),
    Fresh(u64),
    /// Most have one baseline.
    Delta(Delta),
    Deltas(Range<u32>),
}

impl Cache {
    /// Forgets all segments; there are others to come.
    pub(super) fn clear(&mut self) {
        for place in self.used.drain(..) {
            self.kinds[usize::from(place.kind)][place.page as usize].clear();
        }
        self.bytes.clear();
        self.deltas.clear();
    }

    /// The bytes of a segment, by their place.
    pub(super) fn segment(
        &mut self,
        grid: &Grid,
        history: &History,
        place: PageId,
        content: Content<'_>,
    ) -> Range<u32> {
        let kind = usize::from(place.kind);
        if self.kinds.len() <= kind {
            self.kinds.resize_with(kind + 1, Vec::new);
        }
        let pages = &mut self.kinds[kind];
        if pages.len() <= place.page as usize {
            pages.resize_with(place.page as usize + 1, Vec::new);
        }
        let entries = &mut pages[place.page as usize];
        let is_it = |entry: &&CachedSegment| entry.key.is(content, &self.deltas);
        if let Some(entry) = entries.iter().find(is_it) {
            self.reused += 1;
            return entry.bytes.clone();
        }
        self.coded += 1;
        if entries.is_empty() {
            self.used.push(place);
        }
        let room = segment::max_bytes(grid.columns(kind));
        if self.scratch.len() < room {
            self.scratch.resize(room, 0);
        }
        let mut w = BitWriter::new(&mut self.scratch);
        code(grid, history, place, content, &mut w);
        let len = w.finish().expect("the bound of a segment holds");
        let begin = self.bytes.len() as u32;
        self.bytes.extend_from_slice(&self.scratch[..len]);
        let bytes = begin..self.bytes.len() as u32;
        entries.push(CachedSegment {
            key: Key::new(content, &mut self.deltas),
            bytes: bytes.clone(),
        });
        bytes
    }

    pub(super) fn bytes(&self, range: Range<u32>) -> &[u8] {
        &self.bytes[range.start as usize..range.end as usize]
    }
}

impl Key {
    fn new(content: Content<'_>, all: &mut Vec<Delta>) -> Key {
        match content {
            Content::Gone(rows) => Key::Gone(rows),
            Content::Fresh(rows) => Key::Fresh(rows),
            Content::Deltas([delta]) => Key::Delta(*delta),
            Content::Deltas(deltas) => {
                let begin = all.len() as u32;
                all.extend_from_slice(deltas);
                Key::Deltas(begin..all.len() as u32)
            }
        }
    }

    fn is(&self, content: Content<'_>, all: &[Delta]) -> bool {
        match (self, content) {
            (Key::Gone(rows), Content::Gone(other)) => *rows == other,
            (Key::Fresh(rows), Content::Fresh(other)) => *rows == other,
            (Key::Delta(delta), Content::Deltas([other])) => delta == other,
            (Key::Deltas(range), Content::Deltas(others)) => {
                all[range.start as usize..range.end as usize] == *others
            }
            _ => false,
        }
    }
}

fn code(
    grid: &Grid,
    history: &History,
    place: PageId,
    content: Content<'_>,
    w: &mut BitWriter<'_>,
) {
    let versions = history.page(place).expect("only known pages are coded");
    let tick = history.latest().expect("there is a snapshot");
    match content {
        Content::Gone(rows) => segment::write_gone(rows, w),
        Content::Fresh(rows) => {
            let page = versions.latest().expect("a page that is coded is there");
            segment::write_fresh(page, rows, w);
        }
        Content::Deltas(deltas) => {
            let has_ids = grid.has_ids(usize::from(place.kind));
            segment::write_delta(versions, has_ids, tick, deltas, w);
        }
    }
}
