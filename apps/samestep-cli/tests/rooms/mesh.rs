//! Everyone with everyone.

use crate::terminal::Terminal;

fn peer(name: &str, more: &[&str]) -> Terminal {
    Terminal::open(
        name,
        &[&["console", "peer", "--name", name, "--hidden"], more].concat(),
    )
}

#[test]
fn three_peers_talk_and_go_on_without_the_one_that_opened() {
    let mut ada = peer("Ada", &["--port", "0", "--room", "ring"]);
    let address = format!("127.0.0.1:{}", ada.expect_number("open at port"));
    let mut bob = peer("Bob", &[&address]);
    let own = bob.expect_number("own port");
    bob.expect("in the room \"ring\" as Bob");
    // Through a member that did not open it.
    let mut eve = peer("Eve", &[&format!("127.0.0.1:{own}")]);
    eve.expect("in the room \"ring\" as Eve");
    ada.expect("Eve is here");
    bob.expect("Eve is here");

    eve.enter("hello, all");
    ada.expect("Eve: hello, all");
    bob.expect("Eve: hello, all");
    bob.enter("/set turn 1");
    for terminal in [&mut ada, &mut bob, &mut eve] {
        terminal.expect("turn = 1 (Bob)");
    }
    eve.enter("/who");
    eve.expect("rtt");
    for name in ["Ada", "Bob", "Eve"] {
        eve.expect(name);
    }

    ada.enter("/quit");
    assert_eq!(ada.exit_code(), 0);
    bob.expect("Ada left");
    eve.expect("Ada left");
    eve.enter("/set turn 2");
    bob.expect("turn = 2 (Eve)");
    eve.expect("turn = 2 (Eve)");
}
