//! The requests of one program.

use std::collections::VecDeque;

use super::Outcome;

/// Outcomes kept for a program that does not ask for them.
const OUTCOME_LIMIT: usize = 1024;

/// The requests of this program, numbered from 1 in each of its lives.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Requests {
    pub(super) life: u64,
    pub(super) last: u64,
    /// How many the program has made, in all lives.
    pub(super) made: u64,
    /// Those whose outcome is not known.
    pub(super) waiting: VecDeque<Waiting>,
    /// The last that was sent in this term.
    pub(super) sent: u64,
    pub(super) outcomes: VecDeque<(u64, Outcome)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Waiting {
    pub(super) number: u64,
    /// Its number in all lives.
    pub(super) id: u64,
    pub(super) change: Vec<u8>,
    /// Its place in this term, or one behind it.
    pub(super) at: Option<u64>,
}

impl Requests {
    /// Keeps an outcome for the program. If it does not ask for them, the oldest are forgotten.
    pub(super) fn tell(&mut self, id: u64, outcome: Outcome) {
        if self.outcomes.len() >= OUTCOME_LIMIT {
            self.outcomes.pop_front();
        }
        self.outcomes.push_back((id, outcome));
    }
}
