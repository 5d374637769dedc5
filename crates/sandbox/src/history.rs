//! The history of a match: what every player saw in each step.

use std::collections::VecDeque;

use samestep_sync::{Tick, TimedEvent};

use crate::{ModelKind, Playable};

/// What every player saw in one step, and the state of the server.
#[derive(Clone)]
pub struct StepRecord<G: Playable> {
    pub(crate) step: u64,
    pub(crate) views: Vec<View<G>>,
    pub(crate) truth: G,
    pub(crate) truth_tick: Tick,
    pub(crate) model: ModelKind,
}

#[derive(Clone)]
pub(crate) struct View<G: Playable> {
    pub(crate) state: G,
    pub(crate) tick: Tick,
    pub(crate) is_waiting: bool,
    pub(crate) events: Vec<TimedEvent<G::Event>>,
}

impl<G: Playable> StepRecord<G> {
    pub(crate) fn new(game: &G, players: usize, model: ModelKind) -> Self {
        let view = View {
            state: game.clone(),
            tick: Tick(0),
            is_waiting: false,
            events: Vec::new(),
        };
        StepRecord {
            step: 0,
            views: vec![view; players],
            truth: game.clone(),
            truth_tick: Tick(0),
            model,
        }
    }

    fn assign(&mut self, from: &Self) {
        (self.step, self.truth_tick, self.model) = (from.step, from.truth_tick, from.model);
        self.truth.assign(&from.truth);
        for (view, from) in self.views.iter_mut().zip(&from.views) {
            view.state.assign(&from.state);
            (view.tick, view.is_waiting) = (from.tick, from.is_waiting);
            view.events.clone_from(&from.events);
        }
    }

    /// Steps since the match began.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// What a player saw.
    pub fn view(&self, player: usize) -> &G {
        &self.views[player].state
    }

    /// The tick that the player's program had come to.
    pub fn tick(&self, player: usize) -> Tick {
        self.views[player].tick
    }

    /// Whether the player's program was stalled, waiting for another.
    pub fn is_waiting(&self, player: usize) -> bool {
        self.views[player].is_waiting
    }

    /// The events that a player saw in this step, as they are predicted, confirmed and cancelled.
    pub fn events(&self, player: usize) -> &[TimedEvent<G::Event>] {
        &self.views[player].events
    }

    /// The server's own state.
    pub fn truth(&self) -> &G {
        &self.truth
    }

    /// The tick the server had come to.
    pub fn truth_tick(&self) -> Tick {
        self.truth_tick
    }

    /// The model that the server ran.
    pub fn model(&self) -> ModelKind {
        self.model
    }
}

/// The last moments, as many as there is memory for.
pub struct History<G: Playable> {
    records: VecDeque<StepRecord<G>>,
    /// Steps from one to the next: large games are not kept step by step.
    stride: u64,
    most: usize,
}

/// The approximate limit of their size together, in bytes.
const MEMORY: usize = 200 << 20;
/// The longest that is kept, in steps.
const LONGEST: usize = 60 * 60;
/// As long as at least this many steps are covered, they are kept step by step.
const SHORTEST: usize = 15 * 60;

impl<G: Playable> History<G> {
    /// For moments that take about so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let most = (MEMORY / bytes.max(1)).clamp(30, LONGEST);
        Self {
            records: VecDeque::new(),
            stride: SHORTEST.div_ceil(most).max(1) as u64,
            most,
        }
    }

    pub(crate) fn push(&mut self, record: &StepRecord<G>) {
        if !record.step.is_multiple_of(self.stride) {
            return;
        }
        match self.records.len() < self.most {
            true => self.records.push_back(record.clone()),
            false => {
                let oldest = self.records.pop_front();
                let mut moment_again = oldest.expect("there are at least thirty");
                moment_again.assign(record);
                self.records.push_back(moment_again);
            }
        }
    }

    /// The first and the last step that are kept.
    pub fn range(&self) -> Option<(u64, u64)> {
        Some((self.records.front()?.step, self.records.back()?.step))
    }

    /// The record of a step, or the last one kept before it.
    pub fn at(&self, step: u64) -> Option<&StepRecord<G>> {
        let after = self.records.partition_point(|record| record.step <= step);
        self.records.get(after.checked_sub(1)?)
    }

    /// The moments kept up to a step, the newest first.
    pub fn back_from(&self, step: u64) -> impl Iterator<Item = &StepRecord<G>> {
        let after = self.records.partition_point(|record| record.step <= step);
        self.records.range(..after).rev()
    }
}
