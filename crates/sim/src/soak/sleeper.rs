//! A program that plays, and may fall asleep.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::{Machine, Transmit};
use samestep_session::{Match, MatchEvent};
use samestep_sync::{Model, World};

/// A part in the game on a machine that sometimes does nothing for seconds. What arrives waits.
pub(super) struct Sleeper<W, M> {
    pub(super) game: Match<W, M>,
    asleep_until: Duration,
    unread: VecDeque<(SocketAddr, Vec<u8>)>,
}

/// Datagrams an operating system keeps for a program that does not read.
const MAX_UNREAD: usize = 300;

impl<W: World, M: Model> Sleeper<W, M> {
    pub(super) fn new(game: Match<W, M>) -> Self {
        Sleeper {
            game,
            asleep_until: Duration::ZERO,
            unread: VecDeque::new(),
        }
    }

    pub(super) fn sleep_until(&mut self, until: Duration) {
        self.asleep_until = until;
    }

    pub(super) fn is_asleep(&self, now: Duration) -> bool {
        now < self.asleep_until
    }
}

impl<W: World, M: Model> Machine for Sleeper<W, M> {
    type Event = MatchEvent;

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        if !self.is_asleep(now) {
            self.game.handle_datagram(now, from, datagram);
        } else if self.unread.len() < MAX_UNREAD {
            self.unread.push_back((from, datagram.to_vec()));
        }
    }

    fn handle_timeout(&mut self, now: Duration) {
        if self.is_asleep(now) {
            return;
        }
        for (from, mut datagram) in core::mem::take(&mut self.unread) {
            self.game.handle_datagram(now, from, &mut datagram);
        }
        self.game.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        match self.is_asleep(now) {
            true => None,
            false => self.game.poll_transmit(now, buf),
        }
    }

    fn poll_timeout(&mut self) -> Option<Duration> {
        let due = self.game.poll_timeout()?;
        Some(due.max(self.asleep_until))
    }

    fn poll_event(&mut self) -> Option<MatchEvent> {
        self.game.poll_event()
    }

    fn max_packet(&self) -> usize {
        self.game.max_packet()
    }
}
