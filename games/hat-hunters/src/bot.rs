//! Bots that play through the same controls as people.

use samestep_playable::Level;
use samestep_sync::random::hash;
use samestep_sync::{PlayerId, Rng, Tick};

use crate::brain::Brain;
use crate::controls::Controls;
use crate::hat_hunters::HatHunters;

/// A bot for a player's place. It has the brain of a character that nobody plays, but is after stars.
#[derive(Clone, Debug)]
pub struct Bot {
    player: PlayerId,
    brain: Brain,
    seed: u64,
}

impl Bot {
    /// A bot that plays for a player, as well as bots of measurements and tests do.
    pub fn new(seed: u64, player: PlayerId) -> Self {
        let seed = hash(seed, player.0.into(), 0xb07);
        Self {
            player,
            brain: Brain::of_bot(Rng::new(seed), Level::Normal),
            seed,
        }
    }

    /// The same bot, playing so well.
    #[must_use]
    pub fn at(self, level: Level) -> Self {
        Self {
            brain: Brain::of_bot(Rng::new(self.seed), level),
            ..self
        }
    }

    /// Whom it plays for.
    pub fn player(&self) -> PlayerId {
        self.player
    }

    /// What it does when it sees this state; `None` if it goes on as it does.
    pub fn decide(&mut self, _tick: Tick, game: &HatHunters) -> Option<Controls> {
        let hunter = game.hunter(self.player)?;
        self.brain.think(game, hunter.character)
    }
}
