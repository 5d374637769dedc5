//! A close reason survives loss, and closing loses nothing that was sent before.

use std::time::Duration;

use samestep_netem::{LinkConfig, Loss};
use samestep_proto::{ChannelId, CloseReason, Config, ConnectOptions, Event};
use samestep_sim::{EndpointTestbed, NodeId};

fn lossy(loss: f64) -> LinkConfig {
    LinkConfig {
        latency: Duration::from_millis(40),
        loss: Loss::Bernoulli(loss),
        ..LinkConfig::default()
    }
}

fn closed(world: &EndpointTestbed, node: NodeId) -> Vec<CloseReason> {
    let reason = |event: &Event| match event {
        Event::Closed { reason, .. } => Some(reason.clone()),
        _ => None,
    };
    world.events(node).filter_map(reason).collect()
}

#[test]
fn the_reason_survives_loss() {
    let said = CloseReason::Remote {
        code: 42,
        reason: "the host went to bed".into(),
    };
    let mut heard = 0;
    for seed in 0..200 {
        let mut world = EndpointTestbed::new(seed);
        let server = world.add_node(Config::new("game", 1).accepting(4));
        let client = world.add_node(Config::new("game", 1));
        let [_, id] = world
            .join(client, server, ConnectOptions::default())
            .unwrap();
        world.set_links(lossy(0.3));
        match seed % 2 {
            0 => world.close(server, id, 42, "the host went to bed"),
            _ => world.abort(server, id, 42, "the host went to bed"),
        }
        world.run_for(Duration::from_secs(15));
        assert_eq!(closed(&world, server), [CloseReason::Local], "seed {seed}");
        match &closed(&world, client)[..] {
            [reason] if *reason == said => heard += 1,
            [CloseReason::TimedOut] => {}
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(heard >= 198, "only {heard} of 200 clients heard why");
}

#[test]
fn closing_delivers_what_was_sent_before() {
    for seed in 0..30 {
        let mut world = EndpointTestbed::new(seed);
        let server = world.add_node(Config::new("game", 1).accepting(4));
        let client = world.add_node(Config::new("game", 1));
        let [id, _] = world
            .join(client, server, ConnectOptions::default())
            .unwrap();
        world.set_links(lossy(0.1));
        for number in 0..30u8 {
            world
                .send(client, id, ChannelId(2 + number % 3), &[number; 500])
                .unwrap();
        }
        world.close(client, id, 0, "");
        world.run_for(Duration::from_secs(4));
        assert_eq!(world.received(server).count(), 30, "seed {seed}");
        assert_eq!(
            closed(&world, server),
            [CloseReason::Remote {
                code: 0,
                reason: String::new()
            }]
        );
        assert_eq!(closed(&world, client), [CloseReason::Local]);
    }
}

#[test]
fn both_may_close_at_once() {
    let mut world = EndpointTestbed::new(1);
    let server = world.add_node(Config::new("game", 1).accepting(4));
    let client = world.add_node(Config::new("game", 1));
    let [id, other] = world
        .join(client, server, ConnectOptions::default())
        .unwrap();
    world.close(client, id, 1, "me first");
    world.close(server, other, 2, "no, me");
    world.run_for(Duration::from_secs(5));
    assert_eq!(
        (closed(&world, client).len(), closed(&world, server).len()),
        (1, 1)
    );
    assert_eq!(world.endpoint(server).endpoint_stats().open, 0);
}
