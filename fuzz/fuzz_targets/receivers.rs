//! The receiving sides of channels, fed with content no sender would send: refused or delivered, in bounded memory.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use samestep_proto::fuzzing::{Buffers, Inbox, ReliableReceiver, UnreliableReceiver};
use samestep_proto::{ChannelConfig, Delivery, LossRecovery};

const MAX_MESSAGE: usize = 20_000;

#[derive(Arbitrary, Debug)]
enum Op<'a> {
    Message {
        seq: Option<u16>,
        payload: &'a [u8],
    },
    Fragment {
        /// Packets since the last one.
        later: u8,
        seq: u8,
        total: u16,
        offset: u16,
        payload: &'a [u8],
    },
    Segment {
        seq: u16,
        payload: &'a [u8],
    },
    /// A segment with well-formed messages, or references to blocks.
    Items {
        seq: u16,
        messages: Vec<Result<&'a [u8], u8>>,
    },
    Repair {
        first: u16,
        count: u8,
        key: u8,
        payload: &'a [u8],
    },
    Chunk {
        block: u8,
        total: u16,
        index: u8,
        fill: u8,
    },
    RawChunk {
        block: u32,
        total: u32,
        index: u32,
        payload: &'a [u8],
    },
    Read,
}

fn segment(items: &[Result<&[u8], u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for item in items {
        match item {
            Ok(payload) if payload.len() < 64 => {
                bytes.push(payload.len() as u8 * 2);
                bytes.extend_from_slice(payload);
            }
            Ok(_) => {}
            Err(block) => bytes.push(block % 64 * 2 + 1),
        }
    }
    bytes
}

fn unreliable(delivery: Delivery, ops: &[Op<'_>]) {
    let mut config = ChannelConfig::new(delivery);
    config.max_message = MAX_MESSAGE;
    let mut receiver = UnreliableReceiver::new(0, &config);
    let mut inbox = Inbox::default();
    let mut packet = 0;
    for op in ops {
        let fate = match *op {
            Op::Message { seq, payload } => {
                let seq = seq.filter(|_| delivery.is_sequenced());
                receiver.on_message(seq, payload, &mut inbox)
            }
            Op::Fragment {
                later,
                seq,
                total,
                offset,
                payload,
            } => {
                packet += u64::from(later) * 8;
                receiver.on_fragment(
                    packet,
                    u16::from(seq),
                    usize::from(total),
                    usize::from(offset),
                    payload,
                    &mut inbox,
                )
            }
            _ => {
                while inbox.pop().is_some() {}
                Ok(0)
            }
        };
        if fate.is_err() {
            return;
        }
        // 32 unfinished messages; a buffer grows by doubling.
        assert!(receiver.memory_bytes() <= 32 * 2 * MAX_MESSAGE);
    }
    while let Some((_, message)) = inbox.pop() {
        assert!(message.len() <= MAX_MESSAGE);
    }
}

fn reliable(delivery: Delivery, recovery: LossRecovery, ops: &[Op<'_>]) {
    let mut config = ChannelConfig::new(delivery).recovery(recovery);
    config.max_message = MAX_MESSAGE;
    let mut receiver = ReliableReceiver::new(0, &config);
    let (mut buffers, mut inbox) = (Buffers::default(), Inbox::default());
    for op in ops {
        let (buffers, inbox) = (&mut buffers, &mut inbox);
        let fate = match op {
            Op::Segment { seq, payload } if payload.len() <= 1100 => {
                receiver.on_segment(*seq, payload, buffers, inbox).map(drop)
            }
            Op::Items { seq, messages } => receiver
                .on_segment(*seq, &segment(messages), buffers, inbox)
                .map(drop),
            Op::Repair {
                first,
                count,
                key,
                payload,
            } => receiver
                .on_repair(*first, usize::from(*count), *key, payload, buffers, inbox)
                .map(drop),
            Op::Chunk {
                block,
                total,
                index,
                fill,
            } => {
                let total = usize::from(*total) % (MAX_MESSAGE + 1);
                let from = usize::from(*index) * 1100;
                let len = total.saturating_sub(from).min(1100);
                let payload = vec![*fill; len];
                receiver.on_chunk(
                    u32::from(*block),
                    total,
                    u32::from(*index),
                    &payload,
                    buffers,
                    inbox,
                )
            }
            Op::RawChunk {
                block,
                total,
                index,
                payload,
            } => receiver.on_chunk(*block, *total as usize, *index, payload, buffers, inbox),
            _ => {
                while inbox.pop().is_some() {}
                Ok(())
            }
        };
        if fate.is_err() {
            return;
        }
        let _ = receiver.poll_status();
        // A window of segments, and the blocks a connection lets be unfinished.
        assert!(receiver.memory_bytes() <= 1100 * 2 * 1024 + 256 * (MAX_MESSAGE + 64) + (64 << 10));
    }
    while let Some((_, message)) = inbox.pop() {
        assert!(message.len() <= MAX_MESSAGE);
    }
}

fuzz_target!(|input: (u8, bool, Vec<Op<'_>>)| {
    let (which, resends, ops) = input;
    let delivery = Delivery::ALL[usize::from(which) % Delivery::ALL.len()];
    let recovery = match (delivery.is_redundant(), resends) {
        (true, _) => LossRecovery::Repeat,
        (false, true) => LossRecovery::Retransmit,
        (false, false) => LossRecovery::Fec,
    };
    match delivery.is_reliable() {
        true => reliable(delivery, recovery, &ops),
        false => unreliable(delivery, &ops),
    }
});
