//! A server that is killed, and goes on with its match: real processes.

use std::path::Path;
use std::process::Command;

use crate::played::{folder, text};
use crate::terminal::Terminal;

/// A server of Sublockus that keeps its match in `match.journal` in a folder, where its key is too.
fn serve(folder: &Path, port: u16, more: &[&str]) -> Terminal {
    let mut command = Command::new(env!("CARGO_BIN_EXE_samestep"));
    command.env("XDG_STATE_HOME", folder);
    command.args(["serve", "sublockus", &port.to_string(), "--hidden"]);
    command.args(["--arena", "cellar", "--frags", "off"]);
    command.args(["--journal", &text(&folder.join("match.journal"))]);
    command.args(more);
    Terminal::run("server", command)
}

/// The frags of a player in a line of scores.
fn frags(line: &str, name: &str) -> Option<u32> {
    let after = line.split(&format!(" {name} ")).nth(1)?;
    after.split('/').next()?.parse().ok()
}

/// Waits for scores in which a player has so many frags.
#[track_caller]
fn expect_frags(terminal: &mut Terminal, name: &str, least: u32) -> u32 {
    loop {
        let line = terminal.expect("scores: ");
        if let Some(frags) = frags(&line, name).filter(|frags| *frags >= least) {
            return frags;
        }
    }
}

#[track_caller]
fn refused(mut terminal: Terminal, words: &[&str]) {
    assert_eq!(terminal.exit_code(), 2, "{}", terminal.text());
    for words in words {
        let said = terminal.text();
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
}

#[test]
fn a_server_that_is_killed_goes_on_with_its_match() {
    let folder = folder("killed-server");
    let journal = folder.join("match.journal");
    let bots = ["--model", "state-sync", "--bots", "1", "--level", "easy"];
    let mut server = serve(&folder, 0, &bots);
    let port = server.expect_number("open at port");
    let secret = text(&folder.join("secret"));
    let address = format!("127.0.0.1:{port}");
    let mut bob = Terminal::open(
        "Bob",
        &[
            &["join", "sublockus", &address, "--terminal", "--name", "Bob"][..],
            &["--model", "state-sync", "--bot", "hard", "--ready"],
            &["--rejoin", &secret],
        ]
        .concat(),
    );
    server.expect("the match begins");
    expect_frags(&mut server, "Bob", 1);
    // Nobody else writes into it meanwhile.
    refused(
        serve(&folder, 0, &bots),
        &["another program uses the journal"],
    );
    server.kill();
    // All that it printed until then.
    server.exit_code();
    let scores = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("scores: "));
        lines.map(String::from).collect()
    };
    let before = scores(&server.text());

    // What is no match of this game is not gone on with, and nothing happens to it.
    let kept = std::fs::read(&journal).expect("it was written");
    refused(
        serve(&folder, port, &["--model", "snapshot"]),
        &[
            "is of sublockus",
            "by state-sync",
            "by snapshot",
            "move it away",
        ],
    );
    let mut damaged = kept.clone();
    damaged[kept.len() / 2] ^= 1;
    for (bytes, words) in [
        (&damaged[..], "is damaged at byte"),
        (&b"something else"[..], "this is not a journal"),
    ] {
        std::fs::write(&journal, bytes).expect("a writable directory");
        refused(serve(&folder, port, &bots), &[words, "left as it is"]);
        assert_eq!(std::fs::read(&journal).ok().as_deref(), Some(bytes));
    }

    // The last record is not whole: it was being written.
    std::fs::write(&journal, &kept[..kept.len() - 3]).expect("a writable directory");
    let mut server = serve(&folder, port, &bots);
    let tick = server.expect_number("the match goes on from tick");
    assert!(tick > 60, "{tick}");
    let first = server.expect("scores: ");
    // The tick that was cut off may have changed them last.
    let last = &before[before.len() - 2..];
    assert!(last.contains(&first), "{first:?} after {before:?}");
    let first = frags(&first, "Bob").expect("its place is kept");
    bob.expect("trying to come back");
    bob.expect("back in the room");
    expect_frags(&mut bob, "Bob", first + 1);
    for name in ["Bob is back", "Bot 1 is back"] {
        let said = server.text();
        if !said.contains(name) {
            server.expect(name);
        }
    }
    // It is the same match, with the same players, and its time goes on.
    for new in ["is here", "the match begins"] {
        assert!(!server.text().contains(new), "{}", server.text());
    }

    // Whoever closes the game has nothing to go on with.
    server.enter("/quit");
    assert_eq!(server.exit_code(), 0, "{}", server.text());
    assert!(!journal.exists());
    bob.expect("the room was closed");
}
