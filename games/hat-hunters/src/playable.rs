//! Hat Hunters as a [`Playable`].

use samestep_playable::{Choices, Key, Level, Playable, Score, Setting, Setup};
use samestep_sync::{EntityId, PlayerId, Tick};

use crate::keys::{self, Hands};
use crate::terminal;
use crate::{
    Bot, Builtin, Controls, CustomMode, HatHunters, HatHuntersConfig, MAX_HUNTERS, Map, MapChoice,
    Mode, Place,
};

/// Ticks of a minute.
const MINUTE: u32 = 60 * 60;

/// The most players of a set-up: those beyond [`MAX_HUNTERS`] watch.
const MAX_PLAYERS: u16 = 32;

const SETTINGS: &[Setting] = &[
    Setting {
        name: "map",
        about: "where it takes place: one that comes with the game, or a file",
        values: &["glade", "orchard", "yards", "thicket", "burrow"],
        is_file: true,
    },
    Setting {
        name: "mode",
        about: "how a round is won: by stars, by catching who wears a hat, by eliminating others, among growing bushes; or a file",
        values: &["stars", "hat-catch", "elimination", "bushes"],
        is_file: true,
    },
    Setting {
        name: "stars",
        about: "how many win a round",
        values: &["5", "7", "10", "3"],
        is_file: false,
    },
    Setting {
        name: "ai",
        about: "characters that nobody plays",
        values: &["12", "20", "30", "40", "0", "6"],
        is_file: false,
    },
    Setting {
        name: "rounds",
        about: "how many won rounds win the match",
        values: &["3", "5", "1"],
        is_file: false,
    },
    Setting {
        name: "time",
        about: "minutes until the match is over",
        values: &["off", "5", "10", "20"],
        is_file: false,
    },
];

impl Playable for HatHunters {
    const TITLE: &'static str = "Hat Hunters";
    const ABOUT: &'static str = "hide among characters that look alike, and collect stars";
    const PLAYERS: u16 = MAX_HUNTERS;
    /// Everybody sees all of the field.
    const SHARED_SCREEN: u16 = MAX_HUNTERS;

    const MODEL: &'static str = "rewind";
    const SETTINGS: &'static [Setting] = SETTINGS;
    const SCORES: &'static [&'static str] = &["rounds", "stars"];
    const TERMINAL_KEYS: &'static [(&'static str, &'static str)] = keys::KEYS;

    type Bot = Bot;
    type Hands = Hands;

    fn begin(setup: &Setup) -> Result<Self, String> {
        Self::begin_with(setup, &Choices::default())
    }

    fn begin_with(setup: &Setup, choices: &Choices) -> Result<Self, String> {
        choices.check(Self::TITLE, SETTINGS)?;
        if setup.size.is_some() {
            return Err("Hat Hunters is as large as its map: leave out the size".into());
        }
        HatHunters::new(&config(setup, choices)?).map_err(|error| error.to_string())
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let rules = self.rules();
        let minutes = rules.time_limit.map(|time| (time / MINUTE).to_string());
        vec![
            ("map", self.map().name().to_string()),
            ("mode", rules.mode.name().to_string()),
            ("stars", rules.stars.to_string()),
            ("ai", rules.ai.to_string()),
            ("rounds", rules.rounds.to_string()),
            ("time", minutes.unwrap_or("off".into())),
        ]
    }

    fn scores(&self) -> Vec<Score> {
        let mut seats: Vec<_> = self.seats().iter().collect();
        seats.sort_by_key(|seat| {
            let best = core::cmp::Reverse((seat.wins, seat.stars));
            (best, seat.player)
        });
        let score = |seat: &crate::Seat| Score {
            player: seat.player,
            figures: vec![seat.wins.into(), seat.stars.into()],
        };
        seats.into_iter().map(score).collect()
    }

    fn is_over(&self) -> bool {
        self.round().is_last
    }

    fn bot(setup: &Setup, player: PlayerId) -> Bot {
        Bot::new(setup.seed, player)
    }

    fn bot_at(setup: &Setup, player: PlayerId, level: Level) -> Bot {
        Bot::new(setup.seed, player).at(level)
    }

    fn decide(&self, bot: &mut Bot, tick: Tick) -> Option<Controls> {
        bot.decide(tick, self)
    }

    fn typed(&self, _player: PlayerId, hands: &mut Hands, keys: &[Key]) -> Controls {
        keys::controls(hands, keys)
    }

    fn tamper(&mut self) {
        let first = self.characters().ids().first().copied();
        if let Some(character) = first.and_then(|id| self.character_mut(id)) {
            character.body.place.x += 7;
        }
    }

    fn picture(&self, viewer: Option<PlayerId>, columns: usize, lines: usize) -> Vec<String> {
        terminal::picture(self, viewer, columns, lines)
    }

    /// Characters, projectiles and stars that move, in cells.
    fn positions(&self, positions: &mut Vec<(EntityId, (f32, f32))>) {
        let characters = self.characters().iter();
        let characters = characters.filter(|(_, character)| !character.is_out);
        let characters = characters.map(|(id, character)| (id, character.place()));
        let projectiles = self.projectiles().iter().map(|(id, it)| (id, it.place));
        let stars = self.stars().iter().filter(|(_, star)| star.is_moving());
        let stars = stars.map(|(id, star)| (id, star.place));
        let at = |(id, place): (EntityId, Place)| (id, place.cells());
        positions.extend(characters.chain(projectiles).chain(stars).map(at));
        positions.sort_unstable_by_key(|(id, _)| *id);
    }

    /// A match that is measured lasts as long as the measurement does.
    fn begin_measured(setup: &Setup) -> Result<Self, String> {
        let mut choices = Choices::default();
        choices.set("rounds", "20");
        Self::begin_with(setup, &choices)
    }
}

/// How a match with these choices begins.
fn config(setup: &Setup, choices: &Choices) -> Result<HatHuntersConfig, String> {
    if !(1..=MAX_PLAYERS).contains(&setup.players) {
        return Err(format!(
            "Hat Hunters is for 2 to {MAX_HUNTERS} players, and up to {MAX_PLAYERS} with those who watch"
        ));
    }
    let mut config = HatHuntersConfig {
        seed: setup.seed,
        ..HatHuntersConfig::default()
    };
    if let Some(mode) = choices.get("mode") {
        let mode = mode_of(mode)?;
        config.rules = mode.rules;
        if let Some(map) = mode.map {
            config.map = map_of(&map)?;
        }
    }
    if let Some(map) = choices.get("map") {
        config.map = map_of(map)?;
    }
    let number = |name: &str, least: u8, most: u8| match choices.number(name)? {
        None => Ok(None),
        Some(number) => {
            let number = u8::try_from(number.unwrap_or(0)).ok();
            let number = number.filter(|number| (least..=most).contains(number));
            let wrong = || format!("{name} is a whole number from {least} to {most}");
            number.map(Some).ok_or_else(wrong)
        }
    };
    let rules = &mut config.rules;
    rules.stars = number("stars", 1, 20)?.unwrap_or(rules.stars);
    rules.ai = number("ai", 0, crate::MAX_AI)?.unwrap_or(rules.ai);
    rules.rounds = number("rounds", 1, 20)?.unwrap_or(rules.rounds);
    if let Some(minutes) = choices.number("time")? {
        rules.time_limit = minutes.map(|minutes| minutes.saturating_mul(MINUTE));
    }
    Ok(config)
}

/// A mode by its name, or its text.
fn mode_of(mode: &str) -> Result<CustomMode, String> {
    if let Some(known) = Mode::named(mode) {
        return Ok(CustomMode {
            name: known.name().into(),
            map: None,
            rules: known.rules(),
        });
    }
    if !mode.contains('\n') {
        let known = Mode::ALL.map(Mode::name).join(", ");
        return Err(format!(
            "there is no mode or file {mode:?}; there are {known}"
        ));
    }
    CustomMode::parse(mode).map_err(|error| error.to_string())
}

/// A map by its name, or its text.
fn map_of(map: &str) -> Result<MapChoice, String> {
    if let Some(builtin) = Builtin::named(map) {
        return Ok(MapChoice::Builtin(builtin));
    }
    if !map.contains('\n') {
        let known = Builtin::ALL.map(|builtin| builtin.name().to_lowercase());
        let known = known.join(", ");
        return Err(format!(
            "there is no map or file {map:?}; there are {known}"
        ));
    }
    Map::parse(map).map_err(|error| error.to_string())?;
    Ok(MapChoice::Text(map.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(choices: &[(&str, &str)]) -> Result<HatHunters, String> {
        let mut chosen = Choices::default();
        for (name, value) in choices {
            chosen.set(name, value);
        }
        HatHunters::begin_with(&Setup::default_of::<HatHunters>(1), &chosen)
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
        assert_eq!(of(&[]), ["Glade", "stars", "5", "12", "3", "off"]);
        let all = [
            ("map", "thicket"),
            ("mode", "elimination"),
            ("stars", "7"),
            ("ai", "off"),
            ("rounds", "1"),
            ("time", "5"),
        ];
        assert_eq!(of(&all), ["Thicket", "elimination", "7", "0", "1", "5"]);
        for setting in SETTINGS {
            for value in setting.values {
                assert!(begin(&[(setting.name, value)]).is_ok(), "{value}");
            }
        }
    }

    #[test]
    fn a_mode_of_ones_own_sets_what_is_not_chosen() {
        let text = "name = Crowd\nmode = bushes\nmap = orchard\nai = 40\nstars = 2\n";
        let game = begin(&[("mode", text), ("stars", "9")]).unwrap();
        let settings = game.settings();
        assert_eq!(settings[0].1, "Orchard");
        assert_eq!((game.rules().ai, game.rules().stars), (40, 9));
        let error = begin(&[("mode", "name = Crowd\nmap = moon\n")]).err();
        assert!(error.unwrap().contains("glade, orchard"));
        let error = begin(&[("mode", "name = Crowd\nai = 99\n")]).err();
        assert!(error.unwrap().starts_with("line 2, column 6"));
        let error = begin(&[("mode", "chess")]).err().unwrap();
        assert!(error.contains("stars, hat-catch"), "{error}");
        let error = begin(&[("stars", "off")]).err().unwrap();
        assert!(error.contains("from 1 to 20"), "{error}");
    }

    #[test]
    fn a_map_of_ones_own_is_named_or_its_mistake_is() {
        let text = Builtin::Burrow.text().replace("name: Burrow", "name: Den");
        let own = begin(&[("map", &text)]).unwrap();
        assert_eq!(own.settings()[0].1, "Den");
        let wrong = text.replacen("....", "..x.", 1);
        let error = begin(&[("map", &wrong)]).err().unwrap();
        assert!(error.starts_with("line 5, column 4"), "{error}");
        let error = begin(&[("map", "attic")]).err().unwrap();
        assert!(error.contains("glade, orchard"), "{error}");
        assert!(begin(&[("gold", "3")]).err().unwrap().contains("rounds"));
    }

    #[test]
    fn a_picture_fits_and_shows_all() {
        let mut game = begin(&[]).unwrap();
        let players = [0, 1].map(PlayerId);
        let inputs = [Controls::default(); 2];
        for tick in (0..60).map(Tick) {
            let inputs = samestep_sync::Inputs::new(tick, &players, &inputs, &[]);
            samestep_sync::Simulation::step(&mut game, &inputs, &mut samestep_sync::Events::new());
        }
        for (columns, lines) in [(80, 24), (200, 60), (24, 9), (3, 1)] {
            let picture = game.picture(Some(PlayerId(0)), columns, lines);
            assert!(picture.len() <= lines, "{}", picture.len());
        }
        let picture = game.picture(Some(PlayerId(0)), 120, 40);
        assert!(picture[0].contains("0 of 5 stars"), "{}", picture[0]);
        assert!(picture.iter().any(|line| line.contains("rounds")));
    }

    #[test]
    fn keys_walk_until_another_one() {
        let game = begin(&[]).unwrap();
        let mut hands = Hands::default();
        let mut typed = |keys: &[Key]| game.typed(PlayerId(0), &mut hands, keys);
        let right = Controls::steering(Some(crate::Heading::RIGHT));
        assert_eq!(typed(&[Key::Char('d')]), right);
        assert_eq!(typed(&[]), right);
        let pressed = typed(&[Key::Char(' '), Key::Char('e')]);
        assert!(pressed.place_box && pressed.use_item && pressed.steer == right.steer);
        assert_eq!(
            typed(&[Key::Right]),
            Controls::steering(None),
            "again stops"
        );
        assert_eq!(
            typed(&[Key::Char('u')]).steer,
            crate::Steer::Towards(crate::Heading(28))
        );
        assert_eq!(typed(&[Key::Char('x')]), Controls::steering(None));
    }
}
