//! What sessions say to each other beside the game's messages.

use samestep_wire::Wire;

use crate::address::Address;
use crate::clock::MeshReport;
use crate::config::Profile;
use crate::event::LeaveReason;
use crate::id::{MessageKind, NetworkId, PeerId, PlayerId, RejoinSecret};
use crate::log::{Entry, Lane, Position};
use crate::room::{PeerKind, Room, Settings};

/// Between the two ends of a connection, or of a route.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(crate) enum Control {
    /// A newcomer, or somebody returning, to the member it joins through.
    Hello(Hello),
    /// A member of a mesh to another it has connected to.
    Link { from: PeerId, key: [u8; 16] },
    /// You are in.
    Welcome(Box<Welcome>),
    /// You are not, or no longer.
    Farewell(LeaveReason),
    /// The game's state follows on the channel for long messages.
    Loaded,
    /// To the authority.
    Propose {
        #[wire(varint)]
        number: u32,
        /// All before this have been answered.
        #[wire(varint)]
        oldest_open: u32,
        proposal: Proposal,
    },
    /// The authority's No.
    Denied {
        lane: Lane,
        #[wire(varint)]
        number: u32,
        #[wire(max_len = 65_536)]
        reason: Vec<u8>,
    },
    /// Changes, from the authority.
    Entries(Entries),
    /// This far my log equals yours.
    Matched {
        /// Which incarnation of the sender this is of.
        #[wire(varint)]
        since: u64,
        #[wire(varint)]
        term: u32,
        #[wire(varint)]
        index: u64,
    },
    /// My log does not hold what yours goes on from; it ends here.
    Gap {
        #[wire(varint)]
        term: u32,
        #[wire(varint)]
        last: u64,
    },
    /// Shall I be the authority?
    Elect {
        #[wire(varint)]
        term: u32,
        last: Position,
    },
    /// Yes.
    Vote {
        #[wire(varint)]
        term: u32,
    },
    /// By this point of the log you are no member: say hello again.
    Out {
        #[wire(varint)]
        index: u64,
    },
    /// Several times a second between members of a mesh.
    Heartbeat(Heartbeat),
}

/// Who wants in.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) struct Hello {
    pub(crate) kind: PeerKind,
    pub(crate) secret: RejoinSecret,
    #[wire(max_len = 64)]
    pub(crate) players: Vec<Profile>,
    /// The key this program proves itself with when others connect to it.
    pub(crate) key: Option<[u8; 32]>,
    /// How much of the log it still has from before.
    pub(crate) have: Option<Position>,
    /// Its clock in microseconds: the full value of what acknowledgements shorten.
    #[wire(varint)]
    pub(crate) clock_us: u64,
    /// Where it reached the member it says this to, which may not know its own address.
    pub(crate) reached_at: Option<Address>,
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
    /// Who says this.
    pub(crate) me: PeerId,
    /// Proof of membership towards the others of a mesh.
    pub(crate) key: [u8; 16],
    #[wire(varint)]
    pub(crate) term: u32,
    /// Who puts changes in order.
    pub(crate) leader: PeerId,
    /// The room as it was at `at`; `None` for who still has enough of the log to go on from there.
    pub(crate) room: Option<Room>,
    pub(crate) at: Position,
    /// What led to the room as it is, as far as worth telling: so that a newcomer can help others back in.
    #[wire(max_len = 256)]
    pub(crate) history: Vec<Entry>,
    /// What the history follows.
    pub(crate) history_after: Position,
    /// For how long those who are away or loading have been so, in milliseconds.
    pub(crate) absences: Vec<Absence>,
    /// Whether the game's state will follow.
    pub(crate) state_follows: bool,
    /// The clock of who says this, in microseconds: the full value of what acknowledgements shorten.
    #[wire(varint)]
    pub(crate) clock_us: u64,
    /// That clock at session time zero (a host's room only).
    #[wire(varint)]
    pub(crate) epoch_us: u64,
}

/// For how long somebody has not been in sync.
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
    /// What they follow.
    pub(crate) previous: Position,
    #[wire(max_len = 64)]
    pub(crate) entries: Vec<Entry>,
    /// How far the log is committed.
    #[wire(varint)]
    pub(crate) committed: u64,
}

/// What a peer wants changed.
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
    /// I have loaded.
    Loaded,
    Name {
        id: NetworkId,
        #[wire(varint)]
        kind: u16,
    },
    Unname {
        id: NetworkId,
    },
    /// Somebody wants to join through me.
    Admit {
        hello: Box<Hello>,
        address: Option<Address>,
    },
    /// Nothing any more: who wanted to join has gone.
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
    /// The members it receives from directly.
    #[wire(max_len = 255)]
    pub(crate) hears: Vec<PeerId>,
    /// The members it suspects: silent for too long on every path.
    #[wire(max_len = 255)]
    pub(crate) accuses: Vec<PeerId>,
    /// How far it has received the reliable messages of who reads this.
    pub(crate) received: StreamAcks,
    /// The sender's clock in microseconds, to complete what acknowledgements shorten.
    #[wire(varint)]
    pub(crate) clock_us: u64,
    /// What it knows about clocks; not in every heartbeat.
    pub(crate) clock: Option<MeshReport>,
}

/// How far reliable messages of one member have arrived at another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub(crate) struct StreamAcks {
    /// Which incarnation of the two this is about.
    #[wire(varint)]
    pub(crate) epoch: u64,
    /// The next number expected, for each reliable delivery.
    #[wire(varint)]
    pub(crate) next: [u32; 3],
}
