//! Coding of a number of `n` bits relative to another: the nearer, the shorter.

use crate::writer::{unzigzag, zigzag};
use crate::{BitReader, BitWriter, DecodeError};

/// Numbers narrower than this are sent whole when they change.
const MIN_CLASSED_BITS: u32 = 6;

/// What the reader has to do to its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Keep,
    /// Add this, wrapping at the width of the number.
    Add(i64),
    Replace(u64),
}

/// Bits of a small and of a medium difference.
#[inline]
const fn class_bits(n: u32) -> (u32, u32) {
    (n / 4 + 1, n / 2 + 1)
}

/// Writes a number of `n` bits, `whole`, that lies `difference` above the baseline.
#[inline]
pub(crate) fn write_step(w: &mut BitWriter<'_>, difference: i64, whole: u64, n: u32) {
    if n == 0 {
        return;
    }
    if difference == 0 {
        return w.write_bool(false);
    }
    if n < MIN_CLASSED_BITS {
        w.write_bool(true);
        return w.write_bits(whole, n);
    }
    let (small, medium) = class_bits(n);
    let distance = zigzag(difference) - 1;
    if distance >> small == 0 {
        w.write_bits(distance << 2 | 0b01, small + 2);
    } else if distance >> medium == 0 {
        w.write_bits(distance << 3 | 0b011, medium + 3);
    } else {
        w.write_bits(0b111, 3);
        w.write_bits(whole, n);
    }
}

/// Reads what [`write_step`] wrote for a number of `n` bits.
#[inline]
pub(crate) fn read_step(r: &mut BitReader<'_>, n: u32) -> Result<Step, DecodeError> {
    if n == 0 || !r.read_bool()? {
        return Ok(Step::Keep);
    }
    let (small, medium) = class_bits(n);
    let bits = if n < MIN_CLASSED_BITS {
        return Ok(Step::Replace(r.read_bits(n)?));
    } else if !r.read_bool()? {
        small
    } else if !r.read_bool()? {
        medium
    } else {
        return Ok(Step::Replace(r.read_bits(n)?));
    };
    Ok(Step::Add(unzigzag(r.read_bits(bits)? + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_round_trips_at_every_width() {
        for n in 1..=64 {
            let max = u64::MAX >> (64 - n);
            for near in 0..64 {
                for difference in [1i64 << near, (1i64 << near).wrapping_neg(), 3 << (near / 2)] {
                    let baseline = max / 3;
                    let whole = baseline.wrapping_add(difference as u64) & max;
                    let difference = (whole.wrapping_sub(baseline)) as i64;
                    let mut buffer = [0; 16];
                    let mut w = BitWriter::new(&mut buffer);
                    write_step(&mut w, difference, whole, n);
                    let bits = w.bit_len();
                    assert!(bits <= n as usize + 3);
                    let mut r = BitReader::new(&buffer);
                    let read = match read_step(&mut r, n).unwrap() {
                        Step::Keep => baseline,
                        Step::Add(by) => baseline.wrapping_add(by as u64),
                        Step::Replace(whole) => whole,
                    };
                    assert_eq!((read, r.bit_len()), (whole, bits));
                }
            }
        }
    }

    #[test]
    fn near_values_are_short() {
        let bits = |difference: i64| {
            let mut buffer = [0; 16];
            let mut w = BitWriter::new(&mut buffer);
            write_step(&mut w, difference, 0x1234, 16);
            w.bit_len()
        };
        assert_eq!(
            [0, 1, -16, 16, 17, 256, 257].map(bits),
            [1, 7, 7, 7, 12, 12, 19]
        );
    }
}
