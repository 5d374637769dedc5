//! The link in the address.

use crate::platform::Platform;

/// How long nothing must change before the address does, in seconds.
const QUIET: f64 = 0.4;

/// What the address says, and since when it should say something else.
#[derive(Default)]
pub struct Address {
    shown: String,
    wanted: String,
    since: f64,
}

impl Address {
    /// Whatever the address says stays until this link changes.
    pub fn leave(&mut self, link: &str) {
        self.shown = link.into();
        self.wanted = link.into();
    }

    /// Whether the address says something else.
    pub fn is_behind(&self, link: &str) -> bool {
        self.shown != link
    }

    /// Says what the link is; the address follows when it has been that for a while.
    pub fn update(&mut self, now: f64, link: &str, platform: &dyn Platform) {
        if self.wanted != link {
            self.wanted = link.into();
            self.since = now;
        }
        if self.is_behind(link) && now - self.since >= QUIET {
            platform.set_link(link);
            self.shown = link.into();
        }
    }
}
