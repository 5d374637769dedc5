//! Path migration: a packet from another address is followed only once that path is validated, by challenge and response as
//! in QUIC (RFC 9000, section 8.2).

use core::time::Duration;
use std::net::SocketAddr;

use tracing::{debug, info};

use crate::connection::Connection;
use crate::rng::Random;
use crate::rtt::Rtt;

/// Challenges sent to a new address before giving up.
const TRIES: u8 = 6;
/// Time between challenges is a round trip, but at least this.
const SPACING: Duration = Duration::from_millis(50);
/// An address that did not answer is challenged again after this long.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Candidate {
    address: SocketAddr,
    value: u64,
    tries: u8,
    next_at: Duration,
}

/// Challenges under way and answers due.
#[derive(Debug, Default)]
pub(super) struct PathCheck {
    candidate: Option<Candidate>,
    answer: Option<(SocketAddr, u64)>,
}

impl PathCheck {
    /// An authentic, newest packet came from elsewhere.
    pub(super) fn on_packet_from(
        &mut self,
        now: Duration,
        address: SocketAddr,
        random: &mut Random,
    ) {
        match &mut self.candidate {
            // The value stays: an answer to any of the challenges will do.
            Some(candidate) if candidate.address == address => {
                if candidate.tries == 0 && now >= candidate.next_at + PAUSE {
                    candidate.tries = TRIES;
                    candidate.next_at = now;
                }
            }
            _ => {
                debug!(%address, "packet from a new address, path challenged");
                self.candidate = Some(Candidate {
                    address,
                    value: random.next_u64(),
                    tries: TRIES,
                    next_at: now,
                });
            }
        }
    }

    /// The other end wants to know whether packets reach us.
    pub(super) fn on_challenge(&mut self, from: SocketAddr, value: u64) {
        self.answer = Some((from, value));
    }

    /// A challenge or answer to send: address, value, whether it is an answer. `spacing`: the round trip.
    pub(super) fn poll(
        &mut self,
        now: Duration,
        spacing: Duration,
    ) -> Option<(SocketAddr, u64, bool)> {
        if let Some((to, value)) = self.answer.take() {
            return Some((to, value, true));
        }
        let candidate = self
            .candidate
            .as_mut()
            .filter(|c| c.tries > 0 && c.next_at <= now)?;
        candidate.tries -= 1;
        candidate.next_at = now + spacing.max(SPACING);
        Some((candidate.address, candidate.value, false))
    }

    /// When a challenge is due.
    pub(super) fn next_at(&self) -> Option<Duration> {
        if self.answer.is_some() {
            return Some(Duration::ZERO);
        }
        self.candidate
            .as_ref()
            .filter(|c| c.tries > 0)
            .map(|c| c.next_at)
    }
}

impl Connection {
    pub(super) fn on_path_response(&mut self, now: Duration, from: SocketAddr, value: u64) {
        let Some(candidate) = &self.path.candidate else {
            return;
        };
        if candidate.value != value || candidate.address != from {
            return;
        }
        self.path.candidate = None;
        info!(from = %self.peer, to = %from, "path changed");
        self.peer = from;
        self.moved = true;
        self.rtt = Rtt::new();
        self.congestion.on_path_change(now);
    }
}
