use crate::{Datagram, Transport, TransportStats};
use samestep_netem::{Link, LinkError, LinkStats, Path};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Any transport behind a bad network: one [`Link`] for what it sends, one for what it receives, shared by all peers as an
/// access line is.
///
/// What is on its way is kept here until it is due: call [`wait`](Transport::wait) (or [`recv`](Transport::recv)
/// and [`flush`](Transport::flush)) often enough, as any driver does.
#[derive(Debug)]
pub struct Impaired<T> {
    inner: T,
    up: Direction,
    down: Direction,
    /// The bytes handed out last.
    current: Vec<u8>,
}

impl<T: Transport> Impaired<T> {
    /// `inner` behind the links of `path`: `up` for what it sends, `down` for what it receives.
    pub fn new(inner: T, path: &Path, seed: u64) -> Result<Impaired<T>, LinkError> {
        let (up, down) = path.links(seed)?;
        tracing::debug!(address = %inner.local_addr(), ?path, seed, "transport impaired");
        Ok(Impaired {
            inner,
            up: Direction::new(up),
            down: Direction::new(down),
            current: Vec::new(),
        })
    }

    /// Changes the network; what is on its way is not affected.
    pub fn set(&mut self, path: &Path) -> Result<(), LinkError> {
        path.up.check()?;
        path.down.check()?;
        self.up.link.set(path.up.clone())?;
        self.down.link.set(path.down.clone())
    }

    /// Begins or ends a partition in both directions.
    pub fn set_partitioned(&mut self, partitioned: bool) {
        self.up.link.set_partitioned(partitioned);
        self.down.link.set_partitioned(partitioned);
    }

    /// What the links have done so far.
    pub fn link_stats(&self) -> ImpairedStats {
        ImpairedStats {
            up: self.up.link.stats(),
            down: self.down.link.stats(),
            overflowed: self.up.overflowed + self.down.overflowed,
        }
    }

    /// The transport behind the links.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// Gives up what is on its way and returns the transport behind the links.
    pub fn into_inner(self) -> T {
        self.inner
    }

    /// Sends what has reached the end of its link.
    fn send_due(&mut self) -> io::Result<()> {
        let now = self.inner.now();
        while let Some(pending) = self.up.pop(now) {
            self.inner.send(pending.peer, &pending.bytes)?;
            self.up.recycle(pending.bytes);
        }
        Ok(())
    }

    /// Takes in what has arrived at the beginning of the link.
    fn receive(&mut self) -> io::Result<()> {
        while let Some(datagram) = self.inner.recv()? {
            self.down.push(datagram.at, datagram.from, datagram.bytes);
        }
        Ok(())
    }
}

impl<T: Transport> Transport for Impaired<T> {
    fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        self.up.push(self.inner.now(), to, datagram);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_due()?;
        self.inner.flush()
    }

    fn recv(&mut self) -> io::Result<Option<Datagram<'_>>> {
        // Whatever was sent must leave on time even while datagrams keep coming.
        if self.up.due(self.inner.now()) {
            self.flush()?;
        }
        self.receive()?;
        let Some(pending) = self.down.pop(self.inner.now()) else {
            return Ok(None);
        };
        let spent = std::mem::replace(&mut self.current, pending.bytes);
        self.down.recycle(spent);
        Ok(Some(Datagram {
            from: pending.peer,
            at: pending.at,
            bytes: &mut self.current,
        }))
    }

    fn wait(&mut self, until: Option<Duration>) -> io::Result<()> {
        loop {
            self.flush()?;
            self.receive()?;
            let now = self.inner.now();
            if self.down.due(now) || until.is_some_and(|until| until <= now) {
                return Ok(());
            }
            let next = [until, self.up.next(), self.down.next()]
                .into_iter()
                .flatten()
                .min();
            self.inner.wait(next)?;
        }
    }

    fn now(&self) -> Duration {
        self.inner.now()
    }

    fn stats(&self) -> TransportStats {
        self.inner.stats()
    }
}

/// Counters of an [`Impaired`] transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpairedStats {
    /// The link for what is sent.
    pub up: LinkStats,
    /// The link for what is received.
    pub down: LinkStats,
    /// Datagrams dropped because more were on their way than fit: a link this long needs a rate limit.
    pub overflowed: u64,
}

/// Datagrams on their way over one link.
#[derive(Debug)]
struct Direction {
    link: Link,
    /// The last time given to the link, which must not go back.
    last: Duration,
    order: u64,
    pending: BinaryHeap<Reverse<Pending>>,
    bytes: usize,
    overflowed: u64,
    spare: Vec<Vec<u8>>,
}

/// Ordered by arrival, then by sending.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    at: Duration,
    order: u64,
    peer: SocketAddr,
    bytes: Vec<u8>,
}

impl Direction {
    /// Most bytes on their way in one direction: a second of 500 Mbit/s.
    const MAX_BYTES: usize = 64 << 20;
    /// What a datagram costs beside its bytes.
    const OVERHEAD_BYTES: usize = 128;

    fn new(link: Link) -> Direction {
        Direction {
            link,
            last: Duration::ZERO,
            order: 0,
            pending: BinaryHeap::new(),
            bytes: 0,
            overflowed: 0,
            spare: Vec::new(),
        }
    }

    fn push(&mut self, now: Duration, peer: SocketAddr, datagram: &[u8]) {
        self.last = self.last.max(now);
        let fate = self.link.send(self.last, datagram.len());
        for at in fate.arrivals {
            let cost = datagram.len() + Direction::OVERHEAD_BYTES;
            if self.bytes + cost > Direction::MAX_BYTES {
                self.overflowed += 1;
                continue;
            }
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(datagram);
            fate.damage(&mut bytes);
            self.bytes += cost;
            self.order += 1;
            self.pending.push(Reverse(Pending {
                at,
                order: self.order,
                peer,
                bytes,
            }));
        }
    }

    fn next(&self) -> Option<Duration> {
        self.pending.peek().map(|Reverse(pending)| pending.at)
    }

    fn due(&self, now: Duration) -> bool {
        self.next().is_some_and(|at| at <= now)
    }

    fn pop(&mut self, now: Duration) -> Option<Pending> {
        if !self.due(now) {
            return None;
        }
        let Reverse(pending) = self.pending.pop()?;
        self.bytes -= pending.bytes.len() + Direction::OVERHEAD_BYTES;
        Some(pending)
    }

    fn recycle(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < 256 {
            self.spare.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hub, Memory, Udp};
    use samestep_netem::{Jitter, LinkConfig, Loss};

    const MS: Duration = Duration::from_millis(1);

    fn impaired(up: LinkConfig, down: LinkConfig) -> (Impaired<Memory>, Memory) {
        let hub = Hub::new();
        let path = Path { up, down };
        (Impaired::new(hub.bind(), &path, 5).unwrap(), hub.bind())
    }

    fn latency(latency: Duration) -> LinkConfig {
        LinkConfig {
            latency,
            ..LinkConfig::default()
        }
    }

    fn receive<T: Transport>(transport: &mut T) -> (Duration, Vec<u8>) {
        loop {
            if let Some(datagram) = transport.recv().unwrap() {
                return (datagram.at, datagram.bytes.to_vec());
            }
            transport.wait(None).unwrap();
        }
    }

    #[test]
    fn both_directions_are_delayed() {
        let (mut near, mut far) = impaired(latency(20 * MS), latency(30 * MS));
        let start = near.now();
        near.send(far.local_addr(), b"there").unwrap();
        near.flush().unwrap();
        assert_eq!(far.recv().unwrap(), None, "not there at once");
        while far.recv().unwrap().is_none() {
            assert_eq!(near.recv().unwrap(), None);
            near.wait(Some(near.now() + MS)).unwrap();
        }
        let there = near.now();
        assert!(there >= start + 20 * MS);
        far.send(near.local_addr(), b"back").unwrap();
        let (at, bytes) = receive(&mut near);
        assert_eq!(bytes, b"back");
        assert!(at >= there + 30 * MS && at <= near.now());
    }

    #[test]
    fn losses_duplicates_and_damage_reach_the_receiver() {
        let up = LinkConfig {
            loss: Loss::Bernoulli(0.3),
            duplicate: 0.5,
            corrupt: 0.2,
            ..LinkConfig::default()
        };
        let (mut near, mut far) = impaired(up, LinkConfig::default());
        let (mut arrived, mut damaged) = (0, 0);
        for _ in 0..2000 {
            near.send(far.local_addr(), &[0; 50]).unwrap();
            near.flush().unwrap();
            while let Some(datagram) = far.recv().unwrap() {
                arrived += 1;
                damaged += u64::from(datagram.bytes.iter().any(|byte| *byte != 0));
            }
        }
        let stats = near.link_stats().up;
        assert_eq!((stats.sent, stats.delivered), (2000, arrived));
        assert!((500..700).contains(&stats.dropped_loss), "{stats:?}");
        assert!((600..800).contains(&stats.duplicated), "{stats:?}");
        assert!(
            damaged >= stats.corrupted && stats.corrupted > 200,
            "{damaged} {stats:?}"
        );
        assert_eq!(near.stats().sent, arrived);
    }

    #[test]
    fn jitter_delivers_by_arrival_time() {
        let jitter = Jitter {
            amount: 5 * MS,
            ..Jitter::default()
        };
        let down = LinkConfig {
            jitter,
            ..LinkConfig::default()
        };
        let (mut near, mut far) = impaired(LinkConfig::default(), down);
        for i in 0..100u8 {
            far.send(near.local_addr(), &[i]).unwrap();
        }
        let received: Vec<_> = (0..100).map(|_| receive(&mut near)).collect();
        assert!(received.is_sorted_by_key(|(at, _)| *at));
        assert!(
            !received.is_sorted_by_key(|(_, bytes)| bytes[0]),
            "some overtook others"
        );
    }

    #[test]
    fn a_partition_can_be_switched() {
        let (mut near, mut far) = impaired(LinkConfig::default(), LinkConfig::default());
        near.set_partitioned(true);
        near.send(far.local_addr(), b"lost").unwrap();
        near.flush().unwrap();
        assert_eq!(far.recv().unwrap(), None);
        near.set_partitioned(false);
        near.send(far.local_addr(), b"found").unwrap();
        near.flush().unwrap();
        assert_eq!(receive(&mut far).1, b"found");
        assert!(
            near.set(&Path::symmetric(LinkConfig {
                corrupt: 2.0,
                ..LinkConfig::default()
            }))
            .is_err()
        );
    }

    #[test]
    fn it_wraps_real_sockets_too() {
        let path = Path::symmetric(latency(5 * MS));
        let local = "127.0.0.1:0".parse().unwrap();
        let mut near = Impaired::new(Udp::bind(local).unwrap(), &path, 1).unwrap();
        let mut far: Box<dyn Transport> = Box::new(Udp::bind(local).unwrap());
        let start = near.now();
        far.send(near.local_addr(), b"hello").unwrap();
        far.flush().unwrap();
        let (at, bytes) = receive(&mut near);
        assert_eq!(bytes, b"hello");
        assert!(at >= start + 5 * MS);
        near.wait(Some(near.now() + MS)).unwrap();
    }
}
