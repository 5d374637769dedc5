//! The events and states of a session.

use core::fmt;
use core::time::Duration;
use std::net::SocketAddr;

use samestep_proto::{CloseReason, PublicKey, RefuseReason};
use samestep_wire::Wire;
use tracing::{debug, info, warn};

use crate::id::{MessageKind, PeerId, PlayerId, RequestId, Ticket};
use crate::payload::Payload;

/// An event of the room, or of this program's part in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionEvent {
    /// A connection to where this program joins is there, with whoever holds this key. Who is [in sync](Self::InSync) is told more.
    Connected {
        /// The static key of the program there.
        key: PublicKey,
        /// Whether the key was expected: given with the address, or found there before. If not, it had to be believed: compare or keep it.
        known: bool,
    },
    /// Accepted: the room is known. Loading begins, or, without an initial state, [`InSync`](Self::InSync) follows.
    Joined {
        /// This program's id.
        me: PeerId,
    },
    /// A newcomer joins through this program and needs the game's state: call `provide_state`.
    StateWanted {
        /// Who.
        peer: PeerId,
    },
    /// The game's state as it was when this program joined. Load it, then call `loaded`.
    InitialState {
        /// The bytes that the other end gave to `provide_state`.
        state: Vec<u8>,
    },
    /// This program takes part fully.
    InSync,
    /// Nothing has arrived from the host for a second although it was to answer: its program or the network is in trouble. The connection is not
    /// given up yet: [`HostHeard`](Self::HostHeard) follows, or [`Reconnecting`](Self::Reconnecting).
    HostSilent {
        /// The time since something last arrived from it.
        last_heard: Duration,
    },
    /// The host is heard again.
    HostHeard,
    /// The connection is lost; trying to come back.
    Reconnecting {
        /// Why it was lost.
        why: String,
    },
    /// In a mesh, this program reaches too few of the others for a quorum. Stop the game; `InSync` follows when it is back.
    Frozen,
    /// This program has been frozen for ten seconds. It may wait on, or [go on alone](crate::Session::go_on_alone) as another room.
    Stranded,
    /// The mesh that this program wants to join is frozen, and lets nobody in at present. It is asked again, also at its other doors.
    RoomFrozen,
    /// Somebody wanted to join through this program and was refused. At most ten a second are told of.
    Refused {
        /// The address it asked from, which it need not have proven.
        address: SocketAddr,
        /// Why.
        reason: LeaveReason,
    },
    /// A peer was admitted and loads.
    PeerJoined {
        /// Who.
        peer: PeerId,
    },
    /// A peer saw another break the rules ([`Session::report`](crate::Session::report)). The members of a mesh drop whom more than half of them report;
    /// in a hosted room the host decides.
    Reported {
        /// Who says so.
        by: PeerId,
        /// Of whom.
        peer: PeerId,
        /// What it saw.
        words: String,
    },
    /// A peer is in sync: for the first time, or again.
    PeerInSync {
        /// Who.
        peer: PeerId,
    },
    /// A peer vanished; its slot is kept for a while.
    PeerAway {
        /// Who.
        peer: PeerId,
    },
    /// A peer has left for good.
    PeerLeft {
        /// Who.
        peer: PeerId,
        /// Why.
        reason: LeaveReason,
    },
    /// A player joined.
    PlayerJoined {
        /// Which.
        player: PlayerId,
    },
    /// A player left.
    PlayerLeft {
        /// Which.
        player: PlayerId,
    },
    /// Names, colours, readiness or settings have changed: look at the room.
    RoomChanged,
    /// The room demands another password from now on.
    PasswordChanged,
    /// The objects of a peer have another owner now, the same everywhere: look at `Room::owner_of`.
    OwnersChanged,
    /// Another peer is the authority now.
    AuthorityChanged {
        /// Who.
        authority: PeerId,
    },
    /// The game will begin at this time of the common clock.
    Starting {
        /// Session time.
        at: Duration,
    },
    /// It begins now.
    Started,
    /// The game is over, as agreed.
    Ended {
        /// The agreed result.
        result: Vec<u8>,
    },
    /// Back in the set-up phase for another game.
    Rematch,
    /// A message.
    Message {
        /// Who sent it.
        from: PeerId,
        /// Its type.
        kind: MessageKind,
        /// Its content.
        payload: Payload,
    },
    /// To the authority: a peer requests an action. Answer with `resolve`.
    Request {
        /// To answer with.
        ticket: Ticket,
        /// The type of action.
        kind: MessageKind,
        /// Its content.
        payload: Payload,
    },
    /// An action takes place: exactly once on every peer, in the same order everywhere.
    Command {
        /// Its index in the room's log.
        index: u64,
        /// Who asked for it.
        from: PeerId,
        /// The request it answers, if this program asked.
        request: Option<RequestId>,
        /// The type of action.
        kind: MessageKind,
        /// The command of the authority.
        payload: Payload,
    },
    /// An action this program asked for took place while it was away: its effect is in the state it has been given.
    Included {
        /// Which.
        request: RequestId,
        /// The type of action.
        kind: MessageKind,
    },
    /// The authority denied an action this program asked for.
    Denied {
        /// Which.
        request: RequestId,
        /// The type of action.
        kind: MessageKind,
        /// The reason of the authority; empty if the session ended before it could decide.
        reason: Vec<u8>,
    },
    /// An unconfirmed action takes place.
    Acted {
        /// Whose.
        from: PeerId,
        /// The request, if it is this program's own.
        request: Option<RequestId>,
        /// The type of action.
        kind: MessageKind,
        /// Its content.
        payload: Payload,
    },
    /// An unconfirmed action waits for a check. Answer with `judge`; without an answer it is not forwarded.
    Check {
        /// To answer with.
        ticket: Ticket,
        /// The type of action.
        kind: MessageKind,
        /// Its content.
        payload: Payload,
    },
    /// An action of this program did not pass the check: undo it.
    Rejected {
        /// Which.
        request: RequestId,
        /// The type of action.
        kind: MessageKind,
        /// The reason of the authority.
        reason: Vec<u8>,
    },
    /// This program's part is over.
    Left {
        /// Why.
        reason: LeaveReason,
    },
}

impl SessionEvent {
    /// Logs the event. Messages and actions are the game's own and not logged, except those that are refused.
    pub(crate) fn log(&self) {
        match self {
            Self::Joined { me } => info!(%me, "joined the room"),
            Self::StateWanted { peer } => debug!(%peer, "state transfer wanted"),
            Self::InitialState { state } => debug!(bytes = state.len(), "initial state received"),
            Self::InSync => info!("in sync"),
            Self::HostSilent { last_heard } => warn!(?last_heard, "the host is silent"),
            Self::HostHeard => info!("the host is heard again"),
            Self::Reconnecting { why } => debug!(why, "connection lost, trying to return"),
            Self::Frozen => warn!("too few members are heard: frozen"),
            Self::Stranded => warn!("frozen for long"),
            Self::RoomFrozen => warn!("the mesh is frozen and lets nobody in"),
            Self::Refused { address, reason } => warn!(%address, %reason, "newcomer refused"),
            Self::PeerJoined { peer } => info!(%peer, "peer joined"),
            Self::PeerInSync { peer } => info!(%peer, "peer in sync"),
            Self::PeerAway { peer } => warn!(%peer, "peer dropped, its slot is kept"),
            Self::PeerLeft { peer, reason } => info!(%peer, %reason, "peer left"),
            Self::AuthorityChanged { authority } => info!(leader = %authority, "leader elected"),
            Self::Starting { at } => debug!(?at, "game starts"),
            Self::Started => info!("game started"),
            Self::Ended { .. } => info!("game ended"),
            Self::Denied { request, kind, .. } => debug!(?request, ?kind, "action denied"),
            Self::Rejected { request, kind, .. } => debug!(?request, ?kind, "action rejected"),
            Self::Left {
                reason: reason @ LeaveReason::Left(_),
            } => info!(%reason, "left the room"),
            Self::Left { reason } => warn!(%reason, "out of the room"),
            _ => {}
        }
    }
}

/// The state of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// Connecting to the room, for the first time or again.
    Connecting,
    /// Accepted; the initial state is arriving.
    Loading,
    /// Taking part.
    InSync,
    /// Member of a mesh that reaches too few of the others for a quorum.
    Frozen,
    /// Over.
    Left(LeaveReason),
}

/// Why a peer left a room, or was not admitted.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum LeaveReason {
    /// It left on its own, with this message.
    Left(#[wire(max_len = 255)] String),
    /// It was kicked, with this message.
    Kicked(#[wire(max_len = 255)] String),
    /// It was banned, with this message.
    Banned(#[wire(max_len = 255)] String),
    /// It was silent for too long.
    Silent,
    /// Loading took too long.
    LoadingTooLong,
    /// The room was closed.
    RoomClosed(#[wire(max_len = 255)] String),
    /// The room is full.
    Full,
    /// The password is wrong; with a message.
    WrongPassword(#[wire(max_len = 255)] String),
    /// It is another game, or another version of it; with a message.
    WrongVersion(#[wire(max_len = 255)] String),
    /// The host could not be reached, or refused; with a message.
    NotReached(#[wire(max_len = 255)] String),
    /// The room is a mesh and the role is not, or the other way round.
    WrongTopology,
    /// It plays with another model, other types or another tick rate; with a message.
    Incompatible(#[wire(max_len = 255)] String),
    /// Another key than the one expected was found where the room should be; with a message.
    WrongKey(#[wire(max_len = 255)] String),
    /// The room lets in only whom a lobby sends, and the connect token is missing or not good there; with a message.
    TokenRefused(#[wire(max_len = 255)] String),
}

impl LeaveReason {
    /// Why somebody was refused, in the words of the program that refused it.
    pub(crate) fn of_refused(reason: RefuseReason) -> Self {
        let words = match reason {
            RefuseReason::Version { theirs, ours } => {
                format!("the newcomer runs version {ours}, this program {theirs}")
            }
            RefuseReason::Protocol { theirs, ours } => {
                format!("the newcomer speaks protocol version {ours}, this program {theirs}")
            }
            RefuseReason::Game => "the newcomer runs a different game".into(),
            RefuseReason::Password => "the newcomer's password is wrong".into(),
            RefuseReason::PasswordRequired => "the newcomer gave no password".into(),
            RefuseReason::PasswordUnneeded => {
                "the newcomer gave a password, and this room has none".into()
            }
            RefuseReason::TokenRequired => "the newcomer brought no invitation of the lobby".into(),
            RefuseReason::TokenInvalid => "the newcomer's invitation is not of this lobby".into(),
            RefuseReason::TokenExpired => "the newcomer's invitation has expired".into(),
            RefuseReason::TokenUsed => "the newcomer's invitation has been used".into(),
            RefuseReason::TokenServer => "the newcomer's invitation is for another server".into(),
            RefuseReason::TokenClient => "the newcomer's invitation is for somebody else".into(),
            RefuseReason::TokenTime => {
                "the newcomer's invitation is from the future: compare this clock with the lobby's"
                    .into()
            }
            RefuseReason::TokenBeforeStart => {
                "the newcomer's invitation is from before this program had started".into()
            }
            _ => return Self::of_close(&CloseReason::Refused(reason)),
        };
        match Self::of_close(&CloseReason::Refused(reason)) {
            Self::WrongPassword(_) => Self::WrongPassword(words),
            Self::TokenRefused(_) => Self::TokenRefused(words),
            _ => Self::WrongVersion(words),
        }
    }

    pub(crate) fn of_close(reason: &CloseReason) -> Self {
        match reason {
            CloseReason::Refused(
                why @ (RefuseReason::Password
                | RefuseReason::PasswordRequired
                | RefuseReason::PasswordUnneeded),
            ) => Self::WrongPassword(shorten(&why.to_string())),
            CloseReason::Refused(
                why @ (RefuseReason::TokenRequired
                | RefuseReason::TokenInvalid
                | RefuseReason::TokenExpired
                | RefuseReason::TokenUsed
                | RefuseReason::TokenServer
                | RefuseReason::TokenClient
                | RefuseReason::TokenTime
                | RefuseReason::TokenBeforeStart),
            ) => Self::TokenRefused(shorten(&why.to_string())),
            CloseReason::Identity { .. } => Self::WrongKey(shorten(&reason.to_string())),
            CloseReason::Refused(RefuseReason::Full) => Self::Full,
            CloseReason::Refused(RefuseReason::Banned) => Self::Banned(String::new()),
            CloseReason::Refused(
                why @ (RefuseReason::Version { .. }
                | RefuseReason::Game
                | RefuseReason::Protocol { .. }),
            ) => Self::WrongVersion(shorten(&why.to_string())),
            CloseReason::Remote { code, reason } => Self::from_close(*code, reason),
            reason => Self::NotReached(shorten(&reason.to_string())),
        }
    }
}

impl LeaveReason {
    /// The close code and reason of the connection, in case the farewell itself gets lost.
    pub(crate) fn to_close(&self) -> (u32, &str) {
        match self {
            Self::Left(words) => (1, words),
            Self::Kicked(words) => (2, words),
            Self::Banned(words) => (3, words),
            Self::RoomClosed(words) => (4, words),
            Self::LoadingTooLong => (5, ""),
            Self::Full => (6, ""),
            Self::WrongTopology => (7, ""),
            Self::Silent => (8, ""),
            Self::Incompatible(words) => (9, words),
            Self::NotReached(words)
            | Self::WrongVersion(words)
            | Self::WrongPassword(words)
            | Self::WrongKey(words)
            | Self::TokenRefused(words) => (0, words),
        }
    }

    /// The reason of the host for closing the connection.
    pub(crate) fn from_close(code: u32, words: &str) -> Self {
        let words = shorten(words);
        match code {
            2 => Self::Kicked(words),
            3 => Self::Banned(words),
            4 => Self::RoomClosed(words),
            5 => Self::LoadingTooLong,
            6 => Self::Full,
            7 => Self::WrongTopology,
            8 => Self::Silent,
            9 => Self::Incompatible(words),
            _ => Self::NotReached(words),
        }
    }
}

/// Cuts a text to at most 255 bytes, between characters.
pub(crate) fn shorten(words: &str) -> String {
    let mut end = words.len().min(255);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    words[..end].to_owned()
}

impl fmt::Display for LeaveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = |f: &mut fmt::Formatter<'_>, what: &str, words: &str| match words {
            "" => f.write_str(what),
            words => write!(f, "{what}: {words}"),
        };
        match self {
            Self::Left(words) => with(f, "left", words),
            Self::Kicked(words) => with(f, "kicked", words),
            Self::Banned(words) => with(f, "banned", words),
            Self::Silent => f.write_str("fell silent"),
            Self::LoadingTooLong => f.write_str("loading took too long"),
            Self::RoomClosed(words) => with(f, "the room was closed", words),
            Self::Full => f.write_str("the room is full"),
            Self::NotReached(words)
            | Self::WrongVersion(words)
            | Self::WrongPassword(words)
            | Self::WrongKey(words)
            | Self::TokenRefused(words)
            | Self::Incompatible(words) => f.write_str(words),
            Self::WrongTopology => f.write_str(
                "this room is of the other kind: a host's room is joined as a client, a mesh as a peer",
            ),
        }
    }
}
