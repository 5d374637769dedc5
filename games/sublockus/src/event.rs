//! The events of the game, for display and sound.

use samestep_sync::{PlayerId, Wire};

use crate::ability::Ability;
use crate::item::ItemKind;
use crate::place::{Angle, Place};

/// An event of a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum SublockusEvent {
    /// Somebody came to play, for the first time or again.
    Joined {
        /// Who.
        player: PlayerId,
    },
    /// Somebody left.
    Left {
        /// Who.
        player: PlayerId,
    },
    /// A character entered the arena.
    Entered {
        /// Whose.
        player: PlayerId,
        /// Where.
        place: Place,
    },
    /// A character jumped.
    Jumped {
        /// Whose.
        player: PlayerId,
        /// Where.
        place: Place,
    },
    /// An ability was cast.
    Cast {
        /// By whom.
        player: PlayerId,
        /// Which one.
        ability: Ability,
        /// Where.
        place: Place,
        /// In which direction.
        aim: Angle,
    },
    /// A bolt flashed.
    Flashed {
        /// Who cast it.
        player: PlayerId,
        /// From where.
        from: Place,
        /// To where.
        to: Place,
    },
    /// A fireball burst.
    Burst {
        /// Who cast it.
        player: PlayerId,
        /// Where.
        place: Place,
    },
    /// A character was hurt.
    Hit {
        /// Whose.
        victim: PlayerId,
        /// By whom; `None` if by thorns.
        by: Option<PlayerId>,
        /// With what; `None` if by thorns.
        ability: Option<Ability>,
        /// What it lost.
        damage: i16,
        /// Where it was.
        place: Place,
    },
    /// A character got health.
    Healed {
        /// Whose.
        player: PlayerId,
        /// How much.
        health: i16,
        /// Where.
        place: Place,
    },
    /// A character died; [`Fell`](Self::Fell) says where.
    Died {
        /// Whose.
        victim: PlayerId,
        /// Who gets the frag, if anybody.
        killer: Option<PlayerId>,
    },
    /// A character died there.
    Fell {
        /// Whose.
        victim: PlayerId,
        /// Where.
        place: Place,
    },
    /// An item was picked up.
    Taken {
        /// By whom.
        player: PlayerId,
        /// What it is.
        item: ItemKind,
        /// Where.
        place: Place,
    },
    /// An item was put on, or drunk.
    Used {
        /// By whom.
        player: PlayerId,
        /// What it is, or was.
        item: ItemKind,
        /// Where.
        place: Place,
    },
    /// An item was dropped.
    Dropped {
        /// By whom.
        player: PlayerId,
        /// What it is.
        item: ItemKind,
        /// Where.
        place: Place,
    },
    /// A round is over.
    RoundOver {
        /// Who has won; `None` if several have as many frags.
        winner: Option<PlayerId>,
    },
    /// A round begins.
    RoundBegan,
}

impl SublockusEvent {
    /// Its place and the player concerned; `None` if everybody may know of it.
    pub fn place(&self) -> Option<(PlayerId, Place)> {
        match *self {
            Self::Joined { .. }
            | Self::Left { .. }
            | Self::Died { .. }
            | Self::RoundOver { .. }
            | Self::RoundBegan => None,
            Self::Entered { player, place }
            | Self::Jumped { player, place }
            | Self::Cast { player, place, .. }
            | Self::Burst { player, place }
            | Self::Healed { player, place, .. }
            | Self::Taken { player, place, .. }
            | Self::Used { player, place, .. }
            | Self::Dropped { player, place, .. } => Some((player, place)),
            Self::Flashed { player, from, .. } => Some((player, from)),
            Self::Hit { victim, place, .. } | Self::Fell { victim, place } => Some((victim, place)),
        }
    }
}
