//! One program's ways to its peers, over one socket: what comes in is told apart, what goes out takes the way of the moment.

mod gathering;
mod incoming;
mod peer_ways;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use self::peer_ways::PeerWays;
use crate::classify::{is_loopback, is_useless};
use crate::config::{TraversalConfig, TraversalError, TraversalEvent, TraversalStats};
use crate::description::{Description, DescriptionError, MAX_CANDIDATES};
use crate::outbox::Outbox;
use crate::path::{Path, Route};
use crate::peer::PeerId;
use crate::reflexive::Reflexive;
use crate::relay_client::RelayClient;
use crate::secret::Secrets;

pub use self::incoming::Received;

/// The most peers of one traversal.
pub const MAX_PEERS: usize = 64;

/// The most STUN servers that are asked, the relay included.
const MAX_SERVERS: usize = 4;

/// The most events that wait for the application; the oldest are dropped then.
const MAX_EVENTS: usize = 1024;

/// A relay's client that has nothing to wait for is asked no more often than this.
const RELAY_PACE: Duration = Duration::from_millis(1);

/// One program's ways to its peers. See the [crate] for how it is driven.
#[derive(Debug)]
pub struct Traversal {
    config: TraversalConfig,
    secrets: Secrets,
    /// Our own addresses; the first of each family is the one that counts as the socket's.
    hosts: Vec<SocketAddr>,
    /// Addresses that a router maps to us by its leave.
    mapped: Vec<SocketAddr>,
    reflexive: Vec<Reflexive>,
    relay: Option<RelayClient>,
    peers: BTreeMap<PeerId, PeerWays>,
    /// Whose an address is, and when a check last came from it; without a check only by a description.
    owners: BTreeMap<SocketAddr, (PeerId, Option<Duration>)>,
    outbox: Outbox,
    events: VecDeque<TraversalEvent>,
    gathered: bool,
    last_timeout: Duration,
    /// The latest time that was told: datagrams may have arrived before it, and nothing goes back for them.
    latest: Duration,
    stats: TraversalStats,
}

/// A datagram to send from the socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// How many bytes of the buffer it has.
    pub len: usize,
}

impl Traversal {
    /// A program whose socket has these addresses: its interfaces' addresses with the socket's port, the preferred first. A loopback address stands alone, for peers on the
    /// same computer. `seed` has to be random and unknown to
    /// others: names and passwords of the checks come from it. It begins to ask the servers at its first [timeout](Self::handle_timeout).
    pub fn new(
        now: Duration,
        config: TraversalConfig,
        hosts: &[SocketAddr],
        seed: [u8; 32],
    ) -> Result<Self, TraversalError> {
        let mut usable: Vec<SocketAddr> = Vec::new();
        let only_loopback = hosts.iter().all(is_loopback);
        for host in hosts {
            let useless = is_useless(*host) || is_loopback(host) && !only_loopback;
            if !useless && !usable.contains(host) && usable.len() < MAX_CANDIDATES / 2 {
                usable.push(*host);
            }
        }
        let Some(first) = usable.first().copied() else {
            return Err(TraversalError::UselessAddress);
        };
        let relay = config.relay.clone().map(|access| {
            let own = usable
                .iter()
                .find(|host| host.is_ipv4() == access.server.is_ipv4());
            RelayClient::new(access, own.copied().unwrap_or(first))
        });
        let mut servers: Vec<SocketAddr> = Vec::new();
        let relay_server = relay.as_ref().map(RelayClient::server);
        for server in relay_server
            .into_iter()
            .chain(config.stun_servers.iter().copied())
        {
            if !servers.contains(&server) && servers.len() < MAX_SERVERS {
                servers.push(server);
            }
        }
        let reflexive = servers
            .into_iter()
            .map(|server| Reflexive::new(now, server));
        Ok(Self {
            reflexive: reflexive.collect(),
            config,
            secrets: Secrets::new(seed),
            hosts: usable,
            mapped: Vec::new(),
            relay,
            peers: BTreeMap::new(),
            owners: BTreeMap::new(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
            gathered: false,
            last_timeout: now,
            latest: now,
            stats: TraversalStats::default(),
        })
    }

    /// A peer to find ways to. Send it [our description](Self::description), and take [its](Self::handle_description), both at best while players wait.
    pub fn add_peer(&mut self, peer: PeerId) -> Result<(), TraversalError> {
        if self.peers.contains_key(&peer) {
            return Err(TraversalError::PeerExists(peer));
        }
        if self.peers.len() >= MAX_PEERS {
            return Err(TraversalError::TooManyPeers);
        }
        let credentials = self.secrets.credentials();
        let ways = PeerWays::new(&self.config, credentials, self.secrets.number());
        self.peers.insert(peer, ways);
        self.tell_local_ways(peer);
        Ok(())
    }

    /// Looks for no more ways to a peer, and takes nothing more from it.
    pub fn remove_peer(&mut self, peer: PeerId) {
        self.peers.remove(&peer);
        self.owners.retain(|_, (owner, _)| *owner != peer);
    }

    /// What this one peer needs to know of us, as text for any signalling that others do not read.
    pub fn description(&self, peer: PeerId) -> Result<Description, TraversalError> {
        let known = self
            .peers
            .get(&peer)
            .ok_or(TraversalError::UnknownPeer(peer))?;
        Ok(Description {
            credentials: known.checks.credentials().clone(),
            ways: self.ways(),
        })
    }

    /// Takes what a peer says of itself; again whenever it says something new. A peer with other credentials has begun anew.
    pub fn handle_description(
        &mut self,
        now: Duration,
        peer: PeerId,
        description: &str,
    ) -> Result<(), HandleDescriptionError> {
        let now = self.forward(now);
        let Some(known) = self.peers.get_mut(&peer) else {
            return Err(TraversalError::UnknownPeer(peer).into());
        };
        let mut description: Description = description.parse()?;
        // What is loopback to a peer on another computer is somebody else here.
        let same_computer = self.hosts.iter().all(is_loopback);
        let ways = &mut description.ways;
        ways.retain(|way| same_computer || !is_loopback(&way.address));
        if known.has_begun_anew(&description) {
            known.begin_anew(now, &self.config, self.secrets.number());
            self.owners.retain(|_, (owner, _)| *owner != peer);
            self.tell_local_ways(peer);
        }
        let known = self.peers.get_mut(&peer).expect("it was there just now");
        for address in known.take_description(&description) {
            self.owners.entry(address).or_insert((peer, None));
        }
        // Before the checks are let off: the way from relay to relay comes first, and a client asks a relay for one thing at a time.
        self.open_relay(now, peer);
        let known = self.peers.get_mut(&peer).expect("it was there just now");
        known.checks.set_remote(now, &description);
        self.go_on(now, peer);
        Ok(())
    }

    /// Whether a peer talks all the time from now on, at least every [`TraversalConfig::silence`]: as long as it does not, its ways are not given up for its silence.
    pub fn set_expected(&mut self, now: Duration, peer: PeerId, expected: bool) {
        let now = self.forward(now);
        if let Some(known) = self.peers.get_mut(&peer) {
            known.choice.set_expected(now, expected);
        }
    }

    /// What kind of way leads to a peer.
    pub fn path(&self, peer: PeerId) -> Path {
        self.peers
            .get(&peer)
            .map_or(Path::None, |known| known.choice.path())
    }

    /// Whether a peer that is expected to talk is not heard on any way.
    pub fn is_lost(&self, peer: PeerId) -> bool {
        self.peers
            .get(&peer)
            .is_some_and(|known| known.choice.is_lost())
    }

    /// The peers, in ascending order.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> {
        self.peers.keys().copied()
    }

    /// The counters since it was made.
    pub fn stats(&self) -> TraversalStats {
        TraversalStats {
            dropped_full: self.outbox.dropped,
            ..self.stats
        }
    }

    /// Sends a datagram of the game to a peer, by the way of the moment. A few wait while no way is known yet.
    pub fn send(
        &mut self,
        now: Duration,
        peer: PeerId,
        datagram: &[u8],
    ) -> Result<(), TraversalError> {
        let now = self.forward(now);
        let known = self
            .peers
            .get_mut(&peer)
            .ok_or(TraversalError::UnknownPeer(peer))?;
        let (route, help) = known.choice.routes(now);
        let Some(route) = route else {
            self.stats.dropped_no_path += u64::from(!known.wait(datagram));
            return Ok(());
        };
        let direct = known.choice.path() == Path::Direct;
        self.send_by(now, route, datagram, direct);
        if let Some(help) = help {
            self.stats.sent_twice += 1;
            self.send_by(now, help, datagram, false);
        }
        Ok(())
    }

    fn send_by(&mut self, now: Duration, route: Route, datagram: &[u8], direct: bool) {
        match route {
            Route::Socket(to) => self.outbox.push(to, datagram),
            Route::Relay(to) => {
                let relay = self.relay.as_mut();
                if !relay.is_some_and(|relay| relay.send(now, to, datagram, &mut self.outbox)) {
                    self.stats.dropped_no_path += 1;
                    return;
                }
            }
        }
        match direct {
            true => self.stats.sent_direct += 1,
            false => self.stats.sent_relayed += 1,
        }
    }

    /// The next datagram for the socket, written to the start of `out`.
    pub fn poll_transmit(&mut self, out: &mut [u8]) -> Option<Transmit> {
        let (to, len) = self.outbox.pop(out)?;
        Some(Transmit { to, len })
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<TraversalEvent> {
        self.events.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub fn poll_timeout(&mut self, now: Duration) -> Option<Duration> {
        let now = self.forward(now);
        let asked = self.reflexive.iter().map(Reflexive::poll_timeout).min();
        let earliest = self.last_timeout + RELAY_PACE;
        let relay = self
            .relay
            .as_mut()
            .map(|relay| relay.poll_timeout(now).max(earliest));
        let peers = self
            .peers
            .values_mut()
            .filter_map(PeerWays::poll_timeout)
            .min();
        [asked, relay, peers].into_iter().flatten().min()
    }

    /// Goes on: asks servers, checks ways, gives up silent ones.
    pub fn handle_timeout(&mut self, now: Duration) {
        let now = self.forward(now);
        self.last_timeout = now;
        for i in 0..self.reflexive.len() {
            let reflexive = &mut self.reflexive[i];
            let seen = reflexive.handle_timeout(now, &mut self.secrets, &mut self.outbox);
            self.on_seen(now, i, seen);
        }
        self.go_on_with_relay(now);
        for peer in self.peers.keys().copied().collect::<Vec<_>>() {
            self.on_peer_timeout(now, peer);
        }
        self.tell_gathered();
    }

    /// Gives the relay's address back; datagrams for it are to be sent before the program ends.
    pub fn close(&mut self, now: Duration) {
        let now = self.forward(now);
        if let Some(relay) = &mut self.relay {
            relay.close(now, &mut self.outbox);
        }
    }

    /// The time, which never goes back.
    fn forward(&mut self, now: Duration) -> Duration {
        self.latest = self.latest.max(now);
        self.latest
    }

    fn on_peer_timeout(&mut self, now: Duration, peer: PeerId) {
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        let due = known.choice.handle_timeout(now);
        if due.probe {
            known.checks.probe(now);
        }
        known.checks.handle_timeout(now);
        if due.lost {
            self.tell(TraversalEvent::Lost { peer });
        }
        if due.probe {
            // Is it the peer, the relay, or has our own router forgotten us? An answer decides, or its absence.
            let server = self.relay.as_ref().map(RelayClient::server);
            let asked = self.reflexive.iter_mut();
            let asked = asked.filter(|asked| Some(asked.server) == server);
            asked.for_each(|asked| asked.ask(now));
        }
        self.go_on(now, peer);
    }

    /// Opens the way from our relay to the peer's, and lets the peer in.
    fn open_relay(&mut self, now: Duration, peer: PeerId) {
        let (Some(relay), Some(known)) = (&mut self.relay, self.peers.get_mut(&peer)) else {
            return;
        };
        known.open_relay(now, relay);
        self.go_on(now, peer);
    }

    /// Takes from a peer's checks what they have found and want to send.
    fn go_on(&mut self, now: Duration, peer: PeerId) {
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        known.poll_checks(now, self.relay.as_mut());
        while let Some((source, destination, bytes)) = known.checks.poll_transmit() {
            self.stats.sent_checks += 1;
            match &mut self.relay {
                Some(relay) if relay.address() == Some(source) => {
                    relay.send(now, destination, &bytes, &mut self.outbox);
                }
                _ => self.outbox.push(destination, &bytes),
            }
        }
        self.tell_path(peer);
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        if known.choice.path() != Path::None {
            for datagram in known.take_waiting() {
                // The peer is known, so it cannot fail.
                let _ = self.send(now, peer, &datagram);
            }
        }
    }

    fn tell_path(&mut self, peer: PeerId) {
        if let Some(path) = self.peers.get_mut(&peer).and_then(PeerWays::poll_path) {
            self.tell(TraversalEvent::PathChanged { peer, path });
        }
    }

    fn tell(&mut self, event: TraversalEvent) {
        let known = TraversalEvent::DescriptionsChanged;
        if event == known && self.events.contains(&known) {
            return;
        }
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        tracing::debug!(?event, "traversal");
        self.events.push_back(event);
    }
}

/// Why a description was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleDescriptionError {
    /// The caller's mistake.
    #[error(transparent)]
    Traversal(#[from] TraversalError),
    /// The peer's.
    #[error(transparent)]
    Description(#[from] DescriptionError),
}
