//! The arena: a disc that shrinks in steps to nothing, and the lava around it.

use samestep_sync::{Events, Record};

use crate::avatar::RADIUS;
use crate::event::RawrlocksEvent;
use crate::place::{ONE, Place};
use crate::rawrlocks::Rawrlocks;

/// The health that lava takes each time: 18 a second.
pub const LAVA_DAMAGE: i16 = 3;
/// Ticks from one burn to the next.
pub const LAVA_PERIOD: u32 = 10;

/// The walkable ground: a disc around [`Place::CENTRE`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Arena {
    /// How far it reaches, in units; 0 if all of it is gone.
    pub radius: i32,
    /// When it shrinks next, by the game's clock.
    pub shrinks_at: u32,
}

impl Arena {
    /// Whether who stands there stands in lava: what counts is its middle.
    pub fn is_lava(&self, place: Place) -> bool {
        place.length() > self.radius || self.radius <= 0
    }

    /// The place inside the arena nearest to another, with room for an avatar.
    pub fn project(&self, place: Place) -> Place {
        let inner = (self.radius - RADIUS).max(self.radius / 2).max(0);
        place.bounded().at_most(inner)
    }

    /// How far a place is from the lava, in units; negative in it.
    pub fn margin(&self, place: Place) -> i32 {
        self.radius.saturating_sub(place.length())
    }
}

impl Rawrlocks {
    /// Shrinks the arena when it is time.
    pub(crate) fn shrink_arena(&mut self, events: &mut Events<RawrlocksEvent>) {
        let arena = self.arena;
        if !self.is_fighting() || arena.radius <= 0 || self.clock < arena.shrinks_at {
            return;
        }
        let radius = arena.radius.saturating_sub(self.rules.shrink_by).max(0);
        self.arena = Arena {
            radius,
            shrinks_at: self.later(self.rules.shrink_ticks.max(1)),
        };
        let yards = (radius / ONE).clamp(0, u16::MAX.into()) as u16;
        events.emit(RawrlocksEvent::ArenaShrank { yards });
    }

    /// Lava hurts whoever stands in it.
    pub(crate) fn burn(&mut self, events: &mut Events<RawrlocksEvent>) {
        if !self.is_fighting() {
            return;
        }
        let (clock, arena) = (self.clock, self.arena);
        for avatar in self.avatars.as_mut_slice() {
            let place = avatar.place();
            if !avatar.is_alive() || clock < avatar.burns_from || !arena.is_lava(place) {
                continue;
            }
            avatar.burns_from = clock.saturating_add(LAVA_PERIOD);
            avatar.health = avatar.health.saturating_sub(LAVA_DAMAGE);
            events.emit(RawrlocksEvent::Burnt {
                victim: avatar.player,
                damage: LAVA_DAMAGE,
                place,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_projected_into_the_arena() {
        let mut arena = Arena {
            radius: 100 * ONE,
            shrinks_at: 0,
        };
        assert_eq!(arena.project(Place::yards(30, 40)), Place::yards(30, 40));
        assert_eq!(arena.project(Place::yards(300, 0)), Place::yards(77, 0));
        assert!(arena.is_lava(Place::yards(0, 101)));
        assert!(!arena.is_lava(Place::yards(0, 100)));
        assert_eq!(arena.margin(Place::yards(0, 110)), -10 * ONE);
        arena.radius = 0;
        assert_eq!(arena.project(Place::yards(3, 4)), Place::CENTRE);
        assert!(arena.is_lava(Place::CENTRE));
    }
}
