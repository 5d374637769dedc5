//! The states that the world saves for this model.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::input::Attendance;
use crate::{Tick, TickInputs, World};

/// States of desync checks that are kept to be corrected from.
const MAX_CHECKS: usize = 8;

/// Which states are saved, in the order of their ticks.
#[derive(Debug, Default)]
pub(super) struct Saves {
    kept: VecDeque<Save>,
}

/// A saved state.
#[derive(Clone, Debug)]
pub(super) struct Save {
    pub(super) tick: Tick,
    /// Who took part then.
    pub(super) attendance: Arc<Attendance>,
    /// Whether all peers compare their states at this tick.
    is_check: bool,
}

impl Saves {
    /// Saves the present state of the world, unless one of this tick is saved already.
    pub(super) fn keep(
        &mut self,
        tick: Tick,
        present: &TickInputs,
        is_check: bool,
        world: &mut dyn World,
    ) {
        let at = self.kept.partition_point(|save| save.tick < tick);
        if self.kept.get(at).is_some_and(|save| save.tick == tick) {
            return;
        }
        world.save(tick);
        let save = Save {
            tick,
            attendance: present.attendance().clone(),
            is_check,
        };
        self.kept.insert(at, save);
    }

    /// The last saved state not after a tick.
    pub(super) fn newest_upto(&self, tick: Tick) -> Option<&Save> {
        let end = self.kept.partition_point(|save| save.tick <= tick);
        self.kept.get(end.checked_sub(1)?)
    }

    /// Loads the last saved state not after a tick into the world. `is_needed` tells, from its tick and that of the state before it,
    /// whether it stays saved.
    pub(super) fn roll_back(
        &mut self,
        tick: Tick,
        is_needed: impl Fn(Tick, Option<Tick>) -> bool,
        world: &mut dyn World,
    ) -> Option<Save> {
        let at = self.kept.partition_point(|save| save.tick <= tick);
        let at = at.checked_sub(1)?;
        let save = self.kept.get(at)?.clone();
        let older = at.checked_sub(1).map(|at| self.kept[at].tick);
        let keep = save.is_check || is_needed(save.tick, older);
        // First, so that the memory that was used last is used next.
        self.release_after(save.tick, world);
        let loaded = match keep {
            true => world.load(save.tick),
            false => world.take(save.tick),
        };
        if !keep {
            self.kept.remove(at);
        }
        loaded.then_some(save)
    }

    /// Releases the states after a tick: they are not what they should be.
    pub(super) fn release_after(&mut self, tick: Tick, world: &mut dyn World) {
        while let Some(newest) = self.kept.back().filter(|save| save.tick > tick) {
            world.release(newest.tick);
            self.kept.pop_back();
        }
    }

    /// Releases what no rollback to a tick or later needs: all but the last state not after it, and those of the last desync checks.
    pub(super) fn release_before(&mut self, tick: Tick, world: &mut dyn World) {
        let Some(base) = self.newest_upto(tick).map(|save| save.tick) else {
            return;
        };
        let mut checks = 0;
        for at in (0..self.kept.partition_point(|save| save.tick < base)).rev() {
            checks += usize::from(self.kept[at].is_check);
            if !self.kept[at].is_check || checks > MAX_CHECKS {
                world.release(self.kept[at].tick);
                self.kept.remove(at);
            }
        }
    }

    /// The world has taken over another state and has dropped all saved ones.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
    }
}
