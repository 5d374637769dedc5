mod connection;
mod limits;

use self::connection::{Connection, Progress};
use self::limits::{Deadlines, PerAddress};
use crate::{Datagram, Poller, Transport, TransportStats, bind, clock};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

/// Datagrams framed on TCP connections, each with its length in two bytes (big-endian) before it.
///
/// Sending to an address that has no connection opens one. A connection that sends nonsense, or breaks, is closed and its
/// datagrams are lost; the others do not notice. So is one on which no whole datagram comes for too long, however many bytes do. Reliability
/// and order of TCP are not promised to the caller: what does not fit into a full buffer is dropped, as with UDP.
#[derive(Debug)]
pub struct Tcp {
    config: TcpConfig,
    listener: Option<TcpListener>,
    local: SocketAddr,
    poller: Poller,
    connections: BTreeMap<u64, Connection>,
    by_peer: BTreeMap<SocketAddr, u64>,
    next_key: u64,
    /// Connections that may have something to read, oldest first.
    readable: VecDeque<u64>,
    /// Connections with something to write whose socket is not blocked.
    unflushed: Vec<u64>,
    accepted: PerAddress,
    deadlines: Deadlines,
    stats: TransportStats,
}

/// Settings of [`Tcp`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// Most connections at once; more are closed as they come. Default 4096.
    pub max_connections: usize,
    /// Most of them from one IPv4 address or one IPv6 prefix of 56 bits; more are closed as they come. Default 64: a household, a
    /// school, a LAN party behind one address.
    pub per_address: usize,
    /// How long an accepted connection may take to its first whole datagram. Default 5 s.
    pub first_datagram: Duration,
    /// How long a connection stays open without a whole datagram from the other end (or, if this end opened it, to it). Default 30 s.
    pub idle_timeout: Duration,
    /// Largest datagram; a connection that announces a larger one is closed. At most 65,535, the default.
    pub max_datagram_bytes: usize,
    /// Bytes waiting to be sent on one connection; datagrams that do not fit are dropped. Default 256 KiB.
    pub send_queue_bytes: usize,
}

impl Default for TcpConfig {
    fn default() -> TcpConfig {
        TcpConfig {
            max_connections: 4096,
            per_address: 64,
            first_datagram: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(30),
            max_datagram_bytes: usize::from(u16::MAX),
            send_queue_bytes: 256 << 10,
        }
    }
}

/// The key of the listener in the poller; connections count from 1.
const LISTENER: u64 = 0;

impl Tcp {
    /// Listens at `addr` with the default settings, and can connect too; port 0 for any free port.
    pub fn bind(addr: SocketAddr) -> io::Result<Tcp> {
        Tcp::with_config(Some(addr), TcpConfig::default())
    }

    /// Only connects, listens nowhere.
    pub fn outgoing() -> io::Result<Tcp> {
        Tcp::with_config(None, TcpConfig::default())
    }

    /// Listens at `addr` if there is one. The error says in words what is wrong with the address.
    pub fn with_config(addr: Option<SocketAddr>, config: TcpConfig) -> io::Result<Tcp> {
        let mut poller = Poller::new()?;
        let mut local = SocketAddr::from((IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0));
        let mut listener = None;
        if let Some(addr) = addr {
            let socket = listen(addr).map_err(|error| bind::explain("TCP", addr, error))?;
            local = socket.local_addr()?;
            poller.add(&socket, LISTENER)?;
            listener = Some(socket);
            tracing::debug!(address = %local, "TCP socket listens");
        }
        Ok(Tcp {
            config,
            listener,
            local,
            poller,
            connections: BTreeMap::new(),
            by_peer: BTreeMap::new(),
            next_key: LISTENER + 1,
            readable: VecDeque::new(),
            unflushed: Vec::new(),
            accepted: PerAddress::default(),
            deadlines: Deadlines::default(),
            stats: TransportStats::default(),
        })
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Closes the connection to `peer`, if there is one; what was not yet sent is lost.
    pub fn disconnect(&mut self, peer: SocketAddr) {
        if let Some(key) = self.by_peer.get(&peer) {
            self.close(*key);
        }
    }

    fn add(&mut self, peer: SocketAddr, mut connection: Connection) -> io::Result<u64> {
        let key = self.next_key;
        self.next_key += 1;
        self.poller.add(connection.socket(), key)?;
        if connection.is_connecting() {
            self.poller.set_writable(connection.socket(), key, true)?;
        }
        tracing::debug!(%peer, accepted = connection.is_accepted(), "TCP connection opened");
        if connection.is_accepted() {
            self.accepted.add(peer.ip());
        }
        connection.deadline = connection.ends_at(&self.config);
        self.deadlines.set(key, connection.deadline);
        self.connections.insert(key, connection);
        self.by_peer.insert(peer, key);
        Ok(key)
    }

    fn close(&mut self, key: u64) {
        if let Some(connection) = self.connections.remove(&key) {
            let _ = self.poller.remove(connection.socket(), key);
            tracing::debug!(peer = %connection.peer(), "TCP connection closed");
            self.deadlines.remove(key, connection.deadline);
            if connection.is_accepted() {
                self.accepted.remove(connection.peer().ip());
            }
            self.stats.dropped_error += u64::from(connection.has_unsent());
            // The peer may have a newer connection under the same address.
            if self.by_peer.get(&connection.peer()) == Some(&key) {
                self.by_peer.remove(&connection.peer());
            }
        }
    }

    fn accept(&mut self) {
        // Errors concern single connections that went away, or a lack of descriptors that passes.
        while let Some(Ok((stream, peer))) = self.listener.as_ref().map(TcpListener::accept) {
            let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
            if self.connections.len() >= self.config.max_connections
                || self.accepted.of(peer.ip()) >= self.config.per_address
            {
                self.stats.connections_refused += 1;
                tracing::debug!(%peer, "TCP connection refused: too many");
                continue;
            }
            if let Ok(connection) = Connection::accepted(stream, peer) {
                let _ = self.add(peer, connection);
            }
        }
    }

    /// Takes note of which sockets are ready, waiting for that until `until`.
    fn poll(&mut self, until: Option<Duration>) -> io::Result<()> {
        let next = self.deadlines.next();
        let until = until.into_iter().chain(next).min();
        let mut ready = Vec::new();
        ready.extend(self.poller.wait(until)?);
        for key in ready {
            if key == LISTENER {
                self.accept();
                continue;
            }
            let Some(connection) = self.connections.get(&key) else {
                continue;
            };
            if connection.waits_for_room() {
                self.write(key);
            }
            if let Some(connection) = self.connections.get_mut(&key)
                && !std::mem::replace(&mut connection.in_readable, true)
            {
                self.readable.push_back(key);
            }
        }
        self.close_idle();
        Ok(())
    }

    /// Closes the connections on which no whole datagram came for too long.
    fn close_idle(&mut self) {
        let now = clock::now();
        while let Some(key) = self.deadlines.pop(now) {
            let Some(connection) = self.connections.get_mut(&key) else {
                continue;
            };
            let ends_at = connection.ends_at(&self.config);
            if ends_at > now {
                connection.deadline = ends_at;
                self.deadlines.set(key, ends_at);
            } else {
                tracing::debug!(peer = %connection.peer(), "TCP connection idle for too long");
                self.stats.connections_timed_out += 1;
                self.close(key);
            }
        }
    }

    fn write(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let waited = connection.waits_for_room();
        let alive = connection.write().is_ok();
        let waits = connection.waits_for_room();
        if waited != waits && alive {
            let _ = self.poller.set_writable(connection.socket(), key, waits);
        }
        if !alive {
            self.close(key);
        }
    }

    /// The connection that has a whole datagram to hand out.
    fn next_ready(&mut self) -> io::Result<Option<u64>> {
        if self.readable.is_empty() {
            self.poll(Some(Duration::ZERO))?;
        }
        while let Some(key) = self.readable.front().copied() {
            let progress = match self.connections.get_mut(&key) {
                Some(connection) => connection.read(self.config.max_datagram_bytes),
                None => Progress::Nothing,
            };
            match progress {
                Progress::Datagram => return Ok(Some(key)),
                Progress::Nothing => {}
                Progress::Ended => self.close(key),
                Progress::Nonsense => {
                    self.stats.connections_refused += 1;
                    self.close(key);
                }
            }
            self.readable.pop_front();
            if let Some(connection) = self.connections.get_mut(&key) {
                connection.in_readable = false;
            }
        }
        Ok(None)
    }
}

impl Transport for Tcp {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        let key = match self.by_peer.get(&to) {
            Some(key) => *key,
            None if self.connections.len() >= self.config.max_connections => {
                self.stats.dropped_full += 1;
                return Ok(());
            }
            None => match Connection::connect(to) {
                Ok(connection) => self.add(to, connection)?,
                Err(_) => {
                    self.stats.dropped_error += 1;
                    return Ok(());
                }
            },
        };
        let Some(connection) = self.connections.get_mut(&key) else {
            return Ok(());
        };
        if datagram.is_empty()
            || datagram.len() > self.config.max_datagram_bytes.min(usize::from(u16::MAX))
        {
            self.stats.dropped_error += 1;
        } else if !connection.push(datagram, self.config.send_queue_bytes) {
            self.stats.dropped_full += 1;
        } else {
            self.stats.sent += 1;
            self.stats.bytes_sent += datagram.len() as u64;
            if !connection.waits_for_room()
                && !std::mem::replace(&mut connection.in_unflushed, true)
            {
                self.unflushed.push(key);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        while let Some(key) = self.unflushed.pop() {
            if let Some(connection) = self.connections.get_mut(&key) {
                connection.in_unflushed = false;
            }
            self.write(key);
        }
        Ok(())
    }

    fn recv(&mut self) -> io::Result<Option<Datagram<'_>>> {
        let Some(key) = self.next_ready()? else {
            return Ok(None);
        };
        let Some(connection) = self.connections.get_mut(&key) else {
            return Ok(None);
        };
        let from = connection.peer();
        let (at, bytes) = connection.take();
        self.stats.received += 1;
        self.stats.bytes_received += bytes.len() as u64;
        Ok(Some(Datagram { from, at, bytes }))
    }

    fn wait(&mut self, until: Option<Duration>) -> io::Result<()> {
        self.flush()?;
        if self.readable.is_empty() {
            self.poll(until)?;
        }
        Ok(())
    }

    fn stats(&self) -> TransportStats {
        self.stats
    }
}

fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    if addr.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // A server restarted at once may have its port back from connections that are still closing.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&addr.into())?;
    socket.listen(1024)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests;
