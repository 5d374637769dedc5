//! What arrives at the shared socket: whose it is, and what it may do.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use is::stun::StunMessage;
use turn_client_proto::types::stun::message::Message;

use super::Traversal;
use super::gathering::base_of;
use crate::classify::{Kind, kind_of, read_check};
use crate::config::TraversalEvent;
use crate::peer::PeerId;
use crate::relay_client::{FromRelay, RelayClient};

/// For so long after a check nobody else's check takes an address over: whoever can forge a sender's address cannot take a peer's place.
const HELD: Duration = Duration::from_secs(10);

/// What a datagram was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Received {
    /// The game's, from a peer: these bytes of it. [`PeerId::address`] is where it comes from for all above.
    Data {
        /// The peer.
        peer: PeerId,
        /// Which bytes of the datagram are the game's.
        range: Range<usize>,
    },
    /// Not from a peer and no message of STUN: for whoever else listens on the socket, from the address it came from. Only with
    /// [`TraversalConfig::strangers`](crate::TraversalConfig::strangers).
    Stranger,
    /// It was for the traversal itself, or for nobody.
    Consumed,
}

impl Traversal {
    /// Takes a datagram from the socket.
    pub fn handle_datagram(
        &mut self,
        now: Duration,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Received {
        let now = self.forward(now);
        let server = self.relay.as_ref().map(RelayClient::server);
        let from_relay = server == Some(from);
        let kind = kind_of(datagram, from_relay);
        if PeerId::from_address(from).is_some() {
            // No peer has this address on any network.
            return Received::Consumed;
        }
        match kind {
            Kind::Game if from_relay => Received::Consumed,
            Kind::Game => self.on_game(now, from, 0..datagram.len(), false),
            Kind::Stun | Kind::Channel if from_relay => self.on_relay(now, from, datagram),
            Kind::Stun | Kind::Channel => {
                self.on_stun(now, from, datagram);
                Received::Consumed
            }
        }
    }

    fn on_relay(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) -> Received {
        let Some(relay) = &mut self.relay else {
            return Received::Consumed;
        };
        let own = relay.address();
        match relay.handle(now, datagram) {
            FromRelay::Peer(source, range) => {
                let inner = &datagram[range.clone()];
                match (kind_of(inner, false), own) {
                    (Kind::Game, _) => return self.on_game(now, source, range, true),
                    (_, Some(own)) => self.on_check_bytes(now, source, Some(own), inner),
                    _ => {}
                }
            }
            FromRelay::Handled => {
                self.go_on_with_relay(now);
                self.tell_gathered();
            }
            FromRelay::Ignored => self.on_stun(now, from, datagram),
        }
        Received::Consumed
    }

    /// A datagram of the game belongs to whom its sender's address belongs to. Whether it is authentic, the game's own encryption finds out.
    fn on_game(
        &mut self,
        now: Duration,
        from: SocketAddr,
        range: Range<usize>,
        via_relay: bool,
    ) -> Received {
        let owner = self.owners.get(&from).map(|(peer, _)| *peer);
        let Some(known) = owner.and_then(|peer| self.peers.get_mut(&peer)) else {
            return match self.config.strangers && !via_relay {
                true => Received::Stranger,
                false => Received::Consumed,
            };
        };
        let peer = owner.expect("it is known");
        let direct = !via_relay && !known.is_relayed(from);
        if known.choice.on_heard(now, direct) {
            self.tell(TraversalEvent::Found { peer });
        }
        Received::Data { peer, range }
    }

    fn on_stun(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) {
        for i in 0..self.reflexive.len() {
            if self.reflexive[i].server != from {
                continue;
            }
            let Ok(message) = Message::from_bytes(datagram) else {
                continue;
            };
            let seen = self.reflexive[i].handle_message(now, from, &message);
            if seen.is_some() {
                self.on_seen(now, i, seen);
                self.tell_gathered();
                return;
            }
        }
        self.on_check_bytes(now, from, None, datagram);
    }

    /// A check, or the answer to one. `destination` is our relayed address if it came there.
    fn on_check_bytes(
        &mut self,
        now: Duration,
        from: SocketAddr,
        destination: Option<SocketAddr>,
        bytes: &[u8],
    ) {
        let accepted = read_check(bytes).ok().and_then(|message| {
            let destination = destination.or_else(|| base_of(&self.hosts, from))?;
            self.on_check(now, from, destination, message)
        });
        match accepted {
            Some(peer) => self.go_on(now, peer),
            None => self.stats.ignored += 1,
        }
    }

    /// Gives a check to the agent that it is for, if it is authentic. Only that can make an address a peer's.
    fn on_check(
        &mut self,
        now: Duration,
        from: SocketAddr,
        destination: SocketAddr,
        message: StunMessage<'_>,
    ) -> Option<PeerId> {
        let mut peers = self.peers.iter_mut();
        let (peer, known) = peers.find(|(_, known)| known.checks.accepts(&message))?;
        let peer = *peer;
        if message.is_binding_request() {
            if !known.on_seen_at(now, from) {
                return None;
            }
            let owner = self.owners.entry(from).or_insert((peer, None));
            let held = owner.1.is_some_and(|checked| now < checked + HELD);
            if owner.0 != peer && held {
                return None;
            }
            *owner = (peer, Some(now));
        }
        if message.is_successful_binding_response() {
            known.choice.on_answered(from);
        }
        known.checks.handle(now, from, destination, message);
        Some(peer)
    }
}
