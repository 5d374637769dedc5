//! Checksums of a state.

use crate::entities::EntityId;
use crate::record::Record;

mod checksum_tree;

pub use checksum_tree::{ChecksumTree, RowChunk, StateDigest};

/// Rows in a chunk, the grain in which differences are located and repaired.
pub(crate) const CHUNK_ROWS: usize = 64;

/// Folds the fields of one record into 64 bits.
///
/// Fields are packed into words and words multiplied in pairs, each pair with keys of its own: no step waits for the one
/// before, so a processor works on several at once. It finds accidents, not forgeries: whoever wants two states with the
/// same value can make them.
#[derive(Clone, Copy, Debug)]
pub struct Digest {
    sum: u64,
    key: u64,
    /// The first word of a pair that waits for its second.
    first: u64,
    has_first: bool,
    word: u64,
    filled: u32,
}

const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
const STEP: u64 = 0xd1b5_4a32_d192_ed03;
const LAST: u64 = 0x8cb9_2ba7_2f3d_8dd7;

/// The two halves of a product of 128 bits, one over the other.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Digest {
    /// Nothing folded yet.
    #[inline(always)]
    pub const fn new() -> Digest {
        Digest {
            sum: STEP,
            key: KEY,
            first: 0,
            has_first: false,
            word: 0,
            filled: 0,
        }
    }

    /// Folds in a number of at most `bits` bits, at most 64. Types decide on the widths, which must not depend on values.
    #[inline(always)]
    pub fn push(&mut self, value: u64, bits: u32) {
        if self.filled + bits > 64 {
            self.end_word();
        }
        self.word |= value << self.filled;
        self.filled += bits;
        if self.filled == 64 {
            self.end_word();
        }
    }

    #[inline(always)]
    fn end_word(&mut self) {
        if self.has_first {
            let pair = fold(
                self.first ^ self.key,
                self.word ^ self.key.wrapping_add(STEP),
            );
            self.sum = self.sum.wrapping_add(pair);
            self.key = self.key.wrapping_add(STEP.wrapping_mul(2));
        } else {
            self.first = self.word;
        }
        self.has_first = !self.has_first;
        self.word = 0;
        self.filled = 0;
    }

    /// The value of all that was pushed.
    #[inline(always)]
    pub fn finish(self) -> u64 {
        self.finish_with(0)
    }

    #[inline(always)]
    pub(crate) fn finish_with(mut self, place: u64) -> u64 {
        if self.filled > 0 {
            self.end_word();
        }
        if self.has_first {
            self.end_word();
        }
        fold(self.sum ^ LAST, place ^ KEY)
    }
}

impl Default for Digest {
    fn default() -> Digest {
        Digest::new()
    }
}

/// The value of a chunk of entities: of their order, their ids and what they hold.
pub(crate) fn of_entities<T: Record>(ids: &[EntityId], rows: &[T]) -> u64 {
    let mut sum = 0u64;
    for (place, (id, row)) in ids.iter().zip(rows).enumerate() {
        let mut digest = Digest::new();
        row.digest(&mut digest);
        sum = sum.wrapping_add(digest.finish_with(u64::from(id.number()) << 32 | place as u64));
    }
    sum
}

/// The value of bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    let mut digest = Digest::new();
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        digest.push(u64::from_le_bytes(*word), 64);
    }
    for byte in rest {
        digest.push(u64::from(*byte), 8);
    }
    digest.finish_with(bytes.len() as u64)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::{Entities, Replicate, Rng};

    fn of<T: Record>(value: &T) -> u64 {
        let mut digest = Digest::new();
        value.digest(&mut digest);
        digest.finish()
    }

    #[test]
    fn every_bit_changes_about_half_of_the_bits() {
        let mut rng = Rng::new(8);
        let mut changed = 0;
        for _ in 0..200 {
            let value: [u32; 11] = core::array::from_fn(|_| rng.below(100));
            for bit in 0..11 * 32 {
                let mut other = value;
                other[bit / 32] ^= 1 << (bit % 32);
                let bits = (of(&value) ^ of(&other)).count_ones();
                assert!((8..=56).contains(&bits), "{bits} bits by bit {bit}");
                changed += bits;
            }
        }
        let mean = f64::from(changed) / (200.0 * 11.0 * 32.0);
        assert!((31.5..32.5).contains(&mean), "{mean}");
    }

    #[test]
    fn small_states_do_not_collide() {
        let mut seen = Vec::new();
        for a in 0..40u8 {
            for b in 0..40u16 {
                for c in [None, Some(false), Some(true)] {
                    seen.push(of(&(a, b, c)));
                }
            }
        }
        let all = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    #[test]
    fn fields_do_not_flow_into_each_other() {
        assert_ne!(of(&(1u8, 0u8)), of(&(0u8, 1u8)));
        assert_ne!(of(&(0u64, 1u64)), of(&(1u64, 0u64)));
        assert_ne!(of(&[0u64, 0, 1, 0]), of(&[1u64, 0, 0, 0]));
        assert_ne!(of(&0.0f32), of(&-0.0f32));
    }

    #[test]
    fn ids_count_even_without_fields() {
        #[derive(Clone, Replicate)]
        struct Marks {
            marks: Entities<()>,
        }
        let marks = |numbers: &[u32]| {
            let mut marks = Entities::new();
            for number in numbers {
                marks.insert_fixed(EntityId::fixed(*number), ());
            }
            Marks { marks }.checksum()
        };
        assert_ne!(marks(&[1, 2]), marks(&[1, 3]));
        assert_ne!(marks(&[1, 2]), marks(&[2, 1]));
    }

    #[test]
    fn bytes_of_any_length_differ() {
        let mut seen: Vec<u64> = (0..40).map(|len| of_bytes(&[0; 40][..len])).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 40);
    }
}
