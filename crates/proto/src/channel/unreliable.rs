//! Messages sent once: plain and sequenced, in fragments when they do not fit a packet.

use core::time::Duration;
use std::collections::VecDeque;

use crate::buffers::Buffers;
use crate::channel::{Channel, OutgoingPacket};
use crate::config::ChannelConfig;
use crate::event::Outcome;
use crate::id::ChannelId;
use crate::inbox::Inbox;
use crate::packet::{Frame, expand_seq};
use crate::received::REPLAY_WINDOW;
use crate::sent::{Carried, Fate};
use crate::stats::Stats;

/// What a message costs its queue beside its bytes: empty ones take room too.
pub const MESSAGE_OVERHEAD: usize = 16;
/// Incomplete messages kept per channel.
const MAX_PARTIAL: usize = 32;
/// Messages in several packets whose fate is awaited; of more, the oldest go unreported.
const MAX_SCATTERED: usize = 256;
/// A fragment smaller than this is not worth its header: the rest of the packet stays empty.
const MIN_FRAGMENT: usize = 200;

/// Messages that are sent once: plain or sequenced.
#[derive(Debug)]
pub struct Unreliable {
    sender: UnreliableSender,
    receiver: UnreliableReceiver,
}

impl Unreliable {
    /// For the channel at this index.
    pub fn new(index: u8, config: &ChannelConfig) -> Self {
        Self {
            sender: UnreliableSender::new(index, config),
            receiver: UnreliableReceiver::new(index, config),
        }
    }
}

impl Channel for Unreliable {
    fn send(
        &mut self,
        now: Duration,
        payload: &[u8],
        buffers: &mut Buffers,
        stats: &mut Stats,
    ) -> Option<u64> {
        let (id, dropped) = self.sender.send(now, payload, buffers);
        stats.messages_dropped += dropped;
        Some(id)
    }

    fn wants(&self) -> bool {
        !self.sender.is_idle()
    }

    fn fill(&mut self, packet: &mut OutgoingPacket<'_>, buffers: &mut Buffers) -> usize {
        self.sender.fill(packet, buffers);
        0
    }

    fn on_frame(
        &mut self,
        packet: u64,
        frame: Frame<'_>,
        _: &mut Buffers,
        inbox: &mut Inbox,
        stats: &mut Stats,
    ) -> Result<(), &'static str> {
        stats.messages_outdated += match frame {
            Frame::Message { seq, payload, .. } => self.receiver.on_message(seq, payload, inbox)?,
            Frame::Fragment {
                seq,
                total,
                offset,
                payload,
                ..
            } => self
                .receiver
                .on_fragment(packet, seq, total, offset, payload, inbox)?,
            _ => return Err("content of the wrong kind for its channel"),
        };
        Ok(())
    }

    fn on_fate(&mut self, fate: &Fate, _: &mut Buffers, report: &mut dyn FnMut(u64, Outcome)) {
        match (fate.carried, fate.arrived) {
            (Carried::Message { id, .. }, true) => report(id, Outcome::Acked),
            (Carried::Message { id, .. }, false) => report(id, Outcome::Lost),
            (Carried::Fragment { id, .. }, arrived) => {
                if let Some(outcome) = self.sender.on_part_settled(id, arrived) {
                    report(id, outcome);
                }
            }
            (Carried::Segment { .. } | Carried::Chunk { .. }, _) => {}
        }
    }

    fn drop_stale(&mut self, now: Duration, buffers: &mut Buffers) -> u64 {
        self.sender.drop_stale(now, buffers)
    }

    fn queued_bytes(&self) -> usize {
        self.sender.queued_bytes()
    }

    fn is_settled(&self) -> bool {
        self.sender.is_idle()
    }

    fn memory_bytes(&self) -> usize {
        self.sender.queued_bytes() + self.receiver.memory_bytes()
    }
}

#[derive(Debug)]
struct Outgoing {
    id: u64,
    at: Duration,
    /// Bytes already sent in fragments.
    offset: usize,
    payload: Vec<u8>,
}

/// A message sent in several packets whose fate is to be reported.
#[derive(Debug)]
struct Scattered {
    id: u64,
    /// Parts under way.
    parts: u32,
    all_sent: bool,
    /// A part is lost, and the loss has been reported.
    lost: bool,
}

/// The sending side.
#[derive(Debug)]
pub struct UnreliableSender {
    channel: u8,
    sequenced: bool,
    report: bool,
    queue_limit: usize,
    stale_after: Duration,
    queue: VecDeque<Outgoing>,
    scattered: VecDeque<Scattered>,
    queued: usize,
    next_id: u64,
}

impl UnreliableSender {
    /// For the channel at this index.
    pub fn new(channel: u8, config: &ChannelConfig) -> Self {
        Self {
            channel,
            sequenced: config.delivery.is_sequenced(),
            report: config.report,
            queue_limit: config.queue_limit,
            stale_after: config.stale_after,
            queue: VecDeque::new(),
            scattered: VecDeque::new(),
            queued: 0,
            next_id: 0,
        }
    }

    /// Queues a message; drops the oldest waiting ones if the queue is full. Returns its number and how many were dropped.
    pub fn send(&mut self, now: Duration, payload: &[u8], buffers: &mut Buffers) -> (u64, u64) {
        let mut dropped = 0;
        let cost = payload.len() + MESSAGE_OVERHEAD;
        while self.queued + cost > self.queue_limit {
            // What is half sent is finished, or its first half would have been sent for nothing.
            let oldest = usize::from(self.queue.front().is_some_and(|m| m.offset > 0));
            match self.queue.remove(oldest) {
                Some(old) => self.discard(old, buffers),
                None => break,
            }
            dropped += 1;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.queued += cost;
        self.queue.push_back(Outgoing {
            id,
            at: now,
            offset: 0,
            payload: buffers.copy(payload),
        });
        (id, dropped)
    }

    /// Drops what has waited too long; those partly sent are finished. Returns how many.
    pub fn drop_stale(&mut self, now: Duration, buffers: &mut Buffers) -> u64 {
        let mut dropped = 0;
        while let Some(front) = self.queue.front()
            && front.offset == 0
            && now.saturating_sub(front.at) > self.stale_after
            && let Some(old) = self.queue.pop_front()
        {
            self.discard(old, buffers);
            dropped += 1;
        }
        dropped
    }

    /// Writes as much as fits.
    pub fn fill(&mut self, packet: &mut OutgoingPacket<'_>, buffers: &mut Buffers) {
        let (w, carried) = (&mut packet.w, &mut packet.carried);
        while let Some(front) = self.queue.front_mut() {
            let total = front.payload.len();
            let seq = front.id as u16;
            let whole = front.offset == 0
                && w.try_message(self.channel, self.sequenced.then_some(seq), &front.payload);
            if !whole {
                // What would fit an empty packet waits for one; only what never fits is cut up.
                let never_fits = total + 64 > crate::config::MIN_PACKET;
                let room = w
                    .fragment_room(total, front.offset)
                    .min(total - front.offset);
                if !(never_fits || front.offset > 0)
                    || room < MIN_FRAGMENT.min(total - front.offset)
                {
                    return;
                }
                let part = &front.payload[front.offset..front.offset + room];
                if !w.try_fragment(self.channel, seq, total, front.offset, part) {
                    return;
                }
                front.offset += room;
                let (id, all_sent) = (front.id, front.offset == total);
                if self.report {
                    self.on_part_sent(id, all_sent);
                    carried.push(Carried::Fragment {
                        channel: self.channel,
                        id,
                    });
                }
                if !all_sent {
                    return;
                }
            } else if self.report {
                carried.push(Carried::Message {
                    channel: self.channel,
                    id: front.id,
                });
            }
            if let Some(done) = self.queue.pop_front() {
                self.discard(done, buffers);
            }
        }
    }

    /// Bytes waiting.
    pub fn queued_bytes(&self) -> usize {
        self.queued
    }

    /// Whether nothing waits.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    fn on_part_sent(&mut self, id: u64, all_sent: bool) {
        match self.scattered.back_mut().filter(|s| s.id == id) {
            Some(scattered) => {
                scattered.parts += 1;
                scattered.all_sent = all_sent;
            }
            None => {
                if self.scattered.len() == MAX_SCATTERED {
                    self.scattered.pop_front();
                }
                self.scattered.push_back(Scattered {
                    id,
                    parts: 1,
                    all_sent,
                    lost: false,
                });
            }
        }
    }

    /// The fate of one part of a message. Returns that of the whole once it is decided.
    pub fn on_part_settled(&mut self, id: u64, arrived: bool) -> Option<Outcome> {
        let position = self.scattered.iter().position(|s| s.id == id)?;
        let scattered = &mut self.scattered[position];
        scattered.parts -= 1;
        let reported = scattered.lost;
        scattered.lost |= !arrived;
        let complete = scattered.parts == 0 && scattered.all_sent;
        if complete {
            self.scattered.remove(position);
        }
        match (arrived, reported) {
            (_, true) => None,
            (false, false) => Some(Outcome::Lost),
            (true, false) => complete.then_some(Outcome::Acked),
        }
    }

    fn discard(&mut self, message: Outgoing, buffers: &mut Buffers) {
        self.queued -= message.payload.len() + MESSAGE_OVERHEAD;
        buffers.put(message.payload);
    }
}

#[derive(Debug)]
struct Partial {
    /// Number of the packet that brought its first part.
    begun: u64,
    seq: u16,
    total: usize,
    received: usize,
    data: Vec<u8>,
}

/// The receiving side.
#[derive(Debug)]
pub struct UnreliableReceiver {
    channel: ChannelId,
    sequenced: bool,
    max_message: usize,
    /// Number of the next message expected, on sequenced channels.
    next: u32,
    partial: VecDeque<Partial>,
}

impl UnreliableReceiver {
    /// For the channel at this index.
    pub fn new(channel: u8, config: &ChannelConfig) -> Self {
        Self {
            channel: ChannelId(channel),
            sequenced: config.delivery.is_sequenced(),
            max_message: config.max_message,
            next: 0,
            partial: VecDeque::new(),
        }
    }

    /// A whole message arrived. Returns how many messages were dropped as outdated.
    pub fn on_message(
        &mut self,
        seq: Option<u16>,
        payload: &[u8],
        inbox: &mut Inbox,
    ) -> Result<u64, &'static str> {
        if payload.len() > self.max_message {
            return Err("message longer than the channel allows");
        }
        if !self.is_current(seq) {
            return Ok(1);
        }
        inbox.push(self.channel, payload);
        Ok(0)
    }

    /// A part of a message arrived. Returns how many messages were dropped: outdated ones, and incomplete ones to make room.
    ///
    /// `packet`: the number of the packet that carried it.
    pub fn on_fragment(
        &mut self,
        packet: u64,
        seq: u16,
        total: usize,
        offset: usize,
        payload: &[u8],
        inbox: &mut Inbox,
    ) -> Result<u64, &'static str> {
        let end = offset + payload.len();
        if total > self.max_message || end > total || payload.is_empty() {
            return Err("fragment outside its message");
        }
        // The missing parts of older ones would be refused, and their numbers come round.
        let before = self.partial.len();
        self.partial
            .retain(|p| packet.abs_diff(p.begun) <= REPLAY_WINDOW);
        let mut dropped = (before - self.partial.len()) as u64;
        let position = match self
            .partial
            .iter()
            .position(|p| p.seq == seq && p.total == total)
        {
            Some(position) => position,
            None => {
                if self.partial.len() == MAX_PARTIAL {
                    self.partial.pop_front();
                    dropped += 1;
                }
                self.partial.push_back(Partial {
                    begun: packet,
                    seq,
                    total,
                    received: 0,
                    data: Vec::new(),
                });
                self.partial.len() - 1
            }
        };
        let partial = &mut self.partial[position];
        if partial.data.len() < end {
            // Grows with what has arrived, not with what is announced.
            partial.data.resize(end, 0);
        }
        partial.data[offset..end].copy_from_slice(payload);
        partial.received += payload.len();
        if partial.received >= total
            && partial.data.len() == total
            && let Some(done) = self.partial.remove(position)
        {
            if self.is_current(self.sequenced.then_some(seq)) {
                inbox.push_block(self.channel, done.data);
            } else {
                dropped += 1;
            }
        }
        Ok(dropped)
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.partial.iter().map(|p| p.data.capacity()).sum()
    }

    fn is_current(&mut self, seq: Option<u16>) -> bool {
        let (true, Some(seq)) = (self.sequenced, seq) else {
            return true;
        };
        let seq = expand_seq(self.next, seq);
        let newer = seq.wrapping_sub(self.next) as i32 >= 0;
        if newer {
            self.next = seq.wrapping_add(1);
        }
        newer
    }
}

#[cfg(test)]
mod tests {
    use samestep_wire::Delivery;

    use super::*;
    use crate::packet::Frames;

    fn transfer(delivery: Delivery, messages: &[Vec<u8>], reverse: bool) -> (Vec<Vec<u8>>, u64) {
        let config = ChannelConfig::new(delivery);
        let mut sender = UnreliableSender::new(0, &config);
        let mut receiver = UnreliableReceiver::new(0, &config);
        let (mut buffers, mut inbox) = (Buffers::default(), Inbox::default());
        for message in messages {
            sender.send(Duration::ZERO, message, &mut buffers);
        }
        let mut packets = Vec::new();
        while !sender.is_idle() {
            let mut bytes = vec![0; 1150];
            let mut packet = OutgoingPacket::of_test(0, 0.0, &mut bytes);
            sender.fill(&mut packet, &mut buffers);
            let len = packet.w.finish();
            assert!(len > 0);
            bytes.truncate(len);
            packets.push(bytes);
        }
        if reverse {
            packets.reverse();
        }
        let mut dropped = 0;
        for packet in &packets {
            let mut frames = Frames::new(packet, 0, u32::from(delivery.is_sequenced()));
            while let Some(frame) = frames.next().unwrap() {
                dropped += match frame {
                    Frame::Message { seq, payload, .. } => {
                        receiver.on_message(seq, payload, &mut inbox).unwrap()
                    }
                    Frame::Fragment {
                        seq,
                        total,
                        offset,
                        payload,
                        ..
                    } => receiver
                        .on_fragment(0, seq, total, offset, payload, &mut inbox)
                        .unwrap(),
                    _ => panic!(),
                };
            }
        }
        let mut got = Vec::new();
        while let Some((_, payload)) = inbox.pop() {
            got.push(payload.to_vec());
        }
        (got, dropped)
    }

    fn messages() -> Vec<Vec<u8>> {
        [0, 1, 500, 1140, 1200, 5000, 60_000, 3]
            .iter()
            .map(|&n| (0..n).map(|i| (i * 7) as u8).collect())
            .collect()
    }

    #[test]
    fn any_size_arrives_whole() {
        assert_eq!(
            transfer(Delivery::Unreliable, &messages(), false),
            (messages(), 0)
        );
        assert_eq!(
            transfer(Delivery::UnreliableSequenced, &messages(), false),
            (messages(), 0)
        );
        let mut got = transfer(Delivery::Unreliable, &messages(), true).0;
        got.sort();
        let mut sent = messages();
        sent.sort();
        assert_eq!(got, sent);
    }

    #[test]
    fn sequenced_never_goes_back() {
        let messages: Vec<Vec<u8>> = (0..20u8).map(|i| vec![i; 1000]).collect();
        let (got, dropped) = transfer(Delivery::UnreliableSequenced, &messages, true);
        assert_eq!((got, dropped), (vec![vec![19; 1000]], 19));
    }

    #[test]
    fn full_and_stale_queues_drop_the_oldest() {
        let mut config = ChannelConfig::new(Delivery::Unreliable);
        config.queue_limit = 1160;
        let mut sender = UnreliableSender::new(0, &config);
        let mut buffers = Buffers::default();
        let dropped: u64 = (0..20)
            .map(|_| sender.send(Duration::ZERO, &[0; 100], &mut buffers).1)
            .sum();
        assert_eq!((dropped, sender.queued_bytes()), (10, 1160));
        assert_eq!(
            sender.drop_stale(Duration::from_millis(101), &mut buffers),
            10
        );
        assert!(sender.is_idle());
    }

    #[test]
    fn hostile_fragments_stay_small() {
        let config = ChannelConfig::new(Delivery::Unreliable);
        let mut receiver = UnreliableReceiver::new(0, &config);
        let mut inbox = Inbox::default();
        assert!(
            receiver
                .on_fragment(0, 0, 1 << 29, 0, b"x", &mut inbox)
                .is_err()
        );
        assert!(
            receiver
                .on_fragment(0, 0, 10, 8, b"xyz", &mut inbox)
                .is_err()
        );
        for seq in 0..1000 {
            receiver
                .on_fragment(0, seq, 60_000, 59_000, b"x", &mut inbox)
                .unwrap();
        }
        assert!(receiver.memory_bytes() <= MAX_PARTIAL * 128 * 1024);
    }
}
