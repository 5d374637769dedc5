//! The tickets of a mode that wait, found by skill and by the neighbourhood of their first member.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use crate::id::{BeaconId, TicketId};

/// Where a ticket lies: the nearest beacon of its first member, and its average rating.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    home: BeaconId,
    /// In thousandths, so that it can be ordered.
    mean: i64,
}

impl Spot {
    pub(crate) fn new(home: BeaconId, mean: f64) -> Self {
        Self {
            home,
            mean: thousandths(mean),
        }
    }
}

fn thousandths(mean: f64) -> i64 {
    (mean * 1e3).round() as i64
}

/// The index.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    homes: BTreeMap<BeaconId, BTreeSet<(i64, TicketId)>>,
}

impl Pool {
    pub(crate) fn insert(&mut self, spot: Spot, ticket: TicketId) {
        let home = self.homes.entry(spot.home).or_default();
        home.insert((spot.mean, ticket));
    }

    pub(crate) fn remove(&mut self, spot: Spot, ticket: TicketId) {
        let Some(home) = self.homes.get_mut(&spot.home) else {
            return;
        };
        home.remove(&(spot.mean, ticket));
        if home.is_empty() {
            self.homes.remove(&spot.home);
        }
    }

    /// The tickets that may be within `rtt` of a player with these beacons, and whose average is at most `reach` from `mean`: of each neighbourhood at most
    /// `limit`, the most similar first.
    ///
    /// A neighbourhood is left out if its beacon is farther than twice `rtt`: the estimate between two players is at least half of what one of them is from the
    /// other's nearest beacon, since the detour over any beacon is as long as that or the lower bound makes up for it.
    pub(crate) fn near<'a>(
        &'a self,
        beacons: &'a [(BeaconId, Duration)],
        rtt: Duration,
        mean: f64,
        reach: f64,
        limit: usize,
    ) -> impl Iterator<Item = TicketId> + 'a {
        let (centre, reach) = (thousandths(mean), thousandths(reach).max(0) + 1);
        let homes = beacons.iter().filter(move |(_, to)| *to <= 2 * rtt);
        let homes = homes.filter_map(|(beacon, _)| self.homes.get(beacon));
        homes.flat_map(move |home| {
            let start = (centre, TicketId(0));
            let up = home.range(start..=(centre + reach, TicketId(u64::MAX)));
            let down = home.range((centre - reach, TicketId(0))..start).rev();
            let nearest = Nearest {
                centre,
                up: up.peekable(),
                down: down.peekable(),
            };
            nearest.take(limit)
        })
    }
}

/// Merges what lies above and what lies below by the distance from the centre.
struct Nearest<U: Iterator, D: Iterator> {
    centre: i64,
    up: Peekable<U>,
    down: Peekable<D>,
}

impl<'a, U, D> Iterator for Nearest<U, D>
where
    U: Iterator<Item = &'a (i64, TicketId)>,
    D: Iterator<Item = &'a (i64, TicketId)>,
{
    type Item = TicketId;

    fn next(&mut self) -> Option<TicketId> {
        let next = match (self.up.peek(), self.down.peek()) {
            (Some(up), Some(down)) if self.centre - down.0 < up.0 - self.centre => self.down.next(),
            (Some(_), _) => self.up.next(),
            (None, _) => self.down.next(),
        };
        next.map(|(_, ticket)| *ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: BeaconId = BeaconId(1);
    const FAR: BeaconId = BeaconId(2);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_most_similar_come_first() {
        let mut pool = Pool::default();
        for (ticket, mean) in [(1, 20.0), (2, 24.0), (3, 25.0), (4, 27.0), (5, 40.0)] {
            pool.insert(Spot::new(NEAR, mean), TicketId(ticket));
        }
        let beacons = [(NEAR, ms(10))];
        let found = |reach, limit| -> Vec<u64> {
            let near = pool.near(&beacons, ms(20), 25.0, reach, limit);
            near.map(|ticket| ticket.0).collect()
        };
        assert_eq!(found(5.0, 10), [3, 2, 4, 1]);
        assert_eq!(found(5.0, 2), [3, 2]);
        assert_eq!(found(0.5, 10), [3]);
        assert_eq!(found(100.0, 10), [3, 2, 4, 1, 5]);
    }

    #[test]
    fn neighbourhoods_that_are_too_far_are_left_out() {
        let mut pool = Pool::default();
        pool.insert(Spot::new(NEAR, 25.0), TicketId(1));
        pool.insert(Spot::new(FAR, 25.0), TicketId(2));
        let beacons = [(NEAR, ms(10)), (FAR, ms(100))];
        let count = |rtt| pool.near(&beacons, rtt, 25.0, 1.0, 10).count();
        assert_eq!((count(ms(4)), count(ms(49)), count(ms(50))), (0, 1, 2));
        pool.remove(Spot::new(FAR, 25.0), TicketId(2));
        assert_eq!(pool.near(&beacons, ms(50), 25.0, 1.0, 10).count(), 1);
    }
}
