//! Damaged, random, oversized and malicious datagrams: counted, never believed, never fatal.

use std::net::SocketAddr;

use samestep_netem::Rng;
use samestep_proto::{CloseReason, ConnectOptions};

use crate::forge::{Exchange, Forger};
use crate::world::*;

/// A pair that has talked, and the datagrams the client sent.
fn talked(config: samestep_proto::Config) -> (Pair, Vec<Vec<u8>>) {
    let mut pair = Pair::new(config);
    pair.capture = true;
    pair.connect(ConnectOptions::default()).unwrap();
    for i in 0..50 {
        for channel in all() {
            pair.send(CLIENT, channel, &content(i, 30));
        }
        pair.run_for(ms(10));
    }
    pair.run_for(ms(100));
    pair.capture = false;
    let client = pair[CLIENT].address;
    let captured = std::mem::take(&mut pair.captured).into_iter();
    let sent = captured.filter(|d| d.from == client).map(|d| d.bytes);
    (pair, sent.collect())
}

#[test]
fn damage_is_dropped_and_counted() {
    for config in [config(), config().plain()] {
        let (mut pair, sent) = talked(config);
        let client = pair[CLIENT].address;
        let before = pair.stats(SERVER);
        let received = pair[SERVER].received.len();
        let mut random = Rng::new(1);
        for original in &sent {
            for len in 0..original.len() {
                pair.inject(client, &original[..len]);
            }
            for _ in 0..50 {
                let mut flipped = original.clone();
                let bit = random.range(0..flipped.len() as u64 * 8) as usize;
                flipped[bit / 8] ^= 1 << (bit % 8);
                pair.inject(client, &flipped);
            }
            let mut longer = original.clone();
            longer.extend(0..random.range(1..255) as u8);
            pair.inject(client, &longer);
        }
        pair.run_for(ms(100));
        let after = pair.stats(SERVER);
        assert_eq!(after.packets_received, before.packets_received);
        assert!(after.refused.forged > before.refused.forged);
        assert!(after.packets_duplicate > before.packets_duplicate);
        let outside = *pair[SERVER].endpoint.endpoint_stats();
        assert!(outside.malformed > 0 && outside.unknown_connection > 0);
        assert_eq!(pair[SERVER].received.len(), received);
        assert_eq!(pair.closed(SERVER), None);
        pair.send(CLIENT, ORDERED, b"still here");
        pair.run_for(ms(100));
        assert_eq!(pair[SERVER].received.len(), received + 1);
    }
}

#[test]
fn random_and_oversized_bytes_are_harmless() {
    let (mut pair, _) = talked(config());
    let memory = pair[SERVER].endpoint.memory_bytes();
    let mut random = Rng::new(2);
    for i in 0..30_000u32 {
        let len = if i % 100 == 0 {
            65_507
        } else {
            random.range(0..200) as usize
        };
        let mut bytes: Vec<u8> = (0..len).map(|_| random.next_u64() as u8).collect();
        if i % 2 == 0
            && let Some(first) = bytes.first_mut()
        {
            *first = [0x80, 1, 2, 3, 4, 5][i as usize / 2 % 6];
        }
        let from = SocketAddr::from(([10, 3, (i >> 8) as u8, i as u8], 9));
        pair.inject(from, &bytes);
    }
    pair.run_for(ms(100));
    assert!(pair[SERVER].endpoint.memory_bytes() < memory + 20_000);
    let stats = pair[SERVER].endpoint.endpoint_stats();
    assert!(stats.malformed + stats.unknown_connection > 29_000);
    assert_eq!(pair.closed(SERVER), None);
}

/// A plain connection whose client is replaced by one that writes what it likes.
fn forged() -> (Pair, Forger) {
    let mut pair = Pair::new(config().plain());
    let (now, client, server) = (pair.now, pair[CLIENT].address, pair[SERVER].address);
    // The client itself gets no further than its cookie.
    pair.filter = Some(Box::new(|datagram| datagram.bytes[0] < 0x03));
    pair.capture = true;
    let options = ConnectOptions::default();
    let endpoint = &mut pair[CLIENT].endpoint;
    endpoint.connect(now, server, options).unwrap();
    pair.run_for(ms(25));
    let sent = |pair: &Pair, kind| {
        let found = pair.captured.iter().rev().find(|d| d.bytes[0] == kind);
        found.expect("it was sent").bytes.clone()
    };
    let key = pair[SERVER].endpoint.public_key();
    let (exchange, connect) = Exchange::begin(&sent(&pair, 0x03), key.as_bytes());
    pair.inject(client, &connect);
    pair.run_for(ms(1));
    let (forger, finish) = exchange.finish(&sent(&pair, 0x04));
    pair.inject(client, &finish);
    pair.filter = Some(Box::new(|_| false));
    pair.run_for(ms(1));
    assert!(
        pair[SERVER].id.is_some(),
        "the server takes it for a client"
    );
    (pair, forger)
}

#[test]
fn nonsense_in_authentic_packets_closes_the_connection() {
    // An unknown kind of frame; an acknowledgement of what was never sent; a message cut short; content for a channel
    // that is not there or of another kind; a status of segments never sent; a segment beyond the window.
    let bodies: [&[u8]; 7] = [
        &[0xff],
        &[2, 0x00, 0x40, 0, 0, 0, 0, 0, 0, 0],
        &[1 << 5, 50, 1, 2, 3],
        &[1 << 5 | 9, 1, 1],
        &[3 << 5, 0, 0, 1, 0],
        &[6 << 5 | 3, 200, 0],
        &[3 << 5 | 3, 0x00, 0x40, 1, 0],
    ];
    for body in bodies {
        let (mut pair, mut forger) = forged();
        let client = pair[CLIENT].address;
        let packet = forger.packet(body);
        pair.inject(client, &packet);
        pair.run_for(ms(10));
        let closed = pair.closed(SERVER);
        assert!(
            matches!(closed, Some(CloseReason::Protocol(_))),
            "{body:?}: {closed:?}"
        );
    }
}

#[test]
fn random_content_never_panics_and_takes_little_memory() {
    let mut random = Rng::new(3);
    for round in 0..400 {
        let (mut pair, mut forger) = forged();
        let client = pair[CLIENT].address;
        for _ in 0..30 {
            let mut body: Vec<u8> = (0..random.range(1..100))
                .map(|_| random.next_u64() as u8 >> random.range(0..8))
                .collect();
            let kind = random.range(0..7) as u8;
            body[0] = kind << 5 | random.range(0..6) as u8;
            let packet = forger.packet(&body);
            pair.inject(client, &packet);
            pair.run_for(ms(1));
        }
        let bytes = pair[SERVER].endpoint.memory_bytes();
        assert!(bytes < 3 << 20, "round {round}: {bytes} bytes");
    }
}

/// It reads everything and acknowledges nothing: what is kept about packets sent to it must not grow for ever.
#[test]
fn a_client_that_never_acknowledges_costs_bounded_memory() {
    let (mut pair, mut forger) = forged();
    let client = pair[CLIENT].address;
    let before = pair[SERVER].endpoint.memory_bytes();
    for _ in 0..200_000 {
        let ping = forger.packet(&[1]);
        pair.inject(client, &ping);
        pair.run_for(std::time::Duration::from_micros(500));
    }
    assert_eq!(pair.closed(SERVER), None);
    let grown = pair[SERVER].endpoint.memory_bytes() - before;
    assert!(grown < 2 << 20, "{grown} bytes in 100 s");
}

/// The last piece of many long blocks, each in one packet: far less arrives than is announced.
#[test]
fn announced_blocks_are_not_paid_for_in_advance() {
    let (mut pair, mut forger) = forged();
    let client = pair[CLIENT].address;
    let before = pair[SERVER].endpoint.memory_bytes();
    let total = 1100 * 29_000usize;
    for block in 0..20u8 {
        let mut body = vec![5 << 5 | 3, block];
        for mut value in [total, 28_999, 1100] {
            while value >= 0x80 {
                body.push(value as u8 | 0x80);
                value >>= 7;
            }
            body.push(value as u8);
        }
        body.extend_from_slice(&[0; 1100]);
        let packet = forger.packet(&body);
        pair.inject(client, &packet);
        pair.run_for(ms(1));
    }
    let grown = pair[SERVER].endpoint.memory_bytes().saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes for 20 packets");
}

/// Whoever was thrown out cannot keep the place by going on talking.
#[test]
fn a_closed_connection_ends_whatever_its_client_sends() {
    let (mut pair, mut forger) = forged();
    let client = pair[CLIENT].address;
    pair.abort(SERVER, 1, "out");
    for _ in 0..600 {
        let nonsense = forger.packet(&[0xff]);
        pair.inject(client, &nonsense);
        pair.run_for(ms(50));
    }
    assert_eq!(pair[SERVER].endpoint.endpoint_stats().open, 0);
}
