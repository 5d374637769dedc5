//! What is noted of the pictures that some programs draw.

use std::collections::BTreeMap;

use samestep_sim::NodeId;
use samestep_sync::EntityId;

use super::truth::{distance, pair};
use super::{Look, Places};
use crate::arena::TICK;
use crate::stats::Samples;

/// Of how many places in all pictures the errors are kept at most, in a picture: the others are skipped evenly.
const ERRORS_A_PICTURE: usize = 500;
/// A picture in which fewer than this share of what moves has moved stands still.
const STANDSTILL: f64 = 0.5;

/// Looks at what is shown and known, and compares it with what is true.
#[derive(Debug, Default)]
pub struct Audience {
    seen: Seen,
    /// Per program: the picture before.
    before: BTreeMap<NodeId, Before>,
}

/// What was seen by all together.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// How far things were shown from where they had been at the time that was shown, in units.
    pub errors: Samples,
    /// How far things really move in a second, in units, those that move.
    pub speeds: Samples,
    /// The share of things that move, at any time.
    pub moving: Samples,
    /// Between two updates of the same entity, in s; only time in which it really moved counts.
    pub waits: Samples,
    /// How much later than the present others were shown, in ms.
    pub delays: Samples,
    /// Pictures in which most of what moves stood still.
    pub stalls: u64,
    /// Those in a row at most.
    pub longest_stall: u64,
    /// Pictures.
    pub pictures: u64,
    /// Things that were not in a picture though they should have been.
    pub missing: u64,
}

#[derive(Debug, Default)]
struct Before {
    shown: Places,
    displayed: f64,
    known: Places,
    /// Ticks in which an entity moved since it was updated.
    waits: BTreeMap<EntityId, u32>,
    stalled: u64,
    skip: usize,
}

impl Audience {
    /// Takes note of a picture.
    pub fn look<G>(&mut self, look: &Look<'_, G>) {
        let before = self.before.entry(look.node).or_default();
        let seen = &mut self.seen;
        seen.delays.push(look.status.delay.as_secs_f64() * 1e3);
        seen.pictures += 1;
        let Some(moment) = look.truth.at(look.displayed) else {
            before.take(look);
            return;
        };
        before.skip = before.skip.wrapping_add(1);
        let stride = (look.shown.len() / ERRORS_A_PICTURE).max(1);
        let mut at = before.skip % stride;
        let missing = pair(moment.places(), look.shown, |_, truth, shown| {
            at += 1;
            if at == stride {
                at = 0;
                seen.errors.push(distance(truth, shown).into());
            }
        });
        seen.missing += missing as u64;
        before.compare(look, seen);
        before.wait(look, seen);
        before.take(look);
    }

    /// What was seen; what has waited until now for an update counts as if it came.
    pub fn finish(mut self) -> Seen {
        for before in self.before.values() {
            for ticks in before.waits.values() {
                self.seen.waits.push(seconds(*ticks));
            }
        }
        self.seen
    }
}

impl Before {
    fn take<G>(&mut self, look: &Look<'_, G>) {
        self.shown.clone_from(look.shown);
        self.known.clone_from(look.known);
        self.displayed = look.displayed;
    }

    /// Whether the picture goes on from the one before.
    fn compare<G>(&mut self, look: &Look<'_, G>, seen: &mut Seen) {
        let passed = look.displayed - self.displayed;
        let earlier = look.truth.at(look.displayed - 1.0);
        let (Some(now), Some(earlier)) = (look.truth.at(look.displayed), earlier) else {
            return;
        };
        let earlier: Places = earlier.places().collect();
        let (mut things, mut moving, mut way) = (0_u32, 0_u32, 0.0);
        pair(now.places(), &earlier, |_, now, earlier| {
            let step = distance(now, earlier);
            things += 1;
            moving += u32::from(step > 0.0);
            way += f64::from(step);
        });
        if moving == 0 || self.shown.is_empty() {
            return;
        }
        seen.moving.push(f64::from(moving) / f64::from(things));
        seen.speeds
            .push(way / f64::from(moving) / TICK.as_secs_f64());
        let mut moved = 0_u32;
        pair(look.shown.iter().copied(), &self.shown, |_, now, before| {
            moved += u32::from(now != before);
        });
        let stands = f64::from(moved) < STANDSTILL * f64::from(moving) || passed <= 0.0;
        self.stalled = if stands { self.stalled + 1 } else { 0 };
        seen.stalls += u64::from(stands);
        seen.longest_stall = seen.longest_stall.max(self.stalled);
    }

    /// How long entities wait for something new to be known of them.
    fn wait<G>(&mut self, look: &Look<'_, G>, seen: &mut Seen) {
        let Some(newest) = look.truth.newest().map(|tick| tick.0 as f64) else {
            return;
        };
        let ends = (look.truth.at(newest), look.truth.at(newest - 1.0));
        let (Some(now), Some(earlier)) = ends else {
            return;
        };
        let earlier: Places = earlier.places().collect();
        let waits = &mut self.waits;
        pair(now.places(), &earlier, |id, now, earlier| {
            *waits.entry(id).or_default() += u32::from(now != earlier);
        });
        pair(
            look.known.iter().copied(),
            &self.known,
            |id, now, before| {
                if now != before
                    && let Some(ticks) = waits.get_mut(&id)
                {
                    seen.waits.push(seconds(std::mem::take(ticks)));
                }
            },
        );
    }
}

fn seconds(ticks: u32) -> f64 {
    f64::from(ticks) * TICK.as_secs_f64()
}
