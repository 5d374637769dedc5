//! A seeded model of a network link: delay, jitter, loss, bursts, duplicates, reordering, rate and queue.
//!
//! A [`Link`] is one direction of a path. It is told the time and the size of each datagram and answers with the
//! datagram's [`Fate`]: when it arrives (never, once or twice), how long it waited, whether it is damaged. It
//! holds no bytes, reads no clock and gives the same fates for the same seed on every machine; whoever drives it
//! (a simulated world, an impaired socket, a proxy) keeps the datagrams until they are due.
//!
//! The effects apply in this order: partition, loss, rate queue, latency with jitter, spikes and dozing, then
//! reordering, duplication and corruption. Each draws from its own stream of random numbers, so that two runs with the
//! same seed lose the same datagrams even when one of them has more jitter.
//!
//! ```
//! use samestep_netem::{Link, LinkConfig, Loss};
//! use std::time::Duration;
//!
//! let config = LinkConfig {
//!     latency: Duration::from_millis(50),
//!     loss: Loss::Bernoulli(0.05),
//!     ..LinkConfig::default()
//! };
//! let mut link = Link::new(config, 7)?;
//! let mut arrived = 0;
//! for tick in 0..1000 {
//!     let now = tick * Duration::from_millis(16);
//!     let fate = link.send(now, 100);
//!     arrived += fate.arrivals.len();
//!     assert!(fate.arrivals.iter().all(|&at| at == now + Duration::from_millis(50)));
//! }
//! assert!((925..975).contains(&arrived));
//! # Ok::<(), samestep_netem::LinkError>(())
//! ```
//!
//! # Main types
//!
//! - [`Link`], its [`LinkConfig`] and its [`LinkStats`]. [`Loss`], [`Jitter`], [`Spike`] and [`Doze`] are what can happen on it.
//! - [`Path`]: a link each way. [`NetworkProfile`]: paths with a name (`lan`, `lte`, `bad-wifi` and others), each with where its figures come from.
//! - [`Rng`]: the random numbers behind it, the same on every machine.
//!
//! # What it does not do
//!
//! It models neither routes nor one bottleneck shared by several links, nor anything above datagrams.

mod config;
mod delay;
mod keys;
mod link;
mod loss;
mod path;
mod profile;
mod rng;

pub use config::{Change, Effect, LinkConfig, LinkError};
pub use delay::{Distribution, Doze, Jitter, Spike};
pub use link::{Arrivals, DropCause, Fate, IP_UDP_OVERHEAD_BYTES, Link, LinkStats};
pub use loss::Loss;
pub use path::Path;
pub use profile::NetworkProfile;
pub use rng::Rng;
