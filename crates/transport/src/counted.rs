use crate::{Datagram, Transport, TransportStats};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// The maximum number of addresses that are counted each for itself: anybody can send from any number of them.
const MAX_PEERS: usize = 1024;

/// Any transport, with counters for each address: a stage of the pipeline that changes nothing.
///
/// Where it stands decides what it counts: around an [`Impaired`](crate::Impaired) transport what the program sends and receives, inside of it what the
/// network carries.
#[derive(Debug)]
pub struct Counted<T> {
    inner: T,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    peers: BTreeMap<SocketAddr, Traffic>,
    others: Traffic,
}

/// The traffic with one address; bytes are those of the datagrams alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Datagrams sent there.
    pub sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Datagrams received from there.
    pub received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Bytes of the largest datagram in either direction.
    pub largest: usize,
    /// When the last datagram arrived from there, on the transport's clock.
    pub last_received: Option<Duration>,
}

impl<T: Transport> Counted<T> {
    /// Counts what goes through `inner` from now on.
    pub fn new(inner: T) -> Counted<T> {
        Counted {
            inner,
            counters: Counters::default(),
        }
    }

    /// The addresses there was traffic with, in ascending order.
    pub fn peers(&self) -> impl Iterator<Item = (SocketAddr, &Traffic)> {
        let peers = self.counters.peers.iter();
        peers.map(|(address, traffic)| (*address, traffic))
    }

    /// The traffic with one address; `None` if there was none, or if it is among the [others](Self::others).
    pub fn of(&self, peer: SocketAddr) -> Option<&Traffic> {
        self.counters.peers.get(&peer)
    }

    /// The traffic with all addresses beyond the first 1024 together.
    pub fn others(&self) -> &Traffic {
        &self.counters.others
    }

    /// The transport behind it.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// The transport behind it, to change its settings.
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl Counters {
    /// The counters of an address.
    fn of(&mut self, peer: SocketAddr) -> &mut Traffic {
        match self.peers.len() < MAX_PEERS || self.peers.contains_key(&peer) {
            true => self.peers.entry(peer).or_default(),
            false => &mut self.others,
        }
    }
}

impl<T: Transport> Transport for Counted<T> {
    fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        let traffic = self.counters.of(to);
        traffic.sent += 1;
        traffic.bytes_sent += datagram.len() as u64;
        traffic.largest = traffic.largest.max(datagram.len());
        self.inner.send(to, datagram)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }

    fn recv(&mut self) -> io::Result<Option<Datagram<'_>>> {
        let received = self.inner.recv()?;
        if let Some(datagram) = &received {
            let (from, bytes) = (datagram.from, datagram.bytes.len());
            let traffic = self.counters.of(from);
            traffic.received += 1;
            traffic.bytes_received += bytes as u64;
            traffic.largest = traffic.largest.max(bytes);
            traffic.last_received = Some(datagram.at);
        }
        Ok(received)
    }

    fn wait(&mut self, until: Option<Duration>) -> io::Result<()> {
        self.inner.wait(until)
    }

    fn now(&self) -> Duration {
        self.inner.now()
    }

    fn stats(&self) -> TransportStats {
        self.inner.stats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hub, Impaired};
    use samestep_netem::{LinkConfig, Loss, Path};

    #[test]
    fn each_address_has_its_own_counters() {
        let hub = Hub::new();
        let mut counted = Counted::new(hub.bind());
        let (mut near, far) = (hub.bind(), hub.bind());
        for _ in 0..3 {
            counted.send(near.local_addr(), &[0; 100]).unwrap();
        }
        counted.send(far.local_addr(), &[0; 7]).unwrap();
        counted.flush().unwrap();
        near.send(counted.local_addr(), &[0; 250]).unwrap();
        near.flush().unwrap();
        let at = counted.recv().unwrap().expect("it is there").at;
        assert!(counted.recv().unwrap().is_none());

        let expected = Traffic {
            sent: 3,
            bytes_sent: 300,
            received: 1,
            bytes_received: 250,
            largest: 250,
            last_received: Some(at),
        };
        assert_eq!(counted.of(near.local_addr()), Some(&expected));
        let far = counted.of(far.local_addr()).expect("it was sent to");
        assert_eq!((far.sent, far.bytes_sent, far.last_received), (1, 7, None));
        assert_eq!((counted.peers().count(), counted.others().sent), (2, 0));
        assert_eq!(counted.stats().sent, 4);
    }

    #[test]
    fn addresses_without_end_cost_no_memory_without_end() {
        let hub = Hub::new();
        let mut counted = Counted::new(hub.bind());
        for port in 1..=2000 {
            let to = SocketAddr::from(([10, 0, 0, 1], port));
            counted.send(to, b"x").unwrap();
        }
        assert_eq!(counted.peers().count(), MAX_PEERS);
        assert_eq!(counted.others().sent, 2000 - MAX_PEERS as u64);
        let first = SocketAddr::from(([10, 0, 0, 1], 1));
        counted.send(first, b"y").unwrap();
        assert_eq!(counted.of(first).map(|traffic| traffic.sent), Some(2));
    }

    #[test]
    fn it_counts_where_it_stands() {
        let hub = Hub::new();
        let path = Path::symmetric(LinkConfig {
            loss: Loss::Bernoulli(1.0),
            ..LinkConfig::default()
        });
        let network = Counted::new(hub.bind());
        let mut program = Counted::new(Impaired::new(network, &path, 1).unwrap());
        let to = hub.bind().local_addr();
        program.send(to, b"lost on the way").unwrap();
        program.flush().unwrap();
        assert_eq!(program.of(to).map(|traffic| traffic.sent), Some(1));
        assert_eq!(program.inner().inner().of(to), None);
    }
}
