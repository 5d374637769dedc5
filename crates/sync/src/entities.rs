//! Entities: rows with ids, in one order everywhere.

use core::fmt;
use core::num::NonZeroU32;

use samestep_wire::{BitReader, BitWriter, DecodeError, Wire};

use crate::digest::{self, CHUNK_ROWS, StateDigest};
use crate::record::{Record, by_cell};

mod index;
#[cfg(test)]
mod tests;

use index::Index;

/// Names an entity, the same in every copy of the game.
///
/// Entities that the rules create are numbered as they come; what a map or a set-up phase fixes has a number that
/// the game chose ([`EntityId::fixed`]). Every number but 0 names one.
///
/// ```
/// use samestep_sync::{Entities, EntityId};
///
/// const GATE: EntityId = EntityId::fixed(0);
///
/// let mut doors: Entities<bool> = Entities::new();
/// doors.insert_fixed(GATE, true);
/// let door = doors.insert(false);
/// assert_ne!(door, GATE);
/// assert_eq!(door.0.get(), door.number());
/// assert_eq!((GATE.to_string(), door.to_string()), ("fixed entity 0".into(), "entity 1".into()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct EntityId(pub NonZeroU32);

/// Numbers from here on are chosen by the game.
const FIRST_FIXED: u32 = 0xff00_0000;

impl EntityId {
    /// An id that the game chose; all copies must choose the same. Only the low 24 bits of the number count.
    pub const fn fixed(number: u32) -> EntityId {
        match NonZeroU32::new(FIRST_FIXED | number) {
            Some(id) => EntityId(id),
            None => unreachable!(),
        }
    }

    /// The number that stands for it in tables. Never 0.
    pub const fn number(self) -> u32 {
        self.0.get()
    }

    /// The id of a number, unless it is 0.
    pub const fn from_number(number: u32) -> Option<EntityId> {
        match NonZeroU32::new(number) {
            Some(id) => Some(EntityId(id)),
            None => None,
        }
    }

    /// Whether the game chose it.
    pub const fn is_fixed(self) -> bool {
        self.number() >= FIRST_FIXED
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_fixed() {
            true => write!(f, "fixed entity {}", self.number() - FIRST_FIXED),
            false => write!(f, "entity {}", self.number()),
        }
    }
}

by_cell! {
    EntityId: Entity, 32, |id| u64::from(id.number()), |cell| u32::try_from(cell).ok().and_then(EntityId::from_number);
}

/// One bit for whether the game chose it, then the number as a varint.
impl Wire for EntityId {
    fn encode(&self, w: &mut BitWriter<'_>) {
        w.write_bool(self.is_fixed());
        w.write_varint(u64::from(match self.is_fixed() {
            true => self.number() - FIRST_FIXED,
            false => self.number(),
        }));
    }

    fn decode(r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let is_fixed = r.read_bool()?;
        let number = u32::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?;
        let id = match is_fixed {
            true if number <= u32::MAX - FIRST_FIXED => Some(EntityId::fixed(number)),
            false if number < FIRST_FIXED => EntityId::from_number(number),
            _ => None,
        };
        id.ok_or(DecodeError::OutOfRange)
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn min_bits() -> usize {
        9
    }
}

/// An ordered collection of entities.
///
/// The rows lie side by side in one order, which is part of the state: iteration is fast and the same everywhere. Ids are
/// found in constant time. It remembers which chunks of 64 rows were touched since the last checksum, so change single rows with
/// [`get_mut`](Self::get_mut) if few change, and the whole slice if many do.
///
/// ```
/// use samestep_sync::Entities;
///
/// let mut health: Entities<u8> = Entities::new();
/// let (ada, ben) = (health.insert(100), health.insert(80));
/// *health.get_mut(ben).unwrap() -= 5;
/// assert_eq!(health.get(ben), Some(&75));
/// assert_eq!(health.remove(ada), Some(100));
/// assert!(!health.contains(ada));
/// assert_eq!(health.iter().collect::<Vec<_>>(), [(ben, &75)]);
/// ```
#[derive(Clone, Debug)]
pub struct Entities<T> {
    rows: Vec<T>,
    ids: Vec<EntityId>,
    index: Index,
    /// The number of the next entity.
    next: u32,
    /// The checksum of each chunk, and which of them are out of date.
    digests: Vec<u64>,
    touched: Touched,
}

/// Which chunks were touched.
#[derive(Clone, Debug, Default)]
struct Touched {
    all: bool,
    chunks: Vec<u64>,
}

impl Touched {
    #[inline]
    fn touch(&mut self, row: usize) {
        let chunk = row / CHUNK_ROWS;
        match self.chunks.get_mut(chunk / 64) {
            Some(word) => *word |= 1 << (chunk % 64),
            None => self.all = true,
        }
    }

    fn is_touched(&self, chunk: usize) -> bool {
        self.all
            || self
                .chunks
                .get(chunk / 64)
                .is_none_or(|word| word >> (chunk % 64) & 1 == 1)
    }

    fn clear(&mut self, chunks: usize) {
        self.all = false;
        self.chunks.clear();
        self.chunks.resize(chunks.div_ceil(64), 0);
    }
}

impl<T> Default for Entities<T> {
    fn default() -> Self {
        Entities::new()
    }
}

impl<T> Entities<T> {
    /// No entities.
    pub const fn new() -> Self {
        Entities {
            rows: Vec::new(),
            ids: Vec::new(),
            index: Index::new(),
            next: 1,
            digests: Vec::new(),
            touched: Touched {
                all: true,
                chunks: Vec::new(),
            },
        }
    }

    /// No entities, but room for so many: nothing is allocated until there are more.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut entities = Entities::new();
        entities.reserve(capacity);
        entities
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, additional: usize) {
        let capacity = self.len() + additional;
        self.rows.reserve(additional);
        self.ids.reserve(additional);
        self.index.reserve(capacity);
        let chunks = capacity.div_ceil(CHUNK_ROWS);
        self.digests
            .reserve(chunks.saturating_sub(self.digests.len()));
        let words = chunks.div_ceil(64);
        let more = words.saturating_sub(self.touched.chunks.len());
        self.touched.chunks.reserve(more);
    }

    /// Adds an entity at the end; its id is the next number that nobody had.
    ///
    /// After four billion entities the numbers begin again, and those in use are left out.
    pub fn insert(&mut self, row: T) -> EntityId {
        loop {
            let number = self.next;
            self.next = if number + 1 < FIRST_FIXED {
                number + 1
            } else {
                1
            };
            let id = EntityId::from_number(number).expect("counting begins at 1");
            if !self.contains(id) {
                self.append(id, row);
                return id;
            }
        }
    }

    /// Adds an entity under an id that the game chose, or replaces the one that has it and returns that.
    pub fn insert_fixed(&mut self, id: EntityId, row: T) -> Option<T> {
        match self.get_mut(id) {
            Some(old) => Some(core::mem::replace(old, row)),
            None => {
                self.append(id, row);
                None
            }
        }
    }

    fn append(&mut self, id: EntityId, row: T) {
        self.index.set(id.number(), self.rows.len() as u32);
        self.touched.touch(self.rows.len());
        self.rows.push(row);
        self.ids.push(id);
    }

    /// Removes an entity; the last one takes its place.
    pub fn remove(&mut self, id: EntityId) -> Option<T> {
        let place = self.index_of(id)?;
        self.index.clear(id.number());
        let row = self.rows.swap_remove(place);
        self.ids.swap_remove(place);
        self.touched.touch(self.rows.len());
        if let Some(moved) = self.ids.get(place) {
            self.index.set(moved.number(), place as u32);
            self.touched.touch(place);
        }
        Some(row)
    }

    /// Removes all entities for which `keep` says no; the others keep their order.
    pub fn retain(&mut self, mut keep: impl FnMut(EntityId, &mut T) -> bool) {
        let mut kept = 0;
        for place in 0..self.rows.len() {
            let id = self.ids[place];
            if keep(id, &mut self.rows[place]) {
                if kept != place {
                    self.rows.swap(kept, place);
                    self.ids[kept] = id;
                    self.index.set(id.number(), kept as u32);
                }
                kept += 1;
            } else {
                self.index.clear(id.number());
            }
        }
        self.rows.truncate(kept);
        self.ids.truncate(kept);
        self.touched.all = true;
    }

    /// Removes all entities. Their numbers stay used.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.ids.clear();
        self.index.reset();
        self.touched.all = true;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether there is an entity of this id.
    #[inline]
    pub fn contains(&self, id: EntityId) -> bool {
        self.index_of(id).is_some()
    }

    /// The entity of this id.
    #[inline]
    pub fn get(&self, id: EntityId) -> Option<&T> {
        self.rows.get(self.index_of(id)?)
    }

    /// The entity of this id, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: EntityId) -> Option<&mut T> {
        self.row_mut(self.index_of(id)?)
    }

    /// The row in this place, to be changed.
    #[inline]
    pub fn row_mut(&mut self, place: usize) -> Option<&mut T> {
        let row = self.rows.get_mut(place)?;
        self.touched.touch(place);
        Some(row)
    }

    /// The place of an entity in the order of all: the index of its row.
    #[inline]
    pub fn index_of(&self, id: EntityId) -> Option<usize> {
        Some(self.index.of(id.number())? as usize)
    }

    /// The ids, in order.
    #[inline]
    pub fn ids(&self) -> &[EntityId] {
        &self.ids
    }

    /// The rows, in order.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        &self.rows
    }

    /// The rows, in order, to be changed: all count as touched.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.touched.all = true;
        &mut self.rows
    }

    /// The ids and the rows, to be changed: all count as touched.
    #[inline]
    pub fn parts_mut(&mut self) -> (&[EntityId], &mut [T]) {
        self.touched.all = true;
        (&self.ids, &mut self.rows)
    }

    /// All entities, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (EntityId, &T)> + ExactSizeIterator {
        self.ids.iter().copied().zip(&self.rows)
    }

    /// All entities, in order, to be changed: all count as touched.
    pub fn iter_mut(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = (EntityId, &mut T)> + ExactSizeIterator {
        let (ids, rows) = self.parts_mut();
        ids.iter().copied().zip(rows)
    }

    /// The number that counts the next entity.
    pub(crate) fn counter(&self) -> u32 {
        self.next
    }
}

impl<T: Record> Entities<T> {
    pub(crate) fn summarise(&mut self, summary: &mut StateDigest) {
        let chunks = self.rows.len().div_ceil(CHUNK_ROWS);
        self.digests.resize(chunks, 0);
        summary.begin_kind(self.rows.len(), self.next);
        let rows = self
            .ids
            .chunks(CHUNK_ROWS)
            .zip(self.rows.chunks(CHUNK_ROWS));
        for (chunk, (digest, (ids, rows))) in self.digests.iter_mut().zip(rows).enumerate() {
            if self.touched.is_touched(chunk) {
                *digest = digest::of_entities(ids, rows);
            }
            summary.add_leaf(*digest);
        }
        self.touched.clear(chunks);
    }

    pub(crate) fn assign(&mut self, from: &Self) {
        self.rows.clone_from(&from.rows);
        self.ids.clone_from(&from.ids);
        self.index.assign(&from.index);
        self.next = from.next;
        self.digests.clone_from(&from.digests);
        self.touched.all = from.touched.all;
        self.touched.chunks.clone_from(&from.touched.chunks);
    }

    /// Whether a table's counter is one.
    pub(crate) fn can_count_from(counter: u32) -> bool {
        (1..FIRST_FIXED).contains(&counter)
    }

    /// Takes rows over from a table; ids must differ from each other.
    pub(crate) fn rebuild<E>(
        &mut self,
        counter: u32,
        ids: &[EntityId],
        mut load: impl FnMut(usize) -> Result<T, E>,
        twice: impl FnOnce(EntityId) -> E,
    ) -> Result<(), E> {
        self.clear();
        self.next = counter;
        for (place, id) in ids.iter().enumerate() {
            if self.contains(*id) {
                return Err(twice(*id));
            }
            let row = load(place)?;
            self.append(*id, row);
        }
        self.touched.all = true;
        Ok(())
    }
}

/// Whether the same entities are there, in the same order, with the same values.
impl<T: PartialEq> PartialEq for Entities<T> {
    fn eq(&self, other: &Self) -> bool {
        self.next == other.next && self.ids == other.ids && self.rows == other.rows
    }
}

impl<T> core::ops::Index<EntityId> for Entities<T> {
    type Output = T;

    /// # Panics
    /// If there is no such entity: use [`get`](Entities::get) where that can be.
    fn index(&self, id: EntityId) -> &T {
        match self.get(id) {
            Some(row) => row,
            None => panic!("there is no {id}: use `get` where it may be gone"),
        }
    }
}
