//! What is drawn of a game that runs.

use core::time::Duration;

use super::Live;
use crate::{Simulation, SmoothConfig, SmoothView};

impl<S: Simulation> Live<S> {
    /// Has [`shown`](Self::shown) move smoothly from here on. Costs nothing unless it is called and some field of the state blends.
    pub fn smooth(&mut self, config: SmoothConfig) {
        let (tick, state) = (self.now.tick, &self.now.state);
        let view = SmoothView::new(config, S::TICKS_PER_SECOND, tick, state);
        self.is_unsmoothed = !view.blends();
        self.view = view.blends().then(|| Box::new(view));
        if let Some(copy) = &mut self.loopback {
            copy.live.smooth(config);
        }
    }

    /// Has everything that is simulated here be [shown](Self::shown) as it is at the newest tick.
    pub fn stop_smoothing(&mut self) {
        (self.view, self.is_unsmoothed) = (None, true);
        if let Some(copy) = &mut self.loopback {
            copy.live.stop_smoothing();
        }
    }

    /// What to draw at `now` if it is to move smoothly; without [`smooth`](Self::smooth) the state.
    pub fn shown(&mut self, now: Duration) -> &S {
        if let Some(copy) = &mut self.loopback {
            return copy.live.shown(now);
        }
        match &mut self.view {
            Some(view) => view.draw(now),
            None => &self.now.state,
        }
    }

    /// The view that moves smoothly, if there is one: it knows what corrections have moved.
    pub fn view(&self) -> Option<&SmoothView<S>> {
        self.seen_here().view.as_deref()
    }

    /// The state is that at its tick, for the first time or again.
    pub(super) fn update_view(&mut self) {
        if let Some(view) = &mut self.view {
            view.handle_state(self.now.tick, &self.now.state);
        }
    }

    /// The state is another, whatever it was before.
    pub(super) fn replace_view(&mut self) {
        if let Some(view) = &mut self.view {
            view.replace(self.now.tick, &self.now.state);
        }
    }
}
