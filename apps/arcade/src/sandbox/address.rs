//! The link in the address.

use crate::platform::Platform;

/// How long the link must be unchanged before the address follows, in seconds.
const QUIET: f64 = 0.4;

/// The link in the address bar, and the one it should become.
#[derive(Default)]
pub struct Address {
    shown: String,
    wanted: String,
    since: f64,
}

impl Address {
    /// Keeps the address as it is until this link changes.
    pub fn leave(&mut self, link: &str) {
        self.shown = link.into();
        self.wanted = link.into();
    }

    /// Whether the address shows another link.
    pub fn is_behind(&self, link: &str) -> bool {
        self.shown != link
    }

    /// Sets the link; the address follows when it has not changed for a while.
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
