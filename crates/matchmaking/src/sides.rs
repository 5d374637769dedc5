//! Dividing parties among sides: none is split, every side is full, and the sides are as equal as can be found.

use crate::rating::{Strength, descending};

/// A search ends after so many placements with the best division found until then.
const MAX_STEPS: u32 = 4_096;

/// A party to be placed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Block {
    /// Its players.
    pub size: usize,
    /// Their strength together.
    pub strength: Strength,
}

/// The side of each block so that `sides` sides have `side_size` players each, with the smallest gap between the strongest and the weakest side that was found. `None` if
/// they do not fit.
pub(crate) fn divide(blocks: &[Block], sides: usize, side_size: usize) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    // The large first, since they fit in few ways; of equal ones the strong first, so that the first division found is nearly even.
    order.sort_by(|a, b| {
        let (a, b) = (&blocks[*a], &blocks[*b]);
        let by_strength = descending(a.strength.mean, b.strength.mean);
        b.size.cmp(&a.size).then(by_strength)
    });
    let mut search = Search {
        blocks,
        order,
        side_size,
        sides: vec![(0, 0.0); sides],
        placed: vec![0; blocks.len()],
        best: None,
        steps: 0,
    };
    search.place(0);
    search.best.map(|(_, placed)| placed)
}

struct Search<'a> {
    blocks: &'a [Block],
    order: Vec<usize>,
    side_size: usize,
    /// Players and strength of each side so far.
    sides: Vec<(usize, f64)>,
    placed: Vec<usize>,
    best: Option<(f64, Vec<usize>)>,
    steps: u32,
}

impl Search<'_> {
    fn place(&mut self, depth: usize) {
        let Some(block) = self.order.get(depth).copied() else {
            return self.judge();
        };
        let Block { size, strength } = self.blocks[block];
        let mut open: Vec<usize> = (0..self.sides.len()).collect();
        open.retain(|side| self.sides[*side].0 + size <= self.side_size);
        open.sort_by(|a, b| self.sides[*a].1.total_cmp(&self.sides[*b].1));
        // Sides that are alike lead to divisions that are alike.
        open.dedup_by(|a, b| self.sides[*a] == self.sides[*b]);
        for side in open {
            self.steps += 1;
            if self.steps > MAX_STEPS && self.best.is_some() || self.steps > 4 * MAX_STEPS {
                return;
            }
            let before = self.sides[side];
            self.sides[side] = (before.0 + size, before.1 + strength.mean);
            self.placed[block] = side;
            self.place(depth + 1);
            self.sides[side] = before;
        }
    }

    fn judge(&mut self) {
        if self.sides.iter().any(|(size, _)| *size != self.side_size) {
            return;
        }
        let sums = self.sides.iter().map(|(_, sum)| *sum);
        let (low, high) = sums.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), sum| {
            (low.min(sum), high.max(sum))
        });
        if self.best.as_ref().is_none_or(|(gap, _)| high - low < *gap) {
            self.best = Some((high - low, self.placed.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samestep_netem::Rng;

    fn blocks(of: &[(usize, f64)]) -> Vec<Block> {
        of.iter()
            .map(|(size, mean)| Block {
                size: *size,
                strength: Strength {
                    mean: *mean,
                    variance: 1.0,
                },
            })
            .collect()
    }

    #[test]
    fn the_strongest_plays_with_the_weakest() {
        let sides = divide(&blocks(&[(1, 10.0), (1, 20.0), (1, 30.0), (1, 40.0)]), 2, 2);
        let sides = sides.expect("they fit");
        assert_eq!(sides[0], sides[3]);
        assert_eq!(sides[1], sides[2]);
        assert_ne!(sides[0], sides[1]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(divide(&blocks(&[(2, 1.0), (2, 1.0), (2, 1.0)]), 2, 3), None);
        assert_eq!(divide(&blocks(&[(1, 1.0)]), 2, 1), None);
        assert_eq!(divide(&blocks(&[(3, 1.0), (1, 1.0)]), 2, 2), None);
        assert!(divide(&blocks(&[(2, 1.0), (1, 1.0), (3, 1.0)]), 2, 3).is_some());
    }

    /// Every division of two sides, to compare with.
    fn best_gap(blocks: &[Block], side_size: usize) -> Option<f64> {
        (0u32..1 << blocks.len())
            .filter_map(|mask| {
                let mut sides = [(0, 0.0); 2];
                for (index, block) in blocks.iter().enumerate() {
                    let side = &mut sides[(mask >> index & 1) as usize];
                    *side = (side.0 + block.size, side.1 + block.strength.mean);
                }
                let is_full = sides.iter().all(|side| side.0 == side_size);
                is_full.then(|| (sides[0].1 - sides[1].1).abs())
            })
            .min_by(f64::total_cmp)
    }

    #[test]
    fn divisions_of_two_are_as_even_as_any() {
        let mut rng = Rng::new(1);
        let (mut found, mut refused) = (0, 0);
        for _ in 0..500 {
            let side_size = rng.range(1..6) as usize;
            let (mut left, mut all) = (2 * side_size, Vec::new());
            while left > 0 {
                let size = rng.range(1..left.min(4) as u64 + 1) as usize;
                all.push((size, size as f64 * (25.0 + 8.0 * rng.normal())));
                left -= size;
            }
            let all = blocks(&all);
            let gap = divide(&all, 2, side_size).map(|placed| {
                let sum = |side: usize| -> f64 {
                    let own = all.iter().zip(&placed).filter(|(_, p)| **p == side);
                    own.map(|(block, _)| block.strength.mean).sum()
                };
                (sum(0) - sum(1)).abs()
            });
            match (gap, best_gap(&all, side_size)) {
                (Some(ours), Some(best)) => {
                    assert!(ours < best + 1e-9, "{ours} {best}");
                    found += 1;
                }
                (None, None) => refused += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(found > 300 && refused > 20, "{found} {refused}");
    }

    #[test]
    fn a_large_match_is_divided_in_bounded_time() {
        let all: Vec<(usize, f64)> = (0..32).map(|n| (1, f64::from(n))).collect();
        let placed = divide(&blocks(&all), 2, 16).expect("they fit");
        let sum = |side: usize| -> f64 {
            let own = all.iter().zip(&placed).filter(|(_, p)| **p == side);
            own.map(|((_, mean), _)| mean).sum()
        };
        assert!((sum(0) - sum(1)).abs() <= 2.0);
    }
}
