//! `Store`: what must survive a restart or be shared by several lobbies. Versioned records in tables, written together or not at all, watched, claimed and expired;
//! [`Sqlite`] for one lobby, [`Postgres`] for several.
//!
//! The store knows nothing of rooms. Rooms, places (whose name is where), invite codes, lobbies, matchmaking tickets and ratings are all records: a key, a
//! version that counts its writes, a state by which it can be claimed, a payload that the store does not read, and perhaps a time at which it expires.

mod postgres;
mod sqlite;
#[cfg(test)]
mod suite;

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use tokio::sync::mpsc;

pub use postgres::Postgres;
pub use sqlite::Sqlite;

/// Longest key or state, in bytes.
pub const MAX_KEY_BYTES: usize = 256;
/// Largest payload, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 512 * 1024;
/// Most writes of one commit.
pub const MAX_WRITES: usize = 256;
/// Changes that wait for a watcher before it is told to look at everything again.
const WATCH_QUEUE: usize = 4096;

/// Which records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Table {
    /// What all lobbies of the store have in common.
    Meta,
    /// Rooms, by their id.
    Rooms,
    /// Where the holder of a name is, by the folded name.
    Places,
    /// Which room a code lets into.
    Codes,
    /// Lobbies that are alive.
    Lobbies,
    /// Matchmaking tickets.
    Tickets,
    /// Ratings of players.
    Ratings,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 7] = [
        Self::Meta,
        Self::Rooms,
        Self::Places,
        Self::Codes,
        Self::Lobbies,
        Self::Tickets,
        Self::Ratings,
    ];

    /// Its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Rooms => "rooms",
            Self::Places => "places",
            Self::Codes => "codes",
            Self::Lobbies => "lobbies",
            Self::Tickets => "tickets",
            Self::Ratings => "ratings",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }
}

/// A record as it is in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Its key in its table.
    pub key: String,
    /// How often it was written since it was made; claiming counts too.
    pub version: u64,
    /// By which it can be claimed.
    pub state: String,
    /// What it says.
    pub payload: Vec<u8>,
    /// Who has claimed it.
    pub claimed_by: Option<String>,
    /// Until when the claim holds, in milliseconds since 1970-01-01 UTC.
    pub claimed_until_ms: Option<u64>,
    /// When it may be removed, in milliseconds since 1970-01-01 UTC.
    pub expires_ms: Option<u64>,
}

/// What a write expects to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// No record.
    Absent,
    /// The record with this version.
    Version(u64),
    /// Whatever there is.
    Any,
}

/// The new content of a record. Writing ends a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// By which it can be claimed.
    pub state: String,
    /// What it says.
    pub payload: Vec<u8>,
    /// When it may be removed, in milliseconds since 1970-01-01 UTC.
    pub expires_ms: Option<u64>,
}

/// One change of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Of which table.
    pub table: Table,
    /// Of which record.
    pub key: String,
    /// What it replaces.
    pub expect: Expect,
    /// What it becomes; none: it is removed.
    pub content: Option<Content>,
}

/// Whose records are claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Of which table.
    pub table: Table,
    /// In which state.
    pub state: String,
    /// By whom.
    pub by: String,
    /// Now, in milliseconds since 1970-01-01 UTC: older claims may have run out.
    pub now_ms: u64,
    /// Until when the claim holds.
    pub until_ms: u64,
    /// How many at most, the oldest first.
    pub limit: u32,
}

/// What a watcher hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A record was written or claimed, and has this version; or it was removed.
    Record(Table, String, Option<u64>),
    /// Changes may have been missed: look at everything again.
    Missed,
}

/// Why a commit changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A record is not what a write expected.
    #[error("the record {key} of the table {} is not what was expected: read it and decide again", table.name())]
    Conflict {
        /// Of which table.
        table: Table,
        /// Of which record.
        key: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why the store does not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be reached, or was lost while something was under way, which may or may not be done.
    #[error(
        "the store cannot be reached ({0}): check that the database runs and can be written to"
    )]
    Unavailable(String),
    /// A key, a payload or a commit exceeds its limit.
    #[error(
        "a key has at most {MAX_KEY_BYTES} bytes, a payload {MAX_PAYLOAD_BYTES}, a commit {MAX_WRITES} writes"
    )]
    TooLarge,
    /// Too much is waiting.
    #[error("too much is waiting for the store: try again later")]
    Busy,
    /// Another lobby has the file open.
    #[error("another program uses this file: a file is for one lobby, several need PostgreSQL")]
    InUse,
    /// The database is of a newer version of this program.
    #[error(
        "the database has schema {found}, this program knows {known}: use a newer version of it"
    )]
    Schema {
        /// In the database.
        found: i64,
        /// In this program.
        known: i64,
    },
}

/// An answer that is on its way.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where records are kept. See the [module](self).
pub trait Store: Send + Sync + Debug {
    /// Makes all writes, or none. When it has answered they survive the end of the program, and of the machine if the database is set up for that.
    fn commit(&self, writes: Vec<Write>) -> Answer<'_, Result<(), CommitError>>;

    /// One record.
    fn load(&self, table: Table, key: String) -> Answer<'_, Result<Option<Record>, StoreError>>;

    /// The records of a table in the order of their keys, after one of them; at most `limit`.
    fn list(
        &self,
        table: Table,
        after: String,
        limit: u32,
    ) -> Answer<'_, Result<Vec<Record>, StoreError>>;

    /// Claims records that nobody else has claimed, without waiting for anybody. Who claims has the versions that it needs to write them.
    fn claim(&self, claim: Claim) -> Answer<'_, Result<Vec<Record>, StoreError>>;

    /// Removes records whose time is over, and says which; at most `limit`.
    fn expire(
        &self,
        table: Table,
        now_ms: u64,
        limit: u32,
    ) -> Answer<'_, Result<Vec<String>, StoreError>>;

    /// Hears of every change from now on, whichever lobby makes it; also of its own.
    fn watch(&self) -> mpsc::Receiver<Change>;

    /// Whether other lobbies may write to it.
    fn is_shared(&self) -> bool;
}

/// Whether a commit keeps the limits.
fn check(writes: &[Write]) -> Result<(), StoreError> {
    let sound = |write: &Write| {
        let content = write.content.as_ref();
        (1..=MAX_KEY_BYTES).contains(&write.key.len())
            && content.is_none_or(|content| {
                content.payload.len() <= MAX_PAYLOAD_BYTES && content.state.len() <= MAX_KEY_BYTES
            })
    };
    let sound = writes.len() <= MAX_WRITES && writes.iter().all(sound);
    sound.then_some(()).ok_or(StoreError::TooLarge)
}

/// Who watches a store, in this program.
#[derive(Debug, Default)]
struct Watchers(std::sync::Mutex<Vec<Watcher>>);

#[derive(Debug)]
struct Watcher {
    to: mpsc::Sender<Change>,
    missed: bool,
}

impl Watchers {
    fn watch(&self) -> mpsc::Receiver<Change> {
        let (to, changes) = mpsc::channel(WATCH_QUEUE);
        self.lock().push(Watcher { to, missed: false });
        changes
    }

    /// Tells everybody, without waiting: whoever is too slow hears that it missed something.
    fn tell(&self, changes: &[Change]) {
        self.lock().retain_mut(|watcher| {
            for change in changes {
                if watcher.missed {
                    match watcher.to.try_send(Change::Missed) {
                        Ok(()) => watcher.missed = false,
                        Err(_) => break,
                    }
                }
                if watcher.to.try_send(change.clone()).is_err() {
                    watcher.missed = true;
                }
            }
            !watcher.to.is_closed()
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Watcher>> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
