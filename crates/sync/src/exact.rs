//! Tables as bytes, to the last bit: for transfer, joining, repair and save games.
//!
//! Rows are written in blocks, a block field by field ([`column`]): cells of one field resemble each other. Fields of variants that
//! are not there are left out.

use samestep_wire::{BitReader, BitWriter, DecodeError};

use crate::bytes::put;
use crate::digest::{CHUNK_ROWS, RowChunk};
use crate::entities::EntityId;
use crate::record::CellKind;
use crate::table::{Kind, Rows, Schema, Table};

mod column;

use column::Nature;

const BLOCK_ROWS: usize = column::MAX_ROWS;

impl Table {
    /// The most cells that a table of foreign bytes may have, 128 MiB of them. Larger states cannot be transferred.
    pub const MAX_CELLS: usize = 1 << 24;

    /// All of it as bytes.
    ///
    /// # Panics
    /// If it has more than [`MAX_CELLS`](Self::MAX_CELLS).
    pub fn encode(&self) -> Vec<u8> {
        let cells: usize = self
            .kinds()
            .map(|(kind, rows)| size_of(kind, rows.count))
            .sum();
        assert!(
            cells <= Table::MAX_CELLS,
            "a state of {cells} cells is too large to be transferred"
        );
        let mut bytes = Vec::new();
        for (number, (kind, rows)) in self.kinds().enumerate() {
            if number > 0 {
                put_header(&mut bytes, kind, rows);
            }
            let mut at = 0;
            while at < rows.count {
                let end = rows.count.min(at + BLOCK_ROWS);
                put_block(&mut bytes, kind, rows, at, end);
                at = end;
            }
        }
        bytes
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// Memory grows as rows turn out to be there, up to [`MAX_CELLS`](Self::MAX_CELLS).
    pub fn decode(schema: Schema, bytes: &[u8]) -> Result<Table, DecodeError> {
        let mut table = Table::new(schema.clone());
        let mut r = BitReader::new(bytes);
        let mut budget = Table::MAX_CELLS;
        for (number, kind) in schema.kinds().iter().enumerate() {
            let rows = table.kind_mut(number).expect("as many as the schema");
            let mut count = 1;
            if number > 0 {
                (count, rows.counter) = read_header(&mut r, kind)?;
            }
            budget = budget
                .checked_sub(size_of(kind, count))
                .ok_or(DecodeError::TooLong)?;
            let mut at = 0;
            while at < count {
                let end = count.min(at + BLOCK_ROWS);
                resize(rows, kind, end);
                read_block(&mut r, kind, rows, at, end)?;
                at = end;
            }
        }
        r.finish()?;
        Ok(table)
    }

    /// Some chunks as bytes. Those that do not exist are left out.
    ///
    /// What is sent also says how many rows their kinds have, so chunks that [`ChecksumTree::differing`](crate::ChecksumTree::differing)
    /// names suffice to make another table the same.
    pub fn encode_chunks(&self, chunks: &[RowChunk]) -> Vec<u8> {
        let mut chunks = chunks.to_vec();
        chunks.sort();
        chunks.dedup();
        let mut bytes = Vec::new();
        for chunks in chunks.chunk_by(|a, b| a.kind == b.kind) {
            let number = usize::from(chunks[0].kind);
            let Some((kind, rows)) = self.kinds().nth(number) else {
                continue;
            };
            let last = rows.count.div_ceil(CHUNK_ROWS);
            // Bytes that belong together are sent together.
            let exist: Vec<u32> = match kind.is_opaque() {
                true => (0..last as u32).collect(),
                false => chunks.iter().map(|chunk| chunk.index).collect(),
            };
            let exist = exist.into_iter().filter(|index| (*index as usize) < last);
            put(&mut bytes, number as u64);
            put_header(&mut bytes, kind, rows);
            put(&mut bytes, exist.clone().count() as u64);
            for index in exist {
                put(&mut bytes, u64::from(index));
                let at = index as usize * CHUNK_ROWS;
                let end = rows.count.min(at + CHUNK_ROWS);
                put_block(&mut bytes, kind, rows, at, end);
            }
        }
        bytes
    }

    /// Takes over the chunks that [`encode_chunks`](Self::encode_chunks) wrote, and says which. After an error the table is
    /// as it was.
    pub fn apply_chunks(&mut self, bytes: &[u8]) -> Result<Vec<RowChunk>, DecodeError> {
        let mut chunks = Vec::new();
        let mut table = self.clone();
        let mut r = BitReader::new(bytes);
        while !r.is_empty() {
            let number = r.read_varint()? as usize;
            let Some(kind) = self.schema().kinds().get(number) else {
                return Err(DecodeError::OutOfRange);
            };
            let rows = table.kind_mut(number).expect("as many as the schema");
            let (count, counter) = read_header(&mut r, kind)?;
            if number == 0 && count != 1 {
                return Err(DecodeError::OutOfRange);
            }
            rows.counter = counter;
            let before = chunks.len();
            read_chunks(&mut r, kind, rows, count, |index| {
                let kind = number as u16;
                chunks.push(RowChunk { kind, index });
            })?;
            if chunks.len() == before {
                let kind = number as u16;
                chunks.push(RowChunk { kind, index: 0 });
            }
        }
        let cells: usize = table
            .kinds()
            .map(|(kind, rows)| size_of(kind, rows.count))
            .sum();
        if cells > Table::MAX_CELLS {
            return Err(DecodeError::TooLong);
        }
        *self = table;
        Ok(chunks)
    }
}

/// How many cells so many rows take, ids included; at least one for each row, because they cost time even without cells.
fn size_of(kind: &Kind, rows: usize) -> usize {
    let width = kind.fields.len() + usize::from(kind.has_ids);
    rows.saturating_mul(width.max(1))
}

fn resize(rows: &mut Rows, kind: &Kind, count: usize) {
    rows.count = count;
    rows.cells.resize(count * kind.fields.len(), 0);
    if kind.has_ids {
        rows.ids.resize(count, EntityId::fixed(0));
    }
}

fn put_header(bytes: &mut Vec<u8>, kind: &Kind, rows: &Rows) {
    put(bytes, rows.count as u64);
    if kind.has_ids {
        put(bytes, u64::from(rows.counter));
    }
}

fn read_header(r: &mut BitReader<'_>, kind: &Kind) -> Result<(usize, u32), DecodeError> {
    let count = r.read_varint()?;
    if count > Table::MAX_CELLS as u64 {
        return Err(DecodeError::TooLong);
    }
    let counter = match kind.has_ids {
        true => u32::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?,
        false => 0,
    };
    Ok((count as usize, counter))
}

/// Reads chunks into rows that become `count`. All rows must be there afterwards, from before or from now.
fn read_chunks(
    r: &mut BitReader<'_>,
    kind: &Kind,
    rows: &mut Rows,
    count: usize,
    mut on_chunk: impl FnMut(u32),
) -> Result<(), DecodeError> {
    let before = rows.count;
    let given = r.read_varint()?;
    let mut added = before;
    // Rows of a last chunk that is cut short are there already; one that grows has to be given.
    if count < before {
        resize(rows, kind, count);
        added = count;
    }
    let mut last = None;
    for _ in 0..given {
        let index = u32::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?;
        let at = index as usize * CHUNK_ROWS;
        if last.is_some_and(|last| index <= last) || at >= count {
            return Err(DecodeError::OutOfRange);
        }
        last = Some(index);
        let end = count.min(at + CHUNK_ROWS);
        if end > added {
            // Chunks come in order, so that this one has to go on where the rows end.
            if at > added {
                return Err(DecodeError::Truncated);
            }
            resize(rows, kind, end);
            added = end;
        }
        read_block(r, kind, rows, at, end)?;
        on_chunk(index);
    }
    match added == count {
        true => Ok(()),
        false => Err(DecodeError::Truncated),
    }
}

/// Writes rows `at..end`: of each field the cells that have a meaning.
fn put_block(bytes: &mut Vec<u8>, kind: &Kind, rows: &Rows, at: usize, end: usize) {
    let width = kind.fields.len();
    let start = bytes.len();
    let columns = width + usize::from(kind.has_ids);
    bytes.resize(start + columns * column::max_bits(end - at).div_ceil(8), 0);
    let mut w = BitWriter::new(&mut bytes[start..]);
    let mut values = [0; BLOCK_ROWS];
    if kind.has_ids {
        for (value, id) in values.iter_mut().zip(&rows.ids[at..end]) {
            *value = u64::from(id.number());
        }
        column::encode(&values[..end - at], Nature::of(CellKind::Entity), &mut w);
    }
    let cells = &rows.cells[at * width..end * width];
    for (place, field) in kind.fields.iter().enumerate() {
        let mut count = 0;
        for row in cells.chunks_exact(width) {
            values[count] = row[place];
            count += match &field.when {
                Some(when) => usize::from(when.is_met(row[when.field])),
                None => 1,
            };
        }
        if count > 0 {
            column::encode(&values[..count], Nature::of(field.kind), &mut w);
        }
    }
    w.align();
    let len = w.finish().expect("the bound of a column holds");
    bytes.truncate(start + len);
}

fn read_block(
    r: &mut BitReader<'_>,
    kind: &Kind,
    rows: &mut Rows,
    at: usize,
    end: usize,
) -> Result<(), DecodeError> {
    let width = kind.fields.len();
    let mut values = [0; BLOCK_ROWS];
    if kind.has_ids {
        let values = &mut values[..end - at];
        column::decode(values, Nature::of(CellKind::Entity), r)?;
        for (id, value) in rows.ids[at..end].iter_mut().zip(values) {
            let number = u32::try_from(*value).ok().and_then(EntityId::from_number);
            *id = number.ok_or(DecodeError::OutOfRange)?;
        }
    }
    let cells = &mut rows.cells[at * width..end * width];
    for (place, field) in kind.fields.iter().enumerate() {
        let mut count = end - at;
        if let Some(when) = &field.when {
            let deciding = cells.chunks_exact(width).map(|row| row[when.field]);
            count = deciding.filter(|value| when.is_met(*value)).count();
        }
        if count > 0 {
            column::decode(&mut values[..count], Nature::of(field.kind), r)?;
        }
        let mut values = values[..count].iter();
        for row in cells.chunks_exact_mut(width) {
            let is_there = field.when.is_none_or(|when| when.is_met(row[when.field]));
            row[place] = match is_there {
                true => *values.next().expect("counted above"),
                false => 0,
            };
        }
    }
    r.align()
}
