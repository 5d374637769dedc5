//! Channels do not wait for each other.

use samestep_proto::{ChannelConfig, ChannelId, Delivery, LossRecovery};

use crate::world::*;

#[test]
fn a_gap_in_one_channel_holds_up_no_other() {
    let mut config = config();
    for channel in &mut config.channels {
        channel.recovery = LossRecovery::Retransmit;
    }
    let other_ordered = ChannelId(config.channels.len() as u8);
    let ordered = ChannelConfig::new(Delivery::ReliableOrdered);
    config
        .channels
        .push(ordered.recovery(LossRecovery::Retransmit));
    let mut pair = Pair::over(config, latency(100), 1);
    pair.run_for(secs(1));
    // The first message is lost; the next of its channel waits for it, the others do not.
    pair.filter = Some(Box::new(|_| false));
    pair.send(CLIENT, ORDERED, b"lost");
    pair.run_for(ms(1));
    pair.filter = None;
    let sent_at = pair.now;
    pair.send(CLIENT, ORDERED, b"waits");
    let others = all().filter(|channel| *channel != ORDERED);
    for channel in others.chain([other_ordered]) {
        pair.send(CLIENT, channel, b"at once");
    }
    pair.run_for(secs(2));
    let received = std::mem::take(&mut pair[SERVER].received);
    assert_eq!(received.len(), Delivery::ALL.len() + 2);
    for message in received {
        if message.channel == ORDERED {
            assert!(message.at > sent_at + ms(200));
        } else {
            assert_eq!(message.at, sent_at + ms(100), "{:?}", message.channel);
        }
    }
}

#[test]
fn a_block_under_way_holds_up_nothing() {
    let mut pair = Pair::over(config(), latency(20), 1);
    let block = content(1, 8 << 20);
    pair.send(CLIENT, ORDERED, &block);
    let mut worst = ms(0);
    for i in 0..120usize {
        let sent_at = pair.now;
        for channel in [UNRELIABLE, SEQUENCED, UNORDERED, REDUNDANT] {
            pair.send(CLIENT, channel, &content(i, 60));
        }
        pair.run_for(ms(16));
        pair.run_for(ms(16));
        for message in pair[SERVER]
            .received
            .iter()
            .filter(|r| r.payload.len() == 60)
        {
            if message.payload == content(i, 60) {
                worst = worst.max(message.at - sent_at);
            }
        }
    }
    assert!(worst <= ms(40), "{worst:?}");
    pair.run_until(secs(20), |pair| {
        pair[SERVER].received.iter().any(|r| r.channel == ORDERED)
    });
    assert!(pair.payloads(SERVER, ORDERED) == [block]);
}
