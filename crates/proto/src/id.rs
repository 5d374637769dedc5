//! Ids of connections, channels, messages and packets.

use core::fmt;

/// A connection of an [`Endpoint`](crate::Endpoint). Never reused: an id of a closed connection stays unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct ConnectionId {
    pub(crate) slot: u16,
    pub(crate) generation: u32,
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.generation)
    }
}

/// A channel: its index in [`Config::channels`](crate::Config::channels).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct ChannelId(pub u8);

/// A message as numbered by its sender, per channel, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct MessageId(pub u64);

/// A packet as numbered by its sender, per connection, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct PacketNumber(pub u64);
