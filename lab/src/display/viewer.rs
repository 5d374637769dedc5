//! Compares the pictures that some programs draw with the true states.

use std::collections::BTreeMap;

use samestep_sim::NodeId;
use samestep_sync::EntityId;

use super::Picture;
use super::truth::{distance, pair};
use crate::stats::Samples;
use crate::testmatch::{Positions, TICK};

/// The maximum number of errors that are kept of one picture; the others are skipped evenly.
const ERRORS_A_PICTURE: usize = 500;
/// A picture in which fewer than this share of what moves has moved stands still.
const STANDSTILL: f64 = 0.5;

/// Looks at what is shown and known, and compares it with what is true.
#[derive(Debug, Default)]
pub struct Viewer {
    seen: Seen,
    /// Per program: the picture before.
    before: BTreeMap<NodeId, Before>,
}

/// The comparison of all pictures.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// How far things were shown from where they had been at the time that was shown, in units.
    pub errors: Samples,
    /// How far things really move in a second, in units, those that move.
    pub speeds: Samples,
    /// The share of things that move, at any time, and how many that are.
    pub moving: Samples,
    pub movers: Samples,
    /// Between two updates of the same entity.
    pub waits: Waits,
    /// How much later than the present others were shown, in ms.
    pub delays: Samples,
    /// Pictures in which most of what moves stood still.
    pub stalls: u64,
    /// The maximum number of them in a row.
    pub longest_stall: u64,
    /// Pictures.
    pub pictures: u64,
    /// Things that were not in a picture though they should have been.
    pub missing: u64,
}

#[derive(Debug, Default)]
struct Before {
    shown: Positions,
    displayed: f64,
    known: Positions,
    /// Ticks in which an entity moved since it was updated, in ascending order of the entities.
    waits: Vec<(EntityId, usize)>,
    stalled: u64,
    skip: usize,
}

impl Viewer {
    /// Takes note of a picture.
    pub fn look(&mut self, picture: &Picture<'_>) {
        let before = self.before.entry(picture.node).or_default();
        let seen = &mut self.seen;
        seen.delays
            .push(picture.status.interpolation_delay.as_secs_f64() * 1e3);
        seen.pictures += 1;
        let Some(truth) = picture.truth.at(picture.displayed) else {
            before.take(picture);
            return;
        };
        before.skip = before.skip.wrapping_add(1);
        let stride = (picture.shown.len() / ERRORS_A_PICTURE).max(1);
        let mut at = before.skip % stride;
        let missing = pair(truth.positions(), picture.shown, |_, truth, shown| {
            at += 1;
            if at == stride {
                at = 0;
                seen.errors.push(distance(truth, shown).into());
            }
        });
        seen.missing += missing as u64;
        before.compare(picture, seen);
        before.wait(picture, seen);
        before.take(picture);
    }

    /// The comparison so far; entities that still wait for an update count as if it had come.
    pub fn finish(mut self) -> Seen {
        for before in self.before.values() {
            for (_, ticks) in &before.waits {
                self.seen.waits.push(*ticks);
            }
        }
        self.seen
    }
}

impl Before {
    fn take(&mut self, picture: &Picture<'_>) {
        self.shown.clone_from(picture.shown);
        self.known.clone_from(picture.known);
        self.displayed = picture.displayed;
    }

    /// Whether the picture goes on from the one before.
    fn compare(&mut self, picture: &Picture<'_>, seen: &mut Seen) {
        let passed = picture.displayed - self.displayed;
        let earlier = picture.truth.at(picture.displayed - 1.0);
        let (Some(now), Some(earlier)) = (picture.truth.at(picture.displayed), earlier) else {
            return;
        };
        let earlier: Positions = earlier.positions().collect();
        let (mut things, mut moving, mut way) = (0_u32, 0_u32, 0.0);
        pair(now.positions(), &earlier, |_, now, earlier| {
            let step = distance(now, earlier);
            things += 1;
            moving += u32::from(step > 0.0);
            way += f64::from(step);
        });
        if moving == 0 || self.shown.is_empty() {
            return;
        }
        seen.moving.push(f64::from(moving) / f64::from(things));
        seen.movers.push(moving.into());
        seen.speeds
            .push(way / f64::from(moving) / TICK.as_secs_f64());
        let mut moved = 0_u32;
        pair(
            picture.shown.iter().copied(),
            &self.shown,
            |_, now, before| {
                moved += u32::from(now != before);
            },
        );
        let stands = f64::from(moved) < STANDSTILL * f64::from(moving) || passed <= 0.0;
        self.stalled = if stands { self.stalled + 1 } else { 0 };
        seen.stalls += u64::from(stands);
        seen.longest_stall = seen.longest_stall.max(self.stalled);
    }

    /// How long entities wait for something new to be known of them.
    fn wait(&mut self, picture: &Picture<'_>, seen: &mut Seen) {
        let Some(newest) = picture.truth.newest().map(|tick| tick.0 as f64) else {
            return;
        };
        let ends = (picture.truth.at(newest), picture.truth.at(newest - 1.0));
        let (Some(now), Some(earlier)) = ends else {
            return;
        };
        let earlier: Positions = earlier.positions().collect();
        let mut before = std::mem::take(&mut self.waits).into_iter().peekable();
        pair(now.positions(), &earlier, |id, now, earlier| {
            while before.next_if(|(other, _)| *other < id).is_some() {}
            let waited = before.next_if(|(other, _)| *other == id);
            let waited = waited.map_or(0, |(_, ticks)| ticks);
            self.waits.push((id, waited + usize::from(now != earlier)));
        });
        let mut waits = self.waits.iter_mut().peekable();
        pair(
            picture.known.iter().copied(),
            &self.known,
            |id, now, before| {
                if now == before {
                    return;
                }
                while waits.next_if(|(other, _)| *other < id).is_some() {}
                if let Some((_, ticks)) = waits.next_if(|(other, _)| *other == id) {
                    seen.waits.push(std::mem::take(ticks));
                }
            },
        );
    }
}

/// How long entities waited for updates: only time in which they really moved counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    /// How many waited for so many ticks.
    counts: Vec<u64>,
}

impl Waits {
    fn push(&mut self, ticks: usize) {
        self.counts.resize(self.counts.len().max(ticks + 1), 0);
        self.counts[ticks] += 1;
    }

    /// Adds those of another list.
    pub fn append(&mut self, other: &Waits) {
        let len = self.counts.len().max(other.counts.len());
        self.counts.resize(len, 0);
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// The shortest time, in s, that this share of the waits did not exceed.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let all: u64 = self.counts.iter().sum();
        let rank = (percent / 100.0 * all as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let ticks = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some(ticks as f64 * TICK.as_secs_f64())
    }

    /// The longest, in s.
    pub fn longest(&self) -> Option<f64> {
        self.percentile(100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_counted_in_ticks() {
        let mut waits = Waits::default();
        assert_eq!(waits.longest(), None);
        (0..19).for_each(|_| waits.push(3));
        waits.push(60);
        assert_eq!(waits.percentile(95.0), Some(3.0 * TICK.as_secs_f64()));
        assert_eq!(waits.longest(), Some(60.0 * TICK.as_secs_f64()));
        let mut both = Waits::default();
        both.append(&waits);
        assert_eq!(both, waits);
    }
}
