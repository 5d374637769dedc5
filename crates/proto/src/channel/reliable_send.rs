//! The sending side of a reliable channel: segments, repairs, retransmissions.
//!
//! All messages of the channel that go into one packet form a *segment*: one number, one fate. Segments are resent
//! and combined whole, so a lost packet is one unknown to the decoder, however many messages it held.

use core::time::Duration;
use std::collections::VecDeque;

use crate::buffers::Buffers;
use crate::channel::OutgoingPacket;
use crate::channel::block::BlockSender;
use crate::channel::unreliable::MESSAGE_OVERHEAD;
use crate::config::{ChannelConfig, LossRecovery};
use crate::fec;
use crate::packet::{PacketWriter, expand_seq, varint_len};

/// Longest segment; a message that does not fit alone becomes a block.
pub const MAX_SEGMENT: usize = 1100;
/// Segments that may be under way.
pub const WINDOW: u32 = 1024;
/// Segments a repair combines at most.
pub const SPAN: usize = 12;
/// A repair follows the last message after this long if no other packet carried one.
const FLUSH_AFTER: Duration = Duration::from_millis(20);
/// Below this loss, repairs cost more than they save.
const NEGLIGIBLE_LOSS: f32 = 0.003;
/// Chance that a message is still missing after its repairs, without a retransmission.
const RESIDUAL: f32 = 0.002;

#[derive(Debug)]
struct Pending {
    id: u64,
    payload: Vec<u8>,
    /// A reference to this block instead of a message.
    block: Option<u32>,
}

impl Pending {
    fn encoded_len(&self) -> usize {
        match self.block {
            Some(block) => varint_len(u64::from(block) << 1 | 1),
            None => varint_len((self.payload.len() as u64) << 1) + self.payload.len(),
        }
    }
}

#[derive(Debug)]
struct Segment {
    payload: Vec<u8>,
    first_message: u64,
    messages: u32,
    last_packet: u64,
    /// Packets that carried it or a repair over it, after the first.
    protections: u8,
    acked: bool,
    lost: bool,
}

/// The sender.
#[derive(Debug)]
pub struct ReliableSender {
    channel: u8,
    recovery: LossRecovery,
    ordered: bool,
    report: bool,
    queue_limit: usize,
    pending: VecDeque<Pending>,
    segments: VecDeque<Segment>,
    /// Number of the oldest segment not acknowledged.
    base: u32,
    lost: usize,
    queued: usize,
    next_message: u64,
    /// Blocks of this channel.
    pub blocks: BlockSender,
    /// Segment numbers that refer to blocks not yet complete, on ordered channels.
    block_refs: VecDeque<(u32, u32)>,
    credit: f32,
    key: u8,
    flush_at: Option<Duration>,
    flush_now: bool,
    scratch: Vec<u8>,
}

impl ReliableSender {
    /// For the channel at this index.
    pub fn new(channel: u8, config: &ChannelConfig) -> Self {
        Self {
            channel,
            recovery: config.recovery,
            ordered: config.delivery.is_ordered(),
            report: config.report,
            queue_limit: config.queue_limit,
            pending: VecDeque::new(),
            segments: VecDeque::new(),
            base: 0,
            lost: 0,
            queued: 0,
            next_message: 0,
            blocks: BlockSender::new(channel),
            block_refs: VecDeque::new(),
            credit: 0.0,
            key: 0,
            flush_at: None,
            flush_now: false,
            scratch: Vec::new(),
        }
    }

    /// Queues a message; `None` if the queue is full.
    pub fn send(&mut self, payload: &[u8], buffers: &mut Buffers) -> Option<u64> {
        let queued = self.queued_bytes();
        if queued > 0 && queued + payload.len() + MESSAGE_OVERHEAD > self.queue_limit {
            return None;
        }
        let id = self.next_message;
        self.next_message += 1;
        if varint_len((payload.len() as u64) << 1) + payload.len() > MAX_SEGMENT {
            let block = self.blocks.push(id, payload.to_vec());
            if self.ordered {
                self.pending.push_back(Pending {
                    id,
                    payload: buffers.take(),
                    block: Some(block),
                });
            }
        } else {
            self.queued += payload.len() + MESSAGE_OVERHEAD;
            self.pending.push_back(Pending {
                id,
                payload: buffers.copy(payload),
                block: None,
            });
        }
        Some(id)
    }

    /// Whether there is something to send regardless of time.
    pub fn wants(&self) -> bool {
        self.lost > 0 || self.flush_now || (!self.pending.is_empty() && self.window_open())
    }

    /// When a repair for the last messages is due.
    pub fn flush_at(&self) -> Option<Duration> {
        self.flush_at
    }

    /// Time has come for a repair, if it is still needed.
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush_at = None;
            self.flush_now = self.segments.iter().any(|s| !s.acked);
        }
    }

    /// Bytes waiting or unacknowledged.
    pub fn queued_bytes(&self) -> usize {
        self.queued + self.blocks.queued_bytes()
    }

    /// Whether the fate of messages is reported.
    pub fn reports(&self) -> bool {
        self.report
    }

    /// Whether everything has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.segments.is_empty() && self.blocks.is_empty()
    }

    /// Writes what is due into a packet. Returns the bytes written that had been sent before.
    pub fn fill(&mut self, packet: &mut OutgoingPacket<'_>, buffers: &mut Buffers) -> usize {
        let mut resent = self.fill_lost(packet);
        let before = self.segments.len();
        if self.lost == 0 {
            self.fill_fresh(packet, buffers);
        }
        let (now, loss) = (packet.now, packet.loss);
        let fresh = self.segments.len() > before;
        if self.recovery != LossRecovery::Retransmit
            && loss >= NEGLIGIBLE_LOSS
            && (fresh || self.flush_now)
        {
            // What is in this packet would be lost with it: only earlier segments gain from a repair here.
            let covered = if fresh { before } else { self.segments.len() };
            resent += match self.recovery {
                LossRecovery::Repeat => self.fill_repeats(packet, covered),
                _ => {
                    self.credit += repairs_per_packet(loss);
                    self.fill_repairs(covered, &mut packet.w)
                }
            };
            self.schedule_flush(now, loss);
        }
        self.flush_now = false;
        resent
    }

    fn fill_lost(&mut self, packet: &mut OutgoingPacket<'_>) -> usize {
        let mut resent = 0;
        if self.lost == 0 {
            return 0;
        }
        for (seq, segment) in (self.base..).zip(&mut self.segments) {
            if !segment.lost {
                continue;
            }
            if !packet.try_segment(self.channel, seq, &segment.payload) {
                break;
            }
            segment.lost = false;
            segment.last_packet = packet.number;
            segment.protections = segment.protections.saturating_add(1);
            self.lost -= 1;
            resent += segment.payload.len();
            if self.lost == 0 {
                break;
            }
        }
        resent
    }

    /// Makes new segments of what waits. Usually one; more when a packet has room after it was full of others.
    fn fill_fresh(&mut self, packet: &mut OutgoingPacket<'_>, buffers: &mut Buffers) {
        let room = packet.w.segment_room().min(MAX_SEGMENT);
        let fits = self
            .pending
            .front()
            .is_some_and(|p| p.encoded_len() <= room);
        if !fits || !self.window_open() {
            return;
        }
        let seq = self.base.wrapping_add(self.segments.len() as u32);
        let mut payload = buffers.take();
        let first_message = self.pending.front().map_or(0, |p| p.id);
        let mut messages = 0u32;
        while let Some(next) = self.pending.front()
            && payload.len() + next.encoded_len() <= room
            && next.id == first_message + u64::from(messages)
            && (next.block.is_none() || payload.is_empty())
            && let Some(message) = self.pending.pop_front()
        {
            match message.block {
                Some(block) => {
                    // Alone in its segment: the segment's fate is not the message's.
                    write_varint(&mut payload, u64::from(block) << 1 | 1);
                    self.block_refs.push_back((seq, block));
                    buffers.put(message.payload);
                    break;
                }
                None => {
                    write_varint(&mut payload, (message.payload.len() as u64) << 1);
                    payload.extend_from_slice(&message.payload);
                    self.queued -= message.payload.len() + MESSAGE_OVERHEAD;
                }
            }
            messages += 1;
            buffers.put(message.payload);
        }
        let written = packet.try_segment(self.channel, seq, &payload);
        debug_assert!(written, "room was computed for it");
        self.queued += payload.len();
        self.segments.push_back(Segment {
            payload,
            first_message,
            messages,
            last_packet: packet.number,
            protections: 0,
            acked: false,
            lost: false,
        });
    }

    /// Combinations of the last segments before index `covered`.
    fn fill_repairs(&mut self, covered: usize, w: &mut PacketWriter<'_>) -> usize {
        let mut wrote = 0;
        while self.credit >= 1.0 {
            let from = covered.saturating_sub(SPAN);
            let window = self.segments.range(from..covered);
            // Segments the other end is known to have need no cover at the old end.
            let skip = window.clone().take_while(|s| s.acked).count();
            let unacked = window.clone().filter(|s| !s.acked).count();
            if unacked == 0 {
                self.credit = 0.0;
                break;
            }
            let from = from + skip;
            let longest = self
                .segments
                .range(from..covered)
                .map(|s| s.payload.len())
                .max()
                .unwrap_or(0);
            let len = fec::repair_len(longest);
            if !w.fits_repair(len) {
                // The packet is full: the repair goes into one of its own.
                break;
            }
            self.scratch.resize(len, 0);
            self.key = self.key.wrapping_add(1);
            let first = self.base.wrapping_add(from as u32);
            let payloads = self
                .segments
                .range(from..covered)
                .map(|s| s.payload.as_slice());
            fec::combine(self.key, first, payloads, &mut self.scratch);
            let written =
                w.try_repair(self.channel, first, covered - from, self.key, &self.scratch);
            debug_assert!(written, "room was checked");
            if wrote == 0 {
                for segment in self.segments.range_mut(from..covered) {
                    segment.protections = segment.protections.saturating_add(1);
                }
            }
            wrote += len;
            self.credit -= 1.0;
            if wrote / len >= unacked {
                // More repairs than unknowns say nothing new.
                self.credit = self.credit.min(1.0);
                break;
            }
        }
        self.credit = self.credit.min(4.0);
        wrote
    }

    /// Verbatim repeats of the last segments before index `covered` that are not yet protected enough, newest first.
    fn fill_repeats(&mut self, packet: &mut OutgoingPacket<'_>, covered: usize) -> usize {
        let mut wrote = 0;
        let wanted = protections_wanted(packet.loss);
        let from = covered.saturating_sub(SPAN);
        for index in (from..covered).rev() {
            let seq = self.base.wrapping_add(index as u32);
            let segment = &mut self.segments[index];
            if segment.acked
                || segment.last_packet == packet.number
                || segment.protections >= wanted
            {
                continue;
            }
            if !packet.try_segment(self.channel, seq, &segment.payload) {
                break;
            }
            segment.protections = segment.protections.saturating_add(1);
            segment.last_packet = packet.number;
            wrote += segment.payload.len();
        }
        wrote
    }

    fn schedule_flush(&mut self, now: Duration, loss: f32) {
        let wanted = protections_wanted(loss);
        let thin = self
            .segments
            .iter()
            .rev()
            .take(SPAN)
            .any(|s| !s.acked && s.protections < wanted);
        self.flush_at = thin.then_some(now + FLUSH_AFTER);
    }

    /// A segment arrived in a packet. Calls `done(message)` for each of its messages.
    pub fn on_acked(&mut self, seq: u32, buffers: &mut Buffers, mut done: impl FnMut(u64)) {
        let index = seq.wrapping_sub(self.base) as usize;
        let Some(segment) = self.segments.get_mut(index) else {
            return;
        };
        if segment.acked {
            return;
        }
        segment.acked = true;
        if segment.lost {
            segment.lost = false;
            self.lost -= 1;
        }
        if self.report {
            (segment.first_message..segment.first_message + u64::from(segment.messages))
                .for_each(&mut done);
        }
        // Acknowledged ones stay while an older one is missing: repairs may span them.
        while self.segments.front().is_some_and(|s| s.acked) {
            if let Some(segment) = self.segments.pop_front() {
                self.queued -= segment.payload.len();
                buffers.put(segment.payload);
            }
            self.base = self.base.wrapping_add(1);
        }
        if self.segments.is_empty() {
            self.flush_at = None;
            self.flush_now = false;
        }
    }

    /// The other end has everything before `next`. Returns whether that is believable.
    pub fn on_status(
        &mut self,
        next: u16,
        buffers: &mut Buffers,
        mut done: impl FnMut(u64),
    ) -> bool {
        let next = expand_seq(self.base, next);
        let ahead = next.wrapping_sub(self.base);
        if ahead as i32 <= 0 {
            return true;
        }
        if ahead as usize > self.segments.len() {
            return false;
        }
        // One step may go further than one segment, past `next` even, where later ones were acknowledged before.
        while next.wrapping_sub(self.base) as i32 > 0 {
            self.on_acked(self.base, buffers, &mut done);
        }
        true
    }

    /// The packet that carried a segment last is presumed lost.
    pub fn on_lost(&mut self, seq: u32, packet: u64) {
        let index = seq.wrapping_sub(self.base) as usize;
        if let Some(segment) = self.segments.get_mut(index)
            && !segment.acked
            && !segment.lost
            && segment.last_packet == packet
        {
            segment.lost = true;
            self.lost += 1;
        }
    }

    /// A block is complete at the other end.
    pub fn on_blocks_changed(&mut self) {
        let oldest = self.blocks.oldest();
        while let Some(&(_, block)) = self.block_refs.front() {
            let open = oldest.is_some_and(|o| block.wrapping_sub(o) as i32 >= 0);
            if open {
                break;
            }
            self.block_refs.pop_front();
        }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.queued_bytes() + self.segments.len() * 64
    }

    /// The other end holds an ordered channel's segments while a block before them is missing: do not flood it.
    fn window_open(&self) -> bool {
        let next = self.base.wrapping_add(self.segments.len() as u32);
        let oldest = self.block_refs.front().map_or(self.base, |&(seq, _)| {
            if seq.wrapping_sub(self.base) as i32 >= 0 {
                self.base
            } else {
                seq
            }
        });
        next.wrapping_sub(oldest) < WINDOW
    }
}

/// How many repairs ride on each packet with new messages.
fn repairs_per_packet(loss: f32) -> f32 {
    (1.0 + 10.0 * loss).min(3.5)
}

/// In how many further packets a message should be protected.
fn protections_wanted(loss: f32) -> u8 {
    let mut chance = loss;
    let mut wanted = 0;
    while chance > RESIDUAL && wanted < 6 {
        chance *= loss;
        wanted += 1;
    }
    wanted
}

fn write_varint(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sent::Carried;
    use samestep_wire::Delivery;

    fn sender_with(segments: u64) -> (ReliableSender, Buffers) {
        let config = ChannelConfig::new(Delivery::ReliableOrdered);
        let (mut sender, mut buffers) = (ReliableSender::new(0, &config), Buffers::default());
        for packet in 0..segments {
            sender.send(b"message", &mut buffers).unwrap();
            let mut bytes = [0; 1200];
            let mut packet = OutgoingPacket::of_test(packet, 0.1, &mut bytes);
            sender.fill(&mut packet, &mut buffers);
            assert!(packet.w.finish() > 0);
        }
        (sender, buffers)
    }

    #[test]
    fn a_status_settles_nothing_beyond_it() {
        let (mut sender, mut buffers) = sender_with(6);
        for seq in [1, 2] {
            sender.on_acked(seq, &mut buffers, |_| ());
        }
        // Segment 0 was restored; 1 and 2 were known. 3, 4 and 5 are still under way.
        assert!(sender.on_status(1, &mut buffers, |_| ()));
        assert_eq!((sender.base, sender.segments.len()), (3, 3));
        assert!(sender.on_status(2, &mut buffers, |_| ()));
        assert_eq!(sender.segments.len(), 3);
        assert!(
            !sender.on_status(7, &mut buffers, |_| ()),
            "7 was never sent"
        );
    }

    #[test]
    fn lost_segments_are_sent_again_until_acknowledged() {
        let (mut sender, mut buffers) = sender_with(3);
        sender.on_lost(1, 1);
        assert!(sender.wants());
        let mut bytes = [0; 1200];
        let mut packet = OutgoingPacket::of_test(9, 0.0, &mut bytes);
        sender.fill(&mut packet, &mut buffers);
        assert_eq!(packet.carried, [Carried::Segment { channel: 0, seq: 1 }]);
        // The first packet's fate no longer matters: another carries it now.
        sender.on_lost(1, 1);
        assert!(!sender.wants());
        for seq in 0..3 {
            sender.on_acked(seq, &mut buffers, |_| ());
        }
        assert!(sender.is_idle());
    }
}
