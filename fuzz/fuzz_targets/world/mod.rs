//! Two endpoints, what is on its way between them, and what each was promised.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use arbitrary::Arbitrary;
use samestep_proto::{
    ChannelId, Delivery, Cipher, Config, ConnectOptions, ConnectionId, Endpoint, Event, Outcome,
};

/// Limit of each channel's messages and of what waits on it.
const MAX_MESSAGE: usize = 100_000;
const QUEUE_LIMIT: usize = 300_000;
/// Both directions of all channels of a few connections, doubled as buffers grow by doubling.
const MEMORY: usize = 32 << 20;
const MAX_ON_THE_WAY: usize = 512;

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Mode {
    Plain,
    Aes,
    ChaCha,
}

#[derive(Clone)]
pub struct Datagram {
    from: SocketAddr,
    to: usize,
    bytes: Vec<u8>,
}

/// What one side of one connection has sent and received.
#[derive(Default)]
struct Promise {
    sent: [u64; 5],
    received: [BTreeSet<u64>; 5],
    acked: [BTreeSet<u64>; 5],
}

struct Peer {
    endpoint: Endpoint,
    address: SocketAddr,
    /// Open connections and the attempt each came from.
    open: BTreeMap<ConnectionId, u32>,
}

pub struct World {
    now: Duration,
    sides: [Peer; 2],
    on_the_way: Vec<Datagram>,
    seen: Vec<Datagram>,
    /// By attempt, then by side.
    promises: Vec<[Promise; 2]>,
    deliveries: Vec<Delivery>,
    /// Attempts that one side closed or gave up.
    ended: BTreeSet<u32>,
}

impl World {
    pub fn new(mode: Mode) -> Self {
        let mut config = Config::new("fuzz", 1);
        match mode {
            Mode::Plain => config = config.plain(),
            Mode::Aes => config.cipher = Cipher::Aes256Gcm,
            Mode::ChaCha => config.cipher = Cipher::ChaCha20Poly1305,
        }
        for channel in &mut config.channels {
            channel.max_message = MAX_MESSAGE.min(channel.max_message);
            channel.queue_limit = QUEUE_LIMIT;
            channel.report = true;
        }
        let deliveries = config.channels.iter().map(|c| c.delivery).collect();
        let side = |config, host| Peer {
            endpoint: Endpoint::new(config, [host; 32]).expect("the settings are good"),
            address: SocketAddr::from(([10, 0, 0, host], 7777)),
            open: BTreeMap::new(),
        };
        Self {
            now: Duration::from_secs(100),
            sides: [side(config.clone(), 1), side(config.accepting(3), 2)],
            on_the_way: Vec::new(),
            seen: Vec::new(),
            promises: Vec::new(),
            deliveries,
            ended: BTreeSet::new(),
        }
    }

    /// The client connects, again if it is connected already.
    pub fn connect(&mut self) {
        if self.promises.len() >= 8 {
            return;
        }
        let attempt = self.promises.len() as u32;
        self.promises.push(Default::default());
        let options = ConnectOptions {
            user_data: attempt.to_le_bytes().to_vec(),
            ..ConnectOptions::default()
        };
        let server = self.sides[1].address;
        let client = &mut self.sides[0];
        let id = client
            .endpoint
            .connect(self.now, server, options)
            .expect("there is room");
        client.open.insert(id, attempt);
        // The server takes a client that connects anew from the same address for the old one's successor.
        self.ended.extend(0..attempt);
        self.pump();
    }

    /// Sends on a side's newest connection, a message that says which it is.
    pub fn send(&mut self, side: usize, channel: u8, len: usize) {
        let Some((&id, &attempt)) = self.sides[side].open.last_key_value() else {
            return;
        };
        let number = self.promises[attempt as usize][side].sent[usize::from(channel)];
        let message = content(attempt, side, channel, number, len);
        let sent = self.sides[side]
            .endpoint
            .send(self.now, id, ChannelId(channel), &message);
        if let Ok(id) = sent {
            assert_eq!(id.0, number, "messages are counted");
            self.promises[attempt as usize][side].sent[usize::from(channel)] += 1;
        }
    }

    pub fn wait(&mut self, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        self.pump();
        for _ in 0..1000 {
            let timers = self.sides.iter_mut().map(|s| s.endpoint.poll_timeout());
            let next = timers.flatten().min();
            let Some(next) = next.filter(|next| *next <= until) else {
                break;
            };
            self.now = self.now.max(next);
            for side in &mut self.sides {
                side.endpoint.handle_timeout(self.now);
            }
            self.pump();
        }
        self.now = until;
    }

    /// A while on a clean link.
    pub fn run(&mut self, steps: u32) {
        for _ in 0..steps {
            self.wait(10);
            self.deliver_all();
        }
    }

    pub fn take(&mut self, which: u8) -> Option<Datagram> {
        let count = self.on_the_way.len();
        (count > 0).then(|| self.on_the_way.remove(usize::from(which) % count))
    }

    pub fn deliver(&mut self, which: u8) {
        if let Some(datagram) = self.take(which) {
            self.arrive(datagram);
        }
    }

    pub fn deliver_all(&mut self) {
        for datagram in std::mem::take(&mut self.on_the_way) {
            self.arrive(datagram);
        }
        self.pump();
    }

    pub fn lose_all(&mut self) {
        self.on_the_way.clear();
    }

    pub fn duplicate(&mut self, which: u8) {
        if let Some(datagram) = self.take(which) {
            self.arrive(datagram.clone());
            self.on_the_way.push(datagram);
        }
    }

    pub fn corrupt(&mut self, which: u8, bit: u16) {
        if let Some(mut datagram) = self.take(which) {
            let bit = usize::from(bit) % (datagram.bytes.len() * 8);
            datagram.bytes[bit / 8] ^= 1 << (bit % 8);
            self.arrive(datagram);
        }
    }

    pub fn truncate(&mut self, which: u8, len: u16) {
        if let Some(mut datagram) = self.take(which) {
            let len = usize::from(len) % datagram.bytes.len();
            datagram.bytes.truncate(len);
            self.arrive(datagram);
        }
    }

    /// Something seen before comes again.
    pub fn replay(&mut self, which: u8) {
        if let Some(datagram) = self.seen.get(usize::from(which)) {
            self.arrive(datagram.clone());
        }
    }

    /// A datagram comes from where its sender is not.
    pub fn spoof(&mut self, which: u8) {
        if let Some(mut datagram) = self.take(which) {
            datagram.from = SocketAddr::from(([10, 9, 9, which], 9));
            self.arrive(datagram);
        }
    }

    /// The client's address changes; what was on its way to the old one is lost.
    pub fn move_client(&mut self) {
        let client = &mut self.sides[0];
        client
            .address
            .set_port(client.address.port().wrapping_add(1));
        self.on_the_way.retain(|datagram| datagram.to != 0);
    }

    pub fn close(&mut self, side: usize) {
        if let Some((&id, &attempt)) = self.sides[side].open.last_key_value() {
            self.ended.insert(attempt);
            self.sides[side].endpoint.close(self.now, id, 7, "bye");
            self.pump();
        }
    }

    pub fn abort(&mut self, side: usize) {
        if let Some((&id, &attempt)) = self.sides[side].open.last_key_value() {
            self.ended.insert(attempt);
            self.sides[side].endpoint.abort(self.now, id, 9, "enough");
            self.pump();
        }
    }

    pub fn check(&self) {
        for side in &self.sides {
            let bytes = side.endpoint.memory_bytes();
            assert!(bytes < MEMORY, "{bytes} bytes");
        }
    }

    /// The network heals: on connections still open at both ends, everything reliable arrives.
    pub fn heal(&mut self) {
        for _ in 0..60 {
            if self.missing().is_none() {
                return;
            }
            self.run(50);
        }
        assert_eq!(self.missing(), None, "all has arrived after 30 s");
    }

    /// Something reliable that has yet to arrive.
    fn missing(&self) -> Option<String> {
        for (&id, &attempt) in &self.sides[1].open {
            let open_here = self.sides[0].open.values().any(|other| *other == attempt);
            if !open_here || self.ended.contains(&attempt) {
                continue;
            }
            for side in 0..2 {
                let promise = &self.promises[attempt as usize];
                for (channel, delivery) in self.deliveries.iter().enumerate() {
                    let arrived = promise[1 - side].received[channel].len() as u64;
                    if delivery.is_reliable() && arrived != promise[side].sent[channel] {
                        return Some(format!("side {side}, channel {channel} of {id}: {arrived}"));
                    }
                }
            }
        }
        None
    }

    fn arrive(&mut self, mut datagram: Datagram) {
        if self.seen.len() < 256 {
            self.seen.push(datagram.clone());
        }
        let to = &mut self.sides[datagram.to].endpoint;
        to.handle_datagram(self.now, datagram.from, &mut datagram.bytes);
        self.pump();
    }

    /// Takes everything out of both endpoints.
    fn pump(&mut self) {
        let mut buf = [0; 1200];
        for from in 0..2 {
            self.pump_events(from);
            let mut sent = 0;
            while let Some(packet) = self.sides[from].endpoint.poll_transmit(self.now, &mut buf) {
                sent += 1;
                assert!(sent < 10_000, "packets come to an end");
                let to = self.sides.iter().position(|side| side.address == packet.to);
                if let Some(to) = to.filter(|_| self.on_the_way.len() < MAX_ON_THE_WAY) {
                    self.on_the_way.push(Datagram {
                        from: self.sides[from].address,
                        to,
                        bytes: buf[..packet.len].to_vec(),
                    });
                }
            }
        }
    }

    fn pump_events(&mut self, at: usize) {
        while let Some(event) = self.sides[at].endpoint.poll_event() {
            match event {
                Event::Connected {
                    id,
                    incoming,
                    user_data,
                    ..
                } => {
                    if incoming {
                        let attempt = user_data.as_slice().try_into().map(u32::from_le_bytes);
                        let attempt = attempt.expect("what the client sent along");
                        self.sides[at].open.insert(id, attempt);
                    }
                }
                Event::Closed { id, .. } => {
                    self.read(at, id);
                    let attempt = self.sides[at].open.remove(&id);
                    self.ended.insert(attempt.expect("it was open"));
                }
                Event::Readable { id } => self.read(at, id),
                Event::Moved { id, .. } => assert!(self.sides[at].open.contains_key(&id)),
                Event::Refused { .. } => {}
            }
        }
        let open: Vec<_> = self.sides[at].open.iter().map(|(a, b)| (*a, *b)).collect();
        for (id, attempt) in open {
            self.read_reports(at, id, attempt);
        }
    }

    fn read(&mut self, at: usize, id: ConnectionId) {
        let side = &mut self.sides[at];
        let Some(&attempt) = side.open.get(&id) else {
            panic!("messages of a connection that is not open");
        };
        while let Some(message) = side.endpoint.recv(id) {
            let channel = usize::from(message.channel.0);
            let number = number(message.payload);
            let wanted = content(
                attempt,
                1 - at,
                channel as u8,
                number,
                message.payload.len(),
            );
            assert_eq!(
                message.payload, wanted,
                "channel {channel}, message {number}"
            );
            let promises = &mut self.promises[attempt as usize];
            assert!(number < promises[1 - at].sent[channel], "it was sent");
            let received = &mut promises[at].received[channel];
            let delivery = self.deliveries[channel];
            if delivery.is_ordered() {
                assert_eq!(number, received.len() as u64, "in order, none missing");
            }
            if delivery.is_sequenced() {
                let last = received.last();
                assert!(last.is_none_or(|last| *last < number), "never back");
            }
            assert!(received.insert(number), "never twice");
        }
    }

    fn read_reports(&mut self, at: usize, id: ConnectionId, attempt: u32) {
        while let Some(report) = self.sides[at].endpoint.poll_delivery(id) {
            let channel = usize::from(report.channel.0);
            let delivery = self.deliveries[channel];
            let promises = &mut self.promises[attempt as usize];
            assert!(report.message.0 < promises[at].sent[channel], "it was sent");
            match report.outcome {
                Outcome::Lost => assert!(!delivery.is_reliable(), "reliable messages are not lost"),
                Outcome::Acked => {
                    let first = promises[at].acked[channel].insert(report.message.0);
                    assert!(first, "acknowledged once");
                    // Ordered ones may wait for others, sequenced ones may have come too late, and who has closed
                    // does not read on.
                    let open = !self.ended.contains(&attempt);
                    if open && !delivery.is_ordered() && !delivery.is_sequenced() {
                        let there = promises[1 - at].received[channel].contains(&report.message.0);
                        assert!(there, "channel {channel}: acknowledged is delivered");
                    }
                }
            }
        }
    }
}

/// At least a number; the rest follows from where it comes from.
fn content(attempt: u32, side: usize, channel: u8, number: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len.max(4)];
    let key = attempt * 131 + side as u32 * 17 + u32::from(channel) * 5 + number as u32 * 3;
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = (key as usize + i * 7 + i / 256) as u8;
    }
    bytes[..4].copy_from_slice(&(number as u32).to_le_bytes());
    bytes
}

fn number(message: &[u8]) -> u64 {
    let start = message.first_chunk().expect("no message is shorter");
    u64::from(u32::from_le_bytes(*start))
}
