use super::TcpConfig;
use crate::clock;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Bytes of the length before each datagram.
const HEADER_BYTES: usize = 2;
/// Bytes read at once.
const READ_BYTES: usize = 16 << 10;

/// One TCP connection and its two buffers.
#[derive(Debug)]
pub(super) struct Connection {
    socket: TcpStream,
    peer: SocketAddr,
    /// Bytes read: `received[start..end]` is not yet handed out.
    received: Vec<u8>,
    start: usize,
    end: usize,
    read_at: Duration,
    /// The last read took everything there was.
    drained: bool,
    ended: bool,
    /// Framed datagrams: `queued[written..]` is not yet sent.
    queued: Vec<u8>,
    written: usize,
    accepted: bool,
    connecting: bool,
    opened_at: Duration,
    /// When a whole datagram last came, or on a connection that this end opened also went.
    used_at: Option<Duration>,
    waits_for_room: bool,
    /// When the transport looks whether it has been idle for too long.
    pub(super) deadline: Duration,
    /// Whether the transport's lists of connections to read from and to write to hold this one.
    pub(super) in_readable: bool,
    pub(super) in_unflushed: bool,
}

/// What reading found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// A whole datagram; fetch it with [`Connection::take`].
    Datagram,
    /// Less than that, for now.
    Nothing,
    /// The connection is closed or broken.
    Ended,
    /// The other side does not follow the framing.
    Nonsense,
}

impl Connection {
    pub(super) fn accepted(socket: TcpStream, peer: SocketAddr) -> io::Result<Connection> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        Ok(Connection::new(socket, peer, false))
    }

    /// Begins to connect; what is pushed meanwhile is sent once the connection is there.
    pub(super) fn connect(peer: SocketAddr) -> io::Result<Connection> {
        let socket = Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        match socket.connect(&peer.into()) {
            Ok(()) => {}
            // In progress: EINPROGRESS has no kind of its own in the standard library's stable part.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock || in_progress(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(Connection::new(socket.into(), peer, true))
    }

    fn new(socket: TcpStream, peer: SocketAddr, connecting: bool) -> Connection {
        Connection {
            socket,
            peer,
            received: Vec::new(),
            start: 0,
            end: 0,
            read_at: Duration::ZERO,
            drained: false,
            ended: false,
            queued: Vec::new(),
            written: 0,
            accepted: !connecting,
            connecting,
            opened_at: clock::now(),
            used_at: None,
            waits_for_room: connecting,
            deadline: Duration::ZERO,
            in_readable: false,
            in_unflushed: false,
        }
    }

    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Whether the other end opened it.
    pub(super) fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// When it is closed unless a whole datagram comes before. Bytes alone do not count: they cost the other end nothing.
    pub(super) fn ends_at(&self, config: &TcpConfig) -> Duration {
        match self.used_at {
            Some(at) => at + config.idle_timeout,
            None if self.accepted => self.opened_at + config.first_datagram,
            None => self.opened_at + config.idle_timeout,
        }
    }

    pub(super) fn is_connecting(&self) -> bool {
        self.connecting
    }

    /// Whether the poller must say when there is room to write.
    pub(super) fn waits_for_room(&self) -> bool {
        self.waits_for_room
    }

    /// Whether something is queued that has not been written.
    pub(super) fn has_unsent(&self) -> bool {
        self.written < self.queued.len()
    }

    /// Queues a datagram unless more than `limit` bytes would be waiting.
    pub(super) fn push(&mut self, datagram: &[u8], limit: usize) -> bool {
        if self.written == self.queued.len() {
            self.queued.clear();
            self.written = 0;
        } else if self.written > limit {
            self.queued.drain(..self.written);
            self.written = 0;
        }
        let waiting = self.queued.len() - self.written;
        if waiting > 0 && waiting + HEADER_BYTES + datagram.len() > limit {
            return false;
        }
        if !self.accepted && !self.connecting {
            self.used_at = Some(clock::now());
        }
        self.queued
            .extend_from_slice(&(datagram.len() as u16).to_be_bytes());
        self.queued.extend_from_slice(datagram);
        true
    }

    /// Writes as much as the system takes.
    pub(super) fn write(&mut self) -> io::Result<()> {
        if self.connecting {
            if let Some(error) = self.socket.take_error()? {
                return Err(error);
            }
            match self.socket.peer_addr() {
                Ok(_) => self.connecting = false,
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        while self.written < self.queued.len() {
            match self.socket.write(&self.queued[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.written += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.waits_for_room = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.waits_for_room = false;
        Ok(())
    }

    /// Looks for a whole datagram, reading from the socket if there is none yet.
    pub(super) fn read(&mut self, max_datagram_bytes: usize) -> Progress {
        loop {
            let waiting = &self.received[self.start..self.end];
            if let Some((header, rest)) = waiting.split_first_chunk::<HEADER_BYTES>() {
                let len = usize::from(u16::from_be_bytes(*header));
                if len == 0 || len > max_datagram_bytes {
                    return Progress::Nonsense;
                }
                if rest.len() >= len {
                    return Progress::Datagram;
                }
            }
            if self.ended {
                return Progress::Ended;
            }
            if std::mem::take(&mut self.drained) {
                return Progress::Nothing;
            }
            if let Some(progress) = self.fill() {
                return progress;
            }
        }
    }

    /// Reads once. Returns the outcome if nothing was read.
    fn fill(&mut self) -> Option<Progress> {
        // The rest of a datagram moves to the front: the buffer holds one datagram and one read at most.
        self.received.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.received.len() < self.end + READ_BYTES {
            self.received.resize(self.end + READ_BYTES, 0);
        }
        match self.socket.read(&mut self.received[self.end..]) {
            Ok(0) => self.ended = true,
            Ok(read) => {
                self.drained = self.end + read < self.received.len();
                self.end += read;
                self.read_at = clock::now();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Some(Progress::Nothing);
            }
            Err(error) if error.kind() == io::ErrorKind::NotConnected && self.connecting => {
                return Some(Progress::Nothing);
            }
            Err(_) => return Some(Progress::Ended),
        }
        None
    }

    /// The datagram that [`Connection::read`] found.
    pub(super) fn take(&mut self) -> (Duration, &mut [u8]) {
        let header = [self.received[self.start], self.received[self.start + 1]];
        let start = self.start + HEADER_BYTES;
        self.used_at = Some(self.read_at);
        self.start = start + usize::from(u16::from_be_bytes(header));
        (self.read_at, &mut self.received[start..self.start])
    }
}

#[cfg(unix)]
fn in_progress(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error())
}

#[cfg(not(unix))]
fn in_progress(_error: &io::Error) -> bool {
    false
}
