//! The events of an endpoint, and the errors of its operations.

use std::net::SocketAddr;

use crate::handshake::RefuseReason;
use crate::id::{ChannelId, ConnectionId, MessageId, PacketNumber};
use crate::key::PublicKey;

/// An event of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A connection is open in both directions.
    Connected {
        /// Its id from now on (for outgoing ones, as returned by `connect`).
        id: ConnectionId,
        /// The other end's address.
        peer: SocketAddr,
        /// Whether the other end asked for it.
        incoming: bool,
        /// The other end's static key. It has proven that it holds it.
        key: PublicKey,
        /// Whether this end had been told the key beforehand: by [`ConnectOptions::server_key`](crate::ConnectOptions::server_key), or for
        /// incoming connections by [`Endpoint::trust`](crate::Endpoint::trust). If not, somebody in the middle could have put
        /// their own in its place.
        known: bool,
        /// What the client brought along (or its token says); empty for outgoing connections.
        user_data: Vec<u8>,
    },
    /// A connection ended, or never came about. The id is gone.
    Closed {
        /// Which one.
        id: ConnectionId,
        /// Why.
        reason: CloseReason,
    },
    /// The other end has a new address and has proven it.
    Moved {
        /// Which one.
        id: ConnectionId,
        /// The new address.
        to: SocketAddr,
    },
    /// Somebody who wanted to connect was refused, before there was a connection.
    Refused {
        /// The address it asked from, which it need not have proven.
        peer: SocketAddr,
        /// Why.
        reason: RefuseReason,
    },
    /// Messages wait for `recv`. Given once until they have all been read.
    Readable {
        /// Which one.
        id: ConnectionId,
    },
}

/// Why a connection ended.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CloseReason {
    /// This end closed it.
    #[error("closed by this side")]
    Local,
    /// The other end closed it, with its code and reason.
    #[error("closed by the other side{} (code {code})", behind_colon(.reason))]
    Remote {
        /// The application's code.
        code: u32,
        /// The application's reason, at most 255 bytes.
        reason: String,
    },
    /// Nothing was received for the configured time.
    #[error("nothing heard from the other side for too long")]
    TimedOut,
    /// The server did not answer at all while connecting.
    #[error("no answer: is the server running, and is its address and port right?")]
    NoAnswer,
    /// The server declined.
    #[error("refused: {0}")]
    Refused(RefuseReason),
    /// Nobody there holds the expected key; somebody showed another.
    #[error(
        "the server's key is {seen}, expected was {expected}: if the server was set up anew, take its new key from where it is shown; if not, somebody poses as it"
    )]
    Identity {
        /// The key this end was told, or had begun to talk to.
        expected: PublicKey,
        /// The key it was shown. Anybody on the way could have written it.
        seen: PublicKey,
    },
    /// The same client, by its key, connected anew from the same address.
    #[error("the same client connected anew")]
    Replaced,
    /// The other end broke the protocol.
    #[error("the other side broke the protocol: {0}")]
    Protocol(&'static str),
    /// Somebody sent so many forged packets that the connection's keys are worn out.
    #[error("more forged packets came than the connection's keys can stand: connect again")]
    KeysWornOut,
}

/// A reason behind a colon, if there is one.
fn behind_colon(reason: &str) -> String {
    match reason {
        "" => String::new(),
        reason => format!(": {reason}"),
    }
}

/// A received message, borrowed until the next call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// The channel it came on.
    pub channel: ChannelId,
    /// Its bytes.
    pub payload: &'a [u8],
}

/// A datagram to hand to the transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Where it goes.
    pub to: SocketAddr,
    /// How many bytes of the buffer it fills.
    pub len: usize,
}

/// The fate of a message sent on a channel with `report`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeliveryReport {
    /// The channel.
    pub channel: ChannelId,
    /// The message, as returned by `send`.
    pub message: MessageId,
    /// The packet that carried it (the last of them, for one sent in several).
    pub packet: PacketNumber,
    /// Whether it arrived.
    pub outcome: Outcome,
}

/// Whether a message arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The other end has it.
    Acked,
    /// The packet is presumed lost (unreliable channels only; may rarely prove wrong later).
    Lost,
}

/// Why `send` declined. Nothing was queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SendError {
    /// No such connection, or it is closing.
    #[error("not connected")]
    NotConnected,
    /// No such channel.
    #[error("no such channel: declare it in Config::channels on both ends")]
    UnknownChannel,
    /// Longer than the channel's `max_message`.
    #[error("message longer than the channel's max_message of {limit} bytes")]
    TooLong {
        /// The channel's limit in bytes.
        limit: usize,
    },
    /// The channel's queue is full: the other end or the network is slower than what is sent. Try later or send less.
    #[error("the channel's queue is full: send less, or later")]
    QueueFull,
}

/// Why `connect` declined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    /// All connection slots are in use.
    #[error("all connection slots are in use")]
    TooManyConnections,
    /// More than 256 bytes of user data.
    #[error("user data is longer than 256 bytes")]
    UserDataTooLong,
    /// A token is longer than 576 bytes.
    #[error("the token is longer than 576 bytes")]
    TokenTooLong,
    /// A token is for one server: give its key too.
    #[error("a token is for one server: give the server's key too")]
    TokenWithoutKey,
    /// The password is empty.
    #[error("the password is empty: enter one, or set none")]
    EmptyPassword,
}
