//! One connection: packets in, packets out, and the timers between.

mod close;
mod finish;
mod path;
mod timers;
mod transmit;

use core::fmt;
use core::ops::Range;
use core::time::Duration;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tracing::{debug, trace};

use crate::buffers::Buffers;
use crate::channel::{self, Channel};
use crate::config::Config;
use crate::congestion::{self, Congestion};
use crate::crypto::PacketCrypto;
use crate::event::{CloseReason, DeliveryReport, Outcome, SendError};
use crate::exchange::{Exchange, Exchanges};
use crate::handshake::FINISH_TAG_BYTES;
use crate::id::{ChannelId, MessageId, PacketNumber};
use crate::inbox::Inbox;
use crate::packet::{AckFrame, Frame, Frames, HEADER_BYTES, expand_u16};
use crate::received::{Freshness, Received};
use crate::rng::Random;
use crate::rtt::{LossEstimate, Rtt};
use crate::sent::{Carried, Fate, SentPackets};
use crate::stats::Stats;
use close::Closing;
use finish::Finishing;
use path::PathCheck;
use timers::SILENT_PROBES;

/// Delivery reports kept for an owner that does not read them.
const MAX_REPORTS: usize = 65_536;

/// The state of a connection.
#[derive(Debug)]
pub(crate) enum State {
    /// Accepted, but the client has not yet shown that it holds the keys. Repeats of its request get this answer.
    Unconfirmed {
        accept: Vec<u8>,
        until: Duration,
        /// In plain mode the tag of the Finish that shows it; else the first packet that opens does.
        finish: Option<[u8; FINISH_TAG_BYTES]>,
    },
    /// In use.
    Open,
    /// Closing once everything reliable has been acknowledged.
    Flushing { until: Duration, closing: Closing },
    /// Telling the other end.
    Closing(Closing),
    /// The other end closed; stays to acknowledge repeats of that.
    Drained { until: Duration },
    /// Over: the slot can be reused.
    Gone,
}

/// One connection.
pub(crate) struct Connection {
    pub(crate) peer: SocketAddr,
    /// For accepted connections, where they came from at first.
    pub(crate) incoming_from: Option<IpAddr>,
    /// The number the other end knows this connection by.
    remote: u16,
    pub(crate) state: State,
    config: Arc<Config>,
    crypto: PacketCrypto,
    channels: Vec<Box<dyn Channel>>,
    /// Bit per channel that has sent something not yet settled: the others need not be looked at.
    active: u32,
    /// Bit per channel that may have a status to send.
    status_due: u32,
    /// Channel indices, highest priority first.
    order: Vec<u8>,
    /// Bit per channel whose messages carry a number.
    sequenced: u32,
    received: Received,
    sent: SentPackets,
    rtt: Rtt,
    loss: LossEstimate,
    congestion: Congestion,
    inbox: Inbox,
    buffers: Buffers,
    last_received: Duration,
    /// When the first packet since then that calls for an answer was sent.
    unanswered_since: Option<Duration>,
    ping: bool,
    /// Packets that may leave regardless of congestion, to find out whether anything arrives.
    probes: u8,
    probe_backoff: u32,
    /// Acknowledgements sent since anything the other end will acknowledge.
    quiet_acks: u32,
    path: PathCheck,
    finishing: Option<Finishing>,
    /// A turn for long blocks even when other traffic would fill everything.
    background_turn: u8,
    reports: VecDeque<DeliveryReport>,
    exchanges: Exchanges,
    stats: Stats,
    carried: Vec<Carried>,
    fates: Vec<Fate>,
    /// Why it closed, until the endpoint has announced it.
    pub(crate) closed: Option<CloseReason>,
    pub(crate) moved: bool,
    pub(crate) readable_announced: bool,
    /// Timer bookkeeping of the endpoint.
    pub(crate) timer: Option<Duration>,
    pub(crate) queued: bool,
}

impl Connection {
    pub(crate) fn new(
        now: Duration,
        config: &Arc<Config>,
        peer: SocketAddr,
        remote: u16,
        crypto: PacketCrypto,
        state: State,
    ) -> Self {
        let channels: Vec<Box<dyn Channel>> = config
            .channels
            .iter()
            .enumerate()
            .map(|(i, c)| channel::open(i as u8, c, config.inbox_limit.max(2 * c.max_message)))
            .collect();
        let mut order: Vec<u8> = (0..channels.len() as u8).collect();
        order.sort_by_key(|&i| {
            let channel = &config.channels[usize::from(i)];
            (
                core::cmp::Reverse(channel.priority),
                !channel.delivery.is_reliable(),
                i,
            )
        });
        let sequenced = config
            .channels
            .iter()
            .enumerate()
            .filter(|(_, c)| c.delivery.is_sequenced())
            .fold(0, |bits, (i, _)| bits | 1 << i);
        Self {
            peer,
            incoming_from: None,
            remote,
            state,
            config: config.clone(),
            channels,
            active: 0,
            status_due: 0,
            order,
            sequenced,
            received: Received::new(),
            sent: SentPackets::default(),
            rtt: Rtt::new(),
            loss: LossEstimate::new(),
            congestion: Congestion::new(now, config.max_packet),
            inbox: Inbox::default(),
            buffers: Buffers::default(),
            last_received: now,
            unanswered_since: None,
            // The first packet tells the other end that the handshake is done, and measures the round trip.
            ping: true,
            probes: 0,
            probe_backoff: 0,
            quiet_acks: 0,
            path: PathCheck::default(),
            finishing: None,
            background_turn: 0,
            reports: VecDeque::new(),
            exchanges: Exchanges::default(),
            stats: Stats {
                encrypted: crypto.is_encrypted(),
                ..Stats::default()
            },
            crypto,
            carried: Vec::new(),
            fates: Vec::new(),
            closed: None,
            moved: false,
            readable_announced: false,
            timer: None,
            queued: false,
        }
    }

    /// Queues a message.
    pub(crate) fn send(
        &mut self,
        now: Duration,
        channel: ChannelId,
        payload: &[u8],
    ) -> Result<MessageId, SendError> {
        if !matches!(self.state, State::Open) {
            return Err(SendError::NotConnected);
        }
        let index = usize::from(channel.0);
        let limit = self
            .config
            .channels
            .get(index)
            .ok_or(SendError::UnknownChannel)?
            .max_message;
        if payload.len() > limit {
            return Err(SendError::TooLong { limit });
        }
        let id = self.channels[index]
            .send(now, payload, &mut self.buffers, &mut self.stats)
            .ok_or(SendError::QueueFull)?;
        self.active |= 1 << index;
        self.stats.messages_sent += 1;
        Ok(MessageId(id))
    }

    /// The next received message.
    pub(crate) fn recv(&mut self) -> Option<(ChannelId, &[u8])> {
        if self.inbox.is_empty() {
            self.readable_announced = false;
            return None;
        }
        self.stats.messages_received += 1;
        self.inbox.pop()
    }

    /// Drops everything received, unread and unacknowledged: the application never learns of this connection.
    pub(crate) fn forget(&mut self) {
        self.closed = None;
        self.inbox = Inbox::default();
        self.received = Received::new();
    }

    pub(crate) fn has_messages(&self) -> bool {
        !self.inbox.is_empty()
    }

    pub(crate) fn poll_delivery(&mut self) -> Option<DeliveryReport> {
        self.reports.pop_front()
    }

    pub(crate) fn poll_exchange(&mut self) -> Option<Exchange> {
        self.exchanges.pop()
    }

    /// Whether messages pass in both directions.
    fn is_usable(&self) -> bool {
        matches!(self.state, State::Open | State::Flushing { .. })
    }

    /// Whether a packet that brought nothing has changed something: a path is to be checked, or the connection has ended.
    pub(crate) fn wants_attention(&self) -> bool {
        self.path.next_at().is_some() || self.closed.is_some()
    }

    /// Whether nothing is left to send to the other end.
    pub(crate) fn is_settled(&self) -> bool {
        match self.state {
            State::Drained { .. } => self.received.due().is_none(),
            State::Gone => true,
            _ => false,
        }
    }

    /// The settings have changed.
    pub(crate) fn set_config(&mut self, config: &Arc<Config>) {
        self.config = config.clone();
    }

    /// Sends something that will be acknowledged, soon.
    pub(crate) fn ping(&mut self) {
        self.ping = true;
    }

    pub(crate) fn budget(&mut self, now: Duration) -> usize {
        self.congestion.budget(now)
    }

    /// A datagram for this connection. Returns whether it was authentic and new.
    pub(crate) fn handle_packet(
        &mut self,
        now: Duration,
        from: SocketAddr,
        low_number: u16,
        datagram: &mut [u8],
        random: &mut Random,
    ) -> bool {
        if matches!(
            self.state,
            State::Unconfirmed {
                finish: Some(_),
                ..
            }
        ) {
            // A short checksum proves nothing: the Finish does.
            return false;
        }
        if !self.listens_to(from) {
            self.stats.refused.elsewhere += 1;
            return false;
        }
        let number = expand_u16(self.received.expected(), low_number);
        match self.received.check(number) {
            Freshness::Fresh => {}
            Freshness::Duplicate => {
                self.stats.packets_duplicate += 1;
                self.on_duplicate(now, from, number, datagram, random);
                return false;
            }
            Freshness::TooOld => {
                self.stats.refused.too_old += 1;
                return false;
            }
        }
        let Some(body) = self.open_packet(number, datagram) else {
            return false;
        };
        if self.inbox.waiting_bytes() > self.config.inbox_limit {
            self.stats.refused.inbox_full += 1;
            return false;
        }
        self.stats.packets_received += 1;
        self.stats.bytes_received += datagram.len() as u64;
        let silence = now.saturating_sub(self.last_received);
        self.last_received = self.last_received.max(now);
        self.unanswered_since = None;
        self.finishing = None;
        if matches!(self.state, State::Unconfirmed { .. }) {
            self.state = State::Open;
        }
        let recent = self.is_recent(number);
        let mut frames = Frames::new(&datagram[body], self.sent.next(), self.sequenced);
        let (mut eliciting, mut reliable) = (false, false);
        // Late content of a connection this end has closed is nobody's, and must not be acknowledged.
        let wanted = self.is_usable();
        let mut ignored = false;
        loop {
            match frames.next() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    eliciting |= !matches!(frame, Frame::Ack(_) | Frame::Status { .. });
                    reliable |= matches!(
                        frame,
                        Frame::Segment { .. } | Frame::Repair { .. } | Frame::Chunk { .. }
                    );
                    if !wanted && frame.channel().is_some() {
                        ignored = true;
                        continue;
                    }
                    if let Err(what) = self.on_frame(now, from, number, frame) {
                        self.fail(what);
                        return true;
                    }
                }
                Err(_) => {
                    self.stats.refused.malformed += 1;
                    self.fail("a packet does not parse");
                    return true;
                }
            }
        }
        if !ignored {
            let delay = match reliable {
                true => self.config.ack_delay,
                false => self.config.longest_ack_delay(),
            };
            self.received.insert(now, number, eliciting, delay);
        }
        self.detect_lost(now);
        self.ask_again(now, silence);
        if recent {
            self.note_source(now, from, datagram.len(), random);
        }
        true
    }

    /// Opens a packet in place; `None` if it is forged. If too many have been, the keys must not be used any longer.
    fn open_packet(&mut self, number: u64, datagram: &mut [u8]) -> Option<Range<usize>> {
        match self.crypto.open(number, datagram, HEADER_BYTES) {
            Ok(body) => Some(body),
            Err(error) => {
                self.stats.refused.forged += 1;
                if error.ends_connection() {
                    self.end_for(CloseReason::KeysWornOut);
                }
                None
            }
        }
    }

    fn on_frame(
        &mut self,
        now: Duration,
        from: SocketAddr,
        packet: u64,
        frame: Frame<'_>,
    ) -> Result<(), &'static str> {
        match frame {
            Frame::Ping => Ok(()),
            Frame::Ack(ack) => self.on_ack(now, &ack),
            Frame::Close { code, reason } => {
                self.on_close(now, code, reason);
                Ok(())
            }
            Frame::PathChallenge(value) => {
                self.on_path_challenge(from, value);
                Ok(())
            }
            Frame::PathResponse(value) => {
                self.on_path_response(now, from, value);
                Ok(())
            }
            Frame::Status { channel, next } => self.on_status(channel, next),
            frame => self.on_content(packet, frame),
        }
    }

    /// Frames that bring messages.
    fn on_content(&mut self, packet: u64, frame: Frame<'_>) -> Result<(), &'static str> {
        let Some(index) = frame.channel().map(usize::from) else {
            return Ok(());
        };
        let channel = self.channels.get_mut(index).ok_or("no such channel")?;
        self.status_due |= 1 << index;
        channel.on_frame(
            packet,
            frame,
            &mut self.buffers,
            &mut self.inbox,
            &mut self.stats,
        )
    }

    fn on_status(&mut self, channel: u8, next: u16) -> Result<(), &'static str> {
        let newest = PacketNumber(self.sent.next().saturating_sub(1));
        let Self {
            channels,
            buffers,
            reports,
            ..
        } = self;
        channels
            .get_mut(usize::from(channel))
            .ok_or("status of no reliable channel")?
            .on_status(next, buffers, &mut |message, outcome| {
                report(reports, channel, message, newest, outcome);
            })
    }

    fn on_ack(&mut self, now: Duration, ack: &AckFrame) -> Result<(), &'static str> {
        let mut fates = core::mem::take(&mut self.fates);
        let summary = self
            .sent
            .on_ack(ack, &mut fates)
            .ok_or("acknowledged what was never sent")?;
        for _ in 0..summary.packets - summary.late {
            self.loss.on_packet(false);
        }
        for _ in 0..summary.late {
            self.loss.on_late();
        }
        if let Some(sent_at) = summary.overtaken {
            self.rtt.on_overtaken(now, now.saturating_sub(sent_at));
        }
        self.stats.packets_late += summary.late as u64;
        self.stats.packets_lost -= (summary.late as u64).min(self.stats.packets_lost);
        if let Some(largest) = summary.acks_seen {
            self.received.on_ack_acked(largest);
        }
        if let Some((largest, sent_at)) = summary.newest {
            if self.probe_backoff >= SILENT_PROBES {
                debug!("peer heard again");
            }
            self.probe_backoff = 0;
            let elapsed = now.saturating_sub(sent_at);
            let delay = Duration::from_micros(ack.delay_us.min(10_000_000));
            if summary.newest_is_largest {
                self.rtt.on_sample(elapsed, delay);
                self.exchanges.push(Exchange {
                    sent_at,
                    received_at_us: ack.received_at_us,
                    held: delay,
                    returned_at: now,
                });
            }
            self.congestion.on_ack(
                now,
                &congestion::Ack {
                    largest,
                    sent_at,
                    received_at_us: ack.received_at_us,
                    ack_delay: delay,
                    rtt: summary
                        .newest_is_largest
                        .then(|| elapsed.saturating_sub(delay)),
                    newly_acked_bytes: summary.bytes,
                    newly_acked_packets: summary.packets,
                },
            );
            self.on_closing_acked();
        }
        self.settle(&mut fates);
        self.fates = fates;
        Ok(())
    }

    fn detect_lost(&mut self, now: Duration) {
        let mut fates = core::mem::take(&mut self.fates);
        let Self {
            sent,
            rtt,
            loss,
            congestion,
            stats,
            ..
        } = self;
        sent.detect_lost(now, rtt, &mut fates, |number, bytes| {
            trace!(number, bytes, "packet lost");
            loss.on_packet(true);
            stats.packets_lost += 1;
            congestion.on_lost(now, number, bytes);
        });
        self.settle(&mut fates);
        self.fates = fates;
    }

    /// Hands the channels the fates of what they sent.
    fn settle(&mut self, fates: &mut Vec<Fate>) {
        let Self {
            channels,
            buffers,
            reports,
            ..
        } = self;
        for fate in fates.drain(..) {
            let packet = PacketNumber(fate.packet);
            let channel = fate.carried.channel();
            channels[usize::from(channel)].on_fate(&fate, buffers, &mut |message, outcome| {
                report(reports, channel, message, packet, outcome);
            });
        }
    }

    /// Bytes waiting to be sent or acknowledged.
    fn queued_bytes(&self) -> usize {
        self.channels.iter().map(|c| c.queued_bytes()).sum()
    }

    /// The rate to offer to the application, in bytes a second.
    pub(crate) fn available_rate(&mut self) -> u64 {
        let queued = self.queued_bytes();
        self.congestion.available_rate(self.rtt.deviation(), queued)
    }

    /// Everything there is to know about it now.
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            rtt: self.rtt.smoothed(),
            rtt_min: self.rtt.min(),
            jitter: self.rtt.deviation(),
            loss: self.loss.fraction(),
            measured_loss: self.loss.measured(),
            last_received: self.last_received,
            unanswered_since: self.unanswered_since,
            bandwidth_bytes_per_s: self.congestion.bandwidth_bps() / 8,
            window_bytes: self.congestion.window(),
            in_flight_bytes: self.congestion.in_flight(),
            queueing: self.congestion.queueing(),
            queued_bytes: self.queued_bytes(),
            ..self.stats.clone()
        }
    }

    /// Bytes held for this connection.
    pub(crate) fn memory_bytes(&self) -> usize {
        let channels: usize = self.channels.iter().map(|c| c.memory_bytes()).sum();
        size_of::<Self>()
            + channels
            + self.inbox.memory_bytes()
            + self.buffers.memory_bytes()
            + self.sent.len() * 64
            + self.reports.len() * size_of::<DeliveryReport>()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("peer", &self.peer)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

fn report(
    reports: &mut VecDeque<DeliveryReport>,
    channel: u8,
    id: u64,
    packet: PacketNumber,
    outcome: Outcome,
) {
    if reports.len() == MAX_REPORTS {
        reports.pop_front();
    }
    reports.push_back(DeliveryReport {
        channel: ChannelId(channel),
        message: MessageId(id),
        packet,
        outcome,
    });
}

/// The positions of the bits that are set.
fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let index = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(index)
    })
}

#[cfg(all(test, feature = "crypto"))]
mod tests {
    use super::*;
    use crate::crypto::Cipher;

    /// The attacker forges packets until one passes; nobody can do it often enough to be tested, so the count is set near its end.
    #[test]
    fn a_connection_ends_before_a_forged_packet_could_pass() {
        for cipher in [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305] {
            let now = Duration::from_secs(1);
            let config = Arc::new(Config::new("limits", 1));
            let peer: SocketAddr = "10.0.0.2:2000".parse().unwrap();
            let mut crypto = PacketCrypto::aead(cipher, &[1; 32], &[2; 32]);
            let PacketCrypto::Aead(keys) = &mut crypto else {
                unreachable!("it is encrypted");
            };
            keys.wear_out();
            let mut connection = Connection::new(now, &config, peer, 0, crypto, State::Open);
            let mut random = Random::new([1; 32]);
            let mut forged = [
                0x80, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
            ];
            assert!(!connection.handle_packet(now, peer, 0, &mut forged, &mut random));
            assert_eq!(connection.closed, Some(CloseReason::KeysWornOut));
            assert!(matches!(connection.state, State::Closing(_)));
            assert_eq!(connection.stats().refused.forged, 1);
        }
    }
}
