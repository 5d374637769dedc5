//! The visible part of corrections: entities whose position at a tick that was shown has changed.

use std::time::Duration;

use samestep_sync::{Live, Tick};

use crate::testmatch::{Playable, Positions};

/// The state that was shown before a rollback, kept until the world has caught up with it.
#[derive(Debug, Default)]
pub struct Corrections {
    /// A correction that could be seen.
    shown: Option<Tick>,
    before: Positions,
    after: Positions,
    seen: Option<Correction>,
}

/// How the view at one tick differs from what it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// Things that moved, appeared or vanished.
    pub things: u32,
    /// How far the farthest of those that moved did, in units.
    pub farthest: f32,
}

impl Corrections {
    /// The world, which is at this tick, goes back.
    pub fn on_back<G: Playable>(&mut self, tick: Tick, game: &G) {
        // Only what it was when the program was called could be seen.
        if self.shown.is_none() {
            self.shown = Some(tick);
            self.before.clear();
            game.positions(&mut self.before);
        }
    }

    /// The world has come to this tick.
    pub fn on_step<G: Playable>(&mut self, tick: Tick, game: &G) {
        if self.shown == Some(tick) {
            self.after.clear();
            game.positions(&mut self.after);
            self.seen = Some(difference(&self.before, &self.after));
        }
    }

    /// The correction since the last call, if there was one; the state that is shown now is of this tick.
    pub fn take(&mut self, tick: Tick) -> Option<Correction> {
        if self.shown.is_none_or(|shown| shown > tick) {
            return None;
        }
        self.shown = None;
        self.seen.take().filter(|seen| seen.things > 0)
    }
}

/// The pictures, one for every tick that is shown.
#[derive(Debug, Default)]
pub struct Pictures {
    last: Positions,
    next: Positions,
}

impl Pictures {
    /// Draws the next. How far the farthest of what is in both moves since the last, in units.
    pub fn draw<G: Playable>(&mut self, now: Duration, live: &mut Live<G>) -> f32 {
        self.next.clear();
        live.shown(now).positions(&mut self.next);
        let Correction { farthest, .. } = difference(&self.last, &self.next);
        std::mem::swap(&mut self.last, &mut self.next);
        farthest
    }
}

/// Both in ascending order.
fn difference(before: &Positions, after: &Positions) -> Correction {
    let mut found = Correction {
        things: 0,
        farthest: 0.0,
    };
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    while let Some(((was, (x, y)), (is, (to_x, to_y)))) = before.peek().zip(after.peek()) {
        if was == is {
            let far = (to_x - x).hypot(to_y - y);
            found.things += u32::from(far > 0.0);
            found.farthest = found.farthest.max(far);
        } else {
            found.things += 1;
        }
        let (was, is) = (*was, *is);
        before.next_if(|_| was <= is);
        after.next_if(|_| is <= was);
    }
    found.things += (before.count() + after.count()) as u32;
    found
}

#[cfg(test)]
mod tests {
    use samestep_sync::EntityId;

    use super::*;

    fn positions(list: &[(u32, f32)]) -> Positions {
        let place = |(number, x): &(u32, f32)| (EntityId::fixed(*number), (*x, 0.0));
        list.iter().map(place).collect()
    }

    #[test]
    fn what_moves_appears_or_vanishes_is_counted() {
        let before = positions(&[(0, 1.0), (1, 1.0), (3, 5.0), (9, 0.0)]);
        let after = positions(&[(0, 1.0), (1, 3.0), (2, 7.0), (3, 5.5)]);
        let Correction { things, farthest } = difference(&before, &after);
        assert_eq!((things, farthest), (4, 2.0));
        assert_eq!(difference(&before, &before).things, 0);
    }
}
