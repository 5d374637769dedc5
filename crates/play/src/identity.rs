//! The static keys of this user, by which others know its games and, where a lobby decides who plays, its programs.

use std::path::Path;

use samestep::keep_identity;
use samestep::session::Identity;

use crate::folder::state_folder;

/// The key of the games that this user opens, made with the first one. The error says why it cannot be kept: then each game has a new one.
pub fn host_identity() -> Result<Identity, String> {
    kept("identity")
}

/// The key with which this user joins where a lobby decides: it is kept in this file, or in the user's state directory. Without a lobby a program has a
/// new key each time, so that several can join one game.
pub fn player_identity(file: Option<&Path>) -> Result<Identity, String> {
    match file {
        Some(file) => keep_identity(file).map_err(|error| error.to_string()),
        None => kept("player-identity"),
    }
}

/// What becomes of a game whose key cannot be kept.
pub fn not_kept(why: &str) -> String {
    format!(
        "{why}. This game has a key that is gone with it: who joined before is warned of another key, and what was told of this one does not open the next"
    )
}

fn kept(name: &str) -> Result<Identity, String> {
    let folder = state_folder()
        .ok_or("the key cannot be kept: neither XDG_STATE_HOME nor HOME names a folder for it")?;
    keep_identity(folder.join(name)).map_err(|error| error.to_string())
}
