//! A program that plays, and may be suspended.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::{Machine, Transmit};
use samestep_session::{Match, MatchEvent};
use samestep_sync::{Model, World};

/// A match on a machine that sometimes does nothing for seconds. Datagrams wait in its socket meanwhile.
pub struct Pausable<W, M> {
    /// The match.
    pub game: Match<W, M>,
    paused_until: Duration,
    unread: VecDeque<(SocketAddr, Vec<u8>)>,
}

/// Datagrams an operating system keeps for a program that does not read.
const MAX_UNREAD: usize = 300;

impl<W: World, M: Model> Pausable<W, M> {
    /// Runs until it is paused.
    pub fn new(game: Match<W, M>) -> Self {
        Pausable {
            game,
            paused_until: Duration::ZERO,
            unread: VecDeque::new(),
        }
    }

    /// Does nothing before its own clock shows `until`.
    pub fn pause_until(&mut self, until: Duration) {
        self.paused_until = until;
    }

    /// Whether it does nothing at this time of its own clock.
    pub fn is_paused(&self, now: Duration) -> bool {
        now < self.paused_until
    }
}

impl<W: World, M: Model> Machine for Pausable<W, M> {
    type Event = MatchEvent;

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        if !self.is_paused(now) {
            self.game.handle_datagram(now, from, datagram);
        } else if self.unread.len() < MAX_UNREAD {
            self.unread.push_back((from, datagram.to_vec()));
        }
    }

    fn handle_timeout(&mut self, now: Duration) {
        if self.is_paused(now) {
            return;
        }
        for (from, mut datagram) in core::mem::take(&mut self.unread) {
            self.game.handle_datagram(now, from, &mut datagram);
        }
        self.game.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        match self.is_paused(now) {
            true => None,
            false => self.game.poll_transmit(now, buf),
        }
    }

    fn poll_timeout(&mut self) -> Option<Duration> {
        let due = self.game.poll_timeout()?;
        Some(due.max(self.paused_until))
    }

    fn poll_event(&mut self) -> Option<MatchEvent> {
        self.game.poll_event()
    }

    fn max_packet(&self) -> usize {
        self.game.max_packet()
    }
}
