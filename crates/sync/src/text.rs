//! Texts in a state: of any length as a part of it, of a greatest length within a record.

use core::fmt;
use core::ops::Deref;

use crate::collections::{digest_rows, store_rows};
use crate::digest::{Digest, StateDigest};
use crate::record::{CellKind, Describe, InvalidCell, Record};
use crate::replicate::{Extraction, Part, Restoration};
use crate::table::{RestoreError, SchemaBuilder};

/// Bytes of a text in a cell; the lowest byte of the cell says how many there are.
const CELL_BYTES: usize = 7;

fn cell_of(bytes: &[u8]) -> u64 {
    let mut cell = [0; 8];
    cell[0] = bytes.len() as u8;
    cell[1..=bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(cell)
}

/// The cells of a text, as many as its bytes need.
fn cells_of(text: &str) -> impl ExactSizeIterator<Item = u64> {
    text.as_bytes().chunks(CELL_BYTES).map(cell_of)
}

/// The bytes of a cell; `None` if it is none that [`cell_of`] makes.
fn bytes_of(cell: u64) -> Option<([u8; CELL_BYTES], usize)> {
    let [len, bytes @ ..] = cell.to_le_bytes();
    let (_, unused) = bytes.split_at_checked(usize::from(len))?;
    let is_one = unused.iter().all(|byte| *byte == 0);
    is_one.then_some((bytes, usize::from(len)))
}

/// The text of some cells, as far as it is one.
pub(crate) fn text_of(cells: impl IntoIterator<Item = u64>) -> String {
    let mut bytes = Vec::new();
    for cell in cells {
        if let Some((used, len)) = bytes_of(cell) {
            bytes.extend_from_slice(&used[..len]);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digest_text(text: &str, digest: &mut Digest) {
    let mut cells = Digest::new();
    cells.push(text.len() as u64, 64);
    cells_of(text).for_each(|cell| cells.push(cell, 64));
    digest.push(cells.finish(), 64);
}

/// A text of at most `N` bytes that lies within its record: no memory of its own, nothing to allocate.
///
/// It is read like a `str`. What is too long is cut, at a character.
///
/// ```
/// use samestep_sync::Text;
///
/// let name: Text<8> = Text::new("Ottoline");
/// assert_eq!(&*name, "Ottoline");
/// assert_eq!(&*Text::<8>::new("Ottilié!"), "Ottilié");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const N: usize> {
    /// Zero from `len` on, so that texts compare by their bytes.
    bytes: [u8; N],
    len: u16,
}

impl<const N: usize> Text<N> {
    /// The text, or as much of it as there is room for.
    pub fn new(text: &str) -> Self {
        const { assert!(N <= u16::MAX as usize, "a Text has at most 65,535 bytes") };
        let mut len = text.len().min(N);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        let mut bytes = [0; N];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Text {
            bytes,
            len: len as u16,
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Text::new("")
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Seven bytes in a cell; cells after the end are zero.
impl<const N: usize> Record for Text<N> {
    const CELLS: usize = N.div_ceil(CELL_BYTES);

    fn describe(into: &mut Describe) {
        for cell in 0..Self::CELLS {
            let bytes = CELL_BYTES.min(N - cell * CELL_BYTES);
            into.cell_of_bits(CellKind::Text, bytes as u32 * 8);
        }
    }

    fn store(&self, cells: &mut [u64]) {
        let mut used = cells_of(self);
        cells.fill_with(|| used.next().unwrap_or(0));
    }

    fn load(cells: &[u64]) -> Result<Self, InvalidCell> {
        let (mut bytes, mut len) = ([0; N], 0);
        for (at, cell) in cells.iter().enumerate() {
            let (used, count) = bytes_of(*cell).ok_or(InvalidCell(at))?;
            // All cells before the last one with bytes are full.
            let is_whole = count == 0 || len == at * CELL_BYTES;
            match bytes.get_mut(len..len + count) {
                Some(into) if is_whole => into.copy_from_slice(&used[..count]),
                _ => return Err(InvalidCell(at)),
            }
            len += count;
        }
        match core::str::from_utf8(&bytes[..len]) {
            Ok(_) => Ok(Text {
                bytes,
                len: len as u16,
            }),
            Err(_) => Err(InvalidCell::FIRST),
        }
    }

    fn digest(&self, digest: &mut Digest) {
        digest_text(self, digest);
    }
}

/// Rows of seven bytes.
impl Part for String {
    fn describe_part(name: &str, schema: &mut SchemaBuilder) {
        schema.add_rows(name, false, 0, |into| {
            into.cell(CellKind::Text);
        });
    }

    fn extract_part(&self, into: &mut Extraction<'_>) {
        let rows = into.next_kind();
        rows.resize(self.len().div_ceil(CELL_BYTES), 1);
        store_rows(cells_of(self), 1, &mut rows.cells, |cell, into| {
            into[0] = cell;
        });
    }

    fn build_part(from: &mut Restoration<'_>) -> Result<Self, RestoreError> {
        let rows = from.next_kind(false, 1)?;
        if from.is_streamed {
            return Ok(text_of(rows.cells.iter().copied()));
        }
        let mut bytes = Vec::new();
        for (row, cell) in rows.cells.iter().enumerate() {
            match bytes_of(*cell) {
                // All rows before the last are full.
                Some((used, len)) if len > 0 && bytes.len() == row * CELL_BYTES => {
                    bytes.extend_from_slice(&used[..len]);
                }
                _ => return Err(from.invalid_row(row, InvalidCell::FIRST)),
            }
        }
        String::from_utf8(bytes).map_err(|_| from.invalid_row(0, InvalidCell::FIRST))
    }

    fn assign_part(&mut self, from: &Self) {
        self.clone_from(from);
    }

    fn digest_part(&mut self, summary: &mut StateDigest) {
        let cells = cells_of(self);
        digest_rows(summary, cells.len(), cells, |cell, digest| {
            digest.push(cell, 64);
        });
    }
}
