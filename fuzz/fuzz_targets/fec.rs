//! Erasure coding: repairs that make no sense are harmless; honest ones, lost, late and in any order, restore exactly
//! what was sent.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use samestep_proto::fuzzing::{
    Buffers, Decoder, Inbox, ReliableReceiver, coefficient, combine, repair_len,
};
use samestep_proto::{ChannelConfig, Delivery};

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    Hostile(Vec<Hostile<'a>>),
    Honest(Vec<Honest>),
}

#[derive(Arbitrary, Debug)]
enum Hostile<'a> {
    Repair {
        key: u8,
        first: u16,
        count: u8,
        data: &'a [u8],
    },
    Known {
        seq: u16,
        data: &'a [u8],
    },
}

/// What the sender and the network do.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Honest {
    /// A new segment.
    Send { len: u8, way: Way },
    /// A repair over the last segments.
    Repair { span: u8, way: Way },
    /// An old segment again.
    Resend { back: u8, way: Way },
    /// Something late arrives.
    Arrive { which: u8 },
    /// The sender learns what has arrived, and forgets it.
    Acknowledge,
    /// Many new segments arrive.
    Run { segments: u8 },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Way {
    Arrives,
    Lost,
    Late,
}

fn hostile(ops: &[Hostile<'_>]) {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    for op in ops {
        match *op {
            Hostile::Repair {
                key,
                first,
                count,
                data,
            } if data.len() >= 2 => {
                let count = 1 + usize::from(count) % 32;
                let known = |seq: u32| (coefficient(3, seq) > 128).then_some(&[1, 2, 3][..]);
                decoder.insert(key, u32::from(first), count, data, known);
            }
            Hostile::Repair { .. } => {}
            Hostile::Known { seq, data } => decoder.on_known(u32::from(seq), data),
        }
        let mut restored = 0;
        while decoder.poll_restored(&mut out).is_some() {
            restored += 1;
            assert!(restored <= 64, "there are no more rows than that");
        }
        assert!(decoder.memory_bytes() < 64 * (64 + 8192));
    }
}

enum Packet {
    Segment(usize),
    Repair {
        first: usize,
        count: usize,
        key: u8,
        data: Vec<u8>,
    },
}

struct Stream {
    segments: Vec<Vec<u8>>,
    /// The oldest segment the sender still has.
    base: usize,
    key: u8,
    late: Vec<Packet>,
    receiver: ReliableReceiver,
    buffers: Buffers,
    inbox: Inbox,
    received: usize,
}

impl Stream {
    /// A segment with one message, as the sender would encode it: twice the length as a varint, then the bytes.
    fn segment(number: usize, len: u8) -> Vec<u8> {
        let len = usize::from(len % 64);
        let mut segment = vec![len as u8 * 2];
        segment.extend((0..len).map(|i| (number * 31 + i * 7) as u8));
        segment
    }

    fn arrive(&mut self, packet: &Packet) {
        let (buffers, inbox) = (&mut self.buffers, &mut self.inbox);
        match packet {
            Packet::Segment(number) => {
                let payload = &self.segments[*number];
                self.receiver
                    .on_segment(*number as u16, payload, buffers, inbox)
                    .expect("an honest segment");
            }
            Packet::Repair {
                first,
                count,
                key,
                data,
            } => {
                self.receiver
                    .on_repair(*first as u16, *count, *key, data, buffers, inbox)
                    .expect("an honest repair");
            }
        }
        while let Some((_, message)) = self.inbox.pop() {
            let sent = self.segments.get(self.received).expect("it was sent");
            assert_eq!(message, &sent[1..], "exactly once, in order, unharmed");
            self.received += 1;
        }
    }

    fn pass(&mut self, packet: Packet, way: Way) {
        match way {
            Way::Arrives => self.arrive(&packet),
            Way::Lost => {}
            Way::Late => self.late.push(packet),
        }
    }

    fn send(&mut self, len: u8, way: Way) {
        if self.segments.len() - self.base < 1000 {
            let number = self.segments.len();
            self.segments.push(Self::segment(number, len));
            self.pass(Packet::Segment(number), way);
        }
    }

    fn step(&mut self, op: Honest) {
        match op {
            Honest::Send { len, way } => self.send(len, way),
            Honest::Run { segments } => {
                for i in 0..segments {
                    self.send(i, Way::Arrives);
                }
            }
            Honest::Repair { span, way } => {
                let end = self.segments.len();
                let first = self
                    .base
                    .max(end.saturating_sub(1 + usize::from(span) % 12));
                let covered = &self.segments[first..end];
                let Some(longest) = covered.iter().map(Vec::len).max() else {
                    return;
                };
                let mut data = vec![0; repair_len(longest)];
                self.key = self.key.wrapping_add(1);
                let slices = covered.iter().map(Vec::as_slice);
                combine(self.key, first as u32, slices, &mut data);
                let (count, key) = (covered.len(), self.key);
                self.pass(
                    Packet::Repair {
                        first,
                        count,
                        key,
                        data,
                    },
                    way,
                );
            }
            Honest::Resend { back, way } => {
                let number = (self.segments.len()).checked_sub(1 + usize::from(back));
                if let Some(number) = number.filter(|number| *number >= self.base) {
                    self.pass(Packet::Segment(number), way);
                }
            }
            Honest::Arrive { which } => {
                if !self.late.is_empty() {
                    let packet = self.late.remove(usize::from(which) % self.late.len());
                    self.arrive(&packet);
                }
            }
            Honest::Acknowledge => self.base = self.received,
        }
    }
}

fn honest(ops: &[Honest]) {
    let mut stream = Stream {
        segments: Vec::new(),
        base: 0,
        key: 0,
        late: Vec::new(),
        receiver: ReliableReceiver::new(0, &ChannelConfig::new(Delivery::ReliableOrdered)),
        buffers: Buffers::default(),
        inbox: Inbox::default(),
        received: 0,
    };
    for op in ops {
        stream.step(*op);
    }
    for number in stream.received..stream.segments.len() {
        stream.arrive(&Packet::Segment(number));
    }
    assert_eq!(stream.received, stream.segments.len(), "everything arrives");
}

fuzz_target!(|input: Input<'_>| {
    match input {
        Input::Hostile(ops) => hostile(&ops),
        Input::Honest(ops) => honest(&ops),
    }
});
