//! Delivery reports: which message arrived, which was lost, and in which packet it went.

use std::collections::BTreeSet;

use samestep_proto::{Config, MessageId, Outcome};

use crate::world::*;

fn reporting() -> Config {
    let mut config = config();
    for channel in &mut config.channels {
        channel.report = true;
    }
    config
}

#[test]
fn every_message_is_reported_truly() {
    for (seed, link) in [latency(30), lossy(30, 0.1), rough(30, 0.2)]
        .into_iter()
        .enumerate()
    {
        let mut pair = Pair::over(reporting(), link, seed as u64);
        let mut ids = vec![Vec::new(); 5];
        for i in 0..400usize {
            for channel in all() {
                // Every tenth in several packets.
                let size = if i % 10 == 9 { 3000 } else { 30 };
                let mut message = content(i, size);
                message[..2].copy_from_slice(&(i as u16).to_le_bytes());
                ids[usize::from(channel.0)].push(pair.send(CLIENT, channel, &message));
            }
            pair.run_for(ms(10));
        }
        pair.run_for(secs(4));
        let packets = pair.stats(CLIENT).packets_sent;
        for channel in all() {
            let ids = &ids[usize::from(channel.0)];
            assert!(
                ids.iter().copied().eq((0..400).map(MessageId)),
                "counted from 0"
            );
            let acked = reported(&pair[CLIENT], channel, Outcome::Acked);
            let lost = reported(&pair[CLIENT], channel, Outcome::Lost);
            let once: BTreeSet<MessageId> = acked.iter().copied().collect();
            assert_eq!(once.len(), acked.len(), "{channel:?}: acknowledged once");
            let got: BTreeSet<MessageId> = pair
                .payloads(SERVER, channel)
                .iter()
                .map(|m| MessageId(u64::from(u16::from_le_bytes([m[0], m[1]]))))
                .collect();
            if channel.0 >= 2 {
                assert_eq!((acked.len(), lost.len()), (400, 0), "{channel:?}");
            } else {
                let all: BTreeSet<_> = acked.iter().chain(&lost).copied().collect();
                assert_eq!(all.len(), 400, "{channel:?}: each has a fate");
            }
            if channel == UNRELIABLE {
                assert!(once.is_subset(&got), "acknowledged ones did arrive");
                let wrong = lost
                    .iter()
                    .filter(|id| got.contains(id) && !once.contains(id));
                let wrong = wrong.count();
                assert!(
                    wrong <= 40,
                    "{wrong} of {} reported lost but there",
                    lost.len()
                );
            }
        }
        for delivery in &pair[CLIENT].deliveries {
            assert!(delivery.packet.0 < packets);
        }
        if seed == 0 {
            let lost = pair[CLIENT]
                .deliveries
                .iter()
                .filter(|d| d.outcome == Outcome::Lost);
            assert_eq!(lost.count(), 0, "nothing is lost on a clean link");
        }
    }
}

#[test]
fn messages_of_one_packet_share_its_fate() {
    let mut pair = Pair::connected(reporting());
    let ids: Vec<MessageId> = (0..5)
        .map(|_| pair.send(CLIENT, UNRELIABLE, b"x"))
        .collect();
    pair.run_for(ms(200));
    let deliveries = &pair[CLIENT].deliveries;
    assert_eq!(reported(&pair[CLIENT], UNRELIABLE, Outcome::Acked), ids);
    assert!(deliveries.iter().all(|d| d.packet == deliveries[0].packet));
}

#[test]
fn a_lost_packet_is_reported_within_a_few_round_trips() {
    let mut pair = Pair::over(reporting(), latency(25), 1);
    pair.run_for(secs(1));
    pair.filter = Some(Box::new(|_| false));
    let lost = pair.send(CLIENT, UNRELIABLE, b"lost");
    pair.run_for(ms(1));
    pair.filter = None;
    for _ in 0..20 {
        pair.send(CLIENT, UNRELIABLE, b"there");
        pair.run_for(ms(10));
    }
    assert_eq!(reported(&pair[CLIENT], UNRELIABLE, Outcome::Lost), [lost]);
}

#[test]
fn channels_without_reports_report_nothing() {
    let mut pair = Pair::connected(config());
    for channel in all() {
        pair.send(CLIENT, channel, b"x");
    }
    pair.run_for(secs(1));
    assert_eq!(pair[CLIENT].deliveries, []);
}
