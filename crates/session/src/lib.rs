//! Turns connections into games: who is in the room, a common clock, and messages that mean something.
//!
//! A [`Session`] is one program's part in a room: a dedicated server, a hosting player, a client, a spectator or a member of
//! a mesh, as its [`Role`] says. Everything else is the same code. What all agree on is the [`Room`]: members propose changes,
//! the authority (the host, in a mesh the leader they elected) puts them in order, and everyone applies the same changes in the same order.
//!
//! - [`SessionConfig`] says what a program brings: players, capacity, password, grace periods, what to do about silence.
//! - [`SessionEvent`]s tell what happens; [`State`] and [`LeaveReason`] where this program is in its life, and why it ended.
//! - A [`Message`] is a type with a [`Delivery`]; an [`Action`] is one that the authority confirms before it happens, or checks
//!   after. [`Handlers`] call the game's functions for each type.
//! - [`Session::time`] is one time for all, estimated by the [`clock`].
//! - [`Shared`] keeps a struct of fields the same everywhere.
//! - [`discovery`] finds rooms in the local network.
//!
//! An action, asked for by the host's own player; one at a remote program takes the same way:
//!
//! ```
//! use core::time::Duration;
//! use samestep_session::{MessageKind, Role, Session, SessionConfig, SessionEvent, Verdict};
//!
//! let (now, open_door) = (Duration::ZERO, MessageKind(7));
//! let config = SessionConfig::new("example", 1).player("Ann");
//! let mut host = Session::new(now, config, Role::Host, [1; 32])?;
//! host.request_bytes(now, open_door, b"north")?;
//! let mut opened = Vec::new();
//! while let Some(event) = host.poll_event() {
//!     match event {
//!         SessionEvent::Request { ticket, payload, .. } => host.resolve(now, ticket, Verdict::Command(payload)),
//!         SessionEvent::Command { payload, .. } => opened.push(payload),
//!         _ => {}
//!     }
//! }
//! assert_eq!(opened, [b"north"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does not do
//!
//! No IO, threads, clocks or randomness of its own: datagrams, the time and a seed go in ([`Session`] shows how), and what happened
//! once happens again. It does not simulate or predict, and does not know what messages mean. It does not hide a room's members from each other.

mod address;
pub mod clock;
mod config;
mod control;
pub mod discovery;
mod envelope;
mod event;
mod handlers;
mod id;
mod log;
mod message;
mod play;
mod room;
mod secret;
mod session;
mod shared;
mod streams;

pub use config::{Fairness, JoinTo, Profile, Role, SessionConfig, SetupError, Silence, StartRule};
pub use event::{LeaveReason, SessionEvent, State};
pub use handlers::{Call, Confirmed, Handlers, HandlersStats, KindError, Unconfirmed};
pub use id::{MessageKind, NetworkId, Owner, PeerId, PlayerId, RejoinSecret, RequestId, Ticket};
pub use message::{Action, Delivery, Message};
pub use play::{Match, MatchEvent};
pub use room::{PeerInfo, PeerKind, Phase, PlayerInfo, Presence, Room, Settings, Thing};
/// The encoding of what is sent, as the derives of this crate find it.
pub use samestep_wire as wire;
pub use session::{PeerRoute, PeerStats, SendError, Session, To, Verdict};
pub use shared::Shared;
