//! Filling packets.

use core::time::Duration;
use std::net::SocketAddr;

use crate::channel::OutgoingPacket;
use crate::connection::path::PathPacket;
use crate::connection::{Connection, State, bits};
use crate::packet::{HEADER_BYTES, PATH_FRAME_BYTES, PacketWriter, encode_header};
use crate::sent::Carried;

/// One packet in this many is offered to long blocks first, so that they advance beside any traffic.
const BACKGROUND_TURN: u8 = 8;
/// Packets whose fate is open: with more, 16 bits of a packet number would be ambiguous.
pub(super) const MAX_UNSETTLED: usize = 30_000;
/// Acknowledgements with this many gaps want to be acknowledged themselves now and then, to become short again.
const MANY_RANGES: usize = 4;
/// How often.
const QUIET_ACKS: u32 = 8;

impl Connection {
    /// Fills `buf` with the next packet due. Returns where it goes and its length.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Duration,
        buf: &mut [u8],
    ) -> Option<(SocketAddr, usize)> {
        if !matches!(self.state, State::Unconfirmed { .. } | State::Gone)
            && let Some(finish) = self.transmit_finish(now, buf)
        {
            return Some(finish);
        }
        if let Some((to, len)) = self.path.poll_copy(buf) {
            self.stats.packets_sent += 1;
            self.stats.bytes_sent += len as u64;
            return Some((to, len));
        }
        if self.is_usable()
            && let Some(packet) = self.path.poll(now, self.challenge_bytes())
        {
            return Some(self.transmit_path(now, buf, packet));
        }
        let (to, len) = self.transmit_next(now, buf)?;
        self.path.on_sent(now, &buf[..len]);
        Some((to, len))
    }

    fn transmit_next(&mut self, now: Duration, buf: &mut [u8]) -> Option<(SocketAddr, usize)> {
        match self.state {
            State::Unconfirmed { .. } | State::Gone => return None,
            State::Closing(_) => return self.transmit_close(now, buf),
            State::Drained { .. } => {
                self.received.due().filter(|due| *due <= now)?;
                return self.transmit(now, buf, false);
            }
            State::Open | State::Flushing { .. } => {}
        }
        self.drop_stale(now);
        self.retire();
        let content = self.probes > 0
            || (self.wants() && self.congestion.budget(now) > 0 && self.sent.len() < MAX_UNSETTLED);
        let ack_due = self.received.due().is_some_and(|due| due <= now);
        if content || ack_due || self.ping {
            self.transmit(now, buf, content)
        } else {
            None
        }
    }

    fn transmit(
        &mut self,
        now: Duration,
        buf: &mut [u8],
        content: bool,
    ) -> Option<(SocketAddr, usize)> {
        let room = self.config.max_packet - HEADER_BYTES - self.crypto.overhead();
        let mut packet = OutgoingPacket {
            number: self.sent.next(),
            now,
            loss: self.loss.expected(&self.rtt),
            w: PacketWriter::new(&mut buf[HEADER_BYTES..HEADER_BYTES + room]),
            carried: core::mem::take(&mut self.carried),
        };
        packet.carried.clear();
        let w = &mut packet.w;
        let mut acks = None;
        let mut ranges = 0;
        if self.received.is_pending()
            && let Some(ack) = self.received.ack(now)
            && w.try_ack(&ack)
        {
            acks = Some(ack.largest());
            ranges = ack.ranges().len();
            for index in bits(self.status_due) {
                match self.channels[index].poll_status() {
                    Some(next) => {
                        w.try_status(index as u8, next);
                    }
                    None => self.status_due &= !(1 << index),
                }
            }
        }
        let quiet = w.len();
        if ranges >= MANY_RANGES && self.quiet_acks >= QUIET_ACKS {
            w.try_ping();
        }
        let mut resent = 0;
        if content {
            self.background_turn = (self.background_turn + 1) % BACKGROUND_TURN;
            if self.background_turn == 0 {
                resent += self.fill_background(&mut packet);
            }
            for i in 0..self.order.len() {
                if self.active & 1 << self.order[i] == 0 {
                    continue;
                }
                let channel = &mut self.channels[usize::from(self.order[i])];
                if channel.wants() {
                    resent += channel.fill(&mut packet, &mut self.buffers);
                }
            }
            resent += self.fill_background(&mut packet);
        }
        let OutgoingPacket { mut w, carried, .. } = packet;
        if w.len() == quiet && (self.ping || self.probes > 0) {
            w.try_ping();
            // Nobody answers: should this be because the address has changed, a challenge will be the answer, which must not be longer.
            while self.probes > 0 && w.len() < PATH_FRAME_BYTES && w.try_ping() {}
        }
        let eliciting = w.len() > quiet;
        if w.is_empty() {
            self.carried = carried;
            return None;
        }
        let body = w.finish();
        let len = self.seal(buf, body);
        if eliciting {
            self.unanswered_since.get_or_insert(now);
            self.ping = false;
            self.probes = self.probes.saturating_sub(1);
            self.quiet_acks = 0;
        } else {
            self.quiet_acks += 1;
        }
        self.record(now, len, eliciting, acks, &carried);
        self.carried = carried;
        if resent > 0 {
            self.stats.packets_resent += 1;
            self.stats.bytes_resent += resent as u64;
        }
        Some((self.peer, len))
    }

    fn fill_background(&mut self, packet: &mut OutgoingPacket<'_>) -> usize {
        let mut resent = 0;
        for i in 0..self.order.len() {
            if self.active & 1 << self.order[i] != 0 {
                resent += self.channels[usize::from(self.order[i])].fill_background(packet);
            }
        }
        resent
    }

    fn transmit_close(&mut self, now: Duration, buf: &mut [u8]) -> Option<(SocketAddr, usize)> {
        let spacing = self
            .rtt
            .smoothed()
            .clamp(Duration::from_millis(50), Duration::from_millis(250));
        let State::Closing(closing) = &mut self.state else {
            return None;
        };
        if closing.next_at > now || closing.sends_left == 0 {
            return None;
        }
        closing.sends_left -= 1;
        closing.next_at = now + spacing;
        let (code, reason) = (closing.code, core::mem::take(&mut closing.reason));
        let len = self.write_packet(now, buf, true, |w, connection| {
            if let Some(ack) = connection.received.ack(now) {
                w.try_ack(&ack);
            }
            w.try_close(code, &reason);
        });
        if let State::Closing(closing) = &mut self.state {
            closing.reason = reason;
        }
        Some((self.peer, len))
    }

    /// A packet of the path check. One that may well go to nobody says nothing about the path in use: it is not waited for.
    fn transmit_path(
        &mut self,
        now: Duration,
        buf: &mut [u8],
        packet: PathPacket,
    ) -> (SocketAddr, usize) {
        let (to, value, answer) = match packet {
            PathPacket::Answer(value) => (self.peer, value, true),
            PathPacket::Current(value) => (self.peer, value, false),
            PathPacket::Candidate(address, value) => (address, value, false),
        };
        let awaited = to == self.peer;
        let len = self.write_packet(now, buf, awaited, |w, _| {
            w.try_path(value, answer);
        });
        (to, len)
    }

    /// A packet with only what `write` puts in. `awaited`: its acknowledgement is.
    fn write_packet(
        &mut self,
        now: Duration,
        buf: &mut [u8],
        awaited: bool,
        write: impl FnOnce(&mut PacketWriter<'_>, &mut Self),
    ) -> usize {
        let room = self.config.max_packet - HEADER_BYTES - self.crypto.overhead();
        let mut w = PacketWriter::new(&mut buf[HEADER_BYTES..HEADER_BYTES + room]);
        write(&mut w, self);
        let body = w.finish();
        let len = self.seal(buf, body);
        self.record(now, len, awaited, None, &[]);
        len
    }

    fn seal(&mut self, buf: &mut [u8], body: usize) -> usize {
        let number = self.sent.next();
        encode_header(self.remote, number, buf);
        self.crypto.seal(number, buf, HEADER_BYTES, body)
    }

    fn record(
        &mut self,
        now: Duration,
        len: usize,
        eliciting: bool,
        acks: Option<u64>,
        carried: &[Carried],
    ) {
        if eliciting {
            let backlog = self.wants();
            self.congestion.on_sent(now, self.sent.next(), len, backlog);
        }
        self.sent.push(now, len, eliciting, acks, carried);
        self.stats.packets_sent += 1;
        self.stats.bytes_sent += len as u64;
    }

    /// Whether a channel has something to send.
    pub(super) fn wants(&self) -> bool {
        bits(self.active).any(|i| self.channels[i].wants() || self.channels[i].wants_background())
    }

    /// Forgets the channels that are done.
    fn retire(&mut self) {
        for index in bits(self.active) {
            if self.channels[index].is_settled() {
                self.active &= !(1 << index);
            }
        }
    }

    fn drop_stale(&mut self, now: Duration) {
        for index in bits(self.active) {
            self.stats.messages_dropped += self.channels[index].drop_stale(now, &mut self.buffers);
        }
    }
}
