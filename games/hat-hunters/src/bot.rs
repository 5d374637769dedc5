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

    /// A bot that hides: it steers as the characters do that nobody plays, by the very same brain.
    pub fn hiding(seed: u64, player: PlayerId) -> Self {
        let seed = hash(seed, player.0.into(), 0x41de);
        Self {
            player,
            brain: Brain::of_nobody(Rng::new(seed), 0),
            seed,
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use samestep_sync::{Live, TickInputs, World};

    use super::*;
    use crate::config::HatHuntersConfig;

    #[test]
    fn who_hides_turns_as_often_as_those_that_nobody_plays() {
        let config = HatHuntersConfig::default();
        let mut game = Live::without_recording(HatHunters::new(&config).unwrap());
        let player = PlayerId(0);
        let mut bot = Bot::hiding(3, player);
        let mut inputs = TickInputs::new();
        inputs.set_players(&[player]);
        let mut turns = BTreeMap::new();
        for tick in (0..1800).map(Tick) {
            inputs.clear();
            if let Some(controls) = bot.decide(tick, game.state()) {
                inputs.give(player, &controls);
            }
            game.step(tick, &inputs);
            game.confirm(tick, &inputs);
            for (id, character) in game.state().characters().iter() {
                let (steering, count) = turns.entry(id).or_insert((None, 0u32));
                *count += u32::from(*steering != character.steering);
                *steering = character.steering;
            }
        }
        let own = game.state().hunter(player).unwrap().character;
        let (_, own) = turns.remove(&own).unwrap();
        let others = || turns.values().map(|(_, count)| *count);
        let (least, most) = (others().min().unwrap(), others().max().unwrap());
        assert!((least..=most).contains(&own), "{own} of {least} to {most}");
    }
}
