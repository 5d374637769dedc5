//! A relay for those whom no direct way reaches, and a STUN server for all: TURN over UDP (RFC 8656), without IO, with limits.

mod allocation;
mod credentials;
mod limits;
mod message;
mod requests;
#[cfg(feature = "transport")]
mod server;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use self::allocation::Allocation;
use self::credentials::Nonces;
use self::limits::RequestLimit;
use crate::classify::{is_loopback, is_useless};
use crate::outbox::Outbox;
use turn_client_proto::types::channel::ChannelData;
use turn_client_proto::types::stun::message::Message;

pub use self::allocation::AllocationId;
pub use self::credentials::{MAX_USER_BYTES, RelaySecret, RelaySecretError};
#[cfg(feature = "transport")]
pub use self::server::{RelayServer, RelayServerConfig};

/// How often expired allocations are looked for.
const SWEEP: Duration = Duration::from_secs(1);

/// The longest datagram that is passed on.
const MAX_DATAGRAM: usize = 1500;

/// Settings of a [`Relay`]: above all what a user may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayConfig {
    /// The address under which what is lent can be reached: the computer's public one.
    pub address: IpAddr,
    /// The realm of the credentials; any word.
    pub realm: String,
    /// The most addresses lent at a time. Default 1000.
    pub max_allocations: usize,
    /// The most for one user; the oldest gives way to the next. Default 4.
    pub max_allocations_per_user: usize,
    /// Bytes that may pass each allocation in a second, both directions together; more are dropped. Default 256 KiB: a game's packets of 1200 bytes at 100 Hz.
    pub bytes_per_second: u32,
    /// Requests that each network, an IPv4 address or an IPv6 prefix of 56 bits, may make in a second. Default 100.
    pub requests_per_second: u32,
    /// The longest time for which an address is lent at once; it can be renewed. Default an hour, at least ten minutes.
    pub max_lifetime: Duration,
    /// Whether datagrams may be sent to addresses of private networks: not for a relay on the internet, whose own network would lie open. Default no.
    pub private_peers: bool,
}

impl RelayConfig {
    /// The default limits for a relay at this address.
    pub fn new(address: IpAddr) -> Self {
        Self {
            address,
            realm: "samestep".to_owned(),
            max_allocations: 1000,
            max_allocations_per_user: 4,
            bytes_per_second: 256 << 10,
            requests_per_second: 100,
            max_lifetime: Duration::from_secs(3600),
            private_peers: false,
        }
    }
}

/// One of a relay's sockets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RelaySocket {
    /// The one that clients know.
    Clients,
    /// That of an allocation.
    Allocation(AllocationId),
}

/// What the driver of a relay has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelayCommand {
    /// Open a socket on any port, and say so with [`Relay::handle_opened`].
    Open(AllocationId),
    /// Close the socket of an allocation.
    Close(AllocationId),
}

/// A datagram to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelayTransmit {
    /// From which socket.
    pub from: RelaySocket,
    /// Where to.
    pub to: SocketAddr,
    /// How many bytes of the buffer it has.
    pub len: usize,
}

/// Counters of a [`Relay`] since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RelayStats {
    /// Addresses lent now.
    pub allocations: usize,
    /// Addresses lent in all.
    pub allocated: u64,
    /// Requests refused for wrong or expired credentials.
    pub unauthorised: u64,
    /// Requests refused because there was no room.
    pub refused_full: u64,
    /// Requests dropped because their network made too many.
    pub dropped_requests: u64,
    /// Datagrams passed on.
    pub relayed: u64,
    /// Their bytes.
    pub relayed_bytes: u64,
    /// Datagrams dropped because their allocation had carried too much.
    pub dropped_rate: u64,
    /// Datagrams dropped because nobody had let their sender in, or they were for an address that is none.
    pub dropped_unwanted: u64,
    /// Datagrams dropped because too many were waiting to be sent.
    pub dropped_full: u64,
}

/// A relay without IO. [`RelayServer`] runs one on real sockets.
#[derive(Debug)]
pub struct Relay {
    config: RelayConfig,
    secret: RelaySecret,
    nonces: Nonces,
    requests: RequestLimit,
    allocations: BTreeMap<AllocationId, Allocation>,
    by_client: BTreeMap<SocketAddr, AllocationId>,
    by_relayed: BTreeMap<SocketAddr, AllocationId>,
    last_id: u64,
    outbox: Outbox<(RelaySocket, SocketAddr)>,
    commands: VecDeque<RelayCommand>,
    next_sweep: Duration,
    stats: RelayStats,
}

impl Relay {
    /// A relay for whom the lobby with the same secret lets in. `seed` has to be random and unknown to others.
    pub fn new(config: RelayConfig, secret: RelaySecret, seed: [u8; 32]) -> Self {
        Self {
            requests: RequestLimit::new(config.requests_per_second),
            config,
            secret,
            nonces: Nonces::new(seed),
            allocations: BTreeMap::new(),
            by_client: BTreeMap::new(),
            by_relayed: BTreeMap::new(),
            last_id: 0,
            outbox: Outbox::default(),
            commands: VecDeque::new(),
            next_sweep: Duration::ZERO,
            stats: RelayStats::default(),
        }
    }

    /// Takes a datagram from the socket that clients know. `unix_s` is the time in seconds since 1970-01-01 UTC, for the credentials.
    pub fn handle_client(&mut self, now: Duration, unix_s: u64, from: SocketAddr, datagram: &[u8]) {
        match datagram.first() {
            Some(0x40..=0x7f) => self.on_channel_data(now, from, datagram),
            _ => {
                if let Ok(message) = Message::from_bytes(datagram) {
                    self.on_message(now, unix_s, from, &message);
                }
            }
        }
    }

    /// Takes a datagram from the socket of an allocation.
    pub fn handle_peer(
        &mut self,
        now: Duration,
        to: AllocationId,
        from: SocketAddr,
        datagram: &[u8],
    ) {
        self.deliver(now, to, from, datagram);
    }

    /// The driver has opened the socket of an allocation, on this port, or could not.
    pub fn handle_opened(&mut self, now: Duration, id: AllocationId, port: Option<u16>) {
        let Some(allocation) = self.allocations.get_mut(&id) else {
            // It has gone meanwhile, and its socket was asked to be closed.
            return;
        };
        let Some(port) = port else {
            let allocation = self.remove(id);
            if let Some(allocation) = allocation {
                self.refuse_full(&allocation);
            }
            return;
        };
        let relayed = SocketAddr::new(self.config.address, port);
        allocation.relayed = Some(relayed);
        self.by_relayed.insert(relayed, id);
        self.stats.allocated += 1;
        self.confirm(now, id);
    }

    /// What the driver has to do next.
    pub fn poll_command(&mut self) -> Option<RelayCommand> {
        self.commands.pop_front()
    }

    /// The next datagram to send, written to the start of `out`.
    pub fn poll_transmit(&mut self, out: &mut [u8]) -> Option<RelayTransmit> {
        let ((from, to), len) = self.outbox.pop(out)?;
        Some(RelayTransmit { from, to, len })
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub fn poll_timeout(&self) -> Duration {
        self.next_sweep
    }

    /// Takes back what was lent for a time that is over.
    pub fn handle_timeout(&mut self, now: Duration) {
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP;
        self.requests.forget(now);
        let over = self
            .allocations
            .iter()
            .filter(|(_, lent)| now >= lent.expires);
        for id in over.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.remove(id);
        }
    }

    /// The counters since it was made.
    pub fn stats(&self) -> RelayStats {
        RelayStats {
            allocations: self.allocations.len(),
            dropped_full: self.outbox.dropped,
            ..self.stats
        }
    }

    fn remove(&mut self, id: AllocationId) -> Option<Allocation> {
        let allocation = self.allocations.remove(&id)?;
        self.by_client.remove(&allocation.client);
        if let Some(relayed) = allocation.relayed {
            self.by_relayed.remove(&relayed);
        }
        self.commands.push_back(RelayCommand::Close(id));
        Some(allocation)
    }

    fn on_channel_data(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) {
        let allocation = self.by_client.get(&from);
        let known = allocation.and_then(|id| Some((*id, self.allocations.get(id)?)));
        let (Some((id, allocation)), Ok(data)) = (known, ChannelData::parse(datagram)) else {
            self.stats.dropped_unwanted += 1;
            return;
        };
        match allocation.peer_of(now, data.id()) {
            Some(peer) => self.forward(now, id, peer, data.data()),
            None => self.stats.dropped_unwanted += 1,
        }
    }

    /// Sends what a client has for a peer.
    fn forward(&mut self, now: Duration, id: AllocationId, to: SocketAddr, data: &[u8]) {
        let Some(allocation) = self.allocations.get_mut(&id) else {
            return;
        };
        let Some(own) = allocation.relayed else {
            return;
        };
        if !allocation.permits(now, to.ip()) || data.len() > MAX_DATAGRAM {
            self.stats.dropped_unwanted += 1;
            return;
        }
        if !allocation.take(now, self.config.bytes_per_second, data.len()) {
            self.stats.dropped_rate += 1;
            return;
        }
        if let Some(other) = self.by_relayed.get(&to).copied() {
            // To another allocation: no socket is needed.
            self.deliver(now, other, own, data);
        } else if to.ip() == self.config.address {
            // Whatever else listens on this computer is none of a client's business.
            self.stats.dropped_unwanted += 1;
        } else {
            self.count(data.len());
            self.outbox.push((RelaySocket::Allocation(id), to), data);
        }
    }

    /// Sends what came from a peer to the client.
    fn deliver(&mut self, now: Duration, id: AllocationId, from: SocketAddr, data: &[u8]) {
        let Some(allocation) = self.allocations.get_mut(&id) else {
            return;
        };
        if !allocation.permits(now, from.ip()) || data.len() > MAX_DATAGRAM {
            self.stats.dropped_unwanted += 1;
            return;
        }
        if !allocation.take(now, self.config.bytes_per_second, data.len()) {
            self.stats.dropped_rate += 1;
            return;
        }
        let to = (RelaySocket::Clients, allocation.client);
        match allocation.channel_of(now, from) {
            Some(channel) => self.outbox.push_with(to, |buffer| {
                buffer.extend_from_slice(&channel.to_be_bytes());
                buffer.extend_from_slice(&(data.len() as u16).to_be_bytes());
                buffer.extend_from_slice(data);
            }),
            None => {
                let message = message::data_indication(self.stats.relayed, from, data);
                self.outbox.push(to, &message);
            }
        }
        self.count(data.len());
    }

    fn count(&mut self, bytes: usize) {
        self.stats.relayed += 1;
        self.stats.relayed_bytes += bytes as u64;
    }

    /// Whether a client may have datagrams from and to this address.
    fn allows_peer(&self, peer: IpAddr) -> bool {
        let same_family = peer.is_ipv4() == self.config.address.is_ipv4();
        let address = SocketAddr::new(peer, 1);
        let useless = is_useless(address) || is_loopback(&address);
        let own = peer == self.config.address;
        same_family && (own || !useless && (self.config.private_peers || !is_private(peer)))
    }
}

/// Whether an address belongs to a network that is not the internet.
fn is_private(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            let shared = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64;
            ip.is_private() || ip.is_link_local() || shared || ip.octets()[0] == 0
        }
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}
