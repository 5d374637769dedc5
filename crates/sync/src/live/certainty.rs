//! What is confirmed here and may still be lost with the host: it is shown as predicted until it is certain.

use std::collections::VecDeque;

use crate::{EventStage, Tick, TimedEvent};

/// Holds events back that are confirmed, until they would survive the loss of the host.
#[derive(Debug)]
pub(super) struct CertaintyGate<E> {
    /// The first tick that is not certain; `None` if everything is that is confirmed.
    before: Option<Tick>,
    /// Whether another host goes on from a tick that is not known yet: nothing that is held counts as certain until then.
    is_in_doubt: bool,
    held: VecDeque<TimedEvent<E>>,
    out: VecDeque<TimedEvent<E>>,
}

impl<E> Default for CertaintyGate<E> {
    fn default() -> Self {
        Self {
            before: None,
            is_in_doubt: false,
            held: VecDeque::new(),
            out: VecDeque::new(),
        }
    }
}

impl<E: Clone> CertaintyGate<E> {
    /// Whether anything may be taken back that is confirmed.
    pub(super) fn is_closed(&self) -> bool {
        self.before.is_some() || self.is_in_doubt || !self.held.is_empty()
    }

    /// Another host goes on, from a tick that is not known yet.
    pub(super) fn doubt(&mut self) {
        self.is_in_doubt = self.is_closed();
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        self.is_in_doubt
    }

    /// Ticks before this one are certain. It does not go back, unless everything is.
    pub(super) fn set(&mut self, before: Option<Tick>) {
        self.before = match (self.before, before) {
            (Some(known), Some(before)) => Some(known.max(before)),
            (_, before) => before,
        };
        self.release();
    }

    fn release(&mut self) {
        let is_certain =
            |event: &TimedEvent<E>| self.before.is_none_or(|before| event.tick < before);
        while !self.is_in_doubt && self.held.front().is_some_and(is_certain) {
            self.out.extend(self.held.pop_front());
        }
    }

    /// The state goes on from an earlier tick than it had come to: what was held from there on did not happen.
    pub(super) fn take_back(&mut self, from: Tick) {
        for event in core::mem::take(&mut self.held) {
            match event.tick < from {
                true => self.held.push_back(event),
                false => self.out.push_back(TimedEvent {
                    stage: EventStage::Cancelled,
                    ..event
                }),
            }
        }
        self.is_in_doubt = false;
        self.release();
    }

    /// Takes an event that nobody has asked for yet.
    pub(super) fn take(&mut self, event: TimedEvent<E>) {
        let passed = self.pass(event);
        self.out.extend(passed);
    }

    /// The next event that was held.
    pub(super) fn poll(&mut self) -> Option<TimedEvent<E>> {
        self.out.pop_front()
    }

    /// Passes an event on, or the word that it may happen.
    pub(super) fn pass(&mut self, event: TimedEvent<E>) -> Option<TimedEvent<E>> {
        let uncertain = self.before.is_some_and(|before| event.tick >= before);
        let uncertain = uncertain || self.is_in_doubt;
        if event.stage != EventStage::Confirmed || !uncertain {
            return Some(event);
        }
        let tick = event.tick;
        let announced = event.predicted.is_some();
        self.held.push_back(TimedEvent {
            predicted: event.predicted.or(Some(tick)),
            ..event.clone()
        });
        (!announced).then_some(TimedEvent {
            stage: EventStage::Predicted,
            predicted: Some(tick),
            ..event
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confirmed(tick: u64, predicted: Option<u64>, event: char) -> TimedEvent<char> {
        TimedEvent {
            tick: Tick(tick),
            stage: EventStage::Confirmed,
            predicted: predicted.map(Tick),
            event,
        }
    }

    #[test]
    fn events_are_confirmed_once_they_are_certain() {
        let mut gate = CertaintyGate::default();
        assert_eq!(
            gate.pass(confirmed(1, None, 'a')),
            Some(confirmed(1, None, 'a'))
        );
        gate.set(Some(Tick(5)));
        assert_eq!(
            gate.pass(confirmed(4, None, 'b')),
            Some(confirmed(4, None, 'b'))
        );
        let shown = gate.pass(confirmed(5, None, 'c')).unwrap();
        assert_eq!(
            (shown.stage, shown.predicted),
            (EventStage::Predicted, Some(Tick(5)))
        );
        assert_eq!(gate.pass(confirmed(6, Some(7), 'd')), None);
        assert_eq!(gate.poll(), None);
        gate.set(Some(Tick(6)));
        assert_eq!(gate.poll(), Some(confirmed(5, Some(5), 'c')));
        gate.take_back(Tick(6));
        let gone = gate.poll().unwrap();
        assert_eq!(
            (gone.stage, gone.predicted, gone.event),
            (EventStage::Cancelled, Some(Tick(7)), 'd')
        );
        assert_eq!(gate.pass(confirmed(9, Some(9), 'e')), None);
        gate.set(None);
        assert_eq!(gate.poll(), Some(confirmed(9, Some(9), 'e')));
    }
}
