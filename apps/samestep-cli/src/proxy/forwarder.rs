//! A forwarder of UDP datagrams with a link of its own for every client.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use samestep::netem::{Link, Path};
use samestep::transport::{Poller, now};

/// Longest silence before a client's socket is given up; NATs do the same.
const IDLE: Duration = Duration::from_secs(120);
/// More clients than this are ignored: a forwarder is a tool for tests, and every client costs a socket.
const CLIENT_LIMIT: usize = 1024;
/// Datagrams under way in all; beyond it new ones are dropped and counted as lost.
const PENDING_LIMIT: usize = 100_000;
/// The key of the listening socket; clients count from 1.
const LISTENER: u64 = 0;

/// Forwards between one listening socket and a socket per client towards the program.
pub struct Forwarder {
    listener: UdpSocket,
    forward: SocketAddr,
    poller: Poller,
    path: Path,
    seed: u64,
    keys: BTreeMap<SocketAddr, u64>,
    clients: BTreeMap<u64, Client>,
    next_key: u64,
    pending: BinaryHeap<Reverse<Pending>>,
    next_order: u64,
    buffer: Vec<u8>,
    gone: Counters,
}

/// One client: its socket towards the program and its own link in each direction.
struct Client {
    address: SocketAddr,
    socket: UdpSocket,
    up: Link,
    down: Link,
    heard: Duration,
    counters: Counters,
}

/// Traffic in each direction.
#[derive(Clone, Copy, Default)]
pub struct Counters {
    /// From the clients to the program.
    pub up: Flow,
    /// From the program to the clients.
    pub down: Flow,
}

/// Traffic in one direction.
#[derive(Clone, Copy, Default)]
pub struct Flow {
    /// Datagrams received.
    pub datagrams: u64,
    bytes: u64,
    dropped: u64,
}

impl Flow {
    /// The difference to an earlier count.
    pub fn since(self, before: &Flow) -> Flow {
        Flow {
            datagrams: self.datagrams - before.datagrams,
            bytes: self.bytes - before.bytes,
            dropped: self.dropped - before.dropped,
        }
    }

    fn add(&mut self, other: Flow) {
        self.datagrams += other.datagrams;
        self.bytes += other.bytes;
        self.dropped += other.dropped;
    }
}

impl std::fmt::Display for Flow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dropped = 100.0 * self.dropped as f64 / self.datagrams.max(1) as f64;
        write!(
            f,
            "{} datagrams, {:.1} kB, {dropped:.1} % dropped",
            self.datagrams,
            self.bytes as f64 / 1e3
        )
    }
}

/// A datagram on its way; those due at the same time leave in the order they came.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    due: Duration,
    order: u64,
    client: u64,
    up: bool,
    bytes: Vec<u8>,
}

impl Forwarder {
    /// A forwarder that listens; every client will get the links of `path`.
    pub fn new(
        listen: SocketAddr,
        forward: SocketAddr,
        path: Path,
        seed: u64,
    ) -> Result<Forwarder, String> {
        let listener = socket(listen).map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => {
                format!(
                    "cannot listen on {listen}: another program does; choose another with --listen"
                )
            }
            _ => format!("cannot listen on {listen}: {error}"),
        })?;
        path.links(seed).map_err(|error| error.to_string())?;
        let mut poller = Poller::new().map_err(|error| error.to_string())?;
        poller
            .add(&listener, LISTENER)
            .map_err(|error| error.to_string())?;
        Ok(Forwarder {
            listener,
            forward,
            poller,
            path,
            seed,
            keys: BTreeMap::new(),
            clients: BTreeMap::new(),
            next_key: LISTENER + 1,
            pending: BinaryHeap::new(),
            next_order: 0,
            buffer: vec![0; 65_536],
            gone: Counters::default(),
        })
    }

    /// Where clients connect.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener
            .local_addr()
            .expect("a bound socket has an address")
    }

    /// Sends the datagrams that are due, waits for the next or for an arrival, at most until `until`, and receives.
    pub fn step(&mut self, until: Option<Duration>) -> io::Result<()> {
        self.send_due();
        let due = self.pending.peek().map(|Reverse(pending)| pending.due);
        let until = [due, until].into_iter().flatten().min();
        let ready: Vec<u64> = self.poller.wait(until)?.collect();
        for key in ready {
            if key == LISTENER {
                self.hear_clients()?
            } else {
                self.hear_program(key)
            }
        }
        self.send_due();
        Ok(())
    }

    fn hear_clients(&mut self) -> io::Result<()> {
        loop {
            let (bytes, from) = match self.listener.recv_from(&mut self.buffer) {
                Ok(heard) => heard,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // The system reports an answer that went to a closed port.
                Err(error) if is_from_network(&error) => continue,
                Err(error) => return Err(error),
            };
            if let Some(key) = self.client(from)? {
                self.carry(key, true, bytes);
            }
        }
    }

    fn hear_program(&mut self, key: u64) {
        loop {
            let Some(client) = self.clients.get_mut(&key) else {
                return;
            };
            match client.socket.recv(&mut self.buffer) {
                Ok(bytes) => self.carry(key, false, bytes),
                Err(error) if is_from_network(&error) => {}
                Err(_) => return,
            }
        }
    }

    /// The client at an address, made if need be; `None` if there are too many.
    fn client(&mut self, address: SocketAddr) -> io::Result<Option<u64>> {
        if let Some(key) = self.keys.get(&address) {
            return Ok(Some(*key));
        }
        self.forget_idle();
        if self.clients.len() >= CLIENT_LIMIT {
            return Ok(None);
        }
        let any = if self.forward.is_ipv4() {
            IpAddr::from(Ipv4Addr::UNSPECIFIED)
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        let socket = socket(SocketAddr::new(any, 0))?;
        socket.connect(self.forward)?;
        let key = self.next_key;
        self.next_key += 1;
        self.poller.add(&socket, key)?;
        let (up, down) = self
            .path
            .links(self.seed.wrapping_add(key))
            .map_err(io::Error::other)?;
        let client = Client {
            address,
            socket,
            up,
            down,
            heard: now(),
            counters: Counters::default(),
        };
        self.clients.insert(key, client);
        self.keys.insert(address, key);
        Ok(Some(key))
    }

    fn forget_idle(&mut self) {
        let idle: Vec<u64> = self
            .clients
            .iter()
            .filter(|(_, client)| now() > client.heard + IDLE)
            .map(|(key, _)| *key)
            .collect();
        for key in idle {
            if let Some(client) = self.clients.remove(&key) {
                self.keys.remove(&client.address);
                let _ = self.poller.remove(&client.socket, key);
                self.gone.up.add(client.counters.up);
                self.gone.down.add(client.counters.down);
            }
        }
    }

    /// Puts a received datagram on its link.
    fn carry(&mut self, key: u64, up: bool, bytes: usize) {
        let now = now();
        let full = self.pending.len() >= PENDING_LIMIT;
        let Some(client) = self.clients.get_mut(&key) else {
            return;
        };
        client.heard = now;
        let (link, flow) = match up {
            true => (&mut client.up, &mut client.counters.up),
            false => (&mut client.down, &mut client.counters.down),
        };
        flow.datagrams += 1;
        flow.bytes += bytes as u64;
        let fate = link.send(now, bytes);
        if fate.arrivals.is_empty() || full {
            flow.dropped += 1;
            return;
        }
        for due in fate.arrivals {
            let mut bytes = self.buffer[..bytes].to_vec();
            if let (Some(draw), false) = (fate.corrupt, bytes.is_empty()) {
                let bit = (draw % (bytes.len() as u64 * 8)) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            self.pending.push(Reverse(Pending {
                due,
                order: self.next_order,
                client: key,
                up,
                bytes,
            }));
            self.next_order += 1;
        }
    }

    fn send_due(&mut self) {
        while self
            .pending
            .peek()
            .is_some_and(|Reverse(pending)| pending.due <= now())
        {
            let Some(Reverse(pending)) = self.pending.pop() else {
                return;
            };
            let Some(client) = self.clients.get(&pending.client) else {
                continue;
            };
            // A datagram that the system will not take is lost, as on any network.
            let _ = match pending.up {
                true => client.socket.send(&pending.bytes),
                false => self.listener.send_to(&pending.bytes, client.address),
            };
        }
    }

    /// The number of clients.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// The traffic since the forwarder began.
    pub fn counters(&self) -> Counters {
        let mut all = self.gone;
        for client in self.clients.values() {
            all.up.add(client.counters.up);
            all.down.add(client.counters.down);
        }
        all
    }
}

fn socket(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn is_from_network(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use samestep::netem::LinkConfig;

    use super::*;

    fn blocking() -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        socket
    }

    #[test]
    fn datagrams_pass_both_ways_after_the_latency() {
        let program = blocking();
        let path = Path::symmetric(LinkConfig {
            latency: Duration::from_millis(30),
            ..LinkConfig::default()
        });
        let mut forwarder = Forwarder::new(
            "127.0.0.1:0".parse().unwrap(),
            program.local_addr().unwrap(),
            path,
            1,
        )
        .unwrap();
        let at = forwarder.local_addr();
        std::thread::scope(|scope| {
            let talk = scope.spawn(move || {
                let clients = [blocking(), blocking()];
                let start = now();
                let mut buffer = [0; 64];
                for (number, client) in clients.iter().enumerate() {
                    client.send_to(&[number as u8], at).unwrap();
                    let (bytes, from) = program.recv_from(&mut buffer).unwrap();
                    assert_eq!(buffer[..bytes], [number as u8]);
                    program.send_to(&[number as u8 + 10], from).unwrap();
                    let (bytes, from) = client.recv_from(&mut buffer).unwrap();
                    assert_eq!((&buffer[..bytes], from), (&[number as u8 + 10][..], at));
                }
                assert!(now() - start >= Duration::from_millis(120));
            });
            while !talk.is_finished() {
                forwarder
                    .step(Some(now() + Duration::from_millis(10)))
                    .unwrap();
            }
        });
        let total = forwarder.counters();
        assert_eq!(
            (
                total.up.datagrams,
                total.down.datagrams,
                forwarder.clients.len()
            ),
            (2, 2, 2)
        );
    }

    #[test]
    fn a_port_that_is_taken_is_explained() {
        let taken = blocking().local_addr().unwrap();
        let holder = UdpSocket::bind(taken).unwrap();
        let error = Forwarder::new(taken, taken, Path::default(), 1)
            .err()
            .unwrap();
        assert!(error.contains("--listen"), "{error}");
        drop(holder);
    }
}
