//! Datagram transports: UDP, TCP, in-memory, and stages around any of them.
//!
//! A [`Transport`] moves datagrams between socket addresses and tells the time. It knows nothing of connections,
//! reliability or encryption; it may lose datagrams (counting those it drops itself) but keeps each whole.
//! Nothing blocks except [`Transport::wait`], and no transport starts a thread. This is the only layer that touches the operating system: everything above
//! is given datagrams and the time.
//!
//! - [`Udp`]: real datagrams, batched, with the kernel's receive times.
//! - [`Tcp`]: the same datagrams framed on TCP connections, for networks that block UDP and for comparison.
//! - [`Memory`]: between the threads of one process, for tests.
//! - [`Impaired`]: any of them behind two [`samestep_netem`] links. [`Counted`]: any of them with counters for each address. These are stages: a stage is a
//!   transport around a transport, and stages stand around each other in any order.
//! - [`Poller`]: waiting for many sockets at once.
//! - [`LanListener`] and [`LanSeeker`]: reaching everyone in the local network; no transports, but the way to find one's peer.
//!
//! ```
//! use samestep_transport::{Transport, Udp};
//!
//! let mut server = Udp::bind("127.0.0.1:0".parse().unwrap())?;
//! let mut client = Udp::bind("127.0.0.1:0".parse().unwrap())?;
//! client.send(server.local_addr(), b"hello")?;
//! client.flush()?;
//! let datagram = loop {
//!     if let Some(datagram) = server.recv()? {
//!         break datagram.bytes.to_vec();
//!     }
//!     server.wait(None)?;
//! };
//! assert_eq!(datagram, b"hello");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A transport of one's own (a relay, a platform's own sockets) is an implementation of [`Transport`]; `samestep::Driver` runs any.
//!
//! # What it does not do
//!
//! No connections, retransmission, congestion control or encryption: that is `samestep-proto`, on top. No WebSocket or WebRTC yet.

mod bind;
mod clock;
mod counted;
mod discovery;
mod impaired;
mod memory;
mod poller;
mod tcp;
mod udp;

pub use clock::{advance_clock_to, now};
pub use counted::{Counted, Traffic};
pub use discovery::{DISCOVERY_GROUP, DISCOVERY_PORT, LanListener, LanSeeker};
pub use impaired::{Impaired, ImpairedStats};
pub use memory::{Hub, Memory};
pub use poller::Poller;
pub use tcp::{Tcp, TcpConfig};
pub use udp::{Udp, UdpConfig};

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Moves datagrams and tells the time. See the [crate] for what it promises.
pub trait Transport {
    /// The address others send to. With a wildcard address or port 0 the system's choice is filled in where known.
    fn local_addr(&self) -> SocketAddr;

    /// Takes a datagram for sending, perhaps with others at the next [`flush`](Transport::flush). A datagram that
    /// cannot be sent (no route, full buffer) is dropped and counted; an error means that the transport is unusable.
    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()>;

    /// Hands everything taken so far to the network.
    fn flush(&mut self) -> io::Result<()>;

    /// The next datagram that has arrived, if any. After `None`, [`wait`](Transport::wait) before asking again.
    fn recv(&mut self) -> io::Result<Option<Datagram<'_>>>;

    /// Flushes, then blocks until a datagram may be there or the clock reaches `until`. It may return early.
    fn wait(&mut self, until: Option<Duration>) -> io::Result<()>;

    /// The clock of [`Datagram::at`] and of `until`: monotonic, and the same for all transports of a process.
    fn now(&self) -> Duration {
        clock::now()
    }

    /// The counters of datagrams sent, received and dropped.
    fn stats(&self) -> TransportStats;
}

/// A datagram that has arrived.
#[derive(Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The sender. An IPv4 address stays one when it came through an IPv6 socket.
    pub from: SocketAddr,
    /// When it arrived at this machine, which may be a while before it is read here.
    pub at: Duration,
    /// Its bytes; mutable, to be decrypted in place.
    pub bytes: &'a mut [u8],
}

/// Counters of a transport since it was made; bytes are those of the datagrams alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransportStats {
    /// Datagrams handed to the network; over TCP, to the queue of a connection.
    pub sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Datagrams dropped on sending because a buffer was full.
    pub dropped_full: u64,
    /// Datagrams dropped on sending because the network refused them (no route, too large), and connections that
    /// broke with datagrams queued.
    pub dropped_error: u64,
    /// Errors reported by the network for what was sent earlier, such as a closed port at the other end.
    pub errors_reported: u64,
    /// Connections closed because of malformed framing, or refused because there are too many. TCP only.
    pub connections_refused: u64,
    /// Connections closed because no whole datagram came for too long. TCP only.
    pub connections_timed_out: u64,
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn local_addr(&self) -> SocketAddr {
        (**self).local_addr()
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        (**self).send(to, datagram)
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }

    fn recv(&mut self) -> io::Result<Option<Datagram<'_>>> {
        (**self).recv()
    }

    fn wait(&mut self, until: Option<Duration>) -> io::Result<()> {
        (**self).wait(until)
    }

    fn now(&self) -> Duration {
        (**self).now()
    }

    fn stats(&self) -> TransportStats {
        (**self).stats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transports_can_move_to_another_thread() {
        fn assert_send<T: Send>() {}
        assert_send::<Udp>();
        assert_send::<Tcp>();
        assert_send::<Memory>();
        assert_send::<Impaired<Udp>>();
        assert_send::<Counted<Impaired<Udp>>>();
        assert_send::<Poller>();
    }
}
