//! The cells of one field in a block of rows, in as few bits as the simplest sufficient description takes.
//!
//! Three bits name the description:
//!
//! | | | then |
//! |---|---|---|
//! | 0 | constant | the value |
//! | 1 | packed | base, shift, width; each value as `(value - base) >> shift` |
//! | 2 | steps | the first value, base, width; each next as `(value - value before) - base` |
//! | 3 | choice | 2 to 16 values; each value as its place among them |
//! | 4 | sparse | the usual value; a bit for each that differs; those as another column |
//! | 5 | split | the exponents of floats as a column, their mantissas and after them, as lowest bits, their signs as another |

use samestep_wire::{BitReader, BitWriter, DecodeError, unzigzag, varint_bits, zigzag};

use crate::record::CellKind;

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

/// What is known about the values beforehand.
#[derive(Clone, Copy)]
pub(super) struct Nature {
    float: Option<Float>,
    is_signed: bool,
}

/// The widths of a float's parts.
#[derive(Clone, Copy)]
struct Float {
    mantissa_bits: u32,
    exponent_bits: u32,
}

impl Float {
    /// Foreign cells may hold more than a float can.
    fn holds(self, value: u64) -> bool {
        value
            .checked_shr(self.mantissa_bits + self.exponent_bits + 1)
            .is_none_or(|beyond| beyond == 0)
    }

    /// The exponent; the mantissa and the sign.
    fn split(self, value: u64) -> (u64, u64) {
        let exponent = value >> self.mantissa_bits & !(u64::MAX << self.exponent_bits);
        let sign = value >> (self.mantissa_bits + self.exponent_bits);
        let mantissa = value & !(u64::MAX << self.mantissa_bits);
        (exponent, mantissa << 1 | sign)
    }

    fn join(self, exponent: u64, rest: u64) -> u64 {
        let exponent = exponent & !(u64::MAX << self.exponent_bits);
        let mantissa = rest >> 1 & !(u64::MAX << self.mantissa_bits);
        let sign = rest & 1;
        (sign << self.exponent_bits | exponent) << self.mantissa_bits | mantissa
    }
}

impl Nature {
    const PLAIN: Nature = Nature {
        float: None,
        is_signed: false,
    };

    pub(super) fn of(kind: CellKind) -> Nature {
        Nature {
            float: match kind {
                CellKind::F32 => Some(Float {
                    mantissa_bits: 23,
                    exponent_bits: 8,
                }),
                CellKind::F64 => Some(Float {
                    mantissa_bits: 52,
                    exponent_bits: 11,
                }),
                _ => None,
            },
            is_signed: kind == CellKind::Signed,
        }
    }

    /// Small for numbers that are near zero.
    fn to_varint(self, value: u64) -> u64 {
        match self.is_signed {
            true => zigzag(value as i64),
            false => value,
        }
    }

    fn of_varint(self, value: u64) -> u64 {
        match self.is_signed {
            true => unzigzag(value) as u64,
            false => value,
        }
    }

    /// The same values in an order of unsigned numbers.
    fn ordered(self, value: u64) -> u64 {
        value ^ u64::from(self.is_signed) << 63
    }
}

/// How to write a column, and what it costs.
#[derive(Clone, Copy)]
struct Plan {
    mode: u64,
    bits: usize,
    base: u64,
    shift: u32,
    width: u32,
}

fn width_of(value: u64) -> u32 {
    64 - value.leading_zeros()
}

fn varint(value: u64) -> usize {
    varint_bits(value) as usize
}

/// The cheapest of the descriptions that need no others.
fn plan(values: &[u64], nature: Nature) -> Plan {
    let first = values[0];
    let (mut least, mut greatest) = (nature.ordered(first), nature.ordered(first));
    let mut differing = 0;
    for value in values {
        let ordered = nature.ordered(*value);
        least = least.min(ordered);
        greatest = greatest.max(ordered);
        differing |= value ^ first;
    }
    if differing == 0 {
        return Plan {
            mode: CONSTANT,
            bits: MODE_BITS as usize + varint(nature.to_varint(first)),
            base: first,
            shift: 0,
            width: 0,
        };
    }
    // Low bits that all values share need no place.
    let base = nature.ordered(least);
    let shift = differing.trailing_zeros();
    let width = width_of((greatest - least) >> shift);
    let header = (MODE_BITS + WIDTH_BITS + SHIFT_BITS) as usize;
    let packed = Plan {
        mode: PACKED,
        bits: header + varint(nature.to_varint(base)) + values.len() * width as usize,
        base,
        shift,
        width,
    };
    let (mut least, mut greatest) = (i64::MAX, i64::MIN);
    for pair in values.windows(2) {
        let step = pair[1].wrapping_sub(pair[0]) as i64;
        least = least.min(step);
        greatest = greatest.max(step);
    }
    let width = width_of(greatest.wrapping_sub(least) as u64);
    let header = (MODE_BITS + WIDTH_BITS) as usize + varint(nature.to_varint(first));
    let steps = Plan {
        mode: STEPS,
        bits: header + varint(zigzag(least)) + (values.len() - 1) * width as usize,
        base: least as u64,
        shift: 0,
        width,
    };
    let mut best = if steps.bits < packed.bits {
        steps
    } else {
        packed
    };
    // What fits two bits is not worth a list.
    if packed.width > 2
        && let Some(choices) = Choices::of(values, &packed)
    {
        let listed = choices.listed().iter();
        let listed: usize = listed.map(|v| varint(nature.to_varint(*v))).sum();
        let header = (MODE_BITS + COUNT_BITS) as usize + listed;
        let bits = header + values.len() * choices.width() as usize;
        if bits < best.bits {
            best = Plan {
                mode: CHOICE,
                bits,
                ..packed
            };
        }
    }
    best
}

/// The distinct values, if they are few.
struct Choices {
    list: [u64; MAX_CHOICES],
    count: usize,
}

impl Choices {
    /// `packed` tells how far apart the values are: those that are close to each other are found by a map of bits.
    fn of(values: &[u64], packed: &Plan) -> Option<Choices> {
        let mut choices = Choices {
            list: [0; MAX_CHOICES],
            count: 0,
        };
        if packed.width <= 8 {
            let mut map = [0u64; 4];
            for value in values {
                let place = value.wrapping_sub(packed.base) >> packed.shift;
                map[place as usize / 64 % 4] |= 1 << (place % 64);
            }
            if map.iter().map(|word| word.count_ones()).sum::<u32>() > MAX_CHOICES as u32 {
                return None;
            }
            for (n, mut word) in map.into_iter().enumerate() {
                while word != 0 {
                    let place = n as u64 * 64 + u64::from(word.trailing_zeros());
                    choices.add(packed.base.wrapping_add(place << packed.shift));
                    word &= word - 1;
                }
            }
            return Some(choices);
        }
        for value in values {
            if !choices.listed().contains(value) && !choices.add(*value) {
                return None;
            }
        }
        Some(choices)
    }

    fn add(&mut self, value: u64) -> bool {
        let Some(place) = self.list.get_mut(self.count) else {
            return false;
        };
        *place = value;
        self.count += 1;
        true
    }

    fn listed(&self) -> &[u64] {
        &self.list[..self.count]
    }

    fn width(&self) -> u32 {
        width_of(self.count as u64 - 1)
    }

    fn place_of(&self, value: u64) -> u64 {
        let place = self.listed().iter().position(|choice| *choice == value);
        place.unwrap_or_default() as u64
    }
}

/// A value that more than half of them may be, judged by a few.
fn usual(values: &[u64]) -> Option<u64> {
    const ASKED: usize = 16;
    let asked = |n: usize| values[n * values.len() / ASKED];
    let (mut usual, mut lead) = (asked(0), 0);
    for value in (0..ASKED).map(asked) {
        if lead == 0 {
            usual = value;
        }
        lead += if value == usual { 1 } else { -1 };
    }
    let votes = (0..ASKED).filter(|n| asked(*n) == usual).count();
    (votes * 3 > ASKED).then_some(usual)
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
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::random::Rng;

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
