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
pub use message::{Action, Delivery, Message};
/// The encoding of what is sent, as the derives of this crate find it.
pub use samestep_wire as wire;
