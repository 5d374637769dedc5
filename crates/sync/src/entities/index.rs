//! From ids to places, without hashing.

/// A tree over the digits of an id, to base 32.
///
/// It is as deep as the greatest id needs and has nodes only where ids are, so that ids from hostile bytes cannot
/// make it large: no more than a few hundred bytes each. Empty nodes are used again.
#[derive(Clone, Debug)]
pub(super) struct Index {
    /// Places in leaves, numbers of nodes above them, each plus one; 0 is nothing. Node 0 is the root.
    nodes: Vec<[u32; WIDTH]>,
    /// How many entries of each node are in use.
    used: Vec<u8>,
    free: Vec<u32>,
    /// Levels; 0 while there are no nodes.
    height: u32,
}

const DIGIT_BITS: u32 = 5;
const WIDTH: usize = 1 << DIGIT_BITS;
const MAX_HEIGHT: u32 = u32::BITS.div_ceil(DIGIT_BITS);

#[inline(always)]
fn digit(id: u32, level: u32) -> usize {
    (id >> (level * DIGIT_BITS)) as usize % WIDTH
}

impl Index {
    pub(super) const fn new() -> Index {
        Index {
            nodes: Vec::new(),
            used: Vec::new(),
            free: Vec::new(),
            height: 0,
        }
    }

    #[inline]
    pub(super) fn of(&self, id: u32) -> Option<u32> {
        if self.is_beyond(id) {
            return None;
        }
        let mut node = 0;
        for level in (0..self.height).rev() {
            node = self.nodes[node as usize][digit(id, level)].checked_sub(1)?;
        }
        Some(node)
    }

    #[inline]
    fn is_beyond(&self, id: u32) -> bool {
        self.height < MAX_HEIGHT && id >> (self.height * DIGIT_BITS) != 0 || self.height == 0
    }

    pub(super) fn set(&mut self, id: u32, place: u32) {
        while self.is_beyond(id) {
            self.grow();
        }
        let mut node = 0;
        for level in (1..self.height).rev() {
            let slot = digit(id, level);
            node = match self.nodes[node as usize][slot] {
                0 => {
                    let below = self.take_node();
                    self.nodes[node as usize][slot] = below + 1;
                    self.used[node as usize] += 1;
                    below
                }
                below => below - 1,
            };
        }
        let slot = &mut self.nodes[node as usize][digit(id, 0)];
        self.used[node as usize] += u8::from(*slot == 0);
        *slot = place + 1;
    }

    pub(super) fn clear(&mut self, id: u32) {
        if self.of(id).is_none() {
            return;
        }
        let mut path = [0; MAX_HEIGHT as usize];
        for level in (1..self.height).rev() {
            let node = path[level as usize];
            path[level as usize - 1] = self.nodes[node as usize][digit(id, level)] - 1;
        }
        for level in 0..self.height {
            let node = path[level as usize];
            self.nodes[node as usize][digit(id, level)] = 0;
            self.used[node as usize] -= 1;
            if self.used[node as usize] > 0 || node == 0 {
                break;
            }
            self.free.push(node);
        }
    }

    pub(super) fn reset(&mut self) {
        self.nodes.clear();
        self.used.clear();
        self.free.clear();
        self.height = 0;
    }

    /// Makes room for so many ids that were counted up.
    pub(super) fn reserve(&mut self, ids: usize) {
        // A leaf is kept until the last of its ids is gone: if ids go at random, four times as many as would do.
        let nodes = 4 * (ids / WIDTH + ids / (WIDTH * WIDTH)) + 2 * MAX_HEIGHT as usize;
        let more = nodes.saturating_sub(self.nodes.len());
        self.nodes.reserve(more);
        self.used.reserve(more);
        self.free.reserve(nodes.saturating_sub(self.free.len()));
    }

    pub(super) fn assign(&mut self, from: &Index) {
        self.nodes.clone_from(&from.nodes);
        self.used.clone_from(&from.used);
        self.free.clone_from(&from.free);
        self.height = from.height;
    }

    /// Puts a new root on top; what was there becomes its first entry.
    fn grow(&mut self) {
        if self.height == 0 {
            self.take_node();
        } else if self.used[0] > 0 {
            let below = self.take_node();
            self.nodes[below as usize] = self.nodes[0];
            self.used[below as usize] = self.used[0];
            self.nodes[0] = [0; WIDTH];
            self.nodes[0][0] = below + 1;
            self.used[0] = 1;
        }
        self.height += 1;
    }

    fn take_node(&mut self) -> u32 {
        if let Some(node) = self.free.pop() {
            return node;
        }
        self.nodes.push([0; WIDTH]);
        self.used.push(0);
        self.nodes.len() as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::Rng;

    #[test]
    fn agrees_with_a_map() {
        let mut rng = Rng::new(5);
        let (mut index, mut map) = (Index::new(), BTreeMap::new());
        for round in 0..20_000 {
            let bits = 1 + rng.below(32);
            let id = rng.next_u32() >> (32 - bits);
            if rng.chance(0.45) {
                index.clear(id);
                map.remove(&id);
            } else {
                index.set(id, round);
                map.insert(id, round);
            }
            let id = rng.next_u32() >> (32 - bits);
            assert_eq!(index.of(id), map.get(&id).copied());
        }
        for (id, place) in &map {
            assert_eq!(index.of(*id), Some(*place));
        }
        let ids: Vec<u32> = map.keys().copied().collect();
        for id in ids {
            index.clear(id);
        }
        assert_eq!(index.nodes.len() - index.free.len(), 1);
    }

    #[test]
    fn scattered_ids_take_little_memory() {
        let mut index = Index::new();
        for n in 0..1000u32 {
            index.set(n.wrapping_mul(0x9e37_79b9), n);
        }
        assert!(index.nodes.len() <= 1000 * 6);
    }

    #[test]
    fn counting_up_takes_no_more_than_what_lives() {
        let mut index = Index::new();
        for id in 1..100_000 {
            index.set(id, id);
            if id > 100 {
                index.clear(id - 100);
            }
        }
        assert!(index.nodes.len() < 64, "{}", index.nodes.len());
    }
}
