//! One suite of tests for every store, run against the real thing: SQLite in memory and in a file, and a PostgreSQL server of our own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::{
    Change, Claim, CommitError, Content, Expect, Postgres, Record, Sqlite, Store, StoreError,
    Table, Write,
};
use crate::test_postgres::{Server, server};

fn put(table: Table, key: &str, expect: Expect, payload: &str) -> Write {
    let content = Content {
        state: "new".into(),
        payload: payload.into(),
        expires_ms: None,
    };
    Write {
        table,
        key: key.into(),
        expect,
        content: Some(content),
    }
}

fn delete(table: Table, key: &str, expect: Expect) -> Write {
    Write {
        table,
        key: key.into(),
        expect,
        content: None,
    }
}

fn conflict(table: Table, key: &str) -> Result<(), CommitError> {
    let key = key.to_owned();
    Err(CommitError::Conflict { table, key })
}

async fn payload(store: &dyn Store, table: Table, key: &str) -> Option<(u64, String)> {
    let record = store.load(table, key.into()).await.unwrap()?;
    Some((record.version, String::from_utf8(record.payload).unwrap()))
}

/// Everything that a store promises. `another` is the same store, as another lobby sees it.
async fn suite(store: Arc<dyn Store>, another: Arc<dyn Store>) {
    versions_and_conflicts(&*store).await;
    all_or_nothing(&*store).await;
    limits(&*store).await;
    lists(&*store).await;
    claims(&store, &another).await;
    expiry(&*store).await;
    watchers(&*store, &*another).await;
    races(&store, &another).await;
}

async fn versions_and_conflicts(store: &dyn Store) {
    let rooms = Table::Rooms;
    assert_eq!(store.load(rooms, "a".into()).await, Ok(None));
    assert_eq!(
        store
            .commit(vec![put(rooms, "a", Expect::Version(1), "1")])
            .await,
        conflict(rooms, "a")
    );
    assert_eq!(
        store
            .commit(vec![delete(rooms, "a", Expect::Version(1))])
            .await,
        conflict(rooms, "a")
    );
    assert_eq!(
        store
            .commit(vec![put(rooms, "a", Expect::Absent, "1")])
            .await,
        Ok(())
    );
    assert_eq!(
        store
            .commit(vec![put(rooms, "a", Expect::Absent, "2")])
            .await,
        conflict(rooms, "a")
    );
    assert_eq!(
        store.commit(vec![delete(rooms, "a", Expect::Absent)]).await,
        conflict(rooms, "a")
    );
    assert_eq!(payload(store, rooms, "a").await, Some((1, "1".into())));
    assert_eq!(
        payload(store, Table::Places, "a").await,
        None,
        "tables are apart"
    );
    assert_eq!(
        store
            .commit(vec![put(rooms, "a", Expect::Version(1), "2")])
            .await,
        Ok(())
    );
    assert_eq!(
        store
            .commit(vec![put(rooms, "a", Expect::Version(1), "3")])
            .await,
        conflict(rooms, "a")
    );
    assert_eq!(
        store.commit(vec![put(rooms, "a", Expect::Any, "4")]).await,
        Ok(())
    );
    assert_eq!(payload(store, rooms, "a").await, Some((3, "4".into())));
    assert_eq!(
        store
            .commit(vec![delete(rooms, "a", Expect::Version(3))])
            .await,
        Ok(())
    );
    assert_eq!(
        store
            .commit(vec![
                delete(rooms, "a", Expect::Any),
                delete(rooms, "b", Expect::Absent)
            ])
            .await,
        Ok(())
    );
    assert_eq!(
        store.commit(vec![put(rooms, "a", Expect::Any, "5")]).await,
        Ok(())
    );
    assert_eq!(payload(store, rooms, "a").await, Some((1, "5".into())));
    assert_eq!(
        store.commit(vec![delete(rooms, "a", Expect::Any)]).await,
        Ok(())
    );
}

async fn all_or_nothing(store: &dyn Store) {
    store
        .commit(vec![put(Table::Places, "taken", Expect::Absent, "")])
        .await
        .unwrap();
    let writes = vec![
        put(Table::Codes, "new", Expect::Absent, ""),
        put(Table::Places, "free", Expect::Absent, ""),
        put(Table::Places, "taken", Expect::Absent, ""),
        put(Table::Rooms, "new", Expect::Absent, ""),
    ];
    assert_eq!(store.commit(writes).await, conflict(Table::Places, "taken"));
    for (table, key) in [
        (Table::Codes, "new"),
        (Table::Places, "free"),
        (Table::Rooms, "new"),
    ] {
        assert_eq!(payload(store, table, key).await, None, "{key}");
    }
}

async fn limits(store: &dyn Store) {
    let too_large = Err(CommitError::Store(StoreError::TooLarge));
    let long = "x".repeat(super::MAX_KEY_BYTES + 1);
    assert_eq!(
        store
            .commit(vec![put(Table::Rooms, &long, Expect::Any, "")])
            .await,
        too_large
    );
    assert_eq!(
        store
            .commit(vec![put(Table::Rooms, "", Expect::Any, "")])
            .await,
        too_large
    );
    let large = "x".repeat(super::MAX_PAYLOAD_BYTES + 1);
    assert_eq!(
        store
            .commit(vec![put(Table::Rooms, "a", Expect::Any, &large)])
            .await,
        too_large
    );
    assert_eq!(store.commit(vec![]).await, Ok(()));
    let odd = "'; DROP TABLE records; -- \"ä%_";
    assert_eq!(
        store
            .commit(vec![put(Table::Ratings, odd, Expect::Absent, odd)])
            .await,
        Ok(())
    );
    assert_eq!(
        payload(store, Table::Ratings, odd).await,
        Some((1, odd.into()))
    );
}

async fn lists(store: &dyn Store) {
    for key in ["b", "Z", "a", "ä"] {
        store
            .commit(vec![put(Table::Meta, key, Expect::Absent, key)])
            .await
            .unwrap();
    }
    let keys = |records: Vec<Record>| {
        records
            .into_iter()
            .map(|record| record.key)
            .collect::<Vec<_>>()
    };
    let list = async |after: &str, limit| {
        keys(store.list(Table::Meta, after.into(), limit).await.unwrap())
    };
    assert_eq!(list("", 10).await, ["Z", "a", "b", "ä"], "byte by byte");
    assert_eq!(list("Z", 2).await, ["a", "b"]);
    assert_eq!(list("ä", 2).await, Vec::<String>::new());
}

fn claim(by: &str, now_ms: u64, limit: u32) -> Claim {
    Claim {
        table: Table::Tickets,
        state: "new".into(),
        by: by.into(),
        now_ms,
        until_ms: now_ms + 1000,
        limit,
    }
}

async fn claims(store: &Arc<dyn Store>, another: &Arc<dyn Store>) {
    for key in 0..40 {
        store
            .commit(vec![put(
                Table::Tickets,
                &format!("{key:02}"),
                Expect::Absent,
                "",
            )])
            .await
            .unwrap();
    }
    // Two lobbies claim at once, and none is claimed twice or left.
    let tasks = (0..8).map(|task| {
        let store = Arc::clone(if task % 2 == 0 { store } else { another });
        tokio::spawn(async move {
            store
                .claim(claim(&format!("lobby {task}"), 0, 5))
                .await
                .unwrap()
        })
    });
    let tasks: Vec<_> = tasks.collect();
    let mut claimed = BTreeSet::new();
    for task in tasks {
        for record in task.await.unwrap() {
            assert_eq!((record.version, record.claimed_until_ms), (2, Some(1000)));
            assert!(record.claimed_by.is_some_and(|by| by.starts_with("lobby")));
            assert!(claimed.insert(record.key), "claimed twice");
        }
    }
    // Who skips what is locked may find fewer at first.
    let rest = store.claim(claim("late", 0, 40)).await.unwrap();
    claimed.extend(rest.into_iter().map(|record| record.key));
    assert_eq!(claimed.len(), 40);
    assert_eq!(store.claim(claim("late", 999, 40)).await.unwrap(), []);
    // A claim runs out; whoever held it cannot write any more.
    let again = another.claim(claim("next", 1000, 1)).await.unwrap();
    let [record] = &again[..] else {
        panic!("{again:?}")
    };
    let stale = put(Table::Tickets, &record.key, Expect::Version(2), "stale");
    assert_eq!(
        store.commit(vec![stale]).await,
        conflict(Table::Tickets, &record.key)
    );
    // Writing ends the claim.
    let mut done = put(Table::Tickets, &record.key, Expect::Version(3), "done");
    done.content.as_mut().unwrap().state = "matched".into();
    assert_eq!(another.commit(vec![done]).await, Ok(()));
    let record = store
        .load(Table::Tickets, record.key.clone())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (record.version, record.claimed_by, &*record.state),
        (4, None, "matched")
    );
    assert_eq!(
        store.claim(claim("all", 2000, 100)).await.unwrap().len(),
        39
    );
}

async fn expiry(store: &dyn Store) {
    for (key, expires_ms) in [("soon", Some(10)), ("later", Some(20)), ("never", None)] {
        let mut write = put(Table::Lobbies, key, Expect::Absent, "");
        write.content.as_mut().unwrap().expires_ms = expires_ms;
        store.commit(vec![write]).await.unwrap();
    }
    assert_eq!(
        store.expire(Table::Lobbies, 9, 10).await.unwrap(),
        Vec::<String>::new()
    );
    assert_eq!(
        store.expire(Table::Lobbies, 10, 10).await.unwrap(),
        ["soon"]
    );
    assert_eq!(
        store.expire(Table::Lobbies, 1000, 10).await.unwrap(),
        ["later"]
    );
    assert_eq!(
        payload(store, Table::Lobbies, "never").await,
        Some((1, String::new()))
    );
}

async fn watchers(store: &dyn Store, another: &dyn Store) {
    let mut changes = another.watch();
    let writes = vec![
        put(Table::Rooms, "watched", Expect::Absent, ""),
        put(Table::Codes, "with space", Expect::Any, ""),
    ];
    store.commit(writes).await.unwrap();
    store
        .commit(vec![delete(Table::Rooms, "watched", Expect::Any)])
        .await
        .unwrap();
    let mut heard = Vec::new();
    while heard.len() < 3 {
        let change = tokio::time::timeout(Duration::from_secs(10), changes.recv());
        let change = change.await.expect("a change is heard").unwrap();
        // What was written before may be heard of later.
        if matches!(&change, Change::Record(Table::Rooms | Table::Codes, ..)) {
            heard.push(change);
        }
    }
    heard[..2].sort_by_key(|change| format!("{change:?}"));
    let record = |table, key: &str, version| Change::Record(table, key.into(), version);
    assert_eq!(
        heard,
        [
            record(Table::Codes, "with space", Some(1)),
            record(Table::Rooms, "watched", Some(1)),
            record(Table::Rooms, "watched", None)
        ]
    );
}

/// Two lobbies add to one counter and to another, in both orders, at once: no addition is lost and none waits for ever.
async fn races(store: &Arc<dyn Store>, another: &Arc<dyn Store>) {
    for key in ["x", "y"] {
        store
            .commit(vec![put(Table::Ratings, key, Expect::Absent, "0")])
            .await
            .unwrap();
    }
    let tasks: Vec<_> = (0..6)
        .map(|task| {
            let store = Arc::clone(if task % 2 == 0 { store } else { another });
            tokio::spawn(async move {
                for _ in 0..10 {
                    loop {
                        let mut keys = ["x", "y"];
                        if task % 3 == 0 {
                            keys.reverse();
                        }
                        let mut writes = Vec::new();
                        for key in keys {
                            let (version, number) =
                                payload(&*store, Table::Ratings, key).await.unwrap();
                            let more = number.parse::<u32>().unwrap() + 1;
                            writes.push(put(
                                Table::Ratings,
                                key,
                                Expect::Version(version),
                                &more.to_string(),
                            ));
                        }
                        match store.commit(writes).await {
                            Ok(()) => break,
                            Err(CommitError::Conflict { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for key in ["x", "y"] {
        assert_eq!(
            payload(&**store, Table::Ratings, key).await,
            Some((61, "60".into()))
        );
    }
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(test);
}

#[test]
fn sqlite_in_memory_keeps_its_promises() {
    run(async {
        let store: Arc<dyn Store> = Arc::new(Sqlite::in_memory().unwrap());
        suite(Arc::clone(&store), store).await;
    });
}

#[test]
fn sqlite_in_a_file_keeps_its_promises_and_its_records() {
    run(async {
        let directory = crate::test_postgres::temporary_directory("sqlite");
        let file = directory.path().join("lobby.db");
        let store: Arc<dyn Store> = Arc::new(Sqlite::open(&file).unwrap());
        assert!(matches!(Sqlite::open(&file), Err(StoreError::InUse)));
        suite(Arc::clone(&store), Arc::clone(&store)).await;
        drop(store);
        let again = loop {
            // The thread that has the file open ends a moment after its last owner.
            match Sqlite::open(&file) {
                Err(StoreError::InUse) => tokio::task::yield_now().await,
                other => break other.unwrap(),
            }
        };
        assert_eq!(
            payload(&again, Table::Ratings, "x").await,
            Some((61, "60".into()))
        );
    });
}

#[test]
fn a_newer_database_is_refused() {
    let directory = crate::test_postgres::temporary_directory("newer");
    let file = directory.path().join("lobby.db");
    let newer = rusqlite::Connection::open(&file).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    assert_eq!(
        Sqlite::open(&file).unwrap_err(),
        StoreError::Schema {
            found: 99,
            known: 1
        }
    );
}

#[test]
fn postgres_keeps_its_promises_and_comes_back() {
    let Some(mut server) = server() else { return };
    run(async {
        let connect =
            async |server: &Server| Arc::new(Postgres::connect(&server.url()).await.unwrap());
        let store: Arc<dyn Store> = connect(&server).await;
        let another: Arc<dyn Store> = connect(&server).await;
        suite(Arc::clone(&store), another).await;
        let mut changes = store.watch();
        server.restart();
        // What was written is there, and who watches is told that it may have missed something.
        let found = loop {
            match store.load(Table::Ratings, "x".into()).await {
                Ok(found) => break found,
                Err(StoreError::Unavailable(_)) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(found.unwrap().version, 61);
        let heard = tokio::time::timeout(Duration::from_secs(20), changes.recv());
        assert_eq!(
            heard.await.expect("a word about what was missed"),
            Some(Change::Missed)
        );
        let other = Postgres::connect("host=/nowhere dbname=lobby").await;
        assert!(matches!(other, Err(StoreError::Unavailable(_))));
    });
}
