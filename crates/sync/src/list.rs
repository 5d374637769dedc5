//! A short list inside a record.

use core::fmt;
use core::ops::{Deref, DerefMut};

use crate::digest::Digest;
use crate::record::{CellKind, Describe, InvalidCell, Record};

/// A list of at most `N` items that lies within its record: no memory of its own, nothing to allocate.
///
/// It is read and changed like a slice. All `N` places take cells, so keep `N` small.
///
/// ```
/// use samestep_sync::List;
///
/// let mut route: List<(u16, u16), 4> = List::new();
/// route.push((3, 4)).unwrap();
/// route.push((5, 6)).unwrap();
/// assert_eq!(route.remove(0), Some((3, 4)));
/// assert_eq!(route[..], [(5, 6)]);
/// ```
#[derive(Clone, Copy)]
pub struct List<T, const N: usize> {
    /// Places at and after `len` hold copies of items that nobody sees.
    items: Option<[T; N]>,
    len: u16,
}

/// A full [`List`] took no further item: here it is back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full<T>(pub T);

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the list is full: remove an item first, or give the list more places")
    }
}

impl<T: fmt::Debug> core::error::Error for Full<T> {}

impl<T: Clone, const N: usize> List<T, N> {
    /// An empty list.
    pub const fn new() -> Self {
        const { assert!(N <= u16::MAX as usize, "a List has at most 65,535 places") };
        List {
            items: None,
            len: 0,
        }
    }

    /// Adds an item at the end, or gives it back if there is no place.
    pub fn push(&mut self, item: T) -> Result<(), Full<T>> {
        if self.is_full() {
            return Err(Full(item));
        }
        match &mut self.items {
            Some(items) => items[self.len as usize] = item,
            None => self.items = Some(core::array::from_fn(|_| item.clone())),
        }
        self.len += 1;
        Ok(())
    }

    /// Takes the last item.
    pub fn pop(&mut self) -> Option<T> {
        let item = self.last()?.clone();
        self.len -= 1;
        Some(item)
    }

    /// Takes the item in this place; those after it move up.
    pub fn remove(&mut self, place: usize) -> Option<T> {
        if place >= self.len() {
            return None;
        }
        self[place..].rotate_left(1);
        self.pop()
    }

    /// Keeps only the items for which `keep` says so, in their order.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let mut kept = 0;
        for place in 0..self.len() {
            if keep(&self[place]) {
                self.swap(kept, place);
                kept += 1;
            }
        }
        self.len = kept as u16;
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl<T, const N: usize> List<T, N> {
    /// The items.
    pub fn as_slice(&self) -> &[T] {
        match &self.items {
            Some(items) => &items[..self.len as usize],
            None => &[],
        }
    }

    /// The items, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        match &mut self.items {
            Some(items) => &mut items[..self.len as usize],
            None => &mut [],
        }
    }

    /// Whether no further item can be added.
    pub fn is_full(&self) -> bool {
        self.len as usize >= N
    }
}

impl<T: Clone, const N: usize> Default for List<T, N> {
    fn default() -> Self {
        List::new()
    }
}

impl<T, const N: usize> Deref for List<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T, const N: usize> DerefMut for List<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T: PartialEq, const N: usize> PartialEq for List<T, N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: Eq, const N: usize> Eq for List<T, N> {}

impl<T: fmt::Debug, const N: usize> fmt::Debug for List<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a List<T, N> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The number of items, then all places; those without an item are zero.
impl<T: Record, const N: usize> Record for List<T, N> {
    const CELLS: usize = 1 + N * T::CELLS;

    fn describe(into: &mut Describe) {
        let len = into.cell_of_bits(CellKind::Unsigned, 16);
        for place in 0..N {
            into.enter_place(len, place);
            T::describe(into);
            into.leave();
        }
    }

    fn store(&self, cells: &mut [u64]) {
        let (len, places) = cells.split_at_mut(1);
        len[0] = u64::from(self.len);
        let (used, unused) = places.split_at_mut(self.len() * T::CELLS);
        for (place, item) in self.iter().enumerate() {
            item.store(&mut used[place * T::CELLS..][..T::CELLS]);
        }
        unused.fill(0);
    }

    fn load(cells: &[u64]) -> Result<Self, InvalidCell> {
        let (len, places) = cells.split_at(1);
        if len[0] > N as u64 {
            return Err(InvalidCell::FIRST);
        }
        let mut list = List::new();
        for place in 0..len[0] as usize {
            let at = place * T::CELLS;
            let item = T::load(&places[at..at + T::CELLS]).map_err(|e| e.after(1 + at))?;
            list.push(item).map_err(|_| InvalidCell::FIRST)?;
        }
        Ok(list)
    }

    fn digest(&self, digest: &mut Digest) {
        let mut items = Digest::new();
        items.push(u64::from(self.len), 16);
        for item in self {
            item.digest(&mut items);
        }
        digest.push(items.finish(), 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_list_gives_the_item_back() {
        let mut list: List<u8, 2> = List::new();
        assert_eq!(list.pop(), None);
        list.push(1).unwrap();
        list.push(2).unwrap();
        assert_eq!(list.push(3), Err(Full(3)));
        assert_eq!(list[..], [1, 2]);
        assert_eq!(List::<u8, 0>::new().push(1), Err(Full(1)));
    }

    #[test]
    fn what_was_removed_is_not_compared() {
        let mut list: List<u8, 4> = List::new();
        for item in 1..=4 {
            list.push(item).unwrap();
        }
        list.retain(|item| item % 2 == 0);
        assert_eq!(list.remove(5), None);
        let mut other: List<u8, 4> = List::new();
        other.push(2).unwrap();
        other.push(4).unwrap();
        assert_eq!(list, other);
        let digest = |list: &List<u8, 4>| {
            let mut digest = Digest::new();
            list.digest(&mut digest);
            digest.finish()
        };
        assert_eq!(digest(&list), digest(&other));
        list.clear();
        assert_eq!(list, List::new());
    }

    #[test]
    fn cells_go_there_and_back() {
        let mut list: List<(i8, bool), 3> = List::new();
        list.push((-1, true)).unwrap();
        let mut cells = [9; 7];
        list.store(&mut cells);
        assert_eq!(cells, [1, u64::MAX, 1, 0, 0, 0, 0]);
        assert_eq!(List::load(&cells), Ok(list));
        cells[0] = 4;
        assert!(List::<(i8, bool), 3>::load(&cells).is_err());
    }
}
