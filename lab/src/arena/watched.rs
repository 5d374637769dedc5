//! A world that is watched: what it does is written down, and nothing else changes.

use samestep_evaluation::Evaluation;
use samestep_sync::{
    AdoptError, Chunk, Divergence, Live, Patched, PlayerId, Tick, TickInputs, Tree, World,
};

/// Ticks between two looks at the state: independent of the model's own checks.
const LOOK_EVERY: u64 = 30;

/// The evaluation game of one program, and what it did.
pub struct Watched {
    live: Live<Evaluation>,
    /// Steps so far, those made again included: each costs time.
    pub steps: u64,
    /// The state is that at this tick.
    pub tick: Tick,
    /// The farthest it has been, so that what is simulated again is not counted twice.
    farthest: Tick,
    /// Players whose inputs were executed since last asked, in order.
    pub executed: Vec<PlayerId>,
    /// Check values since last asked.
    pub looks: Vec<(Tick, u64)>,
    /// Bytes of the last state that was taken over from another.
    pub adopted_bytes: u64,
}

impl Watched {
    pub fn new(live: Live<Evaluation>) -> Watched {
        Watched {
            live,
            steps: 0,
            tick: Tick(0),
            farthest: Tick(0),
            executed: Vec::new(),
            looks: Vec::new(),
            adopted_bytes: 0,
        }
    }

    /// The game.
    pub fn state(&self) -> &Evaluation {
        self.live.state()
    }

    /// The game, to be changed behind the rules' back.
    pub fn state_mut(&mut self) -> &mut Evaluation {
        self.live.state_mut()
    }
}

impl World for Watched {
    fn ticks_per_second(&self) -> u32 {
        self.live.ticks_per_second()
    }

    fn step(&mut self, tick: Tick, inputs: &TickInputs) {
        World::step(&mut self.live, tick, inputs);
        self.steps += 1;
        self.tick = tick.next();
        if self.tick <= self.farthest {
            return;
        }
        self.farthest = self.tick;
        self.executed
            .extend(inputs.entries().map(|(player, _)| player));
        if self.tick.0.is_multiple_of(LOOK_EVERY) {
            self.looks
                .push((self.tick, World::checksum(&mut self.live)));
        }
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
        let loaded = self.live.load(tick);
        if loaded {
            self.tick = tick;
        }
        loaded
    }

    fn checksum(&mut self) -> u64 {
        World::checksum(&mut self.live)
    }

    fn checksum_at(&mut self, saved: Tick) -> Option<u64> {
        self.live.checksum_at(saved)
    }

    fn witness(&mut self, tick: Tick, checksum: u64) {
        self.live.witness(tick, checksum);
    }

    fn replaced(&mut self, tick: Tick) {
        self.live.replaced(tick);
    }

    fn tree_at(&mut self, saved: Tick) -> Option<Tree> {
        self.live.tree_at(saved)
    }

    fn rows_at(&mut self, saved: Tick, parts: Option<&[Chunk]>) -> Option<Vec<u8>> {
        self.live.rows_at(saved, parts)
    }

    fn patch(&mut self, saved: Tick, rows: &[u8]) -> Result<Patched, AdoptError> {
        let patched = self.live.patch(saved, rows)?;
        self.tick = saved;
        Ok(patched)
    }

    fn checkpoint(&mut self) -> Vec<u8> {
        World::checkpoint(&mut self.live)
    }

    fn adopt(&mut self, tick: Tick, checkpoint: &[u8]) -> Result<(), AdoptError> {
        World::adopt(&mut self.live, tick, checkpoint)?;
        self.adopted_bytes = checkpoint.len() as u64;
        self.tick = tick;
        self.farthest = self.farthest.max(tick);
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
