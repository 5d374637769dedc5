//! What a lobby allows, and what it counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::Rate;
use crate::refusal::Refusal;
use crate::secret::PasswordCost;

/// What a lobby allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DirectoryConfig {
    /// How many seconds a member may be away. Default 60.
    pub grace_s: u32,
    /// Most rooms. Default 10,000.
    pub max_rooms: usize,
    /// How many seconds a connect token is good, at most 300. Default 120.
    pub token_life_s: u32,
    /// Creating and joining, for each address. Default 60, then one in a second.
    pub entering: Rate,
    /// Reading or beginning to watch the list, for each address. Default 60, then 5 in a second.
    pub browsing: Rate,
    /// Wrong codes, passwords and secrets, for each address. Default 10, then one in ten seconds.
    pub wrong_guesses: Rate,
    /// Requests on one connection, chat among them. Default 20, then 5 in a second.
    pub requests: Rate,
    /// What a password costs.
    pub password_cost: PasswordCost,
}

impl Default for DirectoryConfig {
    fn default() -> Self {
        Self {
            grace_s: 60,
            max_rooms: 10_000,
            token_life_s: 120,
            entering: Rate::new(60, 1.0),
            browsing: Rate::new(60, 5.0),
            wrong_guesses: Rate::new(10, 0.1),
            requests: Rate::new(20, 5.0),
            password_cost: PasswordCost::default(),
        }
    }
}

/// What a directory has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryStats {
    /// Rooms that were made here.
    pub rooms_made: u64,
    /// Members that came in here.
    pub joins: u64,
    /// Members that came back here.
    pub returns: u64,
    /// Games that were started here.
    pub starts: u64,
    /// Connect tokens that were issued here.
    pub tokens: u64,
    /// Lines of chat that were said here.
    pub lines: u64,
    /// Members that were sent away here.
    pub kicks: u64,
    /// Members that were removed here since they were away for too long.
    pub timed_out: u64,
    /// Commits that the store made.
    pub commits: u64,
    /// Commits that met another version.
    pub conflicts: u64,
    /// Refused requests by their reason.
    pub refusals: BTreeMap<Refusal, u64>,
}

/// How much there is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Population {
    /// Rooms of all lobbies.
    pub rooms: usize,
    /// Their members.
    pub members: usize,
    /// Members that are connected here.
    pub attached: usize,
    /// Connections that watch the list here.
    pub watchers: usize,
}
