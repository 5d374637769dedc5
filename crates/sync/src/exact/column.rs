//! The cells of one field in a block of rows, in as few bits as the simplest sufficient description takes.
//!
//! Three bits name the description:
//!
//! | | | then |
//! |---|---|---|
//! | 0 | constant | the value |
//! | 1 | packed | base, width, shift; each value as `(value - base) >> shift` |
//! | 2 | steps | the first value, base, width; each next as `(value - value before) - base` |
//! | 3 | choice | 2 to 16 values; each value as its place among them |
//! | 4 | sparse | the usual value; a bit for each that differs; those as another column |
//! | 5 | split | the exponents of floats as a column, their mantissas and after them, as lowest bits, their signs as another |

use samestep_wire::{BitReader, BitWriter, DecodeError};

mod plan;

pub(super) use plan::Nature;
use plan::{Choices, Float, plan, usual, varint, width_of};

/// Rows described together. More would share descriptions better, fewer would fit them better.
pub(super) const MAX_ROWS: usize = 256;

const MODE_BITS: u32 = 3;
const CONSTANT: u64 = 0;
const PACKED: u64 = 1;
const STEPS: u64 = 2;
const CHOICE: u64 = 3;
const SPARSE: u64 = 4;
const SPLIT: u64 = 5;

const WIDTH_BITS: u32 = 7;
const SHIFT_BITS: u32 = 6;
const COUNT_BITS: u32 = 4;
const MAX_CHOICES: usize = 1 << COUNT_BITS;

/// A bound of the bits that `rows` cells take.
pub(super) const fn max_bits(rows: usize) -> usize {
    rows * 64 + 4 * 80 + 32
}

/// Writes 1 to [`MAX_ROWS`] values.
pub(super) fn encode(values: &[u64], nature: Nature, w: &mut BitWriter<'_>) {
    encode_at(values, nature, w, 0);
}

/// Descriptions contain others at most so deep.
const MAX_DEPTH: u32 = 2;

fn encode_at(values: &[u64], nature: Nature, w: &mut BitWriter<'_>, depth: u32) {
    let plan = plan(values, nature);
    if plan.mode != CONSTANT && depth < MAX_DEPTH {
        if let Some(usual) = usual(values)
            && encode_sparse(values, usual, nature, plan.bits, w, depth)
        {
            return;
        }
        if let Some(float) = nature.float
            && plan.mode != CHOICE
            && encode_split(values, float, plan.bits, w, depth)
        {
            return;
        }
    }
    w.write_bits(plan.mode, MODE_BITS);
    match plan.mode {
        CONSTANT => w.write_varint(nature.to_varint(plan.base)),
        PACKED => {
            w.write_varint(nature.to_varint(plan.base));
            w.write_bits(u64::from(plan.width), WIDTH_BITS);
            w.write_bits(u64::from(plan.shift), SHIFT_BITS);
            for value in values {
                w.write_bits(value.wrapping_sub(plan.base) >> plan.shift, plan.width);
            }
        }
        STEPS => {
            w.write_varint(nature.to_varint(values[0]));
            w.write_zigzag(plan.base as i64);
            w.write_bits(u64::from(plan.width), WIDTH_BITS);
            for pair in values.windows(2) {
                let step = pair[1].wrapping_sub(pair[0]);
                w.write_bits(step.wrapping_sub(plan.base), plan.width);
            }
        }
        _ => {
            let choices = Choices::of(values, &plan).expect("chosen because there are few");
            w.write_bits(choices.count as u64 - 1, COUNT_BITS);
            for choice in choices.listed() {
                w.write_varint(nature.to_varint(*choice));
            }
            let width = choices.width();
            for value in values {
                w.write_bits(choices.place_of(*value), width);
            }
        }
    }
}

/// Writes the values as sparse if that takes less than `bits`.
#[inline(never)]
fn encode_sparse(
    values: &[u64],
    usual: u64,
    nature: Nature,
    bits: usize,
    w: &mut BitWriter<'_>,
    depth: u32,
) -> bool {
    let mut unusual = [0; MAX_ROWS];
    let mut count = 0;
    for value in values {
        unusual[count] = *value;
        count += usize::from(*value != usual);
    }
    // Else most values have to be written anyway.
    if count * 2 > values.len() {
        return false;
    }
    let unusual = &unusual[..count];
    let header = MODE_BITS as usize + varint(nature.to_varint(usual));
    if header + values.len() + plan(unusual, nature).bits >= bits {
        return false;
    }
    w.write_bits(SPARSE, MODE_BITS);
    w.write_varint(nature.to_varint(usual));
    for value in values {
        w.write_bool(*value != usual);
    }
    encode_at(unusual, nature, w, depth + 1);
    true
}

/// Writes floats as split if that takes less than `bits`.
#[inline(never)]
fn encode_split(
    values: &[u64],
    float: Float,
    bits: usize,
    w: &mut BitWriter<'_>,
    depth: u32,
) -> bool {
    let (mut high, mut low) = ([0; MAX_ROWS], [0; MAX_ROWS]);
    let mut differing = 0;
    let parts = high.iter_mut().zip(&mut low);
    for (value, (high, low)) in values.iter().zip(parts) {
        if !float.holds(*value) {
            return false;
        }
        (*high, *low) = float.split(*value);
        differing |= *low ^ float.split(values[0]).1;
    }
    let high = &high[..values.len()];
    // Judged by the width alone; what is written may take less.
    let low_width = width_of(differing).saturating_sub(differing.trailing_zeros());
    let low_bits =
        (MODE_BITS + WIDTH_BITS + SHIFT_BITS + 8) as usize + values.len() * low_width as usize;
    if MODE_BITS as usize + low_bits >= bits
        || MODE_BITS as usize + low_bits + plan(high, Nature::PLAIN).bits >= bits
    {
        return false;
    }
    w.write_bits(SPLIT, MODE_BITS);
    encode_at(high, Nature::PLAIN, w, depth + 1);
    encode_at(&low[..values.len()], Nature::PLAIN, w, depth + 1);
    true
}

/// Reads what [`encode`] wrote, as many values as it was given.
pub(super) fn decode(
    values: &mut [u64],
    nature: Nature,
    r: &mut BitReader<'_>,
) -> Result<(), DecodeError> {
    decode_at(values, nature, r, 0)
}

fn decode_at(
    values: &mut [u64],
    nature: Nature,
    r: &mut BitReader<'_>,
    depth: u32,
) -> Result<(), DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::TooDeep);
    }
    match r.read_bits(MODE_BITS)? {
        CONSTANT => values.fill(nature.of_varint(r.read_varint()?)),
        PACKED => {
            let base = nature.of_varint(r.read_varint()?);
            let width = read_width(r)?;
            let shift = r.read_bits(SHIFT_BITS)? as u32;
            for value in values {
                *value = base.wrapping_add(r.read_bits(width)? << shift);
            }
        }
        STEPS => {
            let mut before = nature.of_varint(r.read_varint()?);
            let base = r.read_zigzag()? as u64;
            let width = read_width(r)?;
            let Some((first, rest)) = values.split_first_mut() else {
                return Ok(());
            };
            *first = before;
            for value in rest {
                before = before.wrapping_add(base).wrapping_add(r.read_bits(width)?);
                *value = before;
            }
        }
        CHOICE => {
            let count = r.read_bits(COUNT_BITS)? as usize + 1;
            let mut choices = [0; MAX_CHOICES];
            for choice in &mut choices[..count] {
                *choice = nature.of_varint(r.read_varint()?);
            }
            let width = width_of(count as u64 - 1);
            for value in values {
                let place = r.read_bits(width)? as usize;
                let choice = choices[..count].get(place);
                *value = *choice.ok_or(DecodeError::OutOfRange)?;
            }
        }
        SPARSE => {
            let usual = nature.of_varint(r.read_varint()?);
            let mut unusual = [0; MAX_ROWS];
            let mut count = 0;
            for value in &mut *values {
                // A mark, until the values are known.
                *value = u64::from(r.read_bool()?);
                count += *value as usize;
            }
            let unusual = unusual.get_mut(..count).ok_or(DecodeError::TooLong)?;
            if count > 0 {
                decode_at(unusual, nature, r, depth + 1)?;
            }
            let mut unusual = unusual.iter();
            for value in values {
                *value = match *value {
                    0 => usual,
                    _ => *unusual.next().ok_or(DecodeError::TooLong)?,
                };
            }
        }
        SPLIT => {
            let float = nature.float.ok_or(DecodeError::UnknownVariant)?;
            decode_at(values, Nature::PLAIN, r, depth + 1)?;
            let mut low = [0; MAX_ROWS];
            let low = low.get_mut(..values.len()).ok_or(DecodeError::TooLong)?;
            decode_at(low, Nature::PLAIN, r, depth + 1)?;
            for (value, low) in values.iter_mut().zip(low) {
                *value = float.join(*value, *low);
            }
        }
        _ => return Err(DecodeError::UnknownVariant),
    }
    Ok(())
}

fn read_width(r: &mut BitReader<'_>) -> Result<u32, DecodeError> {
    match r.read_bits(WIDTH_BITS)? as u32 {
        width if width <= 64 => Ok(width),
        _ => Err(DecodeError::OutOfRange),
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::random::Rng;
    use crate::record::CellKind;

    fn bits(values: &[u64], kind: CellKind) -> usize {
        let nature = Nature::of(kind);
        let mut buffer = vec![0; max_bits(values.len()) / 8];
        let mut w = BitWriter::new(&mut buffer);
        encode(values, nature, &mut w);
        let bits = w.bit_len();
        w.finish().expect("within the bound");
        let mut read = vec![0; values.len()];
        decode(&mut read, nature, &mut BitReader::new(&buffer)).unwrap();
        assert_eq!(read, values);
        bits
    }

    #[test]
    fn each_description_is_used_where_it_is_short() {
        let mut rng = Rng::new(1);
        assert!(bits(&[7; 256], CellKind::Unsigned) <= 11);
        let counted: Vec<u64> = (1000..1256).collect();
        assert!(bits(&counted, CellKind::Unsigned) <= 40);
        let random: Vec<u64> = (0..256).map(|_| 5000 + u64::from(rng.below(8))).collect();
        assert!(bits(&random, CellKind::Unsigned) <= 256 * 3 + 40);
        let signed: Vec<u64> = (0..256)
            .map(|_| i64::from(rng.range(-4..4)) as u64)
            .collect();
        assert!(bits(&signed, CellKind::Signed) <= 256 * 3 + 40);
        let few: Vec<u64> = (0..256).map(|i| [0, 1 << 40, 1 << 63][i % 3]).collect();
        assert!(bits(&few, CellKind::Unsigned) <= 256 * 2 + 200);
        let mut sparse = [0; 256];
        for value in &mut sparse[100..110] {
            *value = rng.next_u64();
        }
        assert!(bits(&sparse, CellKind::Unsigned) <= 256 + 10 * 64 + 120);
        let halves: Vec<u64> = (0..256)
            .map(|_| (rng.below(1000) as f32 * 0.5).to_bits().into())
            .collect();
        assert!(bits(&halves, CellKind::F32) <= 256 * 14);
        let around_zero: Vec<u64> = (0..256)
            .map(|_| u64::from((rng.unit() * 2.0 - 1.0).to_bits()))
            .collect();
        assert!(bits(&around_zero, CellKind::F32) <= 256 * 29);
    }

    #[test]
    fn anything_comes_back() {
        let kinds = [
            CellKind::Unsigned,
            CellKind::Signed,
            CellKind::F32,
            CellKind::F64,
        ];
        let mut rng = Rng::new(2);
        for round in 0..2000 {
            let len = 1 + rng.below(256) as usize;
            let width = 1 + rng.below(64);
            let values: Vec<u64> = match rng.below(3) {
                0 => (0..len).map(|_| rng.next_u64() >> (64 - width)).collect(),
                1 => (0..len).map(|i| (i as u64) << (64 - width)).collect(),
                _ => (0..len)
                    .map(|_| if rng.chance(0.9) { 9 } else { rng.next_u64() })
                    .collect(),
            };
            bits(&values, kinds[round % 4]);
        }
        for kind in kinds {
            bits(&[u64::MAX], kind);
            bits(&[u64::MAX, 0], kind);
            bits(&[0, u64::MAX, 1 << 63, (1 << 63) - 1], kind);
        }
    }

    #[test]
    fn damaged_bits_are_refused_or_read_as_something_else() {
        let mut rng = Rng::new(3);
        for _ in 0..20_000 {
            let bytes: [u8; 40] = core::array::from_fn(|_| rng.next_u32() as u8);
            let mut values = [0; 256];
            let len = rng.below(257) as usize;
            for kind in [CellKind::F32, CellKind::Signed] {
                let mut r = BitReader::new(&bytes);
                let _ = decode(&mut values[..len], Nature::of(kind), &mut r);
            }
        }
    }
}
