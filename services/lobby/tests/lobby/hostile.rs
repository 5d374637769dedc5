//! Malformed, huge, slow and hostile: an error or the end of the connection, never of the lobby, and nobody else is disturbed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use samestep_lobby::protocol::{Message, Request};
use samestep_lobby::{Client, ClientError, Lobby, LobbyConfig, RunningLobby};
use serde_json::json;
use tungstenite::Message as Frame;

use crate::http::{
    ask, ask_json, config, connect, create, join, member, metric, raw, room, wait_for,
};

/// A lobby that waits for nobody longer than a second.
fn impatient() -> LobbyConfig {
    LobbyConfig {
        patience_s: 1,
        silence_s: 4,
        ..config()
    }
}

/// A member whose life goes on whatever others do.
struct Bystander(Client);

impl Bystander {
    fn new(lobby: &RunningLobby) -> Self {
        let mut client = Client::connect(&lobby.address().to_string()).unwrap();
        client.enter(create("Bystander", room("Quiet"))).unwrap();
        Self(client)
    }

    fn is_undisturbed(&mut self) {
        let asked = Instant::now();
        self.0.ask(Request::Ready { ready: true }).unwrap();
        self.0.ask(Request::Ready { ready: false }).unwrap();
        assert!(
            asked.elapsed() < Duration::from_secs(2),
            "{:?}",
            asked.elapsed()
        );
    }
}

#[test]
fn malformed_requests_get_an_error() {
    let lobby = Lobby::start(config()).unwrap();
    let mut bystander = Bystander::new(&lobby);
    let at = lobby.address();
    for body in [
        "",
        "{",
        "[]",
        "null",
        "{\"room\":{}}",
        &"[".repeat(10_000),
        "{\"room\":1,\"member\":2}",
        "\u{0}",
    ] {
        assert_eq!(ask(at, "POST", "/v1/rooms", body).0, 400, "{body:.20}");
        assert_eq!(ask(at, "POST", "/v1/members", body).0, 400, "{body:.20}");
    }
    let member = serde_json::to_value(member("Ada")).unwrap();
    let good = json!({ "room": { "title": "a", "game": "b" }, "member": member });
    let wrong = [
        ("/room/title", json!("")),
        ("/room/title", json!("\u{202e}")),
        ("/room/game", json!(7)),
        ("/room/limit", json!(-1)),
        ("/room/limit", json!(1e99)),
        ("/room/settings", json!("x".repeat(5000))),
        ("/room/tittle", json!("x")),
        ("/member/name", json!("a\nb")),
        ("/member/key", json!("AAAA")),
        ("/member/secret", json!("secret")),
        (
            "/member/candidates",
            json!([{ "direct": true, "way": "x".repeat(200) }]),
        ),
        ("/member/shard", json!(-1)),
    ];
    for (pointer, value) in wrong {
        let mut request = good.clone();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        request.pointer_mut(parent).unwrap()[field] = value;
        let (status, answer) = ask_json(at, "POST", "/v1/rooms", &request);
        assert_eq!(status, 400, "{pointer}: {answer}");
        assert!(
            answer["words"]
                .as_str()
                .is_some_and(|words| words.len() > 10)
        );
    }
    assert_eq!(ask(at, "DELETE", "/v1/rooms", "").0, 405);
    assert_eq!(ask(at, "GET", "/../../etc/passwd", "").0, 404);
    assert_eq!(ask(at, "GET", "/v1/live/member", "").0, 400, "no WebSocket");
    for bytes in [
        &b"\r\n\r\n"[..],
        b"GARBAGE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        &[0; 1000],
    ] {
        let answer = raw(at, bytes);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
            "{answer}"
        );
    }
    assert_eq!(
        ask_json(at, "POST", "/v1/rooms", &good).0,
        201,
        "what is right is done"
    );
    assert!(metric(at, "refusals_total{code=\"malformed\"}") >= 16);
    bystander.is_undisturbed();
}

#[test]
fn huge_requests_are_cut_off() {
    let lobby = Lobby::start(impatient()).unwrap();
    let mut bystander = Bystander::new(&lobby);
    let at = lobby.address();
    let body = "x".repeat(17 * 1024);
    assert_eq!(ask(at, "POST", "/v1/rooms", &body).0, 400);
    // A length that is only announced is not waited for longer than a moment, and nothing is kept for it.
    let announced = raw(
        at,
        b"POST /v1/rooms HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999\r\n\r\n{",
    );
    assert!(announced.starts_with("HTTP/1.1 4"), "{announced}");
    let headers = format!(
        "GET /healthz HTTP/1.1\r\nx: {}\r\n\r\n",
        "y".repeat(100_000)
    );
    assert!(raw(at, headers.as_bytes()).starts_with("HTTP/1.1 431"));
    let many = format!("GET /healthz HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(1000));
    assert!(raw(at, many.as_bytes()).starts_with("HTTP/1.1 431"));
    let (mut socket, _) =
        tungstenite::client(format!("ws://{at}/v1/live/member"), connect(at)).unwrap();
    let _ = socket.send(Frame::text("x".repeat(20_000)));
    let end = loop {
        match socket.read() {
            Ok(Frame::Close(_)) | Err(_) => break true,
            Ok(_) => {}
        }
    };
    assert!(end);
    bystander.is_undisturbed();
}

#[test]
fn nonsense_on_a_socket_is_refused_and_then_ends_it() {
    let lobby = Lobby::start(config()).unwrap();
    let at = lobby.address();
    let (mut socket, _) =
        tungstenite::client(format!("ws://{at}/v1/live/member"), connect(at)).unwrap();
    let mut refused = 0;
    for text in [
        "",
        "{}",
        "{\"type\":\"fly\"}",
        "{\"type\":\"chat\"}",
        "{\"type\":\"kick\",\"member\":-1}",
        "7",
        "[[[[",
        "{\"id\":-1}",
        "\"",
        "{\"type\":7}",
    ] {
        socket.send(Frame::text(text)).unwrap();
    }
    let ended = loop {
        match socket.read() {
            Ok(Frame::Text(text)) => {
                let message: Message = serde_json::from_str(&text).unwrap();
                assert!(matches!(message, Message::Refused { code, .. } if code == "malformed"));
                refused += 1;
            }
            Ok(Frame::Close(frame)) => {
                break frame.is_some_and(|frame| frame.reason.as_str() == "malformed");
            }
            Ok(_) => {}
            Err(_) => break false,
        }
    };
    assert_eq!((refused, ended), (10, true));
    // Who is nobody may do nothing, and who is somebody is it once.
    let mut client = Client::connect(&at.to_string()).unwrap();
    for request in [
        Request::Start,
        Request::Leave,
        Request::Token,
        Request::Chat {
            text: "hello".into(),
        },
    ] {
        assert!(
            matches!(client.ask(request), Err(ClientError::Refused { code, .. }) if code == "not_now")
        );
    }
    let joined = client.enter(create("Ada", room("Friday"))).unwrap();
    assert!(
        matches!(client.ask(join("Ada", &joined.room.id)), Err(ClientError::Refused { code, .. }) if code == "not_now")
    );
}

#[test]
fn a_thousand_half_open_connections_disturb_nobody() {
    let lobby = Lobby::start(impatient()).unwrap();
    let mut bystander = Bystander::new(&lobby);
    let at = lobby.address();
    // Nothing, half a header, a header whose body does not come, and sockets that say nothing.
    let beginnings: [&[u8]; 4] = [b"", b"GET /v1/rooms HTTP/1.1\r\nhost:", b"POST /v1/rooms HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{", b"GET /v1/live/member HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"];
    let mut half_open: Vec<TcpStream> = Vec::new();
    for number in 0..1000 {
        let mut stream = connect(at);
        stream
            .write_all(beginnings[number % beginnings.len()])
            .unwrap();
        half_open.push(stream);
        if number % 100 == 0 {
            bystander.is_undisturbed();
        }
    }
    bystander.is_undisturbed();
    assert_eq!(ask(at, "GET", "/healthz", "").0, 200);
    // They are closed by the lobby, all of them.
    for mut stream in half_open {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    wait_for("that their places are free", || {
        (metric(at, "open_connections") <= 2).then_some(())
    });
    bystander.is_undisturbed();
}

#[test]
fn an_address_has_so_many_connections() {
    let lobby = Lobby::start(LobbyConfig {
        max_connections_per_address: 3,
        ..config()
    })
    .unwrap();
    let at = lobby.address();
    let held: Vec<_> = (0..3)
        .map(|_| Client::connect(&at.to_string()).unwrap())
        .collect();
    let turned_away = Client::connect(&at.to_string());
    assert!(
        matches!(
            turned_away,
            Err(ClientError::NoLobby(..) | ClientError::Unreachable(..))
        ),
        "{turned_away:?}"
    );
    drop(held);
    wait_for("a free place", || Client::connect(&at.to_string()).ok());
    let all = Lobby::start(LobbyConfig {
        max_connections: 2,
        ..config()
    })
    .unwrap();
    let _held: Vec<_> = (0..2)
        .map(|_| Client::connect(&all.address().to_string()).unwrap())
        .collect();
    assert!(Client::connect(&all.address().to_string()).is_err());
}

#[test]
fn who_does_not_read_is_cut_off_and_can_come_back() {
    let lobby = Lobby::start(impatient()).unwrap();
    let at = lobby.address();
    let mut config = room("Loud");
    config.settings = json!("x".repeat(4000));
    let mut talker = Client::connect(&at.to_string()).unwrap();
    let joined = talker.enter(create("Talker", config)).unwrap();
    let mut sleeper = Client::connect(&at.to_string()).unwrap();
    let place = sleeper.enter(join("Sleeper", &joined.room.id)).unwrap();
    // Every change of the settings is sent to all, until buffers and queue are full or the sleeper is silent for too long.
    let until = Instant::now() + Duration::from_secs(60);
    while metric(at, "too_slow_total") == 0 {
        assert!(Instant::now() < until);
        let title = format!("Loud {:?}", Instant::now());
        let changes = serde_json::from_value(json!({ "title": &title[..40] })).unwrap();
        let _ = talker.ask(Request::Settings { changes });
    }
    wait_for("that it is gone", || {
        (metric(at, "attached_members") == 1).then_some(())
    });
    let mut again = Client::connect(&at.to_string()).unwrap();
    again.enter(crate::http::attach("Sleeper", &place)).unwrap();
}
