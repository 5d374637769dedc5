//! Whatever was seen on the wire and is sent again changes nothing.

use crate::world::*;

#[test]
fn every_datagram_again_delivers_nothing_twice() {
    for config in [config(), config().plain()] {
        let mut pair = Pair::new(config);
        pair.capture = true;
        pair.set_link(lossy(20, 0.1), 5);
        pair.connect(Default::default()).unwrap();
        for i in 0..200 {
            for channel in all() {
                pair.send(CLIENT, channel, &content(i, 40));
                pair.send(SERVER, channel, &content(i, 40));
            }
            pair.run_for(ms(10));
        }
        pair.run_for(secs(2));
        let received = |pair: &Pair| [CLIENT, SERVER].map(|who| pair[who].received.len());
        let events = |pair: &Pair| [CLIENT, SERVER].map(|who| pair[who].events.len());
        let before = (received(&pair), events(&pair));
        let moved_on = pair.stats(SERVER).packets_received;
        pair.capture = false;
        let captured = std::mem::take(&mut pair.captured);
        for datagram in captured.iter().chain(captured.iter().rev()) {
            // From where it came, and from elsewhere.
            pair.arrive(datagram.clone());
            let mut spoofed = datagram.clone();
            spoofed.from = "10.6.6.6:6".parse().unwrap();
            pair.arrive(spoofed);
        }
        pair.run_for(secs(1));
        // What the link lost the first time is new, and may come once.
        let (after, _) = (received(&pair), events(&pair));
        for who in [CLIENT, SERVER] {
            for channel in [UNORDERED, ORDERED, REDUNDANT] {
                assert_eq!(pair.payloads(who, channel).len(), 200);
            }
            let mut unreliable = pair.payloads(who, UNRELIABLE);
            unreliable.sort();
            unreliable.dedup();
            assert_eq!(unreliable.len(), pair.payloads(who, UNRELIABLE).len());
            assert!(unreliable.len() <= 200);
        }
        assert!(after[0] >= before.0[0] && after[1] >= before.0[1]);
        assert_eq!(pair.closed(CLIENT), None);
        assert_eq!(pair.closed(SERVER), None);
        let stats = pair.stats(SERVER);
        assert!(stats.packets_duplicate + stats.refused.too_old + stats.refused.forged > 0);
        assert!(stats.packets_received < moved_on + moved_on / 4);
        pair.send(CLIENT, ORDERED, b"still here");
        pair.run_for(secs(1));
        assert_eq!(pair.payloads(SERVER, ORDERED).len(), 201);
    }
}

#[test]
fn packets_of_an_earlier_connection_mean_nothing_to_a_later_one() {
    for config in [config(), config().plain()] {
        let mut pair = Pair::connected(config);
        pair.capture = true;
        for i in 0..50 {
            pair.send(CLIENT, ORDERED, &content(i, 40));
            pair.run_for(ms(10));
        }
        let old = std::mem::take(&mut pair.captured);
        pair.connect(Default::default()).unwrap();
        pair.send(CLIENT, ORDERED, b"new");
        pair.run_for(ms(100));
        let received = pair[SERVER].received.len();
        for datagram in old {
            pair.arrive(datagram);
        }
        pair.run_for(ms(100));
        assert_eq!(pair[SERVER].received.len(), received);
        assert!(pair.stats(SERVER).packets_received < 10);
    }
}
