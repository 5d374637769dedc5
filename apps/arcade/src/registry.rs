//! The games that can be chosen.

use samestep_evaluation::Evaluation;
use samestep_skirmish::Skirmish;
use samestep_sublockus::Sublockus;

use crate::show::Entry;

/// All there are; the first is what a newcomer sees.
pub const GAMES: &[Entry] = &[
    Entry::of::<Sublockus>(),
    Entry::of::<Skirmish>(),
    Entry::of::<Evaluation>(),
];

/// The game of that name.
pub fn game(name: &str) -> Option<&'static Entry> {
    GAMES.iter().find(|game| game.name == name)
}
