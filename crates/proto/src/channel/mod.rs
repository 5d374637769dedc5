//! Channels: independent streams of messages within a connection, each with the promise of its [`Delivery`].
//!
//! A kind of channel is a type of its own that implements [`Channel`]; [`open`] knows which delivery has which.

pub mod block;
pub mod reliable;
pub mod reliable_receive;
pub mod reliable_send;
pub mod unreliable;

use core::fmt::Debug;
use core::time::Duration;

use samestep_wire::Delivery;

use crate::buffers::Buffers;
use crate::config::ChannelConfig;
use crate::event::Outcome;
use crate::inbox::Inbox;
use crate::packet::{Frame, PacketWriter};
use crate::sent::{Carried, Fate};
use crate::stats::Stats;
use reliable::Reliable;
use unreliable::Unreliable;

/// The channel at this index of a connection. `memory_limit` bounds what the other end may leave unfinished on it.
pub fn open(index: u8, config: &ChannelConfig, memory_limit: usize) -> Box<dyn Channel> {
    match config.delivery {
        Delivery::Unreliable | Delivery::UnreliableSequenced => {
            Box::new(Unreliable::new(index, config))
        }
        Delivery::ReliableUnordered | Delivery::ReliableOrdered | Delivery::Redundant => {
            Box::new(Reliable::new(index, config, memory_limit))
        }
    }
}

/// A packet that is being written: the channels add their frames, one channel after the other.
pub struct OutgoingPacket<'a> {
    pub number: u64,
    pub now: Duration,
    /// The expected loss of packets, 0 to 1.
    pub loss: f32,
    pub w: PacketWriter<'a>,
    /// What it carries so far whose fate matters.
    pub carried: Vec<Carried>,
}

impl OutgoingPacket<'_> {
    /// Writes a segment of a reliable channel, if it fits.
    pub fn try_segment(&mut self, channel: u8, seq: u32, payload: &[u8]) -> bool {
        let fits = self.w.try_segment(channel, seq, payload);
        if fits {
            self.carried.push(Carried::Segment { channel, seq });
        }
        fits
    }
}

/// One channel of one connection, both directions.
pub trait Channel: Debug + Send + Sync {
    /// Queues a message and returns its number; `None` if the queue is full.
    fn send(
        &mut self,
        now: Duration,
        payload: &[u8],
        buffers: &mut Buffers,
        stats: &mut Stats,
    ) -> Option<u64>;

    /// Whether something waits to be sent.
    fn wants(&self) -> bool;

    /// Whether a long block waits to be sent.
    fn wants_background(&self) -> bool {
        false
    }

    /// Writes what is due into a packet. Returns the bytes written that had been sent before.
    fn fill(&mut self, packet: &mut OutgoingPacket<'_>, buffers: &mut Buffers) -> usize;

    /// Writes pieces of long blocks. Returns the bytes written that had been sent before.
    fn fill_background(&mut self, _: &mut OutgoingPacket<'_>) -> usize {
        0
    }

    /// A frame with content for this channel arrived in packet `packet`; an error breaks the protocol.
    fn on_frame(
        &mut self,
        packet: u64,
        frame: Frame<'_>,
        buffers: &mut Buffers,
        inbox: &mut Inbox,
        stats: &mut Stats,
    ) -> Result<(), &'static str>;

    /// The fate of something this channel sent is known. Calls `report` for each message whose own fate that decides.
    fn on_fate(&mut self, fate: &Fate, buffers: &mut Buffers, report: &mut dyn FnMut(u64, Outcome));

    /// The other end has every segment before `next`. Calls `report` for each message that it has by that.
    fn on_status(
        &mut self,
        _next: u16,
        _: &mut Buffers,
        _report: &mut dyn FnMut(u64, Outcome),
    ) -> Result<(), &'static str> {
        Err("status of no reliable channel")
    }

    /// The status to send along with an acknowledgement, if the acknowledgements do not imply it.
    fn poll_status(&mut self) -> Option<u32> {
        None
    }

    /// When `handle_timeout` has something to do.
    fn next_timeout(&self) -> Option<Duration> {
        None
    }

    /// Time has passed.
    fn handle_timeout(&mut self, _now: Duration) {}

    /// Drops messages that have waited too long. Returns how many.
    fn drop_stale(&mut self, _now: Duration, _: &mut Buffers) -> u64 {
        0
    }

    /// Bytes waiting or unacknowledged.
    fn queued_bytes(&self) -> usize;

    /// Whether everything that must arrive has been acknowledged.
    fn is_settled(&self) -> bool;

    /// Bytes held, both directions.
    fn memory_bytes(&self) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<'a> OutgoingPacket<'a> {
        /// An empty packet at time zero.
        pub fn of_test(number: u64, loss: f32, bytes: &'a mut [u8]) -> Self {
            Self {
                number,
                now: Duration::ZERO,
                loss,
                w: PacketWriter::new(bytes),
                carried: Vec::new(),
            }
        }
    }
}
