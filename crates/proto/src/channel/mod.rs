//! Channels: independent ways for messages, each with its own promise.

pub mod block;
pub mod reliable_receive;
pub mod reliable_send;
pub mod unreliable;

use core::time::Duration;

use crate::buffers::Buffers;
use crate::config::ChannelConfig;
use crate::packet::PacketWriter;
use crate::sent::Carried;
use reliable_receive::ReliableReceiver;
use reliable_send::ReliableSender;
use unreliable::{UnreliableReceiver, UnreliableSender};

/// One channel of one connection.
#[derive(Debug)]
pub enum Channel {
    /// Plain or sequenced.
    Unreliable(UnreliableSender, UnreliableReceiver),
    /// Unordered, ordered or redundant.
    Reliable(Box<ReliableSender>, Box<ReliableReceiver>),
}

impl Channel {
    /// The channel at this index.
    pub fn new(index: u8, config: &ChannelConfig) -> Self {
        if config.delivery.is_reliable() {
            Self::Reliable(
                Box::new(ReliableSender::new(index, config)),
                Box::new(ReliableReceiver::new(index, config)),
            )
        } else {
            Self::Unreliable(
                UnreliableSender::new(index, config),
                UnreliableReceiver::new(index, config),
            )
        }
    }

    /// Whether something waits to be sent.
    pub fn wants(&self) -> bool {
        match self {
            Self::Unreliable(sender, _) => !sender.is_idle(),
            Self::Reliable(sender, _) => sender.wants() || sender.blocks.wants(false),
        }
    }

    /// Whether a long block waits to be sent.
    pub fn wants_background(&self) -> bool {
        matches!(self, Self::Reliable(sender, _) if sender.blocks.wants(true))
    }

    /// Writes what is due. Returns the bytes written that had been sent before.
    pub fn fill(
        &mut self,
        now: Duration,
        packet: u64,
        loss: f32,
        w: &mut PacketWriter<'_>,
        carried: &mut Vec<Carried>,
        buffers: &mut Buffers,
    ) -> usize {
        match self {
            Self::Unreliable(sender, _) => {
                sender.fill(w, carried, buffers);
                0
            }
            Self::Reliable(sender, _) => {
                let resent = sender.fill(now, packet, loss, w, carried, buffers);
                resent + sender.blocks.fill(false, w, carried)
            }
        }
    }

    /// Writes pieces of long blocks.
    pub fn fill_background(
        &mut self,
        w: &mut PacketWriter<'_>,
        carried: &mut Vec<Carried>,
    ) -> usize {
        match self {
            Self::Unreliable(..) => 0,
            Self::Reliable(sender, _) => sender.blocks.fill(true, w, carried),
        }
    }

    /// Bytes waiting or unacknowledged.
    pub fn queued_bytes(&self) -> usize {
        match self {
            Self::Unreliable(sender, _) => sender.queued_bytes(),
            Self::Reliable(sender, _) => sender.queued_bytes(),
        }
    }

    /// Whether everything that must arrive has been acknowledged.
    pub fn is_settled(&self) -> bool {
        match self {
            Self::Unreliable(sender, _) => sender.is_idle(),
            Self::Reliable(sender, _) => sender.is_idle(),
        }
    }

    /// Bytes held, both directions.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Unreliable(sender, receiver) => sender.queued_bytes() + receiver.memory_bytes(),
            Self::Reliable(sender, receiver) => sender.memory_bytes() + receiver.memory_bytes(),
        }
    }
}
