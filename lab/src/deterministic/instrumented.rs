//! An instrumented world: it records every call and behaves like the world it wraps.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use samestep_sync::{
    AdoptError, ChecksumTree, Divergence, EntityId, Live, Patched, PlayerId, RowChunk, Scene,
    SmoothConfig, Tick, TickInputs, World,
};

use super::corrections::{Correction, Corrections, Pictures};
use crate::testmatch::{EventLog, Playable, PlayedWorld};

/// States are not kept of every tick: some that are final are simulated again on the way to one that is not, fewer than this.
const FINAL_AGAIN: u64 = 128;

/// Ticks between two checksums of the state, which are independent of the model's own.
const CHECKSUM_EVERY: u64 = 30;

/// The game of one program, and what it did.
pub struct Instrumented<G: Playable> {
    live: Live<G>,
    /// Steps so far, those made again included: each costs time.
    steps: u64,
    /// The steps that had been made before.
    pub resimulated: u64,
    /// How often the world went back.
    pub rollbacks: u64,
    /// The state is that at this tick.
    tick: Tick,
    /// The farthest it has been: the newest that could be shown.
    pub farthest: Tick,
    /// Inputs executed for the first time since last asked, in order.
    pub executed: Vec<Executed>,
    /// The players whose inputs were executed in ticks that may be resimulated, in the order of the ticks.
    known: VecDeque<(Tick, Vec<PlayerId>)>,
    /// Checksums of states that are final, since last asked.
    pub checksums: Vec<(Tick, u64)>,
    /// The checksums of states that are not final.
    open_checksums: BTreeMap<Tick, u64>,
    /// Bytes of the last state that was taken over from another.
    pub adopted_bytes: u64,
    /// The depth of each rollback since the last call, in ticks.
    pub depths: Vec<u64>,
    /// The records of pictures, if few play.
    seen: Option<(Corrections, Pictures)>,
    /// The events of the game.
    pub events: EventLog<G::Event>,
    /// The positions at each tick, if they are kept.
    pub positions: Option<BTreeMap<Tick, Positions>>,
}

/// Where everything is.
pub type Positions = Vec<(EntityId, (f32, f32))>;

/// A player's input, executed for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Executed {
    /// The player who gave it.
    pub player: PlayerId,
    /// The tick it was executed in.
    pub tick: Tick,
    /// How many ticks had been simulated without it, this one among them.
    pub late: u64,
    /// The hash of the input.
    pub sum: u64,
}

/// Tells inputs apart (FNV-1a).
pub fn sum_of(input: &[u8]) -> u64 {
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    input.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

impl<G: Playable> Instrumented<G> {
    pub fn new(live: Live<G>) -> Instrumented<G> {
        Instrumented {
            live,
            steps: 0,
            resimulated: 0,
            rollbacks: 0,
            tick: Tick(0),
            farthest: Tick(0),
            executed: Vec::new(),
            known: VecDeque::new(),
            checksums: Vec::new(),
            open_checksums: BTreeMap::new(),
            adopted_bytes: 0,
            depths: Vec::new(),
            seen: None,
            events: EventLog::default(),
            positions: None,
        }
    }

    /// The game, to be changed behind the rules' back.
    pub fn state_mut(&mut self) -> &mut G {
        self.live.state_mut()
    }

    /// Draws what there is to see from here on, and takes note of it.
    pub fn draw_pictures(&mut self) {
        self.live.smooth(SmoothConfig::default());
        self.seen = Some(Default::default());
    }

    /// Draws a picture; returns the largest movement of any entity since the last one.
    pub fn draw(&mut self, now: Duration) -> Option<f32> {
        let (_, pictures) = self.seen.as_mut()?;
        Some(pictures.draw(now, &mut self.live))
    }

    /// The correction of the view since the last call, if there was one.
    pub fn take_correction(&mut self) -> Option<Correction> {
        self.seen.as_mut()?.0.take(self.tick)
    }

    /// Takes the game's events.
    pub fn poll_events(&mut self) {
        while let Some(occurrence) = self.live.poll_event() {
            self.events.push(occurrence);
        }
    }

    fn note_inputs(&mut self, tick: Tick, inputs: &TickInputs) {
        if inputs.entries().next().is_none() {
            return;
        }
        let at = self.known.partition_point(|(of, _)| *of < tick);
        if self.known.get(at).is_none_or(|(of, _)| *of > tick) {
            self.known.insert(at, (tick, Vec::new()));
        }
        let players = &mut self.known[at].1;
        let (late, before) = (self.farthest.since(tick), players.len());
        for (player, input) in inputs.entries() {
            if !players[..before].contains(&player) {
                players.push(player);
                self.executed.push(Executed {
                    player,
                    tick,
                    late,
                    sum: sum_of(input),
                });
            }
        }
    }

    /// Everything before this tick is final.
    fn note_final(&mut self, tick: Tick) {
        let is_over = |(of, _): &(Tick, Vec<PlayerId>)| *of + FINAL_AGAIN < tick;
        while self.known.front().is_some_and(is_over) {
            self.known.pop_front();
        }
        while let Some(open) = self
            .open_checksums
            .first_entry()
            .filter(|open| *open.key() <= tick)
        {
            self.checksums.push(open.remove_entry());
        }
    }
}

impl<G: Playable> PlayedWorld for Instrumented<G> {
    type Game = G;

    fn state(&self) -> &G {
        self.live.state()
    }

    fn steps(&self) -> u64 {
        self.steps
    }
}

impl<G: Playable> World for Instrumented<G> {
    fn ticks_per_second(&self) -> u32 {
        self.live.ticks_per_second()
    }

    fn step(&mut self, tick: Tick, inputs: &TickInputs) {
        World::step(&mut self.live, tick, inputs);
        self.note_inputs(tick, inputs);
        self.steps += 1;
        self.tick = tick.next();
        self.resimulated += u64::from(self.tick <= self.farthest);
        self.farthest = self.farthest.max(self.tick);
        if self.tick.0.is_multiple_of(CHECKSUM_EVERY) {
            let sum = World::checksum(&mut self.live);
            self.open_checksums.insert(self.tick, sum);
        }
        if let Some((corrections, _)) = &mut self.seen {
            corrections.on_step(self.tick, self.live.state());
        }
        if let Some(kept) = &mut self.positions {
            let at = kept.entry(self.tick).or_default();
            at.clear();
            self.live.state().positions(at);
        }
    }

    fn confirm(&mut self, tick: Tick, inputs: &TickInputs) {
        self.live.confirm(tick, inputs);
        self.note_final(tick.next());
    }

    fn save(&mut self, tick: Tick) {
        self.live.save(tick);
    }

    fn release(&mut self, tick: Tick) {
        self.live.release(tick);
    }

    fn load(&mut self, tick: Tick) -> bool {
        if let Some((corrections, _)) = &mut self.seen {
            corrections.on_back(self.tick, self.live.state());
        }
        let loaded = self.live.load(tick);
        if loaded {
            self.rollbacks += 1;
            self.depths.push(self.tick.since(tick));
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

    fn record_checksum(&mut self, tick: Tick, checksum: u64) {
        self.live.record_checksum(tick, checksum);
    }

    fn replaced(&mut self, tick: Tick) {
        self.live.replaced(tick);
    }

    fn checksum_tree_at(&mut self, saved: Tick) -> Option<ChecksumTree> {
        self.live.checksum_tree_at(saved)
    }

    fn rows_at(&mut self, saved: Tick, parts: Option<&[RowChunk]>) -> Option<Vec<u8>> {
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
        self.open_checksums.clear();
        Ok(())
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
        self.live.with_loopback(run);
    }

    fn end_loopback(&mut self) {
        self.live.end_loopback();
    }

    fn scene(&mut self) -> &mut dyn Scene {
        self.live.scene()
    }
}
