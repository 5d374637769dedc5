//! What a packet costs: one message sent, carried and read, with the acknowledgements that come back.

// A benchmark is the one place in this crate that may look at the clock.
#![expect(clippy::disallowed_methods)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samestep_proto::{ChannelId, Cipher, Config, ConnectOptions, ConnectionId, Endpoint, Event};

const MESSAGES: u32 = 10_000;
const ROUNDS: usize = 40;
const UNRELIABLE: ChannelId = ChannelId(0);
const RELIABLE: ChannelId = ChannelId(3);

/// A name and the settings that go with it.
type Protection = (&'static str, fn() -> Config);

struct Pair {
    now: Duration,
    client: Endpoint,
    server: Endpoint,
    id: ConnectionId,
    received: u32,
}

impl Pair {
    fn new(config: Config) -> Self {
        let mut client = Endpoint::new(config.clone(), [1; 32]).expect("the settings are good");
        let server = Endpoint::new(config.accepting(1), [2; 32]).expect("the settings are good");
        let options = ConnectOptions::default();
        let id = client
            .connect(Duration::ZERO, address(2), options)
            .expect("there is room");
        let mut pair = Self {
            now: Duration::ZERO,
            client,
            server,
            id,
            received: 0,
        };
        while pair.client.send(pair.now, id, RELIABLE, b"ready").is_err() {
            pair.pass();
        }
        while pair.received == 0 {
            pair.pass();
        }
        pair
    }

    /// Carries everything both ways. The clock runs fast enough for the pacing never to hold anything back.
    fn pass(&mut self) {
        let mut bytes = [0; 1200];
        while let Some(packet) = self.client.poll_transmit(self.now, &mut bytes) {
            self.server
                .handle_datagram(self.now, address(1), &mut bytes[..packet.len]);
        }
        while let Some(packet) = self.server.poll_transmit(self.now, &mut bytes) {
            self.client
                .handle_datagram(self.now, address(2), &mut bytes[..packet.len]);
        }
        while self.client.poll_event().is_some() {}
        while let Some(event) = self.server.poll_event() {
            if let Event::Readable { id } = event {
                while self.server.recv(id).is_some() {
                    self.received += 1;
                }
            }
        }
        self.now += Duration::from_millis(1);
        self.client.handle_timeout(self.now);
        self.server.handle_timeout(self.now);
    }

    /// Nanoseconds per message, each in a packet of its own.
    fn measure(&mut self, channel: ChannelId, bytes: usize) -> f64 {
        let message = vec![7; bytes];
        let before = self.received;
        let start = Instant::now();
        for _ in 0..MESSAGES {
            self.client
                .send(self.now, self.id, channel, &message)
                .expect("the queue is short");
            self.pass();
        }
        let elapsed = start.elapsed();
        assert_eq!(self.received - before, MESSAGES, "every message arrived");
        elapsed.as_nanos() as f64 / f64::from(MESSAGES)
    }
}

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 7777))
}

fn with(cipher: Cipher) -> Config {
    Config {
        cipher,
        ..Config::new("throughput", 1)
    }
}

fn main() {
    let protections: [Protection; 3] = [
        ("plain", || Config::new("throughput", 1).plain()),
        ("AES-256-GCM", || with(Cipher::Aes256Gcm)),
        ("ChaCha20-Poly1305", || with(Cipher::ChaCha20Poly1305)),
    ];
    println!(
        "ns per packet sent, received and acknowledged (best of {ROUNDS} × {MESSAGES}), and against plain"
    );
    for (name, channel) in [("unreliable", UNRELIABLE), ("reliable-ordered", RELIABLE)] {
        for bytes in [32, 1000] {
            let mut pairs = protections
                .map(|(protection, config)| (protection, Pair::new(config()), f64::INFINITY));
            // In turns, so that whatever else the machine does strikes all of them.
            for _ in 0..ROUNDS {
                for (_, pair, best) in &mut pairs {
                    *best = best.min(pair.measure(channel, bytes));
                }
            }
            let plain = pairs[0].2;
            for (protection, _, best) in pairs {
                println!(
                    "{name:<17}{bytes:>5} bytes  {protection:<18}{best:>7.0} ns  {:>5.2}×",
                    best / plain
                );
            }
        }
    }
}
