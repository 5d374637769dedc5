//! The protocol of Samestep: connections between game endpoints over an unreliable datagram network, without IO.
//!
//! An [`Endpoint`] owns its connections, as a client, as a server, or both. Datagrams, messages and the time go in; datagrams, messages and events come
//! out. There is no socket, no clock, no thread and no hidden randomness in here, so a run can be repeated exactly
//! from a seed, and the same code runs natively and in WebAssembly.
//!
//! ```
//! use samestep_proto::{ChannelId, Config, ConnectOptions, Endpoint, Event};
//! use std::{net::SocketAddr, time::Duration};
//!
//! let ordered = ChannelId(3); // of the default list: one channel of each kind
//! let (here, there): (SocketAddr, SocketAddr) = ("10.0.0.1:1".parse()?, "10.0.0.2:2".parse()?);
//! let mut client = Endpoint::new(Config::new("pong", 1), [1; 32])?;
//! let mut server = Endpoint::new(Config::new("pong", 1).accepting(8), [2; 32])?;
//! let id = client.connect(Duration::ZERO, there, ConnectOptions::default())?;
//!
//! let (mut now, mut buf, mut received) = (Duration::ZERO, [0; 1200], None);
//! while received.is_none() {
//!     // A socket does this.
//!     while let Some(packet) = client.poll_transmit(now, &mut buf) {
//!         server.handle_datagram(now, here, &mut buf[..packet.len]);
//!     }
//!     while let Some(packet) = server.poll_transmit(now, &mut buf) {
//!         client.handle_datagram(now, there, &mut buf[..packet.len]);
//!     }
//!     while let Some(event) = client.poll_event() {
//!         if let Event::Connected { .. } = event {
//!             client.send(now, id, ordered, b"hello")?;
//!         }
//!     }
//!     while let Some(event) = server.poll_event() {
//!         if let Event::Readable { id } = event {
//!             received = server.recv(id).map(|message| message.payload.to_vec());
//!         }
//!     }
//!     now += Duration::from_millis(1);
//!     client.handle_timeout(now);
//!     server.handle_timeout(now);
//! }
//! assert_eq!(received.unwrap(), b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Channels
//!
//! A connection has up to [`MAX_CHANNELS`] channels, each a [`ChannelConfig`] with a [`Delivery`]; both ends declare the same list. A loss on one holds up
//! no other. Reliable channels correct most losses before they are noticed, as their [`LossRecovery`] says. Messages may be longer than a packet:
//! up to 64 KiB unreliably, 32 MiB reliably, unless set otherwise.
//!
//! # Main types
//!
//! - [`Endpoint`], its [`Config`] and its [`Event`]s. [`AcceptConfig`] says who may connect, [`ConnectOptions`] what a client brings along.
//! - [`Identity`] and [`PublicKey`]: who an endpoint is. A client that knows a server's key connects to no other. [`PairKey`]: what two of them prove to each
//!   other through a third.
//! - [`Machine`]: the shape that endpoints have in common with what is built on them. Whoever drives one can drive the others.
//! - [`CloseReason`], [`RefuseReason`], [`SendError`]: what went wrong, in words a player can be shown.
//! - [`Stats`] of a connection, [`EndpointStats`] of what is outside; [`DeliveryReport`]s of messages; [`Exchange`]s of times, for clocks.
//! - [`TokenClaims`] and [`TokenIssuer`]: tokens of a lobby that let a client in.
//!
//! # What it does not do
//!
//! It knows neither games nor ticks nor players, and sends nothing by itself: `samestep` drives it over sockets, `samestep-sim` in virtual time. It does
//! not find servers, and does not get through address translation that lets nothing in. Every byte it sends is written down in `WIRE.md`.
//!
//! # Features
//!
//! `crypto`, on by default: encryption of packets. Without it packets can only be [plain](Config::plain), which has to be said, for
//! transports that encrypt by themselves. Keys, passwords, tokens and the rest of the handshake are there in any case.

mod buffers;
mod channel;
mod config;
mod congestion;
mod connection;
mod cookie;
mod cpace;
mod crypto;
mod endpoint;
mod event;
mod exchange;
mod fec;
#[cfg(test)]
mod golden;
#[cfg(not(fuzzing))]
mod handshake;
#[cfg(fuzzing)]
pub mod handshake;
mod id;
mod inbox;
mod key;
mod machine;
mod noise;
mod pacing;
mod packet;
mod pair;
mod received;
mod rng;
mod rtt;
mod sent;
mod stats;
mod token;

pub use config::{
    AcceptConfig, ChannelConfig, Clock, Config, ConfigError, ConnectOptions, LossRecovery,
    MAX_CHANNELS, MIN_PACKET, Security,
};
pub use crypto::Cipher;
pub use endpoint::Endpoint;
pub use event::{
    CloseReason, ConnectError, DeliveryReport, Event, Message, Outcome, SendError, Transmit,
};
pub use exchange::Exchange;
pub use handshake::RefuseReason;
pub use id::{ChannelId, ConnectionId, MessageId, PacketNumber};
pub use key::{Identity, Password, PublicKey, PublicKeyError};
pub use machine::Machine;
pub use pair::{PAIR_TAG_BYTES, PairKey};
pub use samestep_wire::Delivery;
pub use stats::{EndpointStats, Refused, Stats};
pub use token::{
    CLOCK_SKEW_S, LobbyKey, MAX_TOKEN_ADDRESSES, MAX_TOKEN_LIFE_S, TokenClaims, TokenError,
    TokenId, TokenIssuer, token_from_text, token_to_text,
};

/// The decoders, for the fuzzers alone.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::buffers::Buffers;
    pub use crate::channel::reliable_receive::ReliableReceiver;
    pub use crate::channel::unreliable::UnreliableReceiver;
    pub use crate::fec::{Decoder, coefficient, combine, repair_len};
    pub use crate::inbox::Inbox;
    pub use crate::packet::{Frame, Frames, decode_header};
    pub use crate::token::{Presented, verify};
}
