//! When a partition ends, what waited arrives.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_proto::{ChannelId, Config, ConnectOptions};
use samestep_sim::EndpointTestbed;

#[test]
fn everything_reliable_arrives_soon_after_the_partition_heals() {
    for (seed, seconds) in [(1, 1), (2, 3), (3, 5), (4, 7)] {
        let mut world = EndpointTestbed::new(seed);
        let latency = Duration::from_millis(50);
        world.set_links(LinkConfig {
            latency,
            ..LinkConfig::default()
        });
        let server = world.add_node(Config::new("game", 1).accepting(4));
        let client = world.add_node(Config::new("game", 1));
        let [id, _] = world
            .join(client, server, ConnectOptions::default())
            .unwrap();
        world.take_log();
        world.run_for(Duration::from_secs(2));
        world.cut(server, client);
        for number in 0..seconds * 20u64 {
            for channel in 2..5 {
                world
                    .send(client, id, ChannelId(channel), &number.to_le_bytes())
                    .unwrap();
            }
            world.run_for(Duration::from_millis(50));
        }
        world.mend(server, client);
        let healed_at = world.now();
        world.run_for(Duration::from_secs(5));
        assert_eq!(
            world.received(server).count() as u64,
            seconds * 60,
            "seed {seed}: all of them, once"
        );
        let last = world
            .received(server)
            .map(|received| received.at)
            .max()
            .unwrap();
        let waited = last - healed_at;
        assert!(
            waited < Duration::from_millis(1500),
            "seed {seed}: {waited:?} after the partition healed"
        );
    }
}

#[test]
fn others_do_not_notice_a_partition_of_two() {
    let mut world = EndpointTestbed::new(5);
    world.set_links(LinkConfig {
        latency: Duration::from_millis(20),
        ..LinkConfig::default()
    });
    let server = world.add_node(Config::new("game", 1).accepting(4));
    let clients = [(); 2].map(|()| world.add_node(Config::new("game", 1)));
    let ids = clients.map(|client| {
        world
            .join(client, server, ConnectOptions::default())
            .unwrap()
    });
    world.cut(server, clients[0]);
    world.take_log();
    for _ in 0..100 {
        for id in ids {
            world.send(server, id[1], ChannelId(3), b"tick").unwrap();
        }
        world.run_for(Duration::from_millis(20));
    }
    world.run_for(Duration::from_millis(20));
    assert_eq!(world.received(clients[0]).count(), 0);
    assert_eq!(world.received(clients[1]).count(), 100);
}
