//! What a state consists of, described once.

use crate::collections::store_rows;
use crate::digest::{ChecksumTree, StateDigest};
use crate::entities::Entities;
use crate::record::{InvalidCell, Record};
use crate::table::{Kind, RestoreError, Rows, Schema, SchemaBuilder, Table};

/// The whole state of a game: a struct of collections and plain fields.
///
/// Derive it with [`#[derive(Replicate)]`](derive@crate::Replicate). From the one description come checksums, the
/// place of a difference, transfer and save games.
///
/// ```
/// use samestep_sync::{Entities, Record, Replicate, Rng, Table};
///
/// #[derive(Clone, PartialEq, Debug, Record)]
/// struct Unit {
///     #[field(range(0.0, 1024.0), precision = 0.01, blend = "linear")]
///     position: (f32, f32),
///     health: u8,
/// }
///
/// #[derive(Clone, Replicate)]
/// struct Battle {
///     units: Entities<Unit>,
///     gold: [u32; 2],
///     rng: Rng,
/// }
///
/// let mut battle = Battle { units: Entities::new(), gold: [100, 50], rng: Rng::new(1) };
/// let unit = battle.units.insert(Unit { position: (1.0, 2.0), health: 9 });
///
/// let mut table = Table::new(Battle::schema());
/// battle.extract(&mut table);
/// let mut copy = Battle::from_table(&table)?;
/// assert_eq!(copy.checksum(), battle.checksum());
///
/// copy.units.get_mut(unit).unwrap().health = 8;
/// assert_ne!(copy.checksum(), battle.checksum());
/// assert_eq!(battle.tree().differing(&copy.tree()).len(), 1);
/// copy.assign(&battle);
/// assert_eq!(copy.checksum(), battle.checksum());
/// # Ok::<(), samestep_sync::RestoreError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not described as a state",
    note = "add `#[derive(Clone, Replicate)]` to the struct that holds the whole game"
)]
pub trait Replicate: Part {
    /// The kinds of rows and their fields.
    fn schema() -> Schema {
        let mut schema = SchemaBuilder::default();
        Self::describe_part("", &mut schema);
        schema.finish()
    }

    /// Writes all cells into a table of this [`schema`](Self::schema), whose memory is used again.
    fn extract(&self, table: &mut Table) {
        let mut extraction = Extraction {
            table,
            kind: 0,
            cell: 0,
        };
        self.extract_part(&mut extraction);
    }

    /// Becomes what the table holds. After an error the state is a valid one, but no particular one.
    fn restore(&mut self, table: &Table) -> Result<(), RestoreError> {
        let mut from = Restoration::new(table);
        self.restore_part(&mut from)?;
        from.finish()
    }

    /// As [`restore`](Self::restore), for a table that comes from a stream: some of its rows may be older than others.
    ///
    /// An [`Opaque`](crate::Opaque) part of which not all is there yet stays as it is, of a text that is cut within a character the rest is read, and
    /// of rows with the same key the last counts.
    fn restore_streamed(&mut self, table: &Table) -> Result<(), RestoreError> {
        let mut from = Restoration::new(table);
        from.is_streamed = true;
        self.restore_part(&mut from)?;
        from.finish()
    }

    /// The state that a table holds; what is skipped begins with its default.
    fn from_table(table: &Table) -> Result<Self, RestoreError> {
        let mut from = Restoration::new(table);
        let state = Self::build_part(&mut from)?;
        from.finish()?;
        Ok(state)
    }

    /// Becomes the same as `from`, in the memory it already has. What is skipped stays as it is.
    fn assign(&mut self, from: &Self) {
        self.assign_part(from);
    }

    /// A value that is the same for equal states, and different for different ones but for one case in 2⁶⁴.
    ///
    /// Costs what was touched since the last time.
    fn checksum(&mut self) -> u64 {
        let mut summary = StateDigest::of_root();
        self.digest_part(&mut summary);
        summary.finish().0
    }

    /// The checksums of all parts; the root of it is the [`checksum`](Self::checksum).
    fn tree(&mut self) -> ChecksumTree {
        let mut summary = StateDigest::of_tree();
        self.digest_part(&mut summary);
        summary.finish().1.expect("a tree was asked for")
    }
}

/// A part of a state: a record; [`Entities`], `Vec`, `VecDeque`, `BTreeSet` or `BTreeMap` of records; a `String`; something [`Opaque`](crate::Opaque); or a
/// struct that derives [`Replicate`].
///
/// Games do not call it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a state",
    label = "neither a record nor a collection of records",
    note = "derive `Record` for it if it is a fixed set of fields; use `Entities<T>`, `Vec<T>`, `BTreeMap<K, V>` of records for collections (`Text<N>` for texts in them); derive `Replicate` if it holds collections; say how long what grows in something else becomes with `#[field(max_len = 16)]`; convert a type of another crate with `#[field(with = Conversion)]`; hold what has no fields to compare in `Opaque<T>`; or leave scratch memory out with `#[replicate(skip)]`"
)]
pub trait Part: Clone + 'static {
    /// Adds what it consists of.
    fn describe_part(name: &str, schema: &mut SchemaBuilder);

    /// Writes its cells.
    fn extract_part(&self, into: &mut Extraction<'_>);

    /// Makes one from cells.
    fn build_part(from: &mut Restoration<'_>) -> Result<Self, RestoreError>;

    /// Becomes what the cells say.
    fn restore_part(&mut self, from: &mut Restoration<'_>) -> Result<(), RestoreError> {
        *self = Self::build_part(from)?;
        Ok(())
    }

    /// Becomes the same as `from`, in its own memory.
    fn assign_part(&mut self, from: &Self);

    /// Adds its checksums.
    fn digest_part(&mut self, summary: &mut StateDigest);
}

/// Where a state writes its cells, part by part.
#[derive(Debug)]
pub struct Extraction<'a> {
    table: &'a mut Table,
    kind: usize,
    cell: usize,
}

impl Extraction<'_> {
    pub(crate) fn next_kind(&mut self) -> &mut Rows {
        self.kind += 1;
        self.table
            .kind_mut(self.kind)
            .expect("the table is one of this state's schema")
    }
}

/// Where a state reads its cells, part by part.
#[derive(Debug)]
pub struct Restoration<'a> {
    table: &'a Table,
    kind: usize,
    cell: usize,
    /// Whether rows may be older than others.
    pub(crate) is_streamed: bool,
}

impl<'a> Restoration<'a> {
    fn new(table: &'a Table) -> Restoration<'a> {
        Restoration {
            table,
            kind: 0,
            cell: 0,
            is_streamed: false,
        }
    }

    /// Reads a part and converts it to what the state holds.
    pub fn convert<R, T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self) -> Result<R, RestoreError>,
        convert: impl FnOnce(R) -> Option<T>,
    ) -> Result<T, RestoreError> {
        convert(read(self)?).ok_or_else(|| RestoreError::Invalid {
            kind: self.table.schema().kinds()[0].name.clone(),
            row: 0,
            field: name.into(),
        })
    }

    /// The kind that is being read.
    pub(crate) fn described(&self) -> &'a Kind {
        &self.table.schema().kinds()[self.kind]
    }

    pub(crate) fn next_kind(
        &mut self,
        has_ids: bool,
        width: usize,
    ) -> Result<&'a Rows, RestoreError> {
        self.kind += 1;
        let described = self.table.schema().kinds().get(self.kind);
        match (described, self.table.kind(self.kind)) {
            (Some(kind), Some(rows)) if kind.has_ids == has_ids && kind.fields.len() == width => {
                Ok(rows)
            }
            _ => Err(RestoreError::OtherSchema),
        }
    }

    #[cold]
    fn invalid(&self, kind: usize, row: usize, cell: InvalidCell) -> RestoreError {
        let kind = &self.table.schema().kinds()[kind];
        RestoreError::Invalid {
            kind: kind.name.clone(),
            row,
            field: kind
                .fields
                .get(cell.0)
                .map(|field| field.name.clone())
                .unwrap_or_default(),
        }
    }

    pub(crate) fn load_row<T: Record>(&self, rows: &Rows, row: usize) -> Result<T, RestoreError> {
        T::load(&rows.cells[row * T::CELLS..][..T::CELLS])
            .map_err(|cell| self.invalid_row(row, cell))
    }

    /// A cell of a row of the kind that is being read is invalid.
    #[cold]
    pub(crate) fn invalid_row(&self, row: usize, cell: InvalidCell) -> RestoreError {
        self.invalid(self.kind, row, cell)
    }

    /// All of the table must have been of use, but for kinds that a model has added behind.
    fn finish(self) -> Result<(), RestoreError> {
        let schema = self.table.schema();
        match self.kind + 1 == schema.own_kinds() && self.cell == schema.kinds()[0].fields.len() {
            true => Ok(()),
            false => Err(RestoreError::OtherSchema),
        }
    }
}

/// Plain fields share one row.
impl<T: Record> Part for T {
    fn describe_part(name: &str, schema: &mut SchemaBuilder) {
        schema.add_global::<T>(name);
    }

    fn extract_part(&self, into: &mut Extraction<'_>) {
        let row = into
            .table
            .kind_mut(0)
            .expect("every table has a first kind");
        self.store(&mut row.cells[into.cell..][..T::CELLS]);
        into.cell += T::CELLS;
    }

    fn build_part(from: &mut Restoration<'_>) -> Result<Self, RestoreError> {
        let at = from.cell;
        let row = from.table.kind(0).ok_or(RestoreError::OtherSchema)?;
        let cells = row
            .cells
            .get(at..at + T::CELLS)
            .ok_or(RestoreError::OtherSchema)?;
        from.cell += T::CELLS;
        T::load(cells).map_err(|cell| from.invalid(0, 0, cell.after(at)))
    }

    fn assign_part(&mut self, from: &Self) {
        self.clone_from(from);
    }

    fn digest_part(&mut self, summary: &mut StateDigest) {
        self.digest(&mut summary.globals);
    }
}

/// Rows with ids, in their order. Checksums of what was not touched are kept.
impl<T: Record> Part for Entities<T> {
    fn describe_part(name: &str, schema: &mut SchemaBuilder) {
        schema.add_kind::<T>(name, true);
    }

    fn extract_part(&self, into: &mut Extraction<'_>) {
        let rows = into.next_kind();
        rows.resize(self.len(), T::CELLS);
        rows.counter = self.counter();
        rows.ids.clear();
        rows.ids.extend_from_slice(self.ids());
        store_rows(self.as_slice(), T::CELLS, &mut rows.cells, T::store);
    }

    fn build_part(from: &mut Restoration<'_>) -> Result<Self, RestoreError> {
        let mut entities = Entities::new();
        entities.restore_part(from)?;
        Ok(entities)
    }

    fn restore_part(&mut self, from: &mut Restoration<'_>) -> Result<(), RestoreError> {
        let rows = from.next_kind(true, T::CELLS)?;
        if !Self::can_count_from(rows.counter) {
            return Err(RestoreError::Invalid {
                kind: from.table.schema().kinds()[from.kind].name.clone(),
                row: rows.count,
                field: "id".into(),
            });
        }
        self.rebuild(
            rows.counter,
            &rows.ids,
            |row| from.load_row(rows, row),
            RestoreError::SameId,
        )
    }

    fn assign_part(&mut self, from: &Self) {
        self.assign(from);
    }

    fn digest_part(&mut self, summary: &mut StateDigest) {
        self.summarise(summary);
    }
}
