//! Packing and unpacking speed, in bytes of packed stream per second on one core.
//!
//! `cargo bench -p samestep-wire --bench bits`
#![allow(clippy::disallowed_methods, missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use samestep_wire::{BitReader, BitWriter};

const FIELDS: usize = 1 << 12;
const RUNS: usize = 2000;

fn main() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        seed >> 32
    };
    let widths: Vec<u32> = (0..FIELDS).map(|_| 1 + (next() % 32) as u32).collect();
    let values: Vec<u32> = widths
        .iter()
        .map(|bits| (next() & !(u64::MAX << bits)) as u32)
        .collect();
    let mut buffer = vec![0; FIELDS * 4 + 8];

    println!("fields of 1 to 32 bits, unaligned, GB/s of packed stream (best of {RUNS} runs)");
    println!("{:<34}{:>8}{:>8}", "", "pack", "unpack");
    let len = pack_random(&widths, &values, &mut buffer);
    let pack = best(len, || {
        pack_random(black_box(&widths), &values, &mut buffer)
    });
    let unpack = best(len, || {
        unpack_random(black_box(&widths), &values, &buffer[..len])
    });
    println!(
        "{:<34}{pack:>8.2}{unpack:>8.2}",
        "random widths known at run time"
    );

    let len = pack_record(&values, &mut buffer);
    let pack = best(len, || pack_record(black_box(&values), &mut buffer));
    let unpack = best(len, || unpack_record(black_box(&values), &buffer[..len]));
    println!(
        "{:<34}{pack:>8.2}{unpack:>8.2}",
        "record of 16 fixed widths"
    );
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

fn unpack_random(widths: &[u32], values: &[u32], bytes: &[u8]) -> u64 {
    let mut r = BitReader::new(bytes);
    let mut wrong = 0;
    for (&bits, &value) in widths.iter().zip(values) {
        wrong |= r.read_bits(bits).expect("every field was packed") ^ u64::from(value);
    }
    assert_eq!(wrong, 0);
    wrong
}

/// Widths of a record, all different enough to keep every field off the byte boundary.
const RECORD: [u32; 16] = [1, 7, 12, 32, 3, 17, 9, 21, 5, 28, 2, 14, 30, 11, 19, 6];

fn pack_record(values: &[u32], buffer: &mut [u8]) -> usize {
    let mut w = BitWriter::new(buffer);
    for record in values.chunks_exact(16) {
        for i in 0..16 {
            w.write_bits(u64::from(record[i]), RECORD[i]);
        }
    }
    w.finish().expect("the buffer is large enough")
}

fn unpack_record(values: &[u32], bytes: &[u8]) -> u64 {
    let mut r = BitReader::new(bytes);
    let mut wrong = 0;
    for record in values.chunks_exact(16) {
        for i in 0..16 {
            let value = r.read_bits(RECORD[i]).expect("every field was packed");
            wrong |= value ^ u64::from(record[i]) & !(u64::MAX << RECORD[i]);
        }
    }
    assert_eq!(wrong, 0);
    wrong
}
