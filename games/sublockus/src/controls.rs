//! The inputs of players.

use samestep_sync::{EntityId, Input, Wire};

use crate::ability::Ability;
use crate::item::Part;
use crate::place::Angle;

/// The state of a player's controls in one tick. It takes 4 bytes, or 7 with an [`Act`] on an entity.
///
/// Keys are held until the next input, casts and acts take effect once. An impossible one (no mana, an empty pocket) has no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct Controls {
    /// To the left; together with `right`, nowhere.
    pub left: bool,
    /// To the right.
    pub right: bool,
    /// Jumps when it is pressed; held, the jump gets higher.
    pub jump: bool,
    /// Falls through ledges.
    pub down: bool,
    /// Where to look and aim.
    pub aim: Angle,
    /// An ability that is cast in this tick.
    pub cast: Option<Ability>,
    /// A further act in this tick.
    pub act: Act,
}

/// An act that takes effect once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum Act {
    /// Nothing.
    #[default]
    None,
    /// Puts on, or drinks, what is in a pocket.
    Use(#[wire(range = 0..=7)] u8),
    /// Drops what is in a pocket.
    Drop(#[wire(range = 0..=7)] u8),
    /// Puts into a pocket what is worn.
    TakeOff(Part),
    /// Detonates one of the player's own fireballs.
    Detonate(EntityId),
}

impl Input for Controls {
    fn predict(&self) -> Self {
        Self {
            cast: None,
            act: Act::None,
            ..*self
        }
    }

    /// Keys are those of the last input; an act or cast of an earlier input still takes effect, unless a later one replaces it.
    fn merge(&mut self, late: &Self) -> bool {
        let has_cast = late.cast.is_some();
        let has_acted = late.act != Act::None;
        if has_cast && self.cast.is_some() || has_acted && self.act != Act::None {
            return false;
        }
        if has_cast {
            (self.cast, self.aim) = (late.cast, late.aim);
        }
        if has_acted {
            self.act = late.act;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use samestep_wire::{decode_exact, encode_to_vec};

    use super::*;

    #[test]
    fn they_are_small() {
        let mut controls = Controls {
            right: true,
            aim: Angle(40_000),
            cast: Some(Ability::Bolt),
            ..Controls::default()
        };
        for (act, bytes) in [
            (Act::None, 4),
            (Act::Use(5), 4),
            (Act::TakeOff(Part::Hand), 4),
            (Act::Detonate(EntityId::fixed(31 << 14 | 200)), 7),
        ] {
            controls.act = act;
            let encoded = encode_to_vec(&controls).unwrap();
            assert_eq!(encoded.len(), bytes, "{act:?}");
            assert_eq!(decode_exact::<Controls>(&encoded), Ok(controls));
        }
    }

    #[test]
    fn what_happens_once_is_not_predicted_and_not_lost() {
        let late = Controls {
            left: true,
            aim: Angle(7),
            cast: Some(Ability::Strike),
            act: Act::Use(1),
            ..Controls::default()
        };
        let predicted = late.predict();
        assert!(predicted.left && predicted.cast.is_none() && predicted.act == Act::None);
        let mut now = Controls {
            right: true,
            ..Controls::default()
        };
        assert!(now.merge(&late));
        assert!(now.right && !now.left);
        assert_eq!(
            (now.cast, now.aim, now.act),
            (late.cast, late.aim, late.act)
        );
        assert!(!now.merge(&late), "one cast, one act in a tick");
        assert!(now.merge(&predicted));
    }
}
