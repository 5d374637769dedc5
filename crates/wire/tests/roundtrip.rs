//! Random values survive encoding, whole and relative to a baseline.

mod shapes;

use samestep_wire::{
    BitReader, BitWriter, decode_delta_exact, decode_exact, encode_delta_to_vec, encode_to_vec,
};
use shapes::{Action, Floats, Lists, Mixed, Random, Sample, Scalars, Tree};

fn whole_and_delta<T: Sample>() {
    for seed in 0..3000 {
        let mut random = Random(seed);
        let value = T::sample(&mut random);
        let bytes = encode_to_vec(&value).unwrap();
        let mut current: T = decode_exact(&bytes).unwrap();
        assert!(current.same(&value), "seed {seed}: {value:?} {current:?}");
        assert!(bytes.len() * 8 >= T::min_bits());
        assert_eq!(encode_to_vec(&current).unwrap(), bytes, "seed {seed}");

        // The sender keeps its exact value as baseline, the receiver what it decoded.
        let mut sent = value;
        for _ in 0..4 {
            let mut next = sent.clone();
            next.change(&mut random);
            let delta = encode_delta_to_vec(&next, &sent).unwrap();
            let decoded = decode_delta_exact(&current, &delta).unwrap();
            assert!(decoded.same(&next), "seed {seed}: {next:?} {decoded:?}");
            (sent, current) = (next, decoded);
        }
        let nothing = encode_delta_to_vec(&sent, &sent).unwrap();
        assert!(nothing.len() <= 1, "seed {seed}: unchanged takes a bit");
    }
}

#[test]
fn scalars() {
    whole_and_delta::<Scalars>();
}

#[test]
fn floats() {
    whole_and_delta::<Floats>();
}

#[test]
fn lists() {
    whole_and_delta::<Lists>();
}

#[test]
fn enums() {
    whole_and_delta::<Action>();
}

#[test]
fn recursive_types() {
    whole_and_delta::<Tree>();
}

#[test]
fn tuples_arrays_generics() {
    whole_and_delta::<Mixed>();
}

/// One operation of the bit layer with what it wrote.
enum Operation {
    Bits(u64, u32),
    Varint(u64),
    Zigzag(i64),
    Bytes(Vec<u8>),
    Align,
}

#[test]
fn random_operations_read_back_at_every_offset() {
    for seed in 0..3000 {
        let mut random = Random(seed);
        let operations = random.list(60, |random| match random.below(12) {
            0 => Operation::Varint(random.wide()),
            1 => Operation::Zigzag(random.wide() as i64),
            2 => Operation::Bytes(random.list(30, |random| random.next() as u8)),
            3 => Operation::Align,
            _ => {
                let bits = random.below(65) as u32;
                let mask = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
                Operation::Bits(random.next() & mask, bits)
            }
        });
        let mut buffer = vec![0xcc; 4096];
        let mut w = BitWriter::new(&mut buffer);
        for operation in &operations {
            match operation {
                Operation::Bits(value, bits) => w.write_bits(*value, *bits),
                Operation::Varint(value) => w.write_varint(*value),
                Operation::Zigzag(value) => w.write_zigzag(*value),
                Operation::Bytes(bytes) => w.write_bytes(bytes),
                Operation::Align => w.align(),
            }
        }
        let bits = w.bit_len();
        let len = w.finish().unwrap();
        assert_eq!(len, bits.div_ceil(8));

        // A buffer of exactly that length gives the same bytes, one byte less overflows.
        let bytes = buffer[..len].to_vec();
        let write = |buffer: &mut [u8]| {
            let mut w = BitWriter::new(buffer);
            for operation in &operations {
                match operation {
                    Operation::Bits(value, bits) => w.write_bits(*value, *bits),
                    Operation::Varint(value) => w.write_varint(*value),
                    Operation::Zigzag(value) => w.write_zigzag(*value),
                    Operation::Bytes(bytes) => w.write_bytes(bytes),
                    Operation::Align => w.align(),
                }
            }
            w.finish()
        };
        let mut tight = vec![0xcc; len];
        assert_eq!(write(&mut tight), Ok(len), "seed {seed}");
        assert_eq!(tight, bytes, "seed {seed}");
        if len > 0 {
            write(&mut tight[..len - 1]).unwrap_err();
        }

        let mut r = BitReader::new(&bytes);
        for operation in &operations {
            match operation {
                Operation::Bits(value, bits) => assert_eq!(r.read_bits(*bits), Ok(*value)),
                Operation::Varint(value) => assert_eq!(r.read_varint(), Ok(*value)),
                Operation::Zigzag(value) => assert_eq!(r.read_zigzag(), Ok(*value)),
                Operation::Bytes(expected) => {
                    let mut into = vec![0; expected.len()];
                    r.read_into(&mut into).unwrap();
                    assert_eq!(into, *expected);
                }
                Operation::Align => r.align().unwrap(),
            }
        }
        assert_eq!(r.bit_len(), bits);
        r.finish().unwrap();
    }
}
