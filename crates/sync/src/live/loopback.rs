//! The copy of a game that the loopback client of its authority simulates: what the players here see.

use super::Live;
use crate::{Simulation, Tick, TimedEvent};

/// A copy, and since when it speaks for the game.
pub(super) struct LoopbackCopy<S: Simulation> {
    pub(super) live: Live<S>,
    /// Events of the ticks from here on come from the copy.
    since: Tick,
}

impl<S: Simulation> Live<S> {
    /// What is shown here: the copy if there is one.
    pub(super) fn seen_here(&self) -> &Live<S> {
        self.loopback.as_ref().map_or(self, |copy| &copy.live)
    }

    /// Makes a copy, unless there is one.
    pub(super) fn copy_for_loopback(&mut self, since: Tick) {
        if self.loopback.is_some() {
            return;
        }
        let mut live = Live::at(self.now.state.clone(), self.now.tick);
        live.is_unsmoothed = self.is_unsmoothed;
        if let Some(view) = &self.view {
            live.smooth(view.config());
        }
        self.predict_fresh();
        self.ledger.cancel_from(since);
        self.loopback = Some(Box::new(LoopbackCopy { live, since }));
    }

    /// The next event: of ticks before there was a copy by this game, of others by the copy.
    pub(super) fn poll_event_for_players_here(&mut self) -> Option<TimedEvent<S::Event>> {
        let Some(copy) = &mut self.loopback else {
            return self.ledger.poll();
        };
        let is_here =
            |event: &TimedEvent<S::Event>| event.predicted.unwrap_or(event.tick) < copy.since;
        while let Some(event) = self.ledger.poll() {
            if is_here(&event) {
                return Some(event);
            }
        }
        copy.live.poll_event()
    }

    /// Drops the copy; events that it has delivered and nobody has taken stay.
    pub(super) fn drop_loopback(&mut self) {
        let Some(copy) = &mut self.loopback else {
            return;
        };
        copy.live.ledger.forget();
        // Nobody here was told of what this game predicted beside its copy.
        self.predict_fresh();
        self.ledger.forget();
        let left: Vec<_> = core::iter::from_fn(|| self.poll_event()).collect();
        self.loopback = None;
        self.ledger.extend(left);
        self.replace_view();
    }
}
