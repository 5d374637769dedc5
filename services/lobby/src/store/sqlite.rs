//! `Sqlite`: the store of one lobby, in a file or in memory. One thread owns the connection, and makes what waits for it in one transaction.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use rusqlite::{Connection, OptionalExtension, Row, params};
use tokio::sync::{mpsc, oneshot};

use super::{
    Answer, Change, Claim, CommitError, Expect, Record, Store, StoreError, Table, Watchers, Write,
    check,
};

/// What may wait for the thread.
const QUEUE: usize = 8192;
/// What is made in one transaction.
const BATCH: usize = 128;
/// Schema by schema, from nothing to the newest.
const MIGRATIONS: [&str; 1] = [include_str!("sqlite_1.sql")];
const COLUMNS: &str = "key, version, state, payload, claimed_by, claimed_until_ms, expires_ms";

enum Command {
    Commit(Vec<Write>, oneshot::Sender<Result<(), CommitError>>),
    Load(
        Table,
        String,
        oneshot::Sender<Result<Option<Record>, StoreError>>,
    ),
    List(
        Table,
        String,
        u32,
        oneshot::Sender<Result<Vec<Record>, StoreError>>,
    ),
    Claim(Claim, oneshot::Sender<Result<Vec<Record>, StoreError>>),
    Expire(
        Table,
        u64,
        u32,
        oneshot::Sender<Result<Vec<String>, StoreError>>,
    ),
}

/// What was done in a transaction and is said after it.
enum Done {
    Commit(
        Result<(), CommitError>,
        oneshot::Sender<Result<(), CommitError>>,
    ),
    Load(
        Result<Option<Record>, StoreError>,
        oneshot::Sender<Result<Option<Record>, StoreError>>,
    ),
    Records(
        Result<Vec<Record>, StoreError>,
        oneshot::Sender<Result<Vec<Record>, StoreError>>,
    ),
    Keys(
        Result<Vec<String>, StoreError>,
        oneshot::Sender<Result<Vec<String>, StoreError>>,
    ),
}

/// SQLite, embedded. Clones share one connection, which ends with the last of them.
#[derive(Clone, Debug)]
pub struct Sqlite {
    commands: SyncSender<Command>,
    watchers: Arc<Watchers>,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
                Self::InUse
            }
            _ => Self::Unavailable(error.to_string()),
        }
    }
}

impl Sqlite {
    /// A store that ends with the program.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] without memory or threads.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::start(Connection::open_in_memory()?)
    }

    /// The store in a file, which is made if it is not there. A commit is on the disk when it has answered.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another program has it, [`StoreError::Schema`] if it is of a newer version, [`StoreError::Unavailable`] if it
    /// cannot be written.
    pub fn open(file: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(file)?;
        connection.busy_timeout(std::time::Duration::from_millis(200))?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Self::start(connection)
    }

    fn start(mut connection: Connection) -> Result<Self, StoreError> {
        migrate(&mut connection)?;
        let (commands, waiting) = sync_channel(QUEUE);
        let watchers = Arc::new(Watchers::default());
        let told = Arc::clone(&watchers);
        let thread = thread::Builder::new().name("lobby-store".into());
        let spawned = thread.spawn(move || serve(&mut connection, &waiting, &told));
        spawned.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { commands, watchers })
    }

    /// Has the thread do something.
    fn ask<T: Send + 'static, E: From<StoreError> + Send + 'static>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, E>>) -> Command,
    ) -> Answer<'_, Result<T, E>> {
        let (to, answer) = oneshot::channel();
        let sent = self.commands.try_send(command(to));
        Box::pin(async move {
            sent.or(Err(StoreError::Busy))?;
            let ended = |_| StoreError::Unavailable("its thread has ended".into());
            answer.await.map_err(ended)?
        })
    }
}

impl Store for Sqlite {
    fn commit(&self, writes: Vec<Write>) -> Answer<'_, Result<(), CommitError>> {
        self.ask(|to| Command::Commit(writes, to))
    }

    fn load(&self, table: Table, key: String) -> Answer<'_, Result<Option<Record>, StoreError>> {
        self.ask(|to| Command::Load(table, key, to))
    }

    fn list(
        &self,
        table: Table,
        after: String,
        limit: u32,
    ) -> Answer<'_, Result<Vec<Record>, StoreError>> {
        self.ask(|to| Command::List(table, after, limit, to))
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Result<Vec<Record>, StoreError>> {
        self.ask(|to| Command::Claim(claim, to))
    }

    fn expire(
        &self,
        table: Table,
        now_ms: u64,
        limit: u32,
    ) -> Answer<'_, Result<Vec<String>, StoreError>> {
        self.ask(|to| Command::Expire(table, now_ms, limit, to))
    }

    fn watch(&self) -> mpsc::Receiver<Change> {
        self.watchers.watch()
    }

    fn is_shared(&self) -> bool {
        false
    }
}

fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = MIGRATIONS.len() as i64;
    if found > known {
        return Err(StoreError::Schema { found, known });
    }
    for migration in &MIGRATIONS[found as usize..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", known)?;
    transaction.commit()?;
    Ok(())
}

/// The thread: waits for a command, takes along what else waits, and answers when all of it is on the disk.
fn serve(connection: &mut Connection, waiting: &Receiver<Command>, watchers: &Watchers) {
    while let Ok(first) = waiting.recv() {
        let more = std::iter::from_fn(|| waiting.try_recv().ok()).take(BATCH - 1);
        let commands: Vec<_> = std::iter::once(first).chain(more).collect();
        let mut changes = Vec::new();
        let begun = connection.execute_batch("BEGIN IMMEDIATE");
        let done: Vec<_> = commands
            .into_iter()
            .map(|command| run(connection, command, &mut changes))
            .collect();
        let ended = begun.and_then(|()| connection.execute_batch("COMMIT"));
        let failure = ended.err().map(StoreError::from);
        if failure.is_some() {
            let _ = connection.execute_batch("ROLLBACK");
        } else {
            watchers.tell(&changes);
        }
        for done in done {
            answer(done, failure.as_ref());
        }
    }
}

fn answer(done: Done, failure: Option<&StoreError>) {
    fn or<T, E: From<StoreError>>(
        result: Result<T, E>,
        failure: Option<&StoreError>,
    ) -> Result<T, E> {
        match failure {
            Some(failure) => Err(failure.clone().into()),
            None => result,
        }
    }
    // Who asked may have gone.
    match done {
        Done::Commit(result, to) => drop(to.send(or(result, failure))),
        Done::Load(result, to) => drop(to.send(or(result, failure))),
        Done::Records(result, to) => drop(to.send(or(result, failure))),
        Done::Keys(result, to) => drop(to.send(or(result, failure))),
    }
}

fn run(connection: &Connection, command: Command, changes: &mut Vec<Change>) -> Done {
    match command {
        Command::Commit(writes, to) => Done::Commit(commit(connection, &writes, changes), to),
        Command::Load(table, key, to) => {
            Done::Load(load(connection, table, &key).map_err(Into::into), to)
        }
        Command::List(table, after, limit, to) => Done::Records(
            list(connection, table, &after, limit).map_err(Into::into),
            to,
        ),
        Command::Claim(claim, to) => {
            Done::Records(take(connection, &claim, changes).map_err(Into::into), to)
        }
        Command::Expire(table, now_ms, limit, to) => Done::Keys(
            expire(connection, table, now_ms, limit, changes).map_err(Into::into),
            to,
        ),
    }
}

/// Within a savepoint, so that a commit that fails in the middle leaves the others of the batch alone.
fn commit(
    connection: &Connection,
    writes: &[Write],
    changes: &mut Vec<Change>,
) -> Result<(), CommitError> {
    check(writes)?;
    let sql = |result: rusqlite::Result<()>| result.map_err(StoreError::from);
    sql(connection.execute_batch("SAVEPOINT one"))?;
    for write in writes {
        match put(connection, write) {
            Ok(true) => {}
            outcome => {
                sql(connection.execute_batch("ROLLBACK TO one; RELEASE one"))?;
                return Err(match outcome {
                    Err(error) => StoreError::from(error).into(),
                    Ok(_) => CommitError::Conflict {
                        table: write.table,
                        key: write.key.clone(),
                    },
                });
            }
        }
    }
    sql(connection.execute_batch("RELEASE one"))?;
    for write in writes {
        let version = load_version(connection, write).map_err(StoreError::from)?;
        let version = version.map(|version| version as u64);
        changes.push(Change::Record(write.table, write.key.clone(), version));
    }
    Ok(())
}

/// Makes a write, if the record is what it expects.
fn put(connection: &Connection, write: &Write) -> rusqlite::Result<bool> {
    let (table, key) = (write.table.name(), &write.key);
    let Some(content) = &write.content else {
        let mut delete = connection.prepare_cached(
            "DELETE FROM records WHERE kind = ?1 AND key = ?2 AND (?3 IS NULL OR version = ?3)",
        )?;
        return Ok(match write.expect {
            Expect::Any => delete.execute(params![table, key, None::<i64>]).is_ok(),
            Expect::Version(version) => delete.execute(params![table, key, version as i64])? == 1,
            Expect::Absent => load_version(connection, write)?.is_none(),
        });
    };
    let expires = content.expires_ms.map(|ms| ms as i64);
    let changed = match write.expect {
        Expect::Version(version) => {
            let mut update = connection.prepare_cached(
                "UPDATE records SET version = version + 1, state = ?4, payload = ?5, expires_ms = ?6, claimed_by = NULL, claimed_until_ms = NULL WHERE kind = ?1 AND key = ?2 AND version = ?3",
            )?;
            update.execute(params![
                table,
                key,
                version as i64,
                content.state,
                content.payload,
                expires
            ])?
        }
        Expect::Absent => {
            let mut insert = connection.prepare_cached(
                "INSERT INTO records (kind, key, state, payload, expires_ms) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
            )?;
            insert.execute(params![table, key, content.state, content.payload, expires])?
        }
        Expect::Any => {
            let mut upsert = connection.prepare_cached(
                "INSERT INTO records (kind, key, state, payload, expires_ms) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET version = version + 1, state = ?3, payload = ?4, expires_ms = ?5, claimed_by = NULL, claimed_until_ms = NULL",
            )?;
            upsert.execute(params![table, key, content.state, content.payload, expires])?
        }
    };
    Ok(changed == 1)
}

fn load_version(connection: &Connection, write: &Write) -> rusqlite::Result<Option<i64>> {
    let mut select =
        connection.prepare_cached("SELECT version FROM records WHERE kind = ?1 AND key = ?2")?;
    select
        .query_row(params![write.table.name(), write.key], |row| row.get(0))
        .optional()
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let ms = |index| {
        row.get::<_, Option<i64>>(index)
            .map(|ms| ms.map(|ms| ms as u64))
    };
    Ok(Record {
        key: row.get(0)?,
        version: row.get::<_, i64>(1)? as u64,
        state: row.get(2)?,
        payload: row.get(3)?,
        claimed_by: row.get(4)?,
        claimed_until_ms: ms(5)?,
        expires_ms: ms(6)?,
    })
}

fn load(connection: &Connection, table: Table, key: &str) -> rusqlite::Result<Option<Record>> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM records WHERE kind = ?1 AND key = ?2"
    ))?;
    select
        .query_row(params![table.name(), key], record)
        .optional()
}

fn list(
    connection: &Connection,
    table: Table,
    after: &str,
    limit: u32,
) -> rusqlite::Result<Vec<Record>> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM records WHERE kind = ?1 AND key > ?2 ORDER BY key LIMIT ?3"
    ))?;
    select
        .query_map(params![table.name(), after, limit], record)?
        .collect()
}

fn take(
    connection: &Connection,
    claim: &Claim,
    changes: &mut Vec<Change>,
) -> rusqlite::Result<Vec<Record>> {
    let mut update = connection.prepare_cached(&format!(
        "UPDATE records SET version = version + 1, claimed_by = ?3, claimed_until_ms = ?5 WHERE kind = ?1 AND key IN (SELECT key FROM records WHERE kind = ?1 AND state = ?2 AND (claimed_until_ms IS NULL OR claimed_until_ms <= ?4) AND (expires_ms IS NULL OR expires_ms > ?4) ORDER BY number LIMIT ?6) RETURNING {COLUMNS}"
    ))?;
    let (now, until) = (claim.now_ms as i64, claim.until_ms as i64);
    let wanted = params![
        claim.table.name(),
        claim.state,
        claim.by,
        now,
        until,
        claim.limit
    ];
    let records: Vec<_> = update
        .query_map(wanted, record)?
        .collect::<Result<_, _>>()?;
    changes.extend(
        records
            .iter()
            .map(|record| Change::Record(claim.table, record.key.clone(), Some(record.version))),
    );
    Ok(records)
}

fn expire(
    connection: &Connection,
    table: Table,
    now_ms: u64,
    limit: u32,
    changes: &mut Vec<Change>,
) -> rusqlite::Result<Vec<String>> {
    let mut delete = connection.prepare_cached(
        "DELETE FROM records WHERE kind = ?1 AND key IN (SELECT key FROM records WHERE kind = ?1 AND expires_ms <= ?2 ORDER BY expires_ms LIMIT ?3) RETURNING key",
    )?;
    let keys: Vec<String> = delete
        .query_map(params![table.name(), now_ms as i64, limit], |row| {
            row.get(0)
        })?
        .collect::<Result<_, _>>()?;
    changes.extend(
        keys.iter()
            .map(|key| Change::Record(table, key.clone(), None)),
    );
    Ok(keys)
}
