//! A host's room so full that changes are told together.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_session::{JoinTo, Role, Session, SessionConfig, State};
use samestep_sim::{NodeId, Testbed};

const GUESTS: usize = 80;

fn run(testbed: &mut Testbed<Session>, time: Duration) {
    let until = testbed.now() + time;
    while testbed.next(until).is_some() {}
}

#[test]
fn everyone_in_a_crowd_hears_of_everyone() {
    let mut testbed = Testbed::new(7);
    testbed.set_links(LinkConfig {
        latency: Duration::from_millis(5),
        ..LinkConfig::default()
    });
    let mut config = SessionConfig::new("crowd", 1);
    config.capacity = GUESTS + 1;
    let host = testbed.add_node();
    let to = testbed.address(host);
    let start = |testbed: &mut Testbed<Session>, node: NodeId, role: Role| {
        let config = config.clone().player(&format!("player {}", node.0));
        testbed.start(node, |now, seed| {
            Session::new(now, config, role, seed).expect("settings that make sense")
        });
    };
    start(&mut testbed, host, Role::Host);
    for _ in 0..GUESTS {
        let guest = testbed.add_node();
        start(&mut testbed, guest, Role::Client(JoinTo::new(to)));
        run(&mut testbed, Duration::from_millis(2));
    }
    run(&mut testbed, Duration::from_secs(5));
    let leaves = NodeId(40);
    testbed.with(leaves, |now, session| session.leave(now, "enough"));
    run(&mut testbed, Duration::from_secs(3));
    let room = testbed.machine(host).expect("it runs").room().clone();
    assert_eq!(room.players().len(), GUESTS, "the host and all but one");
    for node in testbed.nodes().filter(|node| *node != leaves) {
        let session = testbed.machine(node).expect("it runs");
        assert_eq!(*session.state(), State::InSync);
        assert_eq!(*session.room(), room, "at {node:?}");
        assert_eq!(session.malformed(), 0);
    }
}
