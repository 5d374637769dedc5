//! What is due when: a heap of future happenings with a deterministic order among those due at the same instant.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Happenings ordered by time; those of one instant come out in the order in which they were put in.
pub(crate) struct Agenda<T> {
    heap: BinaryHeap<Entry<T>>,
    entered: u64,
}

struct Entry<T> {
    at: Duration,
    order: u64,
    what: T,
}

impl<T> Agenda<T> {
    pub(crate) fn new() -> Self {
        Agenda {
            heap: BinaryHeap::new(),
            entered: 0,
        }
    }

    pub(crate) fn add(&mut self, at: Duration, what: T) {
        let order = self.entered;
        self.entered += 1;
        self.heap.push(Entry { at, order, what });
    }

    pub(crate) fn next_at(&self) -> Option<Duration> {
        self.heap.peek().map(|entry| entry.at)
    }

    pub(crate) fn pop(&mut self) -> Option<(Duration, T)> {
        self.heap.pop().map(|entry| (entry.at, entry.what))
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }
}

// `BinaryHeap` is a max-heap: the earliest entry must compare as the greatest.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_first_and_ties_in_order_of_entry() {
        let mut agenda = Agenda::new();
        for (at, what) in [(3, 'd'), (1, 'a'), (2, 'b'), (2, 'c')] {
            agenda.add(Duration::from_millis(at), what);
        }
        assert_eq!(agenda.len(), 4);
        assert_eq!(agenda.next_at(), Some(Duration::from_millis(1)));
        let order: String = std::iter::from_fn(|| agenda.pop())
            .map(|(_, what)| what)
            .collect();
        assert_eq!(order, "abcd");
    }
}
