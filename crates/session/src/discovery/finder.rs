use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use crate::config::JoinTo;

use super::{
    Announcement, AnnouncementError, Answer, DatagramError, Nonce, Query, ResponderId, check_name,
};

/// Looks for rooms in the local network and keeps the list of them.
#[derive(Debug)]
pub struct Finder {
    config: FinderConfig,
    /// The state of the generator of nonces.
    random: u64,
    next_query: Option<Duration>,
    /// The last queries; answers to others are ignored.
    asked: VecDeque<(Nonce, Duration)>,
    rooms: BTreeMap<ResponderId, Found>,
    stats: FinderStats,
}

/// Settings of a [`Finder`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FinderConfig {
    /// Which game; empty for any. Default empty.
    pub game: String,
    /// Time between two queries. Default 500 ms.
    pub every: Duration,
    /// The time after which a room that does not answer is removed; several queries may get lost. Default 3 s.
    pub forget_after: Duration,
    /// The maximum number of rooms in the list. Default 256.
    pub rooms: usize,
    /// The maximum number of rooms of one machine, so that a hostile machine cannot fill the list. Default 32.
    pub rooms_per_machine: usize,
}

impl Default for FinderConfig {
    fn default() -> Self {
        Self {
            game: String::new(),
            every: Duration::from_millis(500),
            forget_after: Duration::from_secs(3),
            rooms: 256,
            rooms_per_machine: 32,
        }
    }
}

impl FinderConfig {
    /// Looks for rooms of one game only.
    pub fn for_game(game: &str) -> Self {
        Self {
            game: game.into(),
            ..Self::default()
        }
    }
}

/// A room that answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Where to join.
    pub address: SocketAddr,
    /// What it says about itself.
    pub announcement: Announcement,
    /// The shortest round trip seen.
    pub round_trip: Duration,
    /// When it answered last.
    pub heard_at: Duration,
}

impl Found {
    /// Where to join, insisting on the key of the answer.
    pub fn join(&self) -> JoinTo {
        JoinTo {
            server_key: Some(self.announcement.key),
            ..JoinTo::new(self.address)
        }
    }

    /// The same as people write it: `host:port#key`.
    pub fn whole_address(&self) -> String {
        format!("{}#{}", self.address, self.announcement.key)
    }
}

impl Finder {
    /// The number of queries whose answers are still accepted.
    const ASKED: usize = 8;

    /// Creates a finder; it looks from the first [`poll_query`](Finder::poll_query) on. Choose `seed` at random.
    pub fn new(config: FinderConfig, seed: u64) -> Result<Self, AnnouncementError> {
        check_name(&config.game)?;
        Ok(Self {
            config,
            random: seed,
            next_query: None,
            asked: VecDeque::new(),
            rooms: BTreeMap::new(),
            stats: FinderStats::default(),
        })
    }

    /// Fills the beginning of `buf`, which holds at least [`QUERY_BYTES`](super::QUERY_BYTES), with a query for everyone in the
    /// network if it is time for one.
    pub fn poll_query(&mut self, now: Duration, buf: &mut [u8]) -> Option<usize> {
        if self.next_query.is_some_and(|at| now < at) {
            return None;
        }
        self.next_query = Some(now + self.config.every);
        let nonce = self.next_nonce();
        let query = Query {
            game: self.config.game.clone(),
        };
        let len = query.encode_datagram(nonce, buf)?;
        if self.asked.len() == Self::ASKED {
            self.asked.pop_front();
        }
        self.asked.push_back((nonce, now));
        Some(len)
    }

    /// Handles a datagram that arrived. Returns whether the list has changed (round trips aside).
    pub fn handle_answer(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) -> bool {
        let (nonce, answer) = match Answer::decode_datagram(datagram) {
            Ok(answer) => answer,
            Err(DatagramError::Malformed) => {
                self.stats.malformed += 1;
                return false;
            }
            Err(DatagramError::Version(_)) => {
                self.stats.other_version += 1;
                return false;
            }
        };
        let asked = self.asked.iter().find(|(asked, _)| *asked == nonce);
        let Some(round_trip) = asked.map(|(_, at)| now.saturating_sub(*at)) else {
            self.stats.unasked += 1;
            return false;
        };
        let address = SocketAddr::new(from.ip(), answer.announcement.port);
        let found = Found {
            address,
            announcement: answer.announcement,
            round_trip,
            heard_at: now,
        };
        let Some(known) = self.rooms.get_mut(&answer.responder) else {
            return self.take_up(answer.responder, found);
        };
        let silent = now.saturating_sub(known.heard_at) > self.config.every * 2;
        let better = known.address.ip().is_loopback() && !address.ip().is_loopback();
        if known.address == address {
            let changed = known.announcement != found.announcement;
            let round_trip = known.round_trip.min(round_trip);
            *known = Found {
                round_trip,
                ..found
            };
            changed
        } else if silent || better {
            // Another address of the same room replaces the old one if that no longer answers or is a loopback address.
            *known = found;
            true
        } else {
            false
        }
    }

    fn take_up(&mut self, responder: ResponderId, found: Found) -> bool {
        let ip = found.address.ip();
        let neighbours = self.rooms.values().filter(|room| room.address.ip() == ip);
        if self.rooms.len() >= self.config.rooms
            || neighbours.count() >= self.config.rooms_per_machine
        {
            self.stats.no_room += 1;
            return false;
        }
        self.rooms.insert(responder, found);
        true
    }

    /// Removes the rooms that have not answered for long. Returns whether there were any.
    pub fn handle_timeout(&mut self, now: Duration) -> bool {
        let before = self.rooms.len();
        let limit = self.config.forget_after;
        self.rooms
            .retain(|_, room| now.saturating_sub(room.heard_at) < limit);
        self.rooms.len() < before
    }

    /// When [`poll_query`](Finder::poll_query) or [`handle_timeout`](Finder::handle_timeout) wants to be called next.
    pub fn poll_timeout(&self) -> Duration {
        let stale = self
            .rooms
            .values()
            .map(|room| room.heard_at + self.config.forget_after);
        stale.fold(self.next_query.unwrap_or_default(), Duration::min)
    }

    /// The rooms, in an order that does not change with time.
    pub fn rooms(&self) -> impl Iterator<Item = &Found> {
        self.rooms.values()
    }

    /// The counters so far.
    pub fn stats(&self) -> FinderStats {
        self.stats
    }

    /// SplitMix64. Everyone in the network sees the nonces anyway; they only have to differ between seekers.
    fn next_nonce(&mut self) -> Nonce {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Nonce(z ^ (z >> 31))
    }
}

/// Counters of a [`Finder`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FinderStats {
    /// Answers to no query, or too late.
    pub unasked: u64,
    /// Rooms that did not fit the list.
    pub no_room: u64,
    /// Answers of another version of this exchange: one of the programs needs an update.
    pub other_version: u64,
    /// Datagrams that are no answers.
    pub malformed: u64,
}
