//! What the relay's core takes to pass a datagram on, between two of many clients.

use samestep_traversal::{
    Received, Relay, RelayCommand, RelayConfig, RelaySecret, Traversal, TraversalConfig,
};
use std::hint::black_box;
use std::net::SocketAddr;
use std::time::Duration;

const UNIX_S: u64 = 2_000_000_000;
const DATAGRAMS: u32 = 1_000_000;

fn main() {
    println!("relay: one datagram of 200 bytes from client to client, both in the core");
    for clients in [2, 100, 1000, 5000] {
        measure(clients);
    }
}

fn host(i: usize) -> SocketAddr {
    ([10, 1, (i >> 8) as u8, i as u8], 5000).into()
}

/// Lends addresses to so many clients, opens a channel between the first two, and sends on it.
#[expect(clippy::disallowed_methods, reason = "it measures time")]
fn measure(count: usize) {
    let server: SocketAddr = "203.0.113.5:3478".parse().expect("an address");
    let secret = RelaySecret::new(b"0123456789abcdef").expect("it is long enough");
    let config = RelayConfig {
        max_allocations: count,
        bytes_per_second: u32::MAX,
        private_peers: true,
        ..RelayConfig::new(server.ip())
    };
    let mut relay = Relay::new(config, secret.clone(), [1; 32]);
    let mut clients: Vec<Traversal> = (0..count)
        .map(|i| {
            let access = secret.issue(server, &format!("user-{i}"), UNIX_S + 60);
            let config = TraversalConfig {
                relay: Some(access.expect("a fit name")),
                ..TraversalConfig::default()
            };
            Traversal::new(Duration::ZERO, config, &[host(i)], [2; 32]).expect("a host")
        })
        .collect();
    let (mut now, mut port) = (Duration::ZERO, 10_000);
    let mut captured = Vec::new();
    let mut described = false;
    let mut out = [0; 2000];
    while captured.is_empty() {
        now += Duration::from_millis(10);
        for (i, client) in clients.iter_mut().enumerate() {
            client.handle_timeout(now);
            if described && i == 0 {
                let _ = client.send(now, PEER, &[0x80; 200]);
            }
            while let Some(transmit) = client.poll_transmit(&mut out) {
                let bytes = &out[..transmit.len];
                if bytes[0] & 0xc0 == 0x40 && bytes.len() == 204 {
                    captured = bytes.to_vec();
                }
                relay.handle_client(now, UNIX_S, host(i), bytes);
            }
        }
        while let Some(command) = relay.poll_command() {
            if let RelayCommand::Open(id) = command {
                port += 1;
                relay.handle_opened(now, id, Some(port));
            }
        }
        while let Some(transmit) = relay.poll_transmit(&mut out) {
            let to = clients
                .iter_mut()
                .enumerate()
                .find(|(i, _)| host(*i) == transmit.to);
            if let Some((_, client)) = to {
                let received = client.handle_datagram(now, server, &out[..transmit.len]);
                assert!(!matches!(received, Received::Stranger));
            }
        }
        if !described && clients.iter().all(Traversal::is_gathered) {
            described = true;
            let texts = [0, 1].map(|i: usize| {
                clients[i].add_peer(PEER).expect("one peer");
                clients[i]
                    .description(PEER)
                    .expect("it is there")
                    .to_string()
            });
            for (client, text) in clients.iter_mut().zip(texts.iter().rev()) {
                client
                    .handle_description(now, PEER, text)
                    .expect("a description");
            }
        }
    }
    let start = std::time::Instant::now();
    for _ in 0..DATAGRAMS {
        relay.handle_client(now, UNIX_S, host(0), black_box(&captured));
        now += Duration::from_micros(1);
        assert!(relay.poll_transmit(&mut out).is_some());
    }
    let each = start.elapsed() / DATAGRAMS;
    println!("{count:>5} clients: {each:?} for each");
}

const PEER: samestep_traversal::PeerId = samestep_traversal::PeerId(1);
