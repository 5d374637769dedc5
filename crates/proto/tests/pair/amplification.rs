//! Strangers cannot use a server to flood others, nor fill its memory.

use std::net::SocketAddr;

use samestep_netem::Rng;
use samestep_proto::{ConnectOptions, Endpoint, Event};

use crate::forge::close_handshake;
use crate::world::*;

/// What a server answers to one datagram, in bytes.
fn answer(server: &mut Endpoint, from: SocketAddr, datagram: &[u8]) -> usize {
    let mut buf = [0; 1500];
    server.handle_datagram(secs(1), from, &mut datagram.to_vec());
    let mut bytes = 0;
    while let Some(packet) = server.poll_transmit(secs(1), &mut buf) {
        bytes += packet.len;
    }
    bytes
}

/// Every datagram a client sends while it connects.
fn handshake(config: samestep_proto::Config) -> Vec<Vec<u8>> {
    let mut pair = Pair::new(config);
    pair.capture = true;
    pair.connect(ConnectOptions::default()).unwrap();
    let client = pair[CLIENT].address;
    let sent = pair.captured.into_iter().filter(|d| d.from == client);
    sent.map(|datagram| datagram.bytes).collect()
}

#[test]
fn no_answer_is_larger_than_its_request() {
    let mut random = Rng::new(1);
    for config in [config(), config().plain()] {
        let mut server = Endpoint::new(config.clone().accepting(8), [2; 32]).unwrap();
        for original in handshake(config) {
            for _ in 0..3000 {
                let mut datagram = original.clone();
                for _ in 0..random.range(0..4) {
                    let at = random.range(0..datagram.len() as u64) as usize;
                    datagram[at] = random.next_u64() as u8;
                }
                let len = random.range(0..2 * datagram.len() as u64) as usize;
                if random.chance(0.5) {
                    datagram.resize(len, 0);
                }
                close_handshake(&mut datagram);
                let from = SocketAddr::from(([10, 1, 0, 1], random.next_u64() as u16));
                let bytes = answer(&mut server, from, &datagram);
                assert!(bytes <= datagram.len(), "{bytes} for {}", datagram.len());
            }
        }
        let mut events = std::iter::from_fn(|| server.poll_event());
        assert!(events.all(|event| matches!(event, Event::Refused { .. })));
    }
}

#[test]
fn ten_thousand_hellos_leave_nothing_behind() {
    for config in [config(), config().plain()] {
        let hello = handshake(config.clone()).swap_remove(0);
        let mut server = Endpoint::new(config.accepting(8), [2; 32]).unwrap();
        let before = server.memory_bytes();
        for i in 0..10_000u32 {
            let [_, _, a, b] = i.to_be_bytes();
            let from = SocketAddr::from(([10, 1, a, b], 7));
            let bytes = answer(&mut server, from, &hello);
            assert!(bytes > 0 && bytes <= hello.len());
        }
        assert_eq!(server.memory_bytes(), before);
        assert_eq!(server.endpoint_stats().hellos, 10_000);
        assert_eq!(server.poll_timeout(), None);
    }
}

#[test]
fn answers_wait_in_a_short_queue() {
    let hello = handshake(config()).swap_remove(0);
    let mut server = Endpoint::new(config().accepting(8), [2; 32]).unwrap();
    for port in 0..10_000 {
        let from = SocketAddr::from(([10, 1, 0, 1], port));
        server.handle_datagram(secs(1), from, &mut hello.clone());
    }
    assert!(server.memory_bytes() < 10_000);
    assert!(server.endpoint_stats().replies_dropped > 9_000);
}

#[test]
fn a_cookie_is_good_only_where_it_was_sent() {
    let mut pair = Pair::new(config());
    pair.capture = true;
    pair.connect(ConnectOptions::default()).unwrap();
    let connect = pair.captured.iter().find(|d| d.bytes[0] == 0x03);
    let connect = connect.expect("the client asked").bytes.clone();
    let stranger = "10.0.0.66:6".parse().unwrap();
    pair.inject(stranger, &connect);
    pair.run_for(secs(1));
    let stats = pair[SERVER].endpoint.endpoint_stats();
    assert_eq!((stats.bad_cookies, stats.accepted), (1, 1));
}
