//! What each kind of channel promises, for messages of every size, through loss.

use std::collections::BTreeSet;
use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_proto::{ChannelConfig, ChannelId, Config, Delivery, LossRecovery};

use crate::world::*;

const SIZES: [usize; 14] = [
    0, 1, 2, 31, 500, 1097, 1098, 1099, 1150, 1200, 5000, 20_000, 65_000, 100_000,
];

/// Sends messages of all sizes both ways and returns what the server received, in order.
fn exchange(config: Config, link: LinkConfig, seed: u64, channel: ChannelId) -> Vec<Vec<u8>> {
    let ChannelConfig {
        delivery,
        max_message: max,
        ..
    } = config.channels[usize::from(channel.0)];
    let mut pair = Pair::over(config, link, seed);
    for (number, size) in sizes(max).into_iter().enumerate() {
        pair.send(CLIENT, channel, &content(number, size));
        pair.send(SERVER, channel, &content(number, size));
        // Unreliable ones that cannot leave soon would be dropped as stale.
        pair.run_for(ms(5 + size as u64 / 500));
    }
    pair.run_for(secs(8));
    assert_eq!(pair.closed(CLIENT), None);
    if delivery.is_reliable() {
        let (mut there, mut here) = (
            pair.payloads(CLIENT, channel),
            pair.payloads(SERVER, channel),
        );
        there.sort();
        here.sort();
        assert_eq!(there.len(), here.len());
        assert!(there == here, "both ways");
        let queued = [CLIENT, SERVER].map(|who| pair.stats(who).queued_bytes);
        assert_eq!(queued, [0, 0], "nothing is left");
    }
    pair.payloads(SERVER, channel)
}

/// Every size four times.
fn sizes(max: usize) -> Vec<usize> {
    let all = SIZES.into_iter().filter(|size| *size <= max);
    all.cycle().take(56).collect()
}

fn sent(config: &Config, channel: ChannelId) -> Vec<Vec<u8>> {
    let max = config.channels[usize::from(channel.0)].max_message;
    let sizes = sizes(max).into_iter().enumerate();
    sizes.map(|(number, size)| content(number, size)).collect()
}

#[test]
fn every_delivery_keeps_its_promise() {
    for (delivery, channel) in Delivery::ALL.into_iter().zip(all()) {
        for seed in 0..3 {
            let mut got = exchange(config(), rough(20, 0.2), seed, channel);
            let mut sent = sent(&config(), channel);
            if !delivery.is_reliable() {
                let least = if delivery.is_sequenced() { 0 } else { 56 / 3 };
                assert!(got.len() > least, "{delivery:?}: {} arrived", got.len());
                for message in &got {
                    let position = sent.iter().position(|sent| sent == message);
                    sent.remove(position.expect("as it was sent, and once"));
                }
                continue;
            }
            if !delivery.is_ordered() {
                got.sort();
                sent.sort();
            }
            assert!(got == sent, "{delivery:?}, seed {seed}");
        }
    }
}

#[test]
fn every_loss_recovery_keeps_the_promise() {
    for recovery in [
        LossRecovery::Fec,
        LossRecovery::Repeat,
        LossRecovery::Retransmit,
    ] {
        for delivery in Delivery::ALL.into_iter().filter(|d| d.is_reliable()) {
            let channel = ChannelId(delivery as u8);
            let mut config = config();
            config.channels[usize::from(channel.0)].recovery = recovery;
            let mut got = exchange(config.clone(), lossy(20, 0.2), 9, channel);
            let mut sent = sent(&config, channel);
            if !delivery.is_ordered() {
                got.sort();
                sent.sort();
            }
            assert!(got == sent, "{recovery:?}, {channel:?}");
        }
    }
}

/// Packets overtaken by a hundred others: what is restored from late repairs must be what was sent.
#[test]
fn late_repairs_restore_the_right_segments() {
    for seed in 0..8 {
        let link = LinkConfig {
            reorder: 0.3,
            reorder_by: ms(100),
            ..lossy(10, 0.2)
        };
        let mut pair = Pair::over(config(), link, seed);
        for i in 0..2000 {
            pair.send(CLIENT, ORDERED, &content(i, 20 + i % 50));
            pair.run_for(ms(1));
        }
        pair.run_for(secs(3));
        assert_eq!(pair.closed(CLIENT), None, "seed {seed}");
        let sent: Vec<_> = (0..2000).map(|i| content(i, 20 + i % 50)).collect();
        assert!(pair.payloads(SERVER, ORDERED) == sent, "seed {seed}");
    }
}

#[test]
fn unreliable_arrive_all_on_a_clean_link() {
    let unreliable = Delivery::ALL.into_iter().filter(|d| !d.is_reliable());
    for channel in unreliable.map(|delivery| ChannelId(delivery as u8)) {
        let got = exchange(config(), latency(20), 1, channel);
        assert!(got == sent(&config(), channel));
    }
}

#[test]
fn sequenced_never_go_back() {
    let mut pair = Pair::over(config(), rough(20, 0.3), 4);
    for i in 0..3000u32 {
        let mut message = i.to_le_bytes().to_vec();
        message.resize(if i % 50 == 0 { 3000 } else { 20 }, 0);
        pair.send(CLIENT, SEQUENCED, &message);
        pair.run_for(ms(2));
    }
    let got = pair.payloads(SERVER, SEQUENCED);
    let numbers: Vec<u32> = got
        .iter()
        .map(|m| u32::from_le_bytes(m[..4].try_into().unwrap()))
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a < b));
    assert!(numbers.len() > 1000);
    assert!(pair.stats(SERVER).messages_outdated > 100);
}

/// A fragment that waits for its lost sibling must not be completed by a message sent 65,536 later.
#[test]
fn numbers_that_come_round_do_not_mix_messages() {
    let mut pair = Pair::connected(config().plain());
    let first = content(1, 2000);
    pair.send(CLIENT, UNRELIABLE, &first);
    let mut sent = 0;
    pair.filter = Some(Box::new(move |datagram| {
        sent += usize::from(datagram.bytes.len() > 500);
        datagram.bytes.len() <= 500 || sent != 2
    }));
    pair.run_for(ms(100));
    pair.filter = None;
    for _ in 0..65_535 / 64 + 1 {
        for _ in 0..64 {
            pair.send(CLIENT, UNRELIABLE, b"small");
        }
        pair.run_for(ms(2));
    }
    // One more than the numbers of the small ones: the first message's number comes round.
    let number = pair.send(CLIENT, UNRELIABLE, &content(2, 2000)).0;
    let again = 65_536 - number % 65_536;
    for _ in 0..again.saturating_sub(1) % 65_536 {
        pair.send(CLIENT, UNRELIABLE, b"s");
        pair.run_for(Duration::from_micros(20));
    }
    pair.send(CLIENT, UNRELIABLE, &content(3, 2000));
    pair.run_for(ms(200));
    let long: BTreeSet<Vec<u8>> = pair
        .payloads(SERVER, UNRELIABLE)
        .into_iter()
        .filter(|m| m.len() > 10)
        .collect();
    assert!(long == BTreeSet::from([content(2, 2000), content(3, 2000)]));
}
