//! Thousands of random worlds, each from its own seed.

mod authority;
mod game;
mod protocol;
mod rooms;
mod sleeper;
mod weather;

pub use rooms::RoomFault;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use samestep_sync::{LockstepConfig, RollbackConfig, Snapshot, StateSync};

use crate::check::Breach;

/// A family of random worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// Endpoints alone: connecting, every kind of channel, moving, closing, dying, through all weathers.
    Protocol,
    /// Rooms of both kinds whose members come and go, crash and return, and are cut off.
    Sessions,
    /// Rooms of both kinds whose members act all the time.
    Actions,
    /// Games in lockstep, in rooms of both kinds.
    Lockstep,
    /// Games that go ahead of what is known, in rooms of both kinds.
    Rollback,
    /// Fights that an authority decides, in hosted rooms.
    Authority,
}

impl Suite {
    /// All suites.
    pub const ALL: [Suite; 6] = [
        Suite::Protocol,
        Suite::Sessions,
        Suite::Actions,
        Suite::Lockstep,
        Suite::Rollback,
        Suite::Authority,
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Suite::Protocol => "protocol",
            Suite::Sessions => "sessions",
            Suite::Actions => "actions",
            Suite::Lockstep => "lockstep",
            Suite::Rollback => "rollback",
            Suite::Authority => "authority",
        }
    }

    /// The suite of that name.
    pub fn named(name: &str) -> Option<Suite> {
        Suite::ALL.into_iter().find(|suite| suite.name() == name)
    }

    /// Runs the world of one seed: the number of messages (or actions) in it, and what went wrong.
    pub fn run(self, seed: u64) -> (u64, Result<(), String>) {
        self.play(seed, None)
    }

    /// Runs the world of one seed as [`run`](Suite::run) does, telling `trace` line by line what happens in it.
    pub fn replay(self, seed: u64, trace: &mut dyn FnMut(String)) -> (u64, Result<(), String>) {
        self.play(seed, Some(trace))
    }

    fn play(self, seed: u64, trace: Option<&mut dyn FnMut(String)>) -> (u64, Result<(), String>) {
        match self {
            Suite::Protocol => protocol::run(seed, trace),
            Suite::Authority => {
                let (given, result) = match seed % 2 {
                    0 => authority::run::<StateSync>(seed, trace),
                    _ => authority::run::<Snapshot>(seed, trace),
                };
                (given, result.map_err(|breach| breach.to_string()))
            }
            Suite::Sessions | Suite::Actions => {
                let (acted, result) = rooms::run(self.focus(), seed, None, trace);
                (acted, result.map_err(|breach| breach.to_string()))
            }
            Suite::Lockstep | Suite::Rollback => {
                // In every fourth game a state is spoiled at the end, to be found and repaired.
                let spoil = seed % 4 == 3;
                let (given, result) = match self {
                    Suite::Rollback => game::run::<RollbackConfig>(seed, spoil, trace),
                    _ => game::run::<LockstepConfig>(seed, spoil, trace),
                };
                (given, result.map_err(|breach| breach.to_string()))
            }
        }
    }

    /// Runs the room of one seed with a fault in one of its members, to see it found.
    ///
    /// # Panics
    /// If this is not a suite of rooms.
    pub fn run_broken(self, seed: u64, fault: RoomFault) -> Result<(), Breach> {
        rooms::run(self.focus(), seed, Some(fault), None).1
    }

    fn focus(self) -> rooms::Focus {
        match self {
            Suite::Protocol | Suite::Lockstep | Suite::Rollback | Suite::Authority => {
                panic!("not a suite of rooms")
            }
            Suite::Sessions => rooms::Focus::Sessions,
            Suite::Actions => rooms::Focus::Actions,
        }
    }
}

/// What a [`soak()`] found. Displays as one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoakReport {
    /// Worlds run.
    pub worlds: u64,
    /// Messages sent in all of them.
    pub messages: u64,
    /// The worlds in which a promise was broken, in order of their seeds.
    pub failures: Vec<Failure>,
}

/// A world in which something went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The seed that replays it.
    pub seed: u64,
    /// When, who and what.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}", self.seed, self.what)
    }
}

impl fmt::Display for SoakReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} worlds, {} messages, {} failures",
            self.worlds,
            self.messages,
            self.failures.len()
        )
    }
}

/// Runs `count` worlds with the seeds `base_seed`, `base_seed + 1`, … on all processors.
///
/// `progress` is called after every world with the report so far; its failures are in order of discovery, those of the
/// returned report in order of seeds. A panic in a world is a failure of that world. Which thread runs a world makes no
/// difference to it.
pub fn soak(
    suite: Suite,
    base_seed: u64,
    count: u64,
    mut progress: impl FnMut(&SoakReport),
) -> SoakReport {
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(count.max(1) as usize);
    let next = AtomicU64::new(0);
    let (sender, results) = mpsc::channel();
    let mut report = SoakReport::default();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let seed = base_seed.wrapping_add(index);
                    let outcome = catch_unwind(AssertUnwindSafe(|| suite.run(seed)))
                        .unwrap_or_else(|panic| (0, Err(format!("panicked: {}", words(&*panic)))));
                    if sender.send((seed, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (seed, (messages, outcome)) in results {
            report.worlds += 1;
            report.messages += messages;
            report
                .failures
                .extend(outcome.err().map(|what| Failure { seed, what }));
            progress(&report);
        }
    });
    report
        .failures
        .sort_by_key(|failure| failure.seed.wrapping_sub(base_seed));
    report
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without words")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_found_by_name() {
        assert_eq!(Suite::named("protocol"), Some(Suite::Protocol));
        assert_eq!(Suite::named("weather"), None);
    }

    #[test]
    fn a_world_replays_from_its_seed() {
        assert_eq!(Suite::Protocol.run(11), Suite::Protocol.run(11));
        let report = soak(Suite::Protocol, 11, 1, |_| ());
        assert_eq!(
            (report.worlds, report.messages),
            (1, Suite::Protocol.run(11).0)
        );
    }
}
