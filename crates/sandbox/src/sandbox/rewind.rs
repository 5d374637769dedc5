//! The log of what was changed from outside, so that a match can be repeated.

use super::{Driver, Sandbox, SandboxError};
use crate::{Conditions, ModelKind, Playable, Scenario};

/// A change from outside.
#[derive(Clone, Debug)]
pub(super) enum Action<I> {
    Conditions(usize, Box<Conditions>),
    Model(ModelKind),
    Driver(usize, Driver),
    Input(usize, I),
    Tamper(usize),
}

/// All changes from outside, each with the step before which it was made.
#[derive(Clone, Debug)]
pub(super) struct Log<I> {
    initial: Scenario,
    actions: Vec<(u64, Action<I>)>,
    /// The number of actions repeated so far.
    next: usize,
}

impl<I: Clone> Log<I> {
    pub(super) fn new(initial: &Scenario) -> Self {
        Log {
            initial: initial.clone(),
            actions: Vec::new(),
            next: 0,
        }
    }

    pub(super) fn initial(&self) -> &Scenario {
        &self.initial
    }

    /// Logs a new action, which replaces those that were yet to be repeated.
    pub(super) fn note(&mut self, step: u64, action: Action<I>) {
        self.actions.truncate(self.next);
        self.actions.push((step, action));
        self.next = self.actions.len();
    }

    fn due(&mut self, step: u64) -> Option<Action<I>> {
        let (at, action) = self.actions.get(self.next)?;
        if *at > step {
            return None;
        }
        self.next += 1;
        Some(action.clone())
    }
}

impl<G: Playable> Sandbox<G> {
    /// The same match from the beginning, which repeats by itself every action before a step. After that many [steps](Sandbox::step) it is
    /// as this one was there.
    pub fn rerun(&self, until: u64) -> Result<Sandbox<G>, SandboxError> {
        let mut again = Sandbox::new(&self.log.initial)?;
        let actions = self.log.actions.iter().filter(|(step, _)| *step < until);
        again.log.actions = actions.cloned().collect();
        Ok(again)
    }

    pub(super) fn perform_logged(&mut self) {
        while let Some(action) = self.log.due(self.now.step) {
            self.apply(action);
        }
    }
}
