//! A stage around a transport: every peer has one address, whatever way its datagrams take.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_transport::{Datagram, Transport, TransportStats};

use crate::config::{TraversalConfig, TraversalError};
use crate::peer::PeerId;
use crate::traversal::{Received, Traversal};

/// The longest datagram that a traversal sends: the game's, and what a relay adds.
const MAX_BYTES: usize = 2048;

/// Any transport, with ways through routers: datagrams to and from [`PeerId::address`] take the way of the moment. Others pass as they are, those
/// that come in only with [`TraversalConfig::strangers`].
///
/// It stands around the socket itself, or around an [`Impaired`](samestep_transport::Impaired) one. Whatever runs on a transport runs on it: connect to
/// the address of a peer, and nothing above notices how it is reached.
///
/// ```no_run
/// use samestep_transport::Udp;
/// use samestep_traversal::{PeerId, Traversed, TraversalConfig};
///
/// let config = TraversalConfig {
///     relay: Some("203.0.113.5:3478 2000000000:ada c2VjcmV0".parse()?), // from the lobby
///     ..TraversalConfig::default()
/// };
/// let socket = Udp::bind("0.0.0.0:0".parse()?)?;
/// let mut transport = Traversed::new(socket, config, [7; 32])?; // the seed: random bytes
/// transport.traversal().add_peer(PeerId(1))?;
/// let description = transport.traversal().description(PeerId(1))?.to_string(); // to the peer, by the lobby
/// let now = samestep_transport::now();
/// # let from_the_peer = description;
/// transport.traversal().handle_description(now, PeerId(1), &from_the_peer)?;
/// // A driver runs on `transport` as on any, and its endpoint connects to `PeerId(1).address()`.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Traversed<T> {
    inner: T,
    traversal: Traversal,
    /// The datagram that was handed out last.
    current: Vec<u8>,
    out: Vec<u8>,
}

impl<T: Transport> Traversed<T> {
    /// Ways for the socket of `inner`, which begin to be gathered now.
    pub fn new(inner: T, config: TraversalConfig, seed: [u8; 32]) -> Result<Self, TraversalError> {
        let relay = config.relay.iter().map(|relay| relay.server);
        let servers: Vec<SocketAddr> = relay.chain(config.stun_servers.iter().copied()).collect();
        let hosts = hosts(inner.local_addr(), &servers);
        let traversal = Traversal::new(inner.now(), config, &hosts, seed)?;
        Ok(Self {
            inner,
            traversal,
            current: Vec::new(),
            out: vec![0; MAX_BYTES],
        })
    }

    /// The ways, to add peers and descriptions, and for their events. What it wants to send leaves at the next [`flush`](Transport::flush) or
    /// [`wait`](Transport::wait).
    pub fn traversal(&mut self) -> &mut Traversal {
        &mut self.traversal
    }

    /// The transport behind it.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// The transport behind it, to change its settings.
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    fn go_on(&mut self) -> io::Result<()> {
        let now = self.inner.now();
        if self
            .traversal
            .poll_timeout(now)
            .is_some_and(|due| due <= now)
        {
            self.traversal.handle_timeout(now);
        }
        self.send_all()
    }

    fn send_all(&mut self) -> io::Result<()> {
        while let Some(transmit) = self.traversal.poll_transmit(&mut self.out) {
            self.inner.send(transmit.to, &self.out[..transmit.len])?;
        }
        Ok(())
    }
}

impl<T: Transport> Transport for Traversed<T> {
    fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        let Some(peer) = PeerId::from_address(to) else {
            return self.inner.send(to, datagram);
        };
        // To a peer that was removed meanwhile nothing is sent, as to a computer that is gone.
        let _ = self.traversal.send(self.inner.now(), peer, datagram);
        self.send_all()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.go_on()?;
        self.inner.flush()
    }

    fn recv(&mut self) -> io::Result<Option<Datagram<'_>>> {
        let (from, at) = loop {
            let Some(datagram) = self.inner.recv()? else {
                return Ok(None);
            };
            let (from, at) = (datagram.from, datagram.at);
            let received = self.traversal.handle_datagram(at, from, datagram.bytes);
            let (from, range) = match received {
                Received::Data { peer, range } => (peer.address(), range),
                Received::Stranger => (from, 0..datagram.bytes.len()),
                Received::Consumed => {
                    self.send_all()?;
                    continue;
                }
            };
            self.current.clear();
            self.current.extend_from_slice(&datagram.bytes[range]);
            break (from, at);
        };
        Ok(Some(Datagram {
            from,
            at,
            bytes: &mut self.current,
        }))
    }

    fn wait(&mut self, until: Option<Duration>) -> io::Result<()> {
        self.go_on()?;
        let due = self.traversal.poll_timeout(self.inner.now());
        self.inner.wait([until, due].into_iter().flatten().min())?;
        self.go_on()
    }

    fn now(&self) -> Duration {
        self.inner.now()
    }

    fn stats(&self) -> TransportStats {
        self.inner.stats()
    }
}

#[cfg(unix)]
impl<T: std::os::fd::AsFd> std::os::fd::AsFd for Traversed<T> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

/// The addresses of a socket: its own, or those that this computer sends from to the servers and to the internet.
fn hosts(local: SocketAddr, servers: &[SocketAddr]) -> Vec<SocketAddr> {
    if !local.ip().is_unspecified() {
        return vec![local];
    }
    // Nothing is sent there; the system only says which way it would take.
    let somewhere = ["192.0.2.1:9", "[2001:db8::1]:9"].map(|address| address.parse().ok());
    let wanted = servers
        .iter()
        .copied()
        .chain(somewhere.into_iter().flatten());
    let served = wanted.filter(|to| to.is_ipv4() || local.is_ipv6());
    let from = served.filter_map(|to| sends_from(to, local.port()));
    from.collect()
}

#[expect(
    clippy::disallowed_types,
    reason = "no other way to ask the system without a crate for its interfaces"
)]
fn sends_from(to: SocketAddr, port: u16) -> Option<SocketAddr> {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
    };
    let socket = std::net::UdpSocket::bind(any).ok()?;
    socket.connect(to).ok()?;
    let from = socket.local_addr().ok()?;
    Some(SocketAddr::new(from.ip(), port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use samestep_transport::{Hub, Udp};

    #[test]
    fn a_socket_for_every_address_is_told_by_those_it_sends_from() {
        let own = "192.168.1.5:5000".parse().unwrap();
        assert_eq!(hosts(own, &[]), [own]);
        let loopback = hosts(
            "0.0.0.0:5000".parse().unwrap(),
            &["127.0.0.1:9".parse().unwrap()],
        );
        assert_eq!(loopback[0], "127.0.0.1:5000".parse().unwrap());
    }

    #[test]
    fn others_than_peers_pass_as_they_are() {
        let hub = Hub::new();
        let (one, mut other) = (hub.bind(), hub.bind());
        let (here, there) = (one.local_addr(), other.local_addr());
        // A hub's addresses are loopback, which no peer can be told: a host is named instead.
        let config = TraversalConfig {
            strangers: true,
            ..TraversalConfig::default()
        };
        let hosts = ["192.168.1.5:5000".parse().unwrap()];
        let mut one = Traversed {
            traversal: Traversal::new(one.now(), config, &hosts, [1; 32]).unwrap(),
            inner: one,
            current: vec![],
            out: vec![0; MAX_BYTES],
        };
        one.send(there, b"hello").unwrap();
        one.flush().unwrap();
        assert_eq!(other.recv().unwrap().unwrap().bytes, b"hello");
        other.send(here, b"hi").unwrap();
        other.flush().unwrap();
        let answer = one.recv().unwrap().unwrap();
        assert_eq!((answer.from, &answer.bytes[..]), (there, &b"hi"[..]));
        assert!(one.recv().unwrap().is_none());
    }

    #[test]
    fn it_can_move_to_another_thread() {
        fn assert_send<T: Send>() {}
        assert_send::<Traversed<Udp>>();
    }
}
