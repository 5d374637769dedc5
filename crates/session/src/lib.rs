//! Turns connections into games: who is in the room, a common clock, and messages that mean something.

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
pub use room::{PeerInfo, PeerKind, Phase, PlayerInfo, Presence, Room, Settings, Thing};
/// The encoding of what is sent, as the derives of this crate find it.
pub use samestep_wire as wire;
pub use session::{PeerRoute, PeerStats, SendError, Session, To, Verdict};
pub use shared::Shared;
