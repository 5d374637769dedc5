//! Newcomers that know several doors of a room.

use crate::room::{TestNetwork, address, config, ms};
use samestep_session::{JoinTo, LeaveReason, Password, Role, SessionConfig, State};

fn is_in(network: &TestNetwork, node: usize) -> bool {
    *network.at(node).state() == State::InSync
}

#[test]
fn a_mesh_whose_first_member_is_gone_is_joined_through_another() {
    for seed in 0..5 {
        let mut network = TestNetwork::rough(seed);
        let nodes = network.mesh(config("member"), 3);
        let key = network.at(nodes[2]).public_key();
        network.kill(nodes[0]);
        network.run(ms(8000));
        let join = JoinTo::new(address(nodes[0])).or_at(address(nodes[2]), Some(key));
        let late = network.enter(config("late"), Role::Peer(join));
        network.run_until(ms(4000), |network| is_in(network, late));
    }
}

#[test]
fn the_right_one_of_many_doors_is_found() {
    let mut network = TestNetwork::near(1);
    let host = network.enter(config("Ann"), Role::Host);
    let key = network.at(host).public_key();
    let nobody = |n: usize| address(100 + n);
    let join = (1..6).fold(JoinTo::new(nobody(0)), |join, n| {
        join.or_at(nobody(n), None)
    });
    let guest = network.enter(
        config("Bo"),
        Role::Client(join.or_at(address(host), Some(key))),
    );
    network.run_until(ms(40_000), |network| is_in(network, guest));
}

#[test]
fn who_is_refused_at_one_door_does_not_knock_at_the_next() {
    let mut network = TestNetwork::near(2);
    let secret = |words: &str| SessionConfig {
        password: Some(Password::from(words)),
        ..config("Ann")
    };
    let host = network.enter(secret("right"), Role::Host);
    let join = JoinTo::new(address(host)).or_at(address(99), None);
    let guest = network.enter(secret("wrong"), Role::Client(join));
    network.run_until(ms(3000), |network| {
        let reason = LeaveReason::WrongPassword(String::new());
        let is = |state: &State| match state {
            State::Left(left) => std::mem::discriminant(left) == std::mem::discriminant(&reason),
            _ => false,
        };
        is(network.at(guest).state())
    });
}

#[test]
fn where_nobody_is_nobody_is_found_in_bounded_time() {
    let mut network = TestNetwork::near(3);
    let mut config = config("Bo");
    config.rejoin_grace = ms(10_000);
    let join = JoinTo::new(address(90)).or_at(address(91), None);
    let guest = network.enter(config, Role::Client(join));
    network.run_until(ms(12_000), |network| match network.at(guest).state() {
        State::Left(LeaveReason::NotReached(words)) => words.contains("any address of the room"),
        _ => false,
    });
}
