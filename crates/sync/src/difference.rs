//! Where two states differ, in words.

use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;

use crate::entities::EntityId;
use crate::record::{CellKind, Field};
use crate::table::{Kind, Rows, Table};
use crate::text::text_of;

/// One field that two states disagree on.
///
/// ```
/// use samestep_sync::{Entities, Replicate, Table};
///
/// #[derive(Clone, Replicate)]
/// struct Battle {
///     units: Entities<(f32, f32)>,
/// }
///
/// let mut here = Battle { units: Entities::new() };
/// let unit = here.units.insert((4.0, 7.5));
/// let mut there = here.clone();
/// there.units.get_mut(unit).unwrap().1 = 7.75;
///
/// let (mut ours, mut theirs) = (Table::new(Battle::schema()), Table::new(Battle::schema()));
/// here.extract(&mut ours);
/// there.extract(&mut theirs);
/// let difference = ours.first_difference(&theirs).unwrap();
/// assert_eq!((difference.entity, &*difference.field), (Some(unit), "1"));
/// assert_eq!(difference.to_string(), "units, entity 1, 1: 7.5 here, 7.75 there");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// The collection, or `"globals"`.
    pub kind: String,
    /// The entity, if the collection is one of entities.
    pub entity: Option<EntityId>,
    /// The field, as `"position.1"`; for rows of a list with their place before, as `"7.height"`; for values of a map with their key, as
    /// `"[player 3].score"`. Empty if the whole entity is there on one side only.
    pub field: String,
    /// Its value in the one state.
    pub ours: String,
    /// Its value in the other.
    pub theirs: String,
}

impl Difference {
    /// The same difference as the other side sees it: its values are ours there, and ours are theirs.
    #[must_use]
    pub fn seen_from_there(&self) -> Difference {
        Difference {
            ours: self.theirs.clone(),
            theirs: self.ours.clone(),
            ..self.clone()
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference {
            kind,
            entity,
            field,
            ours,
            theirs,
        } = self;
        match entity {
            Some(id) if field.is_empty() => write!(f, "{kind}, {id}: ")?,
            Some(id) => write!(f, "{kind}, {id}, {field}: ")?,
            None => write!(f, "{kind}, {field}: ")?,
        }
        write!(f, "{ours} here, {theirs} there")
    }
}

impl Table {
    /// The first field in which `other` differs, in the order of kinds and rows.
    pub fn first_difference(&self, other: &Table) -> Option<Difference> {
        self.differences(other, 1).pop()
    }

    /// The first fields in which `other` differs, at most `limit`.
    pub fn differences(&self, other: &Table, limit: usize) -> Vec<Difference> {
        let mut found = Found {
            differences: Vec::new(),
            limit,
        };
        for ((kind, ours), (their_kind, theirs)) in self.kinds().zip(other.kinds()) {
            if kind.fields != their_kind.fields || kind.has_ids != their_kind.has_ids {
                found.add(
                    kind,
                    None,
                    "fields",
                    "described otherwise",
                    "described otherwise",
                );
            } else if kind.has_ids {
                found.compare_entities(kind, ours, theirs);
            } else if kind.keys > 0 {
                found.compare_maps(kind, ours, theirs);
            } else if kind.is_opaque() {
                found.compare_opaque(kind, ours, theirs);
            } else if is_text(kind) {
                found.compare_texts(kind, ours, theirs);
            } else {
                found.compare_lists(kind, ours, theirs);
            }
            if found.is_full() {
                break;
            }
        }
        found.differences
    }
}

struct Found {
    differences: Vec<Difference>,
    limit: usize,
}

impl Found {
    fn is_full(&self) -> bool {
        self.differences.len() >= self.limit
    }

    fn add(
        &mut self,
        kind: &Kind,
        entity: Option<EntityId>,
        field: &str,
        ours: impl Into<String>,
        theirs: impl Into<String>,
    ) {
        if !self.is_full() {
            self.differences.push(Difference {
                kind: kind.name.clone(),
                entity,
                field: field.into(),
                ours: ours.into(),
                theirs: theirs.into(),
            });
        }
    }

    fn compare_cells(
        &mut self,
        kind: &Kind,
        entity: Option<EntityId>,
        row: Option<usize>,
        ours: &[u64],
        theirs: &[u64],
    ) {
        self.compare_fields(kind, entity, 0, ours, theirs, |name| match row {
            Some(row) if name.is_empty() => row.to_string(),
            Some(row) => format!("{row}.{name}"),
            None if name.is_empty() => "value".into(),
            None => name.into(),
        });
    }

    /// Compares the fields of a row from `first` on; `named` makes the name of one that differs.
    fn compare_fields(
        &mut self,
        kind: &Kind,
        entity: Option<EntityId>,
        first: usize,
        ours: &[u64],
        theirs: &[u64],
        named: impl Fn(&str) -> String,
    ) {
        let mut at = first;
        while at < kind.fields.len() {
            let end = end_of_value(&kind.fields, at);
            if ours[at..end] != theirs[at..end] {
                let name = named(&keyed_name(&kind.fields, at, ours));
                let (a, b) = shown(&kind.fields, at..end, ours, theirs);
                self.add(kind, entity, &name, a, b);
            }
            at = end;
        }
    }

    fn compare_maps(&mut self, kind: &Kind, ours: &Rows, theirs: &Rows) {
        fn rows_of<'a>(rows: &'a Rows, kind: &Kind) -> BTreeMap<&'a [u64], &'a [u64]> {
            let rows = rows.cells.chunks_exact(kind.fields.len());
            rows.map(|row| (&row[..kind.keys], row)).collect()
        }
        let (our_rows, their_rows) = (rows_of(ours, kind), rows_of(theirs, kind));
        let name = |key: &[u64]| format!("[{}]", text(&kind.fields, 0..kind.keys, key));
        for (key, ours) in &our_rows {
            match their_rows.get(key) {
                Some(theirs) => {
                    self.compare_fields(kind, None, kind.keys, ours, theirs, |field| match field {
                        "" => name(key),
                        field => format!("{}.{field}", name(key)),
                    });
                }
                None => self.add(kind, None, &name(key), "is there", "is not there"),
            }
        }
        for key in their_rows.keys().filter(|key| !our_rows.contains_key(*key)) {
            self.add(kind, None, &name(key), "is not there", "is there");
        }
    }

    fn compare_opaque(&mut self, kind: &Kind, ours: &Rows, theirs: &Rows) {
        // Behind the number of bytes and their digest.
        let words = |rows: &Rows| rows.cells.get(2..).unwrap_or_default().to_vec();
        let (a, b) = (words(ours), words(theirs));
        let differs = a.iter().zip(&b).position(|(a, b)| a != b);
        if let Some(word) = differs {
            let hex = |word: u64| format!("{:02x?}", word.to_le_bytes());
            let name = format!("bytes from {}", word * 8);
            self.add(kind, None, &name, hex(a[word]), hex(b[word]));
        }
        let len = |rows: &Rows| rows.cells.first().copied().unwrap_or_default();
        if len(ours) != len(theirs) {
            let (a, b) = (len(ours).to_string(), len(theirs).to_string());
            self.add(kind, None, "number of bytes", a, b);
        }
    }

    fn compare_texts(&mut self, kind: &Kind, ours: &Rows, theirs: &Rows) {
        if ours.cells != theirs.cells {
            let text = |rows: &Rows| format!("{:?}", text_of(rows.cells.iter().copied()));
            self.add(kind, None, "text", text(ours), text(theirs));
        }
    }

    fn compare_entities(&mut self, kind: &Kind, ours: &Rows, theirs: &Rows) {
        let width = kind.fields.len();
        let row_of = |rows: &Rows| -> BTreeMap<EntityId, usize> {
            rows.ids
                .iter()
                .enumerate()
                .map(|(row, id)| (*id, row))
                .collect()
        };
        // Only looked up if the ids differ somewhere.
        let is_aligned = ours.ids == theirs.ids;
        let (our_rows, their_rows) = match is_aligned {
            true => Default::default(),
            false => (row_of(ours), row_of(theirs)),
        };
        for (row, id) in ours.ids.iter().enumerate() {
            if self.is_full() {
                return;
            }
            let other = match is_aligned {
                true => row,
                false => match their_rows.get(id) {
                    Some(other) => *other,
                    None => {
                        self.add(kind, Some(*id), "", "is there", "is not there");
                        continue;
                    }
                },
            };
            let ours = &ours.cells[row * width..][..width];
            let theirs = &theirs.cells[other * width..][..width];
            self.compare_cells(kind, Some(*id), None, ours, theirs);
        }
        for id in theirs.ids.iter().filter(|_| !is_aligned) {
            if !our_rows.contains_key(id) {
                self.add(kind, Some(*id), "", "is not there", "is there");
            }
        }
        if self.is_full() {
            return;
        }
        if ours.counter != theirs.counter {
            let (a, b) = (ours.counter.to_string(), theirs.counter.to_string());
            self.add(kind, None, "next id", a, b);
        }
        let moved = ours.ids.iter().zip(&theirs.ids).position(|(a, b)| a != b);
        if let Some(row) = moved {
            let (a, b) = (ours.ids[row].to_string(), theirs.ids[row].to_string());
            self.add(kind, None, &format!("row {row}"), a, b);
        }
    }

    fn compare_lists(&mut self, kind: &Kind, ours: &Rows, theirs: &Rows) {
        let width = kind.fields.len();
        let is_single = kind.name == "globals" && ours.count == 1;
        for row in 0..ours.count.min(theirs.count) {
            if self.is_full() {
                return;
            }
            let (a, b) = (
                &ours.cells[row * width..][..width],
                &theirs.cells[row * width..][..width],
            );
            if a != b {
                self.compare_cells(kind, None, (!is_single).then_some(row), a, b);
            }
        }
        if ours.count != theirs.count {
            let (a, b) = (ours.count.to_string(), theirs.count.to_string());
            self.add(kind, None, "number of rows", a, b);
        }
    }
}

/// Whether a kind is a text of any length.
fn is_text(kind: &Kind) -> bool {
    matches!(&kind.fields[..], [field] if field.kind == CellKind::Text && field.name.is_empty())
}

/// Where the value that begins with a field ends: the cells of a text are one value.
fn end_of_value(fields: &[Field], at: usize) -> usize {
    let is_same = |field: &&Field| {
        field.kind == CellKind::Text
            && fields[at].kind == CellKind::Text
            && field.name == fields[at].name
    };
    at + 1 + fields[at + 1..].iter().take_while(is_same).count()
}

/// The name of a field, with keys of maps in the place of places: `items[7].count`.
fn keyed_name(fields: &[Field], at: usize, row: &[u64]) -> String {
    let field = &fields[at];
    let Some(key) = field.key else {
        return field.name.clone();
    };
    let (begin, end) = key.place;
    let text = text(fields, key.first..key.first + key.count, row);
    format!("{}[{text}]{}", &field.name[..begin], &field.name[end..])
}

/// The values of some cells as text.
fn text(fields: &[Field], cells: Range<usize>, row: &[u64]) -> String {
    let (mut at, mut texts) = (cells.start, Vec::new());
    while at < cells.end {
        let end = end_of_value(fields, at).min(cells.end);
        texts.push(match fields[at].kind {
            CellKind::Text => format!("{:?}", text_of(row[at..end].iter().copied())),
            kind => kind.text(row[at]),
        });
        at = end;
    }
    texts.join(", ")
}

/// Both values as text; with their bits if the text does not tell them apart.
fn shown(fields: &[Field], cells: Range<usize>, ours: &[u64], theirs: &[u64]) -> (String, String) {
    let first = cells.start;
    let (a, b) = (
        text(fields, cells.clone(), ours),
        text(fields, cells, theirs),
    );
    match a == b {
        true => (
            format!("{a} ({:#x})", ours[first]),
            format!("{b} ({:#x})", theirs[first]),
        ),
        false => (a, b),
    }
}

impl CellKind {
    /// A cell as people write its value.
    pub fn text(self, cell: u64) -> String {
        match self {
            CellKind::Bool if cell <= 1 => (cell == 1).to_string(),
            CellKind::Signed => (cell as i64).to_string(),
            CellKind::F32 => f32::from_bits(cell as u32).to_string(),
            CellKind::F64 => f64::from_bits(cell).to_string(),
            CellKind::Variant(names) => match usize::try_from(cell).ok().and_then(|n| names.get(n))
            {
                Some(name) => (*name).into(),
                None => format!("variant {cell}"),
            },
            CellKind::Entity if cell == 0 => "no entity".into(),
            CellKind::Entity => match EntityId::from_number(cell as u32) {
                Some(id) => id.to_string(),
                None => "no entity".into(),
            },
            CellKind::Player => format!("player {cell}"),
            CellKind::Peer => format!("peer {cell}"),
            CellKind::Tick => format!("tick {cell}"),
            CellKind::Text => format!("{:?}", text_of([cell])),
            CellKind::Opaque => format!("{cell:#x}"),
            _ => cell.to_string(),
        }
    }
}
