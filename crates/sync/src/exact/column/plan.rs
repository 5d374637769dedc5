//! Which description of a column is the shortest.

use samestep_wire::{unzigzag, varint_bits, zigzag};

use super::{
    CHOICE, CONSTANT, COUNT_BITS, MAX_CHOICES, MODE_BITS, PACKED, SHIFT_BITS, STEPS, WIDTH_BITS,
};
use crate::record::CellKind;

/// What is known about the values beforehand.
#[derive(Clone, Copy)]
pub(in crate::exact) struct Nature {
    pub(super) float: Option<Float>,
    is_signed: bool,
}

/// The widths of a float's parts.
#[derive(Clone, Copy)]
pub(super) struct Float {
    mantissa_bits: u32,
    exponent_bits: u32,
}

impl Float {
    /// Foreign cells may hold more than a float can.
    pub(super) fn holds(self, value: u64) -> bool {
        value
            .checked_shr(self.mantissa_bits + self.exponent_bits + 1)
            .is_none_or(|beyond| beyond == 0)
    }

    /// The exponent; the mantissa and the sign.
    pub(super) fn split(self, value: u64) -> (u64, u64) {
        let exponent = value >> self.mantissa_bits & !(u64::MAX << self.exponent_bits);
        let sign = value >> (self.mantissa_bits + self.exponent_bits);
        let mantissa = value & !(u64::MAX << self.mantissa_bits);
        (exponent, mantissa << 1 | sign)
    }

    pub(super) fn join(self, exponent: u64, rest: u64) -> u64 {
        let exponent = exponent & !(u64::MAX << self.exponent_bits);
        let mantissa = rest >> 1 & !(u64::MAX << self.mantissa_bits);
        let sign = rest & 1;
        (sign << self.exponent_bits | exponent) << self.mantissa_bits | mantissa
    }
}

impl Nature {
    pub(super) const PLAIN: Nature = Nature {
        float: None,
        is_signed: false,
    };

    pub(in crate::exact) fn of(kind: CellKind) -> Nature {
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
    pub(super) fn to_varint(self, value: u64) -> u64 {
        match self.is_signed {
            true => zigzag(value as i64),
            false => value,
        }
    }

    pub(super) fn of_varint(self, value: u64) -> u64 {
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
pub(super) struct Plan {
    pub(super) mode: u64,
    pub(super) bits: usize,
    pub(super) base: u64,
    pub(super) shift: u32,
    pub(super) width: u32,
}

pub(super) fn width_of(value: u64) -> u32 {
    64 - value.leading_zeros()
}

pub(super) fn varint(value: u64) -> usize {
    varint_bits(value) as usize
}

/// The cheapest of the descriptions that need no others.
pub(super) fn plan(values: &[u64], nature: Nature) -> Plan {
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
pub(super) struct Choices {
    list: [u64; MAX_CHOICES],
    pub(super) count: usize,
}

impl Choices {
    /// `packed` tells how far apart the values are: those that are close to each other are found by a map of bits.
    pub(super) fn of(values: &[u64], packed: &Plan) -> Option<Choices> {
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

    pub(super) fn listed(&self) -> &[u64] {
        &self.list[..self.count]
    }

    pub(super) fn width(&self) -> u32 {
        width_of(self.count as u64 - 1)
    }

    pub(super) fn place_of(&self, value: u64) -> u64 {
        let place = self.listed().iter().position(|choice| *choice == value);
        place.unwrap_or_default() as u64
    }
}

/// A value that more than half of them may be, judged by a few.
pub(super) fn usual(values: &[u64]) -> Option<u64> {
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
