mod incoming;
mod outgoing;

use self::incoming::Incoming;
use self::outgoing::Outgoing;
use crate::{Datagram, Transport, TransportStats, bind, poller};
use quinn_udp::UdpSocketState;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Real datagrams.
///
/// Receives in batches with the kernel's receive times and sends runs of equally large datagrams to one address in one
/// call. What the network says about earlier datagrams (a closed port, no route) is counted and never
/// stops the socket: whoever spoofs such messages cannot cut off others.
///
/// On a machine with several addresses bind the one that players know: replies leave from whichever the route prefers.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    /// Where a connected socket sends; see [`Udp::connect`].
    peer: Option<SocketAddr>,
    incoming: Incoming,
    outgoing: Outgoing,
    stats: TransportStats,
}

/// Settings of [`Udp`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpConfig {
    /// Bytes the kernel may hold until they are read; more survives longer pauses and bursts. The system
    /// may grant less. Default 2 MiB.
    pub receive_buffer_bytes: usize,
    /// Bytes the kernel may hold until they are sent. Default 2 MiB.
    pub send_buffer_bytes: usize,
    /// Whether an IPv6 socket serves IPv4 too. Default yes.
    pub dual_stack: bool,
    /// Datagrams read at once, 1 to 32. Default 32, fit for a server; a client rarely has more than a
    /// few waiting.
    pub batch: usize,
}

impl Default for UdpConfig {
    fn default() -> UdpConfig {
        UdpConfig {
            receive_buffer_bytes: 2 << 20,
            send_buffer_bytes: 2 << 20,
            dual_stack: true,
            batch: quinn_udp::BATCH_SIZE,
        }
    }
}

impl UdpConfig {
    /// For a socket that talks to one server: less for the kernel to hold and to prepare.
    pub fn client() -> UdpConfig {
        UdpConfig {
            receive_buffer_bytes: 512 << 10,
            send_buffer_bytes: 512 << 10,
            batch: 4,
            ..UdpConfig::default()
        }
    }
}

impl Udp {
    /// A socket at `addr` with the default settings; port 0 for any free port. `[::]` serves IPv4 and IPv6.
    pub fn bind(addr: SocketAddr) -> io::Result<Udp> {
        Udp::with_config(addr, &UdpConfig::default())
    }

    /// A socket at `addr`. The error says in words what is wrong with the address.
    pub fn with_config(addr: SocketAddr, config: &UdpConfig) -> io::Result<Udp> {
        let socket = open(addr, config).map_err(|error| bind::explain("UDP", addr, error))?;
        let local = socket.local_addr()?;
        let state = UdpSocketState::new((&socket).into())?;
        ask_for_less(&socket, local);
        let granted = socket2::SockRef::from(&socket);
        tracing::debug!(
            address = %local,
            receive_buffer_bytes = granted.recv_buffer_size().unwrap_or(0),
            send_buffer_bytes = granted.send_buffer_size().unwrap_or(0),
            "UDP socket bound"
        );
        Ok(Udp {
            socket,
            state,
            local,
            peer: None,
            incoming: Incoming::new(config.batch),
            outgoing: Outgoing::default(),
            stats: TransportStats::default(),
        })
    }

    /// Talks to `peer` only from now on: the kernel drops what others send and spares 5 to 10 % of a round trip.
    /// Datagrams for anyone else are dropped.
    pub fn connect(&mut self, peer: SocketAddr) -> io::Result<()> {
        self.flush()?;
        self.socket.connect(self.reach(peer))?;
        self.local = self.socket.local_addr()?;
        self.peer = Some(peer);
        tracing::debug!(address = %self.local, %peer, "UDP socket connected");
        Ok(())
    }

    /// The address as this socket's family writes it.
    fn reach(&self, to: SocketAddr) -> SocketAddr {
        match (self.local, to) {
            (SocketAddr::V6(_), SocketAddr::V4(v4)) => (v4.ip().to_ipv6_mapped(), v4.port()).into(),
            _ => to,
        }
    }
}

impl Transport for Udp {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        if self.outgoing.is_full(datagram.len()) {
            self.flush()?;
        }
        if datagram.len() > outgoing::MAX_BYTES || self.peer.is_some_and(|peer| peer != to) {
            self.stats.dropped_error += 1;
            return Ok(());
        }
        let to = self.reach(to);
        self.outgoing.push(to, datagram);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let connected = self.peer.is_some();
        self.outgoing
            .flush(&self.socket, &self.state, connected, &mut self.stats)
    }

    fn recv(&mut self) -> io::Result<Option<Datagram<'_>>> {
        self.incoming
            .next(&self.socket, &self.state, &mut self.stats)
    }

    fn wait(&mut self, until: Option<Duration>) -> io::Result<()> {
        self.flush()?;
        if self.incoming.has_more() {
            return Ok(());
        }
        poller::wait_readable(&self.socket, until)
    }

    fn stats(&self) -> TransportStats {
        self.stats
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Udp {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn open(addr: SocketAddr, config: &UdpConfig) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
    if addr.is_ipv6() {
        socket.set_only_v6(!config.dual_stack)?;
    }
    // The system grants what it allows; smaller buffers work too.
    let _ = socket.set_recv_buffer_size(config.receive_buffer_bytes);
    let _ = socket.set_send_buffer_size(config.send_buffer_bytes);
    socket.bind(&addr.into())?;
    Ok(socket.into())
}

/// Switches off what quinn-udp has the kernel attach to each datagram and nobody here reads: destination address and
/// traffic class. Saves about 5 % of a round trip.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn ask_for_less(socket: &UdpSocket, local: SocketAddr) {
    use nix::sys::socket::{setsockopt, sockopt};
    let options = socket2::SockRef::from(socket);
    let _ = options.set_recv_tos_v4(false);
    if local.is_ipv4() {
        let _ = setsockopt(socket, sockopt::Ipv4PacketInfo, &false);
    } else {
        let _ = options.set_recv_tclass_v6(false);
        let _ = setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &false);
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn ask_for_less(_socket: &UdpSocket, _local: SocketAddr) {}

#[cfg(test)]
mod tests;
