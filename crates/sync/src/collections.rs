//! The standard library's collections as parts of a state: rows without ids, in their order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::digest::{CHUNK_ROWS, Digest, StateDigest};
use crate::record::{InvalidCell, Record};
use crate::replicate::{Extraction, Part, Restoration};
use crate::table::{RestoreError, SchemaBuilder};

/// Writes rows of `width` cells.
pub(crate) fn store_rows<R>(
    rows: impl IntoIterator<Item = R>,
    width: usize,
    cells: &mut [u64],
    store: impl Fn(R, &mut [u64]),
) {
    if width == 0 {
        return;
    }
    for (row, cells) in rows.into_iter().zip(cells.chunks_exact_mut(width)) {
        store(row, cells);
    }
}

/// Adds the checksums of rows, chunk by chunk.
pub(crate) fn digest_rows<R>(
    summary: &mut StateDigest,
    count: usize,
    rows: impl IntoIterator<Item = R>,
    digest: impl Fn(R, &mut Digest),
) {
    summary.begin_kind(count, 0);
    let mut rows = rows.into_iter();
    for _ in 0..count.div_ceil(CHUNK_ROWS) {
        let mut sum = 0u64;
        for (place, row) in rows.by_ref().take(CHUNK_ROWS).enumerate() {
            let mut of_row = Digest::new();
            digest(row, &mut of_row);
            sum = sum.wrapping_add(of_row.finish_with(place as u64));
        }
        summary.add_leaf(sum);
    }
}

macro_rules! sequences {
    ($($(#[$about:meta])* $type:ident, $add:ident;)*) => {$(
        $(#[$about])*
        impl<T: Record> Part for $type<T> {
            fn describe_part(name: &str, schema: &mut SchemaBuilder) {
                schema.add_kind::<T>(name, false);
            }

            fn extract_part(&self, into: &mut Extraction<'_>) {
                let rows = into.next_kind();
                rows.resize(self.len(), T::CELLS);
                store_rows(self, T::CELLS, &mut rows.cells, T::store);
            }

            fn build_part(from: &mut Restoration<'_>) -> Result<Self, RestoreError> {
                let mut list = $type::new();
                list.restore_part(from)?;
                Ok(list)
            }

            fn restore_part(&mut self, from: &mut Restoration<'_>) -> Result<(), RestoreError> {
                let rows = from.next_kind(false, T::CELLS)?;
                self.clear();
                self.reserve(rows.count);
                for row in 0..rows.count {
                    self.$add(from.load_row(rows, row)?);
                }
                Ok(())
            }

            fn assign_part(&mut self, from: &Self) {
                self.clone_from(from);
            }

            fn digest_part(&mut self, summary: &mut StateDigest) {
                digest_rows(summary, self.len(), &*self, T::digest);
            }
        }
    )*};
}

sequences! {
    /// A list of rows without ids, in its order. Its checksum is computed anew each time.
    Vec, push;
    /// As a `Vec`.
    VecDeque, push_back;
}

/// A key must be greater than the one before; in a table from a stream, the last row of a key counts.
fn check_order(from: &Restoration<'_>, is_ascending: bool, row: usize) -> Result<(), RestoreError> {
    match is_ascending || from.is_streamed {
        true => Ok(()),
        false => Err(from.invalid_row(row, InvalidCell::FIRST)),
    }
}

/// Rows of a key and a value, in the order of the keys. Differences are named by their keys.
impl<K: Record + Ord, V: Record> Part for BTreeMap<K, V> {
    fn describe_part(name: &str, schema: &mut SchemaBuilder) {
        schema.add_map(name, K::CELLS, |into| {
            into.enter("key");
            K::describe(into);
            into.leave();
            V::describe(into);
        });
    }

    fn extract_part(&self, into: &mut Extraction<'_>) {
        let rows = into.next_kind();
        let width = K::CELLS + V::CELLS;
        rows.resize(self.len(), width);
        store_rows(self, width, &mut rows.cells, |(key, value), cells| {
            let (of_key, of_value) = cells.split_at_mut(K::CELLS);
            key.store(of_key);
            value.store(of_value);
        });
    }

    fn build_part(from: &mut Restoration<'_>) -> Result<Self, RestoreError> {
        let rows = from.next_kind(false, K::CELLS + V::CELLS)?;
        let mut map = BTreeMap::new();
        for row in 0..rows.count {
            let (key, value) = from.load_row::<(K, V)>(rows, row)?;
            let last = map.last_key_value();
            let is_ascending = last.is_none_or(|(last, _)| *last < key);
            check_order(from, is_ascending, row)?;
            map.insert(key, value);
        }
        Ok(map)
    }

    fn assign_part(&mut self, from: &Self) {
        self.clone_from(from);
    }

    fn digest_part(&mut self, summary: &mut StateDigest) {
        digest_rows(summary, self.len(), &*self, |(key, value), digest| {
            key.digest(digest);
            value.digest(digest);
        });
    }
}

/// Rows in their order.
impl<T: Record + Ord> Part for BTreeSet<T> {
    fn describe_part(name: &str, schema: &mut SchemaBuilder) {
        schema.add_map(name, T::CELLS, T::describe);
    }

    fn extract_part(&self, into: &mut Extraction<'_>) {
        let rows = into.next_kind();
        rows.resize(self.len(), T::CELLS);
        store_rows(self, T::CELLS, &mut rows.cells, T::store);
    }

    fn build_part(from: &mut Restoration<'_>) -> Result<Self, RestoreError> {
        let rows = from.next_kind(false, T::CELLS)?;
        let mut set = BTreeSet::new();
        for row in 0..rows.count {
            let item = from.load_row::<T>(rows, row)?;
            check_order(from, set.last().is_none_or(|last| *last < item), row)?;
            set.insert(item);
        }
        Ok(set)
    }

    fn assign_part(&mut self, from: &Self) {
        self.clone_from(from);
    }

    fn digest_part(&mut self, summary: &mut StateDigest) {
        digest_rows(summary, self.len(), &*self, T::digest);
    }
}
