//! Ways through every router: candidates, checks, relays, and the choice among them, without IO; and a relay.
//!
//! A [`Traversal`] belongs to one socket, that of the game. It asks servers for the socket's address outside and for an address at a relay, finds ways to each
//! peer by ICE (RFC 8445), and sends the game's datagrams by the best of them: over the relay at once, directly as soon as that is proven, over the relay again when the
//! direct way falls silent, and back when it heals. Programs exchange one line of text for each peer, a [`Description`], through any signalling, such as a
//! lobby. [`docs/traversal.md`](https://github.com/samestep/samestep/blob/main/docs/traversal.md) tells the life of a path.
//!
//! ```
//! use samestep_traversal::{Path, PeerId, Received, Traversal, TraversalConfig};
//! use std::{net::SocketAddr, time::Duration};
//!
//! let (here, there): (SocketAddr, SocketAddr) = ("192.168.1.5:5000".parse()?, "192.168.1.6:5000".parse()?);
//! let (ada, bob) = (PeerId(1), PeerId(2));
//! let (config, mut now) = (TraversalConfig::default(), Duration::ZERO);
//! let mut one = Traversal::new(now, config.clone(), &[here], [1; 32])?;
//! let mut other = Traversal::new(now, config, &[there], [2; 32])?;
//! one.add_peer(bob)?;
//! other.add_peer(ada)?;
//! // A lobby does this.
//! one.handle_description(now, bob, &other.description(ada)?.to_string())?;
//! other.handle_description(now, ada, &one.description(bob)?.to_string())?;
//! one.send(now, bob, b"\x80hello")?; // waits until there is a way
//!
//! let (mut buf, mut received) = ([0; 1500], None);
//! while received.is_none() {
//!     now += Duration::from_millis(5);
//!     one.handle_timeout(now);
//!     other.handle_timeout(now);
//!     // A socket does this.
//!     while let Some(transmit) = one.poll_transmit(&mut buf) {
//!         if let Received::Data { peer, range } = other.handle_datagram(now, here, &buf[..transmit.len]) {
//!             received = Some((peer, buf[range].to_vec()));
//!         }
//!     }
//!     while let Some(transmit) = other.poll_transmit(&mut buf) {
//!         one.handle_datagram(now, there, &buf[..transmit.len]);
//!     }
//! }
//! assert_eq!(received, Some((ada, b"\x80hello".to_vec())));
//! assert_eq!(one.path(bob), Path::Direct);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Main types
//!
//! - [`Traversal`], its [`TraversalConfig`], its [`TraversalEvent`]s, and what arrived: [`Received`].
//! - [`Traversed`]: the same as a stage around a transport. Each peer has one address there, [`PeerId::address`], whatever way its datagrams take: endpoints, sessions and
//!   games run on it as on any socket.
//! - [`Relay`], its [`RelayConfig`] and [`RelaySecret`]: TURN over UDP (RFC 8656) and STUN without IO, with limits. [`RelayServer`] runs one on real sockets.
//!   [`RelayAccess`] is what a lobby hands out for it, or for any other relay that speaks TURN.
//!
//! # What it does not do
//!
//! It encrypts nothing: relays and routers see the game's datagrams as the game's protocol encrypts them. It does not carry descriptions, and finds no servers by
//! name. No TURN over TCP or TLS yet, no mapping of ports by UPnP, PCP or NAT-PMP ([`Traversal::add_mapped`] takes a port that was mapped by other means).
//!
//! # Features
//!
//! `transport`, on by default: [`Traversed`] and [`RelayServer`], which need real sockets and a clock.

mod checks;
mod classify;
mod clock;
mod config;
mod description;
mod outbox;
mod path;
mod peer;
mod reflexive;
mod relay;
mod relay_client;
mod secret;
#[cfg(feature = "transport")]
mod stage;
mod traversal;

pub use config::{
    RelayAccess, RelayAccessError, TraversalConfig, TraversalError, TraversalEvent, TraversalStats,
};
pub use description::{
    CandidateKind, Description, DescriptionError, MAX_CANDIDATES, MAX_DESCRIPTION_BYTES, WayIn,
};
pub use path::Path;
pub use peer::PeerId;
pub use relay::{
    AllocationId, MAX_USER_BYTES, Relay, RelayCommand, RelayConfig, RelaySecret, RelaySecretError,
    RelaySocket, RelayStats, RelayTransmit,
};
#[cfg(feature = "transport")]
pub use relay::{RelayServer, RelayServerConfig};
#[cfg(feature = "transport")]
pub use stage::Traversed;
pub use traversal::{HandleDescriptionError, MAX_PEERS, Received, Transmit, Traversal};
