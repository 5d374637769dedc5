//! A connection follows a node to its new address.

use std::time::Duration;

use samestep_netem::{LinkConfig, Loss};
use samestep_proto::{ChannelId, Config, ConnectOptions, Event};
use samestep_sim::{EndpointTestbed, NodeId, Referee, Wake};

const ORDERED: ChannelId = ChannelId(3);

struct Stream {
    world: EndpointTestbed,
    referee: Referee,
    server: NodeId,
    client: NodeId,
    moves: Vec<(NodeId, Duration)>,
}

/// A client and a server that send each other a message every 20 ms for `seconds`, with `on_tick` before each.
fn stream(
    config: Config,
    loss: f64,
    seconds: u64,
    mut on_tick: impl FnMut(u64, &mut Stream),
) -> Stream {
    let mut world = EndpointTestbed::new(1);
    let latency = Duration::from_millis(30);
    world.set_links(LinkConfig {
        latency,
        loss: Loss::Bernoulli(loss),
        ..LinkConfig::default()
    });
    let server = world.add_node(config.clone().accepting(4));
    let client = world.add_node(config.clone());
    let mut referee = Referee::new(5, &config.channels, Duration::from_secs(3));
    let tag = referee
        .connect(&mut world, client, server, ConnectOptions::default())
        .unwrap();
    let mut stream = Stream {
        world,
        referee,
        server,
        client,
        moves: Vec::new(),
    };
    stream.run(1_000);
    let ticks = seconds * 50;
    for tick in 0..ticks {
        on_tick(tick, &mut stream);
        for side in 0..2 {
            stream
                .referee
                .send(&mut stream.world, tag, side, ORDERED, 100)
                .expect("still connected");
        }
        stream.run(20);
    }
    stream.referee.on_healed(stream.world.now());
    while !stream.referee.settled(stream.world.now()).unwrap() {
        stream.run(100);
    }
    assert!(
        stream.referee.is_open(tag, 0) && stream.referee.is_open(tag, 1),
        "still connected"
    );
    stream
}

impl Stream {
    fn run(&mut self, ms: u64) {
        let until = self.world.now() + Duration::from_millis(ms);
        while let Some(wake) = self.world.next(until) {
            self.referee.on_wake(&wake).unwrap();
            if let Wake::Event {
                at,
                node,
                event: Event::Moved { to, .. },
            } = wake
            {
                let ends = [self.server, self.client];
                assert!(ends.iter().any(|node| self.world.address(*node) == to));
                self.moves.push((node, at));
            }
        }
    }
}

#[test]
fn a_client_at_a_new_address_is_followed_within_a_second() {
    for config in [Config::new("game", 1), Config::new("game", 1).plain()] {
        let mut moved_at = Duration::ZERO;
        let stream = stream(config, 0.0, 4, |tick, stream| {
            if tick == 100 {
                moved_at = stream.world.now();
                stream.world.roam(stream.client);
            }
        });
        let (node, at) = stream.moves[0];
        assert_eq!((stream.moves.len(), node), (1, stream.server));
        assert!(
            at - moved_at < Duration::from_secs(1),
            "took {:?}",
            at - moved_at
        );
    }
}

#[test]
fn a_new_port_is_followed_too() {
    let stream = stream(Config::new("game", 1), 0.1, 4, |tick, stream| {
        if tick == 100 {
            stream.world.rebind(stream.client);
        }
    });
    assert_eq!(stream.moves.len(), 1);
}

#[test]
fn moving_again_and_again_under_loss_loses_nothing() {
    let stream = stream(Config::new("game", 1), 0.2, 6, |tick, stream| {
        if tick % 50 == 25 {
            stream.world.roam(stream.client);
        }
    });
    assert!(stream.moves.len() >= 6, "{:?}", stream.moves);
}
