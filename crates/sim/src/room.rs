//! Rooms on a testbed: who opens them, who joins, and who is there.

use samestep_session::{JoinTo, Presence, Role, Session, State};

/// Who talks to whom in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Everyone talks to the member that opened it.
    Hosted,
    /// Everyone talks to everyone.
    Mesh,
}

impl Topology {
    /// The role of the member that opens the room.
    pub fn opening(self) -> Role {
        match self {
            Topology::Hosted => Role::Host,
            Topology::Mesh => Role::Introducer,
        }
    }

    /// The role of a member that joins it.
    pub fn joining(self, to: JoinTo) -> Role {
        match self {
            Topology::Hosted => Role::Client(to),
            Topology::Mesh => Role::Peer(to),
        }
    }

    /// Whether everyone talks to everyone.
    pub fn is_mesh(self) -> bool {
        self == Topology::Mesh
    }
}

/// Whether a session is in sync in a room in which that many are.
pub fn is_in_sync(session: &Session, members: usize) -> bool {
    let peers = session.room().peers().iter();
    let in_sync = peers.filter(|peer| peer.presence == Presence::InSync);
    *session.state() == State::InSync && in_sync.count() == members
}
