//! Two nodes find each other and talk, encrypted or not, whatever their clocks show.

use std::time::Duration;

use samestep_netem::{LinkConfig, Loss};
use samestep_proto::{ChannelId, CloseReason, Config, ConnectOptions, Event, Identity};
use samestep_sim::EndpointTestbed;

fn lossy() -> LinkConfig {
    LinkConfig {
        latency: Duration::from_millis(40),
        loss: Loss::Bernoulli(0.2),
        ..LinkConfig::default()
    }
}

#[test]
fn messages_of_every_channel_arrive_both_ways() {
    for (seed, config) in [
        (1, Config::new("game", 1)),
        (2, Config::new("game", 1).plain()),
    ] {
        let mut world = EndpointTestbed::new(seed);
        world.set_links(LinkConfig {
            latency: Duration::from_millis(30),
            ..LinkConfig::default()
        });
        let server = world.add_node(config.clone().accepting(4));
        let client = world.add_node(config);
        let [to_server, to_client] = world
            .join(client, server, ConnectOptions::default())
            .unwrap();
        world.take_log();
        for channel in 0..5 {
            world
                .send(client, to_server, ChannelId(channel), b"hello")
                .unwrap();
            world
                .send(server, to_client, ChannelId(channel), b"welcome")
                .unwrap();
        }
        let sent_at = world.now();
        world.run_for(Duration::from_millis(200));
        for (node, words) in [(server, &b"hello"[..]), (client, b"welcome")] {
            let mut channels: Vec<u8> = world
                .received(node)
                .map(|received| received.channel.0)
                .collect();
            channels.sort_unstable();
            assert_eq!(channels, [0, 1, 2, 3, 4]);
            for received in world.received(node) {
                assert_eq!(received.payload, words);
                assert_eq!(
                    received.at,
                    sent_at + Duration::from_millis(30),
                    "one way, at once"
                );
            }
        }
    }
}

#[test]
fn connecting_survives_loss() {
    for seed in 0..50 {
        let mut world = EndpointTestbed::new(seed);
        world.set_links(lossy());
        let server = world.add_node(Config::new("game", 1).accepting(4));
        let client = world.add_node(Config::new("game", 1));
        world
            .join(client, server, ConnectOptions::default())
            .unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
    }
}

#[test]
fn user_data_reaches_the_server() {
    let mut world = EndpointTestbed::new(3);
    let server = world.add_node(Config::new("game", 1).accepting(4));
    let client = world.add_node(Config::new("game", 1));
    let options = ConnectOptions {
        user_data: b"player one".to_vec(),
        ..ConnectOptions::default()
    };
    world.join(client, server, options).unwrap();
    let brought = world.events(server).find_map(|event| match event {
        Event::Connected { user_data, .. } => Some(user_data.clone()),
        _ => None,
    });
    assert_eq!(brought.as_deref(), Some(&b"player one"[..]));
}

#[test]
fn an_address_without_a_server_gives_no_answer() {
    let mut world = EndpointTestbed::new(4);
    let client = world.add_node(Config::new("game", 1));
    world
        .connect_to(
            client,
            "10.9.9.9:9".parse().unwrap(),
            ConnectOptions::default(),
        )
        .unwrap();
    world.run_for(Duration::from_secs(8));
    let events: Vec<_> = world.events(client).collect();
    assert!(
        matches!(
            events[..],
            [Event::Closed {
                reason: CloseReason::NoAnswer,
                ..
            }]
        ),
        "{events:?}"
    );
    assert!(world.unroutable() > 1, "it tried more than once");
}

#[test]
fn a_known_server_key_is_checked() {
    let mut world = EndpointTestbed::new(5);
    let server = world.add_node(Config::new("game", 1).accepting(4));
    let client = world.add_node(Config::new("game", 1));
    let key = world.endpoint(server).public_key();
    let with = |server_key| ConnectOptions {
        server_key: Some(server_key),
        ..ConnectOptions::default()
    };
    world.join(client, server, with(key)).unwrap();
    let other = world.add_node(Config::new("game", 1));
    let expected = Identity::from_secret([7; 32]).public_key();
    let refused = world.join(other, server, with(expected));
    let seen = key;
    assert_eq!(refused, Err(CloseReason::Identity { expected, seen }));
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let play = |seed| {
        let mut world = EndpointTestbed::new(seed);
        world.set_links(lossy());
        let server = world.add_node(Config::new("game", 1).accepting(4));
        let client = world.add_node(Config::new("game", 1));
        let [id, _] = world
            .join(client, server, ConnectOptions::default())
            .unwrap();
        for _ in 0..100 {
            world.send(client, id, ChannelId(3), &[1; 300]).unwrap();
            world.run_for(Duration::from_millis(20));
        }
        (
            format!("{:?}", world.log()),
            world.traffic(server),
            world.traffic(client),
        )
    };
    assert_eq!(play(6), play(6));
    assert_ne!(play(6), play(7));
}
