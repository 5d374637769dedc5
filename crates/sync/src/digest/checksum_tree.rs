//! The checksum tree that locates where two states differ: a Merkle tree of three levels (state, kinds, chunks of 64 rows), after Ralph C. Merkle,
//! *A Digital Signature Based on a Conventional Encryption Function*, 1987.

use crate::bytes::put;
use samestep_wire::{BitReader, DecodeError, Wire};

use super::{CHUNK_ROWS, Digest, KEY, LAST, STEP, fold};

/// A piece of a state: rows `64 * index` and the 63 after it, of a [kind](crate::Kind).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Wire)]
pub struct RowChunk {
    /// The number of the kind in the [`Schema`](crate::Schema).
    #[wire(varint)]
    pub kind: u16,
    /// The number of the chunk within the kind.
    #[wire(varint)]
    pub index: u32,
}

/// Checksums of a whole state, of its kinds and of their chunks.
///
/// Equal states have equal trees. Where two trees differ, [`differing`](ChecksumTree::differing) names the chunks to compare or
/// to transfer.
///
/// ```
/// use samestep_sync::{RowChunk, Replicate, Table, ChecksumTree};
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
/// let told = ChecksumTree::decode(&right.tree().encode())?;
/// let chunks = told.differing(&wrong.tree());
/// assert_eq!(chunks, [RowChunk { kind: 1, index: 1 }]);
/// let (mut from, mut to) = (Table::new(Field::schema()), Table::new(Field::schema()));
/// right.extract(&mut from);
/// wrong.extract(&mut to);
/// to.apply_chunks(&from.encode_chunks(&chunks))?;
/// wrong.restore(&to)?;
/// assert_eq!(wrong.checksum(), right.checksum());
/// # Ok::<(), samestep_sync::RestoreError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChecksumTree {
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

impl ChecksumTree {
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
    pub fn differing(&self, other: &ChecksumTree) -> Vec<RowChunk> {
        let mut chunks = Vec::new();
        let none = Branch::default();
        for (kind, ours) in self.kinds.iter().enumerate() {
            let theirs = other.kinds.get(kind).unwrap_or(&none);
            let chunk = |index: usize| RowChunk {
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
        put(&mut bytes, self.kinds.len() as u64);
        for kind in &self.kinds {
            put(&mut bytes, u64::from(kind.rows));
            put(&mut bytes, u64::from(kind.counter));
            for leaf in &kind.leaves {
                bytes.extend_from_slice(&leaf.to_le_bytes());
            }
        }
        bytes
    }

    /// Reads what [`encode`](ChecksumTree::encode) wrote.
    pub fn decode(bytes: &[u8]) -> Result<ChecksumTree, DecodeError> {
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
        Ok(ChecksumTree { kinds })
    }
}

/// Collects the values of the parts of a state: into the root alone, or into a tree.
#[derive(Debug)]
pub struct StateDigest {
    root: u64,
    pub(crate) globals: Digest,
    tree: Option<ChecksumTree>,
}

impl StateDigest {
    pub(crate) fn of_root() -> StateDigest {
        StateDigest {
            root: LAST,
            globals: Digest::new(),
            tree: None,
        }
    }

    pub(crate) fn of_tree() -> StateDigest {
        StateDigest {
            tree: Some(ChecksumTree {
                kinds: vec![Branch::default()],
            }),
            ..StateDigest::of_root()
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

    pub(crate) fn finish(self) -> (u64, Option<ChecksumTree>) {
        let globals = Branch {
            rows: 1,
            counter: 0,
            leaves: Vec::new(),
        };
        let leaf = self.globals.finish();
        let root = add_leaf(globals.fold_into(self.root), leaf);
        let tree = self.tree.map(|mut tree| {
            tree.kinds[0] = Branch {
                leaves: vec![leaf],
                ..globals
            };
            tree
        });
        (root, tree)
    }
}
