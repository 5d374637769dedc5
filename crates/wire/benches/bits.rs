//! Packing and unpacking speed, in bytes of packed stream per second on one core.
//!
//! `cargo bench -p samestep-wire --bench bits`
#![allow(clippy::disallowed_methods, missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use samestep_wire::{BitReader, BitWriter, DecodeError, Wire};

const FIELDS: usize = 1 << 12;
const RUNS: usize = 5000;

#[derive(Clone, Debug, PartialEq, Wire)]
struct Entity {
    #[wire(range = 0..=4095)]
    id: u16,
    #[wire(range = -512.0..=512.0, precision = 0.0078125)]
    position: [f32; 3],
    #[wire(range = -32.0..=32.0, precision = 0.0625)]
    velocity: [f32; 3],
    #[wire(range = 0..=100)]
    health: u8,
    moving: bool,
    ammo: Option<u8>,
}

fn main() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        seed >> 32
    };
    let widths: Vec<u32> = (0..FIELDS).map(|_| 1 + (next() % 32) as u32).collect();
    let mut random = |bits: &u32| (next() & !(u64::MAX << bits)) as u32;
    let values: Vec<u32> = widths.iter().map(&mut random).collect();
    let records: Vec<[u32; 16]> = (0..FIELDS / 16)
        .map(|_| RECORD.map(|bits| random(&bits)))
        .collect();
    let entities: Vec<Entity> = (0..FIELDS / 16)
        .map(|i| entity(i as u16, &mut random))
        .collect();
    let mut buffer = vec![0; FIELDS * 4 + 8];

    println!("GB/s of packed stream, one core, unaligned (best of {RUNS} runs)");
    println!("{:<52}{:>8}{:>8}", "", "pack", "unpack");
    let len = pack_random(&widths, &values, &mut buffer);
    row(
        "fields of 1 to 32 bits, random widths from a slice",
        best(len, || {
            pack_random(black_box(&widths), &values, &mut buffer)
        }),
        best(len, || {
            unpack_random(black_box(&widths), &values, &buffer[..len])
        }),
    );

    let len = pack_records(&records, &mut buffer);
    row(
        "fields of 1 to 32 bits, record of constant widths",
        best(len, || pack_records(black_box(&records), &mut buffer)),
        best(len, || unpack_records(black_box(&records), &buffer[..len])),
    );

    let len = pack_entities(&entities, &mut buffer);
    row(
        "derived struct: ranges, quantised floats, option",
        best(len, || pack_entities(black_box(&entities), &mut buffer)),
        best(len, || {
            unpack_entities(black_box(&entities), &buffer[..len])
        }),
    );
}

fn row(name: &str, pack: f64, unpack: f64) {
    println!("{name:<52}{pack:>8.2}{unpack:>8.2}");
}

fn best<T>(bytes: usize, mut run: impl FnMut() -> T) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        black_box(run());
        best = best.min(start.elapsed().as_secs_f64());
    }
    bytes as f64 / best / 1e9
}

fn pack_random(widths: &[u32], values: &[u32], buffer: &mut [u8]) -> usize {
    let mut w = BitWriter::new(buffer);
    for (&bits, &value) in widths.iter().zip(values) {
        w.write_bits(u64::from(value), bits);
    }
    w.finish().expect("the buffer is large enough")
}

fn unpack_random(widths: &[u32], values: &[u32], bytes: &[u8]) {
    let mut r = BitReader::new(bytes);
    let mut wrong = 0;
    for (&bits, &value) in widths.iter().zip(values) {
        wrong |= r.read_bits(bits).expect("every field was packed") ^ u64::from(value);
    }
    assert_eq!(wrong, 0);
}

/// Widths from 1 to 32 bits, in an order that keeps the fields off byte boundaries.
const RECORD: [u32; 16] = [3, 32, 7, 12, 25, 1, 17, 30, 9, 21, 5, 28, 14, 31, 11, 19];

/// Repeats `$body` for each field of a record, with constants for index and width.
macro_rules! unrolled {
    (|$i:ident, $bits:ident| $body:expr) => {
        unrolled!(@ $i $bits $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $i:ident $bits:ident $body:expr, $($n:literal)*) => {{
        $({
            let ($i, $bits) = const { ($n, RECORD[$n]) };
            $body;
        })*
    }};
}

fn pack_records(records: &[[u32; 16]], buffer: &mut [u8]) -> usize {
    let mut w = BitWriter::new(buffer);
    for record in records {
        unrolled!(|i, bits| w.write_bits(u64::from(record[i]), bits));
    }
    w.finish().expect("the buffer is large enough")
}

fn unpack_records(records: &[[u32; 16]], bytes: &[u8]) {
    let unpack = || {
        let mut r = BitReader::new(bytes);
        let mut wrong = 0;
        for record in records {
            unrolled!(|i, bits| wrong |= r.read_bits(bits)? ^ u64::from(record[i]));
        }
        Ok::<u64, DecodeError>(wrong)
    };
    assert_eq!(unpack(), Ok(0));
}

fn entity(id: u16, random: &mut impl FnMut(&u32) -> u32) -> Entity {
    let mut on_grid = |min: f32, step: f32, bits: u32| min + step * random(&bits) as f32;
    let position = [(); 3].map(|()| on_grid(-512.0, 0.0078125, 17));
    let velocity = [(); 3].map(|()| on_grid(-32.0, 0.0625, 10));
    Entity {
        id,
        position,
        velocity,
        health: random(&6) as u8,
        moving: random(&1) == 1,
        ammo: (random(&1) == 1).then(|| random(&8) as u8),
    }
}

fn pack_entities(entities: &[Entity], buffer: &mut [u8]) -> usize {
    let mut w = BitWriter::new(buffer);
    for entity in entities {
        entity.encode(&mut w);
    }
    w.finish().expect("the buffer is large enough")
}

fn unpack_entities(entities: &[Entity], bytes: &[u8]) {
    let mut r = BitReader::new(bytes);
    let mut wrong = false;
    for entity in entities {
        wrong |= Entity::decode(&mut r).expect("every entity was packed") != *entity;
    }
    assert!(!wrong);
}
