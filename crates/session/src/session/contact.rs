//! The state that a session keeps about each other peer.

use core::time::Duration;
use samestep_proto::ConnectionId;

use crate::agreement::{Incarnation, Message};
use crate::clock::Exchange;
use crate::control::{Control, StreamAcks};
use crate::event::{LeaveReason, SessionEvent, State};
use crate::id::PeerId;
use crate::log::Entry;
use crate::session::beats::Beats;
use crate::session::origin::Pair;
use crate::session::{OtherEnd, Session};
use crate::streams::Streams;

/// A direct connection on which nothing arrives for this long is no longer relied on.
const QUIET: Duration = Duration::from_millis(1000);
/// Two members that dial each other within this time keep one connection: that of the higher incarnation.
const AT_ONCE: Duration = Duration::from_secs(2);
/// How long the best of the recent exchanges is used.
const BEST_FOR: Duration = Duration::from_secs(10);

/// Another peer, as seen from here.
#[derive(Debug, Default)]
pub(super) struct Contact {
    /// The direct connection, if there is one.
    pub(super) connection: Option<ConnectionId>,
    pub(super) dialling: Dialling,
    /// The incarnation that it spoke as last, in a mesh.
    pub(super) incarnation: Incarnation,
    /// Whether a guest knows the room: entries may be sent.
    pub(super) welcomed: bool,
    /// When something last arrived on the direct connection.
    pub(super) heard_direct: Duration,
    /// When something of it last arrived by any route.
    pub(super) heard: Duration,
    /// When the member that this program joined through had last heard it, if that was a while ago and nothing of it has arrived here since.
    pub(super) heard_by_sponsor: Option<Duration>,
    /// The members it reports as reachable, and when it did.
    pub(super) hears: Vec<PeerId>,
    pub(super) reported: Duration,
    /// What it was last told about routes and acknowledgements.
    pub(super) hears_of: Vec<PeerId>,
    pub(super) told_acks: StreamAcks,
    /// It says that the room is closed.
    pub(super) says_closed: bool,
    /// The reason it gave for leaving, if it is leaving.
    pub(super) farewell: Option<LeaveReason>,
    /// The beats of the agreement that both have said to each other.
    pub(super) beats: Beats,
    /// A beat that waits for a packet of the game's to travel with, and until when.
    pub(super) waiting_beat: Option<(Duration, Control)>,
    /// When the game last sent it anything.
    pub(super) sent_game: Option<Duration>,
    /// Its farewell to the agreement, until nothing more comes from it.
    pub(super) last_promise: Option<Box<Message<Entry>>>,
    /// Log entries sent to a guest.
    pub(super) sent_index: u64,
    pub(super) streams: Streams,
    /// What is needed to talk to it through others, once that was.
    pub(super) pair: Option<Box<Pair>>,
    pub(super) clock: TheirClock,
    pub(super) fairness: Holding,
}

/// Attempts to connect to a peer.
#[derive(Debug, Default)]
pub(super) struct Dialling {
    /// When this program reached it by its own attempt, if it did.
    pub(super) reached_at: Option<Duration>,
    /// When it may be tried next, and how often it was in vain.
    pub(super) next: Duration,
    pub(super) count: u32,
    /// Whether it is tried without the password next, and how often it refused either.
    pub(super) by_key: bool,
    pub(super) refusals: u32,
}

/// Fairness: how long a peer's messages are held, and until when the last one was.
#[derive(Debug, Default)]
pub(super) struct Holding {
    pub(super) delay: Duration,
    pub(super) held_until: Duration,
}

impl Contact {
    /// Whether the other member dialled at the same time as this program, and this one's connection is the one that both keep.
    pub(super) fn keeps_dialled(&self, now: Duration, me: Incarnation, them: Incarnation) -> bool {
        let recent = |at: Duration| now.saturating_sub(at) < AT_ONCE;
        self.connection.is_some() && self.dialling.reached_at.is_some_and(recent) && me > them
    }

    pub(super) fn is_direct(&self, now: Duration) -> bool {
        self.connection.is_some() && now.saturating_sub(self.heard_direct) < QUIET
    }

    /// Something arrived on the direct connection.
    pub(super) fn on_heard(&mut self, now: Duration) {
        self.on_heard_through_others(now);
        self.heard_direct = now;
        self.dialling.count = 0;
    }

    /// Something of it arrived by any route.
    pub(super) fn on_heard_through_others(&mut self, now: Duration) {
        self.heard = now;
        self.heard_by_sponsor = None;
    }

    /// When it was last heard, here or by whom this program joined through.
    pub(super) fn last_heard(&self) -> Duration {
        self.heard_by_sponsor
            .map_or(self.heard, |at| at.min(self.heard))
    }

    /// Forgets everything about an earlier incarnation.
    pub(super) fn begin_anew(&mut self, now: Duration, epoch: u64) {
        let connection = self.connection;
        let pair = self.pair.take();
        *self = Self {
            connection,
            pair,
            incarnation: self.incarnation,
            heard: now,
            heard_direct: now,
            ..Self::default()
        };
        self.streams.reset(epoch);
    }
}

/// Another program's clock, of which acknowledgements carry the low 32 bits.
#[derive(Debug, Default)]
pub(super) struct TheirClock {
    /// Their full time, and ours, at the same instant.
    known: Option<(u64, Duration)>,
    best: Option<(Duration, Duration, i64)>,
}

impl TheirClock {
    /// Their clock showed this now.
    pub(super) fn on_told(&mut self, now: Duration, clock_us: u64) {
        self.known = Some((clock_us, now));
    }

    /// Completes an exchange.
    pub(super) fn complete(
        &mut self,
        now: Duration,
        exchange: &samestep_proto::Exchange,
    ) -> Option<Exchange> {
        let (told, at) = self.known?;
        let expected = told + now.saturating_sub(at).as_micros() as u64;
        let behind = (expected as u32).wrapping_sub(exchange.received_at_us) as i32;
        let received = expected.checked_add_signed(-i64::from(behind))?;
        self.known = Some((expected, now));
        let received_at = Duration::from_micros(received);
        let complete = Exchange {
            sent_at: exchange.sent_at,
            received_at,
            answered_at: received_at + exchange.held,
            returned_at: exchange.returned_at,
        };
        let round_trip = complete
            .returned_at
            .saturating_sub(complete.sent_at)
            .saturating_sub(exchange.held);
        let signed = |a: Duration, b: Duration| a.as_micros() as i64 - b.as_micros() as i64;
        let offset = (signed(complete.received_at, complete.sent_at)
            + signed(complete.answered_at, complete.returned_at))
            / 2;
        let better = self.best.is_none_or(|(at, lowest, _)| {
            round_trip <= lowest || now.saturating_sub(at) > BEST_FOR
        });
        if better {
            self.best = Some((now, round_trip, offset));
        }
        Some(complete)
    }
}

/// How messages reach a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerRoute {
    /// This program itself.
    Myself,
    /// Directly.
    Direct,
    /// Through this peer: the host, or a member of a mesh that is connected to both.
    Via(PeerId),
    /// There is no route at present.
    None,
}

/// Statistics about another peer, measured here, never reported by it.
#[derive(Clone, PartialEq, Debug)]
pub struct PeerStats {
    /// How messages reach it.
    pub route: PeerRoute,
    /// Smoothed round trip. Like all figures of a connection it is `None` until it is measured, and without a direct connection.
    pub rtt: Option<Duration>,
    /// Mean deviation of the round trip.
    pub jitter: Option<Duration>,
    /// Fraction of packets to it that were lost, lately.
    pub loss: Option<f32>,
    /// How far its clock is ahead of this program's, in microseconds, by the best recent exchange; `None` without a direct
    /// connection.
    pub clock_offset_us: Option<i64>,
    /// The time since something last arrived on its connection.
    pub last_heard: Option<Duration>,
    /// Bytes sent on its connection.
    pub bytes_sent: Option<u64>,
    /// Bytes received on its connection.
    pub bytes_received: Option<u64>,
}

impl Session {
    /// Everything the protocol counts about the connection to a peer; `None` without a direct one.
    pub fn connection_stats(&self, peer: PeerId) -> Option<samestep_proto::Stats> {
        let connection = self.links.contacts.get(&peer)?.connection?;
        self.endpoint.stats(connection)
    }

    /// Bytes a second that may be sent to a peer without filling queues: see [`samestep_proto::Endpoint::available_rate`]. `None` without
    /// a direct connection.
    pub fn available_rate(&mut self, peer: PeerId) -> Option<u64> {
        let connection = self.links.contacts.get(&peer)?.connection?;
        self.endpoint.available_rate(connection)
    }

    /// The statistics about another peer.
    pub fn peer_stats(&self, now: Duration, peer: PeerId) -> Option<PeerStats> {
        self.room.peer(peer)?;
        let route = match self.hop(now, peer, &mut Vec::new()) {
            _ if Some(peer) == self.me => PeerRoute::Myself,
            None => PeerRoute::None,
            Some(hop) if hop == peer => PeerRoute::Direct,
            Some(hop) => PeerRoute::Via(hop),
        };
        // What is measured on the way to a relay is not the peer's.
        let direct = self.connection_stats(peer);
        let direct = direct.filter(|_| route == PeerRoute::Direct);
        let direct = direct.as_ref();
        let measured = direct.filter(|stats| !stats.rtt_min.is_zero());
        let contact = self.links.contacts.get(&peer);
        Some(PeerStats {
            route,
            rtt: measured.map(|stats| stats.rtt),
            jitter: measured.map(|stats| stats.jitter),
            loss: direct.and_then(|stats| stats.measured_loss),
            clock_offset_us: match route {
                PeerRoute::Myself => Some(0),
                _ => contact.and_then(|c| c.clock.best).map(|(_, _, us)| us),
            },
            last_heard: direct.map(|stats| now.saturating_sub(stats.last_received)),
            bytes_sent: direct.map(|stats| stats.bytes_sent),
            bytes_received: direct.map(|stats| stats.bytes_received),
        })
    }

    /// The counters of the connection that messages to a peer take first: its own, or that of a relay.
    pub(crate) fn carrier_stats(
        &self,
        now: Duration,
        peer: PeerId,
    ) -> Option<samestep_proto::Stats> {
        self.room.peer(peer)?;
        self.connection_stats(self.hop(now, peer, &mut Vec::new())?)
    }

    /// How long a guest has been waiting in vain for an answer of its host, beyond the time that one takes. `None` on others, and without a
    /// connection.
    pub(crate) fn host_unanswered(&self, now: Duration) -> Option<Duration> {
        if self.room.is_mesh() || self.leads() {
            return None;
        }
        let stats = self.connection_stats(self.room.authority())?;
        let waiting = (stats.unanswered_since).map(|since| now.saturating_sub(since));
        Some(waiting.unwrap_or_default().saturating_sub(stats.rtt))
    }

    /// Whether [`HostSilent`](SessionEvent::HostSilent) was the last to be reported about the host.
    pub fn is_host_silent(&self) -> bool {
        self.joining.host_silent
    }

    /// Reports that the host has fallen silent, or is heard again.
    pub(super) fn watch_host(&mut self, now: Duration) {
        if !matches!(self.state, State::InSync | State::Loading) {
            return;
        }
        let Some(unanswered) = self.host_unanswered(now) else {
            return;
        };
        match (self.joining.host_silent, unanswered >= QUIET) {
            (false, true) => {
                self.joining.host_silent = true;
                let host = self.connection_stats(self.room.authority());
                let last_received = host.map_or(now, |stats| stats.last_received);
                let last_heard = now.saturating_sub(last_received);
                self.emit(SessionEvent::HostSilent { last_heard });
            }
            (true, false) => {
                self.joining.host_silent = false;
                self.emit(SessionEvent::HostHeard);
            }
            _ => {}
        }
    }

    /// One-way latency as measured here.
    pub(super) fn latency(&self, peer: PeerId) -> Duration {
        let connection = self.links.connection(peer);
        connection
            .and_then(|id| self.endpoint.stats(id))
            .map_or(Duration::ZERO, |stats| stats.rtt / 2)
    }

    pub(super) fn contact(&mut self, peer: PeerId) -> &mut Contact {
        self.links.contacts.entry(peer).or_default()
    }

    /// Binds a connection to a peer; an older one is given up.
    pub(super) fn bind(&mut self, now: Duration, peer: PeerId, connection: ConnectionId) {
        let contact = self.links.contacts.entry(peer).or_default();
        let old = contact.connection.replace(connection);
        contact.dialling.reached_at = None;
        self.links
            .connections
            .insert(connection, OtherEnd::Peer(peer));
        if let Some(old) = old.filter(|old| *old != connection) {
            self.links.give_up(old);
            self.endpoint.abort(now, old, 0, "replaced");
        }
    }

    /// Feeds the clock with the time stamps that acknowledgements on a connection carried.
    pub(super) fn read_exchanges(&mut self, now: Duration, connection: ConnectionId) {
        let Some(OtherEnd::Peer(peer)) = self.links.connections.get(&connection) else {
            return;
        };
        let Some(contact) = self.links.contacts.get_mut(peer) else {
            return;
        };
        if contact.connection != Some(connection) {
            return;
        }
        while let Some(exchange) = self.endpoint.poll_exchange(connection) {
            if let Some(complete) = contact.clock.complete(now, &exchange) {
                self.clock.keeper.on_exchange(now, *peer, complete);
            }
        }
    }
}

/// The first hop on the shortest path from `from` to `to` over connected peers: a breadth-first search.
///
/// `reached` is memory for it: the peers reached so far, each with the neighbour that the path to it begins with.
pub(super) fn next_hop<'a>(
    from: PeerId,
    to: PeerId,
    neighbours: impl Iterator<Item = PeerId>,
    hears: impl Fn(PeerId) -> &'a [PeerId],
    reached: &mut Vec<(PeerId, PeerId)>,
) -> Option<PeerId> {
    reached.clear();
    reached.extend(neighbours.map(|neighbour| (neighbour, neighbour)));
    let mut at = 0;
    while let Some((peer, hop)) = reached.get(at).copied() {
        if peer == to {
            return Some(hop);
        }
        for next in hears(peer) {
            if *next != from && !reached.iter().any(|(known, _)| known == next) {
                reached.push((*next, hop));
            }
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_path_leads_over_peers_that_hear_each_other() {
        let ids = |list: &[u16]| list.iter().map(|n| PeerId(*n)).collect::<Vec<_>>();
        let hears: BTreeMap<PeerId, Vec<PeerId>> = [
            (PeerId(0), ids(&[1, 2])),
            (PeerId(1), ids(&[0, 3])),
            (PeerId(2), ids(&[0])),
            (PeerId(3), ids(&[1, 4])),
        ]
        .into();
        let hears = |peer| hears.get(&peer).map_or(&[][..], Vec::as_slice);
        let hop = |from: u16, to: u16| {
            let neighbours = hears(PeerId(from)).iter().copied();
            let reached = &mut Vec::new();
            next_hop(PeerId(from), PeerId(to), neighbours, hears, reached).map(|hop| hop.0)
        };
        assert_eq!(hop(0, 2), Some(2));
        assert_eq!(hop(0, 4), Some(1));
        assert_eq!(hop(2, 4), Some(0));
        assert_eq!(hop(0, 9), None);
    }

    #[test]
    fn a_shortened_clock_is_completed_on_both_sides_of_its_wrap() {
        let mut clock = TheirClock::default();
        let wrap = 1u64 << 32;
        let ours = Duration::from_secs(10);
        clock.on_told(ours, wrap - 1_000);
        for (later_us, received) in [(500u64, wrap - 900), (3_000, wrap + 1_500)] {
            let now = ours + Duration::from_micros(later_us);
            let exchange = samestep_proto::Exchange {
                sent_at: now - Duration::from_micros(200),
                received_at_us: received as u32,
                held: Duration::ZERO,
                returned_at: now,
            };
            let complete = clock.complete(now, &exchange).unwrap();
            assert_eq!(complete.received_at, Duration::from_micros(received));
        }
    }
}
