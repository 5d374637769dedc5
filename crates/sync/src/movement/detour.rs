//! The way around an obstacle that has come between a body as it is shown and where it really is.

use std::collections::BinaryHeap;

use core::cmp::Ordering;

use super::{Motion, distance};

/// Finds the way from a place to another around obstacles: a search over a lattice (A*), as far as it reaches.
///
/// A body that on one program passed an obstacle's corner on one side, and on the authority on the other, cannot be drawn straight back: the correction would
/// push it against the wall. It has to go around the corner.
#[derive(Clone, Debug)]
pub struct Detour {
    spacing: f32,
    reach: i32,
    /// The places to go by, the next one first.
    way: Vec<[f32; 2]>,
    /// The place that the way leads to.
    goal: [f32; 2],
}

/// How a body gets from a place to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Way {
    /// Nothing is between them.
    Straight,
    /// By this place.
    By([f32; 2]),
    /// There is none within reach.
    None,
}

impl Detour {
    /// Searches over places so far from each other, and so many of them to each side. The spacing is to be less than the width of a body, so that a
    /// way through a gap is found.
    pub fn new(spacing: f32, reach: u16) -> Detour {
        Detour {
            spacing,
            reach: reach.into(),
            way: Vec::new(),
            goal: [0.0; 2],
        }
    }

    /// How to get from one place to another, now. Searches only if the way found before does not serve any more.
    pub fn way(&mut self, motion: &impl Motion, from: [f32; 2], to: [f32; 2]) -> Way {
        if motion.is_free(from, to) {
            self.way.clear();
            return Way::Straight;
        }
        if let Some(by) = self.known_way(motion, from, to) {
            return Way::By(by);
        }
        self.search(motion, from, to);
        self.goal = to;
        match self.farthest_in_sight(motion, from) {
            Some(by) => Way::By(by),
            None => Way::None,
        }
    }

    /// Forgets the way found before.
    pub fn clear(&mut self) {
        self.way.clear();
    }

    /// The next place on the way found before, if its end still sees the goal.
    fn known_way(
        &mut self,
        motion: &impl Motion,
        from: [f32; 2],
        to: [f32; 2],
    ) -> Option<[f32; 2]> {
        let end = self.way.last()?;
        let is_near = distance(self.goal, to) <= 2.0 * self.spacing;
        if !is_near || !motion.is_free(*end, to) {
            return None;
        }
        self.farthest_in_sight(motion, from)
    }

    /// The last place of the way that can be reached straight; those before it are not needed any more.
    fn farthest_in_sight(&mut self, motion: &impl Motion, from: [f32; 2]) -> Option<[f32; 2]> {
        let in_sight = |place: &[f32; 2]| motion.is_free(from, *place);
        let at = self.way.iter().rposition(in_sight)?;
        // A place that is already reached leads nowhere.
        let at = match distance(self.way[at], from) < 0.1 * self.spacing {
            true if at + 1 < self.way.len() => at + 1,
            _ => at,
        };
        self.way.drain(..at);
        self.way.first().copied()
    }

    fn search(&mut self, motion: &impl Motion, from: [f32; 2], to: [f32; 2]) {
        self.way.clear();
        let side = 2 * self.reach + 1;
        let index = |node: Node| ((node.1 + self.reach) * side + node.0 + self.reach) as usize;
        let place = |node: Node| {
            [
                from[0] + node.0 as f32 * self.spacing,
                from[1] + node.1 as f32 * self.spacing,
            ]
        };
        let mut best = vec![f32::INFINITY; (side * side) as usize];
        let mut came_from = vec![(0, 0); (side * side) as usize];
        let mut open = BinaryHeap::new();
        best[index((0, 0))] = 0.0;
        open.push(Candidate {
            total: distance(from, to),
            cost: 0.0,
            node: Some((0, 0)),
            by: (0, 0),
        });
        while let Some(Candidate { cost, node, by, .. }) = open.pop() {
            let Some(node) = node else {
                // The goal, seen from the last node.
                let mut at = by;
                while at != (0, 0) {
                    self.way.push(place(at));
                    at = came_from[index(at)];
                }
                self.way.reverse();
                return;
            };
            if cost > best[index(node)] {
                continue;
            }
            let here = place(node);
            if node != (0, 0) && motion.is_free(here, to) {
                let total = cost + distance(here, to);
                open.push(Candidate {
                    total,
                    cost: total,
                    node: None,
                    by: node,
                });
            }
            for step in NEIGHBOURS {
                let next = (node.0 + step.0, node.1 + step.1);
                if next.0.abs() > self.reach || next.1.abs() > self.reach {
                    continue;
                }
                let there = place(next);
                let cost = cost + distance(here, there);
                if cost < best[index(next)] && motion.is_free(here, there) {
                    best[index(next)] = cost;
                    came_from[index(next)] = node;
                    open.push(Candidate {
                        total: cost + distance(there, to),
                        cost,
                        node: Some(next),
                        by: node,
                    });
                }
            }
        }
    }
}

/// Steps of the lattice to the right and down.
type Node = (i32, i32);

const NEIGHBOURS: [Node; 8] = [
    (1, 0),
    (0, 1),
    (-1, 0),
    (0, -1),
    (1, 1),
    (-1, 1),
    (-1, -1),
    (1, -1),
];

/// Something to look at in the search: a node, or the goal where there is none.
struct Candidate {
    /// The cost so far and the least that is left.
    total: f32,
    cost: f32,
    node: Option<Node>,
    by: Node,
}

impl Ord for Candidate {
    /// The heap has the greatest first: that with the least total, and among equal ones always the same.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_total = other.total.total_cmp(&self.total);
        let key = |candidate: &Candidate| (candidate.node, candidate.by);
        by_total.then_with(|| key(self).cmp(&key(other)))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

#[cfg(test)]
mod tests {
    use super::super::field::Field;
    use super::*;

    #[test]
    fn nothing_between_needs_no_detour() {
        let mut detour = Detour::new(0.25, 12);
        let way = detour.way(&Field::open(), [0.0; 2], [3.0, 2.0]);
        assert_eq!(way, Way::Straight);
    }

    #[test]
    fn it_leads_around_the_nearer_corner() {
        let field = Field::with_block();
        let mut detour = Detour::new(0.25, 16);
        let (mut at, to) = ([-0.4, 1.0], [1.0, -0.4]);
        let mut legs = 0;
        let mut length = 0.0;
        loop {
            let next = match detour.way(&field, at, to) {
                Way::Straight => to,
                Way::By(place) => place,
                Way::None => panic!("there is a way"),
            };
            assert!(field.is_free(at, next), "{at:?} to {next:?}");
            length += distance(at, next);
            at = next;
            legs += 1;
            assert!(legs < 10, "it arrives");
            if at == to {
                break;
            }
        }
        // Around the corner it is 2.8; around the other side of the block more than 10.
        assert!(length < 3.5, "{length}");
    }

    #[test]
    fn who_is_enclosed_has_no_way() {
        let field = Field::with_block();
        let mut detour = Detour::new(0.25, 8);
        // The goal is inside of the block.
        assert_eq!(detour.way(&field, [-1.0, 1.0], [2.0, 1.0]), Way::None);
    }
}
