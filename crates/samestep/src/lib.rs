//! Keeps one game simulation in step over any network.
//!
//! This crate joins the parts for those who want to use them rather than combine them: [`Driver`] runs a protocol
//! endpoint over a transport, and [`prelude`] brings in what a program needs. The parts stay reachable: [`proto`]
//! (connections and channels, without IO), [`transport`] (UDP, TCP, memory, impaired), [`netem`] (the link model),
//! [`wire`] (bits and bytes).
//!
//! It does *not* start threads or read a clock behind your back: nothing happens outside [`Driver::drive`].
//!
//! A server that answers, and a client that asks, over real UDP on this machine:
//!
//! ```
//! use samestep::prelude::*;
//! use std::time::Duration;
//!
//! let channel = ChannelId(3); // reliable and ordered, in the default list
//! let mut server = Driver::new(Udp::bind("127.0.0.1:0".parse()?)?, Config::new("example", 1).accepting(8))?;
//! let mut client = Driver::new(Udp::bind("127.0.0.1:0".parse()?)?, Config::new("example", 1))?;
//! let connection = client.connect(server.local_addr(), ConnectOptions::default())?;
//!
//! let answer = 'answered: loop {
//!     while let Some(event) = server.drive_for(Duration::from_millis(1))? {
//!         let Event::Readable { id } = event else { continue };
//!         while let Some(message) = server.recv(id) {
//!             let answer = message.payload.to_ascii_uppercase();
//!             server.send(id, channel, &answer)?;
//!         }
//!     }
//!     while let Some(event) = client.drive_for(Duration::from_millis(1))? {
//!         match event {
//!             Event::Connected { .. } => drop(client.send(connection, channel, b"hello")?),
//!             Event::Readable { id } => break 'answered client.recv(id).unwrap().payload.to_vec(),
//!             Event::Closed { reason, .. } => panic!("{reason}"),
//!             _ => {}
//!         }
//!     }
//! };
//! assert_eq!(answer, b"HELLO");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod driver;

pub use address::{AddressError, DEFAULT_PORT, resolve};
pub use driver::{Driver, DriverError};
pub use samestep_netem as netem;
pub use samestep_proto as proto;
pub use samestep_transport as transport;
pub use samestep_wire as wire;

/// What most programs need.
pub mod prelude {
    pub use crate::{Driver, DriverError};
    pub use samestep_netem::{LinkConfig, Path, Profile};
    pub use samestep_proto::{
        AcceptConfig, ChannelConfig, ChannelId, ChannelKind, CloseReason, Config, ConnectOptions,
        ConnectionId, Event, Message, Repair, Security, SendError, Stats,
    };
    pub use samestep_transport::{Impaired, Memory, Tcp, Transport, Udp};
}

/// The README's example is compiled and run like the others.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
