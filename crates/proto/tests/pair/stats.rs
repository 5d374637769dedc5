//! The counters add up.

use crate::world::*;

#[test]
fn bytes_and_packets_are_those_that_left_and_arrived() {
    for config in [config(), config().plain()] {
        let mut pair = Pair::over(config, latency(20), 1);
        pair.run_for(ms(100));
        let handshake = [CLIENT, SERVER].map(|who| {
            let stats = pair.stats(who);
            let peer = &pair[who];
            (
                peer.bytes_out - stats.bytes_sent,
                peer.packets_out - stats.packets_sent,
            )
        });
        pair.set_link(rough(20, 0.1), 8);
        for i in 0..500 {
            for channel in all() {
                pair.send(CLIENT, channel, &content(i, 100 + i * 3));
            }
            pair.run_for(ms(10));
        }
        pair.set_link(latency(20), 1);
        pair.run_for(secs(3));
        for (who, (bytes, packets)) in [CLIENT, SERVER].into_iter().zip(handshake) {
            let stats = pair.stats(who);
            assert_eq!(stats.bytes_sent, pair[who].bytes_out - bytes);
            assert_eq!(stats.packets_sent, pair[who].packets_out - packets);
            assert!(stats.bytes_resent < stats.bytes_sent);
            assert!(stats.packets_resent <= stats.packets_sent);
        }
        let (client, server) = (pair.stats(CLIENT), pair.stats(SERVER));
        assert_eq!(client.messages_sent, 2500);
        assert_eq!(server.messages_received, pair[SERVER].received.len() as u64);
        assert!(server.bytes_received < client.bytes_sent);
        let arrived = server.packets_received as f64 / client.packets_sent as f64;
        assert!((0.85..0.97).contains(&arrived), "{arrived}");
        assert!(server.packets_duplicate > 0);
        assert!(client.bytes_resent > 0 && client.packets_resent > 0);
        assert_eq!((client.queued_bytes, client.in_flight_bytes), (0, 0));
    }
}

#[test]
fn on_a_clean_link_nothing_is_repeated() {
    let mut pair = Pair::connected(config());
    let mut learnt = 0;
    for i in 0..2000 {
        for channel in all() {
            pair.send(CLIENT, channel, &content(i, 50));
        }
        pair.run_for(ms(16));
        if i == 1000 {
            // A new connection expects the worst for its first packets.
            learnt = pair.stats(CLIENT).bytes_resent;
        }
    }
    pair.run_for(secs(1));
    let (client, server) = (pair.stats(CLIENT), pair.stats(SERVER));
    assert_eq!((client.bytes_resent, client.packets_lost), (learnt, 0));
    assert!(learnt < client.bytes_sent / 5);
    assert_eq!(server.packets_duplicate, 0);
    assert_eq!(server.messages_received, 10_000);
    assert_eq!(server.bytes_received, client.bytes_sent);
}

#[test]
fn dropped_messages_are_counted() {
    let mut config = config();
    config.channels[0].queue_limit = 64 << 10;
    let mut pair = Pair::connected(config);
    for i in 0..100 {
        pair.send(CLIENT, UNRELIABLE, &content(i, 10_000));
    }
    pair.run_for(secs(1));
    let stats = pair.stats(CLIENT);
    assert_eq!(stats.messages_sent, 100);
    let arrived = pair.payloads(SERVER, UNRELIABLE).len() as u64;
    assert_eq!(stats.messages_dropped + arrived, 100);
}

#[test]
fn a_reader_that_does_not_read_is_not_flooded() {
    let mut config = config();
    config.inbox_limit = 100_000;
    let mut pair = Pair::connected(config);
    pair[SERVER].reads = false;
    for i in 0..1000 {
        pair.try_send(CLIENT, ORDERED, &content(i, 1000)).unwrap();
        pair.run_for(ms(2));
    }
    pair.run_for(secs(1));
    assert!(pair.stats(SERVER).refused.inbox_full > 0);
    assert!(pair[SERVER].endpoint.memory_bytes() < 2 << 20);
    pair[SERVER].reads = true;
    pair.run_for(secs(20));
    assert_eq!(pair.payloads(SERVER, ORDERED).len(), 1000);
}
