//! Sequences of reads over arbitrary bytes, against a reader that goes bit by bit; and sequences of writes, read back.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use samestep_wire::{BitReader, BitWriter};

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Op {
    Bits(u8, u64),
    Bool(bool),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    Varint(u64),
    Zigzag(i64),
    Bytes(u8),
    Align,
    Rest,
}

/// The bits from `at`, lowest first; `None` beyond the end.
fn slow_bits(bytes: &[u8], at: usize, bits: u32) -> Option<u64> {
    (0..bits as usize).try_fold(0, |value, i| {
        let byte = bytes.get((at + i) / 8)?;
        Some(value | u64::from(byte >> ((at + i) % 8) & 1) << i)
    })
}

fn read(bytes: &[u8], ops: &[Op]) {
    let mut r = BitReader::new(bytes);
    for op in ops {
        let (at, bits) = (r.bit_len(), r.remaining_bits());
        assert_eq!(at + bits, bytes.len() * 8);
        let fixed = |width: u32, got: Option<u64>| {
            assert_eq!(got, slow_bits(bytes, at, width));
        };
        match *op {
            Op::Bits(width, _) => {
                let width = u32::from(width % 65);
                fixed(width, r.read_bits(width).ok());
            }
            Op::Bool(_) => fixed(1, r.read_bool().ok().map(u64::from)),
            Op::U8(_) => fixed(8, r.read_u8().ok().map(u64::from)),
            Op::U16(_) => fixed(16, r.read_u16().ok().map(u64::from)),
            Op::U32(_) => fixed(32, r.read_u32().ok().map(u64::from)),
            Op::U64(_) => fixed(64, r.read_u64().ok()),
            Op::Varint(_) => {
                let _ = r.read_varint();
            }
            Op::Zigzag(_) => {
                let _ = r.read_zigzag();
            }
            Op::Bytes(len) => {
                if let Ok(read) = r.read_bytes(usize::from(len)) {
                    assert_eq!(read, &bytes[at / 8..at / 8 + usize::from(len)]);
                } else {
                    let mut into = [0; 256];
                    let _ = r.read_into(&mut into[..usize::from(len)]);
                }
            }
            Op::Align => {
                let _ = r.align();
            }
            Op::Rest => {
                if r.rest().is_ok() {
                    assert!(r.is_empty());
                }
            }
        }
    }
    let _ = r.finish();
}

fn round_trip(ops: &[Op]) {
    let mut buffer = [0; 512];
    let mut w = BitWriter::new(&mut buffer);
    let masked = |value: u64, width: u8| match width % 65 {
        0 => 0,
        width => value & u64::MAX >> (64 - width),
    };
    for op in ops {
        match *op {
            Op::Bits(width, value) => w.write_bits(masked(value, width), u32::from(width % 65)),
            Op::Bool(value) => w.write_bool(value),
            Op::U8(value) => w.write_u8(value),
            Op::U16(value) => w.write_u16(value),
            Op::U32(value) => w.write_u32(value),
            Op::U64(value) => w.write_u64(value),
            Op::Varint(value) => w.write_varint(value),
            Op::Zigzag(value) => w.write_zigzag(value),
            Op::Bytes(len) => w.write_bytes(&[len; 256][..usize::from(len)]),
            Op::Align | Op::Rest => w.align(),
        }
    }
    let Ok(len) = w.finish() else {
        return; // More than the buffer holds: said once, and nothing was written past it.
    };
    let mut r = BitReader::new(&buffer[..len]);
    for op in ops {
        match *op {
            Op::Bits(width, value) => {
                assert_eq!(r.read_bits(u32::from(width % 65)), Ok(masked(value, width)));
            }
            Op::Bool(value) => assert_eq!(r.read_bool(), Ok(value)),
            Op::U8(value) => assert_eq!(r.read_u8(), Ok(value)),
            Op::U16(value) => assert_eq!(r.read_u16(), Ok(value)),
            Op::U32(value) => assert_eq!(r.read_u32(), Ok(value)),
            Op::U64(value) => assert_eq!(r.read_u64(), Ok(value)),
            Op::Varint(value) => assert_eq!(r.read_varint(), Ok(value)),
            Op::Zigzag(value) => assert_eq!(r.read_zigzag(), Ok(value)),
            Op::Bytes(len) => {
                let mut into = [0; 256];
                r.read_into(&mut into[..usize::from(len)])
                    .expect("as written");
                assert!(into[..usize::from(len)].iter().all(|byte| *byte == len));
            }
            Op::Align | Op::Rest => r.align().expect("as written"),
        }
    }
    r.finish().expect("nothing follows");
}

fuzz_target!(|input: (Vec<Op>, &[u8])| {
    let (ops, bytes) = input;
    read(bytes, &ops);
    round_trip(&ops);
});
