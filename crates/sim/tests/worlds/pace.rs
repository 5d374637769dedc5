//! A node that is driven once a frame sees what came in between late, and nothing else changes.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_proto::{ChannelId, Config, ConnectOptions};
use samestep_sim::{EndpointTestbed, Pace, Wake};

#[test]
fn frames_add_up_to_one_period_of_latency() {
    let mut world = EndpointTestbed::new(1);
    let (latency, period) = (Duration::from_millis(30), Duration::from_micros(16_667));
    world.set_links(LinkConfig {
        latency,
        ..LinkConfig::default()
    });
    let server = world.add_node(Config::new("game", 1).accepting(4));
    let client = world.add_node(Config::new("game", 1));
    let [id, _] = world
        .join(client, server, ConnectOptions::default())
        .unwrap();
    world.set_pace(server, Pace::Frames { period });
    world.set_timer(world.now(), 0);
    let mut sent = Vec::new();
    let mut delays = Vec::new();
    while let Some(wake) = world.next(Duration::from_secs(10)) {
        match wake {
            Wake::Timer { at, .. } if sent.len() < 200 => {
                world
                    .send(client, id, ChannelId(3), &(sent.len() as u64).to_le_bytes())
                    .unwrap();
                sent.push(at);
                world.set_timer(at + Duration::from_millis(23), 0);
            }
            Wake::Message(received) => {
                let number = u64::from_le_bytes(received.payload.try_into().unwrap());
                delays.push(received.at - sent[number as usize]);
            }
            _ => {}
        }
    }
    assert_eq!(delays.len(), 200);
    let (least, most) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
    assert!(
        *least >= latency && *least < latency + period / 4,
        "{least:?}"
    );
    assert!(
        *most <= latency + period && *most > latency + period * 3 / 4,
        "{most:?}"
    );
}
