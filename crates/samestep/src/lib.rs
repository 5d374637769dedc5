//! Keeps one game simulation in step over any network.
//!
//! This crate joins the parts of the toolkit; its [`prelude`] is what a game needs.
//!
//! - [`Game`] is one program's part in a game whose rules are written once. Begin here.
//! - [`Background`] runs a session on a thread of its own and keeps shared fields the same everywhere: for programs without rules.
//! - [`Driver`] runs any of the machines below (a match, a session, a bare protocol endpoint) over a transport, inside your
//!   loop; a [`Crowd`] runs many on one thread.
//!
//! [`keep_identity`], [`read_password`] and [`read_token`] take a program's key, its room's password and its lobby's token from files.
//!
//! The parts stay reachable: [`session`] (rooms, roles, clock, messages, without IO), [`sync`] (shared state), [`proto`]
//! (connections and channels, without IO), [`transport`] (UDP, TCP, memory, impaired), [`netem`] (the link model), [`wire`] (bits
//! and bytes).
//!
//! Only a [`Background`] has a thread, and only [`SharedHandle::watch`] starts another; else nothing happens outside
//! [`Game::run_for`] and [`Driver::drive`].
//!
//! Two programs that share a value:
//!
//! ```
//! use samestep::prelude::*;
//! use samestep::Background;
//! use samestep::session::NetworkId;
//! use std::time::Duration;
//!
//! #[derive(Default, SharedFields)]
//! struct Lamp {
//!     #[shared(owner = authority)]
//!     is_on: Synced<bool>,
//! }
//!
//! let host = Background::host(0, SessionConfig::new("lamp", 1).player("Ada"))?;
//! let at_host = host.share(NetworkId::Static(1), Lamp::default())?;
//!
//! let address = format!("127.0.0.1:{}", host.local_addr().port());
//! let guest = Background::join(&address, SessionConfig::new("lamp", 1).player("Ben"))?;
//! let at_guest = guest.share(NetworkId::Static(1), Lamp::default())?;
//! guest.wait_in_sync(Duration::from_secs(10))?;
//!
//! at_host.write(|lamp| lamp.is_on.set(true))?;
//! assert!(at_guest.wait_until(Duration::from_secs(10), |lamp| *lamp.is_on));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Below sessions: a server that answers a client, over real UDP on this machine:
//!
//! ```
//! use samestep::prelude::*;
//! use samestep::Driver;
//! use samestep::proto::{ChannelId, Config, ConnectOptions, Event};
//! use samestep::transport::Udp;
//! use std::time::Duration;
//!
//! let channel = ChannelId(3); // reliable and ordered, in the default list
//! let mut server = Driver::new(Udp::bind("127.0.0.1:0".parse()?)?, Config::new("example", 1).accepting(8))?;
//! let mut client = Driver::new(Udp::bind("127.0.0.1:0".parse()?)?, Config::new("example", 1))?;
//! let connection = client.connect(server.local_addr(), ConnectOptions::default())?;
//!
//! let answer = 'answered: loop {
//!     while let Some(event) = server.drive_for(Duration::from_millis(1))? {
//!         let Event::Readable { id } = event else { continue };
//!         while let Some(message) = server.recv(id) {
//!             let answer = message.payload.to_ascii_uppercase();
//!             server.send(id, channel, &answer)?;
//!         }
//!     }
//!     while let Some(event) = client.drive_for(Duration::from_millis(1))? {
//!         match event {
//!             Event::Connected { .. } => drop(client.send(connection, channel, b"hello")?),
//!             Event::Readable { id } => break 'answered client.recv(id).unwrap().payload.to_vec(),
//!             Event::Closed { reason, .. } => panic!("{reason}"),
//!             _ => {}
//!         }
//!     }
//! };
//! assert_eq!(answer, b"HELLO");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod arguments;
mod background;
#[cfg(unix)]
mod crowd;
mod driver;
mod game;
mod identity;
mod journal;
#[cfg(feature = "log")]
pub mod log;
mod password;
mod stats;
mod token;

pub use address::{AddressError, DEFAULT_PORT, Listen, resolve, resolve_join};
pub use arguments::Arguments;
pub use background::{Background, SharedHandle, StartError, WaitError};
#[cfg(unix)]
pub use crowd::Crowd;
pub use driver::{Driver, DriverError};
pub use game::{Game, GameError, LoadGameError};
pub use identity::keep_identity;
pub use journal::{Fsync, JournalConfig, JournalFile, JournalFileError};
pub use password::{PASSWORD_VARIABLE, PasswordError, read_password};
pub use samestep_netem as netem;
pub use samestep_proto as proto;
pub use samestep_session as session;
pub use samestep_sync as sync;
pub use samestep_transport as transport;
pub use samestep_wire as wire;
pub use stats::{GameStats, PeerStats};
pub use token::{ReadTokenError, TOKEN_VARIABLE, read_token};

/// What a game needs: its state and rules, its inputs and events, a model, a room.
///
/// Everything else is in the module of its crate.
pub mod prelude {
    pub use crate::{Game, GameError, StartError};
    pub use samestep_session::{
        Action, Chat, MatchEvent, Message, SessionConfig, SessionEvent, StartRule, To,
    };
    pub use samestep_sync::{
        Bounded, Confirmation, Effect, Entities, EntityId, EventDelay, EventDelayConfig,
        EventStage, Events, FieldWith, GameDelay, Input, Inputs, Interest, LagCompensation,
        Lockstep, LockstepConfig, ModelEvent, Opaque, OpaqueState, PlayerId, PlayerPresence,
        Record, Replicate, Rewind, RewindConfig, Rng, Rollback, RollbackConfig, SharedFields,
        Simulation, SmoothConfig, Snapshot, SnapshotConfig, StateSync, StateSyncConfig, Synced,
        Text, Tick, TimedEvent, Variable, WindowLength,
    };
    pub use samestep_wire::Wire;
}

/// The errors that a program's `main` may return show their message as `Debug` too.
macro_rules! debug_as_message {
    ($($error:ty),*) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )*};
}

debug_as_message!(
    AddressError,
    DriverError,
    GameError,
    LoadGameError,
    StartError,
    WaitError
);

/// What the README and the guide show is compiled and run like the other examples.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../GUIDE.md")]
struct ShownElsewhere;
