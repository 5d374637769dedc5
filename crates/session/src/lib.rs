//! Turns connections into games: who is in the room, a common clock, and messages that mean something.

pub mod clock;
mod config;
pub mod discovery;
mod event;
mod handlers;
mod id;
mod message;
mod shared;

pub use config::{Fairness, JoinTo, Profile, Role, SessionConfig, SetupError, Silence, StartRule};
pub use event::{LeaveReason, SessionEvent, State};
pub use id::{MessageKind, NetworkId, Owner, PeerId, PlayerId, RejoinSecret, RequestId, Ticket};
