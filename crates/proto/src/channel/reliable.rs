//! Reliable channels: unordered, ordered and redundant.

use core::time::Duration;

use crate::buffers::Buffers;
use crate::channel::reliable_receive::ReliableReceiver;
use crate::channel::reliable_send::ReliableSender;
use crate::channel::{Channel, OutgoingPacket};
use crate::config::ChannelConfig;
use crate::event::Outcome;
use crate::inbox::Inbox;
use crate::packet::Frame;
use crate::sent::{Carried, Fate};
use crate::stats::Stats;

/// Messages in segments that are protected, resent and acknowledged; long ones as blocks beside them.
#[derive(Debug)]
pub struct Reliable {
    sender: ReliableSender,
    receiver: ReliableReceiver,
    memory_limit: usize,
}

impl Reliable {
    /// For the channel at this index; the other end may leave `memory_limit` bytes unfinished.
    pub fn new(index: u8, config: &ChannelConfig, memory_limit: usize) -> Self {
        Self {
            sender: ReliableSender::new(index, config),
            receiver: ReliableReceiver::new(index, config),
            memory_limit,
        }
    }
}

impl Channel for Reliable {
    fn send(
        &mut self,
        _: Duration,
        payload: &[u8],
        buffers: &mut Buffers,
        _: &mut Stats,
    ) -> Option<u64> {
        self.sender.send(payload, buffers)
    }

    fn wants(&self) -> bool {
        self.sender.wants() || self.sender.blocks.wants(false)
    }

    fn wants_background(&self) -> bool {
        self.sender.blocks.wants(true)
    }

    fn fill(&mut self, packet: &mut OutgoingPacket<'_>, buffers: &mut Buffers) -> usize {
        self.sender.fill(packet, buffers) + self.sender.blocks.fill(false, packet)
    }

    fn fill_background(&mut self, packet: &mut OutgoingPacket<'_>) -> usize {
        self.sender.blocks.fill(true, packet)
    }

    fn on_frame(
        &mut self,
        _: u64,
        frame: Frame<'_>,
        buffers: &mut Buffers,
        inbox: &mut Inbox,
        stats: &mut Stats,
    ) -> Result<(), &'static str> {
        match frame {
            Frame::Segment { seq, payload, .. } => {
                let progress = self.receiver.on_segment(seq, payload, buffers, inbox)?;
                stats.segments_duplicate += progress.duplicates;
                stats.segments_recovered += progress.recovered;
            }
            Frame::Repair {
                first,
                count,
                key,
                payload,
                ..
            } => {
                let progress = self
                    .receiver
                    .on_repair(first, count, key, payload, buffers, inbox)?;
                stats.segments_recovered += progress.recovered;
            }
            Frame::Chunk {
                block,
                total,
                index,
                payload,
                ..
            } => {
                self.receiver
                    .on_chunk(block, total, index, payload, buffers, inbox)?;
                if self.receiver.memory_bytes() > self.memory_limit {
                    return Err("too many unfinished blocks");
                }
            }
            _ => return Err("content of the wrong kind for its channel"),
        }
        Ok(())
    }

    fn on_fate(
        &mut self,
        fate: &Fate,
        buffers: &mut Buffers,
        report: &mut dyn FnMut(u64, Outcome),
    ) {
        let sender = &mut self.sender;
        let mut acked = |message| report(message, Outcome::Acked);
        match (fate.carried, fate.arrived) {
            (Carried::Segment { seq, .. }, true) => sender.on_acked(seq, buffers, acked),
            (Carried::Segment { seq, .. }, false) => sender.on_lost(seq, fate.packet),
            (Carried::Chunk { block, index, .. }, true) => {
                let reported = sender.reports();
                sender.blocks.on_acked(block, index, |message| {
                    if reported {
                        acked(message);
                    }
                });
                sender.on_blocks_changed();
            }
            (Carried::Chunk { block, index, .. }, false) => sender.blocks.on_lost(block, index),
            (Carried::Message { .. } | Carried::Fragment { .. }, _) => {}
        }
    }

    fn on_status(
        &mut self,
        next: u16,
        buffers: &mut Buffers,
        report: &mut dyn FnMut(u64, Outcome),
    ) -> Result<(), &'static str> {
        let acked = |message| report(message, Outcome::Acked);
        match self.sender.on_status(next, buffers, acked) {
            true => Ok(()),
            false => Err("status of segments never sent"),
        }
    }

    fn poll_status(&mut self) -> Option<u32> {
        self.receiver.poll_status()
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.sender.flush_at()
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.sender.handle_timeout(now);
    }

    fn queued_bytes(&self) -> usize {
        self.sender.queued_bytes()
    }

    fn is_settled(&self) -> bool {
        self.sender.is_idle()
    }

    fn memory_bytes(&self) -> usize {
        self.sender.memory_bytes() + self.receiver.memory_bytes()
    }
}
