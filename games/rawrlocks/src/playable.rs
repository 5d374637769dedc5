//! Rawrlocks as a [`Playable`].

use samestep_playable::{Choices, Key, Level, Playable, Score, Setting, Setup};
use samestep_sync::{EntityId, PlayerId, Tick};

use crate::keys::{self, Hands};
use crate::terminal;
use crate::{Bot, Controls, MAX_PLAYERS, ONE, Phase, Place, Rawrlocks, RawrlocksConfig};

/// Rounds that win a match that people play, unless they choose otherwise.
const WINS: u16 = 5;

const SETTINGS: &[Setting] = &[
    Setting {
        name: "arena",
        about: "its radius: as many players need, or in yards",
        values: &["fitting", "300", "400", "500"],
        is_file: false,
    },
    Setting {
        name: "shrinks",
        about: "seconds from one step of the arena to the next; there are ten",
        values: &["10", "5", "20"],
        is_file: false,
    },
    Setting {
        name: "wins",
        about: "how many rounds win the match",
        values: &["5", "10", "off", "1", "3"],
        is_file: false,
    },
    Setting {
        name: "power-ups",
        about: "double speed and double damage, for a while",
        values: &["on", "off"],
        is_file: false,
    },
];

impl Playable for Rawrlocks {
    const TITLE: &'static str = "Rawrlocks";
    const ABOUT: &'static str = "warlocks in an arena that shrinks over lava";
    const PLAYERS: u16 = 5;

    const SETTINGS: &'static [Setting] = SETTINGS;
    const SCORES: &'static [&'static str] = &["wins", "kills", "deaths"];
    const TERMINAL_KEYS: &'static [(&'static str, &'static str)] = keys::KEYS;

    type Bot = Bot;
    type Hands = Hands;

    fn begin(setup: &Setup) -> Result<Self, String> {
        check(setup, 2)?;
        let config = RawrlocksConfig::for_players(setup.seed, setup.players);
        Rawrlocks::new(&config).map_err(|error| error.to_string())
    }

    fn begin_with(setup: &Setup, choices: &Choices) -> Result<Self, String> {
        choices.check(Self::TITLE, SETTINGS)?;
        check(setup, 1)?;
        Rawrlocks::new(&config(setup, choices)?).map_err(|error| error.to_string())
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let wins = self.rules.wins;
        let is_on = self.rules.power_ups;
        vec![
            ("arena", (self.rules.radius / ONE).to_string()),
            ("shrinks", (self.rules.shrink_ticks / 60).to_string()),
            ("wins", wins.map_or("off".into(), |wins| wins.to_string())),
            ("power-ups", if is_on { "on" } else { "off" }.into()),
        ]
    }

    fn scores(&self) -> Vec<Score> {
        let score = |seat: &crate::Seat| Score {
            player: seat.player,
            figures: vec![seat.wins.into(), seat.kills.into(), seat.deaths.into()],
        };
        terminal::ranking(self).into_iter().map(score).collect()
    }

    fn is_over(&self) -> bool {
        matches!(self.round().phase, Phase::Over { is_last: true, .. })
    }

    fn bot(setup: &Setup, player: PlayerId) -> Bot {
        Bot::new(setup.seed, player)
    }

    fn bot_at(setup: &Setup, player: PlayerId, level: Level) -> Bot {
        Bot::new(setup.seed, player).at(level)
    }

    fn typed(&self, player: PlayerId, hands: &mut Hands, keys: &[Key]) -> Controls {
        keys::controls(self, player, hands, keys)
    }

    fn decide(&self, bot: &mut Bot, tick: Tick) -> Option<Controls> {
        bot.decide(tick, self)
    }

    fn tamper(&mut self) {
        let living = self.avatars().as_slice().iter();
        let living = living.filter(|avatar| avatar.is_alive());
        let first = living.map(|avatar| avatar.player).min();
        match first.and_then(|player| self.avatar_mut(player)) {
            Some(avatar) => avatar.health = (avatar.health - 7).max(1),
            None => self.set_radius(self.arena().radius / 2 + 1),
        }
    }

    fn picture(&self, viewer: Option<PlayerId>, columns: usize, lines: usize) -> Vec<String> {
        terminal::picture(self, viewer, columns, lines)
    }

    /// Living avatars and fireballs, in yards.
    fn positions(&self, positions: &mut Vec<(EntityId, (f32, f32))>) {
        let avatars = self.avatars().iter();
        let avatars = avatars.filter(|(_, avatar)| avatar.is_alive());
        let avatars = avatars.map(|(id, avatar)| (id, avatar.place()));
        let fireballs = self.fireballs().iter();
        let fireballs = fireballs.filter_map(|(id, ball)| Some((fireball_id(id)?, ball.place)));
        let at = |(id, place): (EntityId, Place)| (id, place.in_yards());
        positions.extend(avatars.chain(fireballs).map(at));
        positions.sort_unstable_by_key(|(id, _)| *id);
    }
}

fn check(setup: &Setup, least: u16) -> Result<(), String> {
    if !(least..=MAX_PLAYERS).contains(&setup.players) {
        return Err(format!("Rawrlocks is for 2 to {MAX_PLAYERS} players"));
    }
    if setup.size.is_some() {
        return Err("Rawrlocks has no size: set its arena instead".into());
    }
    Ok(())
}

/// How a match with these choices begins.
fn config(setup: &Setup, choices: &Choices) -> Result<RawrlocksConfig, String> {
    let mut config = RawrlocksConfig::for_players(setup.seed, setup.players);
    match choices.get("arena") {
        None | Some("fitting") => {}
        Some(yards) => {
            let wrong = || format!("an arena is \"fitting\" or its radius in yards, not {yards:?}");
            config.radius = yards.parse().map_err(|_| wrong())?;
            config.shrink_by = (config.radius / 10).max(1);
        }
    }
    if let Some(seconds) = choices.number("shrinks")? {
        let seconds = seconds.ok_or("an arena that never shrinks has no end: set its seconds")?;
        config.shrink_ticks = seconds.saturating_mul(60);
    }
    config.wins = match choices.number("wins")? {
        None => Some(WINS),
        Some(wins) => {
            let wins = wins.map(u16::try_from).transpose();
            wins.map_err(|_| format!("wins are {} at most", u16::MAX))?
        }
    };
    config.power_ups = choices.switch("power-ups")?.unwrap_or(config.power_ups);
    Ok(config)
}

/// Fireballs are numbered as avatars are; without the highest bit their ids differ from those of avatars.
fn fireball_id(id: EntityId) -> Option<EntityId> {
    EntityId::from_number(id.number() & 0x7fff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(choices: &[(&str, &str)]) -> Result<Rawrlocks, String> {
        let mut chosen = Choices::default();
        for (name, value) in choices {
            chosen.set(name, value);
        }
        Rawrlocks::begin_with(&Setup::default_of::<Rawrlocks>(1), &chosen)
    }

    #[test]
    fn whoever_has_the_state_knows_the_settings() {
        let of = |choices| {
            let settings = begin(choices).unwrap().settings();
            let values = settings.into_iter().map(|(_, value)| value);
            values.collect::<Vec<_>>()
        };
        assert_eq!(of(&[]), ["360", "10", "5", "on"]);
        let all = [
            ("arena", "300"),
            ("shrinks", "5"),
            ("wins", "off"),
            ("power-ups", "off"),
        ];
        assert_eq!(of(&all), ["300", "5", "off", "off"]);
        for setting in SETTINGS {
            for value in setting.values {
                assert!(begin(&[(setting.name, value)]).is_ok(), "{value}");
            }
        }
    }

    #[test]
    fn mistakes_are_named() {
        let error = |name, value| begin(&[(name, value)]).err().unwrap();
        assert!(error("arena", "vast").contains("\"vast\""));
        assert!(error("arena", "20").contains("100 to 1000"));
        assert!(error("shrinks", "off").contains("never shrinks"));
        assert!(error("shrinks", "4000000000").contains("once an hour"));
        assert!(error("wins", "70000").contains("65535"));
        assert!(error("frags", "3").contains("power-ups"));
    }
}
