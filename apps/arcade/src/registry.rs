//! The games that can be chosen.

use crate::any_match::GameEntry;

macro_rules! entries {
    ($($name:ident => $game:ty,)*) => {
        /// All games of the catalog; the first is what a newcomer sees.
        pub const GAMES: &[GameEntry] = &[$(GameEntry::of::<$game>()),*];
    };
}
samestep_catalog::for_each_game!(entries);

/// The game of that name.
pub fn game(name: &str) -> Option<&'static GameEntry> {
    GAMES.iter().find(|game| game.name == name)
}
