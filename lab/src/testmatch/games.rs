//! How the games of the catalog are set up for a match.

use samestep_playable::{Playable, Setup};
use samestep_sync::EntityId;

/// The positions of all entities, in ascending order of their ids.
pub type Positions = Vec<(EntityId, (f32, f32))>;

/// The set-up of a match with that many entities, if the game can be of any size.
pub fn setup_of<G: Playable>(players: u16, entities: usize, seed: u64) -> Setup {
    Setup {
        players,
        size: G::SIZES.map(|_| entities as u32),
        seed,
    }
}
