//! The link in the address.

use crate::surroundings::Surroundings;

/// How long nothing must change before the address does, in seconds.
const QUIET: f64 = 0.4;

/// What the address says, and since when it should say something else.
#[derive(Default)]
pub struct Address {
    told: String,
    wanted: String,
    since: f64,
}

impl Address {
    /// Whatever the address says stays until this link changes.
    pub fn leave(&mut self, link: &str) {
        self.told = link.into();
        self.wanted = link.into();
    }

    /// Whether the address says something else.
    pub fn is_behind(&self, link: &str) -> bool {
        self.told != link
    }

    /// Says what the link is; the address follows when it has been that for a while.
    pub fn tell(&mut self, now: f64, link: &str, around: &dyn Surroundings) {
        if self.wanted != link {
            self.wanted = link.into();
            self.since = now;
        }
        if self.is_behind(link) && now - self.since >= QUIET {
            around.set_link(link);
            self.told = link.into();
        }
    }
}
