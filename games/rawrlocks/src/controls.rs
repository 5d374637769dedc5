//! The inputs of players.

use samestep_sync::{Input, Wire};

use crate::ability::Ability;
use crate::place::{Heading, ONE, Place};

/// What a player does in one tick. It takes 5 or 6 bytes.
///
/// Walking and the cursor are held until the next input; a cast takes effect once. An impossible one (still cooling down) has no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct Controls {
    /// Where to walk; `None` to stand.
    pub walk: Option<Heading>,
    /// Where the cursor is.
    pub cursor: Cursor,
    /// An ability to cast now. Its aim is the cursor of this very input, wherever the cursor goes while it is cast.
    pub cast: Option<Ability>,
}

impl Controls {
    /// To cast an ability with the cursor at a place.
    pub fn casting(ability: Ability, at: Place) -> Self {
        Self {
            cursor: Cursor::at(at),
            cast: Some(ability),
            ..Self::default()
        }
    }
}

/// A place that a cursor points at, in 8ths of a yard from the arena's centre: what fits into two bytes along each axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct Cursor {
    /// To the right.
    pub x: i16,
    /// Down.
    pub y: i16,
}

/// Units of a place to a step of a cursor.
const STEP: i32 = ONE / 8;

impl Cursor {
    /// The cursor nearest to a place.
    pub fn at(place: Place) -> Self {
        let along = |units: i32| {
            let steps = units.saturating_add(STEP / 2).div_euclid(STEP);
            steps.clamp(i16::MIN.into(), i16::MAX.into()) as i16
        };
        Self {
            x: along(place.x),
            y: along(place.y),
        }
    }

    /// Where it points.
    pub fn place(self) -> Place {
        Place::new(i32::from(self.x) * STEP, i32::from(self.y) * STEP)
    }
}

impl Input for Controls {
    fn predict(&self) -> Self {
        Self {
            cast: None,
            ..*self
        }
    }

    /// Walking is that of the last input; the cast of an earlier one still takes effect, with its cursor, unless a later one casts as well.
    fn merge(&mut self, late: &Self) -> bool {
        if late.cast.is_none() {
            return true;
        }
        if self.cast.is_some() {
            return false;
        }
        (self.cast, self.cursor) = (late.cast, late.cursor);
        true
    }
}

#[cfg(test)]
mod tests {
    use samestep_wire::{decode_exact, encode_to_vec};

    use super::*;

    #[test]
    fn they_are_small() {
        for (walk, cast, bytes) in [
            (None, None, 5),
            (Some(Heading(31)), None, 5),
            (Some(Heading(31)), Some(Ability::Thrust), 6),
        ] {
            let controls = Controls {
                walk,
                cursor: Cursor::at(Place::yards(-400, 399)),
                cast,
            };
            let encoded = encode_to_vec(&controls).unwrap();
            assert_eq!(encoded.len(), bytes, "{controls:?}");
            assert_eq!(decode_exact::<Controls>(&encoded), Ok(controls));
        }
    }

    #[test]
    fn a_cursor_is_where_it_was_put() {
        for yards in [-400, -1, 0, 7, 2000] {
            let place = Place::yards(yards, -yards);
            assert_eq!(Cursor::at(place).place(), place);
        }
        let near = Cursor::at(Place::new(100, -100)).place();
        assert!(near.distance(Place::new(100, -100)) < STEP);
        let far = Cursor::at(Place::new(i32::MIN, i32::MAX));
        assert_eq!((far.x, far.y), (i16::MIN, i16::MAX));
    }

    #[test]
    fn a_cast_is_not_predicted_and_not_lost() {
        let late = Controls {
            walk: Some(Heading::LEFT),
            ..Controls::casting(Ability::Fireball, Place::yards(9, 9))
        };
        let predicted = late.predict();
        assert_eq!(predicted.walk, late.walk);
        assert_eq!((predicted.cursor, predicted.cast), (late.cursor, None));
        let mut now = Controls {
            walk: Some(Heading::UP),
            ..Controls::default()
        };
        assert!(now.merge(&late));
        assert_eq!(now.walk, Some(Heading::UP));
        assert_eq!((now.cursor, now.cast), (late.cursor, late.cast));
        assert!(!now.merge(&late), "one cast in a tick");
        assert!(now.merge(&predicted));
    }
}
