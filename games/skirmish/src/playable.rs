//! What Skirmish says about itself.

use samestep_playable::{
    Choices, Key, Level, Playable, Score, Script, Setting, Setup, Sizes, rehearse,
};
use samestep_sync::{EntityId, PlayerId, Tick};

use crate::keys::{self, Hands};
use crate::terminal;
use crate::{Bot, Command, ONE, Skirmish, SkirmishConfig};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "mode",
        about: "classic: workers, gold and a few soldiers; or battle: armies face each other",
        values: &["classic", "battle"],
        is_file: false,
    },
    Setting {
        name: "soldiers",
        about: "of all sides together in a battle",
        values: &["240", "800", "2000", "60"],
        is_file: false,
    },
    Setting {
        name: "gold",
        about: "of each side at first",
        values: &["200", "500", "2000", "off"],
        is_file: false,
    },
    Setting {
        name: "units",
        about: "how many a side may have at most",
        values: &["200", "500", "50", "100"],
        is_file: false,
    },
];

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

    const MODEL: &'static str = "lockstep";
    const SETTINGS: &'static [Setting] = SETTINGS;
    const SCORES: &'static [&'static str] = &["score", "units", "killed", "lost"];
    const TERMINAL_KEYS: &'static [(&'static str, &'static str)] = keys::KEYS;

    type Bot = Bot;
    type Hands = Hands;

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

    fn begin_with(setup: &Setup, choices: &Choices) -> Result<Self, String> {
        choices.check(Self::TITLE, SETTINGS)?;
        let soldiers = choices.number("soldiers")?.flatten().unwrap_or(240);
        let mut config = match choices.get("mode") {
            None | Some("classic") => SkirmishConfig {
                seed: setup.seed,
                players: setup.players,
                ..SkirmishConfig::default()
            },
            Some("battle") => SkirmishConfig::battle(setup.seed, setup.players, soldiers),
            Some(other) => return Err(format!("a mode is classic or battle, not {other:?}")),
        };
        if let Some(gold) = choices.number("gold")? {
            config.gold = gold.unwrap_or(0);
        }
        if let Some(Some(units)) = choices.number("units")? {
            config.max_units = units;
        }
        Skirmish::new(&config).map_err(|error| error.to_string())
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("sides", self.sides().len().to_string()),
            ("map", format!("{0} × {0}", self.size())),
            ("units", self.max_units().to_string()),
        ]
    }

    fn scores(&self) -> Vec<Score> {
        let mut sides: Vec<_> = self.sides().iter().collect();
        sides.sort_by_key(|side| (side.is_defeated, u64::MAX - u64::from(side.score())));
        let score = |side: &crate::Side| Score {
            player: side.player,
            figures: vec![
                side.score().into(),
                side.units.into(),
                side.kills.into(),
                side.losses.into(),
            ],
        };
        sides.into_iter().map(score).collect()
    }

    fn is_over(&self) -> bool {
        self.winner().is_some()
    }

    fn bot(setup: &Setup, player: PlayerId) -> Bot {
        Bot::new(setup.seed, player)
    }

    fn bot_at(setup: &Setup, player: PlayerId, level: Level) -> Bot {
        Bot::new(setup.seed, player).at(level)
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
        terminal::picture(self, viewer, None, columns, lines)
    }

    fn typed(&self, player: PlayerId, hands: &mut Hands, keys: &[Key]) -> Command {
        keys::command(self, player, hands, keys)
    }

    fn own_picture(
        &self,
        player: PlayerId,
        hands: &Hands,
        columns: usize,
        lines: usize,
    ) -> Vec<String> {
        terminal::picture(self, Some(player), Some(hands), columns, lines)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Order, UnitKind};

    #[test]
    fn every_value_that_is_offered_can_be_played() {
        let setup = Setup::default_of::<Skirmish>(1);
        for setting in SETTINGS {
            for value in setting.values {
                let mut choices = Choices::default();
                choices.set("mode", "battle");
                choices.set(setting.name, value);
                let game = Skirmish::begin_with(&setup, &choices);
                assert!(game.is_ok(), "{} {value}", setting.name);
            }
        }
        let mut choices = Choices::default();
        choices.set("fog", "on");
        let error = Skirmish::begin_with(&setup, &choices).err().unwrap();
        assert!(error.contains("it has mode, soldiers"), "{error}");
    }

    #[test]
    fn keys_command_a_squad() {
        let game = Skirmish::begin(&Setup::default_of::<Skirmish>(1)).unwrap();
        let (me, mut hands) = (PlayerId(1), Hands::default());
        let home = game.sides()[1].home;
        let keys = [Key::Right, Key::Char('3'), Key::Char(' ')];
        let command = game.typed(me, &mut hands, &keys);
        let Command::Order {
            squad: 2,
            order: Order::Attack,
            x,
            y,
        } = command
        else {
            panic!("{command:?}");
        };
        assert_eq!(
            (i32::from(x), i32::from(y)),
            (home.x / ONE + 4, home.y / ONE)
        );
        let trained = game.typed(me, &mut hands, &[Key::Char('x')]);
        let kind = UnitKind::Spear;
        assert!(
            matches!(trained, Command::Train { kind: what, .. } if what == kind),
            "{trained:?}"
        );
        let picture = game.own_picture(me, &hands, 100, 30);
        assert!(
            picture[0].starts_with("squad 3 · player 1"),
            "{}",
            picture[0]
        );
        assert!(picture.iter().any(|line| line.contains('+')));
        assert_eq!(
            game.typed(PlayerId(9), &mut hands, &keys[2..]),
            Command::None
        );
    }
}
