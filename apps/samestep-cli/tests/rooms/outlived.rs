//! Matches that outlive their hosts: real processes, ended the hard way.

use crate::played::{host, join};
use crate::terminal::Terminal;

/// Waits until everybody knows who hosts in the place of the one that is lost; returns it, and those who are its guests.
#[track_caller]
fn next_host(mut survivors: Vec<Terminal>) -> (Terminal, Vec<Terminal>) {
    let lines: Vec<String> = survivors
        .iter_mut()
        .map(|survivor| survivor.expect("hosts the game now"))
        .collect();
    let hosts = |line: &String| line.contains("this program hosts");
    let at = lines.iter().position(hosts).expect("one of them hosts");
    assert_eq!(lines.iter().filter(|line| hosts(line)).count(), 1);
    let next = survivors.remove(at);
    (next, survivors)
}

#[test]
fn four_play_two_hosts_are_killed_and_the_last_two_finish() {
    let own = [
        "--model",
        "state-sync",
        "--matches",
        "1",
        "--ready",
        "--bot",
        "normal",
    ];
    let settings = ["--time", "5", "--frags", "3", "--wait-for", "4"];
    let (mut ada, address) = host("sublockus", &[&own[..], &settings].concat());
    let mut survivors: Vec<Terminal> = ["Bob", "Cat", "Dan"]
        .map(|name| join(name, "sublockus", &address, &own))
        .into();
    for survivor in &mut survivors {
        survivor.expect("the match begins");
    }
    ada.expect(" or ");
    ada.kill();
    let (mut bob, survivors) = next_host(survivors);
    bob.expect("the match goes on");
    bob.expect(" or ");
    bob.kill();
    let (cat, mut survivors) = next_host(survivors);
    survivors.push(cat);
    assert_eq!(survivors.len(), 2);
    for survivor in &mut survivors {
        survivor.expect("the match is over");
        assert_eq!(survivor.exit_code(), 0, "{}", survivor.text());
        assert!(!survivor.text().contains("differ"), "{}", survivor.text());
    }
}

#[test]
fn a_host_that_quits_hands_over() {
    let own = ["--ready"];
    let (mut ada, address) = host("sublockus", &own);
    let mut bob = join("Bob", "sublockus", &address, &own);
    bob.expect("the match begins");
    ada.expect("Bob would take over");
    ada.enter("/quit");
    assert_eq!(ada.exit_code(), 0, "{}", ada.text());
    bob.expect("this program hosts the game now");
    bob.enter("/quit");
    assert_eq!(bob.exit_code(), 0, "{}", bob.text());
}
