//! The numbers of one field in some rows of a page, in few bits.

use samestep_wire::{BitReader, BitWriter, DecodeError};

use super::page::PAGE_ROWS;

const PARAMETER_BITS: u32 = 6;
/// Numbers with more ones than this before their zero are written in full.
const MOST_ONES: u64 = 20;

/// A bound of the bits that so many numbers take.
pub(super) const fn max_bits(rows: usize) -> usize {
    rows * (1 + 64 + PARAMETER_BITS as usize + MOST_ONES as usize) + 128
}

/// Writes at most 64 numbers: how they differ from what was, or what they are.
///
/// One bit tells whether there is a base, then the base; the numbers less the base, or else zigzagged, follow.
pub(super) fn write(values: &[i64], w: &mut BitWriter<'_>) {
    let Some(&first) = values.first() else {
        return;
    };
    let (mut least, mut greatest) = (first, first);
    for value in values {
        least = least.min(*value);
        greatest = greatest.max(*value);
    }
    let has_base = least > 0 || greatest < 0;
    w.write_bool(has_base);
    let mut numbers = [0; PAGE_ROWS];
    let numbers = &mut numbers[..values.len()];
    if has_base {
        w.write_zigzag(least);
        for (number, value) in numbers.iter_mut().zip(values) {
            *number = value.wrapping_sub(least) as u64;
        }
    } else {
        for (number, value) in numbers.iter_mut().zip(values) {
            *number = zigzag(*value);
        }
    }
    write_numbers(numbers, w);
}

/// Reads as many numbers as [`write`] was given.
pub(super) fn read(values: &mut [i64], r: &mut BitReader<'_>) -> Result<(), DecodeError> {
    if values.is_empty() {
        return Ok(());
    }
    let base = match r.read_bool()? {
        true => Some(r.read_zigzag()?),
        false => None,
    };
    let mut numbers = [0; PAGE_ROWS];
    let numbers = &mut numbers[..values.len()];
    read_numbers(numbers, r)?;
    for (value, number) in values.iter_mut().zip(numbers) {
        *value = match base {
            Some(base) => base.wrapping_add(*number as i64),
            None => unzigzag(*number),
        };
    }
    Ok(())
}

/// How numbers are written.
#[derive(Clone, Copy)]
struct Plan {
    /// In so many bits each; else the low bits as they are and the others by counting.
    is_packed: bool,
    /// How many bits, less one if packed.
    parameter: u32,
    bits: usize,
}

impl Plan {
    /// The best for numbers that are not all zero, of which so many are written: all, or all but zeros.
    fn of(numbers: &[u64], count: usize) -> Plan {
        let (mut all, mut widths) = (0, 0);
        for number in numbers {
            all |= number;
            widths += width_of(*number);
        }
        let width = width_of(all).max(1);
        let mut best = Plan {
            is_packed: true,
            parameter: width - 1,
            bits: count * width as usize,
        };
        // The mean width tells the best parameter up to one or two, whatever a few of them are like.
        let middle = widths / count as u32;
        for low in middle.saturating_sub(2)..=middle.min(63) {
            let bits = counted_bits(numbers, low) + count * (1 + low as usize);
            if bits < best.bits {
                best = Plan {
                    is_packed: false,
                    parameter: low,
                    bits,
                };
            }
        }
        best
    }

    fn write(self, numbers: impl Iterator<Item = u64>, w: &mut BitWriter<'_>) {
        w.write_bool(self.is_packed);
        w.write_bits(u64::from(self.parameter), PARAMETER_BITS);
        match self.is_packed {
            true => numbers.for_each(|number| w.write_bits(number, self.parameter + 1)),
            false => numbers.for_each(|number| write_counted(number, self.parameter, w)),
        }
    }
}

fn width_of(number: u64) -> u32 {
    64 - number.leading_zeros()
}

/// The ones and what else numbers take beyond a zero and their low bits.
fn counted_bits(numbers: &[u64], low: u32) -> usize {
    let (mut ones, mut long) = (0, 0);
    for number in numbers {
        let count = number >> low;
        ones += count.min(MOST_ONES);
        long += u64::from(count >= MOST_ONES);
    }
    (ones + long * u64::from(PARAMETER_BITS + 64)) as usize
}

fn write_counted(number: u64, low: u32, w: &mut BitWriter<'_>) {
    let ones = number >> low;
    if ones < MOST_ONES {
        w.write_bits(!(u64::MAX << ones), ones as u32 + 1);
        w.write_bits(number, low);
    } else {
        let width = width_of(number);
        w.write_bits(u64::MAX, MOST_ONES as u32);
        w.write_bits(u64::from(width - 1), PARAMETER_BITS);
        w.write_bits(number, width);
    }
}

fn read_counted(low: u32, r: &mut BitReader<'_>) -> Result<u64, DecodeError> {
    let mut ones = 0;
    while ones < MOST_ONES && r.read_bool()? {
        ones += 1;
    }
    if ones < MOST_ONES {
        return Ok(ones << low | r.read_bits(low)?);
    }
    let width = r.read_bits(PARAMETER_BITS)? as u32 + 1;
    r.read_bits(width)
}

/// One bit: whether any is not zero. If so: a bit, whether marks tell which are not zero; those, or all, as planned.
fn write_numbers(numbers: &[u64], w: &mut BitWriter<'_>) {
    let mut marks = 0u64;
    for (place, number) in numbers.iter().enumerate() {
        marks |= u64::from(*number != 0) << place;
    }
    w.write_bool(marks != 0);
    if marks == 0 {
        return;
    }
    let count = marks.count_ones() as usize;
    let dense = Plan::of(numbers, numbers.len());
    if count < numbers.len() {
        let sparse = Plan::of(numbers, count);
        if sparse.bits + numbers.len() < dense.bits {
            w.write_bool(true);
            w.write_bits(marks, numbers.len() as u32);
            let others = numbers.iter().copied().filter(|number| *number != 0);
            return sparse.write(others, w);
        }
    }
    w.write_bool(false);
    dense.write(numbers.iter().copied(), w);
}

fn read_numbers(numbers: &mut [u64], r: &mut BitReader<'_>) -> Result<(), DecodeError> {
    if !r.read_bool()? {
        numbers.fill(0);
        return Ok(());
    }
    let mut marks = u64::MAX;
    if r.read_bool()? {
        marks = r.read_bits(numbers.len() as u32)?;
    }
    let is_packed = r.read_bool()?;
    let parameter = r.read_bits(PARAMETER_BITS)? as u32;
    for (place, number) in numbers.iter_mut().enumerate() {
        *number = match (marks >> place & 1, is_packed) {
            (0, _) => 0,
            (_, true) => r.read_bits(parameter + 1)?,
            (_, false) => read_counted(parameter, r)?,
        };
    }
    Ok(())
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::random::Rng;

    fn bits(values: &[i64]) -> usize {
        let mut buffer = vec![0; max_bits(values.len()).div_ceil(8)];
        let mut w = BitWriter::new(&mut buffer);
        write(values, &mut w);
        let bits = w.bit_len();
        w.finish().expect("within the bound");
        let mut back = vec![0; values.len()];
        read(&mut back, &mut BitReader::new(&buffer)).unwrap();
        assert_eq!(back, values);
        bits
    }

    #[test]
    fn what_is_simple_is_short() {
        assert_eq!(bits(&[]), 0);
        assert_eq!(bits(&[0; 64]), 2);
        assert_eq!(bits(&[7; 64]), 10);
        let both_ways: Vec<i64> = (0..64).map(|i| if i % 3 == 0 { -7 } else { 6 }).collect();
        assert!(bits(&both_ways) <= 64 * 4 + 10);
        let mut few = [0; 64];
        few[9] = 1000;
        assert!(bits(&few) <= 64 + 11 + 10);
        let mut rng = Rng::new(1);
        let falling: Vec<i64> = (0..64)
            .map(|_| i64::from(rng.next_u32().trailing_zeros()) - 1)
            .collect();
        assert!(bits(&falling) <= 64 * 3 + 10);
        let mut outlier = [3; 64];
        outlier[5] = -(1 << 40);
        assert!(bits(&outlier) <= 64 * 4 + 80);
    }

    #[test]
    fn anything_comes_back() {
        let mut rng = Rng::new(2);
        for _ in 0..3000 {
            let count = 1 + rng.below(64) as usize;
            let width = 1 + rng.below(64);
            let share = rng.unit();
            let values: Vec<i64> = (0..count)
                .map(|_| match rng.unit() < share {
                    true => rng.next_u64() as i64 >> (64 - width),
                    false => 0,
                })
                .collect();
            bits(&values);
        }
        bits(&[i64::MIN, i64::MAX, 0, -1]);
        bits(&[i64::MIN; 64]);
        bits(&[i64::MAX, 1]);
    }

    #[test]
    fn damaged_bits_are_refused_or_read_as_something_else() {
        let mut rng = Rng::new(3);
        for _ in 0..20_000 {
            let bytes: [u8; 40] = core::array::from_fn(|_| rng.next_u32() as u8);
            let mut values = [0; 64];
            let count = rng.below(65) as usize;
            let _ = read(&mut values[..count], &mut BitReader::new(&bytes));
        }
    }
}
