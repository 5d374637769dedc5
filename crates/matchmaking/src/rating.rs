//! A player's skill as Weng and Lin's rating, and the chances it predicts.
//!
//! R. C. Weng and C.-J. Lin, *A Bayesian Approximation Method for Online Ranking*, JMLR 12 (2011), the Bradley–Terry form, as in `skillratings`.

use core::cmp::Ordering;

use samestep_wire::Wire;
use skillratings::weng_lin::{WengLinConfig, WengLinRating};

use crate::config::MAX_PLAYERS;

/// Largest mean a rating may have, up or down.
pub const MAX_MEAN: f64 = 1000.0;

/// Largest uncertainty of a rating.
const MAX_UNCERTAINTY: f64 = 100.0;

/// How many uncertainties below its mean a rating is ranked.
const CAUTION: f64 = 3.0;

/// What is believed of a player's skill: a normal distribution.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub struct Rating {
    /// The most likely skill; 25 for a newcomer.
    pub mean: f64,
    /// Its standard deviation; 25/3 for a newcomer, less with every match.
    pub uncertainty: f64,
}

impl Default for Rating {
    fn default() -> Self {
        WengLinRating::new().into()
    }
}

impl From<WengLinRating> for Rating {
    fn from(rating: WengLinRating) -> Self {
        Self {
            mean: rating.rating,
            uncertainty: rating.uncertainty,
        }
    }
}

impl From<Rating> for WengLinRating {
    fn from(rating: Rating) -> Self {
        Self {
            rating: rating.mean,
            uncertainty: rating.uncertainty,
        }
    }
}

impl Rating {
    /// The skill that a player has almost certainly: three uncertainties below the mean. Leaderboards rank by it, so that nobody leads by one lucky match.
    pub fn conservative(&self) -> f64 {
        self.mean - CAUTION * self.uncertainty
    }

    /// Whether it is a rating at all: finite, and within bounds that no history of matches leaves.
    pub fn is_valid(&self) -> bool {
        self.mean.abs() <= MAX_MEAN && self.uncertainty > 0.0 && self.uncertainty <= MAX_UNCERTAINTY
    }

    /// How far the chance to win against `other` is from one half, from 0 to 0.5.
    pub fn imbalance(&self, other: &Rating) -> f64 {
        imbalance(&[Strength::of(&[*self]), Strength::of(&[*other])])
    }
}

/// The skill of a side: the sum of its players'.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Strength {
    /// Sum of the means.
    pub mean: f64,
    /// Sum of the squared uncertainties.
    pub variance: f64,
}

impl Strength {
    /// The strength of these players together.
    pub fn of(players: &[Rating]) -> Self {
        let mut all = Self::default();
        for player in players {
            all.mean += player.mean;
            all.variance += player.uncertainty * player.uncertainty;
        }
        all
    }

    /// Whether a full match of players with valid ratings could have it.
    pub(crate) fn is_valid(&self) -> bool {
        let players = MAX_PLAYERS as f64;
        self.mean.abs() <= MAX_MEAN * players
            && (0.0..=MAX_UNCERTAINTY * MAX_UNCERTAINTY * players).contains(&self.variance)
    }

    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            mean: self.mean + other.mean,
            variance: self.variance + other.variance,
        }
    }
}

/// The chance of each side to win, in their order; they add up to 1.
pub fn win_chances(sides: &[Strength]) -> Vec<f64> {
    let scale = scale(sides.iter().map(|side| side.variance).sum());
    let highest = sides.iter().map(|side| side.mean);
    let highest = highest.fold(f64::NEG_INFINITY, f64::max);
    // Relative to the highest, so that no power overflows.
    let powers = sides.iter().map(|s| ((s.mean - highest) / scale).exp());
    let powers: Vec<f64> = powers.collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// How unequal the chances are: the furthest that a side's chance is from its fair share, as a share of that, halved. For two sides it is the distance of
/// their chances from one half, so 0.1 stands for chances from 0.40 to 0.60; for four sides 0.1 stands for chances from 0.20 to 0.30.
pub fn imbalance(sides: &[Strength]) -> f64 {
    let count = sides.len() as f64;
    let off = |chance: f64| (chance * count - 1.0).abs() / 2.0;
    win_chances(sides).into_iter().map(off).fold(0.0, f64::max)
}

/// The gap between the means of two sides at which their chances are `imbalance` from one half; `variance` is that of both together.
pub(crate) fn gap_of(imbalance: f64, variance: f64) -> f64 {
    let imbalance = imbalance.clamp(0.0, 0.499);
    ((0.5 + imbalance) / (0.5 - imbalance)).ln() * scale(variance)
}

/// How far apart two means have to be for the chances to differ by a factor of e.
fn scale(variance: f64) -> f64 {
    let beta = WengLinConfig::new().beta;
    (2.0 * beta * beta + variance).sqrt()
}

/// Who of two is ahead: the higher mean first.
pub(crate) fn descending(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillratings::weng_lin::{expected_score, expected_score_multi_team};

    fn rating(mean: f64, uncertainty: f64) -> Rating {
        Rating { mean, uncertainty }
    }

    #[test]
    fn chances_are_those_of_the_ratings_crate() {
        let sides = [
            vec![rating(25.0, 2.0), rating(30.0, 1.0)],
            vec![rating(27.0, 8.0)],
            vec![rating(10.0, 1.5), rating(44.0, 3.0)],
        ];
        let strengths: Vec<Strength> = sides.iter().map(|side| Strength::of(side)).collect();
        let theirs: Vec<Vec<WengLinRating>> = sides
            .iter()
            .map(|side| side.iter().map(|r| (*r).into()).collect())
            .collect();
        let theirs: Vec<&[WengLinRating]> = theirs.iter().map(|side| &side[..]).collect();
        let theirs = expected_score_multi_team(&theirs, &WengLinConfig::new());
        for (ours, theirs) in win_chances(&strengths).iter().zip(theirs) {
            assert!((ours - theirs).abs() < 1e-12, "{ours} {theirs}");
        }
        let (a, b) = (rating(31.0, 2.0), rating(26.5, 4.0));
        let (chance, _) = expected_score(&a.into(), &b.into(), &WengLinConfig::new());
        assert!((a.imbalance(&b) - (chance - 0.5)).abs() < 1e-12);
    }

    #[test]
    fn a_gap_is_what_the_imbalance_says() {
        for wanted in [0.01, 0.1, 0.3] {
            let (a, uncertainty) = (rating(25.0, 2.0), 3.0);
            let gap = gap_of(wanted, 4.0 + 9.0);
            let b = rating(25.0 + gap, uncertainty);
            assert!((a.imbalance(&b) - wanted).abs() < 1e-12);
        }
    }

    #[test]
    fn extremes_stay_finite() {
        let strong = Strength::of(&[rating(MAX_MEAN, 0.1); 32]);
        let weak = Strength::of(&[rating(-MAX_MEAN, 0.1); 32]);
        assert_eq!(win_chances(&[strong, weak]), [1.0, 0.0]);
        assert_eq!(imbalance(&[strong, weak]), 0.5);
        assert_eq!(imbalance(&[strong]), 0.0);
        for bad in [f64::NAN, f64::INFINITY, -2000.0] {
            assert!(!rating(bad, 1.0).is_valid());
            assert!(!rating(25.0, bad).is_valid());
        }
        assert!(Rating::default().is_valid());
        assert!(Rating::default().conservative().abs() < 1e-9);
    }
}
