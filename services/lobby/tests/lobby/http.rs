//! Requests over HTTP, byte by byte, and members that are made up.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use samestep_lobby::protocol::{
    Attach, Candidate, Create, Join, Joined, Message, NewMember, NewRoom, Request,
};
use samestep_lobby::{Client, LobbyConfig, Name, PasswordCost, Rate, RejoinSecret, RoomId};
use samestep_proto::Identity;
use serde_json::{Value, json};

pub const WAIT: Duration = Duration::from_secs(20);

/// A lobby for tests: all of them come from one address.
pub fn config() -> LobbyConfig {
    let mut config = LobbyConfig::local();
    config.max_connections_per_address = 10_000;
    config.directory.entering = Rate::new(100_000, 1000.0);
    config.directory.browsing = Rate::new(100_000, 1000.0);
    config.directory.requests = Rate::new(1000, 100.0);
    config.directory.password_cost = PasswordCost::LEAST;
    config
}

pub fn connect(lobby: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(lobby).expect("the lobby listens");
    stream.set_read_timeout(Some(WAIT)).unwrap();
    stream
}

/// Sends bytes, and reads until the lobby closes.
pub fn raw(lobby: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connect(lobby);
    // The lobby may close before all is sent.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A request, and the status and body of its answer.
pub fn ask(lobby: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: lobby\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let answer = raw(lobby, format!("{head}{body}").as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    (
        status.unwrap_or_else(|| panic!("no answer: {answer:?}")),
        body.to_owned(),
    )
}

pub fn ask_json(lobby: SocketAddr, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let (status, body) = ask(lobby, method, path, &body.to_string());
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

pub fn metric(lobby: SocketAddr, name: &str) -> u64 {
    let (_, text) = ask(lobby, "GET", "/metrics", "");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("samestep_lobby_{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in {text}"))
        .parse()
        .unwrap()
}

pub fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + WAIT;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < until, "{what} does not come");
        std::thread::yield_now();
    }
}

pub fn room(title: &str) -> NewRoom {
    serde_json::from_value(json!({ "title": title, "game": "sublockus" })).unwrap()
}

pub fn identity(name: &str) -> Identity {
    let mut secret = [7; 32];
    secret[..name.len()].copy_from_slice(name.as_bytes());
    Identity::from_secret(secret)
}

pub fn member(name: &str) -> NewMember {
    let identity = identity(name);
    NewMember {
        name: Name::try_from(name.to_owned()).unwrap(),
        key: identity.public_key(),
        secret: RejoinSecret::from_bytes(*identity.secret()),
        candidates: vec![Candidate {
            direct: true,
            way: "192.0.2.1:7777".into(),
        }],
        shard: 0,
    }
}

pub fn create(name: &str, room: NewRoom) -> Request {
    Request::Create(Create {
        room,
        member: member(name),
    })
}

pub fn join(name: &str, room: &RoomId) -> Request {
    Request::Join(Join {
        room: Some(room.clone()),
        code: None,
        password: None,
        member: member(name),
    })
}

pub fn attach(name: &str, joined: &Joined) -> Request {
    Request::Attach(Attach {
        room: joined.room.id.clone(),
        member: joined.you,
        secret: member(name).secret,
    })
}

/// Reads until a message is what is looked for.
pub fn hear<T>(client: &mut Client, mut wanted: impl FnMut(Message) -> Option<T>) -> T {
    let until = Instant::now() + WAIT;
    while Instant::now() < until {
        if let Some(found) = client
            .poll(Duration::from_millis(200))
            .unwrap()
            .and_then(&mut wanted)
        {
            return found;
        }
    }
    panic!("the lobby does not say it");
}
