//! The settings of a session.

use core::time::Duration;
use std::net::SocketAddr;

use samestep_proto::{Config, LobbyKey, Password, PublicKey};
use samestep_sync::{Model, World};
use samestep_wire::Wire;

use crate::clock::ClockConfig;
use crate::event::shorten;
use crate::id::RejoinSecret;

/// The part a program takes in a room.
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
    /// The room's password, if it is not in [`SessionConfig::password`].
    pub password: Option<Password>,
    /// The host's public key, if known: joining fails unless the host owns it.
    pub server_key: Option<PublicKey>,
    /// The [rejoin secret](crate::Session::rejoin_secret) of the earlier session, to take its slot again.
    pub rejoin: Option<RejoinSecret>,
    /// Other addresses of the same room, at most 64, with their keys if known: of members of a mesh, or of standbys, one of which may host by now. They are tried too, up to
    /// three at a time, until one lets this program in, as long as [`SessionConfig::rejoin_grace`].
    pub doors: Vec<(SocketAddr, Option<PublicKey>)>,
}

impl JoinTo {
    /// Joins at an address without password, key or rejoin secret.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            password: None,
            server_key: None,
            rejoin: None,
            doors: Vec::new(),
        }
    }

    /// Also at this address, if nobody answers at the others: see [`doors`](Self::doors).
    pub fn or_at(mut self, address: SocketAddr, key: Option<PublicKey>) -> Self {
        self.doors.push((address, key));
        self
    }

    /// The key that whoever is at an address has to own, if this says so.
    pub(crate) fn key_at(&self, address: SocketAddr) -> Option<PublicKey> {
        let door = self.doors.iter().find(|(door, _)| *door == address);
        match address == self.address {
            true => self.server_key,
            false => door.and_then(|(_, key)| *key),
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
    /// As soon as the room is open: a `Game` calls [`Session::start`](crate::Session::start) itself. A session without one waits for that call.
    AtOnce,
    /// As soon as every player is ready that is not away, and there are at least this many.
    AllReady {
        /// Fewest players.
        players: usize,
    },
    /// When the authority calls [`Session::start`](crate::Session::start).
    ByAuthority,
}

/// What a mesh does about a silent member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Silence {
    /// Drops it after it has been silent this long, by a majority vote of the members that are not suspected themselves.
    Drop {
        /// The time of silence. A shorter one reacts sooner, and drops members with bad links sooner.
        after: Duration,
    },
    /// Waits for it, as long as it takes; the game is frozen meanwhile.
    Wait,
}

/// Delays the messages of all players to the latency of the farthest one, so that no player has an advantage by being near.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fairness {
    /// The time between two updates of the delays. It is long because a changing delay is worse than a delay. Default 30 s.
    pub every: Duration,
    /// The maximum latency that others are delayed to. Default 150 ms.
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

/// What everyone in a room must have in common to play together: a newcomer with another description is refused.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct GameDescription {
    /// The name of the model, at most 255 bytes.
    #[wire(max_len = 255)]
    pub model: String,
    /// Ticks per second.
    #[wire(varint)]
    pub ticks_per_second: u32,
    /// A hash of the layout of the state.
    pub state: u32,
    /// A hash of the layout of the inputs.
    pub input: u32,
    /// A hash of the layout of the events.
    pub event: u32,
}

impl GameDescription {
    /// The description of a game that is played with this model in this world.
    pub fn of(model: &(impl Model + ?Sized), world: &(impl World + ?Sized)) -> Self {
        let layout = world.layout();
        Self {
            model: shorten(&model.name()),
            ticks_per_second: world.ticks_per_second(),
            state: layout.state as u32,
            input: layout.input as u32,
            event: layout.event as u32,
        }
    }

    /// What differs between a room and a newcomer, in words; `None` if they can play together.
    pub(crate) fn difference(&self, newcomer: &Self) -> Option<String> {
        let mut differences = Vec::new();
        if self.model != newcomer.model {
            let (room, newcomer) = (&self.model, newcomer.model.escape_debug());
            differences.push(format!(
                "the room plays by {room}, the newcomer by {newcomer}"
            ));
        }
        if self.ticks_per_second != newcomer.ticks_per_second {
            let (room, newcomer) = (self.ticks_per_second, newcomer.ticks_per_second);
            differences.push(format!(
                "the room has {room} ticks per second, the newcomer {newcomer}"
            ));
        }
        let mut other = Vec::new();
        for (name, room, newcomer) in [
            ("state", self.state, newcomer.state),
            ("input", self.input, newcomer.input),
            ("event", self.event, newcomer.event),
        ] {
            if room != newcomer {
                other.push(name);
            }
        }
        if !other.is_empty() {
            differences.push(format!(
                "the {} types of the room and of the newcomer differ: build both from the same source",
                other.join(" and ")
            ));
        }
        (!differences.is_empty()).then(|| differences.join("; "))
    }
}

/// Settings of a [`Session`](crate::Session), checked once in `new`.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Game, version, encryption, time-outs. The session itself sets the channels and whether connections are accepted.
    pub protocol: Config,
    /// What is played; who plays something else is refused. [`Match`](crate::Match) sets it. Default `None`: it is not compared.
    pub description: Option<GameDescription>,
    /// The room's name as others see it, at most 64 bytes. Set by the program that opens the room.
    pub room_name: String,
    /// The players on this program. Without players it is a dedicated server or a spectator; several players share one connection.
    pub players: Vec<Profile>,
    /// The maximum number of players. Set by the program that opens the room. Default 16.
    pub capacity: usize,
    /// The maximum number of spectators beside them. Default 16.
    pub spectators: usize,
    /// The password of the room: demanded by who opens it, given by who joins.
    pub password: Option<Password>,
    /// The connect token that a lobby gave to who joins a server which [asks for one](Self::admits_by_lobby). It is bound to this program's
    /// `identity` in `protocol`, and to the server's key, which has to be known.
    pub token: Option<Vec<u8>>,
    /// Whether a newcomer needs the game's state first. The member it joins through is then asked for it with
    /// [`StateWanted`](crate::SessionEvent::StateWanted), and the newcomer calls [`loaded`](crate::Session::loaded) when it is
    /// ready. Set by the program that opens the room. Default off: a newcomer is in sync as soon as it knows the room.
    pub initial_state: bool,
    /// How long loading may take before the newcomer is dropped. Default 30 s.
    pub load_grace: Duration,
    /// How long the slot of a peer that vanished is kept. Default 60 s.
    pub rejoin_grace: Duration,
    /// When the game begins. Set by the program that opens the room. Default at once.
    pub start: StartRule,
    /// The minimum time between the announcement of the start and the start; slow links add to it. Default 500 ms.
    pub countdown: Duration,
    /// What a mesh does about silent members. Default: dropped after 3 s.
    pub silence: Silence,
    /// The guests that a host keeps ready to take its place, at most 7: it feeds them the exact state of the game, secrets included. With 0 the room ends
    /// with its host. Set by the program that opens the room; whoever takes over keeps as many. A room that [a lobby admits to](Self::admits_by_lobby) has none. Default: none.
    pub standbys: Option<usize>,
    /// Whether this program, as a client, takes the host's place if the room wants it to: it then accepts connections, so others must be able to reach
    /// it. Default: a `Game` over UDP does, a session does not.
    pub may_host: Option<bool>,
    /// Latency equalization between the players. Default off.
    pub fairness: Option<Fairness>,
    /// How the common time is kept.
    pub clock: ClockConfig,
    /// The maximum number of bytes of unacknowledged reliable messages that a mesh keeps for each member. Default 4 MiB.
    pub unacknowledged_limit: usize,
}

impl SessionConfig {
    /// Settings for a game and version.
    pub fn new(game: &str, version: u32) -> Self {
        Self {
            protocol: Config::new(game, version),
            description: None,
            room_name: String::new(),
            players: Vec::new(),
            capacity: 16,
            spectators: 16,
            password: None,
            token: None,
            initial_state: false,
            load_grace: Duration::from_secs(30),
            rejoin_grace: Duration::from_secs(60),
            start: StartRule::AtOnce,
            countdown: Duration::from_millis(500),
            silence: Silence::Drop {
                after: Duration::from_secs(3),
            },
            standbys: None,
            may_host: None,
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

    /// The same with a password of the room.
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.into());
        self
    }

    /// The same with a lobby that decides who joins: nobody is let in without a connect token that it has signed for this program's key and this shard,
    /// which tells servers apart that share a key (0 for one alone). Members return without one. In a mesh every member is a door, and needs this.
    pub fn admits_by_lobby(mut self, lobby: LobbyKey, shard: u32) -> Self {
        let accept = self.protocol.accept.get_or_insert_default();
        accept.lobby_key = Some(lobby);
        accept.shard = shard;
        self
    }

    /// The same with another rule for when the game begins.
    pub fn starts(mut self, rule: StartRule) -> Self {
        self.start = rule;
        self
    }

    /// The password that a program in this role demands and gives.
    pub(crate) fn password_as(&self, role: &Role) -> Option<Password> {
        let joining = role.join().and_then(|join| join.password.clone());
        joining.or_else(|| self.password.clone())
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
        if self.standbys.is_some_and(|standbys| standbys > 7) {
            return Err(SetupError::TooManyStandbys(self.standbys.unwrap_or(0)));
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
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetupError {
    /// The protocol refuses its settings.
    #[error(transparent)]
    Protocol(samestep_proto::ConfigError),
    /// Connecting is not possible.
    #[error(transparent)]
    Connect(samestep_proto::ConnectError),
    /// A name is longer than 64 bytes.
    #[error("\"{0}\" is too long: use at most 64 bytes")]
    NameTooLong(String),
    /// More local players than the room, or one program, can hold.
    #[error("{0} players on one program: use at most 64, and no more than the room holds")]
    TooManyPlayers(usize),
    /// More standbys than there can be.
    #[error("{0} standbys: use at most 7")]
    TooManyStandbys(usize),
    /// The capacity is not 1 to 4096.
    #[error("capacity is {0}: use 1 to 4096 players")]
    Capacity(usize),
    /// A spectator has players.
    #[error("a spectator does not play: leave `players` empty or join as a client")]
    SpectatorWithPlayers,
    /// A client or member of a mesh has no players.
    #[error("nobody plays here: add a player, or join as a spectator")]
    NobodyPlays,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_show_no_password() {
        let config = SessionConfig::new("test", 1).password("sesame");
        let role = Role::Client(JoinTo {
            password: Some(Password::from("sesame")),
            ..JoinTo::new(([127, 0, 0, 1], 1).into())
        });
        let shown = format!("{config:?} {role:?}");
        assert!(
            shown.contains("Password(..)") && !shown.contains("sesame"),
            "{shown}"
        );
    }
}
