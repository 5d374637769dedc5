//! Received messages waiting to be read.

use std::collections::VecDeque;

use crate::id::ChannelId;

/// Messages in the order they became readable.
#[derive(Debug, Default)]
pub struct Inbox {
    messages: VecDeque<Waiting>,
    /// Bytes of the small messages, back to back.
    bytes: Vec<u8>,
    /// Where the unread part of `bytes` begins.
    start: usize,
    /// Long messages keep their own buffer.
    blocks: VecDeque<Vec<u8>>,
    current_block: Vec<u8>,
    waiting: usize,
}

/// A message that waits, without its bytes.
#[derive(Debug)]
struct Waiting {
    channel: ChannelId,
    len: usize,
    block: bool,
}

impl Inbox {
    /// Adds a message.
    pub fn push(&mut self, channel: ChannelId, payload: &[u8]) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start > self.bytes.len() / 2 && self.start > 4096 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(payload);
        self.messages.push_back(Waiting {
            channel,
            len: payload.len(),
            block: false,
        });
        self.waiting += payload.len();
    }

    /// Adds a long message without copying it.
    pub fn push_block(&mut self, channel: ChannelId, payload: Vec<u8>) {
        self.waiting += payload.len();
        self.messages.push_back(Waiting {
            channel,
            len: payload.len(),
            block: true,
        });
        self.blocks.push_back(payload);
    }

    /// Takes out the next message.
    pub fn pop(&mut self) -> Option<(ChannelId, &[u8])> {
        let entry = self.messages.pop_front()?;
        self.waiting -= entry.len;
        if entry.block {
            self.current_block = self.blocks.pop_front().unwrap_or_default();
            return Some((entry.channel, &self.current_block));
        }
        let from = self.start;
        self.start += entry.len;
        Some((entry.channel, &self.bytes[from..self.start]))
    }

    /// Bytes unread.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting + self.messages.len() * 8
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
            + self.current_block.capacity()
            + self.blocks.iter().map(Vec::capacity).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_memory_bounded() {
        let mut inbox = Inbox::default();
        for i in 0..100_000u32 {
            inbox.push(ChannelId(1), &i.to_le_bytes());
            if i % 100 == 7 {
                inbox.push_block(ChannelId(2), vec![7; 5000]);
            }
            while inbox.waiting_bytes() > 2000 {
                let (channel, payload) = inbox.pop().unwrap();
                assert_eq!(
                    payload.len(),
                    if channel == ChannelId(2) { 5000 } else { 4 }
                );
            }
        }
        assert!(inbox.memory_bytes() < 64 << 10);
    }
}
