//! The leaderboard: listed players by what they can almost certainly do.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::id::PlayerId;
use crate::ratings::RatingRecord;

/// A line of the leaderboard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// 1 for the best; players with the same figure share a place, and the next has as many places more.
    pub place: usize,
    /// The figure: [`Rating::conservative`](crate::Rating::conservative), to a thousandth.
    pub figure: f64,
    /// The player's record.
    pub record: RatingRecord,
}

/// The order of the players.
#[derive(Debug, Default)]
pub(crate) struct Leaderboard {
    order: BTreeSet<(Reverse<i64>, PlayerId)>,
}

fn figure(record: &RatingRecord) -> Reverse<i64> {
    Reverse((record.rating.conservative() * 1e3).round() as i64)
}

impl Leaderboard {
    pub(crate) fn insert(&mut self, record: &RatingRecord) {
        self.order.insert((figure(record), record.player));
    }

    pub(crate) fn remove(&mut self, record: &RatingRecord) {
        self.order.remove(&(figure(record), record.player));
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn place(&self, record: &RatingRecord) -> Option<usize> {
        let own = figure(record);
        let is_listed = self.order.contains(&(own, record.player));
        let better = self.order.iter().take_while(|(figure, _)| *figure < own);
        is_listed.then(|| better.count() + 1)
    }

    pub(crate) fn page(
        &self,
        offset: usize,
        count: usize,
        records: &BTreeMap<PlayerId, RatingRecord>,
    ) -> Vec<Standing> {
        let mut page: Vec<Standing> = Vec::new();
        let mut above = None;
        let lines = self.order.iter().enumerate().skip(offset).take(count);
        for (index, (own, player)) in lines {
            let place = match above {
                Some((figure, place)) if figure == *own => place,
                // The first of the page may share its place with the last of the page before.
                None => 1 + self.order.range(..(*own, PlayerId(0))).count(),
                Some(_) => index + 1,
            };
            above = Some((*own, place));
            page.extend(records.get(player).map(|record| Standing {
                place,
                figure: own.0 as f64 / 1e3,
                record: *record,
            }));
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use crate::rating::Rating;
    use crate::ratings::{Ratings, RatingsConfig};

    use super::*;

    fn ratings(means: &[f64]) -> Ratings {
        let mut ratings = Ratings::new(RatingsConfig::default());
        for (player, mean) in means.iter().enumerate() {
            let record = RatingRecord {
                player: PlayerId(player as u64),
                rating: Rating {
                    mean: *mean,
                    uncertainty: 1.0,
                },
                wins: 10,
                draws: 0,
                losses: 0,
            };
            ratings.restore(record).expect("it is a rating");
        }
        ratings
    }

    fn places(ratings: &Ratings, offset: usize, count: usize) -> Vec<(usize, u64)> {
        let page = ratings.page(offset, count);
        page.iter().map(|s| (s.place, s.record.player.0)).collect()
    }

    #[test]
    fn equals_share_a_place_on_every_page() {
        let ratings = ratings(&[20.0, 30.0, 25.0, 30.0, 25.0, 25.0, 10.0]);
        let all = [(1, 1), (1, 3), (3, 2), (3, 4), (3, 5), (6, 0), (7, 6)];
        assert_eq!(places(&ratings, 0, 100), all);
        for size in 1..4 {
            let pages = (0..all.len()).step_by(size);
            let paged: Vec<_> = pages.flat_map(|at| places(&ratings, at, size)).collect();
            assert_eq!(paged, all);
        }
        for (place, player) in all {
            assert_eq!(ratings.place(PlayerId(player)), Some(place));
        }
        assert_eq!(places(&ratings, 7, 10), []);
    }

    #[test]
    fn certainty_counts_and_newcomers_are_not_listed() {
        let mut ratings = ratings(&[20.0]);
        let mut lucky = *ratings.record(PlayerId(0)).expect("it is there");
        lucky.player = PlayerId(7);
        lucky.rating = Rating {
            mean: 24.0,
            uncertainty: 4.0,
        };
        ratings.restore(lucky).expect("it is a rating");
        assert_eq!(places(&ratings, 0, 9), [(1, 0), (2, 7)]);
        lucky.wins = 9;
        ratings.restore(lucky).expect("it is a rating");
        assert_eq!(places(&ratings, 0, 9), [(1, 0)]);
        assert_eq!((ratings.place(PlayerId(7)), ratings.listed()), (None, 1));
    }
}
