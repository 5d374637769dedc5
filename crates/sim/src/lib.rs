//! Worlds of many programs in virtual time, with checkers for what Samestep promises.
//!
//! Real sockets show what happened to happen, at the pace of the clock. Here time passes as fast as it is computed, and everything follows
//! from a seed: what went wrong once can be watched again.
//!
//! - A [`Testbed`] holds nodes (a machine each: an endpoint, a session, a match; with an address and a clock of its own) and a link for every
//!   ordered pair of them. It carries real datagrams, impaired as the links say.
//! - An [`EndpointTestbed`] is a testbed of `Endpoint`s. It returns what applications would notice, one [`Wake`] at a time; the caller plays
//!   all the applications.
//! - A [`Referee`] makes and recognises the messages of an endpoint testbed and checks the promises listed in [`check::Promise`]. [`Broken`] endpoints break them
//!   on purpose, to show that it notices; [`Hostile`] ones attack.
//! - [`soak()`] runs thousands of random worlds of a [`Suite`], and names the seeds that failed.
//!
//! The latency of one message in each direction over a lossy link:
//!
//! ```
//! use samestep_netem::{LinkConfig, Loss};
//! use samestep_proto::{ChannelId, Config, ConnectOptions, Event};
//! use samestep_sim::{Wake, EndpointTestbed};
//! use std::time::Duration;
//!
//! let mut world = EndpointTestbed::new(7);
//! let latency = Duration::from_millis(50);
//! world.set_links(LinkConfig { latency, loss: Loss::Bernoulli(0.05), ..LinkConfig::default() });
//! let server = world.add_node(Config::new("example", 1).accepting(8));
//! let client = world.add_node(Config::new("example", 1));
//! let connection = world.connect(client, server, ConnectOptions::default())?;
//! let ordered = ChannelId(3);
//! let mut asked = Duration::ZERO;
//! let mut took = None;
//! while let Some(wake) = world.next(Duration::from_secs(5)) {
//!     match wake {
//!         Wake::Event { node, at, event: Event::Connected { .. } } if node == client => {
//!             asked = at;
//!             world.send(client, connection, ordered, b"ping")?;
//!         }
//!         Wake::Message(ping) if ping.node == server => {
//!             world.send(server, ping.from, ordered, b"pong")?;
//!         }
//!         Wake::Message(pong) => took = Some(pong.at - asked),
//!         _ => {}
//!     }
//! }
//! assert!(took.unwrap() >= 2 * latency);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A random world of each suite, as the soak runs them:
//!
//! ```
//! use samestep_sim::{Suite, soak};
//!
//! let report = soak(Suite::PROTOCOL, 1, 2, |_| ());
//! assert!(report.failures.is_empty(), "{:?}", report.failures);
//! println!("{report}"); // 2 worlds, … messages, 0 failures
//! ```
//!
//! # What it does not do
//!
//! It does *not* read a clock or use a socket. The soak runner alone uses threads, one world in each: worlds share nothing. It judges promises, not speed: that is
//! the lab's.

mod agenda;
mod attack;
mod broken;
pub mod check;
mod endpoints;
mod migration;
mod network;
mod node;
mod owners;
mod referee;
mod room;
mod soak;
pub mod stamp;
mod testbed;
mod wake;

pub use attack::{Attack, Hostile};
pub use broken::{Broken, Fault};
pub use endpoints::EndpointTestbed;
pub use migration::{HostLoss, Migration, MigrationOutcome};
pub use network::Passage;
pub use node::{NodeId, Pace, Traffic};
pub use owners::{Owners, OwnersFault, OwnersOutcome, Vanishing, run_broken_peers};
pub use referee::Referee;
pub use room::{Topology, is_in_sync};
pub use soak::{
    Disturbance, Failure, Outcome, Pausable, RoomFault, SoakMatch, SoakProgram, SoakReport, Suite,
    Trace, conditions, run_broken_room, soak,
};
pub use testbed::{ReceiveTime, Testbed};
pub use wake::{Received, Wake};
