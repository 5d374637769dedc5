//! The games this program knows, by name.

mod evaluation;
mod skirmish;
mod sublockus;

use samestep::sync::{PlayerId, Simulation, Tick, TickInputs};
use samestep_evaluation::Evaluation;
use samestep_sandbox::{Playable, Setup};
use samestep_skirmish::Skirmish;
use samestep_sublockus::Sublockus;

use crate::failure::{Failure, Kind};

/// A game that can be shown on a terminal.
pub trait Game: Playable {
    /// How many play unless told otherwise.
    const PLAYERS: u16;

    /// A picture of so many columns and lines at most: what a player sees, or everything.
    fn paint(&self, viewer: Option<PlayerId>, columns: usize, lines: usize) -> Vec<String>;

    /// Any state, to be replaced.
    fn any() -> Self;
}

/// Bots for all players of a game.
pub struct Bots<G: Game>(Vec<(PlayerId, G::Bot)>);

impl<G: Game> Bots<G> {
    pub fn new(setup: &Setup) -> Bots<G> {
        let players = (0..setup.players).map(PlayerId);
        Bots(
            players
                .map(|player| (player, G::bot(setup, player)))
                .collect(),
        )
    }

    /// Whom they play for.
    pub fn players(&self) -> Vec<PlayerId> {
        self.0.iter().map(|(player, _)| *player).collect()
    }

    /// What they do in this tick.
    pub fn act(&mut self, game: &G, tick: Tick, inputs: &mut TickInputs) {
        for (player, bot) in &mut self.0 {
            if let Some(input) = game.decide(bot, tick) {
                inputs.give(*player, &input);
            }
        }
    }
}

/// Something to do with a game whose type is not known before.
pub trait Visitor {
    type Output;

    fn visit<G: Game>(self) -> Self::Output;
}

/// All names, with a few words each.
pub fn all() -> [(&'static str, &'static str); 3] {
    [
        (Skirmish::NAME, Skirmish::ABOUT),
        (Sublockus::NAME, Sublockus::ABOUT),
        (Evaluation::NAME, Evaluation::ABOUT),
    ]
}

/// Does something with the game of this name.
pub fn with<V: Visitor>(name: &str, visitor: V) -> Result<V::Output, Failure> {
    match name {
        Skirmish::NAME => Ok(visitor.visit::<Skirmish>()),
        Sublockus::NAME => Ok(visitor.visit::<Sublockus>()),
        Evaluation::NAME => Ok(visitor.visit::<Evaluation>()),
        _ => Err(unknown(name)),
    }
}

/// For the command line: refuses names of games that are not there.
pub fn known(name: &str) -> Result<String, String> {
    match all().iter().any(|(known, _)| *known == name) {
        true => Ok(name.to_string()),
        false => Err(unknown(name).to_string()),
    }
}

fn unknown(name: &str) -> Failure {
    let known = all().map(|(name, about)| format!("\n  {name:<12}{about}"));
    let words = format!(
        "there is no game \"{name}\" here; there are{}",
        known.concat()
    );
    Failure::new(Kind::Version, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NameOf;

    impl Visitor for NameOf {
        type Output = &'static str;

        fn visit<G: Game>(self) -> &'static str {
            G::NAME
        }
    }

    #[test]
    fn every_game_is_found_by_its_name() {
        for (name, _) in all() {
            assert_eq!(with(name, NameOf), Ok(name));
        }
        let error = with("chess", NameOf).unwrap_err().to_string();
        for (name, _) in all() {
            assert!(error.contains(name), "{error}");
        }
    }
}
