//! A client whose address changes stays connected; one whose address is merely claimed does not move.

use std::net::SocketAddr;

use samestep_proto::Event;

use crate::world::*;

fn moved(pair: &Pair, to: SocketAddr) -> bool {
    let events = pair[SERVER].events.iter();
    events
        .filter(|e| matches!(e, Event::Moved { to: new, .. } if *new == to))
        .count()
        == 1
}

#[test]
fn the_connection_follows_the_client() {
    for config in [config(), config().plain()] {
        let mut pair = Pair::connected(config);
        let new: SocketAddr = "10.0.7.7:4321".parse().unwrap();
        pair[CLIENT].address = new;
        pair.send(CLIENT, ORDERED, b"from elsewhere");
        // The old address has to be silent for three round trips, which have hardly been measured yet.
        pair.run_for(ms(600));
        assert!(moved(&pair, new));
        let id = pair[SERVER].id.unwrap();
        assert_eq!(pair[SERVER].endpoint.peer_address(id), Some(new));
        pair.send(SERVER, ORDERED, b"found you");
        pair.run_for(ms(100));
        assert_eq!(pair.payloads(SERVER, ORDERED), [b"from elsewhere"]);
        assert_eq!(pair.payloads(CLIENT, ORDERED), [b"found you"]);
    }
}

#[test]
fn also_through_loss_and_again_and_again() {
    for seed in 0..10 {
        let mut pair = Pair::over(config(), lossy(20, 0.2), seed);
        for hop in 0..10usize {
            let new = SocketAddr::from(([10, 0, 9, hop as u8], 5000));
            pair[CLIENT].address = new;
            for i in 0..100usize {
                pair.send(CLIENT, ORDERED, &content(hop * 100 + i, 20));
                pair.send(SERVER, ORDERED, &content(hop * 100 + i, 20));
                pair.run_for(ms(16));
            }
        }
        pair.run_for(secs(3));
        let all: Vec<Vec<u8>> = (0..1000).map(|i| content(i, 20)).collect();
        assert!(pair.payloads(SERVER, ORDERED) == all, "seed {seed}");
        assert!(pair.payloads(CLIENT, ORDERED) == all, "seed {seed}");
    }
}

#[test]
fn a_client_that_only_listens_is_found_by_its_keep_alive() {
    let mut pair = Pair::connected(config());
    pair.run_for(secs(5));
    pair[CLIENT].address = "10.0.7.7:4321".parse().unwrap();
    pair.run_for(secs(4));
    pair.send(SERVER, ORDERED, b"hello");
    pair.run_for(secs(3));
    assert_eq!(pair.payloads(CLIENT, ORDERED), [b"hello"]);
}

/// A NAT lets packets in by the old address for a while, though the client's own leave from a new one.
#[test]
fn a_client_that_is_reached_at_its_old_address_is_followed_when_that_one_dies() {
    let mut pair = Pair::connected(config());
    pair.run_for(ms(500));
    let old = pair[CLIENT].address;
    let new: SocketAddr = "10.0.0.1:1001".parse().unwrap();
    pair[CLIENT].address = new;
    pair.capture = true;
    let mut read = 0;
    for i in 0..600usize {
        pair.send(CLIENT, ORDERED, &content(i, 20));
        pair.send(SERVER, ORDERED, &content(i, 20));
        pair.run_for(ms(10));
        let let_in = pair.captured[read..].iter().filter(|d| d.to == old);
        let let_in: Vec<Datagram> = let_in.cloned().collect();
        read = pair.captured.len();
        if i < 200 {
            for mut datagram in let_in {
                datagram.to = new;
                pair.arrive(datagram);
            }
            assert!(!moved(&pair, new), "it answers where it was");
        }
    }
    assert!(moved(&pair, new));
    pair.run_for(secs(1));
    assert_eq!(pair.payloads(CLIENT, ORDERED).len(), 600);
}

/// Someone on the way sends the client's packets on from an address that is not the client's.
#[test]
fn a_claimed_address_alone_moves_nothing() {
    let mut pair = Pair::connected(config());
    pair.run_for(ms(100));
    let victim: SocketAddr = "10.6.6.6:6666".parse().unwrap();
    let client = pair[CLIENT].address;
    pair.capture = true;
    let mut spoofed_bytes = 0;
    for i in 0..60usize {
        pair.send(CLIENT, ORDERED, &content(i, 30));
        pair.send(SERVER, ORDERED, &content(i, 30));
        let before = pair.captured.len();
        pair.run_for(ms(0));
        let fresh: Vec<Datagram> = pair.captured[before..].to_vec();
        for mut datagram in fresh.into_iter().filter(|d| d.from == client) {
            datagram.from = victim;
            spoofed_bytes += datagram.bytes.len();
            pair.arrive(datagram);
        }
        pair.run_for(ms(16));
    }
    pair.run_for(secs(2));
    let id = pair[SERVER].id.unwrap();
    assert_eq!(pair[SERVER].endpoint.peer_address(id), Some(client));
    let events = &pair[SERVER].events;
    assert!(!events.iter().any(|e| matches!(e, Event::Moved { .. })));
    assert_eq!(
        pair.payloads(CLIENT, ORDERED).len(),
        60,
        "the client still gets everything"
    );
    let to_victim = pair.captured.iter().filter(|d| d.to == victim);
    let bytes: usize = to_victim.map(|d| d.bytes.len()).sum();
    assert!(
        bytes > 0 && bytes <= spoofed_bytes,
        "{bytes} for {spoofed_bytes}"
    );
}

/// One packet, however small, makes the server send no more than it is itself.
#[test]
fn one_spoofed_packet_is_answered_with_little() {
    let mut pair = Pair::connected(config());
    pair.run_for(secs(2));
    let victim: SocketAddr = "10.6.6.6:6666".parse().unwrap();
    let client = pair[CLIENT].address;
    pair.capture = true;
    pair.filter = Some(Box::new(move |datagram| datagram.from != client));
    pair.send(CLIENT, UNRELIABLE, b"x");
    pair.run_for(ms(1));
    let mut datagram = pair.captured.pop().expect("one was sent");
    datagram.from = victim;
    let spoofed = datagram.bytes.len();
    pair.arrive(datagram);
    pair.run_for(secs(5));
    let to_victim = pair.captured.iter().filter(|d| d.to == victim);
    let bytes: usize = to_victim.map(|d| d.bytes.len()).sum();
    assert!(bytes <= spoofed, "{bytes} for {spoofed}");
}
