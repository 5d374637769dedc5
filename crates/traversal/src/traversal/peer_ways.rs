//! What is known of one peer: its addresses, the checks with it, the choice among its ways, and datagrams that wait for the first of them.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use is::IceCreds;

use crate::checks::{Checked, Checks};
use crate::config::TraversalConfig;
use crate::description::{CandidateKind, Description, WayIn};
use crate::path::{Path, PathChoice, Route};
use crate::relay_client::RelayClient;

/// The most addresses that one peer may be seen at in a minute.
const MAX_ADDRESSES: usize = 32;

/// An address without a check for so long makes room for others.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// The most datagrams that wait for the first way to a peer.
const MAX_WAITING: usize = 8;

#[derive(Debug)]
pub(super) struct PeerWays {
    pub(super) checks: Checks,
    pub(super) choice: PathChoice,
    /// Where its authentic checks came from, and when last.
    seen_at: BTreeMap<SocketAddr, Duration>,
    /// What relays lend it, as it says; the newest last.
    relayed: Vec<SocketAddr>,
    reflexive: Vec<SocketAddr>,
    own_relayed: Option<SocketAddr>,
    waiting: VecDeque<Vec<u8>>,
    told: Path,
}

impl PeerWays {
    pub(super) fn new(config: &TraversalConfig, credentials: IceCreds, tie_breaker: u64) -> Self {
        Self {
            checks: Checks::new(credentials, tie_breaker),
            choice: PathChoice::new(config),
            seen_at: BTreeMap::new(),
            relayed: Vec::new(),
            reflexive: Vec::new(),
            own_relayed: None,
            waiting: VecDeque::new(),
            told: Path::None,
        }
    }

    pub(super) fn add_local(&mut self, way: WayIn, base: Option<SocketAddr>) {
        // A relay of another family than ours still has an address to send from: its own.
        let base = base.unwrap_or(way.address);
        if way.kind == CandidateKind::Relayed {
            self.own_relayed = Some(way.address);
        }
        self.checks.add_local(way, base);
    }

    /// Whether the peer has other credentials than before.
    pub(super) fn has_begun_anew(&self, description: &Description) -> bool {
        let known = self.checks.remote_credentials();
        known.is_some_and(|known| *known != description.credentials)
    }

    /// The peer's program was started again: nothing of before counts, but that it knows our credentials.
    pub(super) fn begin_anew(&mut self, now: Duration, config: &TraversalConfig, tie_breaker: u64) {
        let expected = self.choice.is_expected();
        let credentials = self.checks.credentials().clone();
        let told = self.told;
        *self = Self::new(config, credentials, tie_breaker);
        self.told = told;
        self.choice.set_expected(now, expected);
    }

    /// Notes the peer's addresses. Returns those that others lend it, from which it sends without a check.
    pub(super) fn take_description(&mut self, description: &Description) -> Vec<SocketAddr> {
        let of_kind = |kind| {
            let ways = description.ways.iter().filter(move |way| way.kind == kind);
            ways.map(|way| way.address).collect::<Vec<_>>()
        };
        self.relayed = of_kind(CandidateKind::Relayed);
        self.reflexive = of_kind(CandidateKind::Reflexive);
        self.relayed.clone()
    }

    /// Whether datagrams to or from this address pass a relay of the peer.
    pub(super) fn is_relayed(&self, address: SocketAddr) -> bool {
        self.relayed.contains(&address)
    }

    /// Lets the peer into our relay, and opens the way from there to the peer's.
    pub(super) fn open_relay(&mut self, now: Duration, relay: &mut RelayClient) {
        let Some(own) = relay.address() else {
            return;
        };
        let peer = self
            .relayed
            .iter()
            .rfind(|peer| peer.is_ipv4() == own.is_ipv4());
        if let Some(peer) = peer.copied() {
            // Either is enough to begin with, so the loss of one is not felt.
            relay.permit(now, peer.ip());
            relay.bind(now, peer);
            self.choice.on_relay(now, Some(Route::Relay(peer)));
        }
        for address in &self.reflexive {
            relay.permit(now, address.ip());
        }
    }

    pub(super) fn on_relay_lost(&mut self, now: Duration) {
        if let Some(own) = self.own_relayed.take() {
            self.checks.remove_relayed(own);
        }
        self.choice.on_relay(now, None);
    }

    /// An authentic check came from this address. Returns whether it counts: a peer has so many addresses in a minute.
    pub(super) fn on_seen_at(&mut self, now: Duration, address: SocketAddr) -> bool {
        if !self.seen_at.contains_key(&address) && self.seen_at.len() >= MAX_ADDRESSES {
            self.seen_at.retain(|_, seen| now < *seen + FORGOTTEN);
        }
        let known = self.seen_at.contains_key(&address);
        let counts = known || self.seen_at.len() < MAX_ADDRESSES;
        if counts {
            self.seen_at.insert(address, now);
        }
        counts
    }

    /// Takes what the checks have found.
    pub(super) fn poll_checks(&mut self, now: Duration, mut relay: Option<&mut RelayClient>) {
        while let Some(checked) = self.checks.poll_event() {
            match checked {
                Checked::Nominated {
                    source,
                    destination,
                } => {
                    let own = relay
                        .as_mut()
                        .filter(|relay| relay.address() == Some(source));
                    let relayed = own.is_some() || self.is_relayed(destination);
                    let route = match own {
                        Some(relay) => {
                            relay.bind(now, destination);
                            Route::Relay(destination)
                        }
                        None => Route::Socket(destination),
                    };
                    self.choice.on_nominated(now, route, !relayed);
                }
                Checked::Disconnected => self.choice.on_disconnected(now),
            }
        }
    }

    pub(super) fn poll_timeout(&mut self) -> Option<Duration> {
        let due = [self.checks.poll_timeout(), self.choice.poll_timeout()];
        due.into_iter().flatten().min()
    }

    /// The kind of way, if it is another than was told last.
    pub(super) fn poll_path(&mut self) -> Option<Path> {
        let path = self.choice.path();
        (std::mem::replace(&mut self.told, path) != path).then_some(path)
    }

    /// Keeps a datagram until there is a way. Returns whether there was room.
    pub(super) fn wait(&mut self, datagram: &[u8]) -> bool {
        let room = self.waiting.len() < MAX_WAITING;
        if room {
            self.waiting.push_back(datagram.to_vec());
        }
        room
    }

    pub(super) fn take_waiting(&mut self) -> VecDeque<Vec<u8>> {
        std::mem::take(&mut self.waiting)
    }
}
