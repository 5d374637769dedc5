//! Hostile datagrams change nothing for those who play.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_netem::{Jitter, LinkConfig};
use samestep_proto::{ChannelId, Config, ConnectOptions};
use samestep_sim::{Attack, EndpointTestbed, Hostile, NodeId, Referee, Wake};

/// A server and `players` clients that send each other messages of every channel at 60 Hz under an attack, for
/// `seconds`. Returns the latencies in order and the most memory the server held.
fn play(
    config: Config,
    players: usize,
    seconds: u64,
    attack: Option<(f64, &[Hostile])>,
) -> (Vec<Duration>, usize) {
    let mut world = EndpointTestbed::new(3);
    let jitter = Jitter {
        amount: Duration::from_millis(2),
        ..Jitter::default()
    };
    world.set_links(LinkConfig {
        latency: Duration::from_millis(25),
        jitter,
        ..LinkConfig::default()
    });
    let server = world.add_node(config.clone().accepting(16));
    let clients: Vec<NodeId> = (0..players)
        .map(|_| world.add_node(config.clone()))
        .collect();
    let mut referee = Referee::new(8, &config.channels, Duration::from_secs(3));
    let connect = |client: &NodeId| {
        let tag = referee
            .connect(&mut world, *client, server, ConnectOptions::default())
            .unwrap();
        let until = world.now() + Duration::from_millis(500);
        while let Some(wake) = world.next(until) {
            referee.on_wake(&wake).unwrap();
        }
        tag
    };
    let tags: Vec<_> = clients.iter().map(connect).collect();
    if let Some((rate_hz, kinds)) = attack {
        for node in world.nodes() {
            world.add_attack(Attack::new(node, rate_hz, kinds));
        }
    }
    for node in world.nodes() {
        referee.set_memory_limit(node, 16 << 20);
    }
    let mut latencies = Vec::new();
    let mut sent_at = BTreeMap::new();
    for tick in 0..seconds * 60 {
        let until = Duration::from_secs(5) + Duration::from_micros(16_667 * tick);
        while let Some(wake) = world.next(until) {
            referee.on_wake(&wake).unwrap();
            if let Wake::Message(message) = wake {
                latencies.push(message.at - sent_at[&message.payload]);
            }
        }
        for tag in &tags {
            for side in 0..2 {
                for channel in 0..config.channels.len() as u8 {
                    let payload = referee
                        .send(&mut world, *tag, side, ChannelId(channel), 60)
                        .unwrap();
                    sent_at.insert(payload.to_vec(), world.now());
                }
            }
        }
        referee.measure_memory(&world).unwrap();
    }
    referee.on_healed(world.now());
    while !referee.settled(world.now()).unwrap() {
        while let Some(wake) = world.next(world.now() + Duration::from_millis(100)) {
            referee.on_wake(&wake).unwrap();
        }
    }
    latencies.sort();
    (latencies, referee.peak_memory_bytes())
}

fn p99(latencies: &[Duration]) -> Duration {
    latencies[latencies.len() * 99 / 100]
}

#[test]
fn every_kind_of_hostile_datagram_is_shrugged_off() {
    for config in [Config::new("game", 1), Config::new("game", 1).plain()] {
        let quiet = play(config.clone(), 2, 5, None);
        for kind in Hostile::ALL {
            let (latencies, memory_bytes) = play(config.clone(), 2, 5, Some((500.0, &[kind])));
            assert!(
                latencies.len() * 100 > quiet.0.len() * 99,
                "{kind:?}: messages keep flowing"
            );
            assert!(
                memory_bytes < quiet.1 + (1 << 20),
                "{kind:?}: {memory_bytes} bytes instead of {}",
                quiet.1
            );
        }
    }
}

#[test]
fn ten_thousand_bogus_handshakes_a_second_cost_players_no_5_ms() {
    for config in [Config::new("game", 1), Config::new("game", 1).plain()] {
        let (quiet, _) = play(config.clone(), 4, 5, None);
        for kinds in [
            &[Hostile::Hello][..],
            &[Hostile::Handshake],
            &[Hostile::Hello, Hostile::Handshake],
        ] {
            let (attacked, _) = play(config.clone(), 4, 5, Some((10_000.0, kinds)));
            let rise = p99(&attacked).saturating_sub(p99(&quiet));
            assert!(
                rise <= Duration::from_millis(5),
                "{kinds:?}: p99 rose by {rise:?}"
            );
        }
    }
}
