//! Two lobbies on one PostgreSQL, each a process of its own, either killed at any moment: members attach to the other, and nothing that was acknowledged is lost.
//!
//! Ten kills; `SAMESTEP_LOBBY_KILLS=50` makes fifty.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use samestep_lobby::protocol::{Joined, Request};
use samestep_lobby::store::{Content, Expect, Postgres, Store, Table, Write};
use samestep_lobby::{Client, ClientError, Lobby, LobbyConfig, StoreChoice};
use zeroize::Zeroizing;

use crate::http::{attach, config, create, join, room};
use crate::test_postgres::server;

const STORE: &str = "SAMESTEP_LOBBY_TEST_STORE";
const ROOMS: usize = 4;
const MEMBERS: usize = 4;

/// Not a test: the lobby that the test below runs in processes of its own.
#[test]
fn lobby_process() {
    let Ok(url) = std::env::var(STORE) else {
        return;
    };
    let settings = LobbyConfig {
        store: StoreChoice::Postgres(url),
        signing_key: Some(Zeroizing::new([5; 32])),
        ..config()
    };
    let lobby = Lobby::start(settings).unwrap();
    println!("LISTENING {}", lobby.address());
    // Until it is killed, or whoever started it ends.
    let _ = std::io::stdin().lines().count();
}

struct Process(Child, SocketAddr);

impl Process {
    fn start(url: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killing::lobby_process", "--nocapture"])
            .env(STORE, url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .map_while(Result::ok)
            .find_map(|line| line.split_once("LISTENING ")?.1.parse().ok());
        Self(child, address.expect("the lobby opens"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the members' threads share.
struct Shared {
    addresses: Mutex<[SocketAddr; 2]>,
    over: AtomicBool,
    reconnects: AtomicUsize,
    lines: AtomicUsize,
}

impl Shared {
    /// Asks one lobby, and the other if it does not answer, until one says yes.
    fn enter(&self, mut turn: usize, request: &Request) -> (Client, Joined) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let address = self.addresses.lock().unwrap()[turn % 2];
            turn += 1;
            let outcome = Client::connect(&address.to_string()).and_then(|mut client| {
                client.enter(request.clone()).map(|joined| (client, joined))
            });
            match outcome {
                Ok(entered) => return entered,
                // A store or a lobby that is about to go may say this; nothing else.
                Err(ClientError::Refused { code, words }) => assert!(
                    ["unavailable", "busy"].contains(&&*code),
                    "{code}: {words} after {request:?}"
                ),
                Err(_) => {}
            }
            assert!(Instant::now() < until, "no lobby lets {request:?} in");
        }
    }
}

/// A member's life: says something, waits for the acknowledgement, remembers it; attaches again when its lobby dies, and finds all that it remembers.
fn live(shared: &Shared, name: &str, turn: usize, first: Request) -> Vec<String> {
    let (mut client, mut joined) = shared.enter(turn, &first);
    let own = (joined.room.id.clone(), joined.you);
    let mut acknowledged: Vec<String> = Vec::new();
    let mut number = 0;
    while !shared.over.load(Ordering::Relaxed) {
        number += 1;
        let text = format!("{name} {number}");
        match client.ask(Request::Chat { text: text.clone() }) {
            Ok(_) => {
                acknowledged.push(text);
                shared.lines.fetch_add(1, Ordering::Relaxed);
            }
            Err(ClientError::Refused { code, .. }) => assert!(
                ["unavailable", "busy", "too_often"].contains(&&*code),
                "{code}"
            ),
            Err(_) => {
                shared.reconnects.fetch_add(1, Ordering::Relaxed);
                (client, joined) = shared.enter(turn + number, &attach(name, &joined));
                assert_eq!((joined.room.id.clone(), joined.you), own);
                check(&joined, name, &acknowledged);
            }
        }
        // Lines that others say meanwhile.
        while let Ok(Some(_)) = client.poll(Duration::from_millis(1)) {}
    }
    let (_, joined) = shared.enter(turn, &attach(name, &joined));
    check(&joined, name, &acknowledged);
    acknowledged
}

/// The last line that was acknowledged is there, unless fifty have come after it.
fn check(joined: &Joined, name: &str, acknowledged: &[String]) {
    let Some(last) = acknowledged.last() else {
        return;
    };
    let first_kept = joined.room.chat.first().map_or(0, |line| line.number);
    let there = joined.room.chat.iter().any(|line| line.text == *last);
    let newer = joined.room.chat.iter().any(|line| {
        let number = |text: &str| {
            text.rsplit_once(' ')
                .and_then(|(_, number)| number.parse::<u64>().ok())
        };
        line.name.as_str() == name && number(&line.text) >= number(last)
    });
    assert!(there || newer || first_kept > 1, "{name} lost {last:?}");
}

fn put(store: &Postgres, runtime: &tokio::runtime::Runtime, table: Table, key: String) {
    let content = Some(Content {
        state: "new".into(),
        payload: key.clone().into_bytes(),
        expires_ms: None,
    });
    runtime
        .block_on(store.commit(vec![Write {
            table,
            key,
            expect: Expect::Absent,
            content,
        }]))
        .unwrap();
}

#[test]
fn killing_either_lobby_loses_nothing_that_was_acknowledged() {
    let Some(server) = server() else { return };
    let kills = std::env::var("SAMESTEP_LOBBY_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok())
        .unwrap_or(10_usize);
    let mut lobbies = [Process::start(&server.url()), Process::start(&server.url())];
    let shared = Arc::new(Shared {
        addresses: Mutex::new([lobbies[0].1, lobbies[1].1]),
        over: AtomicBool::new(false),
        reconnects: AtomicUsize::new(0),
        lines: AtomicUsize::new(0),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let store = runtime.block_on(Postgres::connect(&server.url())).unwrap();
    let mut threads = Vec::new();
    for number in 0..ROOMS {
        // The owner is at one lobby, the others at either.
        let owner = format!("Owner {number}");
        let (_, joined) = shared.enter(number, &create(&owner, room(&format!("Room {number}"))));
        for index in 0..MEMBERS {
            let (name, first) = match index {
                0 => (owner.clone(), attach(&owner, &joined)),
                _ => {
                    let name = format!("Guest {number}.{index}");
                    (name.clone(), join(&name, &joined.room.id))
                }
            };
            let shared = Arc::clone(&shared);
            threads.push(std::thread::spawn(move || {
                live(&shared, &name, index, first)
            }));
        }
    }
    let mut random = 0x1234_5678_9ABC_DEF1_u64;
    for kill in 0..kills {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // At a random moment, while members talk; tickets and ratings are written as matchmaking does.
        let lines = shared.lines.load(Ordering::Relaxed) + (random >> 20) as usize % 60;
        let until = Instant::now() + Duration::from_secs(30);
        while shared.lines.load(Ordering::Relaxed) < lines && Instant::now() < until {
            std::thread::yield_now();
        }
        put(&store, &runtime, Table::Tickets, format!("ticket {kill}"));
        put(&store, &runtime, Table::Ratings, format!("rating {kill}"));
        let which = (random >> 33) as usize % 2;
        // Dropping it kills it (SIGKILL). A new one takes its place, at another address.
        let fresh = Process::start(&server.url());
        shared.addresses.lock().unwrap()[which] = fresh.1;
        lobbies[which] = fresh;
    }
    let threads_alive = threads
        .iter()
        .filter(|thread| !thread.is_finished())
        .count();
    shared.over.store(true, Ordering::Relaxed);
    let acknowledged: usize = threads
        .into_iter()
        .map(|thread| thread.join().expect("a member lost something").len())
        .sum();
    assert_eq!(threads_alive, ROOMS * MEMBERS);
    // No room with living members, no ticket and no rating is lost.
    let count = |table| {
        runtime
            .block_on(store.list(table, String::new(), 1000))
            .unwrap()
            .len()
    };
    assert_eq!(
        (
            count(Table::Rooms),
            count(Table::Tickets),
            count(Table::Ratings)
        ),
        (ROOMS, kills, kills)
    );
    assert_eq!(count(Table::Places), ROOMS * MEMBERS);
    let reconnects = shared.reconnects.load(Ordering::Relaxed);
    println!(
        "{kills} kills, {reconnects} reconnects, {acknowledged} acknowledged lines, none lost"
    );
    assert!(reconnects >= kills && acknowledged > kills);
}
