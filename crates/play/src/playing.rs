//! One program's part in a match: the game, and all that people expect around it.

mod host;
mod news;
mod open;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use samestep::session::discovery::Announcement;
use samestep::session::{LeaveReason, PeerId, Phase, Presence};
use samestep::sync::{Model, PlayerId, Simulation, Tick, TimedEvent};
use samestep::transport::Transport;
use samestep::{Game, GameError};
use samestep_playable::{Playable, Setup};

use self::host::Hosting;
pub use self::open::VERSION;
use crate::announce::Announcer;
use crate::arguments::Command;
use crate::bots::AtKeys;
use crate::ending::ending;
use crate::failure::{Failure, Kind};
use crate::known_hosts::KnownHosts;
use crate::rejoin::RejoinFile;
use crate::scores::Table;

/// A game with any model over any transport.
type AnyGame<G> = Game<G, Box<dyn Model + Send>, Box<dyn Transport + Send>>;

/// How far a match is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The game is being joined.
    Joining,
    /// The waiting room: settings are chosen, players get ready.
    Waiting,
    /// The match is played.
    Playing,
    /// The match has ended; its score table stands.
    Over,
}

/// One program's part in a match of the game `G`, whoever opened it.
pub struct Playing<G: Playable> {
    game: AnyGame<G>,
    command: Command,
    setup: Setup,
    /// At who opened the game.
    hosting: Option<Hosting>,
    announcer: Option<Announcer>,
    announced: Option<Announcement>,
    /// Whether the game that was opened here asks for a password.
    has_password: bool,
    /// The password that the room has been asked to demand from now on.
    next_password: Option<String>,
    /// The bots at the keys of this program's players.
    keys: Vec<AtKeys<G>>,
    rejoin: Option<RejoinFile>,
    known_hosts: Option<KnownHosts>,
    /// Whether the key is insisted on that was remembered of the host.
    insists_on_remembered: bool,
    /// Lines of chat and news that the screen has not taken.
    lines: Vec<String>,
    /// How peers are called, also those that have just left.
    names: BTreeMap<PeerId, String>,
    away: BTreeSet<PeerId>,
    /// Whether this program has been in the room.
    entered: bool,
    /// The score table of the last match that has ended, as this program's own state has it.
    last_table: Option<Table>,
    /// Whether the host's score table was another.
    has_disagreed: bool,
    /// How many matches have ended here.
    matches: u32,
    /// When, and at which tick, the match was decided, as far as this program knows.
    decided: Option<(Duration, Tick)>,
    leaving: bool,
    /// Who would take the place of this program, as people were told.
    standbys: Vec<PeerId>,
    has_told_journal_error: bool,
}

impl<G: Playable> Playing<G> {
    /// Runs the game for this long. An error is final, and says why it is over.
    pub fn run_for(&mut self, time: Duration) -> Result<(), Failure> {
        let run = self.game.run_for(time);
        while let Some(news) = self.game.next_news() {
            self.on_news(news);
        }
        match run {
            Ok(()) => {}
            // Who has played all its matches wanted to leave anyway.
            Err(_) if self.is_finished() => return Ok(()),
            Err(error) => return Err(self.fail(error)),
        }
        self.host();
        self.announce();
        self.get_ready();
        self.play_keys();
        Ok(())
    }

    fn fail(&mut self, error: GameError) -> Failure {
        let GameError::Left(reason) = error else {
            return Failure::new(Kind::Other, error.to_string());
        };
        let count = self.command.local_players();
        if reason == LeaveReason::Full && count > 1 {
            let words = format!("the room has no place for all {count} players of this program");
            return Failure::new(Kind::Full, words);
        }
        if let (LeaveReason::WrongKey(_), Some(known_hosts)) = (&reason, &self.known_hosts)
            && self.insists_on_remembered
        {
            return Failure::new(Kind::Other, known_hosts.advice());
        }
        let can_return = matches!(reason, LeaveReason::NotReached(_) | LeaveReason::Silent);
        if !can_return && let Some(file) = self.rejoin.take() {
            file.remove();
        }
        ending(&reason, self.entered)
    }

    /// Who said on the command line to be ready is so in every waiting room.
    fn get_ready(&mut self) {
        let wants = self.command.player().is_some_and(|player| player.ready);
        let is_ready = self.is_ready();
        if wants && self.stage() == Stage::Waiting && is_ready == Some(false) {
            self.game.set_ready(true);
        }
    }

    fn play_keys(&mut self) {
        let level = self.command.player().and_then(|player| player.bot);
        let Some(level) = level else {
            return;
        };
        let players = self.game.my_players();
        if !players.eq(self.keys.iter().map(AtKeys::player)) {
            let players = self.game.my_players();
            let keys = players.map(|player| AtKeys::new(&self.setup, player, level));
            self.keys = keys.collect();
        }
        for keys in &mut self.keys {
            keys.play(&mut self.game);
        }
    }

    /// Keeps what is found in the local network up to date.
    fn announce(&mut self) {
        let Some(announcer) = &self.announcer else {
            return;
        };
        let announcement = self.announcement();
        if self.announced.as_ref() != Some(&announcement) {
            announcer.say(Some(announcement.clone()));
            self.announced = Some(announcement);
        }
    }

    /// Whether this program wants to leave: all its matches are played, or somebody said so.
    pub fn is_finished(&self) -> bool {
        let wanted = self.command.shared().matches;
        self.leaving || wanted.is_some_and(|wanted| self.matches >= wanted)
    }

    /// Leaves the game. Who hosts it hands it over, if somebody stands by, or closes it; after its last match it closes it for all.
    pub fn leave(mut self) -> Result<(), Failure> {
        if let Some(announcer) = &self.announcer {
            announcer.say(None);
        }
        if let Some(hosting) = &mut self.hosting {
            hosting.team.stop();
        }
        if let Some(file) = self.rejoin.take() {
            file.remove();
        }
        self.write_recording()?;
        if self.hosting.is_some() && !self.is_mesh() && !self.leaving && self.is_finished() {
            self.game.close_room("");
        }
        let left = self.game.leave("");
        left.map_err(|error| Failure::new(Kind::Other, error.to_string()))
    }

    /// How far the match is.
    pub fn stage(&self) -> Stage {
        if !self.entered {
            return Stage::Joining;
        }
        self.stage_of_room()
    }

    fn stage_of_room(&self) -> Stage {
        match self.game.room().phase() {
            Phase::SetUp => Stage::Waiting,
            Phase::Playing { .. } => Stage::Playing,
            Phase::Ended { .. } => Stage::Over,
        }
    }

    /// The state to draw.
    pub fn shown(&mut self) -> &G {
        self.game.shown()
    }

    /// The state as it is simulated here, for scores and settings.
    pub fn state(&self) -> &G {
        self.game.state()
    }

    /// The first player of this program; `None` before it has joined, or if nobody plays here.
    pub fn me(&self) -> Option<PlayerId> {
        self.game.me()
    }

    /// All players of this program, who share its screen; none before it has joined, or if nobody plays here.
    pub fn my_players(&self) -> Vec<PlayerId> {
        self.game.my_players().collect()
    }

    /// Whether a person plays here: not a bot at the keys.
    pub fn is_by_hand(&self) -> bool {
        let player = self.command.player();
        player.is_some_and(|player| player.bot.is_none())
    }

    /// Whether this program opened the game, and so starts and ends matches.
    pub fn is_host(&self) -> bool {
        self.hosting.is_some()
    }

    /// Whether the room is one without a host.
    fn is_mesh(&self) -> bool {
        self.game.driver().machine().session().role().is_mesh()
    }

    /// Whether this program's players are all ready; `None` if nobody plays here.
    pub fn is_ready(&self) -> Option<bool> {
        let room = self.game.room();
        let mut players = self.game.my_players().peekable();
        players.peek()?;
        Some(players.all(|me| room.player(me).is_some_and(|player| player.ready)))
    }

    /// Sets what one of this program's players holds and presses.
    pub fn set_controls(&mut self, player: PlayerId, controls: &G::Input) {
        if self.is_by_hand() {
            self.game.set_controls_of(player, controls);
        }
    }

    /// The next event of the rules, for effects.
    pub fn next_event(&mut self) -> Option<TimedEvent<<G as Simulation>::Event>> {
        self.game.next_event()
    }

    /// The name of the room.
    pub fn room_name(&self) -> String {
        crate::text::printable(self.game.room().name())
    }

    /// The score table: of the match that is played, or the last one once it has ended.
    pub fn table(&self) -> Table {
        match (&self.last_table, self.stage()) {
            (Some(table), Stage::Over) => table.clone(),
            _ => self.own_table(),
        }
    }

    fn own_table(&self) -> Table {
        let room = self.game.room();
        let is_away = |peer| {
            let peer = room.peer(peer);
            peer.is_none_or(|peer| peer.presence == Presence::Away)
        };
        Table::of(self.game.state(), room.players(), |player| {
            is_away(player.peer)
        })
    }

    /// Whether the host had another score table at an end than this program.
    pub fn has_disagreed(&self) -> bool {
        self.has_disagreed
    }

    /// Lines of chat and news since this was asked last.
    pub fn lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    fn say_here(&mut self, words: impl Into<String>) {
        self.lines.push(words.into());
    }

    /// What is played, as (setting, value): that of the match, and at who opened the game also the bots.
    pub fn settings(&self) -> Vec<(String, String)> {
        let proposed = &self.game.room().settings().values;
        // The state of the next match takes over when it begins; until then the room knows what was chosen.
        let mut settings = match self.stage() {
            Stage::Waiting if !proposed.is_empty() => proposed.clone(),
            _ => named(self.game.state().settings()),
        };
        if let Some(hosting) = &self.hosting {
            settings.push(("bots".into(), hosting.team.len().to_string()));
            settings.push(("level".into(), hosting.team.level().name().into()));
        }
        settings
    }

    fn write_recording(&self) -> Result<(), Failure> {
        let Some(path) = &self.command.shared().record else {
            return Ok(());
        };
        match self.game.recording() {
            Some(bytes) => write(path, &bytes),
            None => Ok(()),
        }
    }
}

/// Settings with names of their own, as a room keeps them.
fn named(settings: Vec<(&'static str, String)>) -> Vec<(String, String)> {
    let settings = settings.into_iter();
    settings
        .map(|(name, value)| (name.to_string(), value))
        .collect()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error| Failure::new(Kind::Other, format!("{}: {error}", path.display()));
    std::fs::write(path, bytes).map_err(failed)
}
