//! Ids of peers, players, network objects and requests.

use core::fmt;

use samestep_wire::Wire;

pub use samestep_sync::{Owner, PeerId, PlayerId};

/// The id of an object that is the same on every program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Wire)]
pub enum NetworkId {
    /// Fixed by the game's data: a building of the map, a type of unit.
    Static(#[wire(varint)] u32),
    /// Assigned while playing by the peer that created the object. No agreement is needed, as every peer counts for itself.
    Dynamic {
        /// The peer that assigned it.
        by: PeerId,
        /// That peer's number for it.
        #[wire(varint)]
        number: u32,
    },
    /// A peer's own.
    Connection(PeerId),
}

impl fmt::Display for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static(number) => write!(f, "static {number}"),
            Self::Dynamic { by, number } => write!(f, "dynamic {}.{number}", by.0),
            Self::Connection(peer) => write!(f, "connection {}", peer.0),
        }
    }
}

/// The number of a request of this peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Wire)]
pub struct RequestId(#[wire(varint)] pub u32);

/// An action that the authority has to decide about: its peer and its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Ticket {
    /// The requesting peer.
    pub peer: PeerId,
    /// The number of the request.
    pub request: RequestId,
}

/// The type of a message. Numbers from 0xFF00 are the library's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Wire)]
pub struct MessageKind(pub u16);

impl MessageKind {
    /// Updates of [`Synced`](samestep_sync::Synced) fields.
    pub const SHARED: MessageKind = MessageKind(0xFF00);

    /// Changes of exact [`Variable`](samestep_sync::Variable)s.
    pub const VARIABLES: MessageKind = MessageKind(0xFF06);
    /// Messages between the models of a [`Match`](crate::Match).
    pub const MODEL: MessageKind = MessageKind(0xFF04);
    /// Lines of [chat](crate::Chat).
    pub const CHAT: MessageKind = MessageKind(0xFF05);
    /// The first number that belongs to the library.
    pub const FIRST_RESERVED: u16 = 0xFF00;

    /// Whether it is about what is [`Shared`](crate::Shared), which needs no state of the game.
    pub(crate) fn is_shared(self) -> bool {
        matches!(self, MessageKind::SHARED | MessageKind::VARIABLES)
    }
}

/// The secret half of the static key by which a room knows a program (see [`Identity`](samestep_proto::Identity)). Keep it to return after a restart, and
/// keep it secret: whoever has it is that program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RejoinSecret(pub [u8; 32]);

/// The static key by which a room knows a program, as its connections have proven it.
pub(crate) type MemberKey = [u8; 32];

/// The number of a room, drawn by the program that opened it: what is proven in one room proves nothing in another.
/// Whoever goes on alone does so in a room with another number.
pub type RoomId = [u8; 16];

impl fmt::Debug for RejoinSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RejoinSecret(..)")
    }
}
