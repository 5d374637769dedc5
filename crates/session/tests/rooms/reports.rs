//! Members report who breaks the rules: one of them proves nothing, more than half of them are believed.

use crate::room::{NodeIndex, TestNetwork, config, ms};
use samestep_session::{LeaveReason, SessionEvent, State};

const WORDS: &str = "it moves faster than anybody can";

fn report(network: &mut TestNetwork, by: NodeIndex, of: NodeIndex) {
    let peer = network.peer(of);
    network.with(by, |now, session| session.report(now, peer, WORDS));
}

fn is_in(network: &TestNetwork, of: NodeIndex, peer: NodeIndex) -> bool {
    let peer = network.peer(peer);
    network.at(of).room().peer(peer).is_some()
}

#[test]
fn whom_more_than_half_of_a_mesh_report_is_dropped_and_stays_out() {
    for seed in 0..5 {
        let mut network = TestNetwork::rough(seed);
        network.mesh(config("Ann"), 5);
        network.run(ms(3_000));
        let cheat = 1 + seed as usize % 4;
        let others: Vec<NodeIndex> = (0..5).filter(|node| *node != cheat).collect();
        let told = SessionEvent::Reported {
            by: network.peer(others[0]),
            peer: network.peer(cheat),
            words: WORDS.into(),
        };
        // Once counts, however often it is said.
        for _ in 0..20 {
            report(&mut network, others[0], cheat);
            report(&mut network, others[1], cheat);
            network.run(ms(50));
        }
        network.run(ms(3_000));
        for node in 0..5 {
            assert_eq!(network.seen(node, &told), 1, "node {node}, seed {seed}");
            assert!(is_in(&network, node, cheat), "two of five, seed {seed}");
        }
        report(&mut network, others[2], cheat);
        network.run(ms(3_000));
        for node in &others {
            assert!(!is_in(&network, *node, cheat), "node {node}, seed {seed}");
            assert_eq!(*network.at(*node).state(), State::InSync, "seed {seed}");
        }
        let state = network.at(cheat).state();
        let State::Left(LeaveReason::Banned(words)) = state else {
            panic!("seed {seed}: {state:?}");
        };
        assert_eq!(words, "3 members saw it break the rules");
    }
}

#[test]
fn a_leader_that_is_convicted_goes_and_the_others_play_on() {
    let mut network = TestNetwork::rough(7);
    network.mesh(config("Ann"), 4);
    network.run(ms(3_000));
    let leader = (0..4).find(|node| network.at(*node).is_authority());
    let leader = leader.expect("somebody leads");
    let others: Vec<NodeIndex> = (0..4).filter(|node| *node != leader).collect();
    for node in &others {
        report(&mut network, *node, leader);
    }
    network.run(ms(5_000));
    assert!(matches!(network.at(leader).state(), State::Left(_)));
    assert!(network.agree(&others));
    for node in &others {
        assert!(!is_in(&network, *node, leader));
        assert_eq!(*network.at(*node).state(), State::InSync);
    }
}

#[test]
fn one_of_two_decides_nothing() {
    let mut network = TestNetwork::near(1);
    network.mesh(config("Ann"), 2);
    network.run(ms(2_000));
    report(&mut network, 0, 1);
    report(&mut network, 1, 1);
    network.run(ms(3_000));
    assert!(is_in(&network, 0, 1), "one of two is not more than half");
    let itself = SessionEvent::Reported {
        by: network.peer(1),
        peer: network.peer(1),
        words: WORDS.into(),
    };
    assert_eq!(network.seen(0, &itself), 0, "nobody reports itself");
}

#[test]
fn in_a_hosted_room_the_host_decides() {
    let mut network = TestNetwork::near(2);
    network.hosted(config("Ann"), 4);
    network.run(ms(2_000));
    for node in [1, 2, 3] {
        report(&mut network, node, 4);
    }
    network.run(ms(2_000));
    let told = |by: NodeIndex| SessionEvent::Reported {
        by: network.peer(by),
        peer: network.peer(4),
        words: WORDS.into(),
    };
    assert!([1, 2, 3].iter().all(|by| network.seen(0, &told(*by)) == 1));
    assert!(
        is_in(&network, 0, 4),
        "the host was told, and has done nothing"
    );
}
