//! Every way not to get in, in words and as an exit code.

use std::net::UdpSocket;

use crate::hosted::{host, join};
use crate::terminal::{Terminal, knowing};

#[test]
fn a_password_must_be_known() {
    let [sesame, guess] = ["sesame", "guess"].map(knowing);
    let [sesame, guess] = [&sesame, &guess].map(|[option, file]| [option.as_str(), file.as_str()]);
    let (_ada, address) = host(&sesame);
    let mut none = join("Bob", &address, &[]);
    none.expect("password");
    assert_eq!(none.exit_code(), 5);
    let mut wrong = join("Bob", &address, &guess);
    wrong.expect("wrong password");
    assert_eq!(wrong.exit_code(), 5);
    let mut right = join("Bob", &address, &sesame);
    right.expect("in the room");
    let mut ping = Terminal::open("ping", &["ping", &address, "--count", "1"]);
    ping.expect("1 answered");
    ping.expect("password");
    assert_eq!(ping.exit_code(), 0);
}

/// Everybody on the machine can read the command lines of its programs.
#[test]
fn a_password_on_the_command_line_is_refused_with_what_to_do() {
    let console: &[&str] = &["console", "host", "--port", "0", "--hidden"];
    let game: &[&str] = &["host", "sublockus", "0", "--terminal", "--hidden"];
    for words in [console, game] {
        let mut ada = Terminal::open("Ada", &[words, &["--password", "sesame"]].concat());
        ada.expect("set the environment variable SAMESTEP_PASSWORD instead");
        assert_eq!(ada.exit_code(), 2);
    }
}

#[test]
fn a_password_comes_from_the_environment() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_samestep"));
    command.args([
        "console", "host", "--name", "Ada", "--port", "0", "--hidden",
    ]);
    command.env("SAMESTEP_PASSWORD", "sesame");
    let mut ada = Terminal::run("Ada", command);
    let address = format!("127.0.0.1:{}", ada.expect_number("open at port"));
    let mut none = join("Bob", &address, &[]);
    none.expect("password");
    assert_eq!(none.exit_code(), 5);
}

#[test]
fn a_full_room_says_so() {
    let (mut ada, address) = host(&["--capacity", "2"]);
    let mut bob = join("Bob", &address, &[]);
    bob.expect("in the room");
    ada.expect("Bob is here");
    let mut eve = join("Eve", &address, &[]);
    eve.expect("full");
    assert_eq!(eve.exit_code(), 6);
    bob.enter("/quit");
    assert_eq!(bob.exit_code(), 0);
    ada.expect("Bob left");
    join("Eve", &address, &[]).expect("in the room");
}

#[test]
fn another_version_is_explained() {
    let (_ada, address) = host(&[]);
    let mut newer = join("Bob", &address, &["--game-version", "2"]);
    newer.expect("the server runs version 1, you run 2: ask its host to update");
    assert_eq!(newer.exit_code(), 4);
}

#[test]
fn a_taken_port_is_named() {
    let (_ada, address) = host(&[]);
    let port = address.rsplit(':').next().expect("an address has a port");
    let mut second = Terminal::open("second", &["console", "host", "--port", port, "--hidden"]);
    second.expect(&format!("port {port} is in use"));
    assert_eq!(second.exit_code(), 7);
}

#[test]
fn several_at_one_terminal_are_sent_to_the_window() {
    let words = ["host", "hat-hunters", "0", "--terminal", "--with", "Bob"];
    let mut ada = Terminal::open("Ada", &words);
    ada.expect("several players at one screen play in the window");
    assert_eq!(ada.exit_code(), 2);
    let mut ada = Terminal::open(
        "Ada",
        &[
            "host",
            "sublockus",
            "0",
            "--terminal",
            "--with",
            "Bob",
            "--bot",
            "easy",
        ],
    );
    ada.expect("Sublockus shows every player a screen of its own");
    assert_eq!(ada.exit_code(), 2);
}

#[test]
fn nobody_there_is_told_apart_from_no_such_name() {
    // A port that is ours and answers nothing.
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = silent.local_addr().expect("it is bound").to_string();
    let mut bob = join("Bob", &address, &[]);
    bob.expect("no answer");
    assert_eq!(bob.exit_code(), 3);
    let mut ping = Terminal::open("ping", &["ping", &address, "-c", "1", "--timeout", "0.2"]);
    ping.expect("nobody answers");
    assert_eq!(ping.exit_code(), 3);
    for command in [&["console", "join"][..], &["console", "peer"], &["ping"]] {
        let arguments = [command, &["no-such-host.invalid"]].concat();
        let mut lost = Terminal::open("lost", &arguments);
        lost.expect("\"no-such-host.invalid\" is");
        assert_eq!(lost.exit_code(), 8);
    }
}

#[test]
fn the_wrong_kind_of_room_is_explained() {
    let (_ada, address) = host(&[]);
    let mut peer = Terminal::open(
        "peer",
        &["console", "peer", &address, "--name", "Bob", "--hidden"],
    );
    peer.expect("other kind");
    assert_eq!(peer.exit_code(), 2);
}
