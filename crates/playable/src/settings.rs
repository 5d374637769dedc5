//! The settings of a match, as a command line and a waiting room offer them.

/// A setting that a game has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its name on command lines and screens.
    pub name: &'static str,
    /// A few words about it.
    pub about: &'static str,
    /// The values that a waiting room offers one after the other, the default first. Others may be typed.
    pub values: &'static [&'static str],
    /// Whether the value may be the name of a file; the text in it is then the value.
    pub is_file: bool,
}

/// The values that were chosen for settings of a game.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choices(Vec<(String, String)>);

impl Choices {
    /// Chooses a value, in place of an earlier one.
    pub fn set(&mut self, name: &str, value: &str) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, chosen)) => *chosen = value.into(),
            None => self.0.push((name.into(), value.into())),
        }
    }

    /// The value of a setting, if one was chosen.
    pub fn get(&self, name: &str) -> Option<&str> {
        let chosen = self.0.iter().find(|(known, _)| known == name);
        chosen.map(|(_, value)| value.as_str())
    }

    /// A number; `None` inside if it was switched off, `None` outside if nothing was chosen.
    pub fn number(&self, name: &str) -> Result<Option<Option<u32>>, String> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match (value, value.parse()) {
            ("off" | "none" | "0", _) => Ok(Some(None)),
            (_, Ok(number)) => Ok(Some(Some(number))),
            (_, Err(_)) => Err(format!(
                "{name} is a whole number or \"off\", not {value:?}"
            )),
        }
    }

    /// Whether something is switched on, if that was chosen.
    pub fn switch(&self, name: &str) -> Result<Option<bool>, String> {
        match self.get(name) {
            None => Ok(None),
            Some("on" | "yes" | "true") => Ok(Some(true)),
            Some("off" | "no" | "false") => Ok(Some(false)),
            Some(other) => Err(format!("{name} is \"on\" or \"off\", not {other:?}")),
        }
    }

    /// Refuses settings that a game does not have, with a list of those it has.
    pub fn check(&self, title: &str, settings: &[Setting]) -> Result<(), String> {
        let is_known = |name: &str| settings.iter().any(|setting| setting.name == name);
        let Some((name, _)) = self.0.iter().find(|(name, _)| !is_known(name)) else {
            return Ok(());
        };
        let known: Vec<&str> = settings.iter().map(|setting| setting.name).collect();
        Err(match known.is_empty() {
            true => format!("{title} has no settings, so also no {name:?}"),
            false => format!(
                "{title} has no setting {name:?}; it has {}",
                known.join(", ")
            ),
        })
    }
}

/// How well a bot plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Level {
    /// Slow, and misses often.
    Easy,
    /// As bots of measurements and tests play.
    #[default]
    Normal,
    /// Quick and exact.
    Hard,
}

impl Level {
    /// All levels.
    pub const ALL: [Level; 3] = [Level::Easy, Level::Normal, Level::Hard];

    /// Its name on command lines and screens.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Easy => "easy",
            Level::Normal => "normal",
            Level::Hard => "hard",
        }
    }

    /// The level of that name; the error says which there are.
    pub fn named(name: &str) -> Result<Level, String> {
        let found = Level::ALL.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| format!("a level is easy, normal or hard, not {name:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_people_write_them() {
        let mut choices = Choices::default();
        choices.set("frags", "5");
        choices.set("frags", "20");
        choices.set("time", "off");
        choices.set("fog", "on");
        assert_eq!(choices.number("frags"), Ok(Some(Some(20))));
        assert_eq!(choices.number("time"), Ok(Some(None)));
        assert_eq!(choices.number("lives"), Ok(None));
        assert_eq!(choices.switch("fog"), Ok(Some(true)));
        assert!(choices.switch("frags").unwrap_err().contains("\"on\""));
        assert!(choices.number("fog").unwrap_err().contains("\"off\""));
    }

    #[test]
    fn an_unknown_setting_is_answered_with_those_there_are() {
        let mut choices = Choices::default();
        choices.set("gravity", "9");
        let fog = Setting {
            name: "fog",
            about: "",
            values: &["off", "on"],
            is_file: false,
        };
        assert!(
            choices
                .check("Game", &[fog])
                .unwrap_err()
                .contains("has fog")
        );
        assert!(
            choices
                .check("Game", &[])
                .unwrap_err()
                .contains("no settings")
        );
        assert_eq!(Level::named("hard"), Ok(Level::Hard));
        assert!(Level::named("brutal").unwrap_err().contains("easy"));
    }
}
