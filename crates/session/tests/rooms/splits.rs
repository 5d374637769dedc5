//! A mesh that falls apart: at most one part goes on, the others are frozen and say so.

use crate::room::{NodeIndex, TestNetwork, address, config, ms};
use samestep_session::{JoinTo, NetworkId, Role, SessionEvent, State};

/// Every node gives out a network id: what is agreed on shows who goes on.
fn name_objects(network: &mut TestNetwork, nodes: &[NodeIndex]) {
    for node in nodes {
        network.with(*node, |now, session| session.new_network_id(now, 1));
    }
}

/// Whether a group has agreed on an object that one of its members named.
fn has_committed(network: &TestNetwork, group: &[NodeIndex]) -> bool {
    let named = |node: &NodeIndex, by: &NodeIndex| {
        let (room, by) = (network.at(*node).room(), network.peer(*by));
        let of_it =
            |id: &NetworkId| matches!(id, NetworkId::Dynamic { by: peer, .. } if *peer == by);
        room.network_objects()
            .iter()
            .any(|object| of_it(&object.id))
    };
    let mut pairs = group.iter().flat_map(|a| group.iter().map(move |b| (a, b)));
    pairs.any(|(node, by)| named(node, by))
}

#[test]
fn two_halves_never_both_commit_whenever_the_new_leader_is_cut_off() {
    // The leader is isolated, another is elected, and before all know of it the first leader's half is cut from the other's.
    for after in (300..1500).step_by(30) {
        let mut network = TestNetwork::near(after);
        network.mesh(config("Ann"), 4);
        network.run(ms(1_000));
        network.isolate(&[0]);
        network.run(ms(after));
        network.mend();
        network.isolate(&[0, 3]);
        name_objects(&mut network, &[0, 1, 2, 3]);
        network.run(ms(12_000));
        name_objects(&mut network, &[0, 1, 2, 3]);
        network.run(ms(38_000));
        let halves = [[0, 3], [1, 2]].map(|half| has_committed(&network, &half));
        assert!(halves != [true, true], "cut after {after} ms");
        network.mend();
        network.run_until(ms(20_000), |network| network.agree(&[0, 1, 2, 3]));
    }
}

#[test]
fn of_equal_halves_the_tie_breakers_goes_on() {
    let mut network = TestNetwork::near(1);
    network.mesh(config("Ann"), 4);
    network.run(ms(1_000));
    network.isolate(&[2, 3]);
    network.run(ms(10_000));
    name_objects(&mut network, &[0, 1, 2, 3]);
    network.run(ms(5_000));
    assert!(has_committed(&network, &[0, 1]));
    assert!(!has_committed(&network, &[2, 3]));
    for node in [2, 3] {
        assert_eq!(*network.at(node).state(), State::Frozen);
    }
}

#[test]
fn a_survivor_of_two_is_stranded_and_goes_on_alone() {
    let mut network = TestNetwork::near(2);
    network.mesh(config("Ann"), 2);
    network.run(ms(1_000));
    network.kill(0);
    network.run_until(ms(8_000), |network| *network.at(1).state() == State::Frozen);
    assert!(!network.with(1, |_, session| session.is_authority()));
    network.run_until(ms(15_000), |network| {
        network.seen(1, &SessionEvent::Stranded) == 1
    });
    assert!(network.with(1, |now, session| session.go_on_alone(now)));
    network.run(ms(200));
    assert_eq!(*network.at(1).state(), State::InSync);
    assert!(network.at(1).is_authority());
    assert!(!network.with(1, |now, session| session.go_on_alone(now)));
    name_objects(&mut network, &[1]);
    network.run(ms(500));
    assert!(has_committed(&network, &[1]));
    // The room that it goes on with lets newcomers in.
    let join = JoinTo::new(address(1));
    let newcomer = network.enter(config("Bo"), Role::Peer(join));
    network.run_until(ms(3_000), |network| network.agree(&[1, newcomer]));
}

#[test]
fn a_frozen_mesh_says_so_to_newcomers_and_lets_them_in_later() {
    let mut network = TestNetwork::near(3);
    network.mesh(config("Ann"), 3);
    network.run(ms(1_000));
    network.cut(0, 1);
    network.cut(0, 2);
    network.cut(1, 2);
    network.run(ms(5_000));
    let join = JoinTo::new(address(2));
    let newcomer = network.enter(config("Bo"), Role::Peer(join));
    network.run_until(ms(5_000), |network| {
        network.seen(newcomer, &SessionEvent::RoomFrozen) > 0
    });
    network.run(ms(5_000));
    assert_eq!(*network.at(newcomer).state(), State::Connecting);
    network.mend();
    network.run_until(ms(15_000), |network| network.agree(&[0, 1, 2, newcomer]));
}
