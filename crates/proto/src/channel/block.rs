//! Blocks: messages too long for a segment, cut into chunks and sent beside everything else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::channel::OutgoingPacket;
use crate::sent::Carried;

/// Bytes of a chunk; only the last one of a block is shorter.
pub const CHUNK_BYTES: usize = 1100;
/// Chunks beyond the oldest missing one that may be under way, over all blocks of a channel.
const WINDOW_CHUNKS: u64 = 16_384;
/// Blocks under way at once on a channel.
const WINDOW_BLOCKS: usize = 128;
/// Blocks longer than this wait for everything else.
const BACKGROUND_BYTES: usize = 64 << 10;

fn chunks(len: usize) -> u32 {
    len.div_ceil(CHUNK_BYTES) as u32
}

#[derive(Debug)]
struct Outgoing {
    message: u64,
    data: Vec<u8>,
    /// Next chunk never sent.
    next: u32,
    acked: Vec<u64>,
    acked_count: u32,
    lost: BTreeSet<u32>,
}

impl Outgoing {
    fn is_done(&self) -> bool {
        self.acked_count == chunks(self.data.len())
    }

    fn is_acked(&self, index: u32) -> bool {
        self.acked[index as usize / 64] >> (index % 64) & 1 != 0
    }
}

/// The sending side of a channel's blocks.
#[derive(Debug)]
pub struct BlockSender {
    channel: u8,
    /// Number of the first block in the list.
    first: u32,
    blocks: VecDeque<Outgoing>,
    bytes: usize,
    /// Position in `blocks` from which new chunks are taken.
    fresh: usize,
    under_way: u64,
}

impl BlockSender {
    /// For the channel at this index.
    pub fn new(channel: u8) -> Self {
        Self {
            channel,
            first: 0,
            blocks: VecDeque::new(),
            bytes: 0,
            fresh: 0,
            under_way: 0,
        }
    }

    /// Takes a message; returns the block's number.
    pub fn push(&mut self, message: u64, data: Vec<u8>) -> u32 {
        let words = chunks(data.len()).div_ceil(64) as usize;
        self.bytes += data.len();
        self.blocks.push_back(Outgoing {
            message,
            data,
            next: 0,
            acked: vec![0; words],
            acked_count: 0,
            lost: BTreeSet::new(),
        });
        self.first.wrapping_add(self.blocks.len() as u32 - 1)
    }

    /// Bytes of blocks not yet wholly acknowledged.
    pub fn queued_bytes(&self) -> usize {
        self.bytes
    }

    /// Whether all blocks are acknowledged.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The oldest block not yet wholly acknowledged.
    pub fn oldest(&self) -> Option<u32> {
        (!self.blocks.is_empty()).then_some(self.first)
    }

    /// Whether there is something to send, of the long or of the short blocks.
    pub fn wants(&self, background: bool) -> bool {
        self.candidate(background).is_some()
    }

    /// Writes chunks while they fit. Returns the bytes written again.
    pub fn fill(&mut self, background: bool, packet: &mut OutgoingPacket<'_>) -> usize {
        let mut resent = 0;
        while let Some((position, index)) = self.candidate(background) {
            let block = &mut self.blocks[position];
            let from = index as usize * CHUNK_BYTES;
            let to = (from + CHUNK_BYTES).min(block.data.len());
            let number = self.first.wrapping_add(position as u32);
            let (total, piece) = (block.data.len(), &block.data[from..to]);
            let w = &mut packet.w;
            if !w.try_chunk(self.channel, number, total, index, piece) {
                break;
            }
            packet.carried.push(Carried::Chunk {
                channel: self.channel,
                block: number,
                index,
            });
            if block.lost.remove(&index) {
                resent += to - from;
            } else {
                block.next += 1;
                self.under_way += 1;
                if block.next == chunks(block.data.len()) && position == self.fresh {
                    self.fresh += 1;
                }
            }
        }
        resent
    }

    /// The next chunk to send: lost ones first, oldest block first.
    fn candidate(&self, background: bool) -> Option<(usize, u32)> {
        if self.blocks.is_empty() {
            return None;
        }
        let fits = |b: &Outgoing| (b.data.len() > BACKGROUND_BYTES) == background;
        let reach = (self.fresh + 1).min(self.blocks.len()).min(WINDOW_BLOCKS);
        for (position, block) in self.blocks.iter().take(reach).enumerate() {
            if let Some(&index) = block.lost.first()
                && fits(block)
            {
                return Some((position, index));
            }
        }
        let block = self.blocks.get(self.fresh).filter(|b| fits(b))?;
        (self.fresh < WINDOW_BLOCKS && self.under_way < WINDOW_CHUNKS)
            .then_some((self.fresh, block.next))
    }

    /// A chunk arrived. Calls `done(message)` for each block that is complete.
    pub fn on_acked(&mut self, number: u32, index: u32, mut done: impl FnMut(u64)) {
        let position = number.wrapping_sub(self.first) as usize;
        let Some(block) = self.blocks.get_mut(position) else {
            return;
        };
        if block.is_acked(index) {
            return;
        }
        block.acked[index as usize / 64] |= 1 << (index % 64);
        block.acked_count += 1;
        block.lost.remove(&index);
        self.under_way -= 1;
        if block.is_done() {
            done(block.message);
        }
        while self.blocks.front().is_some_and(Outgoing::is_done) {
            if let Some(block) = self.blocks.pop_front() {
                self.bytes -= block.data.len();
            }
            self.first = self.first.wrapping_add(1);
            self.fresh = self.fresh.saturating_sub(1);
        }
    }

    /// A chunk must be sent again.
    pub fn on_lost(&mut self, number: u32, index: u32) {
        let position = number.wrapping_sub(self.first) as usize;
        if let Some(block) = self.blocks.get_mut(position)
            && !block.is_acked(index)
        {
            block.lost.insert(index);
        }
    }
}

#[derive(Debug, Default)]
struct Incoming {
    total: usize,
    /// Kept apart until all are there: memory follows what has arrived, not what is announced.
    chunks: BTreeMap<u32, Box<[u8]>>,
    taken: bool,
}

impl Incoming {
    fn is_complete(&self) -> bool {
        self.total > 0 && self.chunks.len() == chunks(self.total) as usize
    }
}

/// The receiving side of a channel's blocks.
#[derive(Debug)]
pub struct BlockReceiver {
    max_message: usize,
    /// Number of the first block in the list; those before are done.
    first: u32,
    blocks: VecDeque<Incoming>,
    bytes: usize,
}

impl BlockReceiver {
    /// For blocks up to this length.
    pub fn new(max_message: usize) -> Self {
        Self {
            max_message,
            first: 0,
            blocks: VecDeque::new(),
            bytes: 0,
        }
    }

    /// A chunk arrived. Returns whether it completed its block.
    pub fn on_chunk(
        &mut self,
        number: u32,
        total: usize,
        index: u32,
        payload: &[u8],
    ) -> Result<bool, &'static str> {
        let position = number.wrapping_sub(self.first);
        if position as i32 <= -1 {
            return Ok(false);
        }
        let position = position as usize;
        if position >= 2 * WINDOW_BLOCKS {
            return Err("too many blocks at once");
        }
        let from = index as usize * CHUNK_BYTES;
        if total == 0 || total > self.max_message || from >= total {
            return Err("chunk outside its block");
        }
        if payload.len() != CHUNK_BYTES.min(total - from) {
            return Err("chunk of a wrong length");
        }
        while self.blocks.len() <= position {
            self.blocks.push_back(Incoming::default());
        }
        let block = &mut self.blocks[position];
        if block.total == 0 {
            block.total = total;
        } else if block.total != total {
            return Err("block changed its length");
        }
        if block.taken || block.chunks.contains_key(&index) {
            return Ok(false);
        }
        block.chunks.insert(index, payload.into());
        self.bytes += payload.len();
        Ok(block.is_complete())
    }

    /// Takes out a block if it is complete.
    pub fn take(&mut self, number: u32) -> Option<Vec<u8>> {
        let block = self
            .blocks
            .get_mut(number.wrapping_sub(self.first) as usize)?;
        if block.taken || !block.is_complete() {
            return None;
        }
        block.taken = true;
        self.bytes -= block.total;
        let mut data = Vec::with_capacity(block.total);
        for chunk in core::mem::take(&mut block.chunks).into_values() {
            data.extend_from_slice(&chunk);
        }
        while self.blocks.front().is_some_and(|b| b.taken) {
            self.blocks.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        Some(data)
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        let chunks: usize = self.blocks.iter().map(|b| b.chunks.len()).sum();
        self.bytes + chunks * 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Frame, Frames};

    #[test]
    fn blocks_arrive_whole_through_loss() {
        let mut sender = BlockSender::new(0);
        let mut receiver = BlockReceiver::new(1 << 20);
        let data: Vec<Vec<u8>> = [1, 1100, 1101, 70_000, 300_000]
            .iter()
            .map(|&n| (0..n).map(|i| (i % 251) as u8).collect())
            .collect();
        for (i, d) in data.iter().enumerate() {
            assert_eq!(sender.push(i as u64, d.clone()), i as u32);
        }
        let mut got = vec![Vec::new(); data.len()];
        let mut done = Vec::new();
        let mut step = 0u32;
        while !sender.is_empty() {
            let mut bytes = [0; 1200];
            let mut packet = OutgoingPacket::of_test(0, 0.0, &mut bytes);
            sender.fill(false, &mut packet);
            sender.fill(true, &mut packet);
            let (len, carried) = (packet.w.finish(), packet.carried);
            step += 1;
            let lost = step.is_multiple_of(5);
            let mut frames = Frames::new(&bytes[..len], 0, 0);
            while let Some(Frame::Chunk {
                block,
                total,
                index,
                payload,
                ..
            }) = frames.next().unwrap()
            {
                if !lost && receiver.on_chunk(block, total, index, payload).unwrap() {
                    got[block as usize] = receiver.take(block).unwrap();
                }
            }
            for c in carried {
                let Carried::Chunk { block, index, .. } = c else {
                    panic!()
                };
                if lost {
                    sender.on_lost(block, index)
                } else {
                    sender.on_acked(block, index, |m| done.push(m))
                }
            }
        }
        assert_eq!(got, data);
        done.sort_unstable();
        assert_eq!(done, [0, 1, 2, 3, 4]);
        assert_eq!((receiver.memory_bytes(), sender.queued_bytes()), (0, 0));
    }

    #[test]
    fn hostile_chunks_are_refused() {
        let mut receiver = BlockReceiver::new(1 << 20);
        assert!(receiver.on_chunk(0, 0, 0, b"").is_err());
        assert!(receiver.on_chunk(0, 2 << 20, 0, &[0; CHUNK_BYTES]).is_err());
        assert!(receiver.on_chunk(0, 100, 1, &[0; 100]).is_err());
        assert!(receiver.on_chunk(0, 5000, 0, &[0; 100]).is_err());
        assert!(receiver.on_chunk(5000, 100, 0, &[0; 100]).is_err());
        assert_eq!(receiver.on_chunk(0, 2000, 0, &[0; CHUNK_BYTES]), Ok(false));
        assert!(receiver.on_chunk(0, 3000, 1, &[0; CHUNK_BYTES]).is_err());
    }
}
