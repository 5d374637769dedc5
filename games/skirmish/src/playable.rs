//! What Skirmish says about itself.

use samestep_playable::{Playable, Script, Setup, Sizes, rehearse};
use samestep_sync::{EntityId, PlayerId, Tick};

use crate::terminal;
use crate::{Bot, Command, ONE, Skirmish, SkirmishConfig};

impl Playable for Skirmish {
    const TITLE: &'static str = "Skirmish";
    const ABOUT: &'static str = "a small real-time strategy game; with a size, a battle";
    const PLAYERS: u16 = 4;
    const SIZES: Option<Sizes> = Some(Sizes {
        unit: "soldiers to begin with",
        min: 12,
        max: 16_000,
        default: 240,
        load: 800,
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

    fn tamper(&mut self) {
        let first = self.units().ids().first().copied();
        if let Some(unit) = first.and_then(|id| self.unit_mut(id)) {
            unit.health = (unit.health / 2).max(1);
        }
    }

    fn picture(&self, viewer: Option<PlayerId>, columns: usize, lines: usize) -> Vec<String> {
        terminal::picture(self, viewer, columns, lines)
    }

    fn positions(&self, positions: &mut Vec<(EntityId, (f32, f32))>) {
        let along = |steps: i32| steps as f32 / ONE as f32;
        let units = self.units().iter();
        positions.extend(units.map(|(id, unit)| (id, (along(unit.place.x), along(unit.place.y)))));
        positions.sort_unstable_by_key(|(id, _)| *id);
    }

    /// A bot that has nothing to command gives no input.
    fn script(setup: &Setup) -> Result<Script<Self>, String> {
        rehearse(setup, |game, bot: &mut Bot, tick| {
            let command = bot.decide(tick, game);
            command.filter(|command| *command != Command::None)
        })
    }
}
