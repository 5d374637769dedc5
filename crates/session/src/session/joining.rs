//! The way into a room, for the first time and back after a loss: which doors are tried, who was asked, and since when.

use core::time::Duration;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use samestep_proto::ConnectionId;

use crate::control::Prove;

/// Ways in that are tried at the same time; the first that answers is taken.
const AT_ONCE: usize = 3;
/// Addresses of a room that a newcomer is told of, and that it remembers.
pub(super) const MAX_DOORS: usize = 64;
/// Time between attempts to come back.
pub(super) const RETRY_EVERY: Duration = Duration::from_secs(1);

/// Where a program that joins, or comes back, stands.
#[derive(Debug, Default)]
pub(super) struct Joining {
    /// When this program sent its first and its last hello, as long as there is no answer.
    pub(super) hello_sent: Option<(Duration, Duration)>,
    pub(super) hello_to: Option<ConnectionId>,
    /// The connection that this incarnation was announced on.
    pub(super) announced_on: Option<ConnectionId>,
    /// What the member that is asked wants to have proven before it lets this program in, on its connection.
    pub(super) to_prove: Option<(ConnectionId, Prove)>,
    /// Where attempts to join are directed.
    pub(super) homes: BTreeMap<ConnectionId, SocketAddr>,
    /// Until when a lost connection is tried again, and when next.
    pub(super) retry: Option<Retry>,
    /// Other addresses at which the room may be found.
    doors: Vec<SocketAddr>,
    /// A guest's host does not answer.
    pub(super) host_silent: bool,
}

/// A lost connection to the room.
#[derive(Clone, Debug)]
pub(super) struct Retry {
    pub(super) until: Duration,
    pub(super) next: Duration,
    /// Which of the known addresses is tried next.
    pub(super) turn: usize,
    pub(super) why: String,
}

impl Joining {
    /// Remembers addresses at which the room may be found, as far as there is room for them.
    pub(super) fn remember_doors(&mut self, doors: impl IntoIterator<Item = SocketAddr>) {
        for door in doors {
            if !self.doors.contains(&door) && self.doors.len() < MAX_DOORS {
                self.doors.push(door);
            }
        }
    }

    /// Addresses at which the room may be found, beside those of its members.
    pub(super) fn doors(&self) -> &[SocketAddr] {
        &self.doors
    }

    /// Which of these ways is tried next, if one more may be. Never two to the same place: the second would replace the first.
    pub(super) fn next_way(&self, turn: usize, ways: &[SocketAddr]) -> Option<SocketAddr> {
        if self.homes.len() >= AT_ONCE || self.hello_sent.is_some() {
            return None;
        }
        (0..ways.len())
            .map(|n| ways[(turn + n) % ways.len()])
            .find(|way| !self.homes.values().any(|home| home == way))
    }

    /// Begins to look for a way back.
    pub(super) fn retry(&mut self, until: Duration, next: Duration, turn: usize, why: &str) {
        let why = why.to_owned();
        self.retry = Some(Retry {
            until,
            next,
            turn,
            why,
        });
    }

    /// The time of an attempt: the next one is due later, and goes elsewhere if this one was made. Turns do not pass while one door is being asked: as many
    /// as there are doors would lead to the same one again.
    pub(super) fn on_turn(&mut self, now: Duration, tried: bool) {
        if let Some(retry) = &mut self.retry {
            retry.next = now + RETRY_EVERY;
            retry.turn += usize::from(tried);
        }
    }

    /// Whether this program comes back, and its time for that is not over.
    pub(super) fn may_go_on(&self, now: Duration) -> bool {
        self.retry.as_ref().is_some_and(|retry| now < retry.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(count: u16) -> Vec<SocketAddr> {
        let address = |port| SocketAddr::from(([10, 0, 0, 1], port));
        (1..=count).map(address).collect()
    }

    #[test]
    fn ways_are_tried_in_turn_and_none_twice_at_a_time() {
        let ways = addresses(3);
        let config = samestep_proto::Config::new("test", 1);
        let mut endpoint = samestep_proto::Endpoint::new(config, [0; 32]).unwrap();
        let mut joining = Joining::default();
        for turn in 0..3 {
            let way = joining.next_way(2 * turn, &ways).unwrap();
            let id = endpoint.connect(Duration::ZERO, way, Default::default());
            assert!(joining.homes.insert(id.unwrap(), way).is_none());
        }
        let tried: Vec<SocketAddr> = joining.homes.values().copied().collect();
        assert_eq!(tried, [ways[0], ways[2], ways[1]]);
        assert_eq!(joining.next_way(0, &addresses(9)), None, "three at a time");
        joining.homes.clear();
        joining.hello_sent = Some((Duration::ZERO, Duration::ZERO));
        assert_eq!(joining.next_way(0, &ways), None, "one has answered");
        assert_eq!(Joining::default().next_way(5, &[]), None);
    }

    #[test]
    fn the_door_after_one_that_was_asked_in_vain_is_the_next() {
        let ways = addresses(3);
        let mut joining = Joining::default();
        joining.retry(Duration::from_secs(60), Duration::ZERO, 0, "lost");
        let mut asked = Vec::new();
        for second in 0..18 {
            let turn = joining.retry.as_ref().unwrap().turn;
            // Each door is asked for six seconds.
            joining.hello_sent = (second % 6 != 0).then_some((Duration::ZERO, Duration::ZERO));
            let way = joining.next_way(turn, &ways);
            joining.on_turn(Duration::from_secs(second), way.is_some());
            asked.extend(way);
        }
        assert_eq!(asked, ways);
    }

    #[test]
    fn doors_are_remembered_once_and_not_without_end() {
        let mut joining = Joining::default();
        joining.remember_doors(addresses(40));
        joining.remember_doors(addresses(200));
        assert_eq!(joining.doors(), addresses(64));
    }
}
