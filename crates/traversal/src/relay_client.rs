//! The own relay, as its client: an address there, permissions and channels for peers, and datagrams both ways.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::time::Duration;

use turn_client_proto::api::{
    DelayedMessageOrChannelSend, SendError, TransmitBuild, TurnClientApi, TurnConfig, TurnEvent,
    TurnPollRet, TurnRecvRet,
};
use turn_client_proto::stun::agent::Transmit;
use turn_client_proto::types::prelude::DelayedTransmitBuild;
use turn_client_proto::types::{AddressFamily, TransportType, TurnCredentials};
use turn_client_proto::udp::TurnClientUdp;

use crate::clock::{from_turn_time, turn_time};
use crate::config::RelayAccess;
use crate::outbox::Outbox;

/// The most addresses that are let in; peers have a few each.
const MAX_PERMISSIONS: usize = 256;

/// The most datagrams that wait for a permission.
const MAX_WAITING: usize = 64;

/// How long a refused address is not asked for again.
const REFUSED: Duration = Duration::from_secs(10);

/// The waits between attempts to get an address: the first, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// What has become of the address at the relay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RelayEvent {
    Ready(SocketAddr),
    Lost,
}

/// What came from the relay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FromRelay {
    /// A peer's bytes, and where the relay had them from.
    Peer(SocketAddr, Range<usize>),
    /// A message between relay and client.
    Handled,
    /// Nothing that the client has to do with.
    Ignored,
}

/// The client of one relay. A client that fails is replaced after a while.
pub(crate) struct RelayClient {
    access: RelayAccess,
    local: SocketAddr,
    client: TurnClientUdp,
    address: Option<SocketAddr>,
    /// Addresses that have or get a channel.
    bound: BTreeSet<SocketAddr>,
    permitted: BTreeSet<IpAddr>,
    refused: BTreeMap<IpAddr, Duration>,
    waiting: VecDeque<(SocketAddr, Vec<u8>)>,
    retry_at: Option<Duration>,
    retry_wait: Duration,
    settled: bool,
}

impl RelayClient {
    pub(crate) fn new(access: RelayAccess, local: SocketAddr) -> Self {
        let client = client_of(&access, local);
        Self {
            access,
            local,
            client,
            address: None,
            bound: BTreeSet::new(),
            permitted: BTreeSet::new(),
            refused: BTreeMap::new(),
            waiting: VecDeque::new(),
            retry_at: None,
            retry_wait: RETRY.0,
            settled: false,
        }
    }

    pub(crate) fn server(&self) -> SocketAddr {
        self.access.server
    }

    /// The address that the relay lends.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Whether there is nothing to wait for.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Lets a peer's address in, with a channel: less is added to each datagram.
    pub(crate) fn bind(&mut self, now: Duration, peer: SocketAddr) {
        if !self.may_ask(now, peer.ip()) || self.bound.contains(&peer) {
            return;
        }
        if let Ok(()) = self
            .client
            .bind_channel(TransportType::Udp, peer, turn_time(now))
        {
            self.bound.insert(peer);
            self.permitted.insert(peer.ip());
        }
    }

    /// Lets a peer's address in.
    pub(crate) fn permit(&mut self, now: Duration, peer: IpAddr) {
        if !self.may_ask(now, peer) || self.permitted.contains(&peer) {
            return;
        }
        if let Ok(()) = self
            .client
            .create_permission(TransportType::Udp, peer, turn_time(now))
        {
            self.permitted.insert(peer);
        }
    }

    fn may_ask(&mut self, now: Duration, peer: IpAddr) -> bool {
        let same_family = self
            .address
            .is_some_and(|own| own.is_ipv4() == peer.is_ipv4());
        self.refused.retain(|_, until| now < *until);
        let known = self.permitted.contains(&peer);
        let room = self.bound.len().max(self.permitted.len()) < MAX_PERMISSIONS;
        same_family && !self.refused.contains_key(&peer) && (known || room)
    }

    /// Sends to a peer through the relay, at the latest when it is let in. Returns whether that may succeed.
    pub(crate) fn send(
        &mut self,
        now: Duration,
        to: SocketAddr,
        bytes: &[u8],
        outbox: &mut Outbox,
    ) -> bool {
        if self.address.is_none() {
            return false;
        }
        match self
            .client
            .send_to(TransportType::Udp, to, bytes, turn_time(now))
        {
            Ok(built) => {
                push_built(built, outbox);
                true
            }
            Err(SendError::NoPermission) => {
                self.permit(now, to.ip());
                let wait = self.permitted.contains(&to.ip()) && self.waiting.len() < MAX_WAITING;
                if wait {
                    self.waiting.push_back((to, bytes.to_vec()));
                }
                wait
            }
            Err(_) => false,
        }
    }

    /// Takes what came from the relay's address.
    pub(crate) fn handle(&mut self, now: Duration, bytes: &[u8]) -> FromRelay {
        let received = Transmit::new(bytes, TransportType::Udp, self.access.server, self.local);
        match self.client.recv(received, turn_time(now)) {
            TurnRecvRet::PeerData(data) => {
                let inner = data.data();
                // The client hands out a part of what it was given: where in it, its type keeps to itself.
                let start = inner.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr());
                match start.checked_add(inner.len()) {
                    Some(end) if end <= bytes.len() => FromRelay::Peer(data.peer, start..end),
                    _ => FromRelay::Ignored,
                }
            }
            TurnRecvRet::Ignored(_) => FromRelay::Ignored,
            TurnRecvRet::Handled | TurnRecvRet::PeerIcmp { .. } => FromRelay::Handled,
        }
    }

    /// Goes on, and queues what is to be sent.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Duration,
        outbox: &mut Outbox,
    ) -> Option<RelayEvent> {
        if let Some(at) = self.retry_at {
            if now < at {
                return None;
            }
            self.retry_at = None;
            self.client = client_of(&self.access, self.local);
        }
        let mut event = None;
        let closed = loop {
            let state = self.client.poll(turn_time(now));
            let told = self.poll_events(now, outbox);
            event = told.or(event);
            let mut sent = false;
            while let Some(transmit) = self.client.poll_transmit(turn_time(now)) {
                outbox.push(transmit.to, &transmit.data);
                sent = true;
            }
            match state {
                TurnPollRet::Closed => break true,
                TurnPollRet::WaitUntil(_) if told.is_none() && !sent => break false,
                _ => {}
            }
        };
        if closed || event == Some(RelayEvent::Lost) {
            return self.give_up(now);
        }
        event
    }

    fn poll_events(&mut self, now: Duration, outbox: &mut Outbox) -> Option<RelayEvent> {
        let mut event = None;
        while let Some(told) = self.client.poll_event() {
            match told {
                TurnEvent::AllocationCreated(_, address) => {
                    self.address = Some(address);
                    self.settled = true;
                    self.retry_wait = RETRY.0;
                    event = Some(RelayEvent::Ready(address));
                }
                TurnEvent::AllocationCreateFailed(_) => event = Some(RelayEvent::Lost),
                TurnEvent::PermissionCreated(..) | TurnEvent::ChannelCreated(..) => {
                    self.send_waiting(now, outbox);
                }
                TurnEvent::PermissionCreateFailed(_, ip) => self.on_refused(now, ip),
                TurnEvent::ChannelCreateFailed(_, peer) => self.on_refused(now, peer.ip()),
                _ => {}
            }
        }
        event
    }

    fn on_refused(&mut self, now: Duration, ip: IpAddr) {
        tracing::debug!(%ip, "the relay lets this address not in");
        self.refused.insert(ip, now + REFUSED);
        self.permitted.remove(&ip);
        self.bound.retain(|peer| peer.ip() != ip);
        self.waiting.retain(|(to, _)| to.ip() != ip);
    }

    fn send_waiting(&mut self, now: Duration, outbox: &mut Outbox) {
        for (to, bytes) in std::mem::take(&mut self.waiting) {
            let sent = self
                .client
                .send_to(TransportType::Udp, to, &bytes[..], turn_time(now));
            match sent {
                Ok(built) => push_built(built, outbox),
                Err(_) => self.waiting.push_back((to, bytes)),
            }
        }
    }

    /// The relay is gone, or refuses: it is asked again later.
    pub(crate) fn give_up(&mut self, now: Duration) -> Option<RelayEvent> {
        if self.retry_at.is_some() {
            return None;
        }
        self.retry_at = Some(now + self.retry_wait);
        self.retry_wait = (self.retry_wait * 2).min(RETRY.1);
        self.bound.clear();
        self.permitted.clear();
        self.waiting.clear();
        let first = !std::mem::replace(&mut self.settled, true);
        let had = self.address.take().is_some();
        (had || first).then_some(RelayEvent::Lost)
    }

    /// The relay no longer knows us: it is asked again at once. Returns whether we had an address there.
    pub(crate) fn begin_anew(&mut self, now: Duration) -> bool {
        let had = self.address.is_some();
        if had {
            self.give_up(now);
            self.retry_at = Some(now);
            self.retry_wait = RETRY.0;
        }
        had
    }

    pub(crate) fn poll_timeout(&mut self, now: Duration) -> Duration {
        if let Some(at) = self.retry_at {
            return at;
        }
        match self.client.poll(turn_time(now)) {
            TurnPollRet::WaitUntil(time) => from_turn_time(time),
            _ => now,
        }
    }

    /// Gives the address back.
    pub(crate) fn close(&mut self, now: Duration, outbox: &mut Outbox) {
        if self.client.delete(turn_time(now)).is_ok() {
            // The client sends one request in 50 ms, and there may be no later moment.
            let later = turn_time(now + Duration::from_secs(1));
            while let Some(transmit) = self.client.poll_transmit(later) {
                outbox.push(transmit.to, &transmit.data);
            }
        }
        self.address = None;
    }
}

impl fmt::Debug for RelayClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayClient")
            .field("access", &self.access)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

fn client_of(access: &RelayAccess, local: SocketAddr) -> TurnClientUdp {
    let credentials = TurnCredentials::new(&access.username, &access.password);
    let mut config = TurnConfig::new(credentials);
    if access.server.is_ipv6() {
        config.set_address_family(AddressFamily::IPV6);
    }
    // A lost request costs 50 ms. Given up after 4.7 s.
    let (first, longest) = (Duration::from_millis(50), Duration::from_millis(800));
    config.set_request_retransmits(first, longest, 9, longest);
    TurnClientUdp::allocate(local, access.server, config)
}

fn push_built<T>(built: Option<TransmitBuild<DelayedMessageOrChannelSend<T>>>, outbox: &mut Outbox)
where
    T: AsRef<[u8]> + fmt::Debug,
{
    let Some(built) = built else {
        return;
    };
    outbox.push_with(built.to, |buffer| {
        buffer.resize(built.data.len(), 0);
        built.data.write_into(buffer);
    });
}
