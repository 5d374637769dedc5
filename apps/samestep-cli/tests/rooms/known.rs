//! The keys of hosts on other machines are remembered: nobody takes their place unnoticed.

use crate::namespaces::{pair, skipped};
use crate::played::folder;
use crate::terminal::Terminal;

/// The key in a line that tells how to join.
fn key_in(line: &str) -> String {
    let (_, key) = line.split_once('#').expect("a key behind the address");
    key[..43].into()
}

#[test]
fn another_key_at_the_address_of_a_known_host_is_refused() {
    let (near, far) = match pair() {
        Ok(pair) => pair,
        Err(why) => return skipped(&why),
    };
    let folder = folder("known-hosts");
    let [ada_state, mallory_state, bob_state] =
        ["ada", "mallory", "bob"].map(|name| folder.join(name));
    let game: [&[&str]; 2] = [
        &["host", "sublockus", "--terminal", "--name", "Ada"],
        &["join", "sublockus", "--terminal", "--name", "Bob"],
    ];
    let console: [&[&str]; 2] = [
        &["console", "host", "--name", "Ada"],
        &["console", "join", "--name", "Bob"],
    ];
    let quit = |mut terminal: Terminal| {
        terminal.enter("/quit");
        assert_eq!(terminal.exit_code(), 0);
    };
    for (number, [host, join]) in [game, console].into_iter().enumerate() {
        // A user of its own for each program.
        let bob_state = bob_state.join(number.to_string());
        let bob = |more: &[&str]| far.terminal_of(&bob_state, "Bob", &[join, more].concat());
        let mut ada = near.terminal_of(&ada_state, "Ada", host);
        let key = key_in(&ada.expect("ADDRESS:14242#"));
        // A search finds her by her key, which is remembered.
        let mut first = bob(&[]);
        first.expect(&format!("this host is new here: its key {key}"));
        first.expect("in the room");
        quit(first);
        let mut ping = far.terminal_of(&bob_state, "ping", &["ping", "10.83.0.1", "-c", "1"]);
        ping.expect(&format!("key: {key} (as it was joined before)"));
        quit(ada);
        // The same host after a restart is known.
        let mut ada = near.terminal_of(&ada_state, "Ada", host);
        ada.expect("open at port");
        let mut second = bob(&["10.83.0.1"]);
        second.expect("in the room");
        assert!(!second.text().contains("new here"), "{}", second.text());
        quit(second);
        quit(ada);

        // Somebody else at her address is not, neither by address nor by a search, which shows a key too.
        let mut mallory = near.terminal_of(&mallory_state, "Mallory", host);
        let other = key_in(&mallory.expect("ADDRESS:14242#"));
        assert_ne!(other, key);
        for more in [&["10.83.0.1"][..], &[]] {
            let mut third = bob(more);
            third.expect("the host at 10.83.0.1:14242 has another key than before");
            assert_eq!(third.exit_code(), 2);
        }
        let mut ping = far.terminal_of(&bob_state, "ping", &["ping", "10.83.0.1", "-c", "1"]);
        ping.expect("has another key than before");
        assert_eq!(ping.exit_code(), 2);
        let wrong = format!("10.83.0.1#{key}");
        let mut ping = far.terminal_of(&bob_state, "ping", &["ping", &wrong, "-c", "1"]);
        ping.expect(&format!("shows the key {other}, expected was {key}"));
        // Who was told the new key says so.
        let address = format!("10.83.0.1#{other}");
        let mut fourth = bob(&[&address]);
        fourth.expect("in the room");
        quit(fourth);
        quit(mallory);
    }
}
