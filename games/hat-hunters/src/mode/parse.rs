//! From the text of a custom mode to its rules, with the place of every mistake.

use core::ops::RangeInclusive;

use super::{MAX_AI, MAX_AT_ONCE, Mode, Rules};
use crate::item::{ItemKind, Items};
use crate::map::MAX_NAME;

/// A mode of one's own, as a file that players give to each other.
///
/// ```
/// use samestep_hat_hunters::{CustomMode, Mode};
///
/// let crowd = CustomMode::parse(
///     "name = Crowd\n\
///      ; Hardly anybody is somebody.\n\
///      mode = bushes\n\
///      ai = 40\n\
///      growth = 2.5\n\
///      items = green, whistle\n",
/// )?;
/// assert_eq!((crowd.name.as_str(), crowd.rules.mode), ("Crowd", Mode::Bushes));
/// assert_eq!((crowd.rules.ai, crowd.rules.growth), (40, 150));
///
/// let mistake = CustomMode::parse("name = Crowd\nai = many\n").unwrap_err();
/// assert_eq!(mistake.to_string(), "line 2, column 6: ai is a whole number from 0 to 40");
/// # Ok::<(), samestep_hat_hunters::ModeError>(())
/// ```
///
/// | key | value | default |
/// |---|---|---|
/// | `name` | up to 32 bytes | none: it must be there |
/// | `mode` | `stars`, `hat-catch`, `elimination`, `bushes`; what follows overrides its rules | `stars` |
/// | `map` | the name of a map that comes with the game | chosen elsewhere |
/// | `stars`, `hat` | stars that win, and that make a hat appear: 1 to 20 | 5; one less than wins |
/// | `ai` | characters that nobody plays: 0 to 40 | 12 |
/// | `rounds` | 1 to 20 | 3 |
/// | `cooldown` | seconds from box to box: 0.5 to 60 | 4 |
/// | `box-life` | seconds after which a box falls apart: 1 to 600 | 40 |
/// | `speed` | percent: 50 to 200 | 100 |
/// | `stars-at-once`, `containers` | 1 to 12; 0 to 12 | 3; 4 |
/// | `bounces` | 0 to 20 | 5 |
/// | `hits` | that eliminate: 1 to 20 | 3 |
/// | `growth` | seconds from bush to bush: 0.2 to 60 | 1.5 |
/// | `items` | names with commas between, `all` or `none` | `all` |
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CustomMode {
    /// Its name.
    pub name: String,
    /// The map it is for, if any.
    pub map: Option<String>,
    /// Its rules.
    pub rules: Rules,
}

/// Why a text is no mode, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct ModeError {
    /// The line, counted from 1.
    pub line: usize,
    /// The letter in it, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub kind: ModeErrorKind,
}

/// What is wrong with the text of a mode.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ModeErrorKind {
    /// A line that is neither empty, nor `key = value`, nor a remark.
    #[error("a line is \"key = value\", or a remark that begins with \";\"")]
    Line,
    /// A key that means nothing.
    #[error("\"{0}\" means nothing; there are {keys}", keys = KEYS.join(", "))]
    UnknownKey(String),
    /// A key is there twice.
    #[error("\"{0}\" is there twice")]
    Twice(&'static str),
    /// There is no name, or a long one.
    #[error("a mode needs a name of 1 to {MAX_NAME} bytes: write \"name = …\"")]
    Name,
    /// A mode that is none.
    #[error("there is no mode \"{0}\"; there are stars, hat-catch, elimination, bushes")]
    UnknownMode(String),
    /// The mode must come before the rules that change it.
    #[error("\"mode\" comes before the rules that change it")]
    LateMode,
    /// An item that is none.
    #[error("there is no item \"{0}\"; there are {names}", names = ItemKind::ALL.map(ItemKind::name).join(", "))]
    UnknownItem(String),
    /// A number outside of its range.
    #[error("{key} is a whole number from {least} to {most}")]
    Number {
        /// Of what.
        key: &'static str,
        /// The least that it can be.
        least: u8,
        /// The most that it can be.
        most: u8,
    },
    /// A time outside of its range.
    #[error("{key} is a number of seconds from {} to {}, with one decimal at most", *.least as f32 / 10.0, .most / 10)]
    Seconds {
        /// Of what.
        key: &'static str,
        /// The least that it can be, in tenths of a second.
        least: u32,
        /// The most that it can be, in tenths of a second.
        most: u32,
    },
}

const KEYS: [&str; 16] = [
    "name",
    "mode",
    "map",
    "stars",
    "hat",
    "ai",
    "rounds",
    "cooldown",
    "box-life",
    "speed",
    "stars-at-once",
    "containers",
    "bounces",
    "hits",
    "growth",
    "items",
];

impl CustomMode {
    /// The mode that a text describes.
    pub fn parse(text: &str) -> Result<CustomMode, ModeError> {
        let mut mode = CustomMode {
            name: String::new(),
            map: None,
            rules: Rules::default(),
        };
        let mut known: Vec<&'static str> = Vec::new();
        let mut last = 1;
        for (line, text) in (1..).zip(text.lines()) {
            last = line;
            let content = text.trim();
            if content.is_empty() || content.starts_with(';') {
                continue;
            }
            let column_of = |part: &str| {
                let bytes = part.as_ptr() as usize - text.as_ptr() as usize;
                text[..bytes].chars().count() + 1
            };
            let wrong = |part: &str, kind| {
                Err(ModeError {
                    line,
                    column: column_of(part),
                    kind,
                })
            };
            let Some((key, value)) = content.split_once('=') else {
                return wrong(content, ModeErrorKind::Line);
            };
            let (key, value) = (key.trim(), value.trim());
            let Some(key) = KEYS.into_iter().find(|known| *known == key) else {
                return wrong(content, ModeErrorKind::UnknownKey(key.to_string()));
            };
            if known.contains(&key) {
                return wrong(content, ModeErrorKind::Twice(key));
            }
            if key == "mode" && known.iter().any(|key| !["name", "map"].contains(key)) {
                return wrong(content, ModeErrorKind::LateMode);
            }
            known.push(key);
            if let Err((part, kind)) = mode.set(key, value) {
                return wrong(part, kind);
            }
        }
        if mode.name.is_empty() {
            return Err(ModeError {
                line: last,
                column: 1,
                kind: ModeErrorKind::Name,
            });
        }
        Ok(mode)
    }

    /// Sets one rule. The error has the part of the value that is wrong.
    fn set<'a>(
        &mut self,
        key: &'static str,
        value: &'a str,
    ) -> Result<(), (&'a str, ModeErrorKind)> {
        let number = |range: RangeInclusive<u8>| {
            let found = value.parse().ok().filter(|number| range.contains(number));
            let kind = ModeErrorKind::Number {
                key,
                least: *range.start(),
                most: *range.end(),
            };
            found.ok_or((value, kind))
        };
        let ticks = |least: u32, most: u32| {
            let found = tenths_of(value).filter(|found| (least..=most).contains(found));
            let kind = ModeErrorKind::Seconds { key, least, most };
            found.map(|found| found * 6).ok_or((value, kind))
        };
        let rules = &mut self.rules;
        match key {
            "name" if value.is_empty() || value.len() > MAX_NAME => {
                return Err((value, ModeErrorKind::Name));
            }
            "name" => self.name = value.to_string(),
            "mode" => {
                let mode = Mode::named(value);
                *rules = mode
                    .ok_or((value, ModeErrorKind::UnknownMode(value.to_string())))?
                    .rules();
            }
            "map" => self.map = Some(value.to_string()),
            "stars" => rules.stars = number(1..=20)?,
            "hat" => rules.hat = Some(number(1..=20)?),
            "ai" => rules.ai = number(0..=MAX_AI)?,
            "rounds" => rules.rounds = number(1..=20)?,
            "cooldown" => rules.cooldown = ticks(5, 600)?,
            "box-life" => rules.box_life = ticks(10, 6000)?,
            "speed" => rules.speed = number(50..=200)?,
            "stars-at-once" => rules.stars_at_once = number(1..=MAX_AT_ONCE)?,
            "containers" => rules.containers = number(0..=MAX_AT_ONCE)?,
            "bounces" => rules.bounces = number(0..=20)?,
            "hits" => rules.hits = number(1..=20)?,
            "growth" => rules.growth = ticks(2, 600)?,
            _ => rules.items = items(value)?,
        }
        Ok(())
    }
}

fn items(value: &str) -> Result<Items, (&str, ModeErrorKind)> {
    match value {
        "all" => return Ok(Items::ALL),
        "none" => return Ok(Items::NONE),
        _ => {}
    }
    let mut kinds = Vec::new();
    for name in value.split(',').map(str::trim) {
        let kind = ItemKind::named(name);
        kinds.push(kind.ok_or((name, ModeErrorKind::UnknownItem(name.to_string())))?);
    }
    Ok(Items::of(&kinds))
}

/// Tenths of a second: `"1.5"` is 15.
fn tenths_of(value: &str) -> Option<u32> {
    let (whole, tenth) = value.split_once('.').unwrap_or((value, "0"));
    let tenth = tenth.parse().ok().filter(|_| tenth.len() == 1);
    let whole: u32 = whole.parse().ok()?;
    whole.checked_mul(10)?.checked_add(tenth?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_as_in_the_mode_it_changes() {
        let mode = CustomMode::parse("name = Chase\nmode = hat-catch\nstars = 9\n").unwrap();
        assert_eq!(
            mode.rules,
            Rules {
                stars: 9,
                ..Mode::HatCatch.rules()
            }
        );
        assert_eq!(mode.rules.hat_stars(), 2);
        let plain = CustomMode::parse("name=X").unwrap().rules;
        assert_eq!((plain, plain.hat_stars()), (Rules::default(), 4));
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (text, message) in [
            ("name = A\nstars", "line 2, column 1: a line is"),
            ("name = A\n  gold = 3", "line 2, column 3: \"gold\" means"),
            ("name = A\nai = 3\nai = 4", "line 3, column 1: \"ai\" is"),
            ("stars = 3", "line 1, column 1: a mode needs a name"),
            (
                "name = A\nmode = chess",
                "line 2, column 8: there is no mode",
            ),
            (
                "name = A\nai = 3\nmode = stars",
                "line 3, column 1: \"mode\" comes before",
            ),
            (
                "name = Ä\nitems = green, gun",
                "line 2, column 16: there is no item \"gun\"; there are green, magnet",
            ),
            (
                "name = A\nstars = 0",
                "line 2, column 9: stars is a whole number from 1 to 20",
            ),
            (
                "name = A\ncooldown = 0.25",
                "line 2, column 12: cooldown is a number of seconds from 0.5 to 60",
            ),
        ] {
            let error = CustomMode::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
