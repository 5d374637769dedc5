//! One program per model, in every topology it suits: what happens at one happens at the other, in the same tick.

use crate::terminal::{Terminal, two};

const LOCKSTEP: &str = env!("CARGO_BIN_EXE_lockstep");
const ROLLBACK: &str = env!("CARGO_BIN_EXE_rollback");
const SNAPSHOT: &str = env!("CARGO_BIN_EXE_snapshot");
const STATE_SYNC: &str = env!("CARGO_BIN_EXE_state_sync");

/// Both are in, and hear the same when the second does something.
fn act(one: &mut Terminal, other: &mut Terminal, typed: &str, words: &str) {
    one.act(typed, words);
    let line = other.act(typed, words);
    one.hears(&line);
}

/// Both say the same about what has this in it.
fn agree(one: &mut Terminal, other: &mut Terminal, words: &str) {
    let line = one.wait_for(words);
    assert_eq!(other.wait_for(words), line);
}

#[test]
fn lockstep_hosted() {
    ants("host");
}

#[test]
fn lockstep_at_a_server() {
    ants("serve");
}

#[test]
fn lockstep_in_a_mesh() {
    ants("mesh");
}

fn ants(topology: &str) {
    let (mut one, mut other, _server) = two(LOCKSTEP, topology, "player 0 has 500 ants");
    agree(&mut one, &mut other, "player 1 has 500 ants");
    one.type_line("1");
    other.type_line("1");
    agree(&mut one, &mut other, "heap 1 is gone");
    other.type_line("2");
    agree(&mut one, &mut other, "heap 2 is gone");
    other.end();
    one.end();
}

#[test]
fn rollback_hosted() {
    quickest("host");
}

#[test]
fn rollback_at_a_server() {
    quickest("serve");
}

#[test]
fn rollback_in_a_mesh() {
    quickest("mesh");
}

fn quickest(topology: &str) {
    let (mut one, mut other, _server) = two(ROLLBACK, topology, "");
    act(&mut one, &mut other, "", "Certain: player");
    act(&mut other, &mut one, "", "Certain: player");
    other.end();
    one.end();
}

#[test]
fn snapshots_hosted() {
    dark("host");
}

#[test]
fn snapshots_of_a_server() {
    dark("serve");
}

fn dark(topology: &str) {
    let (mut one, mut other, _server) = two(SNAPSHOT, topology, "0....");
    let alone = other.wait_for("1....");
    assert!(!alone.contains('0'), "who is far away is not seen: {alone}");
    other.act("l", "...............1...");
    other.act("l", "0.........1...");
    one.act("r", ".....0....1...");
    one.type_line("r");
    agree(&mut one, &mut other, "player 0 has found player 1");
    other.end();
    one.end();
}

#[test]
fn state_synchronisation_hosted() {
    coins("host");
}

#[test]
fn state_synchronisation_of_a_server() {
    coins("serve");
}

fn coins(topology: &str) {
    let (mut one, mut other, _server) = two(STATE_SYNC, topology, "0....");
    other.wait_for("0....1");
    one.act("r", ".0.");
    agree(
        &mut one,
        &mut other,
        "player 0 takes the coin at 400, its 1.",
    );
    other.end();
    one.end();
}

#[test]
fn who_watches_sees_the_same() {
    let (mut one, address) = Terminal::open(LOCKSTEP, "host");
    let mut watch = Terminal::start(LOCKSTEP, &format!("watch {address}"));
    one.wait_for("player 0 has 500 ants");
    one.act("1", "heap 1 is gone");
    one.act("2", "heap 2 is gone");
    let gone = one.lines_with("heap 2").remove(0);
    watch.hears(&gone);
}
