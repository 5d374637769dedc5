//! Effects that leave the simulation: sounds, score, "box placed".

use core::ops::Range;
use std::collections::VecDeque;

use crate::Tick;

/// How sure an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventStage {
    /// Simulated from inputs that are not all known: show it, do not count on it.
    Predicted,
    /// It happened, for everyone.
    Confirmed,
    /// It had been predicted, and did not happen: take it back.
    Cancelled,
}

/// An event as it is delivered: first perhaps predicted, then exactly once confirmed or cancelled.
#[derive(Clone, PartialEq, Debug)]
pub struct TimedEvent<E> {
    /// The tick whose step emitted it.
    pub tick: Tick,
    /// How sure it is.
    pub stage: EventStage,
    /// The tick for which it was delivered as predicted, if it was: this and the event identify what is confirmed or cancelled here. It
    /// may happen a few ticks before or after.
    pub predicted: Option<Tick>,
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

    /// What was emitted and not taken yet.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        self.emitted.iter()
    }

    /// What was emitted since this was asked last.
    pub fn drain(&mut self) -> impl Iterator<Item = E> {
        self.emitted.drain(..)
    }
}

/// An event that comes out again so many ticks before or after is the same one.
const SHIFT: u64 = 4;

/// Sees to it that every event is resolved exactly once, however often its tick is simulated.
///
/// A step's events are [emitted](EventLedger::emit); when ticks are simulated again they are [rewound](EventLedger::rewind) first, and what
/// comes out again, in the same tick or up to four before or after, is the same event. [Confirming](EventLedger::confirm_before) confirms what is
/// there, in the order in which it was emitted last, and cancels what did not come out again.
#[derive(Debug)]
pub(crate) struct EventLedger<E> {
    /// Events of the present simulation whose ticks are not confirmed yet, in their order.
    standing: VecDeque<Open<E>>,
    /// Events delivered as predicted that have not been emitted again, by tick.
    rewound: VecDeque<Open<E>>,
    /// Events that the authority has confirmed before their ticks are final.
    certain: VecDeque<Certain<E>>,
    queue: VecDeque<TimedEvent<E>>,
    limit: usize,
}

#[derive(Debug)]
struct Open<E> {
    tick: Tick,
    /// The tick for which it was delivered as predicted; `None` if it is delivered only when it is confirmed.
    predicted: Option<Tick>,
    event: E,
}

/// An event that is confirmed, while its tick may still be simulated again.
#[derive(Debug)]
struct Certain<E> {
    tick: Tick,
    event: E,
    /// Whether the present simulation has emitted it.
    stands: bool,
}

impl<E> Default for EventLedger<E> {
    fn default() -> Self {
        Self {
            standing: VecDeque::new(),
            rewound: VecDeque::new(),
            certain: VecDeque::new(),
            queue: VecDeque::new(),
            limit: 65_536,
        }
    }
}

impl<E: Clone + PartialEq> EventLedger<E> {
    /// A tick was simulated and emitted `event`; it will be confirmed later. Ticks after it that were simulated before count as rewound.
    pub fn emit(&mut self, tick: Tick, event: E) {
        self.open(tick, event, true);
    }

    /// The same of an event that is delivered only when it is confirmed.
    pub fn emit_unannounced(&mut self, tick: Tick, event: E) {
        self.open(tick, event, false);
    }

    fn open(&mut self, tick: Tick, event: E, announced: bool) {
        if self.standing.back().is_some_and(|last| last.tick > tick) {
            self.rewind(tick.next());
        }
        if self.is_certain_again(tick, &event) {
            return;
        }
        let predicted = match self.take_again(tick, &event) {
            Some(predicted) => predicted,
            None if announced => {
                self.deliver(tick, EventStage::Predicted, Some(tick), event.clone());
                Some(tick)
            }
            None => None,
        };
        self.standing.push_back(Open {
            tick,
            predicted,
            event,
        });
    }

    /// The authority has simulated an event that counts at once: it is confirmed for good, although its tick may be simulated again. False if it
    /// was confirmed before and only comes out again.
    pub fn emit_certain(&mut self, tick: Tick, event: E) -> bool {
        if self.is_certain_again(tick, &event) {
            return false;
        }
        self.confirm_for_good(tick, event, None, true);
        true
    }

    /// The authority says that it has confirmed an event for good, before it decides about the rest of its tick.
    pub fn confirm_early(&mut self, tick: Tick, event: E) {
        let same = |open: &Open<E>| open.tick.0.abs_diff(tick.0) <= SHIFT && open.event == event;
        let standing = self.standing.iter().position(same);
        let standing = standing.and_then(|at| self.standing.remove(at));
        let stands = standing.is_some();
        let predicted = standing.map(|open| open.predicted);
        let predicted = predicted.or_else(|| self.take_again(tick, &event));
        self.confirm_for_good(tick, event, predicted.flatten(), stands);
    }

    fn confirm_for_good(&mut self, tick: Tick, event: E, predicted: Option<Tick>, stands: bool) {
        self.certain.push_back(Certain {
            tick,
            event: event.clone(),
            stands,
        });
        self.deliver(tick, EventStage::Confirmed, predicted, event);
    }

    /// The present simulation emits an event that is certain already: that of the same tick, else of one nearby.
    fn is_certain_again(&mut self, tick: Tick, event: &E) -> bool {
        let nearby = self.certain.iter_mut().filter(|certain| {
            !certain.stands && certain.tick.0.abs_diff(tick.0) <= SHIFT && certain.event == *event
        });
        match nearby.min_by_key(|certain| certain.tick.0.abs_diff(tick.0)) {
            Some(certain) => {
                (certain.tick, certain.stands) = (tick, true);
                true
            }
            None => false,
        }
    }

    /// Ticks from here on will be simulated again.
    pub fn rewind(&mut self, to: Tick) {
        for certain in &mut self.certain {
            certain.stands &= certain.tick < to;
        }
        while self.standing.back().is_some_and(|open| open.tick >= to) {
            let Some(open) = self.standing.pop_back() else {
                return;
            };
            // From the last to the first: those of a tick stay in their order.
            let at = self.rewound.partition_point(|other| other.tick < open.tick);
            self.rewound.insert(at, open);
        }
    }

    /// Ticks before this one will not be simulated again. What did not come out again is cancelled as soon as it cannot any more, four
    /// ticks later.
    pub fn confirm_before(&mut self, tick: Tick) {
        while self.standing.front().is_some_and(|open| open.tick < tick) {
            let open = self.standing.pop_front();
            self.resolve(EventStage::Confirmed, open);
        }
        let is_over = |open: &Open<E>| open.tick.0 + SHIFT < tick.0;
        while self.rewound.front().is_some_and(is_over) {
            let open = self.rewound.pop_front();
            self.resolve(EventStage::Cancelled, open);
        }
        let is_past = |certain: &Certain<E>| certain.tick.0 + 2 * SHIFT < tick.0;
        while self.certain.front().is_some_and(is_past) {
            self.certain.pop_front();
        }
    }

    /// A tick that is final already emitted `event`: it need not be predicted first. Ticks before it are confirmed.
    pub fn confirm(&mut self, tick: Tick, event: E) {
        self.confirm_before(tick);
        let predicted = self.take_again(tick, &event).flatten();
        self.deliver(tick, EventStage::Confirmed, predicted, event);
    }

    /// The authority decides that these are the events of `tick`, and that there were no others since its last decision. What was
    /// predicted until then and is not among them is cancelled as soon as it cannot come any more, four ticks later.
    pub fn judge(&mut self, tick: Tick, events: impl IntoIterator<Item = E>) {
        while self.standing.front().is_some_and(|open| open.tick <= tick) {
            if let Some(open) = self.standing.pop_front() {
                let at = self
                    .rewound
                    .partition_point(|other| other.tick <= open.tick);
                self.rewound.insert(at, open);
            }
        }
        for event in events {
            let predicted = self
                .take_again(tick, &event)
                .or_else(|| self.take_early(tick, &event))
                .flatten();
            self.deliver(tick, EventStage::Confirmed, predicted, event);
        }
        self.confirm_before(tick.next());
    }

    /// Finds what is predicted for a tick that comes a little later.
    fn take_early(&mut self, tick: Tick, event: &E) -> Option<Option<Tick>> {
        let soon = |open: &Open<E>| open.tick.0 <= tick.0 + SHIFT && open.event == *event;
        let at = self.standing.iter().position(soon)?;
        self.standing.remove(at).map(|open| open.predicted)
    }

    /// Nothing that was predicted counts any more: the state has been replaced. It is cancelled.
    pub fn forget(&mut self) {
        self.rewind(Tick(0));
        while let open @ Some(_) = self.rewound.pop_front() {
            self.resolve(EventStage::Cancelled, open);
        }
    }

    /// Nothing that was predicted for ticks from here on will be resolved here: it is cancelled.
    pub fn cancel_from(&mut self, tick: Tick) {
        self.rewind(tick);
        while self.rewound.back().is_some_and(|open| open.tick >= tick) {
            let open = self.rewound.pop_back();
            self.resolve(EventStage::Cancelled, open);
        }
    }

    /// Delivers events after those that wait already, as another ledger has resolved them.
    pub fn extend(&mut self, events: impl IntoIterator<Item = TimedEvent<E>>) {
        self.queue.extend(events);
    }

    /// The next event to deliver to the game.
    pub fn poll(&mut self) -> Option<TimedEvent<E>> {
        self.queue.pop_front()
    }

    /// Finds what comes out again in what was rewound, and says for which tick it was predicted. It is that of the same tick; else the oldest
    /// of the ticks before, which have been simulated again; else the next of those to come.
    fn take_again(&mut self, tick: Tick, event: &E) -> Option<Option<Tick>> {
        if self.rewound.is_empty() {
            return None;
        }
        let rewound = &self.rewound;
        let place = |tick: u64| rewound.partition_point(|open| open.tick.0 < tick);
        let find = |mut places: Range<usize>| places.find(|at| rewound[*at].event == *event);
        let (here, after) = (place(tick.0), place(tick.0 + 1));
        let found = find(here..after)
            .or_else(|| find(place(tick.0.saturating_sub(SHIFT))..here))
            .or_else(|| find(after..place(tick.0 + SHIFT + 1)))?;
        self.rewound.remove(found).map(|open| open.predicted)
    }

    fn resolve(&mut self, stage: EventStage, open: Option<Open<E>>) {
        let Some(open) = open else {
            return;
        };
        // Nobody was told of it, so nobody need be told that it did not happen.
        if stage == EventStage::Confirmed || open.predicted.is_some() {
            self.deliver(open.tick, stage, open.predicted, open.event);
        }
    }

    fn deliver(&mut self, tick: Tick, stage: EventStage, predicted: Option<Tick>, event: E) {
        if self.queue.len() == self.limit {
            self.queue.pop_front();
        }
        self.queue.push_back(TimedEvent {
            tick,
            stage,
            predicted,
            event,
        });
    }
}

#[cfg(test)]
mod tests;
