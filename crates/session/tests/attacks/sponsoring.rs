//! Letting in somebody who has not come.
//!
//! The attacker is a member of a mesh that does not lead, and newcomers join through it. It tells the leader that somebody else is at its door: a member
//! that is here, whose place would then be taken from it, or a key that nobody has shown. It wants to send others away, or to have a place
//! in another's name.

use samestep_session::{JoinTo, PeerId, Role, Session, SessionEvent, State};

use crate::room::{NodeIndex, TestNetwork, address, config, ms};

const ATTACKER: NodeIndex = 3;
const VICTIM: NodeIndex = 1;

fn mesh(seed: u64) -> TestNetwork {
    let mut network = TestNetwork::near(seed);
    network.mesh(config("Ann"), 4);
    network.run(ms(3_000));
    network
}

/// A newcomer comes in through the attacker.
fn join(network: &mut TestNetwork) -> NodeIndex {
    let role = Role::Peer(JoinTo::new(address(ATTACKER)));
    let newcomer = network.enter(config("Fay"), role);
    network.run_until(ms(10_000), |network| {
        *network.at(newcomer).state() == State::InSync
    });
    network.run(ms(1_000));
    newcomer
}

/// A member has been here without a break.
#[track_caller]
fn assert_stayed(network: &TestNetwork, victim: NodeIndex) {
    let peer = network.peer(victim);
    assert_eq!(*network.at(victim).state(), State::InSync);
    for node in [0, 2] {
        assert!(network.at(node).room().is_present(peer), "for node {node}");
        assert_eq!(network.seen(node, &SessionEvent::PeerAway { peer }), 0);
    }
    let left = |event: &&SessionEvent| matches!(event, SessionEvent::Reconnecting { .. });
    assert_eq!(network.events[victim].iter().filter(left).count(), 0);
}

#[test]
fn a_member_that_is_here_is_not_taken_for_one_that_comes_back() {
    let mut network = mesh(1);
    let victim = network.peer(VICTIM);
    for _ in 0..3 {
        network.with(ATTACKER, |now, session: &mut Session| {
            session.let_in_member(now, victim);
        });
        network.run(ms(1_000));
    }
    assert_stayed(&network, VICTIM);
}

#[test]
fn a_key_that_nobody_has_shown_gets_no_place() {
    let mut network = mesh(2);
    for newcomer in 0..3 {
        network.with(ATTACKER, |now, session: &mut Session| {
            session.let_in(now, newcomer);
        });
    }
    network.run(ms(2_000));
    for node in 0..4 {
        assert_eq!(network.at(node).room().peers().len(), 4, "for node {node}");
    }
}

#[test]
fn what_a_newcomer_has_proven_counts_once() {
    let mut network = mesh(3);
    let newcomer = join(&mut network);
    for _ in 0..3 {
        network.with(ATTACKER, |now, session: &mut Session| {
            session.let_in_again(now);
        });
        network.run(ms(1_000));
    }
    assert_stayed(&network, newcomer);
    // It leaves: its key does not bring it back without it.
    network.with(newcomer, |now, session: &mut Session| {
        session.leave(now, "bye");
    });
    network.run(ms(4_000));
    assert_eq!(network.at(0).room().peers().len(), 4);
    network.with(ATTACKER, |now, session: &mut Session| {
        session.let_in_again(now);
    });
    network.run(ms(2_000));
    assert_eq!(network.at(0).room().peers().len(), 4);
}

#[test]
fn who_comes_through_a_member_that_does_not_lead_gets_in_under_any_leader() {
    let mut network = mesh(4);
    let first = join(&mut network);
    assert!(network.agree(&[0, 1, 2, 3, first]));
    network.kill(0);
    let second = join(&mut network);
    network.run_until(ms(15_000), |network| {
        network.agree(&[1, 2, 3, first, second]) && network.at(1).room().authority() != PeerId(0)
    });
}
