//! Two endpoints (or more) in virtual time, with a seeded link between them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_netem::{Link, LinkConfig, Loss};
use samestep_proto::{
    ChannelId, CloseReason, Config, ConnectOptions, ConnectionId, Delivery, DeliveryReport,
    Endpoint, Event, MessageId, Outcome, SendError, Stats,
};

/// The channels of [`Config::new`], by kind.
pub const UNRELIABLE: ChannelId = ChannelId(0);
pub const SEQUENCED: ChannelId = ChannelId(1);
pub const UNORDERED: ChannelId = ChannelId(2);
pub const ORDERED: ChannelId = ChannelId(3);
pub const REDUNDANT: ChannelId = ChannelId(4);

/// The channel of each delivery.
pub fn all() -> impl Iterator<Item = ChannelId> {
    Delivery::ALL
        .into_iter()
        .map(|delivery| ChannelId(delivery as u8))
}

/// One of the peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Who(pub usize);

pub const CLIENT: Who = Who(0);
pub const SERVER: Who = Who(1);

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Settings both sides share.
pub fn config() -> Config {
    Config::new("pair", 1)
}

/// A link that only takes time.
pub fn latency(ms: u64) -> LinkConfig {
    LinkConfig {
        latency: Duration::from_millis(ms),
        ..LinkConfig::default()
    }
}

/// A link that takes time and loses a fraction.
pub fn lossy(ms: u64, loss: f64) -> LinkConfig {
    LinkConfig {
        loss: Loss::Bernoulli(loss),
        ..latency(ms)
    }
}

/// A link that loses, doubles and reorders.
pub fn rough(ms: u64, fraction: f64) -> LinkConfig {
    LinkConfig {
        duplicate: fraction,
        reorder: fraction,
        reorder_by: Duration::from_millis(ms),
        ..lossy(ms, fraction)
    }
}

/// A message as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    pub at: Duration,
    pub channel: ChannelId,
    pub payload: Vec<u8>,
}

/// One endpoint and the events it has emitted.
pub struct Peer {
    pub endpoint: Endpoint,
    pub address: SocketAddr,
    /// The newest connection.
    pub id: Option<ConnectionId>,
    pub events: Vec<Event>,
    pub received: Vec<Received>,
    pub deliveries: Vec<DeliveryReport>,
    /// Whether messages are read as they come.
    pub reads: bool,
    pub bytes_out: u64,
    pub packets_out: u64,
}

/// A datagram somebody sent.
#[derive(Clone, Debug)]
pub struct Datagram {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

/// What to do with a datagram before the link gets it.
type Filter = Box<dyn FnMut(&Datagram) -> bool>;

/// The world: a client, a server, perhaps more clients, and one clock.
pub struct Pair {
    pub now: Duration,
    peers: Vec<Peer>,
    links: [Link; 2],
    on_the_way: BTreeMap<(Duration, u64), Datagram>,
    count: u64,
    /// Everything sent, if `capture` is set.
    pub captured: Vec<Datagram>,
    pub capture: bool,
    /// Lets only those datagrams pass for which it returns true.
    pub filter: Option<Filter>,
}

impl Pair {
    /// Both sides with these settings.
    pub fn new(config: Config) -> Self {
        Self::with(config.clone(), config)
    }

    /// A client and a server with settings of their own; the server accepts eight unless it says otherwise.
    pub fn with(client: Config, mut server: Config) -> Self {
        if server.accept.is_none() {
            server = server.accepting(8);
        }
        let link = |seed| Link::new(latency(10), seed).expect("a good link");
        let mut pair = Self {
            now: secs(1),
            peers: Vec::new(),
            links: [link(1), link(2)],
            on_the_way: BTreeMap::new(),
            count: 0,
            captured: Vec::new(),
            capture: false,
            filter: None,
        };
        pair.add(client, "10.0.0.1:1000");
        pair.add(server, "10.0.0.2:2000");
        pair
    }

    /// A connected pair.
    pub fn connected(config: Config) -> Self {
        let mut pair = Self::new(config);
        pair.connect(ConnectOptions::default()).expect("accepted");
        pair
    }

    /// A pair connected over this link; the seed decides its fate.
    pub fn over(config: Config, link: LinkConfig, seed: u64) -> Self {
        let mut pair = Self::new(config);
        pair.set_link(link, seed);
        pair.connect(ConnectOptions::default()).expect("accepted");
        pair
    }

    /// Another peer.
    pub fn add(&mut self, config: Config, address: &str) -> Who {
        let seed = [self.peers.len() as u8 + 1; 32];
        self.peers.push(Peer {
            endpoint: Endpoint::new(config, seed).expect("good settings"),
            address: address.parse().expect("an address"),
            id: None,
            events: Vec::new(),
            received: Vec::new(),
            deliveries: Vec::new(),
            reads: true,
            bytes_out: 0,
            packets_out: 0,
        });
        Who(self.peers.len() - 1)
    }

    /// The link in both directions from now on; the seed decides its fate.
    pub fn set_link(&mut self, config: LinkConfig, seed: u64) {
        self.links =
            [seed, seed + 1].map(|seed| Link::new(config.clone(), seed).expect("a good link"));
    }

    /// The client connects: how it ends.
    pub fn connect(&mut self, options: ConnectOptions) -> Result<(), CloseReason> {
        self.connect_as(CLIENT, options)
    }

    /// Any peer connects to the server, until both ends know.
    pub fn connect_as(&mut self, who: Who, options: ConnectOptions) -> Result<(), CloseReason> {
        let (now, server) = (self.now, self[SERVER].address);
        let accepted = self[SERVER].endpoint.endpoint_stats().accepted;
        let id = self[who]
            .endpoint
            .connect(now, server, options)
            .expect("good options");
        let deadline = now + secs(20);
        while self.now < deadline {
            self.run_for(ms(1));
            for event in &self[who].events {
                match event {
                    Event::Closed { id: closed, reason } if *closed == id => {
                        return Err(reason.clone());
                    }
                    _ => {}
                }
            }
            if self[who].id == Some(id)
                && self[SERVER].endpoint.endpoint_stats().accepted > accepted
            {
                return Ok(());
            }
        }
        panic!("connecting neither succeeded nor failed");
    }

    /// Sends on a peer's newest connection.
    pub fn try_send(
        &mut self,
        who: Who,
        channel: ChannelId,
        message: &[u8],
    ) -> Result<MessageId, SendError> {
        let now = self.now;
        let peer = &mut self[who];
        let id = peer.id.expect("connected");
        peer.endpoint.send(now, id, channel, message)
    }

    pub fn send(&mut self, who: Who, channel: ChannelId, message: &[u8]) -> MessageId {
        self.try_send(who, channel, message).expect("accepted")
    }

    pub fn close(&mut self, who: Who, code: u32, reason: &str) {
        let now = self.now;
        let peer = &mut self[who];
        let id = peer.id.expect("connected");
        peer.endpoint.close(now, id, code, reason);
    }

    pub fn abort(&mut self, who: Who, code: u32, reason: &str) {
        let now = self.now;
        let peer = &mut self[who];
        let id = peer.id.expect("connected");
        peer.endpoint.abort(now, id, code, reason);
    }

    pub fn stats(&self, who: Who) -> Stats {
        let peer = &self[who];
        peer.endpoint
            .stats(peer.id.expect("connected"))
            .expect("still there")
    }

    /// Lets time pass.
    pub fn run_for(&mut self, duration: Duration) {
        let end = self.now + duration;
        loop {
            self.drain();
            let timers = self.peers.iter_mut().map(|p| p.endpoint.poll_timeout());
            let arrival = self.on_the_way.keys().next().map(|(at, _)| *at);
            let next = timers.chain([arrival]).flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            while let Some(entry) = self.on_the_way.first_entry()
                && entry.key().0 <= self.now
            {
                let datagram = entry.remove();
                self.arrive(datagram);
            }
            for peer in &mut self.peers {
                peer.endpoint.handle_timeout(self.now);
            }
        }
        self.now = end;
    }

    /// Runs until something holds. Panics if it does not within `limit`.
    pub fn run_until(&mut self, limit: Duration, what: impl Fn(&Self) -> bool) {
        let deadline = self.now + limit;
        while !what(self) {
            assert!(self.now < deadline, "it did not happen within {limit:?}");
            self.run_for(ms(1));
        }
    }

    /// Hands a datagram to whoever has that address, without the link.
    pub fn arrive(&mut self, mut datagram: Datagram) {
        let now = self.now;
        if let Some(peer) = self.peers.iter_mut().find(|p| p.address == datagram.to) {
            peer.endpoint
                .handle_datagram(now, datagram.from, &mut datagram.bytes);
        }
    }

    /// Hands bytes to the server, as if from `from`.
    pub fn inject(&mut self, from: SocketAddr, bytes: &[u8]) {
        let to = self[SERVER].address;
        self.arrive(Datagram {
            from,
            to,
            bytes: bytes.to_vec(),
        });
    }

    /// Payloads received on a channel.
    pub fn payloads(&self, who: Who, channel: ChannelId) -> Vec<Vec<u8>> {
        let received = self[who].received.iter();
        received
            .filter(|r| r.channel == channel)
            .map(|r| r.payload.clone())
            .collect()
    }

    /// Why a peer's connection ended, if it did.
    pub fn closed(&self, who: Who) -> Option<CloseReason> {
        self[who].events.iter().rev().find_map(|event| match event {
            Event::Closed { reason, .. } => Some(reason.clone()),
            _ => None,
        })
    }

    /// Takes everything out of the endpoints and gives datagrams to the link.
    fn drain(&mut self) {
        let mut buf = [0; 1500];
        for who in 0..self.peers.len() {
            let peer = &mut self.peers[who];
            while let Some(packet) = peer.endpoint.poll_transmit(self.now, &mut buf) {
                peer.bytes_out += packet.len as u64;
                peer.packets_out += 1;
                let datagram = Datagram {
                    from: peer.address,
                    to: packet.to,
                    bytes: buf[..packet.len].to_vec(),
                };
                if self.capture {
                    self.captured.push(datagram.clone());
                }
                if self
                    .filter
                    .as_mut()
                    .is_some_and(|filter| !filter(&datagram))
                {
                    continue;
                }
                let direction = usize::from(Who(who) == SERVER);
                for at in self.links[direction].send(self.now, packet.len).arrivals {
                    self.on_the_way.insert((at, self.count), datagram.clone());
                    self.count += 1;
                }
            }
            self.read(Who(who));
        }
    }

    fn read(&mut self, who: Who) {
        let now = self.now;
        let peer = &mut self[who];
        while let Some(event) = peer.endpoint.poll_event() {
            if let Event::Connected { id, .. } = event {
                peer.id = Some(id);
            }
            peer.events.push(event);
        }
        let Some(id) = peer.id else { return };
        while peer.reads
            && let Some(message) = peer.endpoint.recv(id)
        {
            peer.received.push(Received {
                at: now,
                channel: message.channel,
                payload: message.payload.to_vec(),
            });
        }
        while let Some(delivery) = peer.endpoint.poll_delivery(id) {
            peer.deliveries.push(delivery);
        }
    }
}

impl std::ops::Index<Who> for Pair {
    type Output = Peer;

    fn index(&self, who: Who) -> &Peer {
        &self.peers[who.0]
    }
}

impl std::ops::IndexMut<Who> for Pair {
    fn index_mut(&mut self, who: Who) -> &mut Peer {
        &mut self.peers[who.0]
    }
}

/// Messages reported with this outcome.
pub fn reported(peer: &Peer, channel: ChannelId, outcome: Outcome) -> Vec<MessageId> {
    let reports = peer.deliveries.iter();
    reports
        .filter(|d| d.channel == channel && d.outcome == outcome)
        .map(|d| d.message)
        .collect()
}

/// Bytes that follow from a number, any length.
pub fn content(number: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (number * 31 + i * 7 + i / 251) as u8)
        .collect()
}
