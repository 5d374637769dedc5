//! The first game: it is what the README shows, it is short, and two terminals see the same.

use crate::terminal::{Terminal, two};

const PROGRAM: &str = env!("CARGO_BIN_EXE_first_game");

#[test]
fn the_readme_shows_the_first_game() {
    let (readme, program) = (
        include_str!("../../../README.md"),
        include_str!("../../first_game.rs"),
    );
    let shown = format!("```rust,no_run\n{program}```\n");
    assert!(
        readme.contains(&shown),
        "README.md does not contain examples/first_game.rs as it is"
    );
}

#[test]
fn the_first_game_has_less_than_a_hundred_lines() {
    assert!(include_str!("../../first_game.rs").lines().count() < 100);
}

#[test]
fn who_turns_round_at_a_host_crashes_and_both_count_it() {
    crash("host");
}

#[test]
fn who_turns_round_at_a_server_crashes_and_both_count_it() {
    crash("serve");
}

#[test]
fn who_turns_round_in_a_mesh_crashes_and_both_count_it() {
    crash("mesh");
}

fn crash(topology: &str) {
    let (mut one, mut other, _server) = two(PROGRAM, topology, "Crashes");
    // A bike that turns round hits its own trail: the first by letters, the other by arrows.
    turn_round(&mut one, "ad", |crashes| crashes[0] > 0);
    let crashes = turn_round(&mut other, "\x1b[D\x1b[C", |crashes| crashes[1] > 0);
    turn_round(&mut one, "", |counted| *counted >= *crashes);
    other.type_keys("q");
    other.end();
    one.type_keys("\x03");
    one.end();
}

/// Presses keys until the crashes that are shown are as wanted, and returns them.
fn turn_round(player: &mut Terminal, keys: &str, wanted: impl Fn(&[u32]) -> bool) -> Vec<u32> {
    loop {
        player.type_keys(keys);
        let line = player.wait_for("Crashes [");
        let (_, list) = line.split_once("Crashes [").unwrap();
        let (list, _) = list.split_once(']').unwrap();
        let crashes: Vec<u32> = list
            .split(", ")
            .map(|count| count.parse().unwrap())
            .collect();
        if wanted(&crashes) {
            return crashes;
        }
    }
}
