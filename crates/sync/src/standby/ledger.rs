//! Which inputs of a client are in which tick: whoever takes over tells the client which of its inputs to give again.

use std::collections::VecDeque;

use super::AcceptedInputs;
use crate::{PeerId, PlayerId, Tick};

/// Inputs that may be open; more than ever wait.
const MAX_OPEN: usize = 1024;

/// The inputs of one client that are not in a final tick yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputLedger {
    /// Counts the states that the client was given: its numbers begin anew with each.
    epoch: u8,
    /// Inputs before this number have been received.
    received: u64,
    /// Inputs by their numbers, and the tick that each is in, if it is in one.
    open: VecDeque<(u64, PlayerId, Option<Tick>)>,
}

impl InputLedger {
    pub(crate) fn new(epoch: u8) -> InputLedger {
        InputLedger {
            epoch,
            ..InputLedger::default()
        }
    }

    /// As whoever was the authority before has left it.
    pub(crate) fn of(accepted: &AcceptedInputs) -> InputLedger {
        let last = accepted.beyond.iter().max();
        let received = last.map_or(accepted.before, |last| last + 1);
        let missing = (accepted.before..received).filter(|at| !accepted.beyond.contains(at));
        InputLedger {
            epoch: accepted.epoch,
            received,
            open: missing.map(|number| (number, PlayerId(0), None)).collect(),
        }
    }

    pub(crate) fn epoch(&self) -> u8 {
        self.epoch
    }

    /// An input with this number has come; it may be in a tick already.
    pub(crate) fn on_received(&mut self, number: u64, player: PlayerId, tick: Option<Tick>) {
        self.received = self.received.max(number + 1);
        if self.open.len() == MAX_OPEN {
            self.open.pop_front();
        }
        self.open.push_back((number, player, tick));
    }

    /// An input has come that counts nowhere.
    pub(crate) fn on_refused(&mut self, number: u64) {
        self.received = self.received.max(number + 1);
    }

    /// A player's inputs up to this number are in a tick.
    pub(crate) fn on_taken(&mut self, player: PlayerId, upto: u64, tick: Tick) {
        for (number, of, taken) in &mut self.open {
            if *of == player && *number <= upto && taken.is_none() {
                *taken = Some(tick);
            }
        }
    }

    /// The ticks before this one are final.
    pub(crate) fn settle(&mut self, before: Tick) {
        let is_settled =
            |(_, _, tick): &(u64, PlayerId, Option<Tick>)| tick.is_some_and(|tick| tick < before);
        while self.open.front().is_some_and(is_settled) {
            self.open.pop_front();
        }
    }

    /// Which of the inputs are in the ticks before this one.
    pub(crate) fn accepted(&self, peer: PeerId, before: Tick) -> AcceptedInputs {
        let is_in = |tick: Option<Tick>| tick.is_some_and(|tick| tick < before);
        let first = self.open.iter().find(|(_, _, tick)| !is_in(*tick));
        let first = first.map_or(self.received, |(number, ..)| *number);
        let missing: Vec<u64> = self
            .open
            .iter()
            .filter(|(_, _, tick)| !is_in(*tick))
            .map(|(number, ..)| *number)
            .collect();
        let beyond = (first..self.received).filter(|number| !missing.contains(number));
        AcceptedInputs {
            peer,
            epoch: self.epoch,
            before: first,
            beyond: beyond.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_accepted_by_the_ticks_they_are_in() {
        let (ann, ben) = (PlayerId(1), PlayerId(2));
        let mut ledger = InputLedger::new(3);
        ledger.on_received(0, ann, None);
        ledger.on_received(1, ben, None);
        ledger.on_received(2, ann, None);
        ledger.on_received(3, ben, Some(Tick(9)));
        ledger.on_refused(4);
        let accepted = |ledger: &InputLedger, before| {
            let accepted = ledger.accepted(PeerId(7), Tick(before));
            (accepted.before, accepted.beyond)
        };
        assert_eq!(accepted(&ledger, 5), (0, vec![4]));
        ledger.on_taken(ann, 2, Tick(4));
        assert_eq!(accepted(&ledger, 5), (1, vec![2, 4]));
        assert_eq!(accepted(&ledger, 10), (1, vec![2, 3, 4]));
        ledger.settle(Tick(5));
        ledger.on_taken(ben, 1, Tick(5));
        assert_eq!(accepted(&ledger, 6), (3, vec![4]));
        assert_eq!(accepted(&ledger, 10), (5, vec![]));
        // Who takes over knows as much.
        let again = InputLedger::of(&ledger.accepted(PeerId(7), Tick(6)));
        assert_eq!((again.epoch(), accepted(&again, 6)), (3, (3, vec![4])));
    }
}
