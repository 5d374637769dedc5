//! Turns connections into games: who is in the room, a common clock, messages that mean something, and a game that all play.
//!
//! A [`Session`] is one program's part in a room: a dedicated server, a hosting player, a client, a spectator or a member of
//! a mesh, as its [`Role`] says. Everything else is the same code. What all agree on is the [`Room`]: members propose changes,
//! the authority (the host, in a mesh the leader they elected) puts them in order, and everyone applies the same changes in the same order.
//! In a mesh this is consensus by a replicated log with leader election and quorums: see [`agreement`].
//!
//! A [`Match`] is a session with a game in it: it hands a simulation and a model of `samestep-sync` what they need, and sends their messages.
//!
//! An action, asked for by the host's own player; one at a remote program takes the same way:
//!
//! ```
//! use core::time::Duration;
//! use samestep_session::{Action, Message, Role, Session, SessionConfig};
//! use samestep_wire::Wire;
//!
//! #[derive(Clone, Debug, PartialEq, Wire, Message, Action)]
//! struct OpenDoor {
//!     #[wire(max_len = 16)]
//!     which: String,
//! }
//!
//! let now = Duration::ZERO;
//! let config = SessionConfig::new("example", 1).player("Ann");
//! let mut host = Session::new(now, config, Role::Host, [1; 32])?;
//! host.request(now, &OpenDoor { which: "north".into() })?;
//! let mut opened = Vec::new();
//! while let Some(event) = host.poll_event() {
//!     if let Some((ticket, door)) = event.request::<OpenDoor>() {
//!         // The authority decides; everyone is told, or the asker why not.
//!         host.resolve_as::<OpenDoor>(now, ticket, Ok(door))?;
//!     } else if let Some((_, door)) = event.command::<OpenDoor>() {
//!         opened.push(door.which);
//!     }
//! }
//! assert_eq!(opened, ["north"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Session`] shows two of them talking, [`Match`] a game.
//!
//! # Main types
//!
//! - [`SessionConfig`] says what a program brings: players, capacity, password, grace periods, what to do about silence.
//! - [`SessionEvent`]s tell what happens; [`State`] and [`LeaveReason`] how far this program is, and why its part ended.
//! - A [`Message`](trait@Message) is a type with a [`Delivery`]; an [`Action`](trait@Action) is one that the authority confirms before it happens, or checks
//!   after. [`Handlers`] call the game's functions for each type.
//! - [`Match`] and [`MatchEvent`]: a game in a room, under any model.
//! - [`Session::time`] is one time for all, estimated by the [`clock`].
//! - [`Shared`] keeps a struct of fields the same everywhere.
//! - [`discovery`] finds rooms in the local network.
//! - [`agreement`] is the core by which the members of a mesh agree.
//!
//! # What it does not do
//!
//! No IO, threads, clocks or randomness of its own: datagrams, the time and a seed go in, and what happened
//! once happens again; `samestep` drives it over sockets. It does not know what messages mean, nor how a game is kept in step: models do. It does not hide a room's
//! members from each other.
//!
//! Host migration is not done: a hosted room ends with its host, unless the same host opens it again ([`Session::resume`]). Where a game must outlive each of its programs, open it as a mesh
//! ([`Role::Introducer`]), whose members elect another leader.

mod address;
pub mod agreement;
mod bounds;
mod channels;
pub mod clock;
mod config;
mod control;
pub mod discovery;
mod envelope;
mod event;
#[cfg(test)]
mod golden;
mod handlers;
#[cfg(any(fuzzing, feature = "hostile"))]
pub mod hostile;
mod id;
mod log;
mod message;
mod payload;
mod play;
mod room;
mod secret;
mod session;
mod shared;
mod streams;

pub use config::{
    Fairness, GameDescription, JoinTo, Profile, Role, SessionConfig, SetupError, Silence, StartRule,
};
pub use event::{LeaveReason, SessionEvent, State};
pub use handlers::{Call, Confirmed, Handlers, HandlersStats, KindError, Unconfirmed};
pub use id::{
    MessageKind, NetworkId, Owner, PeerId, PlayerId, RejoinSecret, RequestId, RoomId, Ticket,
};
pub use message::{Action, Chat, Message};
pub use payload::Payload;
pub use play::{Match, MatchEvent, ResumeMatchError};
pub use room::{NetworkObject, PeerInfo, PeerKind, Phase, PlayerInfo, Presence, Room, Settings};
pub use samestep_proto::{Delivery, Identity, LobbyKey, Password, PublicKey};
/// The encoding of what is sent, as the derives of this crate find it.
pub use samestep_wire as wire;
pub use session::{
    PeerRoute, PeerStats, ResumeError, SendError, Session, SetPasswordError, To, Verdict,
};
pub use shared::{ShareError, Shared};
