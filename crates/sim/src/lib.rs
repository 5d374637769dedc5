//! Worlds of many endpoints in virtual time, with checkers for the promises of the protocol.
//!
//! A [`World`] holds nodes (an `Endpoint` each, with an address and a clock of its own) and a link for every ordered
//! pair of them. It carries real datagrams, impaired as the links say, and returns what applications would notice, one
//! [`Wake`] at a time; the caller plays all the applications. A [`Referee`] makes and recognises the messages and
//! checks the promises listed in [`check::Promise`]. A [`Fleet`] is a world of machines of any kind, sessions above all.
//! [`soak()`] runs thousands of random worlds.
//!
//! It does *not* read a clock or use a socket: everything follows from a seed, so whatever happened once can
//! be watched again. The soak runner alone uses threads, one world in each: worlds share nothing.
//!
//! The latency of one message in each direction over a lossy link:
//!
//! ```
//! use samestep_netem::{LinkConfig, Loss};
//! use samestep_proto::{ChannelId, Config, ConnectOptions, Event};
//! use samestep_sim::{Wake, World};
//! use std::time::Duration;
//!
//! let mut world = World::new(7);
//! let latency = Duration::from_millis(50);
//! world.set_links(LinkConfig { latency, loss: Loss::Bernoulli(0.05), ..LinkConfig::default() });
//! let server = world.add_node(Config::new("example", 1).accepting(8));
//! let client = world.add_node(Config::new("example", 1));
//! let connection = world.connect(client, server, ConnectOptions::default())?;
//! let ordered = ChannelId(3);
//! while let Some(wake) = world.next(Duration::from_secs(5)) {
//!     match wake {
//!         Wake::Event { node, event: Event::Connected { .. }, .. } if node == client => {
//!             world.send(client, connection, ordered, b"ping")?;
//!         }
//!         Wake::Message(ping) if ping.node == server => {
//!             world.send(server, ping.from, ordered, b"pong")?;
//!         }
//!         Wake::Message(pong) => println!("answered at {:?}", pong.at),
//!         _ => {}
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agenda;
mod attack;
mod broken;
pub mod check;
mod fleet;
mod network;
mod node;
mod referee;
mod soak;
pub mod stamp;
mod wake;
mod world;

pub use attack::{Attack, Hostile};
pub use broken::{Broken, Fault};
pub use fleet::{Fleet, ReceiveTime};
pub use network::Passage;
pub use node::{NodeId, Pace, Traffic};
pub use referee::Referee;
pub use soak::{Failure, RoomFault, SoakReport, Suite, soak};
pub use wake::{Received, Wake};
pub use world::World;
