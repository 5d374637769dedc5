//! Motion: walking, and knockback that decays and can be walked against.

use samestep_sync::Record;

use crate::place::{Heading, ONE, Place};

/// How fast an avatar walks, in units per tick: 90 yards a second.
pub const SPEED: i32 = 90 * ONE / 60;

/// The most knockback there can be, in units per tick.
pub const MOST_KNOCKBACK: i32 = 20 * ONE;

/// What a tick leaves of a knockback: 15 of 16 parts, and a 32nd of a yard less, so that it is gone after a short time.
const KEPT: (i32, i32) = (15, 16);
const FRICTION: i32 = ONE / 32;

/// Where something is, and the knockback that moves it beside its own steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Body {
    /// Its middle.
    pub place: Place,
    /// The knockback vector, in units per tick.
    pub knockback: Place,
}

impl Body {
    /// At rest.
    pub fn at(place: Place) -> Self {
        Self {
            place,
            knockback: Place::CENTRE,
        }
    }

    /// How a tick moves it: its own step, and the knockback.
    pub fn step(&self, walk: Option<Heading>, speed: i32) -> Place {
        let own = walk.map_or(Place::CENTRE, |heading| heading.way(speed));
        match self.knockback {
            Place::CENTRE => own,
            knockback => own.offset(knockback.at_most(MOST_KNOCKBACK)),
        }
    }

    /// Moves it by a tick.
    pub fn advance(&mut self, walk: Option<Heading>, speed: i32) {
        self.place = self.place.offset(self.step(walk, speed)).bounded();
        if self.knockback != Place::CENTRE {
            let length = self.knockback.at_most(MOST_KNOCKBACK).length();
            let left = (length * KEPT.0 / KEPT.1 - FRICTION).max(0);
            self.knockback = self.knockback.with_length(left);
        }
    }

    /// Throws it.
    pub fn push(&mut self, knockback: Place) {
        let sum = self.knockback.bounded().offset(knockback);
        self.knockback = sum.at_most(MOST_KNOCKBACK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far something thrown by so much comes, and in how many ticks, if it walks like this.
    fn thrown(knockback: i32, walk: Option<Heading>) -> (i32, u32) {
        let mut body = Body::at(Place::CENTRE);
        body.push(Heading::RIGHT.way(knockback));
        let mut ticks = 0;
        while body.knockback != Place::CENTRE {
            body.advance(walk, SPEED);
            ticks += 1;
        }
        (body.place.x / ONE, ticks)
    }

    #[test]
    fn knockback_decays_and_can_be_walked_against() {
        let (far, ticks) = thrown(7 * ONE, None);
        assert!((80..100).contains(&far), "{far} yards");
        assert!((30..60).contains(&ticks), "{ticks} ticks");
        let (against, same) = thrown(7 * ONE, Some(Heading::LEFT));
        assert_eq!(same, ticks);
        assert!((10..far / 2).contains(&against), "{against} yards");
        let (along, _) = thrown(7 * ONE, Some(Heading::RIGHT));
        assert!(along > far + 50);
    }

    #[test]
    fn one_walks_ninety_yards_a_second_into_every_direction() {
        for heading in (0..crate::place::HEADINGS).map(Heading) {
            let mut body = Body::at(Place::CENTRE);
            (0..60).for_each(|_| body.advance(Some(heading), SPEED));
            let off = body.place.length() - 90 * ONE;
            assert!(off.abs() < ONE / 2, "{heading:?}: {off}");
        }
    }

    #[test]
    fn knockbacks_add_up_to_a_limit() {
        let mut body = Body::at(Place::CENTRE);
        body.push(Place::new(3 * ONE, 0));
        body.push(Place::new(0, 4 * ONE));
        assert_eq!(body.knockback.length(), 5 * ONE);
        (0..9).for_each(|_| body.push(Place::new(0, 9 * ONE)));
        assert!(body.knockback.length() <= MOST_KNOCKBACK);
        body.knockback = Place::new(i32::MAX, i32::MIN);
        body.advance(None, SPEED);
        assert!(body.knockback.length() <= MOST_KNOCKBACK);
    }
}
