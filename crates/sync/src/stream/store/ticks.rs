//! Which ticks have been told of, and how much of each.

use super::Snapshots;
use crate::Tick;
use crate::stream::part::{PageId, PartHeader};

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
    /// The numbers of the first part and the last, and how many have arrived.
    first: Option<u32>,
    last: Option<u32>,
    count: u32,
}

impl Snapshot {
    fn is_complete(&self) -> bool {
        let numbers = self.first.zip(self.last);
        numbers.is_some_and(|(first, last)| last.wrapping_sub(first).wrapping_add(1) == self.count)
    }
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
    pub(super) fn everything(&self) -> (PageId, PageId) {
        let to = PageId {
            kind: self.kinds as u16,
            page: 0,
        };
        (PageId::default(), to)
    }

    pub(super) fn latest(&self) -> Option<u64> {
        self.snapshots.back().map(|snapshot| snapshot.tick)
    }

    pub(in crate::stream) fn complete(&self) -> Option<u64> {
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

    /// A part has come, which is new.
    pub(super) fn on_part(&mut self, header: &PartHeader) {
        let (tick, oldest) = (header.tick.0, header.oldest.0);
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
                        first: None,
                        last: None,
                        count: 0,
                    },
                );
                at
            }
        };
        let (from, to) = self.everything();
        let snapshot = &mut self.snapshots[at];
        snapshot.oldest = snapshot.oldest.max(oldest);
        snapshot.count += 1;
        if header.from == from {
            snapshot.first = Some(header.number);
        }
        if header.to == to {
            snapshot.last = Some(header.number);
        }
        if snapshot.is_complete() && self.was_complete.is_none_or(|first| tick < first) {
            self.was_complete = Some(tick);
        }
        if self.snapshots.len() > REMEMBERED {
            self.snapshots.pop_front();
        }
    }

    pub(super) fn is_complete(&self, tick: u64) -> bool {
        self.of(tick).is_some_and(Snapshot::is_complete)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn part(tick: u64, number: u32, from: (u16, u32), to: (u16, u32)) -> PartHeader {
        let place = |(kind, page)| PageId { kind, page };
        PartHeader {
            number,
            tick: Tick(tick),
            oldest: Tick(tick.saturating_sub(3)),
            from: place(from),
            to: place(to),
        }
    }

    #[test]
    fn a_tick_is_complete_once_all_its_parts_are_there_in_any_order() {
        let mut ticks = Ticks::new(2);
        // A page of which half is in one part and half in another.
        let cuts = [(0, 0), (1, 7), (1, 8), (1, 8), (2, 0)];
        for piece in [2, 0, 3, 1] {
            assert!(!ticks.is_complete(5));
            let from = cuts[piece].min((1, 7));
            ticks.on_part(&part(5, 40 + piece as u32, from, cuts[piece + 1]));
        }
        assert!(ticks.is_complete(5) && ticks.complete_by(7) && !ticks.complete_by(4));
        assert_eq!((ticks.latest(), ticks.complete()), (Some(5), Some(5)));
    }

    #[test]
    fn a_time_lies_between_two_ticks() {
        let mut ticks = Ticks::new(1);
        assert_eq!(ticks.around(3.0), None);
        for tick in [9, 3, 6] {
            ticks.on_part(&part(tick, tick as u32, (0, 0), (1, 0)));
        }
        assert_eq!(ticks.around(1.0), Some((Tick(3), Tick(3), 0.0)));
        assert_eq!(ticks.around(7.5), Some((Tick(6), Tick(9), 0.5)));
        assert_eq!(ticks.around(12.0), Some((Tick(9), Tick(9), 0.0)));
    }

    #[test]
    fn only_so_many_ticks_are_remembered() {
        let mut ticks = Ticks::new(1);
        for tick in 0..1000 {
            ticks.on_part(&part(tick, 0, (0, 0), (1, 0)));
            ticks.on_part(&part(0, 0, (0, 0), (1, 0)));
        }
        assert_eq!(ticks.snapshots.len(), REMEMBERED);
        assert_eq!(ticks.needed(), 992);
    }
}
