//! Events of a game are resolved once.

use std::fmt::Debug;

use samestep_sync::{EventStage, Tick, TimedEvent};

/// The longest that an event may be open after its tick is final: it may have come out again a few ticks later, more than once.
const LATER: u64 = 200;

/// One program's events: what was predicted is confirmed or cancelled once, and nothing final is delivered again.
#[derive(Debug)]
pub struct ResolvedOnce<E> {
    open: Vec<(Tick, E)>,
    settled: Tick,
}

impl<E> Default for ResolvedOnce<E> {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            settled: Tick(0),
        }
    }
}

impl<E: Clone + PartialEq + Debug> ResolvedOnce<E> {
    /// An event was delivered when ticks before `settled` were final. Confirmed ones must be of ticks that became so since the
    /// last [`on_settled`](Self::on_settled).
    pub fn on_occurrence(
        &mut self,
        occurrence: &TimedEvent<E>,
        settled: Tick,
    ) -> Result<(), String> {
        let TimedEvent { tick, event, .. } = occurrence;
        let fresh = (self.settled..settled).contains(tick);
        match (occurrence.stage, occurrence.predicted) {
            (EventStage::Predicted, _) if *tick < self.settled => {
                return Err(format!(
                    "{event:?} is predicted for tick {tick}, and all before {} were final",
                    self.settled
                ));
            }
            (EventStage::Predicted, _) => {
                self.open.push((*tick, event.clone()));
                return Ok(());
            }
            (EventStage::Confirmed, _) if !fresh => {
                return Err(format!(
                    "{event:?} is confirmed at tick {tick}, and only {} to {settled} became final",
                    self.settled
                ));
            }
            (EventStage::Confirmed, None) => return Ok(()),
            (EventStage::Confirmed | EventStage::Cancelled, _) => {}
        }
        let predicted = occurrence.predicted.unwrap_or(*tick);
        let mut open = self.open.iter();
        match open.position(|(tick, open)| *tick == predicted && open == event) {
            Some(at) => {
                self.open.swap_remove(at);
                Ok(())
            }
            None => Err(format!(
                "{event:?} of tick {predicted} is {:?} at tick {tick}, and was not open",
                occurrence.stage
            )),
        }
    }

    /// Ticks before this one were final when it was asked last.
    pub fn settled(&self) -> Tick {
        self.settled
    }

    /// Ticks before this one are final now, and all events delivered so far are known.
    pub fn on_settled(&mut self, settled: Tick) -> Result<(), String> {
        self.settled = settled;
        match self
            .open
            .iter()
            .find(|(tick, _)| tick.0 + LATER < settled.0)
        {
            None => Ok(()),
            Some((tick, event)) => Err(format!(
                "{event:?}, predicted for tick {tick}, is open at tick {settled}"
            )),
        }
    }

    /// The state was replaced by that of another at this tick: what was predicted must have been cancelled.
    pub fn on_adopted(&mut self, tick: Tick) -> Result<(), String> {
        self.settled = tick;
        match self.open.first() {
            None => Ok(()),
            Some((tick, event)) => Err(format!(
                "{event:?}, predicted for tick {tick}, is open although the state was replaced"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(stage: EventStage, tick: u64, predicted: Option<u64>) -> TimedEvent<char> {
        TimedEvent {
            tick: Tick(tick),
            stage,
            predicted: predicted.map(Tick),
            event: 'a',
        }
    }

    #[test]
    fn what_is_resolved_twice_or_never_is_found() {
        let mut events = ResolvedOnce::default();
        let mut check = |occurrence, settled| events.on_occurrence(&occurrence, Tick(settled));
        assert_eq!(check(timed(EventStage::Predicted, 5, Some(5)), 3), Ok(()));
        assert_eq!(check(timed(EventStage::Predicted, 5, Some(5)), 3), Ok(()));
        assert_eq!(check(timed(EventStage::Confirmed, 6, Some(5)), 8), Ok(()));
        assert_eq!(check(timed(EventStage::Cancelled, 5, Some(5)), 8), Ok(()));
        assert!(
            check(timed(EventStage::Confirmed, 6, Some(5)), 8).is_err(),
            "twice"
        );
        assert!(
            check(timed(EventStage::Cancelled, 5, Some(5)), 8).is_err(),
            "twice"
        );
        assert!(
            check(timed(EventStage::Confirmed, 8, None), 8).is_err(),
            "not final"
        );
        assert_eq!(check(timed(EventStage::Confirmed, 7, None), 8), Ok(()));
        assert_eq!(check(timed(EventStage::Predicted, 9, Some(9)), 8), Ok(()));
        assert_eq!(events.on_settled(Tick(20)), Ok(()));
        let mut check = |occurrence, settled| events.on_occurrence(&occurrence, Tick(settled));
        assert!(check(timed(EventStage::Predicted, 19, Some(19)), 20).is_err());
        assert!(check(timed(EventStage::Confirmed, 19, None), 20).is_err());
        assert!(events.on_adopted(Tick(30)).is_err());
        assert!(events.on_settled(Tick(300)).is_err());
    }
}
