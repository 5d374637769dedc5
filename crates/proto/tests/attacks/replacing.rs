//! The attacker stands beside the way between a client and its server: they read everything and write from any address, but hold no
//! key of either. They want the server to take them for the client, or at least to drop it.

use std::net::SocketAddr;

use samestep_proto::{Config, ConnectOptions, Endpoint};

use crate::world::*;

/// Makes the server believe in a new exchange from `victim`, up to its Accept; the attacker never holds the client's keys.
fn connect_in_the_name_of(pair: &mut Pair, victim: SocketAddr, config: Config) {
    let mut attacker = Endpoint::new(config, [98; 32]).unwrap();
    let (now, server) = (pair.now, pair[SERVER].address);
    let options = ConnectOptions::default();
    attacker.connect(now, server, options).unwrap();
    let mut buf = [0; 1500];
    for _ in 0..2 {
        while let Some(packet) = attacker.poll_transmit(now, &mut buf) {
            pair.inject(victim, &buf[..packet.len]);
        }
        pair.capture = true;
        pair.captured.clear();
        pair.run_for(ms(1));
        for datagram in std::mem::take(&mut pair.captured) {
            // The Accept would make the attacker confirm, as a client whose own address this is may do.
            if datagram.to == victim && datagram.bytes[0] == 0x02 {
                attacker.handle_datagram(now, server, &mut datagram.bytes.clone());
            }
        }
    }
}

#[test]
fn a_connect_that_nobody_confirms_replaces_nothing() {
    for config in [config(), config().plain()] {
        let mut pair = Pair::connected(config.clone());
        let victim = pair[CLIENT].address;
        for _ in 0..5 {
            connect_in_the_name_of(&mut pair, victim, config.clone());
            pair.run_for(ms(500));
        }
        assert_eq!(pair.closed(SERVER), None);
        pair.send(CLIENT, ORDERED, b"still here");
        pair.run_for(secs(20));
        assert_eq!(pair.payloads(SERVER, ORDERED), [b"still here"]);
        assert_eq!(pair.closed(SERVER), None);
        assert_eq!(pair.closed(CLIENT), None);
        assert_eq!(pair[SERVER].endpoint.endpoint_stats().open, 1);
    }
}
