//! A relay on real sockets: one for its clients, one for each address it lends, and a thread that serves them.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this is where the relay meets the operating system"
)]

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use samestep_transport::Poller;

use super::{AllocationId, Relay, RelayCommand, RelayConfig, RelaySecret, RelaySocket, RelayStats};

/// The longest wait for datagrams, after which the thread looks whether it is to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// Datagrams that are read from one socket before others have their turn.
const TURN: usize = 64;

/// Ports that are tried for one address to lend.
const TRIES: u16 = 64;

/// The key of the clients' socket; those of allocations are their numbers, which begin at 1.
const CLIENTS: u64 = 0;

/// Where a [`RelayServer`] listens, and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayServerConfig {
    /// The address for clients; TURN's port is 3478.
    pub listen: SocketAddr,
    /// The ports that are lent, which a firewall has to let in. Default 49152 to 65535.
    pub ports: RangeInclusive<u16>,
    /// The limits, and the address under which all of this is reached from outside.
    pub relay: RelayConfig,
}

impl RelayServerConfig {
    /// A relay on a computer that has the address under which it is reached.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            ports: 49152..=65535,
            relay: RelayConfig::new(listen.ip()),
        }
    }
}

/// A relay that runs in a thread of its own until it is dropped.
#[derive(Debug)]
pub struct RelayServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    stats: Arc<Mutex<RelayStats>>,
    thread: Option<JoinHandle<()>>,
}

impl RelayServer {
    /// Opens the socket and begins to serve. `seed` has to be random and unknown to others.
    pub fn start(
        config: RelayServerConfig,
        secret: RelaySecret,
        seed: [u8; 32],
    ) -> io::Result<Self> {
        let clients = UdpSocket::bind(config.listen)?;
        clients.set_nonblocking(true)?;
        let address = clients.local_addr()?;
        let mut poller = Poller::new()?;
        poller.add(&clients, CLIENTS)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stats: Arc<Mutex<RelayStats>> = Arc::default();
        let mut service = Service {
            relay: Relay::new(config.relay.clone(), secret, seed),
            next_port: *config.ports.start(),
            config,
            clients,
            lent: BTreeMap::new(),
            poller,
            buffer: vec![0; 65536],
        };
        let (stopped, told) = (Arc::clone(&stop), Arc::clone(&stats));
        let thread = std::thread::Builder::new().name("relay".to_owned());
        let thread = thread.spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if let Err(error) = service.serve() {
                    tracing::error!(%error, "the relay stops");
                    return;
                }
                *told.lock().unwrap_or_else(PoisonError::into_inner) = service.relay.stats();
            }
        })?;
        Ok(Self {
            address,
            stop,
            stats,
            thread: Some(thread),
        })
    }

    /// Where it listens for clients.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Its counters.
    pub fn stats(&self) -> RelayStats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it still serves: a relay stops by itself only if its sockets fail.
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for RelayServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

struct Service {
    relay: Relay,
    config: RelayServerConfig,
    clients: UdpSocket,
    lent: BTreeMap<AllocationId, UdpSocket>,
    poller: Poller,
    next_port: u16,
    buffer: Vec<u8>,
}

impl Service {
    /// Waits for datagrams, and serves them.
    fn serve(&mut self) -> io::Result<()> {
        let until = samestep_transport::now() + PATIENCE;
        let until = until.min(self.relay.poll_timeout());
        let ready: Vec<u64> = self.poller.wait(Some(until))?.collect();
        for key in ready {
            self.receive(key);
            self.send();
        }
        self.relay.handle_timeout(samestep_transport::now());
        self.follow_commands();
        self.send();
        Ok(())
    }

    fn receive(&mut self, key: u64) {
        let id = AllocationId(key);
        for _ in 0..TURN {
            let socket = match key {
                CLIENTS => Some(&self.clients),
                _ => self.lent.get(&id),
            };
            let Some(socket) = socket else {
                return;
            };
            // Whatever an earlier datagram has met comes as an error of this call, and is none of this datagram's business.
            let (len, from) = match socket.recv_from(&mut self.buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => continue,
            };
            let from = SocketAddr::new(from.ip().to_canonical(), from.port());
            let now = samestep_transport::now();
            let datagram = &self.buffer[..len];
            match key {
                CLIENTS => self.relay.handle_client(now, unix_s(), from, datagram),
                _ => self.relay.handle_peer(now, id, from, datagram),
            }
            self.follow_commands();
        }
    }

    fn follow_commands(&mut self) {
        while let Some(command) = self.relay.poll_command() {
            match command {
                RelayCommand::Open(id) => {
                    let port = self.open(id);
                    self.relay
                        .handle_opened(samestep_transport::now(), id, port);
                }
                RelayCommand::Close(id) => {
                    if let Some(socket) = self.lent.remove(&id) {
                        let _ = self.poller.remove(&socket, id.0);
                    }
                }
            }
        }
    }

    fn open(&mut self, id: AllocationId) -> Option<u16> {
        for _ in 0..TRIES {
            let port = self.next_port;
            let (first, last) = (*self.config.ports.start(), *self.config.ports.end());
            self.next_port = if port >= last { first } else { port + 1 };
            let Ok(socket) = UdpSocket::bind((self.config.listen.ip(), port)) else {
                continue;
            };
            let port = socket.local_addr().ok()?.port();
            socket.set_nonblocking(true).ok()?;
            self.poller.add(&socket, id.0).ok()?;
            self.lent.insert(id, socket);
            return Some(port);
        }
        tracing::warn!("no port is free to be lent: widen the relay's range of ports");
        None
    }

    fn send(&mut self) {
        while let Some(transmit) = self.relay.poll_transmit(&mut self.buffer) {
            let socket = match transmit.from {
                RelaySocket::Clients => Some(&self.clients),
                RelaySocket::Allocation(id) => self.lent.get(&id),
            };
            if let Some(socket) = socket {
                // What the network does not take is lost, as datagrams are.
                let _ = socket.send_to(&self.buffer[..transmit.len], transmit.to);
            }
        }
    }
}

fn unix_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
