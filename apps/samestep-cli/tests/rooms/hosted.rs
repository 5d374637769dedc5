//! A host and two who join.

use crate::terminal::Terminal;

/// A room of Ada's that nobody else's tests can find, and its address.
pub fn host(more: &[&str]) -> (Terminal, String) {
    let arguments = [
        "console", "host", "--name", "Ada", "--port", "0", "--hidden",
    ];
    let mut ada = Terminal::open("Ada", &[&arguments, more].concat());
    let port = ada.expect_number("open at port");
    (ada, format!("127.0.0.1:{port}"))
}

pub fn join(name: &str, address: &str, more: &[&str]) -> Terminal {
    Terminal::open(
        name,
        &[&["console", "join", address, "--name", name], more].concat(),
    )
}

#[test]
fn three_terminals_talk_share_values_and_part() {
    let (mut ada, address) = host(&["--room", "den"]);
    ada.enter("/set map forest");
    ada.expect("map = forest");
    let mut bob = join("Bob", &address, &[]);
    bob.expect("in the room \"den\" as Bob");
    bob.expect("map = forest");
    ada.expect("Bob is here");
    let mut eve = join("Eve", &address, &[]);
    eve.expect("in the room \"den\" as Eve");
    eve.expect("map = forest");
    for terminal in [&mut ada, &mut bob] {
        terminal.expect("Eve is here");
    }

    bob.enter("hello, all");
    ada.expect("Bob: hello, all");
    eve.expect("Bob: hello, all");
    ada.enter("welcome");
    bob.expect("Ada: welcome");
    eve.expect("Ada: welcome");

    eve.enter("/set score 3 to 2");
    for terminal in [&mut ada, &mut bob, &mut eve] {
        terminal.expect("score = 3 to 2 (Eve)");
    }
    bob.enter("/unset score");
    for terminal in [&mut ada, &mut bob, &mut eve] {
        terminal.expect("score is no more (Bob)");
    }
    bob.enter("/unset score");
    bob.expect("there is no value \"score\"");
    eve.enter("/get map");
    eve.expect("map = forest (Ada)");

    // Everybody sees everybody, with figures.
    for terminal in [&mut ada, &mut bob, &mut eve] {
        terminal.enter("/who");
        terminal.expect("rtt");
        for name in ["Ada", "Bob", "Eve"] {
            terminal.expect(name);
        }
    }

    for terminal in [&mut ada, &mut bob] {
        terminal.enter("/stats");
        terminal.expect("jitter ms    loss  out kB/s    in kB/s");
        terminal.expect("Eve");
    }

    bob.enter("/quit see you");
    assert_eq!(bob.exit_code(), 0);
    ada.expect("Bob left: see you");
    eve.expect("Bob left: see you");
    ada.enter("/quit good night");
    assert_eq!(ada.exit_code(), 0);
    eve.expect("good night");
    assert_eq!(eve.exit_code(), 9);
}

#[test]
fn a_dedicated_server_has_no_player_and_outlives_its_input() {
    let mut server = Terminal::open(
        "server",
        &["console", "host", "--dedicated", "--port", "0", "--hidden"],
    );
    let port = server.expect_number("open at port");
    server.end_input();
    let address = format!("127.0.0.1:{port}");
    let (mut bob, mut eve) = (join("Bob", &address, &[]), join("Bob", &address, &[]));
    bob.expect("in the room");
    eve.expect("in the room");
    // Of two with one name one gets a number.
    bob.enter("which of us is it?");
    eve.expect("Bob");
    // A signal closes the room cleanly.
    let kill = std::process::Command::new("kill")
        .arg(server.id().to_string())
        .status();
    assert!(kill.expect("there is a kill").success());
    assert_eq!(server.exit_code(), 0);
    for terminal in [&mut bob, &mut eve] {
        terminal.expect("the room was closed");
        assert_eq!(terminal.exit_code(), 9);
    }
}

#[test]
fn spectators_watch_and_scripts_read_json() {
    let (mut ada, address) = host(&[]);
    let mut eye = Terminal::open(
        "eye",
        &["console", "join", &address, "--spectate", "--json"],
    );
    eye.expect("\"event\":\"in-room\"");
    ada.enter("is anybody watching?");
    let line = eye.expect("\"event\":\"chat\"");
    assert!(line.contains("\"text\":\"is anybody watching?\""), "{line}");
    eye.enter("/who");
    eye.expect("\"event\":\"who\"");
    eye.enter("/stats");
    eye.expect("\"received_bytes_per_s\":");
    eye.end_input();
    assert_eq!(eye.exit_code(), 0);
    ada.expect("left");
}

#[test]
fn the_host_sends_somebody_away() {
    let (mut ada, address) = host(&[]);
    let mut bob = join("Bob", &address, &[]);
    bob.expect("in the room");
    let mut eve = join("Eve", &address, &[]);
    eve.expect("in the room");
    bob.expect("Eve is here");
    bob.enter("/kick Eve");
    bob.expect("only the one who opened the room");
    ada.expect("Eve is here");
    ada.enter("/kick Nobody");
    ada.expect("nobody here is called \"Nobody\"");
    ada.enter("/kick Eve too loud");
    eve.expect("too loud");
    assert_eq!(eve.exit_code(), 10);
    bob.expect("Eve left: kicked: too loud");
}

#[test]
fn spacing_is_measured_and_logged() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("spacing.csv");
    let (mut ada, address) = host(&[]);
    let path = file.to_str().expect("a readable path");
    let mut bob = join("Bob", &address, &["--spacing-log", path, "--latency", "5"]);
    bob.expect("in the room");
    ada.expect("Bob is here");
    ada.enter("/spacing on 10");
    // Asks until there is something to tell.
    let rows = loop {
        bob.enter("/spacing");
        bob.expect("spacing of messages");
        let rows = std::fs::read_to_string(&file).unwrap_or_default();
        if rows.lines().count() > 20 {
            break rows;
        }
    };
    bob.enter("/spacing");
    let line = bob.expect("Ada");
    assert!(line.contains("10"), "{line}");
    let mut lines = rows.lines();
    assert_eq!(
        lines.next(),
        Some("seconds,peer,name,message,number,spacing_ms")
    );
    assert!(lines.all(|line| line.contains(",\"Ada\",beat,")), "{rows}");
    ada.enter("/spacing off");
    ada.enter("/quit");
    assert_eq!(ada.exit_code(), 0);
}

#[test]
fn what_was_said_last_arrives_though_the_link_is_bad() {
    let (mut ada, address) = host(&[]);
    for number in 0..3 {
        let link = [
            "--loss",
            "20%",
            "--latency",
            "10",
            "--jitter",
            "5",
            "--seed",
            "7",
        ];
        let mut bob = join("Bob", &address, &link);
        bob.enter(&format!("/set last {number}"));
        bob.enter(&format!("number {number}"));
        bob.end_input();
        assert_eq!(bob.exit_code(), 0);
        ada.expect(&format!("Bob: number {number}"));
    }
    ada.enter("/get last");
    ada.expect("last = 2");
}

#[test]
fn a_room_over_tcp() {
    let (mut ada, address) = host(&["--tcp"]);
    let mut bob = join("Bob", &address, &["--tcp"]);
    bob.expect("in the room");
    bob.enter("hello");
    ada.expect("Bob: hello");
    ada.enter("/quit");
    bob.expect("the room was closed");
    assert_eq!(bob.exit_code(), 9);
}
