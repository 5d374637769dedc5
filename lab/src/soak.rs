//! The soak suites: those of `samestep-sim`, and those that play games of this repository.

mod authority;

use samestep_sim::Suite;

/// Every suite there is.
pub const SUITES: [Suite; 6] = [
    Suite::PROTOCOL,
    Suite::SESSIONS,
    Suite::ACTIONS,
    Suite::LOCKSTEP,
    Suite::ROLLBACK,
    AUTHORITY,
];

/// Fights that an authority decides, in hosted rooms.
pub const AUTHORITY: Suite = Suite::new("authority", authority::run);

/// The suite of that name.
pub fn suite(name: &str) -> Option<Suite> {
    SUITES.into_iter().find(|suite| suite.name() == name)
}
