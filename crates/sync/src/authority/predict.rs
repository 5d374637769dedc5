//! Client-side prediction and server reconciliation: a client simulates ahead of the authority, compares its past states with each snapshot, and
//! where they differ continues from the snapshot and resimulates the ticks since (Bernier 2001; see the parent module).

use core::time::Duration;
use std::collections::VecDeque;

use super::context::Context;
use super::guest::Guest;
use crate::{AdoptError, PlayerId, Tick, TickInputs, UpdateWindow, World};

/// Ticks simulated in one call; the rest follows in the next.
const AT_ONCE: u32 = 40;

/// Predicted ticks that may have to be corrected.
#[derive(Debug, Default)]
pub(super) struct Predicted {
    /// Ticks whose states are saved, with the inputs that players held then.
    saves: VecDeque<(Tick, TickInputs)>,
    spare: Vec<TickInputs>,
    inputs: TickInputs,
    /// How many corrections there were, how many ticks were resimulated for them, and the maximum for one.
    pub corrections: u64,
    pub resimulated: u64,
    pub deepest: u64,
}

impl Guest {
    /// Server reconciliation: compares the predicted state of a tick with the authority's, and resimulates if they differ.
    pub(super) fn reconcile(
        &mut self,
        tick: Tick,
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        let saves = &self.predicted.saves;
        let Some(at) = saves.iter().position(|(saved, _)| *saved == tick) else {
            return Ok(());
        };
        if !world.scene().extract_at(tick, &mut self.table) {
            return Ok(());
        }
        self.kinds
            .fill(&mut self.table, &self.predicted.saves[at].1);
        self.kinds.leave_out(&mut self.table, &self.extras);
        if self.store.correct(tick, &mut self.table) {
            self.extras = self.kinds.extras(&self.table);
            self.resimulate_from(tick, world)?;
        }
        world.scene().record(tick);
        self.drop_saves(world, Some(tick));
        Ok(())
    }

    /// Makes the table the state at a tick, and resimulates the ticks since.
    fn resimulate_from(&mut self, tick: Tick, world: &mut dyn World) -> Result<(), AdoptError> {
        self.kinds.set_counters(&mut self.table);
        self.kinds.held_inputs(&self.table, &mut self.held);
        world.load(tick);
        world.scene().replace(tick, &self.table, &self.held)?;
        let until = core::mem::replace(&mut self.predicted_tick, tick);
        let again = until.since(tick);
        self.predicted.corrections += 1;
        self.predicted.resimulated += again;
        tracing::debug!(
            tick = tick.0,
            resimulated = again,
            "prediction corrected by the authority's snapshot"
        );
        self.predicted.deepest = self.predicted.deepest.max(again);
        while self.predicted_tick < until {
            self.step(world);
        }
        Ok(())
    }

    /// Simulates what is due, with what players here do now and others go on to do.
    pub(super) fn predict(&mut self, now: Duration, context: &mut Context, world: &mut dyn World) {
        let window = context.settings.prediction.as_ref().map_or(0, |p| p.window);
        let mut steps = 0;
        while self.acts(now, context) {
            if self.predicted_tick.since(self.confirmed_tick) >= window {
                // The prediction window ends here.
                self.wait(now, context);
                break;
            }
            if steps == AT_ONCE {
                context.wake_at(now);
                break;
            }
            steps += 1;
            self.assign(world);
            self.step(world);
        }
        self.forget();
    }

    /// Ticks pass in which nothing is simulated, so that players do not act in those that are over.
    fn wait(&mut self, now: Duration, context: &mut Context) {
        let due = context.ticks_at(now + self.lead.length()).unwrap_or(0.0);
        let behind = (due.max(0.0) as u64).saturating_sub(self.predicted_tick.0);
        context.lagged = context.lagged.max(behind);
        context.wake_at(now + context.tick_time);
    }

    fn step(&mut self, world: &mut dyn World) {
        let tick = self.predicted_tick;
        if tick.0.is_multiple_of(self.every) {
            self.save(tick, world);
        }
        let mut inputs = core::mem::take(&mut self.predicted.inputs);
        inputs.clear();
        inputs.share_attendance(&self.held);
        inputs.set_window(UpdateWindow {
            ticks: self.window,
            predicting: self.window > 0,
        });
        let players: &[PlayerId] = self.held.players();
        for own in self.log.iter().filter(|own| own.tick == tick) {
            if players.contains(&own.player) {
                inputs.insert(own.player, &own.input);
                if let Some(view_time) = own.view_time {
                    inputs.set_view_time(own.player, view_time);
                }
            }
        }
        world.step(tick, &inputs);
        self.predicted.inputs = inputs;
        self.predicted_tick = tick.next();
    }

    /// Keeps the state before a tick, and what players hold.
    fn save(&mut self, tick: Tick, world: &mut dyn World) {
        world.save(tick);
        let saves = &mut self.predicted.saves;
        let mut held = match saves.iter().position(|(saved, _)| *saved == tick) {
            Some(at) => saves.remove(at).map(|(_, held)| held),
            None => self.predicted.spare.pop(),
        }
        .unwrap_or_default();
        world.scene().held_inputs(&mut held);
        let at = saves.partition_point(|(saved, _)| *saved < tick);
        saves.insert(at, (tick, held));
    }

    /// Releases what was kept of ticks before one, or of all.
    pub(super) fn drop_saves(&mut self, world: &mut dyn World, before: Option<Tick>) {
        let saves = &mut self.predicted.saves;
        while let Some((tick, held)) = saves.pop_front() {
            if before.is_some_and(|before| tick >= before) {
                saves.push_front((tick, held));
                return;
            }
            world.release(tick);
            self.predicted.spare.push(held);
        }
    }
}
