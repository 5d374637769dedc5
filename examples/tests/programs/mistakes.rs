//! Mistakes in arguments get a sentence that says what to do.

use crate::terminal::complaint;

const GAMES: [&str; 9] = [
    env!("CARGO_BIN_EXE_boxes"),
    env!("CARGO_BIN_EXE_first_game"),
    env!("CARGO_BIN_EXE_lockstep"),
    env!("CARGO_BIN_EXE_replay"),
    env!("CARGO_BIN_EXE_rewind"),
    env!("CARGO_BIN_EXE_rollback"),
    env!("CARGO_BIN_EXE_snapshot"),
    env!("CARGO_BIN_EXE_state_sync"),
    env!("CARGO_BIN_EXE_switch"),
];
const OTHERS: [&str; 6] = [
    env!("CARGO_BIN_EXE_bad_network"),
    env!("CARGO_BIN_EXE_beside"),
    env!("CARGO_BIN_EXE_endpoint"),
    env!("CARGO_BIN_EXE_messages"),
    env!("CARGO_BIN_EXE_toy"),
    env!("CARGO_BIN_EXE_turns"),
];

#[test]
fn who_says_nothing_sensible_is_told_what_to_say() {
    for program in GAMES.into_iter().chain(OTHERS) {
        for words in ["", "dance", "host door", "serve door", "join"] {
            let said = complaint(program, words);
            let helps = said.contains("host [PORT]") || said.contains("serve [PORT]");
            assert!(helps, "{program} {words}: {said}");
        }
    }
}

#[test]
fn addresses_that_lead_nowhere_are_named() {
    for program in GAMES {
        let said = complaint(program, "join somewhere:else");
        assert!(said.contains("is no address"), "{program}: {said}");
    }
    let said = complaint(GAMES[0], "join no-such-name.invalid");
    assert!(said.contains("check the spelling"), "{said}");
}

#[test]
fn a_recording_that_is_none_is_named() {
    let said = complaint(env!("CARGO_BIN_EXE_replay"), "verify no-such.replay");
    assert!(said.contains("no-such.replay"), "{said}");
}
