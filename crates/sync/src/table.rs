//! States without their types: rows of cells, and their schema.

use std::sync::Arc;

use thiserror::Error;

use crate::entities::EntityId;
use crate::id::PlayerId;
use crate::record::{Blend, CellKind, Describe, Field, Record};

/// The schema of a state: its collections and their fields, the same for all states of a type.
///
/// ```
/// use samestep_sync::{Blend, CellKind, Entities, Record, Replicate};
///
/// #[derive(Clone, Record)]
/// struct Ship {
///     #[field(range(0, 8000), blend = "linear")]
///     at: (u16, u16),
///     tow: Option<i8>,
/// }
///
/// #[derive(Clone, Replicate)]
/// struct Sea {
///     ships: Entities<Ship>,
///     wind: f32,
/// }
///
/// let schema = Sea::schema();
/// let [globals, ships] = schema.kinds() else { panic!() };
/// assert_eq!(globals.fields[0].name, "wind");
/// assert!(ships.has_ids);
///
/// let names: Vec<_> = ships.fields.iter().map(|field| &*field.name).collect();
/// assert_eq!(names, ["at.0", "at.1", "tow", "tow.0"]);
/// assert_eq!(ships.fields[0].shown.blend, Blend::Linear);
/// assert_eq!(ships.fields[2].kind.text(1), "Some");
/// assert_eq!(ships.fields[3].kind, CellKind::Signed);
/// assert_eq!(ships.fields[3].when.unwrap().field, 2); // it has a meaning only if `tow` is there
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Schema {
    kinds: Arc<[Kind]>,
    /// The number of kinds at the end that a model has added.
    added: usize,
}

/// A collection of rows of the same fields. The first kind of every schema is a single row that holds what is in no
/// collection.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Kind {
    /// The name of the field that holds the collection; of the first kind, `"globals"`.
    pub name: String,
    /// Whether its rows are entities, which have ids.
    pub has_ids: bool,
    /// Its cells.
    pub fields: Vec<Field>,
    /// How many fields at the beginning are the key of a row, if the collection is a map or a set; else 0.
    pub keys: usize,
}

impl Kind {
    /// Whether its rows are the bytes of an [`Opaque`](crate::Opaque) part, which is transferred as a whole.
    pub(crate) fn is_opaque(&self) -> bool {
        self.fields
            .first()
            .is_some_and(|field| field.kind == CellKind::Opaque)
    }

    /// The field that names the player who owns the row.
    pub(crate) fn owner_field(&self) -> Option<usize> {
        let owner = |field: &Field| field.shown.owner && field.kind == CellKind::Player;
        self.fields.iter().position(owner)
    }
}

impl Schema {
    /// All kinds; a [`RowChunk`](crate::RowChunk) names one by its place here.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The number of the state's own kinds; models may have added others behind.
    pub(crate) fn own_kinds(&self) -> usize {
        self.kinds.len() - self.added
    }

    /// The same schema with further kinds of rows without ids, given by their names and fields, which are not part of the state.
    pub(crate) fn with_added(&self, added: &[(&str, &[&str])]) -> Schema {
        let kind = |(name, fields): &(&str, &[&str])| Kind {
            name: String::from(*name),
            has_ids: false,
            fields: fields.iter().map(|field| Field::unsigned(field)).collect(),
            keys: 0,
        };
        Schema {
            kinds: self
                .kinds
                .iter()
                .cloned()
                .chain(added.iter().map(kind))
                .collect(),
            added: self.added + added.len(),
        }
    }

    /// The same schema with all fields exact in views.
    pub(crate) fn exactly(&self) -> Schema {
        let mut kinds = self.kinds.to_vec();
        for field in kinds.iter_mut().flat_map(|kind| &mut kind.fields) {
            field.shown.precision = None;
        }
        Schema {
            kinds: kinds.into(),
            added: self.added,
        }
    }

    /// A hash of the kinds and fields, their names and types: programs with equal fingerprints can exchange states.
    pub fn fingerprint(&self) -> u64 {
        let mut text = Vec::new();
        for kind in self.kinds() {
            text.extend_from_slice(kind.name.as_bytes());
            text.extend([0, u8::from(kind.has_ids)]);
            for field in &kind.fields {
                text.extend_from_slice(field.name.as_bytes());
                text.extend([0, field.kind.number()]);
                if let CellKind::Variant(names) = field.kind {
                    for name in names {
                        text.extend_from_slice(name.as_bytes());
                        text.push(0);
                    }
                }
            }
            text.push(1);
        }
        crate::digest::of_bytes(&text)
    }

    /// A hash of the [fingerprint](Self::fingerprint), of the widths of the fields, of what is a map's key, and of how exactly views show the
    /// fields: programs with equal hashes can follow each other's views as well.
    pub fn layout_hash(&self) -> u64 {
        let mut text = self.fingerprint().to_le_bytes().to_vec();
        for kind in self.kinds() {
            text.extend((kind.keys as u32).to_le_bytes());
        }
        for field in self.kinds().iter().flat_map(|kind| &kind.fields) {
            text.extend(field.bits.to_le_bytes());
            let (least, greatest) = field.shown.range.unwrap_or_default();
            let step = field.shown.precision.unwrap_or_default();
            for number in [least, greatest, step] {
                text.extend(number.to_bits().to_le_bytes());
            }
            text.push(u8::from(field.shown.secret));
        }
        crate::digest::of_bytes(&text)
    }
}

/// Builds a schema, part by part.
#[derive(Debug, Default)]
pub struct SchemaBuilder {
    prefix: String,
    globals: Describe,
    kinds: Vec<Kind>,
}

impl SchemaBuilder {
    pub(crate) fn add_global<T: Record>(&mut self, name: &str) {
        self.globals.enter(&self.path(name));
        T::describe(&mut self.globals);
        self.globals.leave();
    }

    pub(crate) fn add_kind<T: Record>(&mut self, name: &str, has_ids: bool) {
        self.add_rows(name, has_ids, 0, T::describe);
    }

    /// Adds a collection whose rows are told apart by their first cells, `keys` of them. Nothing in it blends: rows move as others come and go.
    pub(crate) fn add_map(
        &mut self,
        name: &str,
        keys: usize,
        describe: impl FnOnce(&mut Describe),
    ) {
        self.add_rows(name, false, keys, describe);
        let kind = self.kinds.last_mut().expect("one was added");
        for field in &mut kind.fields {
            field.shown.blend = Blend::Step;
        }
    }

    pub(crate) fn add_rows(
        &mut self,
        name: &str,
        has_ids: bool,
        keys: usize,
        describe: impl FnOnce(&mut Describe),
    ) {
        let mut fields = Describe::default();
        describe(&mut fields);
        self.kinds.push(Kind {
            name: self.path(name),
            has_ids,
            fields: fields.finish(),
            keys,
        });
    }

    /// Adds the parts of a part.
    pub fn nested(&mut self, name: &str, add: impl FnOnce(&mut Self)) {
        let outer = self.prefix.len();
        self.prefix = self.path(name);
        add(self);
        self.prefix.truncate(outer);
    }

    fn path(&self, name: &str) -> String {
        let mut path = self.prefix.clone();
        if !path.is_empty() && !name.is_empty() {
            path.push('.');
        }
        path.push_str(name);
        path
    }

    pub(crate) fn finish(self) -> Schema {
        let globals = Kind {
            name: "globals".into(),
            has_ids: false,
            fields: self.globals.finish(),
            keys: 0,
        };
        assert!(
            self.kinds.len() < usize::from(u16::MAX),
            "a state has at most 65,534 collections"
        );
        Schema {
            kinds: core::iter::once(globals).chain(self.kinds).collect(),
            added: 0,
        }
    }
}

/// A state as rows of cells: for transfer, save games, comparison and inspection, without knowing the game.
///
/// ```
/// use samestep_sync::{Entities, Replicate, Table};
///
/// #[derive(Clone, Replicate)]
/// struct Battle {
///     units: Entities<(f32, f32)>,
///     round: u8,
/// }
///
/// let mut battle = Battle { units: Entities::new(), round: 3 };
/// let unit = battle.units.insert((1.5, -2.0));
///
/// let mut table = Table::new(Battle::schema());
/// battle.extract(&mut table);
/// let row = table.row(1, 0).unwrap();
/// assert_eq!(row.id, Some(unit));
/// assert_eq!(row.cells, [1.5f32, -2.0].map(|x| u64::from(x.to_bits())));
///
/// let bytes = table.encode();
/// let table = Table::decode(Battle::schema(), &bytes)?;
/// assert_eq!(Battle::from_table(&table)?.units, battle.units);
/// # Ok::<(), samestep_sync::RestoreError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    schema: Schema,
    kinds: Vec<Rows>,
}

/// The rows of a kind.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Rows {
    pub(crate) count: usize,
    /// The number of the next entity.
    pub(crate) counter: u32,
    /// As many as rows, if they are entities.
    pub(crate) ids: Vec<EntityId>,
    /// Row by row.
    pub(crate) cells: Vec<u64>,
}

impl Rows {
    /// Makes room for this many rows; their cells are to be written.
    pub(crate) fn resize(&mut self, count: usize, width: usize) {
        self.count = count;
        self.cells.resize(count * width, 0);
    }
}

/// A row of a [`Table`].
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Row<'a> {
    /// The id, if it is an entity.
    pub id: Option<EntityId>,
    /// As many as its kind has fields.
    pub cells: &'a [u64],
}

impl Table {
    /// A table without entities and with zeros in the first row.
    pub fn new(schema: Schema) -> Table {
        let mut kinds = Vec::new();
        kinds.resize(schema.kinds.len(), Rows::default());
        for (rows, kind) in kinds.iter_mut().zip(&*schema.kinds) {
            rows.counter = u32::from(kind.has_ids);
        }
        kinds[0].count = 1;
        kinds[0].cells.resize(schema.kinds[0].fields.len(), 0);
        Table { schema, kinds }
    }

    /// Its schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The number of rows of a kind; 0 if there is no such kind.
    pub fn len(&self, kind: u16) -> usize {
        self.kinds.get(usize::from(kind)).map_or(0, |k| k.count)
    }

    /// Whether there is no row in any collection.
    pub fn is_empty(&self) -> bool {
        self.kinds[1..].iter().all(|kind| kind.count == 0)
    }

    /// A row of a kind.
    pub fn row(&self, kind: u16, index: usize) -> Option<Row<'_>> {
        let rows = self.kinds.get(usize::from(kind))?;
        if index >= rows.count {
            return None;
        }
        let width = self.schema.kinds[usize::from(kind)].fields.len();
        Some(Row {
            id: rows.ids.get(index).copied(),
            cells: &rows.cells[index * width..][..width],
        })
    }

    /// All rows of a kind, in order.
    pub fn rows(&self, kind: u16) -> impl Iterator<Item = Row<'_>> {
        (0..self.len(kind)).map_while(move |index| self.row(kind, index))
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&Kind, &Rows)> {
        self.schema.kinds.iter().zip(&self.kinds)
    }

    /// Replaces the rows of others by those of another table: entities that belong to a player who is none of `own`.
    pub(crate) fn take_rows_of_others(&mut self, from: &Table, own: &[PlayerId]) {
        let kinds = self.schema.kinds.iter().zip(&mut self.kinds);
        for ((kind, rows), from) in kinds.zip(&from.kinds) {
            let Some(owner) = kind.owner_field().filter(|_| kind.has_ids) else {
                continue;
            };
            let width = kind.fields.len();
            let is_own = |cells: &[u64]| own.iter().any(|own| u64::from(own.0) == cells[owner]);
            let mut kept = 0;
            for at in 0..rows.count {
                if is_own(&rows.cells[at * width..][..width]) {
                    rows.cells
                        .copy_within(at * width..(at + 1) * width, kept * width);
                    rows.ids[kept] = rows.ids[at];
                    kept += 1;
                }
            }
            rows.ids.truncate(kept);
            rows.cells.truncate(kept * width);
            for (id, cells) in from.ids.iter().zip(from.cells.chunks_exact(width)) {
                if !is_own(cells) && !rows.ids[..kept].contains(id) {
                    rows.ids.push(*id);
                    rows.cells.extend_from_slice(cells);
                }
            }
            rows.count = rows.ids.len();
        }
    }

    pub(crate) fn kind(&self, kind: usize) -> Option<&Rows> {
        self.kinds.get(kind)
    }

    pub(crate) fn kind_mut(&mut self, kind: usize) -> Option<&mut Rows> {
        self.kinds.get_mut(kind)
    }
}

/// Why a table is not a valid state.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes are damaged.
    #[error("the state is damaged: {0}")]
    Decode(#[from] samestep_wire::DecodeError),
    /// The table has other kinds or fields than the state.
    #[error(
        "the state is one of another game, or of another version of it: use the same program on both sides"
    )]
    OtherSchema,
    /// The value of a cell is invalid for its type.
    #[error("the state is damaged: {field} of row {row} of {kind} is no value of its type")]
    Invalid {
        /// The name of the kind.
        kind: String,
        /// The number of the row.
        row: usize,
        /// The name of the field.
        field: String,
    },
    /// Two entities have the same id.
    #[error("the state is damaged: {0} is there twice")]
    SameId(EntityId),
    /// A part that is not made of fields could not be read.
    #[error("the state is damaged: {kind} could not be read: {reason}")]
    Unreadable {
        /// The name of the part.
        kind: String,
        /// What its own decoding says.
        reason: String,
    },
}
