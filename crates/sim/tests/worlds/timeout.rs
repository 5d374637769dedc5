//! Silence ends a connection after the configured time, not before.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_proto::{CloseReason, Config, ConnectOptions, Event};
use samestep_sim::{EndpointTestbed, NodeId, Wake};

fn connected(seed: u64) -> (EndpointTestbed, NodeId, NodeId) {
    let mut world = EndpointTestbed::new(seed);
    world.set_links(LinkConfig {
        latency: Duration::from_millis(20),
        ..LinkConfig::default()
    });
    let server = world.add_node(Config::new("game", 1).accepting(4));
    let client = world.add_node(Config::new("game", 1));
    world
        .join(client, server, ConnectOptions::default())
        .unwrap();
    world.take_log();
    (world, server, client)
}

fn timed_out(world: &EndpointTestbed) -> Vec<(NodeId, Duration)> {
    let timed_out = |wake: &Wake| match wake {
        Wake::Event {
            at,
            node,
            event:
                Event::Closed {
                    reason: CloseReason::TimedOut,
                    ..
                },
        } => Some((*node, *at)),
        _ => None,
    };
    world.log().iter().filter_map(timed_out).collect()
}

#[test]
fn an_idle_connection_stays_open() {
    let (mut world, server, client) = connected(1);
    let before = [world.traffic(server), world.traffic(client)];
    world.run_for(Duration::from_secs(300));
    assert!(world.log().is_empty(), "{:?}", world.log());
    for (node, before) in [server, client].into_iter().zip(before) {
        let datagrams = world.traffic(node).datagrams_sent - before.datagrams_sent;
        assert!(
            (100..500).contains(&datagrams),
            "{datagrams} keep-alives in five minutes"
        );
    }
}

#[test]
fn a_dead_line_is_noticed_by_both_ends() {
    let (mut world, server, client) = connected(2);
    let cut_at = world.now();
    world.cut(server, client);
    world.run_for(Duration::from_secs(30));
    let closed = timed_out(&world);
    assert_eq!(closed.len(), 2, "{closed:?}");
    for (node, at) in closed {
        // The last packet may have come a keep-alive before the cut.
        let silent = at - cut_at;
        assert!(
            (7.4..10.6).contains(&silent.as_secs_f64()),
            "{node} waited {silent:?}"
        );
    }
}

#[test]
fn a_short_outage_is_survived() {
    let (mut world, server, client) = connected(3);
    for _ in 0..10 {
        world.cut(server, client);
        world.run_for(Duration::from_secs(6));
        world.mend(server, client);
        world.run_for(Duration::from_secs(6));
    }
    assert!(world.log().is_empty(), "{:?}", world.log());
}

#[test]
fn a_peer_that_died_is_noticed_and_may_return() {
    let (mut world, server, client) = connected(4);
    world.restart(client);
    world
        .join(client, server, ConnectOptions::default())
        .expect("the new process may connect");
    world.run_for(Duration::from_secs(15));
    let closed = world
        .events(server)
        .filter(|event| matches!(event, Event::Closed { .. }))
        .count();
    assert_eq!(closed, 1, "only the old connection ended");
    assert_eq!(world.endpoint(server).endpoint_stats().open, 1);
}

#[test]
fn one_deaf_direction_ends_both() {
    let (mut world, server, client) = connected(5);
    world.cut_one_way(server, client);
    world.run_for(Duration::from_secs(30));
    assert_eq!(world.endpoint(server).endpoint_stats().open, 0);
    assert_eq!(world.endpoint(client).endpoint_stats().open, 0);
}
