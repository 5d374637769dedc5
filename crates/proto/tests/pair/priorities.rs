//! When not everything fits, what matters more goes first.

use samestep_netem::LinkConfig;
use samestep_proto::{ChannelConfig, ChannelId, Config, Delivery};

use crate::world::*;

const HIGH: ChannelId = ChannelId(1);
const LOW: ChannelId = ChannelId(0);

fn config_of_two() -> Config {
    let unreliable = ChannelConfig::new(Delivery::Unreliable);
    Config {
        channels: vec![unreliable.clone().priority(10), unreliable.priority(200)],
        ..config()
    }
}

#[test]
fn the_higher_priority_keeps_its_rate_on_a_narrow_link() {
    // Half of what is offered, and a quarter more.
    let narrow = LinkConfig {
        rate_bps: Some(600_000),
        queue: ms(200),
        ..latency(20)
    };
    let mut pair = Pair::over(config_of_two(), narrow, 1);
    let mut sent = 0;
    for i in 0..900 {
        // The first seconds are for finding the link's rate.
        if i == 300 {
            pair[SERVER].received.clear();
            sent = 0;
        }
        for channel in [LOW, HIGH] {
            pair.send(CLIENT, channel, &content(i, 900));
        }
        sent += 1;
        pair.run_for(ms(16));
    }
    let share = |channel| pair.payloads(SERVER, channel).len() as f64 / f64::from(sent);
    assert!(share(HIGH) > 0.9, "{}", share(HIGH));
    assert!(share(LOW) < 0.4, "{}", share(LOW));
}

#[test]
fn within_a_packet_the_higher_comes_first() {
    let mut pair = Pair::connected(config_of_two());
    pair.send(CLIENT, LOW, b"low");
    pair.send(CLIENT, HIGH, b"high");
    pair.run_for(ms(50));
    let order: Vec<ChannelId> = pair[SERVER].received.iter().map(|r| r.channel).collect();
    assert_eq!(order, [HIGH, LOW]);
}
