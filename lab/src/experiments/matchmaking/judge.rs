//! By what matches are judged: even chances, which matches a queue could have made, and the order of ratings.

use samestep_matchmaking::{Strength, imbalance};

/// Chances from 0.40 to 0.60, or for more sides as far from their share.
const FAIR: f64 = 0.1;

/// Whether chances are as even as was demanded.
pub fn is_fair(imbalance: f64) -> bool {
    imbalance <= FAIR
}

/// A ticket's players and what they can together.
pub type Block = (usize, Strength);

/// Whether this block and some of those before it complete a match that is accepted.
pub fn can_make(
    blocks: &[Block],
    last: usize,
    missing: usize,
    chosen: &mut Vec<Block>,
    accepts: &mut impl FnMut(&[Block]) -> bool,
) -> bool {
    let block = blocks[last];
    if block.0 > missing {
        return false;
    }
    chosen.push(block);
    let found = match missing - block.0 {
        0 => accepts(chosen),
        missing => (0..last).any(|before| can_make(blocks, before, missing, chosen, accepts)),
    };
    chosen.pop();
    found
}

/// Whether some division of the blocks into sides is even enough.
pub fn is_even(blocks: &[Block], (sides, side_size): (usize, usize), bound: f64) -> bool {
    let divisions = sides.pow(blocks.len() as u32 - 1);
    // The first block is on the first side: which side is which does not matter.
    (0..divisions).any(|mut division| {
        let mut all = vec![(0, Strength::default()); sides];
        for (index, (size, strength)) in blocks.iter().enumerate() {
            let side = if index == 0 { 0 } else { division % sides };
            division /= if index == 0 { 1 } else { sides };
            all[side].0 += size;
            all[side].1.mean += strength.mean;
            all[side].1.variance += strength.variance;
        }
        let strengths: Vec<Strength> = all.iter().map(|(_, strength)| *strength).collect();
        all.iter().all(|(size, _)| *size == side_size) && imbalance(&strengths) <= bound
    })
}

/// Spearman's rank correlation; equal values do not occur.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |of: fn(&(f64, f64)) -> f64| {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by(|a, b| of(&pairs[*a]).total_cmp(&of(&pairs[*b])));
        let mut ranks = vec![0.0; pairs.len()];
        for (rank, index) in order.into_iter().enumerate() {
            ranks[index] = rank as f64;
        }
        ranks
    };
    let (a, b) = (ranks(|p| p.0), ranks(|p| p.1));
    let squares: f64 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
    let n = pairs.len() as f64;
    1.0 - 6.0 * squares / (n * (n * n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_is_that_of_the_order() {
        assert_eq!(
            rank_correlation(&[(1.0, 10.0), (2.0, 11.0), (3.0, 90.0)]),
            1.0
        );
        assert_eq!(
            rank_correlation(&[(1.0, 9.0), (2.0, 8.0), (3.0, 1.0)]),
            -1.0
        );
    }

    #[test]
    fn a_match_is_made_of_the_last_block_and_those_before_it() {
        let block = |size, mean| {
            let strength = Strength {
                mean,
                variance: 0.0,
            };
            (size, strength)
        };
        let blocks = [
            block(2, 60.0),
            block(1, 26.0),
            block(1, 24.0),
            block(1, 23.0),
        ];
        let can = |last| {
            let mut chosen = vec![block(1, 25.0)];
            can_make(&blocks, last, 3, &mut chosen, &mut |all| {
                is_even(all, (2, 2), 0.05)
            })
        };
        // The party of two is too strong for all; 25 and 24 are even with 26 and 23.
        assert!(!can(0) && !can(1) && !can(2) && can(3));
        assert!(is_even(
            &[block(1, 25.0), block(2, 60.0), block(1, 35.0)],
            (2, 2),
            0.05
        ));
        assert!(
            !is_even(&[block(2, 25.0), block(1, 12.0)], (2, 2), 0.5),
            "a side is not full"
        );
        assert!(is_fair(0.1) && !is_fair(0.101));
    }
}
