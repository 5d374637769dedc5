//! The programs beside those for each model.

use std::env::temp_dir;
use std::fs;
use std::process::{self, Command};
use std::time::{Duration, Instant};

use crate::terminal::{Terminal, two};

const BAD_NETWORK: &str = env!("CARGO_BIN_EXE_bad_network");
const BESIDE: &str = env!("CARGO_BIN_EXE_beside");
const BOXES: &str = env!("CARGO_BIN_EXE_boxes");
const ENDPOINT: &str = env!("CARGO_BIN_EXE_endpoint");
const MESSAGES: &str = env!("CARGO_BIN_EXE_messages");
const REPLAY: &str = env!("CARGO_BIN_EXE_replay");
const REWIND: &str = env!("CARGO_BIN_EXE_rewind");
const SWITCH: &str = env!("CARGO_BIN_EXE_switch");
const TOY: &str = env!("CARGO_BIN_EXE_toy");
const TURNS: &str = env!("CARGO_BIN_EXE_turns");

/// Who opens it, and who joins.
fn pair(program: &str, open: &str, join: &str) -> (Terminal, Terminal) {
    let (one, address) = Terminal::open(program, open);
    let other = Terminal::start(program, &format!("{join} {address}"));
    (one, other)
}

#[test]
fn a_box_moves_everywhere() {
    let (mut one, mut other, _) = two(BOXES, "host", "");
    other.wait_for("#");
    other.type_line("dd");
    other.wait_for("#.#");
    one.wait_for("#.#");
    other.end();
    one.end();
}

#[test]
fn a_shot_at_a_host_is_judged_by_what_the_shooter_saw() {
    shots("host");
}

#[test]
fn a_shot_at_a_server_is_judged_by_what_the_shooter_saw() {
    shots("serve");
}

fn shots(topology: &str) {
    let (mut one, mut other, _server) = two(REWIND, topology, "");
    one.act("", "hits");
    let line = other.act("", "hits");
    one.hears(&line);
    assert!(one.lines_with("misses").is_empty());
    other.end();
    one.end();
}

#[test]
fn a_host_changes_the_model_while_all_play_on() {
    let (mut host, mut guest, _) = two(SWITCH, "host", "");
    for model in ["rollback", "snapshot", "rewind", "state-sync", "lockstep"] {
        let knock = guest.act("", "player 1 knocks");
        host.hears(&knock);
        change(&mut host, model);
        guest.wait_for(&format!("The model is {model}."));
    }
    host.act("", "player 0 knocks, the 6. time");
    guest.end();
    host.end();
}

#[test]
fn a_server_changes_the_model_while_all_play_on() {
    let (mut one, mut other, server) = two(SWITCH, "serve", "");
    let mut server = server.unwrap();
    one.act("", "knocks");
    other.act("", "knocks");
    change(&mut server, "state-sync");
    one.wait_for("The model is state-sync.");
    other.wait_for("The model is state-sync.");
    let knock = other.act("", "knocks, the 3. time");
    one.hears(&knock);
    other.end();
    one.end();
}

/// Asks for another model until it is there: one change comes after the other.
fn change(host: &mut Terminal, model: &str) {
    loop {
        host.type_line(model);
        let line = host.wait_for("");
        if line.contains(model) {
            return;
        }
    }
}

#[test]
fn two_parts_of_a_game_run_side_by_side() {
    let (mut host, mut guest) = pair(BESIDE, "host", "join");
    for _ in 0..2 {
        let brought = guest.act("h", "The hunt brings");
        host.wait_for(&brought);
    }
    let built = guest.act("b", "builds house 1");
    host.wait_for(&built);
    guest.end();
    host.end();
}

#[test]
fn players_take_turns_at_a_host() {
    nim("host");
}

#[test]
fn players_take_turns_at_a_server() {
    nim("serve");
}

#[test]
fn players_take_turns_in_a_mesh() {
    nim("mesh");
}

fn nim(topology: &str) {
    let (mut one, mut other, _server) = two(TURNS, topology, "our turn.");
    other.wait_for("Not your turn.");
    other.type_line("1");
    other.wait_for("It is not your turn.");
    for left in [18, 15, 12] {
        let line = one.act("3", &format!("takes 3: {left} are left"));
        std::mem::swap(&mut one, &mut other);
        one.wait_for("Your turn.");
        one.hears(&line);
    }
    one.end();
    other.end();
}

#[test]
fn shared_fields_at_a_host() {
    lines("host", "join");
}

#[test]
fn shared_fields_in_a_mesh() {
    lines("mesh", "peer");
}

fn lines(open: &str, join: &str) {
    let (mut one, address) = Terminal::open(TOY, open);
    one.type_line("typed before anybody came");
    let mut other = Terminal::start(TOY, &format!("{join} {address}"));
    other.wait_for("You are player 1");
    other.wait_for("player 0: typed before anybody came");
    other.type_line("hello yourself");
    one.wait_for("player 1: hello yourself");
    let mut late = Terminal::start(TOY, &format!("{join} {address}"));
    late.wait_for("player 1: hello yourself");
    late.type_line("am I late?");
    one.wait_for("player 2: am I late?");
    other.wait_for("player 2: am I late?");
    late.end();
    other.end();
    one.end();
}

#[test]
fn actions_are_confirmed_or_denied_by_a_host() {
    shop("host", "join");
}

#[test]
fn actions_are_confirmed_or_denied_in_a_mesh() {
    shop("mesh", "peer");
}

fn shop(open: &str, join: &str) {
    let (mut one, mut other) = pair(MESSAGES, open, join);
    other.wait_for("You are in the room.");
    other.type_line("hello");
    one.wait_for("peer 1 says: hello");
    one.type_line("4");
    other.wait_for("peer 0 buys 4: 6 are left");
    other.type_line("7");
    other.wait_for("Denied: only 6 are left.");
    other.type_line("6");
    one.wait_for("peer 1 buys 6: 0 are left");
    other.end();
    one.end();
}

#[test]
fn what_was_recorded_at_a_host_plays_to_the_same_end() {
    recordings("host");
}

#[test]
fn what_was_recorded_at_a_server_plays_to_the_same_end() {
    recordings("serve");
}

fn recordings(topology: &str) {
    let (mut first, address) = Terminal::open(REPLAY, topology);
    let mut guest = Terminal::start(REPLAY, &format!("join {address}"));
    guest.act("", "rolls");
    let mut watch = Terminal::start(REPLAY, &format!("watch {address}"));
    watch.wait_for("This is port");
    let last = guest.act("", "rolls");
    let (_, sum) = last.rsplit_once(' ').unwrap();
    for (number, terminal) in [&mut first, &mut guest, &mut watch].into_iter().enumerate() {
        terminal.hears(&last);
        let name = format!("samestep-{topology}-{}-{number}.replay", process::id());
        let file = temp_dir().join(name).display().to_string();
        // A recording has a checksum every second: before its first nothing can be compared.
        let deadline = Instant::now() + Duration::from_secs(30);
        let said = loop {
            terminal.type_line(&format!("save {file}"));
            terminal.wait_for("Saved");
            let output = Command::new(REPLAY).args(["verify", &file]).output();
            fs::remove_file(&file).unwrap();
            let output = output.unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            let may_wait = error.contains("no checksum") && Instant::now() < deadline;
            assert!(output.status.success() || may_wait, "{error}");
            if output.status.success() {
                break String::from_utf8(output.stdout).unwrap();
            }
        };
        assert!(said.contains(&format!("together {sum}.")), "{said}");
    }
}

#[test]
fn words_come_back_loudly_over_udp() {
    loudly("");
}

#[test]
fn words_come_back_loudly_over_tcp() {
    loudly("-tcp");
}

fn loudly(over: &str) {
    let (serve, connect) = (format!("serve{over}"), format!("connect{over}"));
    let (mut server, mut client) = pair(ENDPOINT, &serve, &connect);
    client.wait_for("Connected.");
    client.type_line("hello");
    client.wait_for("HELLO");
    client.end();
    server.wait_for("Somebody is gone: closed by the other side: bye");
}

#[test]
fn a_bad_network_changes_nothing_in_the_end() {
    let (mut host, address) = Terminal::open(BAD_NETWORK, "host");
    let mut guest = Terminal::start(BAD_NETWORK, &format!("join {address} lte"));
    let line = guest.act("", "Confirmed: player 1 bounces");
    host.hears(&line);
    let line = host.act("", "Confirmed: player 0 bounces");
    guest.hears(&line);
    guest.end();
    host.end();
}
