//! How a game begins.

use crate::arena::{Arena, ArenaError, Builtin};

/// The most players with characters; others watch.
pub const MAX_PLAYERS: u16 = 32;

/// How a game begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SublockusConfig {
    /// Two games with the same seed and inputs are the same. Default 1.
    pub seed: u64,
    /// Where it takes place. Default: [`Builtin::Courtyard`].
    pub arena: ArenaChoice,
    /// Ticks for which a newcomer can neither be hurt nor hurt others. Default 180.
    pub grace: u32,
    /// Ticks from death to entering again. Default 120.
    pub respawn: u32,
    /// Ticks for which a character that respawns is protected in the same way. Default 45.
    pub shelter: u32,
    /// Frags that win a round. Default `None`: the round goes on.
    pub frag_limit: Option<u16>,
    /// Ticks of a round. Default `None`: the round goes on.
    pub time_limit: Option<u32>,
    /// Whether there are items. Default true.
    pub items: bool,
    /// Whether a player gets only what its character sees or hears (fog of war); for models in which a server alone knows everything. Default false.
    pub fog: bool,
}

/// Where a game takes place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArenaChoice {
    /// One that comes with the game.
    Builtin(Builtin),
    /// A custom one, in the format that [`Arena`] describes.
    Text(String),
}

impl Default for SublockusConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            arena: ArenaChoice::Builtin(Builtin::Courtyard),
            grace: 180,
            respawn: 120,
            shelter: 45,
            frag_limit: None,
            time_limit: None,
            items: true,
            fog: false,
        }
    }
}

impl SublockusConfig {
    /// A fight of two in the smallest arena.
    pub fn duel(seed: u64) -> Self {
        Self {
            seed,
            arena: ArenaChoice::Builtin(Builtin::Cellar),
            ..Self::default()
        }
    }

    /// Everybody against everybody, in an arena that suits so many.
    pub fn free_for_all(seed: u64, players: u16) -> Self {
        Self {
            seed,
            arena: ArenaChoice::Builtin(Builtin::for_players(players)),
            ..Self::default()
        }
    }

    /// The arena it names.
    pub fn arena(&self) -> Result<Arena, SublockusConfigError> {
        match &self.arena {
            ArenaChoice::Builtin(builtin) => Ok(builtin.arena()),
            ArenaChoice::Text(text) => Arena::parse(text).map_err(SublockusConfigError::Arena),
        }
    }

    pub(crate) fn check(&self) -> Result<(), SublockusConfigError> {
        let day = 24 * 60 * 60 * 60;
        let times = [self.grace, self.respawn, self.shelter];
        if times.iter().any(|ticks| *ticks > day) {
            return Err(SublockusConfigError::Times);
        }
        if self.frag_limit == Some(0) || self.time_limit.is_some_and(|t| !(60..=day).contains(&t)) {
            return Err(SublockusConfigError::Limits);
        }
        Ok(())
    }
}

/// Mistakes in a [`SublockusConfig`], with the way out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SublockusConfigError {
    /// The arena's text is not one.
    #[error(transparent)]
    Arena(ArenaError),
    /// Nobody waits longer than a day.
    #[error("grace, respawn and shelter are a day at most")]
    Times,
    /// A round needs at least one frag, or a second, and takes a day at most.
    #[error("a round needs at least one frag or 60 ticks, and a day at most")]
    Limits,
}
