//! The ratings of all players, from the results of their matches.

use std::collections::BTreeMap;

use samestep_wire::Wire;
use skillratings::MultiTeamOutcome;
use skillratings::weng_lin::{WengLinConfig, WengLinRating, weng_lin_multi_team};

use crate::config::{MAX_PLAYERS, MAX_SIDES};
use crate::id::PlayerId;
use crate::leaderboard::{Leaderboard, Standing};
use crate::rating::Rating;

/// The place of each side in a match, 1 for the winner; sides that drew have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
pub struct Outcome {
    /// By side.
    #[wire(max_len = MAX_SIDES)]
    pub places: Vec<u8>,
}

impl Outcome {
    /// One side has won, all others have lost alike.
    pub fn won_by(side: usize, sides: usize) -> Self {
        let place = |s: usize| if s == side { 1 } else { 2 };
        Self {
            places: (0..sides).map(place).collect(),
        }
    }

    /// Nobody has won.
    pub fn draw(sides: usize) -> Self {
        Self {
            places: vec![1; sides],
        }
    }

    /// Whether it is the outcome of a match with so many sides: a place for each, the best being 1.
    pub fn is_valid(&self, sides: usize) -> bool {
        self.places.len() == sides && self.places.iter().min() == Some(&1)
    }
}

/// What is kept of a player.
#[derive(Clone, Copy, Debug, PartialEq, Wire)]
pub struct RatingRecord {
    /// Who.
    pub player: PlayerId,
    /// Its rating.
    pub rating: Rating,
    /// Matches that were won.
    #[wire(varint)]
    pub wins: u32,
    /// Matches in which its side was first with another.
    #[wire(varint)]
    pub draws: u32,
    /// Matches that were lost.
    #[wire(varint)]
    pub losses: u32,
}

impl RatingRecord {
    fn new(player: PlayerId) -> Self {
        Self {
            player,
            rating: Rating::default(),
            wins: 0,
            draws: 0,
            losses: 0,
        }
    }

    /// Matches that counted.
    pub fn matches(&self) -> u32 {
        self.wins + self.draws + self.losses
    }
}

/// Settings of [`Ratings`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatingsConfig {
    /// How much a skill may change from match to match: it is added to the uncertainty before each, so that ratings never freeze (R. Herbrich and others, *TrueSkill*, 2006,
    /// section 2).
    pub drift: f64,
    /// Matches that a player needs to be listed.
    pub listed_after: u32,
    /// Most players that are remembered.
    pub max_players: usize,
}

impl Default for RatingsConfig {
    fn default() -> Self {
        Self {
            drift: 25.0 / 300.0,
            listed_after: 10,
            max_players: 1_000_000,
        }
    }
}

/// The ratings of one ladder: of a mode, or of several.
///
/// They are the same on every machine up to rounding (the exponential function is the platform's), so one program decides them.
#[derive(Debug)]
pub struct Ratings {
    config: RatingsConfig,
    records: BTreeMap<PlayerId, RatingRecord>,
    board: Leaderboard,
}

impl Ratings {
    /// Nobody has played yet.
    pub fn new(config: RatingsConfig) -> Self {
        Self {
            config,
            records: BTreeMap::new(),
            board: Leaderboard::default(),
        }
    }

    /// Takes a record from a store; an earlier one of the player is replaced.
    ///
    /// # Errors
    /// [`RatingsError`] if its rating is none, or too many players are remembered.
    pub fn restore(&mut self, record: RatingRecord) -> Result<(), RatingsError> {
        if !record.rating.is_valid() {
            return Err(RatingsError::Rating(record.player));
        }
        if !self.records.contains_key(&record.player) {
            self.make_room(1)?;
        }
        self.keep(record);
        Ok(())
    }

    /// Every record, by player: what a store keeps.
    pub fn records(&self) -> impl Iterator<Item = &RatingRecord> {
        self.records.values()
    }

    /// The rating of a player; who has not played yet has a newcomer's.
    pub fn rating(&self, player: PlayerId) -> Rating {
        let known = self.records.get(&player);
        known.map(|record| record.rating).unwrap_or_default()
    }

    /// What is kept of a player.
    pub fn record(&self, player: PlayerId) -> Option<&RatingRecord> {
        self.records.get(&player)
    }

    /// Counts a match and returns the records that have changed. Each match is to be given once: [`Results`](crate::Results) sees to that.
    ///
    /// # Errors
    /// [`RatingsError`] if the outcome does not fit the sides, or too many players are remembered; nothing is counted then.
    pub fn count(
        &mut self,
        sides: &[Vec<PlayerId>],
        outcome: &Outcome,
    ) -> Result<Vec<RatingRecord>, RatingsError> {
        let players = || sides.iter().flatten();
        let mut all: Vec<PlayerId> = players().copied().collect();
        all.sort_unstable();
        all.dedup();
        let is_match = (2..=MAX_SIDES).contains(&sides.len())
            && sides.iter().all(|side| !side.is_empty())
            && all.len() == players().count()
            && all.len() <= MAX_PLAYERS;
        if !is_match || !outcome.is_valid(sides.len()) {
            return Err(RatingsError::Outcome);
        }
        let new = all.iter().filter(|p| !self.records.contains_key(p));
        self.make_room(new.count())?;
        let drift = self.config.drift;
        let before: Vec<Vec<WengLinRating>> = sides
            .iter()
            .map(|side| {
                let ratings = side.iter().map(|player| self.rating(*player));
                let drifted = ratings.map(|rating| Rating {
                    uncertainty: rating.uncertainty.hypot(drift),
                    ..rating
                });
                drifted.map(Into::into).collect()
            })
            .collect();
        let places = outcome.places.iter().map(|place| usize::from(*place));
        let teams = before.iter().map(Vec::as_slice);
        let teams: Vec<_> = teams.zip(places.map(MultiTeamOutcome::new)).collect();
        let after = weng_lin_multi_team(&teams, &WengLinConfig::new());
        let winners = outcome.places.iter().filter(|place| **place == 1).count();
        let mut changed = Vec::with_capacity(all.len());
        for ((side, ratings), place) in sides.iter().zip(after).zip(&outcome.places) {
            for (player, rating) in side.iter().zip(ratings) {
                let known = self.records.get(player).copied();
                let mut record = known.unwrap_or_else(|| RatingRecord::new(*player));
                let rating = Rating::from(rating);
                if rating.is_valid() {
                    record.rating = rating;
                }
                let counter = match (place, winners) {
                    (1, 1) => &mut record.wins,
                    (1, _) => &mut record.draws,
                    _ => &mut record.losses,
                };
                *counter = counter.saturating_add(1);
                self.keep(record);
                changed.push(record);
            }
        }
        Ok(changed)
    }

    /// A page of the leaderboard: `count` players after the first `offset`, the best first. Players with the same figure share a place. It walks over what it leaves out.
    pub fn page(&self, offset: usize, count: usize) -> Vec<Standing> {
        self.board.page(offset, count, &self.records)
    }

    /// How many players are listed.
    pub fn listed(&self) -> usize {
        self.board.len()
    }

    /// The place of a player, if it is listed. It walks over all that are better.
    pub fn place(&self, player: PlayerId) -> Option<usize> {
        let record = self.records.get(&player)?;
        self.board.place(record)
    }

    fn make_room(&self, new: usize) -> Result<(), RatingsError> {
        match self.records.len() + new > self.config.max_players {
            true => Err(RatingsError::Full),
            false => Ok(()),
        }
    }

    fn keep(&mut self, record: RatingRecord) {
        if let Some(before) = self.records.insert(record.player, record) {
            self.board.remove(&before);
        }
        if record.matches() >= self.config.listed_after {
            self.board.insert(&record);
        }
    }
}

/// Why a match or a record was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RatingsError {
    /// The outcome does not fit the match.
    #[error(
        "an outcome needs 2 to {MAX_SIDES} sides of different players, and a place for each side, the best being 1"
    )]
    Outcome,
    /// A record's rating is none.
    #[error("the record of player {} holds no rating: restore it from an older copy", .0.0)]
    Rating(PlayerId),
    /// Too many players.
    #[error("no further player can be rated: raise max_players")]
    Full,
}

#[cfg(test)]
mod tests {
    use super::*;
    use samestep_wire::{decode_exact, encode_to_vec};

    const A: PlayerId = PlayerId(1);
    const B: PlayerId = PlayerId(2);
    const C: PlayerId = PlayerId(3);
    const D: PlayerId = PlayerId(4);

    fn ratings() -> Ratings {
        Ratings::new(RatingsConfig::default())
    }

    #[test]
    fn who_wins_rises_and_who_loses_falls() {
        let mut ratings = ratings();
        let sides = [vec![A, B], vec![C, D]];
        let changed = ratings.count(&sides, &Outcome::won_by(1, 2)).unwrap();
        assert_eq!(changed.len(), 4);
        assert!(ratings.rating(C).mean > 25.0 && ratings.rating(A).mean < 25.0);
        assert!(ratings.rating(A).uncertainty < Rating::default().uncertainty);
        let record = ratings.record(D).expect("it has played");
        assert_eq!((record.wins, record.losses, record.matches()), (1, 0, 1));
        let before = ratings.rating(A).mean;
        ratings.count(&sides, &Outcome::draw(2)).unwrap();
        assert!(ratings.rating(A).mean > before, "a draw with the stronger");
        assert_eq!(ratings.record(A).map(|r| (r.draws, r.losses)), Some((1, 1)));
    }

    #[test]
    fn of_four_each_is_rated_by_its_place() {
        let mut ratings = ratings();
        let sides = [vec![A], vec![B], vec![C], vec![D]];
        let places = Outcome {
            places: vec![2, 1, 4, 3],
        };
        ratings.count(&sides, &places).unwrap();
        let mean = |player| ratings.rating(player).mean;
        assert!(mean(B) > mean(A) && mean(A) > mean(D) && mean(D) > mean(C));
    }

    #[test]
    fn what_is_no_result_changes_nothing() {
        let mut ratings = ratings();
        let two = [vec![A], vec![B]];
        for (sides, places) in [
            (vec![vec![A]], vec![1]),
            (two.to_vec(), vec![1]),
            (two.to_vec(), vec![2, 3]),
            (two.to_vec(), vec![0, 1]),
            (vec![vec![A], vec![A]], vec![1, 2]),
            (vec![vec![A], vec![]], vec![1, 2]),
        ] {
            let counted = ratings.count(&sides, &Outcome { places });
            assert_eq!(counted, Err(RatingsError::Outcome), "{sides:?}");
        }
        assert_eq!(ratings.records().count(), 0);
    }

    #[test]
    fn records_survive_a_store() {
        let mut before = ratings();
        for _ in 0..12 {
            let sides = [vec![A], vec![B]];
            before.count(&sides, &Outcome::won_by(0, 2)).unwrap();
        }
        let mut after = ratings();
        for record in before.records() {
            let bytes = encode_to_vec(record).expect("it has an encoding");
            after
                .restore(decode_exact(&bytes).expect("the same"))
                .unwrap();
        }
        assert!(after.records().eq(before.records()));
        assert_eq!(after.page(0, 10), before.page(0, 10));
        assert_eq!(after.place(A), Some(1));
        let mut broken = *after.record(A).expect("it is there");
        broken.rating.mean = f64::NAN;
        assert_eq!(after.restore(broken), Err(RatingsError::Rating(A)));
    }

    #[test]
    fn the_number_of_players_is_limited() {
        let mut ratings = Ratings::new(RatingsConfig {
            max_players: 3,
            ..RatingsConfig::default()
        });
        let won = Outcome::won_by(0, 2);
        ratings.count(&[vec![A], vec![B]], &won).unwrap();
        let counted = ratings.count(&[vec![C], vec![D]], &won);
        assert_eq!(counted, Err(RatingsError::Full));
        assert_eq!(ratings.records().count(), 2);
        assert!(ratings.count(&[vec![A], vec![C]], &won).is_ok());
    }
}
