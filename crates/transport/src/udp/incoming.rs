use crate::{Datagram, TransportStats, clock};
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};
use std::cell::RefCell;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, SystemTime};

/// The largest that arrives at once: one datagram, or a run of them joined by the kernel.
const BUFFER_BYTES: usize = 65_536;
/// Buffers lie a little further apart than a power of two, or their first bytes would all compete
/// for the same few cache lines.
const STRIDE_BYTES: usize = BUFFER_BYTES + 192;
/// Datagrams a client reads at once.
const FEW: usize = 4;
/// Reports about earlier datagrams read in a row before giving others a turn.
const MAX_REPORTS: usize = 64;

/// Reads datagrams in batches and hands them out one by one.
#[derive(Debug)]
pub(super) struct Incoming {
    batch: usize,
    /// What was read and is not yet handed out. Lent by the thread's pool: see [`Batch`].
    lent: Option<Batch>,
    /// Buffers filled by the last read, the one being handed out, and how far.
    filled: usize,
    current: usize,
    offset: usize,
    /// The last read did not fill the batch: nothing was left to read then.
    drained: bool,
    times: ReadTimes,
}

/// Buffers for one read.
///
/// They are needed only from a read until everything is handed out, so the sockets of a thread share
/// them: hundreds of sockets cost no memory while idle, and all use the same few cache lines.
#[derive(Debug)]
struct Batch {
    bytes: Vec<u8>,
    metas: Vec<RecvMeta>,
}

thread_local! {
    static POOL: RefCell<Vec<Batch>> = const { RefCell::new(Vec::new()) };
}

impl Batch {
    fn lend() -> Batch {
        let pooled = POOL.with_borrow_mut(Vec::pop);
        pooled.unwrap_or_else(|| Batch {
            // Zeroed memory of this size comes from the system untouched: unused parts cost nothing.
            bytes: vec![0; BATCH_SIZE * STRIDE_BYTES],
            metas: vec![RecvMeta::default(); BATCH_SIZE],
        })
    }

    /// Reads up to `count` of at most `MAX` datagrams; preparing fewer is cheaper.
    fn recv<const MAX: usize>(
        &mut self,
        count: usize,
        socket: &UdpSocket,
        state: &UdpSocketState,
    ) -> io::Result<usize> {
        let mut chunks = self.bytes.chunks_exact_mut(STRIDE_BYTES);
        let mut slices: [IoSliceMut<'_>; MAX] = std::array::from_fn(|_| {
            let chunk = chunks.next().map(|chunk| &mut chunk[..BUFFER_BYTES]);
            IoSliceMut::new(chunk.unwrap_or_default())
        });
        state.recv(socket.into(), &mut slices[..count], &mut self.metas)
    }

    fn give_back(self) {
        POOL.with_borrow_mut(|pool| {
            if pool.len() < 2 {
                pool.push(self);
            }
        });
    }
}

impl Incoming {
    pub(super) fn new(batch: usize) -> Incoming {
        Incoming {
            batch: batch.clamp(1, BATCH_SIZE),
            lent: None,
            filled: 0,
            current: 0,
            offset: 0,
            drained: false,
            times: ReadTimes {
                wall: Duration::ZERO,
                read: clock::now(),
                empty: clock::now(),
            },
        }
    }

    /// Whether there is something to hand out without reading.
    pub(super) fn has_more(&self) -> bool {
        self.current < self.filled
    }

    pub(super) fn next(
        &mut self,
        socket: &UdpSocket,
        state: &UdpSocketState,
        stats: &mut TransportStats,
    ) -> io::Result<Option<Datagram<'_>>> {
        // After a read that left nothing, the next would only say so.
        if !self.has_more() && !std::mem::take(&mut self.drained) {
            self.read(socket, state, stats)?;
        }
        if !self.has_more() {
            if let Some(batch) = self.lent.take() {
                batch.give_back();
            }
            return Ok(None);
        }
        let batch = self.lent.get_or_insert_with(Batch::lend);
        let meta = &batch.metas[self.current];
        let from = SocketAddr::new(meta.addr.ip().to_canonical(), meta.addr.port());
        let at = self.times.arrival(meta.timestamp);
        let start = self.current * STRIDE_BYTES + self.offset;
        let left = meta.len - self.offset;
        let len = if meta.stride == 0 {
            left
        } else {
            left.min(meta.stride)
        };
        self.offset += len;
        if self.offset >= meta.len {
            self.current += 1;
            self.offset = 0;
        }
        stats.received += 1;
        stats.bytes_received += len as u64;
        let bytes = &mut batch.bytes[start..start + len];
        Ok(Some(Datagram { from, at, bytes }))
    }

    fn read(
        &mut self,
        socket: &UdpSocket,
        state: &UdpSocketState,
        stats: &mut TransportStats,
    ) -> io::Result<()> {
        if self.filled < self.batch {
            self.times.empty = self.times.read;
        }
        (self.filled, self.current, self.offset) = (0, 0, 0);
        let batch = self.lent.get_or_insert_with(Batch::lend);
        for _ in 0..MAX_REPORTS {
            let result = match self.batch {
                ..=FEW => batch.recv::<FEW>(self.batch, socket, state),
                _ => batch.recv::<BATCH_SIZE>(self.batch, socket, state),
            };
            match result {
                Ok(filled) => {
                    self.filled = filled;
                    self.drained = filled < self.batch;
                    self.times.read();
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.times.read();
                    return Ok(());
                }
                Err(error) if is_report(&error) => stats.errors_reported += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What is known about when the datagrams of a read arrived.
#[derive(Debug)]
struct ReadTimes {
    /// The wall clock at the read, and just after it our own.
    wall: Duration,
    read: Duration,
    /// Our clock when the socket was last known to be empty.
    empty: Duration,
}

impl ReadTimes {
    fn read(&mut self) {
        // In this order a pause in between makes arrivals look later, never earlier than they were.
        self.wall = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        self.read = clock::now();
    }

    /// The kernel stamps with the wall clock, which may be set at any time. What it says is believed as far as it is
    /// possible: not after the datagram was read, and not before the socket was last empty.
    fn arrival(&self, stamp: Option<Duration>) -> Duration {
        let age = stamp.map_or(Duration::ZERO, |stamp| self.wall.saturating_sub(stamp));
        self.read.saturating_sub(age).max(self.empty.min(self.read))
    }
}

/// Whether an error concerns a datagram sent earlier (an ICMP message came back), not this socket.
fn is_report(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::TimedOut
    ) || quinn_udp::is_msg_size_err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_stamps_are_not_believed() {
        let seconds = Duration::from_secs;
        let times = ReadTimes {
            wall: seconds(5000),
            read: seconds(100),
            empty: seconds(90),
        };
        assert_eq!(
            times.arrival(Some(seconds(4997))),
            seconds(97),
            "three seconds ago"
        );
        assert_eq!(times.arrival(None), seconds(100), "no stamp");
        assert_eq!(
            times.arrival(Some(seconds(6000))),
            seconds(100),
            "from the future"
        );
        assert_eq!(
            times.arrival(Some(seconds(4000))),
            seconds(90),
            "before the socket was empty"
        );
        assert_eq!(times.arrival(Some(seconds(0))), seconds(90));
    }
}
