//! What a game says of itself to be played in the sandbox.

use samestep_sync::{PlayerId, Simulation, Tick};

use crate::ModelKind;

/// A game that can be played in the sandbox.
pub trait Playable: Simulation {
    /// What it is called on the screen.
    const TITLE: &'static str;
    /// What it is, in a few words.
    const ABOUT: &'static str;
    /// How large it can be; `None` if that is not a question.
    const SIZES: Option<Sizes> = None;

    /// What plays in the place of a person.
    type Bot;

    /// A new game. Fails with words about what is possible.
    fn begin(setup: &Setup) -> Result<Self, String>;

    /// A bot for one of its players.
    fn bot(setup: &Setup, player: PlayerId) -> Self::Bot;

    /// What a bot does that sees this.
    fn decide(&self, bot: &mut Self::Bot, tick: Tick) -> Option<Self::Input>;

    /// Whether it can be played under a model. All can, unless they say otherwise.
    fn supports(_kind: ModelKind) -> bool {
        true
    }

    /// Changes something that only the rules may change, so that one can see what becomes of it.
    fn meddle(&mut self);
}

/// How a game begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// How many play; they are the players 0, 1, 2 and so on.
    pub players: u16,
    /// How large it is, for games that have [`Playable::SIZES`].
    pub size: Option<u32>,
    /// Two games with the same seed begin alike.
    pub seed: u64,
}

/// How large a game can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// What is counted, in the plural.
    pub of: &'static str,
    /// At least.
    pub least: u32,
    /// At most.
    pub most: u32,
    /// Unless told otherwise.
    pub usual: u32,
}
