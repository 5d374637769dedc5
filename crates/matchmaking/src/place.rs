//! Where a player is: its round trips to beacons and to others, from which the round trip between two players is estimated.
//!
//! Between two players that have not measured each other the triangle inequality gives an upper and a lower bound for each beacon that both have measured; the
//! estimate is the mean of the tightest two (the triangulation of E. Ng and H. Zhang, *Predicting Internet Network Distance with Coordinates-Based Approaches*, INFOCOM 2002, section III).

use core::time::Duration;

use crate::id::{BeaconId, PlayerId};

/// Most beacons in a place.
pub const MAX_BEACONS: usize = 16;

/// Most players in a place that were measured directly.
pub const MAX_MEASURED: usize = 32;

/// Longest round trip in a place.
pub const MAX_RTT: Duration = Duration::from_secs(10);

/// The round trips that a player has measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Sorted by beacon.
    beacons: Vec<(BeaconId, Duration)>,
    /// Sorted by player.
    measured: Vec<(PlayerId, Duration)>,
}

impl Place {
    /// A place by its round trips to beacons; a beacon that is named twice counts with the longer one.
    pub fn new(beacons: impl IntoIterator<Item = (BeaconId, Duration)>) -> Self {
        Self {
            beacons: sorted(beacons),
            measured: Vec::new(),
        }
    }

    /// Adds round trips that were measured to other players, in earlier matches for example.
    pub fn measured(mut self, to: impl IntoIterator<Item = (PlayerId, Duration)>) -> Self {
        self.measured = sorted(self.measured.into_iter().chain(to));
        self
    }

    /// The round trip to a beacon, if it was measured.
    pub fn to_beacon(&self, beacon: BeaconId) -> Option<Duration> {
        let at = self.beacons.binary_search_by_key(&beacon, |(b, _)| *b);
        at.ok().map(|at| self.beacons[at].1)
    }

    /// Every beacon with its round trip.
    pub fn beacons(&self) -> &[(BeaconId, Duration)] {
        &self.beacons
    }

    /// The nearest beacon.
    pub fn home(&self) -> Option<BeaconId> {
        let nearest = self.beacons.iter().min_by_key(|(b, rtt)| (*rtt, *b));
        nearest.map(|(beacon, _)| *beacon)
    }

    /// The estimate from the beacons alone: see [`estimate`].
    pub fn rtt_to(&self, other: &Place) -> Option<Duration> {
        let bounds = self.bounds(other);
        bounds.map(|(low, high)| (low + high) / 2)
    }

    /// Whether it is within the limits, and near some beacon.
    pub(crate) fn is_valid(&self) -> bool {
        let rtts = self.beacons.iter().map(|(_, rtt)| rtt);
        let mut rtts = rtts.chain(self.measured.iter().map(|(_, rtt)| rtt));
        (1..=MAX_BEACONS).contains(&self.beacons.len())
            && self.measured.len() <= MAX_MEASURED
            && rtts.all(|rtt| *rtt <= MAX_RTT)
    }

    fn to_player(&self, player: PlayerId) -> Option<Duration> {
        let at = self.measured.binary_search_by_key(&player, |(p, _)| *p);
        at.ok().map(|at| self.measured[at].1)
    }

    /// The bounds that the beacons give for the round trip between two places.
    fn bounds(&self, other: &Place) -> Option<(Duration, Duration)> {
        let (mut low, mut high) = (Duration::ZERO, None::<Duration>);
        let (mut own, mut others) = (self.beacons.iter().peekable(), other.beacons.iter());
        let mut next = others.next();
        while let (Some((a, to_a)), Some((b, to_b))) = (own.peek(), next) {
            if a < b {
                own.next();
                continue;
            }
            if a == b {
                low = low.max(to_a.abs_diff(*to_b));
                let detour = *to_a + *to_b;
                high = Some(high.map_or(detour, |high| high.min(detour)));
            }
            next = others.next();
        }
        high.map(|high| (low.min(high), high))
    }
}

fn sorted<K: Ord + Copy>(pairs: impl IntoIterator<Item = (K, Duration)>) -> Vec<(K, Duration)> {
    let mut pairs: Vec<(K, Duration)> = pairs.into_iter().collect();
    pairs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    pairs.dedup_by_key(|(key, _)| *key);
    pairs
}

/// The round trip between two players: as measured, the longer one if both say something, since nobody gains by seeming far away; else estimated. `None` if
/// they have no beacon in common and have not measured each other. A measurement below what the beacons allow counts as their lower bound.
pub fn estimate(a: (PlayerId, &Place), b: (PlayerId, &Place)) -> Option<Duration> {
    let bounds = a.1.bounds(b.1);
    let measured = a.1.to_player(b.0).max(b.1.to_player(a.0));
    match (measured, bounds) {
        (Some(measured), Some((low, _))) => Some(measured.max(low)),
        (Some(measured), None) => Some(measured),
        (None, bounds) => bounds.map(|(low, high)| (low + high) / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn place(to: &[(u16, u64)]) -> Place {
        Place::new(to.iter().map(|(b, rtt)| (BeaconId(*b), ms(*rtt))))
    }

    const A: PlayerId = PlayerId(1);
    const B: PlayerId = PlayerId(2);

    #[test]
    fn an_estimate_lies_between_the_bounds_of_the_beacons() {
        let a = place(&[(1, 10), (2, 90), (4, 50)]);
        let b = place(&[(1, 20), (2, 60), (3, 5)]);
        // At least 30 by the second beacon, at most 30 by the first.
        assert_eq!(estimate((A, &a), (B, &b)), Some(ms(30)));
        let b = place(&[(1, 20)]);
        assert_eq!(estimate((A, &a), (B, &b)), Some(ms(20)));
        assert_eq!(estimate((B, &b), (A, &a)), Some(ms(20)));
        assert_eq!(estimate((A, &a), (B, &place(&[(9, 1)]))), None);
    }

    #[test]
    fn of_two_measurements_the_longer_counts() {
        let a = place(&[(1, 10)]).measured([(B, ms(3))]);
        let b = place(&[(1, 10)]);
        assert_eq!(estimate((A, &a), (B, &b)), Some(ms(3)));
        let b = b.measured([(A, ms(80))]);
        assert_eq!(estimate((A, &a), (B, &b)), Some(ms(80)));
    }

    #[test]
    fn nobody_claims_to_be_nearer_than_the_beacons_allow() {
        let a = place(&[(1, 10)]).measured([(B, ms(0))]);
        let b = place(&[(1, 150)]);
        assert_eq!(estimate((A, &a), (B, &b)), Some(ms(140)));
    }

    #[test]
    fn a_place_has_bounds() {
        assert!(!Place::default().is_valid());
        assert!(!place(&[(1, 10_001)]).is_valid());
        let many = (0..17).map(|n| (BeaconId(n), ms(1)));
        assert!(!Place::new(many).is_valid());
        let doubled = place(&[(1, 5), (1, 9)]);
        assert_eq!(doubled.to_beacon(BeaconId(1)), Some(ms(9)));
        assert_eq!(place(&[(3, 7), (2, 7), (5, 9)]).home(), Some(BeaconId(2)));
    }
}
