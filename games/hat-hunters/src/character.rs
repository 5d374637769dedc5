//! Characters, what they carry, and whose they are.

use samestep_sync::{EntityId, PlayerId, Record};

use crate::item::ItemKind;
use crate::motion::{Body, FORCE};
use crate::place::{Cell, Heading, Place};

/// How much faster one walks in boots, in percent of the walk.
pub const BOOTS: i32 = 160;

/// A character, as everyone sees it. It does not say whether somebody plays it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Character {
    /// Where it is, and how it moves.
    pub body: Body,
    /// Where it wants to go; `None` if it stands.
    pub steering: Option<Heading>,
    /// Where it looks: where it wanted to go last, wherever it is pushed.
    pub look: Heading,
    /// The hat of its player, if it is about to win.
    pub hat: Option<PlayerId>,
    /// Since when it has worn the hat, by the game's clock.
    pub hat_since: u32,
    /// The box that it is about to place.
    pub silhouette: Option<Silhouette>,
    /// Until when it walks faster, by the game's clock.
    pub fast_until: u32,
    /// How often items have hit it in this round.
    pub hits: u8,
    /// Whether it is out of this round: it is not on the field.
    pub is_out: bool,
}

/// A box that appears when its character has left the cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Silhouette {
    /// Where.
    pub cell: Cell,
    /// Whether the character has left it, and the box waits for confirmation.
    pub is_left: bool,
}

impl Character {
    pub(crate) fn new(place: Place, look: Heading) -> Self {
        Self {
            body: Body::at(place),
            steering: None,
            look,
            hat: None,
            hat_since: 0,
            silhouette: None,
            fast_until: 0,
            hits: 0,
            is_out: false,
        }
    }

    /// Its middle.
    pub fn place(&self) -> Place {
        self.body.place
    }

    /// The force with which it walks; `speed` is a percentage.
    pub(crate) fn force(&self, clock: u32, speed: u8) -> Place {
        let Some(heading) = self.steering else {
            return Place::default();
        };
        let boots = if clock < self.fast_until { BOOTS } else { 100 };
        heading.way(FORCE * i32::from(speed) * boots / 10_000)
    }
}

/// What a character carries. Only the player of the character knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Purse {
    /// Its stars.
    pub stars: u8,
    /// The item it holds.
    pub item: Option<ItemKind>,
    /// When it may place a box again, by the game's clock.
    pub box_from: u32,
    /// Counts what it has used and lost, which makes the ids of projectiles and stars.
    pub(crate) made: u16,
}

/// A player who takes part, and its character. Only the player knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Hunter {
    /// Who.
    #[field(owner)]
    pub player: PlayerId,
    /// Its character.
    pub character: EntityId,
    /// Others that it has caught in this round.
    pub catches: u8,
}

/// The id of a player's row among the hunters.
pub(crate) fn hunter_id(player: PlayerId) -> EntityId {
    EntityId::fixed(u32::from(player.0))
}

/// The id of something that a character made: the same on every program, whatever else was simulated before.
pub(crate) fn made_id(character: EntityId, made: u16) -> EntityId {
    EntityId::fixed((character.number() & 0xfff) << 12 | u32::from(made) & 0xfff)
}
