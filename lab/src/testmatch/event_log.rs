//! The events of a game as one program had them, and whether each was resolved once.

use samestep_sync::{EventStage, Tick, TimedEvent};

/// Every event of one program: each is confirmed or cancelled once, whether it was predicted or not.
#[derive(Debug)]
pub struct EventLog<E> {
    /// Predicted and neither confirmed nor cancelled yet.
    open: Vec<(Tick, E)>,
    confirmed: Vec<(Tick, E)>,
    predicted: Vec<(Tick, E)>,
    cancelled: Vec<(Tick, E)>,
    /// Events that were resolved twice, or that name a prediction which never was.
    pub improper: u64,
}

impl<E> Default for EventLog<E> {
    fn default() -> Self {
        EventLog {
            open: Vec::new(),
            confirmed: Vec::new(),
            predicted: Vec::new(),
            cancelled: Vec::new(),
            improper: 0,
        }
    }
}

impl<E: Clone + PartialEq> EventLog<E> {
    /// Takes the next.
    pub fn push(&mut self, occurrence: TimedEvent<E>) {
        if occurrence.stage == EventStage::Predicted {
            let predicted = (occurrence.tick, occurrence.event);
            self.predicted.push(predicted.clone());
            return self.open.push(predicted);
        }
        if let Some(predicted) = occurrence.predicted {
            let is_it =
                |(tick, event): &(Tick, E)| *tick == predicted && *event == occurrence.event;
            match self.open.iter().position(is_it) {
                Some(at) => drop(self.open.remove(at)),
                None => self.improper += 1,
            }
        }
        if occurrence.stage == EventStage::Cancelled {
            self.improper += u64::from(occurrence.predicted.is_none());
            let tick = occurrence.predicted.unwrap_or(occurrence.tick);
            self.cancelled.push((tick, occurrence.event));
        } else {
            self.confirmed.push((occurrence.tick, occurrence.event));
        }
    }

    /// The events that were predicted, with the ticks they were predicted for.
    pub fn predicted(&self) -> &[(Tick, E)] {
        &self.predicted
    }

    /// The predicted events that were taken back, with the ticks they were predicted for.
    pub fn cancelled(&self) -> &[(Tick, E)] {
        &self.cancelled
    }

    /// The confirmed events.
    pub fn confirmed(&self) -> &[(Tick, E)] {
        &self.confirmed
    }

    /// How many of those predicted for ticks before this one are neither confirmed nor cancelled.
    pub fn open_before(&self, tick: Tick) -> u64 {
        let open = self.open.iter().filter(|(of, _)| *of < tick);
        open.count() as u64
    }

    /// How many of the confirmed events before a tick are not the same in both lists.
    pub fn differing(&self, other: &EventLog<E>, before: Tick) -> u64 {
        fn of<E>(log: &EventLog<E>, before: Tick) -> impl Iterator<Item = &(Tick, E)> {
            let confirmed = log.confirmed.iter();
            confirmed.filter(move |(tick, _)| *tick < before)
        }
        let longer = of(self, before).count().max(of(other, before).count());
        let same = of(self, before).zip(of(other, before));
        (longer - same.filter(|(one, other)| one == other).count()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(list: &[(u64, EventStage, Option<u64>, &'static str)]) -> EventLog<&'static str> {
        let mut log = EventLog::default();
        for (tick, stage, predicted, event) in list {
            log.push(TimedEvent {
                tick: Tick(*tick),
                stage: *stage,
                predicted: predicted.map(Tick),
                event: *event,
            });
        }
        log
    }

    #[test]
    fn each_is_to_be_resolved_once() {
        let proper = log(&[
            (3, EventStage::Predicted, Some(3), "shot"),
            (4, EventStage::Predicted, Some(4), "door"),
            (5, EventStage::Confirmed, Some(3), "shot"),
            (4, EventStage::Cancelled, Some(4), "door"),
            (6, EventStage::Confirmed, None, "bell"),
        ]);
        assert_eq!((proper.improper, proper.open_before(Tick(9))), (0, 0));
        assert_eq!(proper.predicted().len(), 2);
        assert_eq!(proper.cancelled(), [(Tick(4), "door")]);
        let doubled = log(&[
            (3, EventStage::Predicted, Some(3), "shot"),
            (5, EventStage::Confirmed, Some(3), "shot"),
            (5, EventStage::Confirmed, Some(3), "shot"),
            (7, EventStage::Predicted, Some(7), "door"),
        ]);
        assert_eq!((doubled.improper, doubled.open_before(Tick(9))), (1, 1));
        assert_eq!(proper.differing(&doubled, Tick(6)), 1);
        assert_eq!(proper.differing(&doubled, Tick(5)), 0);
    }
}
