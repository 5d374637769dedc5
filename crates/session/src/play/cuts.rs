//! What the model has of members that a mesh is about to exclude, and where the room says that it ends.

use core::time::Duration;

use samestep_sync::{Model, World};

use super::Match;

impl<W: World, M: Model> Match<W, M> {
    /// Takes everything that the session has to tell. What the room has decided comes first: who asks for the state gets one that holds it.
    pub(super) fn take_events(&mut self, now: Duration) {
        loop {
            if let Some(cuts) = self.session.poll_cuts() {
                let time = self.session.time(now).unwrap_or_default();
                self.model.cut(time, &cuts);
                self.roster_changed = true;
            } else if let Some(event) = self.session.poll_event() {
                self.on_event(now, event);
            } else if !self.hold(now) {
                return;
            }
        }
    }

    /// Answers what the model has of those who are about to be excluded. Returns whether that was asked.
    fn hold(&mut self, now: Duration) -> bool {
        let Some(departing) = self.session.members_to_hold() else {
            return false;
        };
        let time = self.session.time(now).unwrap_or_default();
        let held = self.model.hold(time, &departing);
        self.session.answer_hold(now, held);
        true
    }
}
