//! The command line of a game that is played, the same for terminal and window.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use samestep::sync::ModelKind;
use samestep_playable::{Choices, Level, Setting};

use crate::failure::codes;
use crate::journal::JournalArguments;
use crate::link::LinkArguments;
use crate::lobby::{LobbyArguments, TokenArguments};
use crate::password::PasswordArguments;
use crate::search::PortArgument;

/// How a game is played.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Open a game and play in it
    Host(HostArguments),
    /// Open a game for others: a dedicated server
    Serve(ServeArguments),
    /// Join a game
    Join(JoinArguments),
    /// Watch a game
    Watch(WatchArguments),
}

/// Arguments of `host`.
#[derive(Args, Clone, Debug)]
#[command(after_help = codes())]
pub struct HostArguments {
    /// The game, as a server opens it.
    #[command(flatten)]
    pub serve: ServeArguments,
    /// Open a room without a host: everyone is connected to everyone, and whoever leaves, the game goes on
    #[arg(long, help_heading = "Room", conflicts_with_all = ["bots", "journal", "lobby_key"])]
    pub mesh: bool,
    /// The player.
    #[command(flatten)]
    pub player: PlayerArguments,
}

/// Arguments of `serve`, and of whoever opens a game.
#[derive(Args, Clone, Debug)]
#[command(after_help = codes())]
pub struct ServeArguments {
    /// The port to be reached at, 0 for any free one [default: 14242]
    #[arg(value_name = "PORT", index = 2)]
    pub port: Option<u16>,
    /// What every way to play has in common.
    #[command(flatten)]
    pub shared: SharedArguments,
    /// What is opened.
    #[command(flatten)]
    pub open: OpenArguments,
    /// The room.
    #[command(flatten)]
    pub room: RoomArguments,
}

/// Arguments of `join`.
#[derive(Args, Clone, Debug)]
#[command(after_help = codes())]
pub struct JoinArguments {
    /// The game: host, or host:port, with #KEY behind it if its key is known; without it the local network is searched
    #[arg(index = 2)]
    pub address: Option<String>,
    /// What every way to play has in common.
    #[command(flatten)]
    pub shared: SharedArguments,
    /// The player.
    #[command(flatten)]
    pub player: PlayerArguments,
    /// Where the secret is kept with which one comes back to one's place and score after a crash [default: a file in the user's state directory]
    #[arg(long, value_name = "FILE")]
    pub rejoin: Option<PathBuf>,
    /// The room is one without a host: join it through any of its members
    #[arg(long)]
    pub mesh: bool,
    /// What a lobby gave.
    #[command(flatten)]
    pub token: TokenArguments,
}

/// Arguments of `watch`.
#[derive(Args, Clone, Debug)]
#[command(after_help = codes())]
pub struct WatchArguments {
    /// The game: host, or host:port, with #KEY behind it if its key is known; without it the local network is searched
    #[arg(index = 2)]
    pub address: Option<String>,
    /// What every way to play has in common.
    #[command(flatten)]
    pub shared: SharedArguments,
    /// What a lobby gave.
    #[command(flatten)]
    pub token: TokenArguments,
}

/// What every way to play has in common.
#[derive(Args, Clone, Debug)]
pub struct SharedArguments {
    /// The game's name
    #[arg(index = 1)]
    pub game: String,
    /// Show it in a window [default: if there is a screen and the window's program]
    #[arg(long, conflicts_with = "terminal")]
    pub window: bool,
    /// Show it in the terminal; without one, as lines
    #[arg(long)]
    pub terminal: bool,
    /// How it is kept in step: rollback, lockstep, snapshot, state-sync or rewind, the same for everyone in it [default: as suits the game]
    #[arg(long, value_name = "NAME", value_parser = model)]
    pub model: Option<String>,
    /// The game's password.
    #[command(flatten)]
    pub password: PasswordArguments,
    /// Leave after so many matches
    #[arg(long, value_name = "N")]
    pub matches: Option<u32>,
    /// Write the figures of the network once a second: CSV, or lines on standard error if the file is -
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Record the match, for `samestep replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Write the score table at the end of a match: CSV
    #[arg(long, value_name = "FILE")]
    pub scores: Option<PathBuf>,
    /// Where games are found.
    #[command(flatten)]
    pub discovery: PortArgument,
    /// The link.
    #[command(flatten)]
    pub link: LinkArguments,
}

/// Arguments of who plays.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Player")]
pub struct PlayerArguments {
    /// Your name [default: your user name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Somebody who plays at the same screen with keys of its own; can be given several times, where a game allows it
    #[arg(long = "with", value_name = "NAME", value_parser = name)]
    pub with: Vec<String>,
    /// Be ready as soon as a waiting room is entered
    #[arg(long)]
    pub ready: bool,
    /// Let a bot play for you, and for whom you play with: easy, normal or hard
    #[arg(long, value_name = "LEVEL", value_parser = Level::named)]
    pub bot: Option<Level>,
}

/// Arguments of who opens a game: its room.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Room")]
pub struct RoomArguments {
    /// The room's name
    #[arg(long, value_name = "NAME")]
    pub room: Option<String>,
    /// Be reachable at this address of the machine only
    #[arg(long, value_name = "IP")]
    pub bind: Option<IpAddr>,
    /// Do not let the game be found in the local network
    #[arg(long)]
    pub hidden: bool,
    /// How many may play [default: as suits the game]
    #[arg(long, value_name = "N")]
    pub players: Option<u16>,
    /// Begin at once, without a waiting room
    #[arg(long)]
    pub at_once: bool,
    /// Begin when at least so many are there and all are ready
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub wait_for: usize,
    /// Players whose programs keep ready to take this one's place, so that the game outlives it: 0 to 7
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=7))]
    pub standbys: u8,
    /// Bots that play along
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub bots: u16,
    /// How well bots play: easy, normal or hard
    #[arg(long, value_name = "LEVEL", default_value = "normal", value_parser = Level::named)]
    pub level: Level,
    /// Who decides who may play.
    #[command(flatten)]
    pub lobby: LobbyArguments,
    /// Where the match is kept.
    #[command(flatten)]
    pub journal: JournalArguments,
}

/// Arguments of who opens a game: its settings. Each game has some of them, and `--set` is for those of its own.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Match")]
pub struct OpenArguments {
    /// Where it takes place: a name, or a file of your own
    #[arg(long, value_name = "NAME|FILE")]
    pub arena: Option<String>,
    /// What is played
    #[arg(long, value_name = "NAME")]
    pub mode: Option<String>,
    /// Frags that win the match, or off
    #[arg(long, value_name = "N")]
    pub frags: Option<String>,
    /// Minutes until the match is over, or off
    #[arg(long, value_name = "MINUTES")]
    pub time: Option<String>,
    /// Whether players get only what they see: on or off
    #[arg(long, value_name = "ON|OFF", num_args = 0..=1, default_missing_value = "on")]
    pub fog: Option<String>,
    /// Whether there are items: on or off
    #[arg(long, value_name = "ON|OFF", num_args = 0..=1, default_missing_value = "on")]
    pub items: Option<String>,
    /// Any setting of the game
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Seed of the match's randomness [default: another one each time]
    #[arg(long, value_name = "N")]
    pub match_seed: Option<u64>,
}

impl OpenArguments {
    /// The chosen settings, with the text of files in place of their names.
    pub fn choices(&self, settings: &[Setting]) -> Result<Choices, String> {
        let named = [
            ("arena", &self.arena),
            ("mode", &self.mode),
            ("frags", &self.frags),
            ("time", &self.time),
            ("fog", &self.fog),
            ("items", &self.items),
        ];
        let named = named.into_iter();
        let named = named.filter_map(|(name, value)| Some((name, value.as_deref()?)));
        let set = self.set.iter();
        let set = set.map(|(name, value)| (name.as_str(), value.as_str()));
        let mut choices = Choices::default();
        for (name, value) in named.chain(set) {
            choices.set(name, &value_of(settings, name, value)?);
        }
        Ok(choices)
    }
}

/// What a value means: the text of a file, if the setting may be one and there is such a file, or else itself.
pub(crate) fn value_of(settings: &[Setting], name: &str, value: &str) -> Result<String, String> {
    let setting = settings.iter().find(|setting| setting.name == name);
    let takes_file = setting.is_some_and(|setting| {
        let is_known = setting
            .values
            .iter()
            .any(|known| known.eq_ignore_ascii_case(value));
        setting.is_file && !is_known
    });
    if !takes_file || !std::path::Path::new(value).is_file() {
        return Ok(value.into());
    }
    std::fs::read_to_string(value).map_err(|error| format!("{value}: {error}"))
}

fn model(name: &str) -> Result<String, String> {
    let names = || ModelKind::ALL.iter().map(|kind| kind.name);
    match names().any(|known| known == name) {
        true => Ok(name.into()),
        false => Err(format!(
            "there are {}",
            names().collect::<Vec<_>>().join(", ")
        )),
    }
}

fn name(text: &str) -> Result<String, String> {
    let name = crate::text::printable(text.trim());
    match name.is_empty() {
        true => Err("a name has a letter at least".into()),
        false => Ok(name),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().into(), value.trim().into()))
}

impl Command {
    /// What every way to play has in common.
    pub fn shared(&self) -> &SharedArguments {
        match self {
            Command::Host(arguments) => &arguments.serve.shared,
            Command::Serve(arguments) => &arguments.shared,
            Command::Join(arguments) => &arguments.shared,
            Command::Watch(arguments) => &arguments.shared,
        }
    }

    pub(crate) fn player(&self) -> Option<&PlayerArguments> {
        match self {
            Command::Host(arguments) => Some(&arguments.player),
            Command::Join(arguments) => Some(&arguments.player),
            Command::Serve(_) | Command::Watch(_) => None,
        }
    }

    /// Whether several people play at the keys of this program, which takes a window: a terminal does not tell when a key is released.
    pub fn needs_window(&self) -> bool {
        let player = self.player();
        player.is_some_and(|player| player.bot.is_none() && !player.with.is_empty())
    }

    /// Whether the room is one without a host, as far as the command line says.
    pub(crate) fn is_mesh(&self) -> bool {
        match self {
            Command::Host(arguments) => arguments.mesh,
            Command::Join(arguments) => arguments.mesh,
            Command::Serve(_) | Command::Watch(_) => false,
        }
    }

    /// How many play on this program.
    pub(crate) fn local_players(&self) -> usize {
        self.player().map_or(0, |player| 1 + player.with.len())
    }

    /// Port, settings and room of who opens a game.
    pub(crate) fn opens(&self) -> Option<(u16, &OpenArguments, &RoomArguments)> {
        let ServeArguments {
            port, open, room, ..
        } = match self {
            Command::Host(arguments) => &arguments.serve,
            Command::Serve(arguments) => arguments,
            Command::Join(_) | Command::Watch(_) => return None,
        };
        Some((port.unwrap_or(samestep::DEFAULT_PORT), open, room))
    }
}

impl PlayerArguments {
    /// The name given, or that of the user.
    pub(crate) fn name(&self) -> String {
        user_name(self.name.as_deref())
    }

    /// The names of all who play on this program, the first its own.
    pub(crate) fn names(&self) -> Vec<String> {
        let with = self.with.iter().cloned();
        std::iter::once(self.name()).chain(with).collect()
    }
}

/// The name given, or that of the user.
pub fn user_name(given: Option<&str>) -> String {
    let user = || {
        let keys = ["USER", "USERNAME"];
        keys.iter().find_map(|key| std::env::var(key).ok())
    };
    let name = given.map(str::to_string).or_else(user).unwrap_or_default();
    let name = crate::text::printable(name.trim());
    if name.is_empty() {
        "player".into()
    } else {
        name
    }
}
