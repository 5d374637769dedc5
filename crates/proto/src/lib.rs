//! The protocol of Samestep: connections between game endpoints over an unreliable datagram network, without IO.
//!
//! An [`Endpoint`] owns its connections. Datagrams, messages and the time go in; datagrams, messages and events come
//! out. There is no socket, no clock, no thread and no hidden randomness in here, so a run can be repeated exactly
//! from a seed, and the same code runs natively and in WebAssembly.
//!
//! It does not know games, ticks or players, and does not send anything by itself: drivers do (`samestep`,
//! `samestep-sim`).
//!
//! ```
//! use samestep_proto::{ChannelId, Config, ConnectOptions, Endpoint, Event};
//! use std::{net::SocketAddr, time::Duration};
//!
//! let (here, there): (SocketAddr, SocketAddr) = ("10.0.0.1:1".parse()?, "10.0.0.2:2".parse()?);
//! let mut client = Endpoint::new(Config::new("pong", 1), [1; 32])?;
//! let mut server = Endpoint::new(Config::new("pong", 1).accepting(8), [2; 32])?;
//! let id = client.connect(Duration::ZERO, there, ConnectOptions::default())?;
//!
//! let (mut now, mut buf, mut received) = (Duration::ZERO, [0; 1200], None);
//! while received.is_none() {
//!     while let Some(packet) = client.poll_transmit(now, &mut buf) {
//!         server.handle_datagram(now, here, &mut buf[..packet.len]);
//!     }
//!     while let Some(packet) = server.poll_transmit(now, &mut buf) {
//!         client.handle_datagram(now, there, &mut buf[..packet.len]);
//!     }
//!     while let Some(event) = client.poll_event() {
//!         if let Event::Connected { .. } = event {
//!             client.send(now, id, ChannelId(3), b"hello")?;
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

mod buffers;
mod channel;
mod coding;
mod config;
mod congestion;
mod connection;
mod cookie;
mod crypto;
mod endpoint;
mod event;
mod exchange;
#[cfg(test)]
mod golden;
#[cfg(not(fuzzing))]
mod handshake;
#[cfg(fuzzing)]
pub mod handshake;
mod id;
mod inbox;
mod machine;
#[cfg(feature = "crypto")]
mod noise;
mod pacing;
mod packet;
mod received;
mod rng;
mod rtt;
mod sent;
mod stats;
mod token;

pub use config::{
    AcceptConfig, ChannelConfig, ChannelKind, Config, ConfigError, ConnectOptions, MAX_CHANNELS,
    MIN_PACKET, Repair, Security,
};
pub use crypto::Cipher;
pub use endpoint::Endpoint;
pub use event::{
    CloseReason, ConnectError, Delivery, Event, Message, Outcome, SendError, Transmit,
};
pub use exchange::Exchange;
pub use handshake::RefuseReason;
pub use id::{ChannelId, ConnectionId, MessageId, PacketNumber};
pub use machine::Machine;
pub use stats::{EndpointStats, Refused, Stats};
#[cfg(feature = "crypto")]
pub use token::TokenIssuer;
pub use token::{MAX_TOKEN_ADDRESSES, TokenClaims, TokenError, TokenId};

/// The decoders, for the fuzzers alone.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::buffers::Buffers;
    pub use crate::channel::reliable_receive::ReliableReceiver;
    pub use crate::channel::unreliable::UnreliableReceiver;
    pub use crate::coding::{Decoder, coefficient, combine, repair_len};
    pub use crate::inbox::Inbox;
    pub use crate::packet::{Frame, Frames, decode_header};
    pub use crate::token::verify;
}
