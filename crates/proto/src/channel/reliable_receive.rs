//! The receiving side of a reliable channel: reorders segments, restores lost ones, hands out messages.

use std::collections::VecDeque;

use samestep_wire::BitReader;

use crate::buffers::Buffers;
use crate::channel::block::BlockReceiver;
use crate::channel::reliable_send::{SPAN, WINDOW};
use crate::config::{ChannelConfig, LossRecovery};
use crate::fec::{Decoder, MAX_SPAN};
use crate::id::ChannelId;
use crate::inbox::Inbox;
use crate::packet::expand_seq;

/// How often a status is repeated, as the packet that carries it may be lost.
const STATUS_REPEATS: u8 = 3;

/// What a segment or repair brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Segments received again.
    pub duplicates: u64,
    /// Segments restored from repairs.
    pub recovered: u64,
}

/// The receiver.
#[derive(Debug)]
pub struct ReliableReceiver {
    channel: ChannelId,
    ordered: bool,
    fec: bool,
    max_message: usize,
    /// First segment missing.
    next: u32,
    /// First segment not wholly handed out (ordered channels), and how many of its bytes were.
    cursor: u32,
    offset: usize,
    /// Segments from `start` on, `None` where missing. Those before the cursor are kept for decoding.
    slots: VecDeque<Option<Vec<u8>>>,
    start: u32,
    decoder: Decoder,
    status: u8,
    blocks: BlockReceiver,
    scratch: Vec<u8>,
}

impl ReliableReceiver {
    /// For the channel at this index.
    pub fn new(channel: u8, config: &ChannelConfig) -> Self {
        Self {
            channel: ChannelId(channel),
            ordered: config.delivery.is_ordered(),
            fec: config.recovery == LossRecovery::Fec,
            max_message: config.max_message,
            next: 0,
            cursor: 0,
            offset: 0,
            slots: VecDeque::new(),
            start: 0,
            decoder: Decoder::default(),
            status: 0,
            blocks: BlockReceiver::new(config.max_message),
            scratch: Vec::new(),
        }
    }

    /// A segment arrived.
    pub fn on_segment(
        &mut self,
        seq: u16,
        payload: &[u8],
        buffers: &mut Buffers,
        inbox: &mut Inbox,
    ) -> Result<Progress, &'static str> {
        let seq = expand_seq(self.next, seq);
        let mut progress = Progress::default();
        if seq.wrapping_sub(self.next) as i32 >= 0
            && seq.wrapping_sub(self.cursor.min_wrapping(self.next)) >= WINDOW
        {
            return Err("segment outside the window");
        }
        if self.has(seq) {
            progress.duplicates = 1;
            return Ok(progress);
        }
        let stored = buffers.copy(payload);
        self.store(seq, stored, buffers, inbox)?;
        if self.fec {
            progress.recovered = self.restore(buffers, inbox)?;
        }
        self.trim(buffers);
        Ok(progress)
    }

    /// A repair arrived.
    pub fn on_repair(
        &mut self,
        first: u16,
        count: usize,
        key: u8,
        payload: &[u8],
        buffers: &mut Buffers,
        inbox: &mut Inbox,
    ) -> Result<Progress, &'static str> {
        if !self.fec || count == 0 || count > MAX_SPAN || payload.len() < 2 {
            return Err("repair where none is agreed");
        }
        let first = expand_seq(self.next, first);
        let end = first.wrapping_add(count as u32);
        let mut progress = Progress::default();
        // All there: nothing to learn. Too old: what it combines is gone. Too new: a stray number.
        let all_there = self.next.wrapping_sub(end) as i32 >= 0;
        let reach = end.wrapping_sub(self.next);
        if all_there || first.wrapping_sub(self.start) as i32 <= -1 || reach > WINDOW {
            return Ok(progress);
        }
        let (start, slots) = (self.start, &self.slots);
        let known = |seq: u32| {
            slots
                .get(seq.wrapping_sub(start) as usize)
                .and_then(|s| s.as_deref())
        };
        self.decoder.insert(key, first, count, payload, known);
        progress.recovered = self.restore(buffers, inbox)?;
        self.trim(buffers);
        Ok(progress)
    }

    /// A piece of a block arrived.
    pub fn on_chunk(
        &mut self,
        block: u32,
        total: usize,
        index: u32,
        payload: &[u8],
        buffers: &mut Buffers,
        inbox: &mut Inbox,
    ) -> Result<(), &'static str> {
        if self.blocks.on_chunk(block, total, index, payload)? {
            if self.ordered {
                self.hand_out(inbox)?;
                self.trim(buffers);
            } else if let Some(data) = self.blocks.take(block) {
                inbox.push_block(self.channel, data);
            }
        }
        Ok(())
    }

    /// The status to send along, if it has changed in a way that acknowledgements do not imply.
    pub fn poll_status(&mut self) -> Option<u32> {
        if self.status == 0 {
            return None;
        }
        self.status -= 1;
        Some(self.next)
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        let slots: usize = self.slots.iter().flatten().map(Vec::capacity).sum();
        slots + self.slots.len() * 24 + self.blocks.memory_bytes() + self.decoder.memory_bytes()
    }

    /// Takes out what repairs can restore by now.
    fn restore(&mut self, buffers: &mut Buffers, inbox: &mut Inbox) -> Result<u64, &'static str> {
        let mut recovered = 0;
        let mut scratch = core::mem::take(&mut self.scratch);
        while let Some(seq) = self.decoder.poll_restored(&mut scratch) {
            let in_window = seq.wrapping_sub(self.start) < WINDOW + MAX_SPAN as u32;
            if in_window && !self.has(seq) {
                recovered += 1;
                self.status = STATUS_REPEATS;
                let stored = buffers.copy(&scratch);
                self.store(seq, stored, buffers, inbox)?;
            }
        }
        self.scratch = scratch;
        Ok(recovered)
    }

    fn has(&self, seq: u32) -> bool {
        let behind = self.next.wrapping_sub(seq) as i32 > 0;
        behind
            || self
                .slots
                .get(seq.wrapping_sub(self.start) as usize)
                .is_some_and(Option::is_some)
    }

    fn store(
        &mut self,
        seq: u32,
        segment: Vec<u8>,
        buffers: &mut Buffers,
        inbox: &mut Inbox,
    ) -> Result<(), &'static str> {
        if self.fec {
            self.decoder.on_known(seq, &segment);
        }
        if !self.ordered {
            self.hand_out_whole(&segment, inbox)?;
        }
        let index = seq.wrapping_sub(self.start) as usize;
        while self.slots.len() <= index {
            self.slots.push_back(None);
        }
        // Without decoding, an unordered channel needs to remember only that it was there.
        let keep = self.ordered || self.fec;
        self.slots[index] = Some(if keep {
            segment
        } else {
            buffers.put(segment);
            Vec::new()
        });
        while self
            .slots
            .get(self.next.wrapping_sub(self.start) as usize)
            .is_some_and(Option::is_some)
        {
            self.next = self.next.wrapping_add(1);
        }
        if self.ordered {
            self.hand_out(inbox)
        } else {
            Ok(())
        }
    }

    /// Hands out the messages of an ordered channel up to the first gap or unfinished block.
    fn hand_out(&mut self, inbox: &mut Inbox) -> Result<(), &'static str> {
        while self.cursor != self.next {
            let Some(Some(segment)) = self
                .slots
                .get(self.cursor.wrapping_sub(self.start) as usize)
            else {
                break;
            };
            while self.offset < segment.len() {
                match next_item(&segment[self.offset..])? {
                    (Item::Message(payload), used) => {
                        if payload.len() > self.max_message {
                            return Err("message longer than the channel allows");
                        }
                        inbox.push(self.channel, payload);
                        self.offset += used;
                    }
                    (Item::Block(block), used) => {
                        let Some(data) = self.blocks.take(block) else {
                            return Ok(());
                        };
                        inbox.push_block(self.channel, data);
                        self.offset += used;
                    }
                }
            }
            self.cursor = self.cursor.wrapping_add(1);
            self.offset = 0;
        }
        Ok(())
    }

    fn hand_out_whole(&mut self, segment: &[u8], inbox: &mut Inbox) -> Result<(), &'static str> {
        let mut rest = segment;
        while !rest.is_empty() {
            let (Item::Message(payload), used) = next_item(rest)? else {
                return Err("block reference on an unordered channel");
            };
            if payload.len() > self.max_message {
                return Err("message longer than the channel allows");
            }
            inbox.push(self.channel, payload);
            rest = &rest[used..];
        }
        Ok(())
    }

    /// Drops what neither delivery nor decoding needs any more.
    fn trim(&mut self, buffers: &mut Buffers) {
        if !self.ordered {
            self.cursor = self.next;
        }
        let history = if self.fec { SPAN as u32 } else { 0 };
        while self.cursor.wrapping_sub(self.start) > history {
            if let Some(Some(old)) = self.slots.pop_front() {
                buffers.put(old);
            }
            self.start = self.start.wrapping_add(1);
        }
    }
}

/// The earlier of two sequence numbers on the circle.
trait MinWrapping {
    fn min_wrapping(self, other: Self) -> Self;
}

impl MinWrapping for u32 {
    fn min_wrapping(self, other: u32) -> u32 {
        if self.wrapping_sub(other) as i32 <= 0 {
            self
        } else {
            other
        }
    }
}

enum Item<'a> {
    Message(&'a [u8]),
    Block(u32),
}

/// The first item of a segment, and its bytes.
fn next_item(segment: &[u8]) -> Result<(Item<'_>, usize), &'static str> {
    let malformed = |_| "segment does not parse";
    let mut r = BitReader::new(segment);
    let head = r.read_varint().map_err(malformed)?;
    let item = if head & 1 != 0 {
        Item::Block(u32::try_from(head >> 1).map_err(|_| "block number too large")?)
    } else {
        let len = usize::try_from(head >> 1).map_err(|_| "segment does not parse")?;
        Item::Message(r.read_bytes(len).map_err(malformed)?)
    };
    Ok((item, r.bit_len() / 8))
}
