//! Checkers for the promises of the protocol and of sessions.
//!
//! Each is a small type that is told what was sent, received or closed and says what is wrong with it. The
//! [`Referee`](crate::Referee) feeds them from a whole world; `tests/broken.rs` shows that each one finds its fault.

mod actions;
mod close;
mod delivery;
mod events;
mod life;
mod memory;
mod origin;
mod progress;
mod report;
mod room;

pub use actions::{Action, ConfirmedActions, Part, UnconfirmedActions};
pub use close::CloseReasons;
pub use delivery::{AtMostOnce, ExactlyOnce, InOrder, NeverBack};
pub use events::ResolvedOnce;
pub use life::Life;
pub use memory::BoundedMemory;
pub use origin::Origin;
pub use progress::Progress;
pub use report::HonestReports;
pub(crate) use room::difference;
pub use room::{Agreement, RoomView, no_ghosts, same_place};

use std::fmt;
use std::time::Duration;

/// What the protocol and sessions promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// An unreliable message arrives at most once.
    AtMostOnce,
    /// A reliable message arrives, and only once.
    ExactlyOnce,
    /// Messages of an ordered channel arrive in the order sent, none left out.
    InOrder,
    /// A sequenced message never arrives after a newer one.
    NeverBack,
    /// Everything received was sent by that peer, on that connection and channel, with these bytes.
    NothingFromStrangers,
    /// Once the network heals, everything reliable arrives and both ends agree on which connections exist.
    Progress,
    /// An endpoint's memory stays within its limit.
    BoundedMemory,
    /// The reason given when closing is the one the peer sees.
    CloseReasons,
    /// A connection opens once, closes once, and carries messages only in between.
    LifeCycle,
    /// A message reported as acknowledged did arrive, and is reported once.
    HonestReports,
    /// Sessions that have come equally far in a room's log see the same room, and soon all have come equally far.
    Agreement,
    /// Who returns in time is who it was and plays where it played.
    Places,
    /// Nobody is listed who is gone, and nobody is there unlisted.
    NoGhosts,
    /// Of a room that falls apart one part goes on at most, under one authority.
    OneGame,
    /// A session's events tell a life that makes sense.
    SessionLife,
    /// A confirmed action takes place once at everyone, or is denied once.
    Confirmed,
    /// An unconfirmed action takes place at once where it is done, then once everywhere or is taken back.
    Unconfirmed,
    /// Exact variables: no change is lost that somebody was told of, none is made twice, all see one sequence, and each has one owner.
    Variables,
    /// Everyone who plays has the same state at every tick.
    SameState,
    /// Once the network heals, everyone has soon what the authority has.
    Converges,
    /// What a game predicts is confirmed or cancelled, once, and what is confirmed is the same for everyone.
    Events,
    /// Once the network heals, everyone plays on; where nobody waits for the network, before that too.
    GoesOn,
}

impl Promise {
    /// The breach of this promise, noticed at this time.
    pub fn breach(self, at: Duration, what: String) -> Breach {
        Breach {
            at,
            promise: self,
            what,
        }
    }
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// World time at which it was noticed.
    pub at: Duration,
    /// Which promise.
    pub promise: Promise,
    /// Who and what, in words.
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at {:.6} s, {:?}: {}",
            self.at.as_secs_f64(),
            self.promise,
            self.what
        )
    }
}

impl std::error::Error for Breach {}

/// Numbers seen so far, as bits.
#[derive(Clone, Debug, Default)]
struct Seen {
    bits: Vec<u64>,
    count: u32,
}

impl Seen {
    /// Whether `number` is new.
    fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        let new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        self.count += u32::from(new);
        new
    }

    fn contains(&self, number: u32) -> bool {
        self.bits
            .get(number as usize / 64)
            .is_some_and(|word| word & 1 << (number % 64) != 0)
    }

    fn count(&self) -> u32 {
        self.count
    }

    /// The lowest number below `end` that was not seen.
    fn first_missing(&self, end: u32) -> Option<u32> {
        (0..end).find(|number| !self.contains(*number))
    }
}
