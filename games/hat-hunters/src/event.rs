//! The events of the game, for display and sound.

use samestep_sync::{EntityId, PlayerId, Wire};

use crate::item::ItemKind;
use crate::place::{Cell, Place};

/// An event of a tick. Those about characters do not say who plays them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum HatHuntersEvent {
    /// Somebody came to play, for the first time or again.
    Joined {
        /// Who.
        player: PlayerId,
    },
    /// Somebody left, or lost the connection.
    Left {
        /// Who.
        player: PlayerId,
    },
    /// A box stands there.
    BoxPlaced {
        /// Which character placed it.
        character: EntityId,
        /// Where.
        cell: Cell,
    },
    /// A box was destroyed.
    BoxRemoved {
        /// Where it stood.
        cell: Cell,
    },
    /// A character collected a star.
    StarCollected {
        /// Which character.
        character: EntityId,
        /// Where.
        place: Place,
    },
    /// A character collected an item.
    ItemCollected {
        /// Which character.
        character: EntityId,
        /// Where.
        cell: Cell,
    },
    /// The item that a player's character has collected. Nobody else is told.
    ItemDrawn {
        /// Whose.
        player: PlayerId,
        /// What it is.
        item: ItemKind,
    },
    /// A character used an item.
    ItemUsed {
        /// Which character.
        character: EntityId,
        /// What it was.
        item: ItemKind,
        /// Where.
        place: Place,
    },
    /// A projectile or a star bounced off an obstacle.
    Bounced {
        /// Where.
        place: Place,
    },
    /// A projectile bounced too often.
    Broke {
        /// Where.
        place: Place,
    },
    /// A bomb burst.
    Burst {
        /// Where.
        place: Place,
    },
    /// An item hit a character.
    Hit {
        /// Which character.
        victim: EntityId,
        /// Where.
        place: Place,
    },
    /// A character lost a star, which moves over the field now.
    StarLost {
        /// Which character.
        victim: EntityId,
        /// Where.
        place: Place,
    },
    /// A star went from one character to another.
    StarStolen {
        /// Whose it was.
        victim: EntityId,
        /// Whose it is.
        by: EntityId,
    },
    /// A character wears the hat of its player from now on.
    HatOn {
        /// Which character.
        character: EntityId,
        /// Whose hat.
        player: PlayerId,
    },
    /// A character has lost the hat of its player.
    HatOff {
        /// Which character.
        character: EntityId,
    },
    /// A character was caught by another.
    Caught {
        /// Which character.
        victim: EntityId,
        /// Which other.
        by: EntityId,
    },
    /// A character is out of the round.
    Out {
        /// Which character.
        character: EntityId,
        /// Where it was.
        place: Place,
    },
    /// A bush grew.
    Grew {
        /// Where.
        cell: Cell,
    },
    /// A round is over.
    RoundOver {
        /// Who has won; `None` if nobody has.
        winner: Option<PlayerId>,
    },
    /// A round begins.
    RoundBegan,
    /// The match is over.
    MatchOver {
        /// Who has won; `None` if several have as many rounds and stars.
        winner: Option<PlayerId>,
    },
}
