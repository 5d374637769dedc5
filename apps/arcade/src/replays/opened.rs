//! A file that is open.

use samestep_sync::{Replay, Tick};

use super::compare::{Compared, Look};
use super::facts::{facts, printable};
use super::lens::Lens;
use super::player::Player;
use crate::registry;

/// What is shown of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LiveMatch {
    /// The match.
    Match,
    /// One of its divergences.
    Desync(usize),
}

/// A file that is open.
pub(super) struct Opened {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) facts: Vec<(&'static str, String)>,
    /// Why it cannot be played, if it cannot.
    pub(super) player: Result<Player, String>,
    pub(super) shown: LiveMatch,
    /// What is cut out as a clip.
    pub(super) cut: (Tick, Tick),
    /// Both worlds of the divergence that is shown, once they are known.
    pub(super) compared: Option<(usize, Result<Compared, String>)>,
    pub(super) look: Look,
    pub(super) lens: Lens,
}

impl Opened {
    /// Reads a file. The error is a message for the user.
    pub(super) fn new(name: &str, bytes: Vec<u8>) -> Result<Opened, String> {
        let name = printable(name);
        let replay = Replay::parse(bytes.clone()).map_err(|error| format!("{name}: {error}"))?;
        let (facts, cut) = (facts(&replay), (replay.first(), replay.end()));
        let shown = match replay.divergences().is_empty() {
            true => LiveMatch::Match,
            false => LiveMatch::Desync(0),
        };
        let mut opened = Opened {
            name,
            bytes,
            facts,
            player: play(replay).map(Player::new),
            shown: LiveMatch::Match,
            cut,
            compared: None,
            look: Look {
                is_near: true,
                ..Look::default()
            },
            lens: Lens::default(),
        };
        if opened.player.is_ok() {
            opened.show(shown);
        }
        Ok(opened)
    }

    /// Shows the match or a divergence, and goes there.
    pub(super) fn show(&mut self, shown: LiveMatch) {
        self.shown = shown;
        self.compared = None;
        if let (LiveMatch::Desync(at), Ok(player)) = (shown, &mut self.player) {
            let divergence = player.replay().divergences().get(at);
            if let Some(tick) = divergence.map(|divergence| divergence.tick) {
                player.stop();
                player.go(tick);
            }
        }
    }

    /// Goes on with whatever is being done.
    pub(super) fn advance(&mut self, passed: f64, clock: &dyn Fn() -> f64) {
        let Ok(player) = &mut self.player else {
            return;
        };
        player.advance(passed, clock);
        let LiveMatch::Desync(at) = self.shown else {
            return;
        };
        if player.is_still() && self.compared.is_none() {
            let divergence = player.replay().divergences().get(at).cloned();
            if let Some(divergence) = divergence {
                let compared = player.played_mut().compare(&divergence);
                self.compared = Some((at, compared));
            }
        }
    }

    /// The name of a file that comes from this one.
    pub(super) fn name_for(&self, what: &str, extension: &str) -> String {
        let stem = self.name.strip_suffix(".replay").unwrap_or(&self.name);
        let safe = |letter: char| match letter {
            letter if letter.is_alphanumeric() || "-_. ".contains(letter) => letter,
            _ => '-',
        };
        let stem: String = stem.chars().map(safe).collect();
        format!("{stem}{what}.{extension}")
    }
}

fn play(replay: Replay) -> Result<Box<dyn super::played::RecordedMatch>, String> {
    let game = &replay.header().game;
    let Some(entry) = registry::game(game) else {
        let known: Vec<_> = registry::GAMES.iter().map(|game| game.title).collect();
        return Err(format!(
            "It is of a game that is not here: {}. Here are {}.",
            printable(game),
            known.join(", ")
        ));
    };
    (entry.replay)(replay).map_err(|words| format!("It cannot be played: {words}."))
}
