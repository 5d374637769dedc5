//! Progress once the network heals.

use std::time::Duration;

/// Everything outstanding must be settled within a bound after the network heals.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    bound: Duration,
    healed_at: Option<Duration>,
}

impl Progress {
    /// Demands that all is settled `bound` after the network healed.
    pub fn new(bound: Duration) -> Progress {
        Progress {
            bound,
            healed_at: None,
        }
    }

    /// The network works from now on.
    pub fn on_healed(&mut self, now: Duration) {
        self.healed_at = Some(now);
    }

    /// When everything must be settled, if the network has healed.
    pub fn deadline(&self) -> Option<Duration> {
        self.healed_at.map(|healed| healed + self.bound)
    }

    /// Something (described by `what`) is outstanding at `now`.
    pub fn on_outstanding(
        &self,
        now: Duration,
        what: impl FnOnce() -> String,
    ) -> Result<(), String> {
        match self.deadline() {
            Some(deadline) if now >= deadline => Err(format!(
                "{:?} after the network healed, {}",
                self.bound,
                what()
            )),
            _ => Ok(()),
        }
    }
}
