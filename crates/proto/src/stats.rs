//! Counters and estimates.

use core::time::Duration;

/// What one connection has done so far. Byte counts are UDP payload: add 28 per packet for IPv4 and UDP headers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets accepted.
    pub packets_received: u64,
    /// Packets sent that carried something sent before (again, repeated or coded).
    pub packets_resent: u64,
    /// Packets received a second time.
    pub packets_duplicate: u64,
    /// Packets presumed lost on the way to the other end.
    pub packets_lost: u64,
    /// Packets presumed lost that turned out to be late.
    pub packets_late: u64,
    /// Bytes sent, everything included: headers, tags, acknowledgements, repeats.
    pub bytes_sent: u64,
    /// Bytes received in accepted packets.
    pub bytes_received: u64,
    /// The part of `bytes_sent` that carried something sent before.
    pub bytes_resent: u64,
    /// Messages accepted by `send`.
    pub messages_sent: u64,
    /// Messages handed to `recv`.
    pub messages_received: u64,
    /// Unreliable messages dropped before leaving: queue full or stale.
    pub messages_dropped: u64,
    /// Sequenced messages dropped on arrival because something newer was there, and incomplete ones given up.
    pub messages_outdated: u64,
    /// Segments of reliable channels restored from coded repairs.
    pub segments_recovered: u64,
    /// Segments of reliable channels received again.
    pub segments_duplicate: u64,
    /// Smoothed round trip.
    pub rtt: Duration,
    /// Lowest round trip seen on this path.
    pub rtt_min: Duration,
    /// Mean deviation of the round trip.
    pub jitter: Duration,
    /// Fraction of packets lost on the way out that the connection is prepared for: a tenth at first, then what was measured lately.
    pub loss: f32,
    /// Fraction of packets lost on the way out, lately, without an assumption; `None` until the fate of twenty packets is known.
    pub measured_loss: Option<f32>,
    /// When the last packet arrived, by this end's clock.
    pub last_received: Duration,
    /// When the first packet since then that calls for an answer was sent; `None` if no answer is outstanding.
    pub unanswered_since: Option<Duration>,
    /// Estimated rate the path carries, bytes per second (a lower bound while the application sends less).
    pub bandwidth_bytes_per_s: u64,
    /// Bytes allowed in flight.
    pub window_bytes: usize,
    /// Bytes in flight.
    pub in_flight_bytes: usize,
    /// Estimated time packets wait in queues on the way.
    pub queueing: Duration,
    /// Bytes waiting to be sent or acknowledged.
    pub queued_bytes: usize,
    /// Whether packets are encrypted.
    pub encrypted: bool,
    /// Refused packets, by kind.
    pub refused: Refused,
}

/// Packets refused on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Authentication failed: corrupt, forged or from an earlier connection.
    pub forged: u64,
    /// Older than the replay window.
    pub too_old: u64,
    /// Authentic but not decodable.
    pub malformed: u64,
    /// The inbox was full.
    pub inbox_full: u64,
    /// From another address than the server's, on a connection that this end opened.
    pub elsewhere: u64,
}

/// What an endpoint has seen outside its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointStats {
    /// Datagrams that are no packets of this protocol.
    pub malformed: u64,
    /// Packets for a connection that does not exist.
    pub unknown_connection: u64,
    /// First packets of clients.
    pub hellos: u64,
    /// Connection requests without a valid cookie.
    pub bad_cookies: u64,
    /// Connection requests ignored because too many came in a second.
    pub handshakes_limited: u64,
    /// Connection requests that failed cryptographically.
    pub handshakes_failed: u64,
    /// Clients refused, with a reason sent to them.
    pub refused: u64,
    /// Datagrams from banned addresses.
    pub banned: u64,
    /// Replies that did not fit the queue of replies.
    pub replies_dropped: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections open now, pending ones included.
    pub open: u64,
}
