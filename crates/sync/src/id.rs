//! Who is who.

use core::fmt;

use samestep_wire::Wire;

/// One program taking part in a room. Counted round by the room: an id is used again only after all others, and never while somebody has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Wire)]
pub struct PeerId(#[wire(varint)] pub u16);

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "peer {}", self.0)
    }
}

/// A place in the game someone plays in, counted from 0. A peer may have several, or none (a dedicated server, a
/// spectator). The place of somebody who has left for good is given to the next who comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Wire)]
pub struct PlayerId(#[wire(varint)] pub u16);

impl fmt::Display for PlayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "player {}", self.0)
    }
}

/// Who may change something. The room resolves it to a peer, the same everywhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Wire)]
pub enum Owner {
    /// The host, or the leader of a mesh.
    Authority,
    /// Whoever plays in this place; while nobody does, somebody the room falls back to.
    Player(PlayerId),
    /// This peer; once it has left, somebody the room falls back to.
    Peer(PeerId),
}

impl Owner {
    /// Whoever plays in this place.
    pub const fn player(number: u16) -> Owner {
        Owner::Player(PlayerId(number))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Authority => f.write_str("the host"),
            Owner::Player(player) => player.fmt(f),
            Owner::Peer(peer) => peer.fmt(f),
        }
    }
}
