//! How a match begins.

use crate::confirmations::Confirmations;
use crate::map::{Builtin, Map, MapError};
use crate::mode::{MAX_AI, MAX_AT_ONCE, Mode, Rules};

/// The most players with characters; others watch.
pub const MAX_HUNTERS: u16 = 4;

/// How a match begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HatHuntersConfig {
    /// Two matches with the same seed and inputs are the same. Default 1.
    pub seed: u64,
    /// Where it takes place. Default: [`Builtin::Glade`].
    pub map: MapChoice,
    /// What players agree on.
    pub rules: Rules,
    /// When effects count under a model with an update window.
    pub confirmations: Confirmations,
}

/// Where a match takes place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MapChoice {
    /// On a map that comes with the game.
    Builtin(Builtin),
    /// On a custom one, in the format that [`Map`] describes.
    Text(String),
}

impl Default for HatHuntersConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            map: MapChoice::Builtin(Builtin::Glade),
            rules: Rules::default(),
            confirmations: Confirmations::default(),
        }
    }
}

impl HatHuntersConfig {
    /// A match in this mode, on the default map.
    pub fn in_mode(seed: u64, mode: Mode) -> Self {
        Self {
            seed,
            rules: mode.rules(),
            ..Self::default()
        }
    }

    /// The map it names.
    pub fn map(&self) -> Result<Map, HatHuntersConfigError> {
        match &self.map {
            MapChoice::Builtin(builtin) => Ok(builtin.map()),
            MapChoice::Text(text) => Map::parse(text).map_err(HatHuntersConfigError::Map),
        }
    }

    pub(crate) fn check(&self) -> Result<(), HatHuntersConfigError> {
        let rules = &self.rules;
        let day = 24 * 60 * 60 * 60;
        let counts = [rules.stars, rules.rounds, rules.hits, rules.hat_stars()];
        let is_sound = counts.iter().all(|count| (1..=20).contains(count))
            && rules.ai <= MAX_AI
            && (1..=MAX_AT_ONCE).contains(&rules.stars_at_once)
            && rules.containers <= MAX_AT_ONCE
            && rules.bounces <= 20
            && (50..=200).contains(&rules.speed);
        if !is_sound {
            return Err(HatHuntersConfigError::Counts);
        }
        let limit = rules.time_limit.unwrap_or(day);
        let times = [rules.cooldown, rules.growth, rules.box_life];
        if times.iter().any(|ticks| *ticks > day) || !(60..=day).contains(&limit) {
            return Err(HatHuntersConfigError::Times);
        }
        Ok(())
    }
}

/// Mistakes in a [`HatHuntersConfig`], with the way out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HatHuntersConfigError {
    /// The map's text is not one.
    #[error(transparent)]
    Map(MapError),
    /// A number is outside of its range.
    #[error(
        "stars, rounds, hits and the stars of a hat are 1 to 20, characters that nobody plays {MAX_AI} at most, things at once {MAX_AT_ONCE} at most, \
         bounces 20 at most, and the speed is 50 to 200 percent"
    )]
    Counts,
    /// A time is outside of its range.
    #[error("times are a day at most, and a match takes a second at least")]
    Times,
}
