//! The control messages between sessions.

use samestep_proto::PAIR_TAG_BYTES;
use samestep_wire::Wire;

use crate::address::Address;
use crate::clock::MeshReport;
use crate::config::{GameDescription, Profile};
use crate::event::LeaveReason;
use crate::id::{MemberKey, MessageKind, NetworkId, PeerId, PlayerId, RoomId};
use crate::log::{Entry, Lane, Position};
use crate::room::{PeerKind, Room, Settings};

/// A control message between the two ends of a connection, or of a route.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(crate) enum Control {
    /// From a newcomer, or a returning peer, to the member it joins through.
    Hello(Hello),
    /// From a member of a mesh to another it has connected to. The key of the connection proves it.
    Link { from: PeerId },
    /// The receiver is admitted.
    Welcome(Box<Welcome>),
    /// The receiver is not admitted, or no longer a member.
    Farewell(LeaveReason),
    /// The game's state follows on the channel for long messages.
    Loaded,
    /// A proposal to the authority.
    Propose {
        #[wire(varint)]
        number: u32,
        /// All before this have been answered.
        #[wire(varint)]
        oldest_open: u32,
        proposal: Proposal,
    },
    /// The denial of a proposal by the authority.
    Denied {
        lane: Lane,
        #[wire(varint)]
        number: u32,
        #[wire(max_len = 65_536)]
        reason: Vec<u8>,
    },
    /// Log entries from the authority (Raft: AppendEntries).
    Entries(Entries),
    /// Acknowledges log entries: up to here the logs are equal.
    Matched {
        /// The incarnation of the sender.
        #[wire(varint)]
        since: u64,
        #[wire(varint)]
        term: u32,
        #[wire(varint)]
        index: u64,
    },
    /// Rejects log entries: the sender's log lacks the preceding entry, and ends here.
    Gap {
        #[wire(varint)]
        term: u32,
        #[wire(varint)]
        last: u64,
    },
    /// The request of a candidate for a vote (Raft: RequestVote).
    Elect {
        #[wire(varint)]
        term: u32,
        last: Position,
    },
    /// The vote for a candidate.
    Vote {
        #[wire(varint)]
        term: u32,
    },
    /// The receiver is no member at this point of the log, and must send its hello again.
    Out {
        #[wire(varint)]
        index: u64,
    },
    /// The heartbeat between members of a mesh.
    Heartbeat(Heartbeat),
    /// To a newcomer, from the member that it asked: the leader wants to see that it holds its key.
    Prove(Prove),
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
    /// How much of the log it still has from before.
    pub(crate) have: Option<Position>,
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

/// All that a newcomer needs to take part.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Welcome {
    pub(crate) you: PeerId,
    /// The log's index at which the newcomer's incarnation begins.
    #[wire(varint)]
    pub(crate) since: u64,
    /// Whether it is not the first.
    pub(crate) returned: bool,
    /// The sender.
    pub(crate) me: PeerId,
    #[wire(varint)]
    pub(crate) term: u32,
    /// The authority.
    pub(crate) leader: PeerId,
    /// The room as it was at `at`; `None` for a peer that still has enough of the log to continue from there.
    pub(crate) room: Option<Room>,
    /// Who has joined since, for a peer that continues: it believes them before the log tells it of them.
    pub(crate) introduced: Vec<Introduced>,
    pub(crate) at: Position,
    /// The recent entries of the log, so that a newcomer can help others to return.
    #[wire(max_len = 256)]
    pub(crate) history: Vec<Entry>,
    /// The entry that the history follows.
    pub(crate) history_after: Position,
    /// For how long each peer has been away or loading, in milliseconds.
    pub(crate) absences: Vec<Absence>,
    /// Whether the game's state will follow.
    pub(crate) state_follows: bool,
    /// The sender's clock in microseconds: the full value of what acknowledgements shorten.
    #[wire(varint)]
    pub(crate) clock_us: u64,
    /// That clock at session time zero (a host's room only).
    #[wire(varint)]
    pub(crate) epoch_us: u64,
}

/// A member and its static key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Introduced {
    pub(crate) peer: PeerId,
    pub(crate) key: MemberKey,
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
    #[wire(varint)]
    pub(crate) term: u32,
    /// The entry that they follow.
    pub(crate) previous: Position,
    #[wire(max_len = 64)]
    pub(crate) entries: Vec<Entry>,
    /// How far the log is committed.
    #[wire(varint)]
    pub(crate) committed: u64,
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
    #[wire(varint)]
    pub(crate) term: u32,
    pub(crate) last: Position,
    #[wire(varint)]
    pub(crate) committed: u64,
    /// Whether it leads in this term.
    pub(crate) leads: bool,
    /// The member that it follows in this term, or has voted for.
    pub(crate) supports: Option<PeerId>,
    /// The members it receives from directly.
    #[wire(max_len = 255)]
    pub(crate) hears: Vec<PeerId>,
    /// The members it suspects: silent for too long on every path.
    #[wire(max_len = 255)]
    pub(crate) accuses: Vec<PeerId>,
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
