//! Games in rooms without a host: real processes, ended the hard way.

use crate::played::{host, join};
use crate::terminal::Terminal;

/// What everybody is started with.
const OWN: [&str; 7] = [
    "--mesh",
    "--model",
    "event-delay",
    "--matches",
    "1",
    "--bot",
    "normal",
];

#[test]
fn five_play_rawrlocks_three_are_killed_one_after_the_other_and_the_last_two_agree() {
    let own = [&OWN[..], &["--ready"]].concat();
    let settings = ["--set", "wins=2", "--set", "shrinks=4", "--wait-for", "5"];
    let (ada, address) = host("rawrlocks", &[&own[..], &settings].concat());
    let mut players = vec![ada];
    for name in ["Bob", "Cat", "Dan", "Eve"] {
        players.push(join(name, "rawrlocks", &address, &own));
    }
    for player in &mut players {
        player.expect("the match begins");
    }
    for name in ["Bob", "Cat"] {
        let mut killed = players.remove(0);
        killed.kill();
        for player in &mut players {
            player.expect("is away; place and score are kept");
        }
        let sees_to_it = |player: &mut Terminal| {
            player
                .text()
                .contains("this program sees to the matches now")
        };
        let has_successor = players.iter_mut().any(sees_to_it);
        assert!(has_successor, "somebody takes over before {name} is killed");
    }
    players.remove(0).kill();
    assert_eq!(players.len(), 2);
    for player in &mut players {
        player.expect_at_last("the match is over");
        assert_eq!(player.exit_code(), 0, "{}", player.text());
        assert!(!player.text().contains("differ"), "{}", player.text());
    }
}

#[test]
fn what_needs_a_host_is_refused_in_words() {
    let refused = |arguments: &[&str]| {
        let mut terminal = Terminal::open("Ada", arguments);
        assert_eq!(terminal.exit_code(), 2, "{}", terminal.text());
        terminal.text()
    };
    let words = refused(&["host", "rawrlocks", "0", "--mesh", "--bots", "2"]);
    assert!(words.contains("--bots"), "{words}");
}
