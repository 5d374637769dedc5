use crate::TransportStats;
use quinn_udp::{Transmit, UdpSocketState};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;

/// The largest UDP datagram over IPv4.
pub(super) const MAX_BYTES: usize = 65_507;
/// Bytes and datagrams queued before they are sent unasked.
const QUEUE_BYTES: usize = 1 << 17;
const QUEUE_LEN: usize = 256;

/// Datagrams waiting for the next flush.
///
/// One call per datagram, except that a run of equally large ones to one address leaves in one (segmentation offload).
/// Batches to different addresses (`sendmmsg`) were measured to save 2 to 8 % of a round trip of 32 bytes, almost all of which the
/// kernel spends per datagram: not worth unsafe code.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    queue: Vec<Queued>,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    to: SocketAddr,
    start: usize,
    len: usize,
}

impl Outgoing {
    /// Whether the queue must be flushed before `len` more bytes.
    pub(super) fn is_full(&self, len: usize) -> bool {
        self.queue.len() >= QUEUE_LEN || self.bytes.len() + len > QUEUE_BYTES
    }

    pub(super) fn push(&mut self, to: SocketAddr, datagram: &[u8]) {
        let (start, len) = (self.bytes.len(), datagram.len());
        self.bytes.extend_from_slice(datagram);
        self.queue.push(Queued { to, start, len });
    }

    pub(super) fn flush(
        &mut self,
        socket: &UdpSocket,
        state: &UdpSocketState,
        connected: bool,
        stats: &mut TransportStats,
    ) -> io::Result<()> {
        let mut next = 0;
        while next < self.queue.len() {
            let run = self.run(next, state.max_gso_segments());
            next = run.end;
            if run.len() > 1 && self.send_run(run.clone(), socket, state, stats)? {
                continue;
            }
            for queued in &self.queue[run] {
                let datagram = &self.bytes[queued.start..queued.start + queued.len];
                let to = (!connected).then_some(queued.to);
                count(
                    attempt(|| send_one(socket, to, datagram), stats)?,
                    1,
                    queued.len,
                    stats,
                );
            }
        }
        self.queue.clear();
        self.bytes.clear();
        Ok(())
    }

    /// The datagrams from `first` on that can leave in one call: same address, same size, the last perhaps smaller.
    fn run(&self, first: usize, max_segments: usize) -> Range<usize> {
        let head = self.queue[first];
        let mut end = first + 1;
        let mut bytes = head.len;
        while let Some(queued) = self.queue.get(end) {
            bytes += queued.len;
            let fits = queued.to == head.to
                && queued.len <= head.len
                && queued.len > 0
                && bytes <= MAX_BYTES;
            if !fits || end - first >= max_segments {
                break;
            }
            end += 1;
            if queued.len < head.len {
                break;
            }
        }
        first..end
    }

    /// Sends a run in one call; false if the network card or its driver cannot, and they must be sent singly.
    fn send_run(
        &self,
        run: Range<usize>,
        socket: &UdpSocket,
        state: &UdpSocketState,
        stats: &mut TransportStats,
    ) -> io::Result<bool> {
        let (head, last) = (self.queue[run.start], self.queue[run.end - 1]);
        let contents = &self.bytes[head.start..last.start + last.len];
        let transmit = Transmit {
            destination: head.to,
            ecn: None,
            contents,
            segment_size: Some(head.len),
            src_ip: None,
        };
        let outcome = attempt(|| state.try_send(socket.into(), &transmit), stats)?;
        if outcome == Outcome::Refused {
            return Ok(false);
        }
        count(outcome, run.len() as u64, contents.len(), stats);
        Ok(true)
    }
}

fn send_one(socket: &UdpSocket, to: Option<SocketAddr>, datagram: &[u8]) -> io::Result<()> {
    match to {
        Some(to) => socket.send_to(datagram, to).map(|_| ()),
        None => socket.send(datagram).map(|_| ()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Sent,
    Full,
    Refused,
}

/// Tries to send. A report about an earlier datagram is counted, and the attempt that only fetched it repeated.
fn attempt(
    mut send: impl FnMut() -> io::Result<()>,
    stats: &mut TransportStats,
) -> io::Result<Outcome> {
    for _ in 0..4 {
        match send() {
            Ok(()) => return Ok(Outcome::Sent),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => return Ok(Outcome::Full),
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => {
                    stats.errors_reported += 1
                }
                // Only a socket that no longer exists is an error for the caller.
                io::ErrorKind::NotConnected | io::ErrorKind::BrokenPipe => return Err(error),
                _ => {
                    tracing::trace!(%error, "datagram refused");
                    return Ok(Outcome::Refused);
                }
            },
        }
    }
    Ok(Outcome::Refused)
}

fn count(outcome: Outcome, datagrams: u64, bytes: usize, stats: &mut TransportStats) {
    match outcome {
        Outcome::Sent => {
            stats.sent += datagrams;
            stats.bytes_sent += bytes as u64;
        }
        Outcome::Full => stats.dropped_full += datagrams,
        Outcome::Refused => stats.dropped_error += datagrams,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_equal_sizes_to_one_address() {
        let a: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let b: SocketAddr = "127.0.0.1:2".parse().unwrap();
        let mut outgoing = Outgoing::default();
        for (to, len) in [
            (a, 100),
            (a, 100),
            (a, 40),
            (a, 40),
            (b, 40),
            (b, 50),
            (b, 0),
            (a, 9),
        ] {
            outgoing.push(to, &vec![0; len]);
        }
        let mut runs = Vec::new();
        let mut next = 0;
        while next < outgoing.queue.len() {
            let run = outgoing.run(next, 64);
            next = run.end;
            runs.push(run.len());
        }
        assert_eq!(runs, [3, 1, 1, 1, 1, 1]);
        assert_eq!(outgoing.run(0, 2), 0..2, "as many as the system takes");
        assert_eq!(outgoing.run(0, 1), 0..1);
    }
}
