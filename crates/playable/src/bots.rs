//! Bots for all players of a match.

use samestep_sync::{PlayerId, Tick, TickInputs};

use crate::{Playable, Setup};

/// Bots for all players of a match.
pub struct Bots<G: Playable>(Vec<(PlayerId, G::Bot)>);

impl<G: Playable> Bots<G> {
    /// Creates a bot for every player of the set-up.
    pub fn new(setup: &Setup) -> Bots<G> {
        let players = (0..setup.players).map(PlayerId);
        Bots(
            players
                .map(|player| (player, G::bot(setup, player)))
                .collect(),
        )
    }

    /// The players they play for.
    pub fn players(&self) -> Vec<PlayerId> {
        self.0.iter().map(|(player, _)| *player).collect()
    }

    /// Adds what they do in this tick to the inputs.
    pub fn act(&mut self, game: &G, tick: Tick, inputs: &mut TickInputs) {
        for (player, bot) in &mut self.0 {
            if let Some(input) = game.decide(bot, tick) {
                inputs.give(*player, &input);
            }
        }
    }
}
