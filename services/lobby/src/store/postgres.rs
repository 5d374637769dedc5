//! `Postgres`: the store that several lobbies share. A commit is one call of a function in the database; claims skip what others hold; changes are heard by `LISTEN`.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio_postgres::{AsyncMessage, Client, NoTls, Row, Statement};

use super::{
    Answer, Change, Claim, CommitError, Expect, Record, Store, StoreError, Table, Watchers, Write,
    check,
};

const MIGRATIONS: [&str; 1] = [include_str!("postgres_1.sql")];
const COLUMNS: &str = "key, version, state, payload, claimed_by, claimed_until_ms, expires_ms";
/// Held while the schema is made, so that lobbies that start together do not both make it. Any number that others do not use.
const MIGRATION_LOCK: i64 = 0x5341_4d45_5354_4550;
/// Raised by `samestep_commit` if a record is not what a write expects.
const CONFLICT: &str = "SS001";
/// How long the database may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait before connecting again.
const AGAIN: Duration = Duration::from_millis(250);

/// A connection and what was prepared on it.
#[derive(Debug)]
struct Prepared {
    client: Client,
    commit: Statement,
    load: Statement,
    list: Statement,
    claim: Statement,
    expire: Statement,
}

/// PostgreSQL, version 13 or newer. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Postgres {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: tokio_postgres::Config,
    /// Replaced when it is lost.
    prepared: Mutex<Option<Arc<Prepared>>>,
    watchers: Watchers,
}

fn lost(error: &tokio_postgres::Error) -> StoreError {
    let cause = error.as_db_error().map(ToString::to_string);
    let words = cause.unwrap_or_else(|| {
        let below = std::error::Error::source(error).map(ToString::to_string);
        below.map_or_else(|| error.to_string(), |below| format!("{error}: {below}"))
    });
    StoreError::Unavailable(words)
}

impl Postgres {
    /// The database that a URL (`postgres://user:password@host/database`) or a list of settings (`host=/run/postgresql dbname=lobby`) names. Its
    /// tables are made if they are not there.
    ///
    /// The connection is not encrypted: use a socket, a private network or a tunnel.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if it cannot be reached, [`StoreError::Schema`] if it is of a newer version of this program.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        let config = tokio_postgres::Config::from_str(url);
        let mut config = config.map_err(|error| lost(&error))?;
        config.connect_timeout(PATIENCE);
        let mut client = open(&config).await?.0;
        migrate(&mut client).await?;
        let shared = Arc::new(Shared {
            config,
            prepared: Mutex::new(None),
            watchers: Watchers::default(),
        });
        shared.prepared().await?;
        let listening = listen(&shared.config).await?;
        tokio::spawn(hear(Arc::downgrade(&shared), listening));
        Ok(Self { shared })
    }
}

/// Waits for the database, but not for ever.
async fn patiently<T>(
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<Result<T, tokio_postgres::Error>, StoreError> {
    let slow = |_| StoreError::Unavailable("it does not answer".into());
    tokio::time::timeout(PATIENCE, work).await.map_err(slow)
}

type Messages = mpsc::Receiver<AsyncMessage>;

/// A connection, and what the database says on it unasked.
async fn open(config: &tokio_postgres::Config) -> Result<(Client, Messages), StoreError> {
    let (client, mut connection) = config.connect(NoTls).await.map_err(|error| lost(&error))?;
    let (to, messages) = mpsc::channel(4096);
    tokio::spawn(async move {
        loop {
            match std::future::poll_fn(|context| connection.poll_message(context)).await {
                // Whoever listens takes what comes; on other connections nobody does.
                Some(Ok(message)) => {
                    if !to.is_closed() {
                        let _ = to.send(message).await;
                    }
                }
                Some(Err(error)) => {
                    tracing::warn!(%error, "a connection to PostgreSQL is lost");
                    break;
                }
                None => break,
            }
        }
    });
    Ok((client, messages))
}

async fn migrate(client: &mut Client) -> Result<(), StoreError> {
    let run = async {
        let transaction = client.transaction().await?;
        transaction
            .execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK])
            .await?;
        transaction
            .batch_execute("CREATE TABLE IF NOT EXISTS samestep_schema (version BIGINT NOT NULL)")
            .await?;
        let row = transaction
            .query_one("SELECT coalesce(max(version), 0) FROM samestep_schema", &[])
            .await?;
        let (found, known) = (row.get::<_, i64>(0), MIGRATIONS.len() as i64);
        if found > known {
            return Ok(Err(StoreError::Schema { found, known }));
        }
        for migration in &MIGRATIONS[found as usize..] {
            transaction.batch_execute(migration).await?;
        }
        if found < known {
            transaction
                .execute("INSERT INTO samestep_schema VALUES ($1)", &[&known])
                .await?;
        }
        transaction.commit().await.map(Ok)
    };
    run.await
        .map_err(|error: tokio_postgres::Error| lost(&error))?
}

async fn listen(config: &tokio_postgres::Config) -> Result<(Client, Messages), StoreError> {
    let (client, messages) = open(config).await?;
    let listening = client.batch_execute("LISTEN samestep_lobby").await;
    listening.map_err(|error| lost(&error))?;
    Ok((client, messages))
}

/// Passes on what the database notifies of, as long as the store is used.
async fn hear(shared: std::sync::Weak<Shared>, mut listening: (Client, Messages)) {
    loop {
        // Woken now and then, to see whether anybody still uses the store.
        match tokio::time::timeout(Duration::from_secs(1), listening.1.recv()).await {
            Ok(Some(AsyncMessage::Notification(notification))) => {
                let Some(shared) = shared.upgrade() else {
                    return;
                };
                let change = read_change(notification.payload());
                if let Some(change) = change {
                    shared.watchers.tell(&[change]);
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                let Some(shared) = shared.upgrade() else {
                    return;
                };
                match listen(&shared.config).await {
                    Ok(again) => {
                        listening = again;
                        shared.watchers.tell(&[Change::Missed]);
                    }
                    Err(_) => tokio::time::sleep(AGAIN).await,
                }
            }
            Err(_) if shared.strong_count() == 0 => return,
            Err(_) => {}
        }
    }
}

/// A notification: table, version (0 for removed), key.
fn read_change(text: &str) -> Option<Change> {
    let mut fields = text.splitn(3, ' ');
    let table = Table::from_name(fields.next()?)?;
    let version = fields.next()?.parse().ok()?;
    let key = fields.next()?.to_owned();
    Some(Change::Record(table, key, (version > 0).then_some(version)))
}

impl Shared {
    async fn prepared(&self) -> Result<Arc<Prepared>, StoreError> {
        let mut prepared = self.prepared.lock().await;
        if let Some(prepared) = &*prepared
            && !prepared.client.is_closed()
        {
            return Ok(Arc::clone(prepared));
        }
        let (client, _) = open(&self.config).await?;
        let made = prepare(client).await.map_err(|error| lost(&error))?;
        Ok(Arc::clone(prepared.insert(Arc::new(made))))
    }
}

async fn prepare(client: Client) -> Result<Prepared, tokio_postgres::Error> {
    Ok(Prepared {
        commit: client.prepare("SELECT samestep_commit($1, $2, $3, $4, $5, $6)").await?,
        load: client.prepare(&format!("SELECT {COLUMNS} FROM samestep_records WHERE kind = $1 AND key = $2")).await?,
        list: client
            .prepare(&format!("SELECT {COLUMNS} FROM samestep_records WHERE kind = $1 AND key > $2 ORDER BY key LIMIT $3"))
            .await?,
        claim: client
            .prepare(&format!(
                "UPDATE samestep_records SET version = version + 1, claimed_by = $3, claimed_until_ms = $5 WHERE kind = $1 AND key IN (SELECT key FROM samestep_records WHERE kind = $1 AND state = $2 AND (claimed_until_ms IS NULL OR claimed_until_ms <= $4) AND (expires_ms IS NULL OR expires_ms > $4) ORDER BY number LIMIT $6 FOR UPDATE SKIP LOCKED) RETURNING {COLUMNS}"
            ))
            .await?,
        expire: client
            .prepare("DELETE FROM samestep_records WHERE kind = $1 AND key IN (SELECT key FROM samestep_records WHERE kind = $1 AND expires_ms <= $2 ORDER BY expires_ms LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING key")
            .await?,
        client,
    })
}

fn record(row: &Row) -> Record {
    let ms = |index| row.get::<_, Option<i64>>(index).map(|ms| ms as u64);
    Record {
        key: row.get(0),
        version: row.get::<_, i64>(1) as u64,
        state: row.get(2),
        payload: row.get(3),
        claimed_by: row.get(4),
        claimed_until_ms: ms(5),
        expires_ms: ms(6),
    }
}

impl Store for Postgres {
    fn commit(&self, mut writes: Vec<Write>) -> Answer<'_, Result<(), CommitError>> {
        Box::pin(async move {
            check(&writes)?;
            // All commits lock records in one order, so that none waits in a circle.
            writes.sort_by(|a, b| (a.table, &a.key).cmp(&(b.table, &b.key)));
            let kinds: Vec<_> = writes.iter().map(|write| write.table.name()).collect();
            let keys: Vec<_> = writes.iter().map(|write| write.key.as_str()).collect();
            let expected = writes.iter().map(|write| match write.expect {
                Expect::Absent => 0,
                Expect::Version(version) => version as i64,
                Expect::Any => -1,
            });
            let expected: Vec<i64> = expected.collect();
            let content = || writes.iter().map(|write| write.content.as_ref());
            let states: Vec<_> = content()
                .map(|content| content.map(|content| content.state.as_str()))
                .collect();
            let payloads: Vec<_> = content()
                .map(|content| content.map(|content| content.payload.as_slice()))
                .collect();
            let expiries: Vec<_> = content()
                .map(|content| Some(content?.expires_ms? as i64))
                .collect();
            let on = self.shared.prepared().await?;
            let outcome = patiently(on.client.execute(
                &on.commit,
                &[&kinds, &keys, &expected, &states, &payloads, &expiries],
            ))
            .await?;
            let Err(error) = outcome else {
                return Ok(());
            };
            let conflict = error
                .as_db_error()
                .filter(|error| error.code().code() == CONFLICT);
            let index = conflict.and_then(|error| error.message().parse::<usize>().ok());
            match index.and_then(|index| writes.get(index.checked_sub(1)?)) {
                Some(write) => Err(CommitError::Conflict {
                    table: write.table,
                    key: write.key.clone(),
                }),
                None => Err(lost(&error).into()),
            }
        })
    }

    fn load(&self, table: Table, key: String) -> Answer<'_, Result<Option<Record>, StoreError>> {
        Box::pin(async move {
            let on = self.shared.prepared().await?;
            let table = table.name();
            let row = patiently(on.client.query_opt(&on.load, &[&table, &key]))
                .await?
                .map_err(|error| lost(&error))?;
            Ok(row.as_ref().map(record))
        })
    }

    fn list(
        &self,
        table: Table,
        after: String,
        limit: u32,
    ) -> Answer<'_, Result<Vec<Record>, StoreError>> {
        Box::pin(async move {
            let limit = i64::from(limit);
            let on = self.shared.prepared().await?;
            let table = table.name();
            let rows = patiently(on.client.query(&on.list, &[&table, &after, &limit]))
                .await?
                .map_err(|error| lost(&error))?;
            Ok(rows.iter().map(record).collect())
        })
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Result<Vec<Record>, StoreError>> {
        Box::pin(async move {
            let (now, until, limit) = (
                claim.now_ms as i64,
                claim.until_ms as i64,
                i64::from(claim.limit),
            );
            let on = self.shared.prepared().await?;
            let table = claim.table.name();
            let rows = patiently(on.client.query(
                &on.claim,
                &[&table, &claim.state, &claim.by, &now, &until, &limit],
            ))
            .await?
            .map_err(|error| lost(&error))?;
            Ok(rows.iter().map(record).collect())
        })
    }

    fn expire(
        &self,
        table: Table,
        now_ms: u64,
        limit: u32,
    ) -> Answer<'_, Result<Vec<String>, StoreError>> {
        Box::pin(async move {
            let (now, limit) = (now_ms as i64, i64::from(limit));
            let on = self.shared.prepared().await?;
            let table = table.name();
            let rows = patiently(on.client.query(&on.expire, &[&table, &now, &limit]))
                .await?
                .map_err(|error| lost(&error))?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        })
    }

    fn watch(&self) -> mpsc::Receiver<Change> {
        self.shared.watchers.watch()
    }

    fn is_shared(&self) -> bool {
        true
    }
}
