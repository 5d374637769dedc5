//! A host's room so full that changes are told together.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_session::{JoinTo, Role, Session, SessionConfig, State};
use samestep_sim::{Fleet, NodeId};

const GUESTS: usize = 80;

fn run(fleet: &mut Fleet<Session>, time: Duration) {
    let until = fleet.now() + time;
    while fleet.next(until).is_some() {}
}

#[test]
fn everyone_in_a_crowd_hears_of_everyone() {
    let mut fleet = Fleet::new(7);
    fleet.set_links(LinkConfig {
        latency: Duration::from_millis(5),
        ..LinkConfig::default()
    });
    let mut config = SessionConfig::new("crowd", 1);
    config.capacity = GUESTS + 1;
    let host = fleet.add_node();
    let to = fleet.address(host);
    let start = |fleet: &mut Fleet<Session>, node: NodeId, role: Role| {
        let config = config.clone().player(&format!("player {}", node.0));
        fleet.start(node, |now, seed| {
            Session::new(now, config, role, seed).expect("settings that make sense")
        });
    };
    start(&mut fleet, host, Role::Host);
    for _ in 0..GUESTS {
        let guest = fleet.add_node();
        start(&mut fleet, guest, Role::Client(JoinTo::new(to)));
        run(&mut fleet, Duration::from_millis(2));
    }
    run(&mut fleet, Duration::from_secs(5));
    let leaves = NodeId(40);
    fleet.with(leaves, |now, session| session.leave(now, "enough"));
    run(&mut fleet, Duration::from_secs(3));
    let room = fleet.machine(host).expect("it runs").room().clone();
    assert_eq!(room.players().len(), GUESTS, "the host and all but one");
    for node in fleet.nodes().filter(|node| *node != leaves) {
        let session = fleet.machine(node).expect("it runs");
        assert_eq!(*session.state(), State::InSync);
        assert_eq!(*session.room(), room, "at {node:?}");
        assert_eq!(session.malformed(), 0);
    }
}
