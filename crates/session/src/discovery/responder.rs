use core::time::Duration;
use std::collections::VecDeque;
use std::net::SocketAddr;

use super::{Announcement, AnnouncementError, Answer, DatagramError, Nonce, Query, ResponderId};

/// Answers those who look for rooms.
///
/// A query that arrives over several paths (broadcast and multicast) is answered once, and there are at most
/// [`ANSWERS_PER_S`](Responder::ANSWERS_PER_S) answers a second, whoever asks.
#[derive(Debug)]
pub struct Responder {
    answer: Answer,
    /// The last queries answered.
    answered: VecDeque<(SocketAddr, Nonce)>,
    /// The tokens of the rate limit (a token bucket): answers that may be sent now.
    allowance: f64,
    refilled_at: Duration,
    stats: ResponderStats,
}

impl Responder {
    /// The maximum number of answers a second: enough for twenty finders at the default rate.
    pub const ANSWERS_PER_S: u32 = 40;

    /// The number of queries remembered so that copies are not answered again: more than arrive while a copy may be in flight.
    const REMEMBERED: usize = 32;

    /// Answers for one room. Choose `id` at random.
    pub fn new(id: ResponderId, announcement: Announcement) -> Result<Self, AnnouncementError> {
        announcement.check()?;
        Ok(Self {
            answer: Answer {
                responder: id,
                announcement,
            },
            answered: VecDeque::new(),
            allowance: f64::from(Self::ANSWERS_PER_S),
            refilled_at: Duration::ZERO,
            stats: ResponderStats::default(),
        })
    }

    /// Changes the announcement, for example because a player joined or left.
    pub fn set_announcement(
        &mut self,
        announcement: Announcement,
    ) -> Result<(), AnnouncementError> {
        announcement.check()?;
        self.answer.announcement = announcement;
        Ok(())
    }

    /// The announcement.
    pub fn announcement(&self) -> &Announcement {
        &self.answer.announcement
    }

    /// Handles a datagram that arrived. If it is to be answered, fills the beginning of `buf`, which holds at least
    /// [`MAX_ANSWER_BYTES`](super::MAX_ANSWER_BYTES), and returns how many bytes go back to `from`.
    pub fn handle_query(
        &mut self,
        now: Duration,
        from: SocketAddr,
        datagram: &[u8],
        buf: &mut [u8],
    ) -> Option<usize> {
        let (nonce, query) = match Query::decode_datagram(datagram) {
            Ok(query) => query,
            Err(DatagramError::Malformed) => {
                self.stats.malformed += 1;
                return None;
            }
            Err(DatagramError::Version(_)) => {
                self.stats.other_version += 1;
                return None;
            }
        };
        if !query.game.is_empty() && query.game != self.answer.announcement.game {
            self.stats.other_game += 1;
            return None;
        }
        if self.answered.contains(&(from, nonce)) {
            self.stats.repeated += 1;
            return None;
        }
        if !self.take_allowance(now) {
            self.stats.limited += 1;
            return None;
        }
        let len = self.answer.encode_datagram(nonce, buf)?;
        if self.answered.len() == Self::REMEMBERED {
            self.answered.pop_front();
        }
        self.answered.push_back((from, nonce));
        self.stats.answered += 1;
        Some(len)
    }

    fn take_allowance(&mut self, now: Duration) -> bool {
        let per_s = f64::from(Self::ANSWERS_PER_S);
        let passed = now.saturating_sub(self.refilled_at);
        self.refilled_at = self.refilled_at.max(now);
        self.allowance = (self.allowance + passed.as_secs_f64() * per_s).min(per_s);
        let allowed = self.allowance >= 1.0;
        if allowed {
            self.allowance -= 1.0;
        }
        allowed
    }

    /// The counters so far.
    pub fn stats(&self) -> ResponderStats {
        self.stats
    }
}

/// Counters of a [`Responder`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResponderStats {
    /// Queries answered.
    pub answered: u64,
    /// Copies of queries answered before.
    pub repeated: u64,
    /// Queries not answered because there were too many.
    pub limited: u64,
    /// Queries for other games.
    pub other_game: u64,
    /// Queries of another version of this exchange.
    pub other_version: u64,
    /// Datagrams that are no queries.
    pub malformed: u64,
}
