use crate::{Datagram, Transport, TransportStats, clock};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A network inside one process, for tests: whoever is bound to the same hub can send to each other.
///
/// Nothing is lost unless a receiver's queue is full; put [`Impaired`](crate::Impaired) around for that.
#[derive(Clone, Debug)]
pub struct Hub {
    ports: Arc<Mutex<Ports>>,
    queue_limit: usize,
}

#[derive(Debug, Default)]
struct Ports {
    last: u16,
    inboxes: BTreeMap<SocketAddr, Arc<Inbox>>,
}

#[derive(Debug, Default)]
struct Inbox {
    queue: Mutex<VecDeque<Arrived>>,
    arrived: Condvar,
    /// Spent buffers, so that a steady stream allocates nothing.
    spare: Mutex<Vec<Vec<u8>>>,
}

#[derive(Debug)]
struct Arrived {
    from: SocketAddr,
    at: Duration,
    bytes: Vec<u8>,
}

impl Hub {
    /// A network with room for 4096 unread datagrams per receiver; more are dropped.
    pub fn new() -> Hub {
        Hub::with_queue_limit(4096)
    }

    /// A network with room for `queue_limit` unread datagrams per receiver.
    pub fn with_queue_limit(queue_limit: usize) -> Hub {
        Hub {
            ports: Arc::default(),
            queue_limit,
        }
    }

    /// A transport with an address of its own on this network.
    ///
    /// # Panics
    /// When all 65,535 addresses are taken.
    pub fn bind(&self) -> Memory {
        let mut ports = lock(&self.ports);
        let free = (1..=u16::MAX)
            .map(|step| {
                SocketAddr::from((Ipv6Addr::LOCALHOST, ports.last.wrapping_add(step).max(1)))
            })
            .find(|addr| !ports.inboxes.contains_key(addr))
            .expect("a hub has 65,535 addresses");
        ports.last = free.port();
        let inbox = Arc::new(Inbox::default());
        ports.inboxes.insert(free, inbox.clone());
        Memory {
            hub: self.clone(),
            local: free,
            inbox,
            current: Vec::new(),
            stats: TransportStats::default(),
        }
    }
}

impl Default for Hub {
    fn default() -> Hub {
        Hub::new()
    }
}

/// Datagrams between the threads of one process; made by [`Hub::bind`].
#[derive(Debug)]
pub struct Memory {
    hub: Hub,
    local: SocketAddr,
    inbox: Arc<Inbox>,
    /// The bytes handed out last.
    current: Vec<u8>,
    stats: TransportStats,
}

impl Memory {
    /// Two transports on a network of their own.
    pub fn pair() -> (Memory, Memory) {
        let hub = Hub::new();
        (hub.bind(), hub.bind())
    }
}

impl Transport for Memory {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        let inbox = lock(&self.hub.ports).inboxes.get(&to).cloned();
        let Some(inbox) = inbox else {
            self.stats.dropped_error += 1;
            return Ok(());
        };
        let mut bytes = lock(&inbox.spare).pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(datagram);
        let mut queue = lock(&inbox.queue);
        if queue.len() >= self.hub.queue_limit {
            self.stats.dropped_full += 1;
            return Ok(());
        }
        queue.push_back(Arrived {
            from: self.local,
            at: clock::now(),
            bytes,
        });
        self.stats.sent += 1;
        self.stats.bytes_sent += datagram.len() as u64;
        inbox.arrived.notify_one();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn recv(&mut self) -> io::Result<Option<Datagram<'_>>> {
        let Some(arrived) = lock(&self.inbox.queue).pop_front() else {
            return Ok(None);
        };
        let spent = std::mem::replace(&mut self.current, arrived.bytes);
        let mut spare = lock(&self.inbox.spare);
        if spare.len() < 64 {
            spare.push(spent);
        }
        drop(spare);
        self.stats.received += 1;
        self.stats.bytes_received += self.current.len() as u64;
        Ok(Some(Datagram {
            from: arrived.from,
            at: arrived.at,
            bytes: &mut self.current,
        }))
    }

    fn wait(&mut self, until: Option<Duration>) -> io::Result<()> {
        let queue = lock(&self.inbox.queue);
        let empty = |queue: &mut VecDeque<Arrived>| queue.is_empty();
        match clock::left(until) {
            Some(left) => {
                let waited = self.inbox.arrived.wait_timeout_while(queue, left, empty);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
            None => {
                let waited = self.inbox.arrived.wait_while(queue, empty);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
        }
        Ok(())
    }

    fn stats(&self) -> TransportStats {
        self.stats
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        lock(&self.hub.ports).inboxes.remove(&self.local);
    }
}

/// Nothing here can break half-way, so a panic elsewhere while holding the lock does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_arrive_in_order_with_sender_and_time() {
        let (mut a, mut b) = Memory::pair();
        for i in 0..100u8 {
            a.send(b.local_addr(), &[i; 3]).unwrap();
        }
        let mut last = Duration::ZERO;
        for i in 0..100u8 {
            let datagram = b.recv().unwrap().unwrap();
            assert_eq!(
                (datagram.from, &datagram.bytes[..]),
                (a.local_addr(), &[i; 3][..])
            );
            assert!(datagram.at >= last);
            last = datagram.at;
        }
        assert_eq!(b.recv().unwrap(), None);
    }

    #[test]
    fn a_waiting_thread_is_woken() {
        let (mut a, mut b) = Memory::pair();
        let (a_addr, b_addr) = (a.local_addr(), b.local_addr());
        let echo = std::thread::spawn(move || {
            for _ in 0..100 {
                while b.recv().unwrap().is_none() {
                    b.wait(None).unwrap();
                }
                b.send(a_addr, b"pong").unwrap();
            }
        });
        for _ in 0..100 {
            a.send(b_addr, b"ping").unwrap();
            while a.recv().unwrap().is_none() {
                a.wait(None).unwrap();
            }
        }
        echo.join().unwrap();
        let until = a.now() + Duration::from_millis(2);
        a.wait(Some(until)).unwrap();
        assert!(a.now() >= until);
    }

    #[test]
    fn full_queues_and_missing_receivers_are_counted() {
        let hub = Hub::with_queue_limit(2);
        let (mut a, b) = (hub.bind(), hub.bind());
        let to = b.local_addr();
        for _ in 0..5 {
            a.send(to, b"x").unwrap();
        }
        assert_eq!((a.stats().sent, a.stats().dropped_full), (2, 3));
        drop(b);
        a.send(to, b"x").unwrap();
        assert_eq!(a.stats().dropped_error, 1);
        assert_ne!(
            hub.bind().local_addr(),
            to,
            "an address is not handed out again at once"
        );
    }
}
