//! What a program decides about its part in a room.

use core::fmt;
use core::time::Duration;
use std::net::SocketAddr;

use samestep_proto::Config;
use samestep_wire::Wire;

use crate::clock::ClockConfig;
use crate::id::RejoinSecret;

/// The part a program takes.
#[derive(Clone, Debug)]
pub enum Role {
    /// Opens a room and decides for all in it: a dedicated server, or, with [`players`](SessionConfig::players) of its
    /// own, a hosting player.
    Host,
    /// Plays in a host's room.
    Client(JoinTo),
    /// Watches a host's room.
    Spectator(JoinTo),
    /// Opens a mesh, in which everyone talks to everyone.
    Introducer,
    /// Joins a mesh through any of its members.
    Peer(JoinTo),
}

impl Role {
    /// Whether everyone is to talk to everyone.
    pub fn is_mesh(&self) -> bool {
        matches!(self, Self::Introducer | Self::Peer(_))
    }

    /// Where to join, unless this role opens the room.
    pub fn join(&self) -> Option<&JoinTo> {
        match self {
            Self::Host | Self::Introducer => None,
            Self::Client(join) | Self::Spectator(join) | Self::Peer(join) => Some(join),
        }
    }
}

/// Where to join, and with what.
#[derive(Clone, Debug)]
pub struct JoinTo {
    /// The host's address, or that of any member of a mesh.
    pub address: SocketAddr,
    /// The room's password.
    pub password: Option<String>,
    /// The host's public key, if known: joining fails unless the host owns it.
    pub server_key: Option<[u8; 32]>,
    /// What [`Session::rejoin_secret`](crate::Session::rejoin_secret) said before, to take the old place again.
    pub rejoin: Option<RejoinSecret>,
}

impl JoinTo {
    /// Joins at an address that asks for nothing.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            password: None,
            server_key: None,
            rejoin: None,
        }
    }
}

/// How a player appears to the others.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
pub struct Profile {
    /// Shown name, at most 64 bytes. If somebody has it already, the room adds a number.
    #[wire(max_len = 64)]
    pub name: String,
    /// Red, green, blue. If somebody has it already, or if it is black (the default), the room chooses a free one.
    pub colour: [u8; 3],
}

impl Profile {
    /// A player of this name, with a colour the room chooses.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            colour: [0; 3],
        }
    }
}

/// When a game begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartRule {
    /// As soon as every player is ready and there are at least this many.
    AllReady {
        /// Fewest players.
        players: usize,
    },
    /// When the authority calls [`Session::start`](crate::Session::start).
    ByAuthority,
}

/// What a mesh does about a member nobody hears any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Silence {
    /// Drops it, by the vote of more than half of the members that nobody accuses, after it has been silent this long.
    Drop {
        /// How long. Shorter reacts sooner, and drops members on bad links sooner.
        after: Duration,
    },
    /// Waits for it, as long as it takes; the game is frozen meanwhile.
    Wait,
}

/// Gives everyone the latency of the farthest player, so that nobody is heard sooner for living near.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fairness {
    /// How often latencies are looked at again. Seldom: a delay that changes is worse than a delay. Default 30 s.
    pub every: Duration,
    /// Latency beyond which a player is not waited for. Default 150 ms.
    pub at_most: Duration,
}

impl Default for Fairness {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(30),
            at_most: Duration::from_millis(150),
        }
    }
}

/// Settings of a [`Session`](crate::Session), checked once in `new`.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Game, version, encryption, time-outs. Its channels and its acceptance of connections are set by the session.
    pub protocol: Config,
    /// The room's name as others see it, at most 64 bytes; the opener's counts.
    pub room_name: String,
    /// Who plays on this program: nobody makes it a dedicated server or a spectator, several share one connection.
    pub players: Vec<Profile>,
    /// Players the room holds; the opener's counts. Default 16.
    pub capacity: usize,
    /// Spectators the room holds beside them. Default 16.
    pub spectators: usize,
    /// Password that those who join must know.
    pub password: Option<String>,
    /// Whether who joins needs the game's state first: the member it joins through is then asked for it with
    /// [`StateWanted`](crate::SessionEvent::StateWanted), and the newcomer says [`loaded`](crate::Session::loaded) when it is
    /// ready. Default off: in sync as soon as the room is known. The opener's counts.
    pub initial_state: bool,
    /// How long loading may take before the newcomer is dropped. Default 30 s.
    pub load_grace: Duration,
    /// How long the place of somebody who vanished is kept. Default 60 s.
    pub rejoin_grace: Duration,
    /// When the game begins. Default by the authority. The opener's counts.
    pub start: StartRule,
    /// How long before the common start everyone is told, at least; slow links add to it. Default 500 ms.
    pub countdown: Duration,
    /// What a mesh does about silent members. Default: dropped after 3 s.
    pub silence: Silence,
    /// Time delay for fairness. Default off.
    pub fairness: Option<Fairness>,
    /// How the common time is kept.
    pub clock: ClockConfig,
    /// Bytes of reliable messages a mesh keeps for each member until they are known to have arrived. Default 4 MiB.
    pub unacknowledged_limit: usize,
}

impl SessionConfig {
    /// Settings for a game and version.
    pub fn new(game: &str, version: u32) -> Self {
        Self {
            protocol: Config::new(game, version),
            room_name: String::new(),
            players: Vec::new(),
            capacity: 16,
            spectators: 16,
            password: None,
            initial_state: false,
            load_grace: Duration::from_secs(30),
            rejoin_grace: Duration::from_secs(60),
            start: StartRule::ByAuthority,
            countdown: Duration::from_millis(500),
            silence: Silence::Drop {
                after: Duration::from_secs(3),
            },
            fairness: None,
            clock: ClockConfig::default(),
            unacknowledged_limit: 4 << 20,
        }
    }

    /// The same with one more player on this program.
    pub fn player(mut self, name: &str) -> Self {
        self.players.push(Profile::named(name));
        self
    }

    /// The same with another name of the room.
    pub fn named(mut self, room: &str) -> Self {
        self.room_name = room.into();
        self
    }

    pub(crate) fn check(&self, role: &Role) -> Result<(), SetupError> {
        if let Some(profile) = self.players.iter().find(|p| p.name.len() > 64) {
            return Err(SetupError::NameTooLong(profile.name.clone()));
        }
        if self.room_name.len() > 64 {
            return Err(SetupError::NameTooLong(self.room_name.clone()));
        }
        if self.players.len() > 64 {
            return Err(SetupError::TooManyPlayers(self.players.len()));
        }
        match role {
            Role::Spectator(_) if !self.players.is_empty() => Err(SetupError::SpectatorWithPlayers),
            Role::Client(_) | Role::Peer(_) | Role::Introducer if self.players.is_empty() => {
                Err(SetupError::NobodyPlays)
            }
            Role::Host | Role::Introducer if self.players.len() > self.capacity => {
                Err(SetupError::TooManyPlayers(self.players.len()))
            }
            Role::Host | Role::Introducer if self.capacity == 0 || self.capacity > 4096 => {
                Err(SetupError::Capacity(self.capacity))
            }
            _ => Ok(()),
        }
    }
}

/// Why a session could not be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetupError {
    /// The protocol refuses its settings.
    Protocol(samestep_proto::ConfigError),
    /// Connecting is not possible.
    Connect(samestep_proto::ConnectError),
    /// A name is longer than 64 bytes.
    NameTooLong(String),
    /// More local players than the room, or one program, can hold.
    TooManyPlayers(usize),
    /// The capacity is not 1 to 4096.
    Capacity(usize),
    /// A spectator that plays.
    SpectatorWithPlayers,
    /// A client or member of a mesh without players.
    NobodyPlays,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(error) => error.fmt(f),
            Self::Connect(error) => error.fmt(f),
            Self::NameTooLong(name) => {
                write!(f, "\"{name}\" is too long: use at most 64 bytes")
            }
            Self::TooManyPlayers(n) => {
                write!(
                    f,
                    "{n} players on one program: use at most 64, and no more than the room holds"
                )
            }
            Self::Capacity(n) => write!(f, "capacity is {n}: use 1 to 4096 players"),
            Self::SpectatorWithPlayers => {
                write!(
                    f,
                    "a spectator does not play: leave `players` empty or join as a client"
                )
            }
            Self::NobodyPlays => {
                write!(f, "nobody plays here: add a player, or join as a spectator")
            }
        }
    }
}

impl std::error::Error for SetupError {}
