use crate::{Datagram, TransportStats, clock};
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, SystemTime};

/// The largest that arrives at once: one datagram, or a run of them joined by the kernel.
const BUFFER_BYTES: usize = 65_536;
/// Buffers lie a little further apart than a power of two, or their first bytes would all compete for the same few
/// cache lines.
const STRIDE_BYTES: usize = BUFFER_BYTES + 192;
/// Reports about earlier datagrams read in a row before giving others a turn.
const MAX_REPORTS: usize = 64;

/// Reads datagrams in batches and hands them out one by one.
#[derive(Debug)]
pub(super) struct Incoming {
    buffers: Vec<u8>,
    batch: usize,
    metas: [RecvMeta; BATCH_SIZE],
    /// Buffers filled by the last read, the one being handed out, and how far.
    filled: usize,
    current: usize,
    offset: usize,
    /// The last read did not fill the batch: nothing was left to read then.
    drained: bool,
    /// Both clocks at the last read, and when the socket was last known to be empty.
    read_at: Duration,
    read_at_wall: Duration,
    empty_at: Duration,
}

impl Incoming {
    pub(super) fn new(batch: usize) -> Incoming {
        let batch = batch.clamp(1, BATCH_SIZE);
        Incoming {
            // Zeroed memory of this size comes from the system untouched: unused parts cost nothing.
            buffers: vec![0; batch * STRIDE_BYTES],
            batch,
            metas: [RecvMeta::default(); BATCH_SIZE],
            filled: 0,
            current: 0,
            offset: 0,
            drained: false,
            read_at: Duration::ZERO,
            read_at_wall: Duration::ZERO,
            empty_at: clock::now(),
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
        if !self.has_more() {
            // Saves the read that would only say that there is nothing.
            if std::mem::take(&mut self.drained) {
                return Ok(None);
            }
            self.read(socket, state, stats)?;
            if !self.has_more() {
                return Ok(None);
            }
        }
        let meta = self.metas[self.current];
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
        Ok(Some(Datagram {
            from: SocketAddr::new(meta.addr.ip().to_canonical(), meta.addr.port()),
            at: self.arrival(meta.timestamp),
            bytes: &mut self.buffers[start..start + len],
        }))
    }

    fn read(
        &mut self,
        socket: &UdpSocket,
        state: &UdpSocketState,
        stats: &mut TransportStats,
    ) -> io::Result<()> {
        if self.read_at > Duration::ZERO && self.filled < self.batch {
            self.empty_at = self.read_at;
        }
        (self.filled, self.current, self.offset) = (0, 0, 0);
        for _ in 0..MAX_REPORTS {
            let result = {
                let mut chunks = self.buffers.chunks_exact_mut(STRIDE_BYTES);
                let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
                    std::array::from_fn(|_| match chunks.next() {
                        Some(chunk) => IoSliceMut::new(&mut chunk[..BUFFER_BYTES]),
                        None => IoSliceMut::new(&mut []),
                    });
                state.recv(socket.into(), &mut slices[..self.batch], &mut self.metas)
            };
            match result {
                Ok(filled) => {
                    self.filled = filled;
                    self.drained = filled < self.batch;
                    self.read_at = clock::now();
                    self.read_at_wall = wall_clock();
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.read_at = clock::now();
                    return Ok(());
                }
                Err(error) if is_report(&error) => stats.errors_reported += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The kernel stamps with the wall clock, which may be set at any time. What it says is believed as far as it is possible:
    /// not after the datagram was read, and not before the socket was last empty.
    fn arrival(&self, stamp: Option<Duration>) -> Duration {
        let age = stamp.map_or(Duration::ZERO, |stamp| {
            self.read_at_wall.saturating_sub(stamp)
        });
        self.read_at
            .saturating_sub(age)
            .max(self.empty_at.min(self.read_at))
    }
}

fn wall_clock() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Whether an error speaks of a datagram sent earlier (an ICMP message came back), not of this socket.
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
        let mut incoming = Incoming::new(1);
        incoming.empty_at = seconds(90);
        incoming.read_at = seconds(100);
        incoming.read_at_wall = seconds(5000);
        assert_eq!(
            incoming.arrival(Some(seconds(4997))),
            seconds(97),
            "three seconds ago"
        );
        assert_eq!(incoming.arrival(None), seconds(100), "no stamp");
        assert_eq!(
            incoming.arrival(Some(seconds(6000))),
            seconds(100),
            "from the future"
        );
        assert_eq!(
            incoming.arrival(Some(seconds(4000))),
            seconds(90),
            "from before the socket was empty"
        );
        assert_eq!(incoming.arrival(Some(seconds(0))), seconds(90));
    }
}
