//! The delivery rate: how fast the receiver takes in what is sent.

use std::collections::VecDeque;

/// Silence after which the past says nothing about the present, in seconds.
const SILENCE: f64 = 1.0;

/// Bytes against the receiver's clock: the return path and its jitter do not matter.
#[derive(Default)]
pub(super) struct DeliveryRate {
    total: f64,
    /// (receiver's time in seconds, total by then), oldest first.
    history: VecDeque<(f64, f64)>,
}

impl DeliveryRate {
    pub(super) fn count(&mut self, bytes: f64) {
        self.total += bytes;
    }

    /// All that was counted had arrived by `at`. Keeps what is needed to look back over `window` seconds.
    pub(super) fn mark(&mut self, at: f64, window: f64) {
        match self.history.back() {
            Some(last) if at <= last.0 => return,
            Some(last) if at - last.0 > SILENCE => self.history.clear(),
            _ => {}
        }
        self.history.push_back((at, self.total));
        while self.history.len() > 2 && at - self.history[1].0 >= window {
            self.history.pop_front();
        }
    }

    /// Bytes per second over the window, and the seconds it really spans.
    pub(super) fn rate(&self) -> Option<(f64, f64)> {
        let (first, last) = (self.history.front()?, self.history.back()?);
        let span = last.0 - first.0;
        (span > 0.0).then(|| ((last.1 - first.1) / span, span))
    }
}
