//! Skirmish in the sandbox.

use samestep_skirmish::{Bot, Command, Skirmish, SkirmishConfig};
use samestep_sync::{PlayerId, Tick};

use crate::{Playable, Setup, Sizes};

impl Playable for Skirmish {
    const TITLE: &'static str = "Skirmish";
    const ABOUT: &'static str = "a small real-time strategy game; with a size, a battle";
    const SIZES: Option<Sizes> = Some(Sizes {
        of: "soldiers to begin with",
        least: 12,
        most: 16_000,
        usual: 240,
    });

    type Bot = Bot;

    fn begin(setup: &Setup) -> Result<Self, String> {
        let config = match setup.size {
            Some(units) => SkirmishConfig::battle(setup.seed, setup.players, units),
            None => SkirmishConfig {
                seed: setup.seed,
                players: setup.players,
                ..SkirmishConfig::default()
            },
        };
        Skirmish::new(&config).map_err(|error| error.to_string())
    }

    fn bot(setup: &Setup, player: PlayerId) -> Bot {
        Bot::new(setup.seed, player)
    }

    fn decide(&self, bot: &mut Bot, tick: Tick) -> Option<Command> {
        bot.decide(tick, self)
    }

    fn meddle(&mut self) {
        let first = self.units().ids().first().copied();
        if let Some(unit) = first.and_then(|id| self.unit_mut(id)) {
            unit.health = (unit.health / 2).max(1);
        }
    }
}
