//! Two endpoints that keep talking with every kind of delivery, over a link that allocates nothing.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::{
    ChannelId, Cipher, Config, ConnectOptions, ConnectionId, Delivery, Endpoint, Event,
};

const LATENCY: Duration = Duration::from_millis(20);
const TICK: Duration = Duration::from_micros(16_667);
const PACKET: usize = 1200;

/// How packets are protected.
#[derive(Clone, Copy, Debug)]
pub enum Protection {
    Plain,
    Encrypted(Cipher),
}

impl Protection {
    pub const ALL: [Self; 3] = [
        Self::Plain,
        Self::Encrypted(Cipher::Aes256Gcm),
        Self::Encrypted(Cipher::ChaCha20Poly1305),
    ];

    pub fn config(self) -> Config {
        match self {
            Self::Plain => Config::new("exchange", 1).plain(),
            Self::Encrypted(cipher) => Config {
                cipher,
                ..Config::new("exchange", 1)
            },
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Encrypted(Cipher::Aes256Gcm) => "AES-256-GCM",
            Self::Encrypted(Cipher::ChaCha20Poly1305) => "ChaCha20-Poly1305",
        }
    }
}

struct Peer {
    endpoint: Endpoint,
    address: SocketAddr,
    id: Option<ConnectionId>,
}

struct Datagram {
    at: Duration,
    to: usize,
    len: usize,
    bytes: [u8; PACKET],
}

/// The two endpoints, their clock and what is on its way between them.
pub struct Exchange {
    now: Duration,
    sides: [Peer; 2],
    on_the_way: VecDeque<Datagram>,
    /// Fraction of packets lost.
    pub loss: f64,
    luck: u64,
    /// Packets that have arrived.
    pub packets: u64,
    /// Messages that were read.
    pub messages: u64,
}

impl Exchange {
    /// A connected pair.
    pub fn new(protection: Protection) -> Self {
        let config = protection.config();
        let side = |config: Config, port: u16| Peer {
            endpoint: Endpoint::new(config, [port as u8; 32]).expect("the settings are good"),
            address: SocketAddr::from(([10, 0, 0, 1], port)),
            id: None,
        };
        let mut exchange = Self {
            now: Duration::ZERO,
            sides: [side(config.clone(), 1), side(config.accepting(1), 2)],
            on_the_way: VecDeque::with_capacity(4096),
            loss: 0.0,
            luck: 0x9e37_79b9_7f4a_7c15,
            packets: 0,
            messages: 0,
        };
        let server = exchange.sides[1].address;
        exchange.sides[0]
            .endpoint
            .connect(Duration::ZERO, server, ConnectOptions::default())
            .expect("there is room");
        while exchange.sides.iter().any(|side| side.id.is_none()) {
            exchange.tick();
        }
        exchange
    }

    /// Ticks until `packets` more have arrived.
    pub fn run(&mut self, packets: u64) {
        let until = self.packets + packets;
        while self.packets < until {
            self.tick();
        }
    }

    /// Segments restored from repairs, both sides.
    pub fn recovered(&self) -> u64 {
        self.sides
            .iter()
            .filter_map(|side| side.endpoint.stats(side.id?))
            .map(|stats| stats.segments_recovered)
            .sum()
    }

    /// One tick of a game: a message on each channel, and everything due until the next tick.
    fn tick(&mut self) {
        let payload = [0x5a; 200];
        for side in &mut self.sides {
            let Some(id) = side.id else { continue };
            for channel in Delivery::ALL.map(|delivery| delivery as u8) {
                let len = 20 + 30 * usize::from(channel);
                side.endpoint
                    .send(self.now, id, ChannelId(channel), &payload[..len])
                    .expect("the queues are short");
            }
        }
        let end = self.now + TICK;
        loop {
            for from in 0..2 {
                self.drain(from);
            }
            let arrival = self.on_the_way.front().map(|datagram| datagram.at);
            let timers = self.sides.iter_mut().map(|s| s.endpoint.poll_timeout());
            let next = timers.chain([arrival]).flatten().min();
            let Some(next) = next.filter(|next| *next < end) else {
                break;
            };
            self.now = self.now.max(next);
            self.deliver();
            for side in &mut self.sides {
                side.endpoint.handle_timeout(self.now);
            }
        }
        self.now = end;
    }

    fn drain(&mut self, from: usize) {
        let mut bytes = [0; PACKET];
        let side = &mut self.sides[from];
        while let Some(event) = side.endpoint.poll_event() {
            match event {
                Event::Connected { id, .. } => side.id = Some(id),
                Event::Readable { id } => {
                    while side.endpoint.recv(id).is_some() {
                        self.messages += 1;
                    }
                }
                Event::Closed { reason, .. } => panic!("closed: {reason}"),
                Event::Moved { .. } | Event::Refused { .. } => panic!("nobody moves or is refused"),
            }
        }
        while let Some(packet) = side.endpoint.poll_transmit(self.now, &mut bytes) {
            self.luck = self.luck.wrapping_mul(6_364_136_223_846_793_005) + 1;
            if (self.luck >> 33) as f64 / (1u64 << 31) as f64 >= self.loss {
                self.on_the_way.push_back(Datagram {
                    at: self.now + LATENCY,
                    to: 1 - from,
                    len: packet.len,
                    bytes,
                });
            }
        }
    }

    fn deliver(&mut self) {
        while self.on_the_way.front().is_some_and(|d| d.at <= self.now)
            && let Some(mut datagram) = self.on_the_way.pop_front()
        {
            self.packets += 1;
            let from = self.sides[1 - datagram.to].address;
            self.sides[datagram.to].endpoint.handle_datagram(
                self.now,
                from,
                &mut datagram.bytes[..datagram.len],
            );
        }
    }
}
