//! Segments of the latest snapshot, each coded once, whoever they are for.

use alloc::vec::Vec;
use core::ops::Range;

use samestep_wire::BitWriter;

use super::grid::Grid;
use super::history::History;
use super::part::Place;
use super::segment;
use crate::Tick;

/// What a segment says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    Gone,
    Fresh,
    /// Differences from this baseline.
    Delta(Tick),
}

#[derive(Debug, Default)]
pub(super) struct Cache {
    kinds: Vec<Vec<Vec<Entry>>>,
    bytes: Vec<u8>,
    scratch: Vec<u8>,
    /// Pages that have entries.
    used: Vec<Place>,
    pub(super) coded: u64,
    pub(super) reused: u64,
}

#[derive(Debug)]
struct Entry {
    content: Content,
    rows: u64,
    bytes: Range<u32>,
}

impl Cache {
    /// Forgets all segments; there are others to come.
    pub(super) fn clear(&mut self) {
        for place in self.used.drain(..) {
            self.kinds[usize::from(place.kind)][place.page as usize].clear();
        }
        self.bytes.clear();
    }

    /// The bytes of a segment, by their place.
    pub(super) fn segment(
        &mut self,
        grid: &Grid,
        history: &History,
        place: Place,
        content: Content,
        rows: u64,
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
        let is_it = |entry: &&Entry| entry.rows == rows && entry.content == content;
        if let Some(entry) = entries.iter().find(is_it) {
            self.reused += 1;
            return entry.bytes.clone();
        }
        self.coded += 1;
        if entries.is_empty() {
            self.used.push(place);
        }
        let begin = self.bytes.len() as u32;
        let room = segment::max_bytes(grid.columns(kind));
        if self.scratch.len() < room {
            self.scratch.resize(room, 0);
        }
        let mut w = BitWriter::new(&mut self.scratch);
        code(grid, history, place, content, rows, &mut w);
        let len = w.finish().expect("the bound of a segment holds");
        self.bytes.extend_from_slice(&self.scratch[..len]);
        let bytes = begin..self.bytes.len() as u32;
        entries.push(Entry {
            content,
            rows,
            bytes: bytes.clone(),
        });
        bytes
    }

    pub(super) fn bytes(&self, range: Range<u32>) -> &[u8] {
        &self.bytes[range.start as usize..range.end as usize]
    }
}

fn code(
    grid: &Grid,
    history: &History,
    place: Place,
    content: Content,
    rows: u64,
    w: &mut BitWriter<'_>,
) {
    let versions = history.page(place).expect("only known pages are coded");
    let tick = history.latest().expect("there is a snapshot");
    let page = versions.latest().expect("a known page has a version");
    match content {
        Content::Gone => segment::write_gone(rows, w),
        Content::Fresh => segment::write_fresh(page, rows, w),
        Content::Delta(baseline) => {
            let then = versions.at(baseline).expect("baselines are kept");
            let has_ids = grid.has_ids(usize::from(place.kind));
            segment::write_delta(page, then, has_ids, tick.since(baseline), rows, w);
        }
    }
}
