//! A program that plays, and may fall asleep.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::{Machine, Transmit};
use samestep_session::{Match, MatchEvent};
use samestep_sync::{
    AdoptError, Chunk, Divergence, Live, Lockstep, Patched, Tick, TickInputs, Tree, World,
};

use super::pasture::Pasture;

/// The game, telling the check value of its state after every tick.
pub(super) struct Told {
    pub(super) live: Live<Pasture>,
    pub(super) states: Vec<(Tick, u64)>,
}

impl Told {
    pub(super) fn new(pasture: Pasture) -> Told {
        Told {
            live: Live::new(pasture),
            states: Vec::new(),
        }
    }
}

impl World for Told {
    fn ticks_per_second(&self) -> u32 {
        self.live.ticks_per_second()
    }

    fn step(&mut self, tick: Tick, inputs: &TickInputs) {
        self.live.step(tick, inputs);
        let checksum = self.live.checksum();
        self.states.push((tick.next(), checksum));
    }

    fn settle(&mut self, tick: Tick, inputs: &TickInputs) {
        self.live.settle(tick, inputs);
    }

    fn save(&mut self, tick: Tick) {
        self.live.save(tick);
    }

    fn release(&mut self, tick: Tick) {
        self.live.release(tick);
    }

    fn load(&mut self, tick: Tick) -> bool {
        self.live.load(tick)
    }

    fn checksum(&mut self) -> u64 {
        self.live.checksum()
    }

    fn checksum_at(&mut self, saved: Tick) -> Option<u64> {
        self.live.checksum_at(saved)
    }

    fn witness(&mut self, tick: Tick, checksum: u64) {
        self.live.witness(tick, checksum);
    }

    fn tree_at(&mut self, saved: Tick) -> Option<Tree> {
        self.live.tree_at(saved)
    }

    fn rows_at(&mut self, saved: Tick, parts: Option<&[Chunk]>) -> Option<Vec<u8>> {
        self.live.rows_at(saved, parts)
    }

    fn patch(&mut self, saved: Tick, rows: &[u8]) -> Result<Patched, AdoptError> {
        self.live.patch(saved, rows)
    }

    fn replaced(&mut self, tick: Tick) {
        self.live.replaced(tick);
    }

    fn checkpoint(&mut self) -> Vec<u8> {
        self.live.checkpoint()
    }

    fn adopt(&mut self, tick: Tick, checkpoint: &[u8]) -> Result<(), AdoptError> {
        self.live.adopt(tick, checkpoint)?;
        let checksum = self.live.checksum();
        self.states.push((tick, checksum));
        Ok(())
    }

    fn bundle(
        &mut self,
        saved: Tick,
        ticks: &[TickInputs],
        divergence: &Divergence,
    ) -> Option<Vec<u8>> {
        self.live.bundle(saved, ticks, divergence)
    }
}

/// A part in the game on a machine that sometimes does nothing for seconds. What arrives waits.
pub(super) struct Shepherding {
    pub(super) game: Match<Told, Lockstep>,
    asleep_until: Duration,
    unread: VecDeque<(SocketAddr, Vec<u8>)>,
}

/// Datagrams an operating system keeps for a program that does not read.
const MAX_UNREAD: usize = 300;

impl Shepherding {
    pub(super) fn new(game: Match<Told, Lockstep>) -> Shepherding {
        Shepherding {
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

impl Machine for Shepherding {
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
