//! A world whose calls are timed: what the rules cost, and what it costs to simulate again.

use std::collections::VecDeque;
use std::time::Duration;

use samestep_sync::{
    AdoptError, ChecksumTree, Divergence, Live, Patched, RowChunk, Scene, SmoothConfig, Tick,
    TickInputs, World, WorldLayout,
};

use crate::testmatch::{Playable, PlayedWorld, processor_time};

/// When an authority simulates ticks again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scheme {
    /// From the first tick that a late input has changed, and not at all if there is none.
    Changed,
    /// The whole window in every tick, from its oldest state.
    WholeWindow,
}

/// The game of one program, and the processor time of its calls.
pub(super) struct Timed<G: Playable> {
    live: Live<G>,
    scheme: Scheme,
    /// The first tick that was not simulated yet.
    farthest: Tick,
    /// The open ticks and their inputs, where the whole window is simulated again.
    open: VecDeque<(Tick, TickInputs)>,
    spent: Spent,
}

/// The processor time of a world's calls so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Spent {
    /// Steps of ticks that were not simulated before, and all that the loopback client does, which shows them to the players here.
    pub logic: Duration,
    /// Keeping states, going back to them, and steps of ticks that were simulated before.
    pub recomputing: Duration,
    /// What is no part of the scheme that is measured.
    pub beside: Duration,
}

impl<G: Playable> Timed<G> {
    pub fn new(game: G, scheme: Scheme) -> Timed<G> {
        let mut live = Live::without_recording(game);
        live.smooth(SmoothConfig::default());
        Timed {
            live,
            scheme,
            farthest: Tick(0),
            open: VecDeque::new(),
            spent: Spent::default(),
        }
    }

    /// The processor time so far.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// The state to draw, unless the model has drawn one.
    pub fn shown(&mut self, now: Duration) -> &G {
        self.live.shown(now)
    }

    /// Takes the game's events, which nobody looks at here.
    pub fn drop_events(&mut self) {
        while self.live.poll_event().is_some() {}
    }

    /// What keeping states and simulating again by the model's own scheme counts for.
    fn own_scheme(&mut self) -> &mut Duration {
        match self.scheme {
            Scheme::Changed => &mut self.spent.recomputing,
            Scheme::WholeWindow => &mut self.spent.beside,
        }
    }

    /// Simulates all open ticks again, from the oldest state.
    fn recompute_window(&mut self) {
        let begin = processor_time();
        if let Some((first, _)) = self.open.front()
            && self.live.load(*first)
        {
            for (tick, inputs) in &self.open {
                World::step(&mut self.live, *tick, inputs);
            }
        }
        self.spent.recomputing += since(begin);
    }

    /// Remembers the inputs of an open tick.
    fn remember(&mut self, tick: Tick, inputs: &TickInputs) {
        let begin = processor_time();
        match self.open.iter_mut().find(|(of, _)| *of == tick) {
            Some((_, known)) => known.clone_from(inputs),
            None => self.open.push_back((tick, inputs.clone())),
        }
        self.spent.beside += since(begin);
    }
}

fn since(begin: Duration) -> Duration {
    processor_time().saturating_sub(begin)
}

impl<G: Playable> PlayedWorld for Timed<G> {
    type Game = G;

    fn state(&self) -> &G {
        self.live.state()
    }
}

impl<G: Playable> World for Timed<G> {
    fn ticks_per_second(&self) -> u32 {
        self.live.ticks_per_second()
    }

    fn layout(&self) -> WorldLayout {
        self.live.layout()
    }

    fn step(&mut self, tick: Tick, inputs: &TickInputs) {
        let is_again = tick < self.farthest;
        self.farthest = self.farthest.max(tick.next());
        if self.scheme == Scheme::WholeWindow {
            if !is_again {
                self.recompute_window();
            }
            self.remember(tick, inputs);
        }
        let begin = processor_time();
        World::step(&mut self.live, tick, inputs);
        let took = since(begin);
        match is_again {
            true => *self.own_scheme() += took,
            false => self.spent.logic += took,
        }
    }

    fn confirm(&mut self, tick: Tick, inputs: &TickInputs) {
        self.live.confirm(tick, inputs);
    }

    fn save(&mut self, tick: Tick) {
        let begin = processor_time();
        self.live.save(tick);
        *self.own_scheme() += since(begin);
    }

    fn release(&mut self, tick: Tick) {
        while self.open.front().is_some_and(|(of, _)| *of <= tick) {
            self.open.pop_front();
        }
        self.live.release(tick);
    }

    fn load(&mut self, tick: Tick) -> bool {
        let begin = processor_time();
        let loaded = self.live.load(tick);
        *self.own_scheme() += since(begin);
        loaded
    }

    fn checksum(&mut self) -> u64 {
        World::checksum(&mut self.live)
    }

    fn checksum_at(&mut self, saved: Tick) -> Option<u64> {
        self.live.checksum_at(saved)
    }

    fn record_checksum(&mut self, tick: Tick, checksum: u64) {
        self.live.record_checksum(tick, checksum);
    }

    fn checksum_tree_at(&mut self, saved: Tick) -> Option<ChecksumTree> {
        self.live.checksum_tree_at(saved)
    }

    fn rows_at(&mut self, saved: Tick, parts: Option<&[RowChunk]>) -> Option<Vec<u8>> {
        self.live.rows_at(saved, parts)
    }

    fn patch(&mut self, saved: Tick, rows: &[u8]) -> Result<Patched, AdoptError> {
        self.live.patch(saved, rows)
    }

    fn checkpoint(&mut self) -> Vec<u8> {
        World::checkpoint(&mut self.live)
    }

    fn adopt(&mut self, tick: Tick, checkpoint: &[u8]) -> Result<(), AdoptError> {
        World::adopt(&mut self.live, tick, checkpoint)
    }

    fn replaced(&mut self, tick: Tick) {
        self.live.replaced(tick);
    }

    fn desync_bundle(
        &mut self,
        saved: Tick,
        ticks: &[TickInputs],
        divergence: &Divergence,
    ) -> Option<Vec<u8>> {
        self.live.desync_bundle(saved, ticks, divergence)
    }

    fn begin_loopback(&mut self, since: Tick) -> bool {
        self.live.begin_loopback(since)
    }

    fn with_loopback(&mut self, run: &mut dyn FnMut(&mut dyn World)) {
        let begin = processor_time();
        self.live.with_loopback(run);
        self.spent.logic += since(begin);
    }

    fn end_loopback(&mut self) {
        self.live.end_loopback();
    }

    fn scene(&mut self) -> &mut dyn Scene {
        self.live.scene()
    }
}
