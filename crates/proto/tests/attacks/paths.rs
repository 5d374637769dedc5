//! The attacker is at the side of the path. They see every packet, can send from any address and are faster than the path itself, but they
//! cannot stop what others send. They wanted to become the path, so that they can stop it after all; to cut the connection; to hide a client
//! whose address has changed; or to have the server send to somebody else more than they sent themselves.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_netem::Rng;
use samestep_proto::Event;

use crate::world::*;

/// Worlds of each attack.
const WORLDS: u64 = 300;
/// A game's packets leave this far apart.
const FRAME: Duration = Duration::from_millis(16);

/// What the attacker passes on of what the server sends to their own address.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Relay {
    Nothing,
    /// What is as short as a challenge: it proves their address, and starves whoever is moved there.
    Challenges,
    Everything,
}

/// Copies every packet of the client, and delivers the copy first.
struct Copier {
    /// Addresses that they send from, one after the other.
    addresses: Vec<SocketAddr>,
    relay: Relay,
    next: usize,
    read: usize,
    to_deliver: BTreeMap<(Duration, u64), Datagram>,
    copies: u64,
}

impl Copier {
    fn new(addresses: usize, relay: Relay) -> Self {
        let address = |n| SocketAddr::from(([10, 66, (n >> 8) as u8, n as u8], 6666));
        Self {
            addresses: (0..addresses).map(address).collect(),
            relay,
            next: 0,
            read: 0,
            to_deliver: BTreeMap::new(),
            copies: 0,
        }
    }

    /// Looks at what was sent since the last time, and delivers what has arrived.
    fn act(&mut self, pair: &mut Pair) {
        let (client, server) = (pair[CLIENT].address, pair[SERVER].address);
        for datagram in &pair.captured[self.read..] {
            let mut copy = datagram.clone();
            if datagram.from == client && datagram.bytes[0] == 0x80 {
                copy.from = self.addresses[self.next % self.addresses.len()];
                self.next += 1;
            } else if datagram.from == server && self.addresses.contains(&datagram.to) {
                // The client believes it to come from the server.
                copy.to = client;
                let passes = match self.relay {
                    Relay::Nothing => false,
                    Relay::Challenges => datagram.bytes.len() <= 30,
                    Relay::Everything => true,
                };
                if !passes {
                    continue;
                }
            } else {
                continue;
            }
            self.copies += 1;
            self.to_deliver
                .insert((pair.now + ms(1), self.copies), copy);
        }
        self.read = pair.captured.len();
        while let Some(entry) = self.to_deliver.first_entry()
            && entry.key().0 <= pair.now
        {
            let datagram = entry.remove();
            pair.arrive(datagram);
        }
    }
}

/// A match: both ends send a numbered message each frame; the attacker, if there is one, acts each millisecond.
fn play(pair: &mut Pair, mut attacker: Option<&mut Copier>, duration: Duration) {
    pair.capture = true;
    let end = pair.now + duration;
    let mut number = 0u32;
    while pair.now < end {
        for who in [CLIENT, SERVER] {
            pair.send(who, UNRELIABLE, &content(number as usize, 40));
        }
        number += 1;
        for _ in 0..FRAME.as_millis() {
            pair.run_for(ms(1));
            if let Some(attacker) = &mut attacker {
                attacker.act(pair);
            }
        }
    }
}

/// The longest time in which nothing arrived at `who` since `start`.
fn longest_gap(pair: &Pair, who: Who, start: Duration) -> Duration {
    let times = pair[who].received.iter().map(|message| message.at);
    let times = times.filter(|at| *at >= start).chain([pair.now]);
    let mut last = start;
    let mut longest = Duration::ZERO;
    for at in times {
        longest = longest.max(at - last);
        last = at;
    }
    longest
}

fn moves(pair: &Pair, who: Who) -> Vec<SocketAddr> {
    let events = pair[who].events.iter();
    let to = events.filter_map(|event| match event {
        Event::Moved { to, .. } => Some(*to),
        _ => None,
    });
    to.collect()
}

/// The addresses that the server believes the client at, and how long the client and the server heard nothing at most.
fn copied(seed: u64, addresses: usize, relay: Relay) -> (Vec<SocketAddr>, Duration) {
    let mut pair = Pair::over(config(), lossy(40, 0.1), seed);
    pair.run_for(ms(500));
    let start = pair.now;
    let mut copier = Copier::new(addresses, relay);
    play(&mut pair, Some(&mut copier), secs(6));
    assert!(copier.copies > 300);
    // Whoever answers gets data for as long as the question is open, but never more than the client.
    let client = pair[CLIENT].address;
    let got = |to: &[SocketAddr]| {
        let data = pair.captured.iter().filter(|d| d.bytes.len() > 30);
        data.filter(|d| to.contains(&d.to)).count()
    };
    let (theirs, ours) = (got(&copier.addresses), got(&[client]));
    let answers = relay != Relay::Nothing;
    assert!(
        theirs <= ours && (theirs > 0 || !answers),
        "{theirs}, {ours}"
    );
    let gap = [CLIENT, SERVER].map(|who| longest_gap(&pair, who, start));
    (moves(&pair, SERVER), gap[0].max(gap[1]))
}

fn nobody_takes_over(addresses: usize, relay: Relay) {
    let (mut taken, mut longest) = (Vec::new(), Duration::ZERO);
    for seed in 0..WORLDS {
        let (moves, gap) = copied(seed, addresses, relay);
        if !moves.is_empty() {
            taken.push((seed, moves));
        }
        longest = longest.max(gap);
    }
    println!("{addresses} addresses, {relay:?}: longest gap {longest:?}, taken over in {taken:?}");
    assert!(taken.is_empty(), "taken over in {} worlds", taken.len());
    assert!(longest < ms(250), "{longest:?}");
}

#[test]
fn a_faster_copier_becomes_no_path() {
    nobody_takes_over(1, Relay::Nothing);
}

#[test]
fn a_faster_copier_who_also_answers_becomes_no_path() {
    nobody_takes_over(1, Relay::Everything);
}

#[test]
fn a_faster_copier_who_answers_and_keeps_the_rest_cuts_nothing() {
    nobody_takes_over(1, Relay::Challenges);
}

/// Each trial of an address is a chance that all challenges to the client get lost. New addresses must not buy new chances.
#[test]
fn a_faster_copier_with_a_hundred_addresses_becomes_no_path() {
    nobody_takes_over(100, Relay::Challenges);
}

/// A client whose address changes three times, with an attacker or without: how long it heard nothing at most.
fn moved(seed: u64, mut attacker: Option<Copier>) -> Duration {
    let mut pair = Pair::over(config(), lossy(40, 0.1), seed);
    pair.run_for(ms(500));
    let start = pair.now;
    let mut rng = Rng::new(seed);
    let before = Duration::from_millis(rng.range(0..100));
    play(&mut pair, attacker.as_mut(), before);
    for hop in 1..=3u8 {
        // Mostly a port, as when a NAT has forgotten; else another network.
        let new = match hop {
            3 => SocketAddr::from(([10, 0, 8, 1], 4000)),
            _ => SocketAddr::from(([10, 0, 0, 1], 1000 + u16::from(hop))),
        };
        pair[CLIENT].address = new;
        play(&mut pair, attacker.as_mut(), secs(3));
        assert_eq!(moves(&pair, SERVER).last(), Some(&new), "seed {seed}");
    }
    assert_eq!(moves(&pair, SERVER).len(), 3, "seed {seed}");
    longest_gap(&pair, CLIENT, start)
}

fn everyone_is_found(attacker: impl Fn() -> Option<Copier>) -> Duration {
    (0..WORLDS)
        .map(|seed| moved(seed, attacker()))
        .max()
        .unwrap_or_default()
}

#[test]
fn a_client_whose_address_changes_is_found() {
    let longest = everyone_is_found(|| None);
    println!("longest gap {longest:?}");
    assert!(longest < ms(400), "{longest:?}");
}

/// Every packet of the client is a repetition when it arrives, and nothing the attacker claims can be proven.
#[test]
fn a_faster_copier_hides_no_client_whose_address_changes() {
    let longest = everyone_is_found(|| Some(Copier::new(1, Relay::Nothing)));
    println!("longest gap {longest:?}");
    assert!(longest < ms(600), "{longest:?}");
}

/// The attacker invents 5000 addresses a second around each packet of the client, before and after it arrives.
#[test]
fn invented_addresses_hide_no_client_whose_address_changes() {
    let mut longest = Duration::ZERO;
    for seed in 0..30 {
        let mut pair = Pair::over(config(), lossy(40, 0.1), seed);
        pair.run_for(ms(500));
        let new: SocketAddr = "10.0.0.1:1001".parse().unwrap();
        pair[CLIENT].address = new;
        let start = pair.now;
        let mut rng = Rng::new(seed);
        let (mut read, mut known) = (0, None::<Datagram>);
        pair.capture = true;
        let mut invented = 0u64;
        while moves(&pair, SERVER).is_empty() && pair.now < start + secs(9) {
            for who in [CLIENT, SERVER] {
                pair.send(who, UNRELIABLE, &content(1, 40));
            }
            for _ in 0..FRAME.as_millis() {
                let mut sent = pair.captured[read..].iter().filter(|d| d.from == new);
                known = sent.next_back().cloned().or(known);
                read = pair.captured.len();
                for _ in 0..5 {
                    let Some(mut copy) = known.clone() else { break };
                    let [a, b, c, d, ..] = rng.next_u64().to_le_bytes();
                    copy.from = SocketAddr::from(([11, a, b, c], u16::from(d) + 1024));
                    invented += 1;
                    pair.arrive(copy);
                }
                pair.run_for(ms(1));
            }
        }
        assert_eq!(
            moves(&pair, SERVER),
            [new],
            "seed {seed}, {invented} invented"
        );
        let to_invented = pair
            .captured
            .iter()
            .filter(|d| d.to.ip().to_string().starts_with("11."));
        assert!(
            to_invented.count() as u64
                <= invented.min(500 * (pair.now - start).as_millis() as u64 / 1000 + 1)
        );
        assert_eq!(pair.closed(SERVER), None);
        longest = longest.max(pair.now - start);
    }
    println!("found within {longest:?}");
    assert!(longest < secs(6), "{longest:?}");
}

/// The attacker claims the packets of the client to come from a victim, who shall get more than they send.
#[test]
fn a_victim_gets_no_more_than_was_sent_in_its_name() {
    for plain in [false, true] {
        let config = if plain { config().plain() } else { config() };
        let mut pair = Pair::connected(config);
        pair.run_for(secs(2));
        let victim: SocketAddr = "10.6.6.6:6666".parse().unwrap();
        let client = pair[CLIENT].address;
        pair.capture = true;
        let (mut packets, mut bytes, mut read) = (0, 0, 0);
        for i in 0..2000usize {
            if i % 7 == 0 {
                pair.send(CLIENT, UNRELIABLE, &content(i, i % 50));
                pair.send(SERVER, ORDERED, &content(i, 900));
            }
            pair.run_for(ms(1));
            let sent = pair.captured[read..].iter().filter(|d| d.from == client);
            let sent: Vec<Datagram> = sent.cloned().collect();
            read = pair.captured.len();
            // Several times each, as repetitions count too.
            for mut datagram in sent.into_iter().flat_map(|d| [d.clone(), d]) {
                datagram.from = victim;
                packets += 1;
                bytes += datagram.bytes.len();
                pair.arrive(datagram);
                pair.run_for(ms(0));
                let to_victim = pair.captured.iter().filter(|d| d.to == victim);
                let (answers, answered) =
                    to_victim.fold((0, 0), |(n, b), d| (n + 1, b + d.bytes.len()));
                assert!(answers <= packets, "{answers} packets for {packets}");
                assert!(answered <= bytes, "{answered} bytes for {bytes}");
            }
        }
        let answers = pair.captured.iter().filter(|d| d.to == victim);
        let answers = answers.filter(|d| d.bytes.len() <= 30).count();
        assert!(
            (10..=40).contains(&answers),
            "one per 50 ms: {answers} in 2 s"
        );
    }
}

#[test]
fn a_client_never_follows_a_server_that_moved() {
    for plain in [false, true] {
        let config = if plain { config().plain() } else { config() };
        let mut pair = Pair::connected(config);
        pair.run_for(ms(500));
        let before = pair[SERVER].address;
        let received = pair[CLIENT].received.len();
        pair[SERVER].address = "10.66.0.1:2000".parse().unwrap();
        for i in 0..100usize {
            pair.send(SERVER, UNRELIABLE, &content(i, 40));
            pair.send(CLIENT, UNRELIABLE, &content(i, 40));
            pair.run_for(ms(16));
        }
        let id = pair[CLIENT].id.unwrap();
        assert_eq!(pair[CLIENT].endpoint.peer_address(id), Some(before));
        assert_eq!(moves(&pair, CLIENT), []);
        assert_eq!(pair[CLIENT].received.len(), received);
        assert!(pair.stats(CLIENT).refused.elsewhere > 50);
        // Back where the client knows it, it is heard again.
        pair[SERVER].address = before;
        pair.send(SERVER, ORDERED, b"here again");
        pair.run_for(secs(3));
        assert_eq!(pair.payloads(CLIENT, ORDERED), [b"here again"]);
    }
}
