//! What was done to a match from outside, so that it can be had again.

use super::{Driver, Sandbox, SandboxError};
use crate::{Conditions, ModelKind, Playable, Scenario};

/// Something that was done from outside.
#[derive(Clone, Debug)]
pub(super) enum Action<I> {
    Line(usize, Box<Conditions>),
    Model(ModelKind),
    Driver(usize, Driver),
    Hands(usize, I),
    Tamper(usize),
}

/// All that was done, with the step before which it was.
#[derive(Clone, Debug)]
pub(super) struct Log<I> {
    initial: Scenario,
    done: Vec<(u64, Action<I>)>,
    /// How much of it has been done again.
    next: usize,
}

impl<I: Clone> Log<I> {
    pub(super) fn new(initial: &Scenario) -> Self {
        Log {
            initial: initial.clone(),
            done: Vec::new(),
            next: 0,
        }
    }

    pub(super) fn initial(&self) -> &Scenario {
        &self.initial
    }

    /// Something new is done: what was to be done again from here on is not any more.
    pub(super) fn note(&mut self, step: u64, action: Action<I>) {
        self.done.truncate(self.next);
        self.done.push((step, action));
        self.next = self.done.len();
    }

    fn due(&mut self, step: u64) -> Option<Action<I>> {
        let (at, action) = self.done.get(self.next)?;
        if *at > step {
            return None;
        }
        self.next += 1;
        Some(action.clone())
    }
}

impl<G: Playable> Sandbox<G> {
    /// The same match from the beginning, in which everything that was done before a step is done again by itself. Let it
    /// [step](Sandbox::step) as far as wanted: it is then as this one was there.
    pub fn again(&self, until: u64) -> Result<Sandbox<G>, SandboxError> {
        let mut again = Sandbox::new(&self.log.initial)?;
        let done = self.log.done.iter().filter(|(step, _)| *step < until);
        again.log.done = done.cloned().collect();
        Ok(again)
    }

    pub(super) fn perform_logged(&mut self) {
        while let Some(action) = self.log.due(self.now.step) {
            self.apply(action);
        }
    }
}
