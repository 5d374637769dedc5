//! The world as it is lent to the running model: inputs reach it without the numbers in front of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::sent_inputs::{AppliedInputs, strip, unwrap, wrap};
use crate::input::Attendance;
use crate::released::ReleasedPlayers;
use crate::{
    AdoptError, ChecksumTree, Divergence, Patched, RowChunk, Scene, Tick, TickInputs, World,
};

/// What the switch observes of a model's use of the world.
#[derive(Debug, Default)]
pub(super) struct WorldObservations {
    pub(super) applied: AppliedInputs,
    /// Who took part in the last confirmed tick.
    pub(super) attendance: Arc<Attendance>,
    /// Who has lost its place in the room and takes part all the same.
    pub(super) released: ReleasedPlayers,
    /// States that the model has the world keep.
    kept: BTreeSet<Tick>,
    /// Whether another's state was taken over since this was asked.
    pub(super) replaced: bool,
    /// Memory for inputs without their numbers.
    plain: TickInputs,
    /// What is observed of the loopback client's copy, of which nobody asks.
    loopback: Option<Box<WorldObservations>>,
}

impl WorldObservations {
    /// The model has ended: nothing is kept for it any more.
    pub(super) fn release_all(&mut self, world: &mut dyn World) {
        for tick in core::mem::take(&mut self.kept) {
            world.release(tick);
        }
    }
}

/// The world, lent.
pub(super) struct LentWorld<'a> {
    world: &'a mut dyn World,
    observed: &'a mut WorldObservations,
}

impl<'a> LentWorld<'a> {
    pub(super) fn new(world: &'a mut dyn World, observed: &'a mut WorldObservations) -> Self {
        Self { world, observed }
    }
}

impl World for LentWorld<'_> {
    fn ticks_per_second(&self) -> u32 {
        self.world.ticks_per_second()
    }

    fn step(&mut self, tick: Tick, inputs: &TickInputs) {
        strip(inputs, &mut self.observed.plain);
        self.world.step(tick, &self.observed.plain);
    }

    fn confirm(&mut self, tick: Tick, inputs: &TickInputs) {
        for (player, wrapped) in inputs.entries() {
            self.observed
                .applied
                .on_confirmed(player, unwrap(wrapped).0);
        }
        strip(inputs, &mut self.observed.plain);
        if !Arc::ptr_eq(&self.observed.attendance, inputs.attendance()) {
            self.observed.attendance = inputs.attendance().clone();
            self.observed.released.on_attendance(inputs.attendance());
        }
        self.world.confirm(tick, &self.observed.plain);
    }

    fn save(&mut self, tick: Tick) {
        self.observed.kept.insert(tick);
        self.world.save(tick);
    }

    fn release(&mut self, tick: Tick) {
        self.observed.kept.remove(&tick);
        self.world.release(tick);
    }

    fn load(&mut self, tick: Tick) -> bool {
        self.world.load(tick)
    }

    fn take(&mut self, tick: Tick) -> bool {
        self.observed.kept.remove(&tick);
        self.world.take(tick)
    }

    fn checksum(&mut self) -> u64 {
        self.world.checksum()
    }

    fn checksum_at(&mut self, saved: Tick) -> Option<u64> {
        self.world.checksum_at(saved)
    }

    fn record_checksum(&mut self, tick: Tick, checksum: u64) {
        self.world.record_checksum(tick, checksum);
    }

    fn checksum_tree_at(&mut self, saved: Tick) -> Option<ChecksumTree> {
        self.world.checksum_tree_at(saved)
    }

    fn rows_at(&mut self, saved: Tick, parts: Option<&[RowChunk]>) -> Option<Vec<u8>> {
        self.world.rows_at(saved, parts)
    }

    fn patch(&mut self, saved: Tick, rows: &[u8]) -> Result<Patched, AdoptError> {
        self.world.patch(saved, rows)
    }

    fn checkpoint(&mut self) -> Vec<u8> {
        self.world.checkpoint()
    }

    fn adopt(&mut self, tick: Tick, checkpoint: &[u8]) -> Result<(), AdoptError> {
        self.world.adopt(tick, checkpoint)?;
        self.observed.kept.clear();
        self.observed.replaced = true;
        Ok(())
    }

    fn replaced(&mut self, tick: Tick) {
        self.world.replaced(tick);
    }

    fn desync_bundle(
        &mut self,
        saved: Tick,
        ticks: &[TickInputs],
        divergence: &Divergence,
    ) -> Option<Vec<u8>> {
        let plain: Vec<TickInputs> = ticks
            .iter()
            .map(|inputs| {
                let mut plain = TickInputs::new();
                strip(inputs, &mut plain);
                plain
            })
            .collect();
        self.world.desync_bundle(saved, &plain, divergence)
    }

    fn scene(&mut self) -> &mut dyn Scene {
        self.world.scene()
    }

    fn begin_loopback(&mut self, since: Tick) -> bool {
        self.world.begin_loopback(since)
    }

    fn with_loopback(&mut self, run: &mut dyn FnMut(&mut dyn World)) {
        let observed = self.observed.loopback.get_or_insert_default();
        self.world
            .with_loopback(&mut |world| run(&mut LentWorld::new(world, observed)));
    }

    fn end_loopback(&mut self) {
        self.observed.loopback = None;
        self.world.end_loopback();
    }

    fn merge(&mut self, late: &[u8], due: &[u8]) -> Option<Vec<u8>> {
        let ((late_number, late), (due_number, due)) = (unwrap(late), unwrap(due));
        let merged = self.world.merge(late, due)?;
        let mut wrapped = Vec::new();
        wrap(late_number.max(due_number), &merged, &mut wrapped);
        Some(wrapped)
    }
}
