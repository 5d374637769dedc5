//! Our own addresses: found, changed and lost, and who has to hear of it.

use std::net::SocketAddr;
use std::time::Duration;

use super::Traversal;
use crate::classify::is_useless;
use crate::config::TraversalEvent;
use crate::description::{CandidateKind, MAX_CANDIDATES, WayIn};
use crate::peer::PeerId;
use crate::reflexive::{Reflexive, Seen};
use crate::relay_client::{RelayClient, RelayEvent};

impl Traversal {
    /// An address at which a router lets datagrams through to this socket because it was asked to, by UPnP, PCP or NAT-PMP or by hand.
    pub fn add_mapped(&mut self, address: SocketAddr) {
        if is_useless(address) || self.mapped.contains(&address) || self.mapped.len() >= 2 {
            return;
        }
        self.mapped.push(address);
        self.on_way_found(WayIn {
            kind: CandidateKind::Reflexive,
            address,
        });
    }

    /// Whether all addresses that are to be had are known; the same as [`TraversalEvent::Gathered`].
    pub fn is_gathered(&self) -> bool {
        self.gathered
    }

    /// Our addresses as they are known now.
    pub fn ways(&self) -> Vec<WayIn> {
        let host = self
            .hosts
            .iter()
            .map(|address| (CandidateKind::Host, *address));
        let mapped = self
            .mapped
            .iter()
            .map(|address| (CandidateKind::Reflexive, *address));
        let seen = self
            .reflexive
            .iter()
            .filter_map(|reflexive| reflexive.address);
        let relayed = self.relay.as_ref().and_then(RelayClient::address);
        let found = seen
            .map(|address| (CandidateKind::Reflexive, address))
            .chain(relayed.map(|address| (CandidateKind::Relayed, address)));
        let mut ways: Vec<WayIn> = Vec::new();
        for (kind, address) in host.chain(mapped).chain(found) {
            if ways.iter().all(|way| way.address != address) && ways.len() < MAX_CANDIDATES {
                ways.push(WayIn { kind, address });
            }
        }
        ways
    }

    pub(super) fn on_seen(&mut self, now: Duration, i: usize, seen: Option<Seen>) {
        match seen {
            Some(Seen::Found(address) | Seen::Moved(address)) => {
                let way = WayIn {
                    kind: CandidateKind::Reflexive,
                    address,
                };
                self.on_way_found(way);
                let server = self.reflexive[i].server;
                let relay = self.relay.as_mut().filter(|relay| relay.server() == server);
                // A relay knows its clients by the address that it sees.
                if let (Some(Seen::Moved(_)), Some(relay)) = (seen, relay)
                    && relay.begin_anew(now)
                {
                    self.on_relay_lost(now);
                }
            }
            Some(Seen::Gone) => {
                let server = self.reflexive[i].server;
                let relay = self.relay.as_mut().filter(|relay| relay.server() == server);
                if let Some(RelayEvent::Lost) = relay.and_then(|relay| relay.give_up(now)) {
                    self.on_relay_lost(now);
                }
            }
            Some(Seen::Same) | None => {}
        }
    }

    pub(super) fn go_on_with_relay(&mut self, now: Duration) {
        let Some(relay) = &mut self.relay else {
            return;
        };
        match relay.handle_timeout(now, &mut self.outbox) {
            Some(RelayEvent::Ready(address)) => {
                self.tell(TraversalEvent::RelayReady);
                self.on_way_found(WayIn {
                    kind: CandidateKind::Relayed,
                    address,
                });
                for peer in self.peers.keys().copied().collect::<Vec<_>>() {
                    self.open_relay(now, peer);
                }
            }
            Some(RelayEvent::Lost) => self.on_relay_lost(now),
            None => {}
        }
    }

    fn on_relay_lost(&mut self, now: Duration) {
        for known in self.peers.values_mut() {
            known.on_relay_lost(now);
        }
        self.tell(TraversalEvent::RelayLost);
        self.tell(TraversalEvent::DescriptionsChanged);
        for peer in self.peers.keys().copied().collect::<Vec<_>>() {
            self.tell_path(peer);
        }
    }

    /// Tells the agents and the application of an address of ours.
    fn on_way_found(&mut self, way: WayIn) {
        let base = base_of(&self.hosts, way.address);
        for known in self.peers.values_mut() {
            known.add_local(way, base);
        }
        self.tell(TraversalEvent::DescriptionsChanged);
    }

    pub(super) fn tell_local_ways(&mut self, peer: PeerId) {
        let ways = self.ways();
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        for way in ways {
            // Of the hosts of a family one stands for the socket, which has one address to send from.
            let base = base_of(&self.hosts, way.address);
            if way.kind != CandidateKind::Host || base == Some(way.address) {
                known.add_local(way, base);
            }
        }
    }

    pub(super) fn tell_gathered(&mut self) {
        let relay = self.relay.as_ref().is_none_or(RelayClient::is_settled);
        if !self.gathered && relay && self.reflexive.iter().all(Reflexive::is_settled) {
            self.gathered = true;
            self.tell(TraversalEvent::Gathered);
        }
    }
}

/// The address that the socket sends from to others of this family.
pub(super) fn base_of(hosts: &[SocketAddr], other: SocketAddr) -> Option<SocketAddr> {
    hosts
        .iter()
        .find(|host| host.is_ipv4() == other.is_ipv4())
        .copied()
}
