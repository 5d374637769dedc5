//! What names a node of a testbed, when it is driven, and what it sends.

use std::fmt;
use std::time::Duration;

use samestep_netem::IP_UDP_OVERHEAD_BYTES;

/// A node of a testbed, counted from zero in the order of [`Testbed::add_node`](crate::Testbed::add_node).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(pub u16);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// When a node's machine sees what the network brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// On arrival, and its deadlines on time: a driver that sleeps until there is something to do.
    Immediate,
    /// Once a frame: datagrams wait in the socket, with their receive time, and deadlines are met late.
    Frames {
        /// Time between two frames.
        period: Duration,
    },
}

/// Datagrams and UDP payload bytes between one node and the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// UDP payload bytes sent.
    pub bytes_sent: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// UDP payload bytes received.
    pub bytes_received: u64,
}

impl Traffic {
    /// Bytes sent with IP and UDP headers: what a link has to carry.
    pub fn wire_bytes_sent(&self) -> u64 {
        self.bytes_sent + self.datagrams_sent * IP_UDP_OVERHEAD_BYTES as u64
    }

    /// Bytes received with IP and UDP headers.
    pub fn wire_bytes_received(&self) -> u64 {
        self.bytes_received + self.datagrams_received * IP_UDP_OVERHEAD_BYTES as u64
    }

    pub(crate) fn on_sent(&mut self, bytes: usize) {
        self.datagrams_sent += 1;
        self.bytes_sent += bytes as u64;
    }

    pub(crate) fn on_received(&mut self, bytes: usize) {
        self.datagrams_received += 1;
        self.bytes_received += bytes as u64;
    }
}
