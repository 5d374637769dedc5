//! Check values of a state, and the tree that locates where two states differ.

use alloc::vec::Vec;

use samestep_wire::{BitReader, DecodeError, Wire};

use crate::entities::EntityId;
use crate::record::Record;

/// Rows in a chunk, the grain in which differences are located and repaired.
pub const CHUNK_ROWS: usize = 64;

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
    fn finish_with(mut self, place: u64) -> u64 {
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

/// The value of a chunk of a list.
pub(crate) fn of_rows<T: Record>(rows: &[T]) -> u64 {
    let mut sum = 0u64;
    for (place, row) in rows.iter().enumerate() {
        let mut digest = Digest::new();
        row.digest(&mut digest);
        sum = sum.wrapping_add(digest.finish_with(place as u64));
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

/// A piece of a state: rows `64 * index` and the 63 after it, of a [kind](crate::Kind).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Wire)]
pub struct Chunk {
    /// The number of the kind in the [`Schema`](crate::Schema).
    #[wire(varint)]
    pub kind: u16,
    /// The number of the chunk within the kind.
    #[wire(varint)]
    pub index: u32,
}

/// Check values of a whole state, of its kinds and of their chunks.
///
/// Equal states have equal trees. Where two trees differ, [`differing`](Tree::differing) names the chunks to compare or
/// to transfer.
///
/// ```
/// use samestep_sync::{Chunk, Replicate, Table, Tree};
///
/// #[derive(Clone, Replicate)]
/// struct Field {
///     stalks: Vec<u8>,
/// }
///
/// let (mut right, mut wrong) = (Field { stalks: vec![3; 1000] }, Field { stalks: vec![3; 1000] });
/// wrong.stalks[100] = 4;
///
/// // The one says what it has, the other names what differs, the one sends that.
/// let told = Tree::decode(&right.tree().encode())?;
/// let chunks = told.differing(&wrong.tree());
/// assert_eq!(chunks, [Chunk { kind: 1, index: 1 }]);
/// let (mut from, mut to) = (Table::new(Field::schema()), Table::new(Field::schema()));
/// right.extract(&mut from);
/// wrong.extract(&mut to);
/// to.apply_chunks(&from.encode_chunks(&chunks))?;
/// wrong.restore(&to)?;
/// assert_eq!(wrong.checksum(), right.checksum());
/// # Ok::<(), samestep_sync::RestoreError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tree {
    kinds: Vec<Branch>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Branch {
    rows: u32,
    counter: u32,
    leaves: Vec<u64>,
}

impl Branch {
    fn fold_into(&self, root: u64) -> u64 {
        self.leaves
            .iter()
            .fold(begin_kind(root, self.rows, self.counter), |root, leaf| {
                add_leaf(root, *leaf)
            })
    }
}

#[inline]
fn begin_kind(root: u64, rows: u32, counter: u32) -> u64 {
    fold(
        root ^ KEY,
        (u64::from(rows) << 32 | u64::from(counter)) ^ STEP,
    )
}

#[inline]
fn add_leaf(root: u64, leaf: u64) -> u64 {
    fold(root ^ KEY, leaf ^ LAST)
}

impl Tree {
    /// The value of the whole state: what [`Replicate::checksum`](crate::Replicate::checksum) says.
    pub fn root(&self) -> u64 {
        let Some((globals, collections)) = self.kinds.split_first() else {
            return 0;
        };
        let root = collections
            .iter()
            .fold(LAST, |root, kind| kind.fold_into(root));
        globals.fold_into(root)
    }

    /// The chunks of `self` to take so that `other` becomes the same.
    ///
    /// Where the numbers of rows differ, these are all chunks of the kind: rows may have moved. At least one chunk
    /// is named for each kind that differs, even if it holds no rows.
    pub fn differing(&self, other: &Tree) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let none = Branch::default();
        for (kind, ours) in self.kinds.iter().enumerate() {
            let theirs = other.kinds.get(kind).unwrap_or(&none);
            let chunk = |index: usize| Chunk {
                kind: kind as u16,
                index: index as u32,
            };
            if ours.rows != theirs.rows || ours.leaves.len() != theirs.leaves.len() {
                chunks.extend((0..ours.leaves.len().max(1)).map(chunk));
                continue;
            }
            let before = chunks.len();
            let pairs = ours.leaves.iter().zip(&theirs.leaves);
            let different = pairs.enumerate().filter(|(_, (a, b))| a != b);
            chunks.extend(different.map(|(index, _)| chunk(index)));
            if chunks.len() == before && ours.counter != theirs.counter {
                chunks.push(chunk(0));
            }
        }
        chunks
    }

    /// As bytes, about 8 for each chunk.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, self.kinds.len() as u64);
        for kind in &self.kinds {
            put_varint(&mut bytes, u64::from(kind.rows));
            put_varint(&mut bytes, u64::from(kind.counter));
            for leaf in &kind.leaves {
                bytes.extend_from_slice(&leaf.to_le_bytes());
            }
        }
        bytes
    }

    /// Reads what [`encode`](Tree::encode) wrote.
    pub fn decode(bytes: &[u8]) -> Result<Tree, DecodeError> {
        let mut r = BitReader::new(bytes);
        let count = r.read_varint()?;
        if count > u64::from(u16::MAX) {
            return Err(DecodeError::TooLong);
        }
        let mut kinds = Vec::new();
        for kind in 0..count {
            let rows = u32::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?;
            let counter = u32::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?;
            let chunks = if kind == 0 {
                1
            } else {
                (rows as usize).div_ceil(CHUNK_ROWS)
            };
            if chunks > r.remaining_bits() / 64 {
                return Err(DecodeError::Truncated);
            }
            let mut leaves = Vec::with_capacity(chunks);
            for _ in 0..chunks {
                leaves.push(r.read_u64()?);
            }
            kinds.push(Branch {
                rows,
                counter,
                leaves,
            });
        }
        r.finish()?;
        Ok(Tree { kinds })
    }
}

pub(crate) fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Collects the values of the parts of a state: into the root alone, or into a tree.
#[derive(Debug)]
pub struct Summary {
    root: u64,
    pub(crate) globals: Digest,
    tree: Option<Tree>,
}

impl Summary {
    pub(crate) fn of_root() -> Summary {
        Summary {
            root: LAST,
            globals: Digest::new(),
            tree: None,
        }
    }

    pub(crate) fn of_tree() -> Summary {
        Summary {
            tree: Some(Tree {
                kinds: alloc::vec![Branch::default()],
            }),
            ..Summary::of_root()
        }
    }

    /// A collection begins: its leaves follow.
    pub(crate) fn begin_kind(&mut self, rows: usize, counter: u32) {
        let rows = rows as u32;
        self.root = begin_kind(self.root, rows, counter);
        if let Some(tree) = &mut self.tree {
            tree.kinds.push(Branch {
                rows,
                counter,
                leaves: Vec::with_capacity((rows as usize).div_ceil(CHUNK_ROWS)),
            });
        }
    }

    pub(crate) fn add_leaf(&mut self, leaf: u64) {
        self.root = add_leaf(self.root, leaf);
        if let Some(kind) = self.tree.as_mut().and_then(|tree| tree.kinds.last_mut()) {
            kind.leaves.push(leaf);
        }
    }

    pub(crate) fn finish(self) -> (u64, Option<Tree>) {
        let globals = Branch {
            rows: 1,
            counter: 0,
            leaves: Vec::new(),
        };
        let leaf = self.globals.finish();
        let root = add_leaf(globals.fold_into(self.root), leaf);
        let tree = self.tree.map(|mut tree| {
            tree.kinds[0] = Branch {
                leaves: alloc::vec![leaf],
                ..globals
            };
            tree
        });
        (root, tree)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

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
