//! The control messages between sessions.

use samestep_proto::PAIR_TAG_BYTES;
use samestep_wire::Wire;

use crate::address::Address;
use crate::agreement::{Incarnation, Message, Suffix};
use crate::clock::MeshReport;
use crate::config::{GameDescription, Profile};
use crate::event::LeaveReason;
use crate::id::{MemberKey, MessageKind, NetworkId, PeerId, PlayerId, RoomId};
use crate::log::{Entry, Lane};
use crate::room::{PeerKind, Room, Settings};
use crate::session::Shipped;

/// A control message between the two ends of a connection, or of a route.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(crate) enum Control {
    /// From a newcomer, or a returning peer, to the member it joins through.
    Hello(Hello),
    /// From a member of a mesh to another it has connected to. The key of the connection proves it.
    Link {
        from: PeerId,
        incarnation: Incarnation,
    },
    /// The receiver is admitted.
    Welcome(Box<Welcome>),
    /// The receiver is not admitted, or no longer a member.
    Farewell(LeaveReason),
    /// A proposal to the authority.
    Propose {
        /// The sender's incarnation.
        by: Incarnation,
        #[wire(varint)]
        number: u32,
        /// All before this have been answered.
        #[wire(varint)]
        oldest_open: u32,
        proposal: Proposal,
    },
    /// The denial of a proposal by the authority.
    Denied {
        /// The receiver's incarnation.
        to: Incarnation,
        lane: Lane,
        #[wire(varint)]
        number: u32,
        #[wire(max_len = 65_536)]
        reason: Vec<u8>,
    },
    /// Log entries from the host to its guests.
    Entries(Entries),
    /// Between members of a mesh: the agreement on the log.
    Agreement(Box<Message<Entry>>),
    /// This incarnation of the receiver is no member at this point of the log, and must send its hello again.
    Out {
        incarnation: Incarnation,
        #[wire(varint)]
        index: u64,
    },
    /// The heartbeat between members of a mesh.
    Heartbeat(Heartbeat),
    /// To a newcomer, from the member that it asked: the leader wants to see that it holds its key.
    Prove(Prove),
    /// To a newcomer: the mesh is frozen and lets nobody in at present. It is found at these addresses too.
    Frozen {
        #[wire(max_len = 64)]
        doors: Vec<Address>,
    },
    /// Between members of a mesh, in place of a beat of the agreement that is as the last one was.
    SameBeat {
        /// Of the last whole beat.
        digest: u32,
        /// Whether the sender has no whole beat of the receiver that is as it said last.
        lacks: bool,
    },
    /// Between the host and its standbys: the agreement on what is shipped.
    Succession(Box<Message<Shipped>>),
    /// From a guest to the host: it could take its place, and how well.
    Ability {
        /// Whether it follows the host.
        is_ready: bool,
        #[wire(varint)]
        step_us: u64,
        /// Bytes a second.
        #[wire(varint)]
        upstream: u64,
    },
    /// From the host to its guests: ticks before this one would survive its loss.
    Certain {
        #[wire(varint)]
        before: u64,
    },
    /// From a host that leaves to its guests: this standby takes its place.
    Yields { to: PeerId },
    /// From a standby to a guest: it hosts from now on.
    TakeOver(Box<TakeOver>),
    /// From a standby to a guest: whom it follows as the host, and where that program is.
    Follows {
        host: PeerId,
        address: Option<Address>,
    },
}

/// All that a guest needs to go on with another host.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(crate) struct TakeOver {
    /// The last index of the room's log.
    #[wire(varint)]
    pub(crate) index: u64,
    pub(crate) room: Room,
    /// What all changes before these come to, and the last ones.
    pub(crate) chain: u64,
    #[wire(max_len = 64)]
    pub(crate) entries: Vec<Entry>,
    /// The sender's clock in microseconds, and what it shows at session time zero.
    #[wire(varint)]
    pub(crate) clock_us: u64,
    #[wire(varint)]
    pub(crate) epoch_us: i64,
}

/// What a newcomer has to prove, and to whom: see `session/prove.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Prove {
    /// The static key of the leader.
    pub(crate) leader: MemberKey,
    pub(crate) room: RoomId,
    /// The leader's, for this newcomer at this time.
    pub(crate) nonce: AdmissionNonce,
}

/// What a leader wants to see proven before it lets a newcomer in.
pub(crate) type AdmissionNonce = [u8; 16];

/// Why the authority does not let a newcomer in: the reason of a denied [`Proposal::Admit`].
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) enum NotAdmitted {
    /// No.
    Refused(LeaveReason),
    /// Not without a proof for this.
    Unproven(AdmissionNonce),
}

impl From<LeaveReason> for NotAdmitted {
    fn from(reason: LeaveReason) -> Self {
        Self::Refused(reason)
    }
}

/// The first message of a newcomer.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Hello {
    pub(crate) kind: PeerKind,
    #[wire(max_len = 64)]
    pub(crate) players: Vec<Profile>,
    /// This run of the newcomer as a member.
    pub(crate) incarnation: Incarnation,
    /// How much of which log it still has from before.
    pub(crate) have: Option<Have>,
    /// Its clock in microseconds: the full value of what acknowledgements shorten.
    #[wire(varint)]
    pub(crate) clock_us: u64,
    /// The address at which it reached the receiver, which may not know its own.
    pub(crate) reached_at: Option<Address>,
    /// What it plays; the member asked compares it.
    pub(crate) description: Option<GameDescription>,
    /// That it holds its key, to the leader of a mesh that it does not join through.
    pub(crate) proof: Option<[u8; PAIR_TAG_BYTES]>,
}

/// How much a returning peer has of the log of a room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Have {
    pub(crate) room: RoomId,
    /// The peer that it was there: who was given up meanwhile returns as another one, and begins with the whole room.
    pub(crate) peer: PeerId,
    #[wire(varint)]
    pub(crate) index: u64,
    /// What all changes up to there come to, in a hosted room.
    pub(crate) chain: u64,
}

/// Where the log begins for a newcomer.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(crate) enum Beginning {
    /// In a hosted room: after an index, with the room as it was there, or `None` for a peer that has it.
    Hosted {
        #[wire(varint)]
        index: u64,
        /// What all changes up to there come to.
        chain: u64,
        room: Option<Box<Room>>,
    },
    /// In a mesh: the end of the log, with a room as snapshot unless the newcomer has everything before.
    Mesh(Suffix<Entry>),
}

/// All that a newcomer needs to take part.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(crate) struct Welcome {
    pub(crate) you: PeerId,
    /// The newcomer's incarnation that is admitted.
    pub(crate) incarnation: Incarnation,
    /// The log's index at which the newcomer's incarnation begins.
    #[wire(varint)]
    pub(crate) since: u64,
    /// Whether it is not the first.
    pub(crate) returned: bool,
    /// The sender.
    pub(crate) me: PeerId,
    /// The authority.
    pub(crate) leader: PeerId,
    pub(crate) log: Beginning,
    /// For how long each peer has been away or loading, in milliseconds.
    pub(crate) absences: Vec<Absence>,
    /// Whether the game's state will follow.
    pub(crate) state_follows: bool,
    /// The sender's clock in microseconds: the full value of what acknowledgements shorten.
    #[wire(varint)]
    pub(crate) clock_us: u64,
    /// That clock at session time zero (a host's room only); less than zero if it was not running then.
    #[wire(varint)]
    pub(crate) epoch_us: i64,
}

/// For how long a peer has not been in sync.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Absence {
    pub(crate) peer: PeerId,
    #[wire(varint)]
    pub(crate) ms: u64,
}

/// Changes in order.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Entries {
    /// The index that they follow.
    #[wire(varint)]
    pub(crate) after: u64,
    #[wire(max_len = 64)]
    pub(crate) entries: Vec<Entry>,
}

/// A proposal of a peer.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) enum Proposal {
    /// A confirmed action.
    Action {
        kind: MessageKind,
        #[wire(max_len = 65_536)]
        payload: Vec<u8>,
    },
    Profile {
        player: PlayerId,
        profile: Profile,
    },
    Ready {
        player: PlayerId,
        ready: bool,
    },
    Settings(Settings),
    Start,
    End {
        #[wire(max_len = 4095)]
        result: Vec<u8>,
    },
    Rematch,
    /// The proposing peer has loaded.
    Loaded,
    Name {
        id: NetworkId,
        #[wire(varint)]
        kind: u16,
    },
    Unname {
        id: NetworkId,
    },
    /// A newcomer wants to join through the proposing peer.
    Admit {
        hello: Box<Hello>,
        /// The key of the connection that the newcomer said hello on.
        key: MemberKey,
        address: Option<Address>,
    },
    /// No change: the newcomer has gone.
    Withdrawn,
    /// The proposing peer saw another break the rules.
    Report {
        against: PeerId,
        #[wire(max_len = 255)]
        words: String,
    },
}

impl Proposal {
    pub(crate) fn lane(&self) -> Lane {
        match self {
            Self::Action { .. } => Lane::Action,
            _ => Lane::House,
        }
    }
}

/// The heartbeat that a member of a mesh sends to every other several times a second.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(crate) struct Heartbeat {
    /// The members it receives from directly.
    #[wire(max_len = 255)]
    pub(crate) hears: Vec<PeerId>,
    /// The acknowledgements of the receiver's reliable messages.
    pub(crate) received: StreamAcks,
    /// The sender's clock in microseconds, to complete what acknowledgements shorten.
    #[wire(varint)]
    pub(crate) clock_us: u64,
    /// A clock report, in every few heartbeats.
    pub(crate) clock: Option<MeshReport>,
}

/// The acknowledgements of the reliable messages between two members.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub(crate) struct StreamAcks {
    /// The incarnations of the two peers.
    #[wire(varint)]
    pub(crate) epoch: u64,
    /// The next number expected, for each reliable delivery.
    #[wire(varint)]
    pub(crate) next: [u32; 3],
}

#[cfg(test)]
mod vectors;
