//! The game, with a record of what became of every tick.

use std::collections::BTreeMap;

use samestep_sync::{
    AdoptError, ChecksumTree, Divergence, Live, Patched, RowChunk, Scene, Tick, TickInputs,
    TimedEvent, World,
};

use super::test_game::{TestEvent, TestGame};

/// The game, recording the checksum of its state after every tick that is final, and its events.
pub(super) struct RecordedWorld {
    pub(super) live: Live<TestGame>,
    /// Checksums of the states after ticks that are not final.
    simulated: BTreeMap<Tick, u64>,
    /// In this tick the state is changed against the rules, however often it is simulated.
    broken: Option<Tick>,
    records: Vec<WorldRecord>,
}

/// An entry of the record.
pub(super) enum WorldRecord {
    /// The state at a tick is final, and has this checksum.
    Settled(Tick, u64),
    /// The game goes on from a state of another program, with this checksum.
    Adopted(Tick, u64),
    /// The events since the last time.
    Events(Vec<TimedEvent<TestEvent>>),
}

impl RecordedWorld {
    pub(super) fn new(game: TestGame) -> RecordedWorld {
        RecordedWorld {
            live: Live::new(game),
            simulated: BTreeMap::new(),
            broken: None,
            records: Vec::new(),
        }
    }

    /// The entries since this was asked last.
    pub(super) fn take_records(&mut self) -> Vec<WorldRecord> {
        self.record_events();
        core::mem::take(&mut self.records)
    }

    /// Changes the state against the rules in the next tick.
    pub(super) fn break_rules(&mut self) {
        self.broken = Some(self.live.tick());
    }

    fn record_events(&mut self) {
        let events = core::iter::from_fn(|| self.live.poll_event()).collect();
        self.records.push(WorldRecord::Events(events));
    }
}

impl World for RecordedWorld {
    fn ticks_per_second(&self) -> u32 {
        self.live.ticks_per_second()
    }

    fn step(&mut self, tick: Tick, inputs: &TickInputs) {
        self.live.step(tick, inputs);
        if self.broken == Some(tick) {
            self.live.state_mut().spoil();
        }
        self.simulated.insert(tick.next(), self.live.checksum());
    }

    fn confirm(&mut self, tick: Tick, inputs: &TickInputs) {
        self.live.confirm(tick, inputs);
        let checksum = self.simulated.remove(&tick.next());
        let checksum = checksum.expect("a tick that is final has been simulated");
        self.simulated = self.simulated.split_off(&tick.next());
        self.records
            .push(WorldRecord::Settled(tick.next(), checksum));
    }

    fn save(&mut self, tick: Tick) {
        self.live.save(tick);
    }

    fn release(&mut self, tick: Tick) {
        self.live.release(tick);
    }

    fn load(&mut self, tick: Tick) -> bool {
        self.simulated.split_off(&tick.next());
        self.live.load(tick)
    }

    fn checksum(&mut self) -> u64 {
        self.live.checksum()
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
        self.broken = None;
        self.live.patch(saved, rows)
    }

    fn replaced(&mut self, tick: Tick) {
        self.live.replaced(tick);
    }

    fn checkpoint(&mut self) -> Vec<u8> {
        self.live.checkpoint()
    }

    fn adopt(&mut self, tick: Tick, checkpoint: &[u8]) -> Result<(), AdoptError> {
        self.record_events();
        self.live.adopt(tick, checkpoint)?;
        self.record_events();
        self.simulated.clear();
        self.broken = None;
        let checksum = self.live.checksum();
        self.records.push(WorldRecord::Adopted(tick, checksum));
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

    fn scene(&mut self) -> &mut dyn Scene {
        self.live.scene()
    }
}
