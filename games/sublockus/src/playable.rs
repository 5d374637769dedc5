//! Sublockus as a [`Playable`].

use samestep_playable::{Choices, Key, Level, Playable, Score, Setting, Setup};
use samestep_sync::{EntityId, PlayerId, Tick};

use crate::keys::{self, Hands};
use crate::terminal;
use crate::{
    Arena, ArenaChoice, Bot, Builtin, Controls, MAX_PLAYERS, Place, Sublockus, SublockusConfig,
};

/// Ticks of a minute.
const MINUTE: u32 = 60 * 60;
/// Frags that win a match that people play, unless they choose otherwise.
const FRAGS: u16 = 20;

const SETTINGS: &[Setting] = &[
    Setting {
        name: "arena",
        about: "where it takes place: one that comes with the game, or a file",
        values: &[
            "fitting",
            "cellar",
            "courtyard",
            "tower",
            "mines",
            "citadel",
        ],
        is_file: true,
    },
    Setting {
        name: "mode",
        about: "free-for-all; or duel: the smallest arena and no items, unless chosen otherwise",
        values: &["free-for-all", "duel"],
        is_file: false,
    },
    Setting {
        name: "frags",
        about: "how many win the match",
        values: &["20", "50", "off", "5", "10"],
        is_file: false,
    },
    Setting {
        name: "time",
        about: "minutes until the match is over",
        values: &["off", "2", "5", "10", "20"],
        is_file: false,
    },
    Setting {
        name: "fog",
        about: "everyone gets only what its character sees or hears, under snapshot and state-sync",
        values: &["off", "on"],
        is_file: false,
    },
    Setting {
        name: "items",
        about: "things to wear and to drink",
        values: &["on", "off"],
        is_file: false,
    },
];

impl Playable for Sublockus {
    const TITLE: &'static str = "Sublockus";
    const ABOUT: &'static str = "an arena platformer: jumps, fireballs, frags";
    const PLAYERS: u16 = 8;

    const SETTINGS: &'static [Setting] = SETTINGS;
    const SCORES: &'static [&'static str] = &["frags", "deaths"];
    const TERMINAL_KEYS: &'static [(&'static str, &'static str)] = keys::KEYS;

    type Bot = Bot;
    type Hands = Hands;

    fn begin(setup: &Setup) -> Result<Self, String> {
        if !(2..=MAX_PLAYERS).contains(&setup.players) {
            return Err(format!("Sublockus is for 2 to {MAX_PLAYERS} players"));
        }
        if setup.size.is_some() {
            return Err("Sublockus is as large as its arena: leave out the size".into());
        }
        let config = SublockusConfig::free_for_all(setup.seed, setup.players);
        Sublockus::new(&config).map_err(|error| error.to_string())
    }

    fn begin_with(setup: &Setup, choices: &Choices) -> Result<Self, String> {
        choices.check(Self::TITLE, SETTINGS)?;
        Sublockus::new(&config(setup, choices)?).map_err(|error| error.to_string())
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let limit = |limit: Option<u32>| limit.map_or("off".into(), |limit| limit.to_string());
        let switch = |is_on| String::from(if is_on { "on" } else { "off" });
        let has_items = self
            .items()
            .as_slice()
            .iter()
            .any(|item| !item.is_dropped());
        vec![
            ("arena", self.arena().name().to_string()),
            ("frags", limit(self.rules.frag_limit.map(u32::from))),
            (
                "time",
                limit(self.rules.time_limit.map(|time| time / MINUTE)),
            ),
            ("fog", switch(self.has_fog())),
            ("items", switch(has_items)),
        ]
    }

    fn scores(&self) -> Vec<Score> {
        let mut seats: Vec<_> = self.seats().iter().collect();
        seats.sort_by_key(|seat| (core::cmp::Reverse(seat.frags), seat.deaths, seat.player));
        let score = |seat: &crate::Seat| Score {
            player: seat.player,
            figures: vec![seat.frags.into(), seat.deaths.into()],
        };
        seats.into_iter().map(score).collect()
    }

    fn is_over(&self) -> bool {
        self.round().over_until.is_some()
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
        let players: Vec<PlayerId> = self.seats().iter().map(|seat| seat.player).collect();
        let hit = players
            .into_iter()
            .find(|player| self.character_of(*player).is_some());
        if let Some(character) = hit.and_then(|player| self.character_mut(player)) {
            character.health = (character.health - 7).max(1);
        }
    }

    fn picture(&self, viewer: Option<PlayerId>, columns: usize, lines: usize) -> Vec<String> {
        terminal::picture(self, viewer, columns, lines)
    }

    /// Characters in the arena and fireballs, in blocks.
    fn positions(&self, positions: &mut Vec<(EntityId, (f32, f32))>) {
        let clock = self.clock();
        let characters = self.characters().iter();
        let characters = characters.filter(|(_, character)| character.is_in(clock));
        let characters = characters.map(|(id, character)| (id, character.place()));
        let fireballs = self.projectiles().iter();
        let fireballs = fireballs.filter_map(|(id, ball)| Some((fireball_id(id)?, ball.place)));
        let at = |(id, place): (EntityId, Place)| (id, place.blocks());
        positions.extend(characters.chain(fireballs).map(at));
        positions.sort_unstable_by_key(|(id, _)| *id);
    }
}

/// How a match with these choices begins.
fn config(setup: &Setup, choices: &Choices) -> Result<SublockusConfig, String> {
    if !(1..=MAX_PLAYERS).contains(&setup.players) {
        return Err(format!("Sublockus is for up to {MAX_PLAYERS} players"));
    }
    let mut config = match choices.get("mode") {
        None | Some("free-for-all") => SublockusConfig::free_for_all(setup.seed, setup.players),
        Some("duel") => SublockusConfig {
            items: false,
            ..SublockusConfig::duel(setup.seed)
        },
        Some(other) => {
            return Err(format!("a mode is free-for-all or duel, not {other:?}"));
        }
    };
    match choices.get("arena") {
        None | Some("fitting") => {}
        Some(arena) => config.arena = arena_of(arena)?,
    }
    config.frag_limit = match choices.number("frags")? {
        None => Some(FRAGS),
        Some(frags) => {
            let frags = frags.map(u16::try_from).transpose();
            frags.map_err(|_| format!("frags are {} at most", u16::MAX))?
        }
    };
    let minutes = choices.number("time")?.flatten();
    config.time_limit = minutes.map(|minutes| minutes.saturating_mul(MINUTE));
    config.fog = choices.switch("fog")?.unwrap_or(config.fog);
    config.items = choices.switch("items")?.unwrap_or(config.items);
    Ok(config)
}

/// An arena by its name, or its text.
fn arena_of(arena: &str) -> Result<ArenaChoice, String> {
    if let Some(builtin) = Builtin::named(arena) {
        return Ok(ArenaChoice::Builtin(builtin));
    }
    if !arena.contains('\n') {
        let known = Builtin::ALL.map(|builtin| builtin.name().to_lowercase());
        let known = known.join(", ");
        return Err(format!(
            "there is no arena or file {arena:?}; there are {known}"
        ));
    }
    Arena::parse(arena).map_err(|error| error.to_string())?;
    Ok(ArenaChoice::Text(arena.into()))
}

/// Fireballs are numbered as characters are; without the highest bit their ids differ from those of characters.
fn fireball_id(id: EntityId) -> Option<EntityId> {
    EntityId::from_number(id.number() & 0x7fff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(choices: &[(&str, &str)]) -> Result<Sublockus, String> {
        let mut chosen = Choices::default();
        for (name, value) in choices {
            chosen.set(name, value);
        }
        Sublockus::begin_with(&Setup::default_of::<Sublockus>(1), &chosen)
    }

    #[test]
    fn whoever_has_the_state_knows_the_settings() {
        let of = |choices| {
            let settings = begin(choices).unwrap().settings();
            settings
                .into_iter()
                .map(|(_, value)| value)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&[]), ["Tower", "20", "off", "off", "on"]);
        assert_eq!(
            of(&[("mode", "duel")]),
            ["Cellar", "20", "off", "off", "off"]
        );
        let all = [
            ("mode", "duel"),
            ("arena", "mines"),
            ("frags", "off"),
            ("time", "5"),
            ("fog", "on"),
            ("items", "on"),
        ];
        assert_eq!(of(&all), ["Mines", "off", "5", "on", "on"]);
        for setting in SETTINGS {
            for value in setting.values {
                assert!(begin(&[(setting.name, value)]).is_ok(), "{value}");
            }
        }
    }

    #[test]
    fn an_arena_of_ones_own_is_named_or_its_mistake_is() {
        let text = Builtin::Cellar.text().replace("name: Cellar", "name: Den");
        let own = begin(&[("arena", &text)]).unwrap();
        assert_eq!(own.settings()[0].1, "Den");
        let wrong = text.replacen("----", "--x-", 1);
        let error = begin(&[("arena", &wrong)]).err().unwrap();
        assert!(error.starts_with("line 8, column 6"), "{error}");
        let error = begin(&[("arena", "attic")]).err().unwrap();
        assert!(error.contains("cellar, courtyard"), "{error}");
        assert!(begin(&[("gold", "3")]).err().unwrap().contains("frags"));
    }
}
