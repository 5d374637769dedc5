//! The events of the game, for display and sound.

use samestep_sync::{PlayerId, Wire};

use crate::ability::Ability;
use crate::place::Place;
use crate::power_up::PowerUpKind;

/// An event of a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum RawrlocksEvent {
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
    /// A round begins.
    RoundBegan {
        /// Which one, counted from 1.
        number: u16,
    },
    /// A round is over.
    RoundOver {
        /// Who has won; `None` if nobody is left.
        winner: Option<PlayerId>,
    },
    /// The match is over: the winner of the last round has won enough of them.
    MatchOver {
        /// Who has won.
        winner: PlayerId,
    },
    /// The arena has shrunk.
    ArenaShrank {
        /// Its radius now, in yards.
        yards: u16,
    },
    /// Somebody begins to cast.
    CastBegan {
        /// Who.
        player: PlayerId,
        /// Which ability.
        ability: Ability,
        /// Where.
        place: Place,
    },
    /// An ability takes effect.
    Fired {
        /// Whose.
        player: PlayerId,
        /// Which one.
        ability: Ability,
        /// Where the caster is.
        place: Place,
    },
    /// A fireball hit somebody.
    Burst {
        /// Whose fireball.
        player: PlayerId,
        /// Where.
        place: Place,
    },
    /// A fireball has flown its range.
    Faded {
        /// Whose fireball.
        player: PlayerId,
        /// Where.
        place: Place,
    },
    /// Somebody is elsewhere at once.
    Teleported {
        /// Who.
        player: PlayerId,
        /// From where.
        from: Place,
        /// To where.
        to: Place,
    },
    /// Somebody was hit.
    Hit {
        /// Who.
        victim: PlayerId,
        /// By whom.
        by: PlayerId,
        /// With what.
        ability: Ability,
        /// What it lost; 0 between rounds.
        damage: i16,
        /// Where it was.
        place: Place,
    },
    /// Lava hurt somebody.
    Burnt {
        /// Who.
        victim: PlayerId,
        /// What it lost.
        damage: i16,
        /// Where.
        place: Place,
    },
    /// Somebody died.
    Died {
        /// Who.
        victim: PlayerId,
        /// Who gets the kill: who dealt the last damage, if anybody.
        killer: Option<PlayerId>,
        /// Where.
        place: Place,
    },
    /// Somebody picked up a power-up.
    PowerTaken {
        /// Who.
        player: PlayerId,
        /// What it gives.
        kind: PowerUpKind,
    },
    /// A power-up has lost its effect.
    PowerEnded {
        /// Who had it.
        player: PlayerId,
        /// What it gave.
        kind: PowerUpKind,
    },
    /// A power-up is back in its place.
    PowerUpBack {
        /// What it gives.
        kind: PowerUpKind,
    },
}

impl RawrlocksEvent {
    /// Where it happened; `None` if it concerns everybody.
    pub fn place(&self) -> Option<Place> {
        match *self {
            Self::Joined { .. }
            | Self::Left { .. }
            | Self::RoundBegan { .. }
            | Self::RoundOver { .. }
            | Self::MatchOver { .. }
            | Self::ArenaShrank { .. }
            | Self::PowerEnded { .. } => None,
            Self::CastBegan { place, .. }
            | Self::Fired { place, .. }
            | Self::Burst { place, .. }
            | Self::Faded { place, .. }
            | Self::Hit { place, .. }
            | Self::Burnt { place, .. }
            | Self::Died { place, .. } => Some(place),
            Self::Teleported { to, .. } => Some(to),
            Self::PowerTaken { kind, .. } | Self::PowerUpBack { kind } => Some(kind.place()),
        }
    }
}
