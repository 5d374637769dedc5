//! What the world tells its caller.

use std::time::Duration;

use samestep_proto::{ChannelId, ConnectionId, DeliveryReport, Event};

use crate::NodeId;

/// Something that an application notices. Every `at` is world time.
#[derive(Clone, Debug)]
pub enum Wake {
    /// A timer of [`EndpointTestbed::set_timer`](crate::EndpointTestbed::set_timer) is due.
    Timer {
        /// When it was due.
        at: Duration,
        /// The key it was set with.
        key: u64,
    },
    /// A message reached an application.
    Message(Received),
    /// A connection opened, closed or moved.
    Event {
        /// When the application saw it.
        at: Duration,
        /// Whose application.
        node: NodeId,
        /// What the endpoint said; never `Readable`, which the world answers by reading.
        event: Event,
    },
    /// The fate of a message on a channel with delivery reports.
    Delivery {
        /// When the sender learned it.
        at: Duration,
        /// The sender.
        node: NodeId,
        /// The sender's connection.
        id: ConnectionId,
        /// What became of it.
        delivery: DeliveryReport,
    },
}

/// A message as the application received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// World time at which the application had it.
    pub at: Duration,
    /// The receiver.
    pub node: NodeId,
    /// The receiver's connection.
    pub from: ConnectionId,
    /// The channel.
    pub channel: ChannelId,
    /// The bytes.
    pub payload: Vec<u8>,
}

impl Wake {
    /// When it happened, in world time.
    pub fn at(&self) -> Duration {
        match self {
            Wake::Timer { at, .. } | Wake::Event { at, .. } | Wake::Delivery { at, .. } => *at,
            Wake::Message(received) => received.at,
        }
    }

    /// The node it concerns; timers concern none.
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Wake::Timer { .. } => None,
            Wake::Event { node, .. } | Wake::Delivery { node, .. } => Some(*node),
            Wake::Message(received) => Some(received.node),
        }
    }
}
