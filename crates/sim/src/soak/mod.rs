//! Thousands of random worlds, each from its own seed.

pub mod conditions;
mod game;
mod pausable;
mod players;
mod protocol;
mod rooms;

pub use pausable::Pausable;
pub use players::{Disturbance, SoakMatch, SoakProgram};
pub use rooms::{RoomFault, run_broken_room};

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::check::Breach;

/// Receives line by line what happens in a world.
pub type Trace<'t> = Option<&'t mut dyn FnMut(String)>;

/// The number of messages (or actions) in a world, and the first promise that was broken in it.
pub type Outcome = (u64, Result<(), Breach>);

/// A family of random worlds.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    name: &'static str,
    play: fn(u64, Trace<'_>) -> Outcome,
}

impl Suite {
    /// Endpoints alone: connecting, every kind of channel, moving, closing, dying, through all network conditions.
    pub const PROTOCOL: Suite = Suite::new("protocol", protocol::run);
    /// Rooms of both kinds whose members come and go, crash and return, and are cut off.
    pub const SESSIONS: Suite = Suite::new("sessions", |seed, trace| {
        rooms::run(rooms::Focus::Sessions, seed, None, trace)
    });
    /// Rooms of both kinds whose members act all the time.
    pub const ACTIONS: Suite = Suite::new("actions", |seed, trace| {
        rooms::run(rooms::Focus::Actions, seed, None, trace)
    });

    /// Matches of every model whose hosts die or leave.
    pub const MIGRATION: Suite = Suite::new("migration", crate::migration::run_random);

    /// Rooms whose members come, go and vanish while all change exact variables.
    pub const PEERS: Suite = Suite::new("peers", crate::owners::run_storm);

    /// A suite in which `play` runs the world of a seed.
    pub const fn new(name: &'static str, play: fn(u64, Trace<'_>) -> Outcome) -> Suite {
        Suite { name, play }
    }

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Runs the world of one seed: the number of messages (or actions) in it, and what went wrong.
    pub fn run(self, seed: u64) -> (u64, Result<(), String>) {
        self.play(seed, None)
    }

    /// Runs the world of one seed as [`run`](Suite::run) does, and traces what happens in it.
    pub fn replay(self, seed: u64, trace: &mut dyn FnMut(String)) -> (u64, Result<(), String>) {
        self.play(seed, Some(trace))
    }

    fn play(self, seed: u64, trace: Trace<'_>) -> (u64, Result<(), String>) {
        let (messages, result) = (self.play)(seed, trace);
        (messages, result.map_err(|breach| breach.to_string()))
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
                        .unwrap_or_else(|panic| {
                            (0, Err(format!("panicked: {}", message_of(&*panic))))
                        });
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

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_replays_from_its_seed() {
        assert_eq!(Suite::PROTOCOL.run(11), Suite::PROTOCOL.run(11));
        let report = soak(Suite::PROTOCOL, 11, 1, |_| ());
        assert_eq!(
            (report.worlds, report.messages),
            (1, Suite::PROTOCOL.run(11).0)
        );
    }
}
