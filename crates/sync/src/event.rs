//! Effects that leave the simulation: sounds, score, "box placed".

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::Tick;

/// How sure an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Simulated from inputs that are not all known: show it, do not count on it.
    Predicted,
    /// It happened, for everyone.
    Confirmed,
    /// It had been predicted, and did not happen: take it back.
    Cancelled,
}

/// An event as it is delivered: first perhaps predicted, then exactly once confirmed or cancelled.
#[derive(Clone, PartialEq, Debug)]
pub struct Occurrence<E> {
    /// The tick whose step emitted it.
    pub tick: Tick,
    /// How sure it is.
    pub stage: Stage,
    /// What happened.
    pub event: E,
}

/// Takes the events of a step.
#[derive(Debug)]
pub struct Events<E> {
    emitted: Vec<E>,
}

impl<E> Default for Events<E> {
    fn default() -> Self {
        Self {
            emitted: Vec::new(),
        }
    }
}

impl<E> Events<E> {
    /// Nothing emitted yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Something happened in this step.
    pub fn emit(&mut self, event: E) {
        self.emitted.push(event);
    }

    /// What was emitted since this was asked last.
    pub fn drain(&mut self) -> impl Iterator<Item = E> {
        self.emitted.drain(..)
    }
}

/// Sees to it that every event is resolved exactly once, however often its tick is simulated.
///
/// A step's events are [emitted](Ledger::emit); when ticks are simulated again they are [rewound](Ledger::rewind) first, and what
/// comes out again is the same event; [settling](Ledger::settle_before) confirms what is there and cancels what did not come out again.
#[derive(Debug)]
pub struct Ledger<E> {
    /// In the order of their ticks, those not settled yet.
    open: VecDeque<Open<E>>,
    told: VecDeque<Occurrence<E>>,
    limit: usize,
    dropped: u64,
}

#[derive(Debug)]
struct Open<E> {
    tick: Tick,
    event: E,
    /// Whether the present simulation emits it.
    stands: bool,
}

impl<E> Default for Ledger<E> {
    fn default() -> Self {
        Self {
            open: VecDeque::new(),
            told: VecDeque::new(),
            limit: 65_536,
            dropped: 0,
        }
    }
}

impl<E: Clone + PartialEq> Ledger<E> {
    /// A tick was simulated and emitted `event`; it will be settled later.
    pub fn emit(&mut self, tick: Tick, event: E) {
        let end = self.open.partition_point(|open| open.tick <= tick);
        let begin = self.open.partition_point(|open| open.tick < tick);
        let again = self
            .open
            .range_mut(begin..end)
            .find(|open| !open.stands && open.event == event);
        if let Some(open) = again {
            open.stands = true;
            return;
        }
        self.tell(tick, Stage::Predicted, event.clone());
        let stands = true;
        self.open.insert(
            end,
            Open {
                tick,
                event,
                stands,
            },
        );
    }

    /// Ticks from here on will be simulated again.
    pub fn rewind(&mut self, to: Tick) {
        let begin = self.open.partition_point(|open| open.tick < to);
        for open in self.open.range_mut(begin..) {
            open.stands = false;
        }
    }

    /// Ticks before this one will not be simulated again.
    pub fn settle_before(&mut self, tick: Tick) {
        while self.open.front().is_some_and(|open| open.tick < tick) {
            let Some(open) = self.open.pop_front() else {
                return;
            };
            let stage = match open.stands {
                true => Stage::Confirmed,
                false => Stage::Cancelled,
            };
            self.tell(open.tick, stage, open.event);
        }
    }

    /// A tick that is final already emitted `event`: it need not be predicted first.
    pub fn confirm(&mut self, tick: Tick, event: E) {
        self.tell(tick, Stage::Confirmed, event);
    }

    /// Nothing that was predicted counts any more, and nothing is told of it: the state has been replaced.
    pub fn forget(&mut self) {
        for open in core::mem::take(&mut self.open) {
            self.tell(open.tick, Stage::Cancelled, open.event);
        }
    }

    /// The next thing to tell the game.
    pub fn poll(&mut self) -> Option<Occurrence<E>> {
        self.told.pop_front()
    }

    /// Occurrences that nobody asked for in time: the oldest are dropped beyond 65,536.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn tell(&mut self, tick: Tick, stage: Stage, event: E) {
        if self.told.len() == self.limit {
            self.told.pop_front();
            self.dropped += 1;
        }
        self.told.push_back(Occurrence { tick, stage, event });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(ledger: &mut Ledger<&'static str>) -> Vec<(u64, Stage, &'static str)> {
        core::iter::from_fn(|| ledger.poll())
            .map(|told| (told.tick.0, told.stage, told.event))
            .collect()
    }

    #[test]
    fn what_comes_out_again_is_the_same_event() {
        let mut ledger = Ledger::default();
        ledger.emit(Tick(1), "shot");
        ledger.emit(Tick(2), "hit");
        ledger.rewind(Tick(1));
        ledger.emit(Tick(1), "shot");
        ledger.settle_before(Tick(3));
        assert_eq!(
            told(&mut ledger),
            [
                (1, Stage::Predicted, "shot"),
                (2, Stage::Predicted, "hit"),
                (1, Stage::Confirmed, "shot"),
                (2, Stage::Cancelled, "hit"),
            ]
        );
    }

    #[test]
    fn two_equal_events_of_a_tick_are_two() {
        let mut ledger = Ledger::default();
        ledger.emit(Tick(1), "hit");
        ledger.emit(Tick(1), "hit");
        ledger.rewind(Tick(0));
        ledger.emit(Tick(1), "hit");
        ledger.settle_before(Tick(2));
        let resolved: Vec<_> = told(&mut ledger).split_off(2);
        assert_eq!(
            resolved,
            [(1, Stage::Confirmed, "hit"), (1, Stage::Cancelled, "hit")]
        );
    }
}
