//! Settings of a traversal, what it reports, and how a relay is given to a program.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use crate::path::Path;
use crate::peer::PeerId;

/// Settings of a [`Traversal`](crate::Traversal).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraversalConfig {
    /// Servers that tell a program its address behind its router, by STUN; usually the lobby's relay. At most four are asked.
    pub stun_servers: Vec<SocketAddr>,
    /// A relay that may be used. It is asked for its address too.
    pub relay: Option<RelayAccess>,
    /// How long a peer that is [expected](crate::Traversal::set_expected) to talk may be silent before another way is taken. Default 400 ms: more than any game
    /// pauses, and 24 packets in a row at 60 Hz.
    pub silence: Duration,
    /// How often the direct way is tried again while a peer that was reached directly is reached over a relay. Default 3 s.
    pub probe_every: Duration,
    /// Whether datagrams from addresses that are no peer's are passed on, with these addresses: for a program that others join without the help of
    /// descriptions too, such as a host with an open port. Default no: the game's protocol would follow a peer to an address that nobody has checked.
    pub strangers: bool,
}

impl Default for TraversalConfig {
    fn default() -> Self {
        Self {
            stun_servers: Vec::new(),
            relay: None,
            silence: Duration::from_millis(400),
            probe_every: Duration::from_secs(3),
            strangers: false,
        }
    }
}

/// A relay and the right to use it, as the lobby hands it out: `ADDRESS USERNAME PASSWORD`.
#[derive(Clone, PartialEq, Eq)]
pub struct RelayAccess {
    /// Where it listens, for TURN over UDP.
    pub server: SocketAddr,
    /// The name to show.
    pub username: String,
    /// The password that proves it.
    pub password: String,
}

/// Why a text gives no access to a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a relay is given as its address, a username and a password with spaces between, such as `203.0.113.5:3478 2000000000:ada c2VjcmV0`"
)]
pub struct RelayAccessError;

impl fmt::Display for RelayAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.server, self.username, self.password)
    }
}

impl FromStr for RelayAccess {
    type Err = RelayAccessError;

    fn from_str(text: &str) -> Result<Self, RelayAccessError> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let [server, username, password] = words[..] else {
            return Err(RelayAccessError);
        };
        if username.len() > 256 || password.len() > 256 {
            return Err(RelayAccessError);
        }
        Ok(Self {
            server: server.parse().map_err(|_| RelayAccessError)?,
            username: username.to_owned(),
            password: password.to_owned(),
        })
    }
}

impl fmt::Debug for RelayAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayAccess")
            .field("server", &self.server)
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// What a traversal reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TraversalEvent {
    /// Addresses were found or lost: every peer should get its [description](crate::Traversal::description) again.
    DescriptionsChanged,
    /// The addresses that are to be had are known; there is no use in waiting longer before the descriptions are sent.
    Gathered,
    /// Datagrams for this peer take another way from now on.
    PathChanged {
        /// The peer.
        peer: PeerId,
        /// The way.
        path: Path,
    },
    /// This peer, which is expected to talk, is not heard on any way. The search goes on.
    Lost {
        /// The peer.
        peer: PeerId,
    },
    /// A lost peer was heard again.
    Found {
        /// The peer.
        peer: PeerId,
    },
    /// The relay lends an address.
    RelayReady,
    /// The relay does not answer, or refuses. It is asked again.
    RelayLost,
}

/// How a traversal answers a mistake of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraversalError {
    /// No such peer was added.
    #[error("there is no peer {0} here: add it first")]
    UnknownPeer(PeerId),
    /// A peer of this number is there already.
    #[error("peer {0} is here already: remove it first, or choose another number")]
    PeerExists(PeerId),
    /// There are too many peers.
    #[error("a traversal has at most {max} peers", max = crate::MAX_PEERS)]
    TooManyPeers,
    /// The socket has no address that a peer could reach.
    #[error(
        "an address of this computer is needed, such as 192.168.1.5: `0.0.0.0` and `::` cannot be told to a peer"
    )]
    UselessAddress,
}

/// Counters of a [`Traversal`](crate::Traversal).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraversalStats {
    /// Datagrams of the game that were sent from program to program.
    pub sent_direct: u64,
    /// Datagrams of the game that were sent over a relay, doubles included.
    pub sent_relayed: u64,
    /// Of these, those that were sent directly too, while a way was in doubt.
    pub sent_twice: u64,
    /// Datagrams of STUN, ICE and TURN that were sent.
    pub sent_checks: u64,
    /// Datagrams that were dropped for want of any way.
    pub dropped_no_path: u64,
    /// Datagrams that were dropped because too many were waiting to be sent.
    pub dropped_full: u64,
    /// Datagrams of STUN that nobody here had to do with: forged, late or for others.
    pub ignored: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_access_to_a_relay_as_text_and_back() {
        let text = "203.0.113.5:3478 2000000000:ada c2VjcmV0";
        let access: RelayAccess = text.parse().unwrap();
        assert_eq!(access.to_string(), text);
        assert!(!format!("{access:?}").contains("c2V"), "no secrets in logs");
        for bad in [
            "",
            "203.0.113.5 a b",
            "203.0.113.5:3478 a",
            "203.0.113.5:3478 a b c",
        ] {
            assert_eq!(bad.parse::<RelayAccess>(), Err(RelayAccessError), "{bad}");
        }
    }
}
