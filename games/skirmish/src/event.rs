//! The events of the game, for display and sound.

use samestep_sync::{EntityId, PlayerId, Wire};

use crate::building::{BuildingId, BuildingKind};
use crate::place::Place;
use crate::unit::UnitKind;

/// An event of a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum SkirmishEvent {
    /// A unit was killed.
    Killed {
        /// Which one.
        unit: EntityId,
        /// What it was.
        kind: UnitKind,
        /// Where.
        place: Place,
        /// Whose it was.
        player: PlayerId,
        /// Whose unit killed it.
        by: PlayerId,
    },
    /// A unit was trained.
    Trained {
        /// Which one.
        unit: EntityId,
        /// What it is.
        kind: UnitKind,
        /// Whose it is.
        player: PlayerId,
    },
    /// A building stands.
    Built {
        /// Which one.
        building: BuildingId,
        /// What it is.
        kind: BuildingKind,
        /// Whose it is.
        player: PlayerId,
    },
    /// A building changed hands.
    Captured {
        /// Which one.
        building: BuildingId,
        /// What it is.
        kind: BuildingKind,
        /// Whose it was, if anybody's.
        from: Option<PlayerId>,
        /// Whose it is now.
        by: PlayerId,
    },
    /// Somebody lost its last building; its units serve the victor.
    Defeated {
        /// Who.
        player: PlayerId,
        /// Who captured it.
        by: PlayerId,
    },
    /// Somebody took over the side of a player who is gone.
    TakenOver {
        /// Who is gone.
        from: PlayerId,
        /// Who plays that side from now on.
        to: PlayerId,
    },
    /// Only one side is left.
    Won {
        /// Who plays it.
        player: PlayerId,
    },
}
