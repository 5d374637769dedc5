//! What a matchmaker is told at its start: the modes of the game, how tickets widen, and limits.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::host::HostDemand;
use crate::id::{MatchId, ModeId};
use crate::widening::Widening;

/// Most sides of a match.
pub const MAX_SIDES: usize = 16;

/// Most players of a match.
pub const MAX_PLAYERS: usize = 32;

/// Who runs the matches of a mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hosting {
    /// One of the players, by ability: a match needs one that can.
    #[default]
    Players,
    /// A dedicated server with room: a match waits for one.
    Servers,
    /// A dedicated server with room, unless the way to it is much longer than to the best of the players.
    ServersOrPlayers,
    /// Nobody: all are equal, in a mesh.
    Mesh,
}

/// A mode that players queue for.
#[derive(Clone, Debug, PartialEq)]
pub struct ModeConfig {
    /// How many sides play: 2 teams, or as many as players if each plays for itself. One side plays against the game.
    pub sides: usize,
    /// Players of each side.
    pub side_size: usize,
    /// Who runs it.
    pub hosting: Hosting,
    /// What a player needs to host it.
    pub demand: HostDemand,
    /// How its tickets widen.
    pub widening: Widening,
    /// When a ticket that was not matched ends.
    pub patience: Duration,
}

impl ModeConfig {
    /// A mode of so many sides of so many players, which one of them hosts.
    pub fn new(sides: usize, side_size: usize) -> Self {
        Self {
            sides,
            side_size,
            hosting: Hosting::default(),
            demand: HostDemand::default(),
            widening: Widening::default(),
            patience: Duration::from_secs(120),
        }
    }

    /// The players of a match.
    pub fn players(&self) -> usize {
        self.sides * self.side_size
    }

    fn is_valid(&self) -> bool {
        (1..=MAX_SIDES).contains(&self.sides)
            && self.side_size > 0
            && self.side_size <= MAX_PLAYERS / self.sides
    }
}

/// Settings of a [`Matchmaker`](crate::Matchmaker).
#[derive(Clone, Debug, PartialEq)]
pub struct MatchmakerConfig {
    /// The modes by their ids.
    pub modes: BTreeMap<ModeId, ModeConfig>,
    /// Time between two looks for partners of a ticket, at first; who has waited long is looked at less often.
    pub look_every: Duration,
    /// Most tickets that are looked at in one call; the others are due at once again, so that the caller can do something else between.
    pub looks_at_once: usize,
    /// A server is preferred to a player as host while its longest round trip is at most so much longer.
    pub server_margin: Duration,
    /// Most tickets that wait.
    pub max_tickets: usize,
    /// Most matches that run; while there are as many no further one is formed.
    pub max_matches: usize,
    /// Most places to be filled in running matches.
    pub max_vacancies: usize,
    /// Most servers.
    pub max_servers: usize,
    /// A match that nobody ended is taken to be over after so long.
    pub longest_match: Duration,
    /// The id of the first match.
    pub first_match: MatchId,
}

impl Default for MatchmakerConfig {
    fn default() -> Self {
        Self {
            modes: BTreeMap::new(),
            look_every: Duration::from_millis(100),
            looks_at_once: 1_000,
            server_margin: Duration::from_millis(30),
            max_tickets: 20_000,
            max_matches: 20_000,
            max_vacancies: 5_000,
            max_servers: 1_000,
            longest_match: Duration::from_secs(3 * 3600),
            first_match: MatchId(1),
        }
    }
}

impl MatchmakerConfig {
    /// The same with a mode more.
    pub fn mode(mut self, id: ModeId, mode: ModeConfig) -> Self {
        self.modes.insert(id, mode);
        self
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.look_every.is_zero() || self.looks_at_once == 0 {
            return Err(ConfigError::Looks);
        }
        match self.modes.iter().find(|(_, mode)| !mode.is_valid()) {
            Some((id, _)) => Err(ConfigError::Mode(*id)),
            None => Ok(()),
        }
    }
}

/// A matchmaker cannot work like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The size of a mode's match is out of bounds.
    #[error("mode {} needs 1 to {MAX_SIDES} sides of at least one player, and at most {MAX_PLAYERS} players", .0.0)]
    Mode(ModeId),
    /// Tickets would be looked at all the time, or never.
    #[error(
        "look_every and looks_at_once must be more than zero: 100 ms and 1000 are a good start"
    )]
    Looks,
}
