//! Which ticks have been told of, and how much of each.

use alloc::vec::Vec;

use super::Snapshots;
use crate::Tick;
use crate::stream::part::Place;

/// Ticks remembered.
const REMEMBERED: usize = 192;

/// A part may come after those of so many later ticks and still find what it is based on.
const LATE: usize = 4;

/// The ticks of a stream, in ascending order.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Ticks {
    snapshots: Snapshots,
    kinds: usize,
    /// The first tick about which all had arrived.
    was_complete: Option<u64>,
}

/// What has arrived about a tick.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Snapshot {
    pub(in crate::stream) tick: u64,
    /// No baseline before this one.
    oldest: u64,
    /// The pages of which the parts spoke: ranges that do not touch, in ascending order.
    covered: Vec<(Place, Place)>,
    /// Kinds of which not all rows are certain.
    open: Vec<usize>,
}

impl Ticks {
    pub(super) fn new(kinds: usize) -> Ticks {
        Ticks {
            snapshots: Snapshots::new(),
            kinds,
            was_complete: None,
        }
    }

    /// From the first page to the last.
    pub(super) fn everything(&self) -> (Place, Place) {
        let to = Place {
            kind: self.kinds as u16,
            page: 0,
        };
        (Place::default(), to)
    }

    pub(super) fn latest(&self) -> Option<u64> {
        self.snapshots.back().map(|snapshot| snapshot.tick)
    }

    pub(super) fn complete(&self) -> Option<u64> {
        let mut ticks = self.snapshots.iter().rev().map(|snapshot| snapshot.tick);
        ticks.find(|tick| self.is_complete(*tick))
    }

    /// Whether there was a tick up to this one about which all has arrived.
    pub(super) fn complete_by(&self, tick: u64) -> bool {
        self.was_complete.is_some_and(|first| first <= tick)
    }

    /// No baseline before this tick will be used, even in parts that are late.
    pub(super) fn needed(&self) -> u64 {
        let at = self.snapshots.len().saturating_sub(1 + LATE);
        self.snapshots.get(at).map_or(0, |snapshot| snapshot.oldest)
    }

    fn of(&self, tick: u64) -> Option<&Snapshot> {
        let at = self.snapshots.binary_search_by_key(&tick, |s| s.tick);
        Some(&self.snapshots[at.ok()?])
    }

    /// A part has told of these pages.
    pub(super) fn cover(&mut self, tick: u64, oldest: u64, from: Place, to: Place) {
        let at = self.snapshots.binary_search_by_key(&tick, |s| s.tick);
        let at = match at {
            Ok(at) => at,
            Err(0) if self.snapshots.len() >= REMEMBERED => return,
            Err(at) => {
                self.snapshots.insert(
                    at,
                    Snapshot {
                        tick,
                        oldest,
                        covered: Vec::new(),
                        open: Vec::new(),
                    },
                );
                at
            }
        };
        let snapshot = &mut self.snapshots[at];
        snapshot.oldest = snapshot.oldest.max(oldest);
        snapshot.cover(from, to);
        if self.is_complete(tick) && self.was_complete.is_none_or(|first| tick < first) {
            self.was_complete = Some(tick);
        }
        if self.snapshots.len() > REMEMBERED {
            self.snapshots.pop_front();
        }
    }

    /// Nothing was said about some rows of a kind.
    pub(super) fn leave_open(&mut self, tick: u64, kind: usize) {
        let at = self.snapshots.binary_search_by_key(&tick, |s| s.tick);
        if let Ok(at) = at
            && !self.snapshots[at].open.contains(&kind)
        {
            self.snapshots[at].open.push(kind);
        }
    }

    pub(super) fn is_complete(&self, tick: u64) -> bool {
        let (from, to) = self.everything();
        self.of(tick).is_some_and(|s| s.covers(from, to))
    }

    /// Whether all rows of a kind are certain at a tick: those that are not known are not there.
    pub(in crate::stream) fn is_certain(&self, tick: u64, kind: usize) -> bool {
        let is_open = |snapshot: &Snapshot| snapshot.open.contains(&kind);
        self.is_covered(tick, kind) && !self.of(tick).is_some_and(is_open)
    }

    /// Whether all that the authority had to say about a kind has arrived.
    pub(in crate::stream) fn is_covered(&self, tick: u64, kind: usize) -> bool {
        let place = |kind: usize| Place {
            kind: kind as u16,
            page: 0,
        };
        let snapshot = self.of(tick);
        snapshot.is_some_and(|s| s.covers(place(kind), place(kind + 1)))
    }

    /// The ticks before and after a time, and the part of the way between them.
    pub(super) fn around(&self, ticks: f64) -> Option<(Tick, Tick, f32)> {
        let after = self.snapshots.partition_point(|s| s.tick as f64 <= ticks);
        let (first, last) = (self.snapshots.front()?.tick, self.snapshots.back()?.tick);
        Some(match after {
            0 => (Tick(first), Tick(first), 0.0),
            after if after == self.snapshots.len() => (Tick(last), Tick(last), 0.0),
            after => {
                let (before, after) = (self.snapshots[after - 1].tick, self.snapshots[after].tick);
                let part = (ticks - before as f64) / (after - before) as f64;
                (Tick(before), Tick(after), part as f32)
            }
        })
    }
}

impl Snapshot {
    fn cover(&mut self, from: Place, to: Place) {
        let begin = self.covered.partition_point(|range| range.1 < from);
        let end = self.covered.partition_point(|range| range.0 <= to);
        let mut range = (from, to);
        for covered in self.covered.drain(begin..end.max(begin)) {
            range = (range.0.min(covered.0), range.1.max(covered.1));
        }
        self.covered.insert(begin, range);
    }

    fn covers(&self, from: Place, to: Place) -> bool {
        self.covered
            .iter()
            .any(|range| range.0 <= from && range.1 >= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(kind: u16, page: u32) -> Place {
        Place { kind, page }
    }

    #[test]
    fn a_tick_is_complete_once_all_its_ranges_are_there_in_any_order() {
        let mut ticks = Ticks::new(2);
        let cuts = [
            place(0, 0),
            place(1, 0),
            place(1, 7),
            place(1, 9),
            place(2, 0),
        ];
        for (at, piece) in [2, 0, 3, 1].into_iter().enumerate() {
            assert!(!ticks.is_complete(5));
            ticks.cover(5, 2, cuts[piece], cuts[piece + 1]);
            assert_eq!(ticks.is_certain(5, 0), at >= 1);
        }
        assert!(ticks.is_complete(5) && ticks.is_certain(5, 1));
        ticks.leave_open(5, 1);
        assert!(!ticks.is_certain(5, 1) && ticks.is_certain(5, 0));
        assert_eq!((ticks.latest(), ticks.complete()), (Some(5), Some(5)));
    }

    #[test]
    fn a_time_lies_between_two_ticks() {
        let mut ticks = Ticks::new(1);
        assert_eq!(ticks.around(3.0), None);
        let (from, to) = ticks.everything();
        for tick in [9, 3, 6] {
            ticks.cover(tick, 0, from, to);
        }
        assert_eq!(ticks.around(1.0), Some((Tick(3), Tick(3), 0.0)));
        assert_eq!(ticks.around(7.5), Some((Tick(6), Tick(9), 0.5)));
        assert_eq!(ticks.around(12.0), Some((Tick(9), Tick(9), 0.0)));
    }

    #[test]
    fn only_so_many_ticks_are_remembered() {
        let mut ticks = Ticks::new(1);
        let (from, to) = ticks.everything();
        for tick in 0..1000 {
            ticks.cover(tick, tick.saturating_sub(3), from, to);
            ticks.cover(0, 0, from, to);
        }
        assert_eq!(ticks.snapshots.len(), REMEMBERED);
        assert_eq!(ticks.needed(), 992);
    }
}
