//! The inputs of players.

use samestep_sync::{Input, Wire};

use crate::place::Heading;

/// What a player does in one tick.
///
/// The steering is held until the next input, the box and the use of an item take effect once. An impossible one has no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct Controls {
    /// Where the character is to go.
    pub steer: Steer,
    /// Puts a box into the cell in which the character is, as soon as it has left it.
    pub place_box: bool,
    /// Uses the item that the character holds.
    pub use_item: bool,
}

/// Where a character is to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum Steer {
    /// Nothing is said: it goes on as it goes.
    #[default]
    Keep,
    /// It stops.
    Stop,
    /// It walks into this direction.
    Towards(Heading),
}

impl Controls {
    /// To walk into a direction, or to stop.
    pub fn steering(heading: Option<Heading>) -> Self {
        Self {
            steer: heading.map_or(Steer::Stop, Steer::Towards),
            ..Self::default()
        }
    }
}

impl Input for Controls {
    fn predict(&self) -> Self {
        Self {
            steer: self.steer,
            ..Self::default()
        }
    }

    /// The steering is that of the last input that says any; what was pressed is pressed now.
    fn merge(&mut self, late: &Self) -> bool {
        if self.steer == Steer::Keep {
            self.steer = late.steer;
        }
        self.place_box |= late.place_box;
        self.use_item |= late.use_item;
        true
    }
}

#[cfg(test)]
mod tests {
    use samestep_wire::{decode_exact, encode_to_vec};

    use super::*;

    #[test]
    fn they_take_two_bytes_at_most() {
        for steer in [Steer::Keep, Steer::Stop, Steer::Towards(Heading(31))] {
            let controls = Controls {
                steer,
                place_box: true,
                use_item: false,
            };
            let encoded = encode_to_vec(&controls).unwrap();
            assert!(encoded.len() <= 2, "{encoded:?}");
            assert_eq!(decode_exact::<Controls>(&encoded), Ok(controls));
        }
    }

    #[test]
    fn what_happens_once_is_not_predicted_and_not_lost() {
        let late = Controls {
            steer: Steer::Towards(Heading::UP),
            place_box: true,
            use_item: true,
        };
        assert_eq!(late.predict(), Controls::steering(Some(Heading::UP)));
        let mut now = Controls::steering(None);
        assert!(now.merge(&late));
        assert_eq!(now.steer, Steer::Stop);
        assert!(now.place_box && now.use_item);
        let mut now = Controls::default();
        now.merge(&late);
        assert_eq!(now.steer, Steer::Towards(Heading::UP));
    }
}
