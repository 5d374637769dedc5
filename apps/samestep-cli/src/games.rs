//! The games by name, for the command line.

use samestep_catalog::{GAMES, Visitor, visit};

use samestep_play::failure::{Failure, Kind};

/// Visits the game of this name.
pub fn with<V: Visitor>(name: &str, visitor: V) -> Result<V::Output, Failure> {
    visit(name, visitor).ok_or_else(|| unknown(name))
}

/// Refuses names of games that do not exist, when the command line is parsed.
pub fn known(name: &str) -> Result<String, String> {
    match GAMES.iter().any(|game| game.name == name) {
        true => Ok(name.to_string()),
        false => Err(unknown(name).to_string()),
    }
}

fn unknown(name: &str) -> Failure {
    let games = GAMES.iter();
    let known: String = games
        .map(|game| format!("\n  {:<12}{}", game.name, game.about))
        .collect();
    let text = format!("there is no game \"{name}\" here; there are{known}");
    Failure::new(Kind::Version, text)
}
