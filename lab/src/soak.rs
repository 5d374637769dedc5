//! The soak suites: those of `samestep-sim`, and those that play games of this repository.

mod authority;

use samestep_sim::Suite;

/// Every suite there is.
pub fn suites() -> Vec<Suite> {
    let below = [
        Suite::PROTOCOL,
        Suite::SESSIONS,
        Suite::ACTIONS,
        Suite::MIGRATION,
        Suite::PEERS,
    ];
    [&below, Suite::MODELS, &[AUTHORITY, REWIND]].concat()
}

/// Fights that an authority decides, in hosted rooms.
pub const AUTHORITY: Suite = Suite::new("authority", authority::run);

/// Matches of an authority that recomputes its last ticks.
pub const REWIND: Suite = Suite::new("rewind", authority::run_rewind);

/// The suite of that name.
pub fn suite(name: &str) -> Option<Suite> {
    suites().into_iter().find(|suite| suite.name() == name)
}
