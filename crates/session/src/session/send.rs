//! Outgoing messages: the game's, by every route a room has, and the session's own.

use core::time::Duration;

use samestep_proto::{ChannelId, ConnectionId, Delivery};
use samestep_wire::{EncodeError, Wire, encode_to_vec};

use crate::channels::{CONTROL, STREAMS, UNRELIABLE, channel, stream};
use crate::control::Control;
use crate::envelope::{Envelope, Number, Route};
use crate::event::State;
use crate::id::{MessageKind, PeerId, PlayerId};
use crate::message::encode_reusing;
use crate::room::{PeerInfo, Presence};
use crate::session::Session;
use crate::session::contact::next_hop;
use crate::streams::{FOR_ALL, SEQUENCED};

/// How long a member's report of its connections is used.
const REPORT_FRESH: Duration = Duration::from_secs(4);
/// Unanswered reliable messages of a mesh are sent again after this long, or after two round trips.
const RESEND_AFTER: Duration = Duration::from_millis(600);

/// Whom a message is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The host, or the leader of a mesh; may be this program itself.
    Authority,
    /// One peer; may be this program itself.
    Peer(PeerId),
    /// The peer on which this player plays.
    Player(PlayerId),
    /// Everybody else.
    Others,
    /// Everybody, this program included.
    All,
}

/// Why a message was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SendError {
    /// Not in a room yet, or no longer.
    #[error("not in a room: wait for SessionEvent::Joined")]
    NotInRoom,
    /// There is no such peer or player in the room.
    #[error("nobody like that is in the room")]
    NoSuchPeer,
    /// The message does not encode: a value is outside of what its type allows.
    #[error("the message does not encode: {0}")]
    Encode(EncodeError),
    /// An action is longer than 65,536 bytes.
    #[error("an action may have at most 65536 bytes")]
    ActionTooLong,
    /// Too much is waiting for a member of the mesh to acknowledge it.
    #[error(
        "too much waits to be acknowledged by a member of the mesh: send less, or raise unacknowledged_limit"
    )]
    Backlog,
    /// Too many proposals and actions wait for the authority's answer.
    #[error("too many requests wait for the authority's answer: wait for some, or request less")]
    Unanswered,
    /// The connection does not take it.
    #[error(transparent)]
    Connection(samestep_proto::SendError),
}

impl Session {
    /// Sends a payload of a kind. [`send`](Self::send) does the same for a type of message.
    pub fn send_bytes(
        &mut self,
        now: Duration,
        to: To,
        delivery: Delivery,
        kind: MessageKind,
        payload: &[u8],
    ) -> Result<(), SendError> {
        let me = match (&self.state, self.me) {
            (State::Left(_) | State::Connecting, _) | (_, None) => {
                return Err(SendError::NotInRoom);
            }
            (_, Some(me)) => me,
        };
        match to {
            To::Authority => {
                let authority = self.room.authority();
                self.send_to(now, me, authority, delivery, kind, payload)
            }
            To::Peer(peer) => self.send_to(now, me, peer, delivery, kind, payload),
            To::Player(player) => {
                let peer = self.room.player(player).ok_or(SendError::NoSuchPeer)?.peer;
                self.send_to(now, me, peer, delivery, kind, payload)
            }
            To::Others => self.send_to_others(now, me, delivery, kind, payload),
            To::All => {
                self.send_to_others(now, me, delivery, kind, payload)?;
                self.send_to(now, me, me, delivery, kind, payload)
            }
        }
    }

    /// Encodes a value into a reused buffer and passes its bytes on.
    pub(crate) fn with_encoded<T: Wire, R>(
        &mut self,
        value: &T,
        then: impl FnOnce(&mut Self, &[u8]) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let mut buffer = core::mem::take(&mut self.traffic.scratch.encoded);
        let encoded = encode_reusing(value, &mut buffer).map_err(SendError::Encode);
        let done = encoded.and_then(|len| then(self, &buffer[..len]));
        self.traffic.scratch.encoded = buffer;
        done
    }

    /// Sends the same payload to several peers. A failure for one does not concern the others.
    pub(crate) fn send_bytes_to_many(
        &mut self,
        now: Duration,
        to: &[PeerId],
        delivery: Delivery,
        kind: MessageKind,
        payload: &[u8],
    ) {
        if !self.timers.patience.is_zero() {
            to.iter().for_each(|peer| self.release_beat(now, *peer));
        }
        let hosts = self.leads() && !self.room.is_mesh();
        if !hosts || to.len() < 2 {
            for peer in to {
                let _ = self.send_bytes(now, To::Peer(*peer), delivery, kind, payload);
            }
            return;
        }
        let mut sealed = core::mem::take(&mut self.traffic.scratch.sealed);
        Envelope::direct(kind).seal(payload, &mut sealed);
        for peer in to {
            if Some(*peer) == self.me {
                self.on_game(now, *peer, kind, self.traffic.buffers.payload(payload));
            } else if self.room.is_present(*peer) && !self.awaits_state(*peer) {
                self.put_sealed(now, *peer, channel(delivery), &sealed);
            }
        }
        self.traffic.scratch.sealed = sealed;
    }

    fn send_to_others(
        &mut self,
        now: Duration,
        me: PeerId,
        delivery: Delivery,
        kind: MessageKind,
        payload: &[u8],
    ) -> Result<(), SendError> {
        if !self.room.is_mesh() && self.room.authority() != me {
            let envelope = Envelope {
                route: Route::ToOthers,
                number: self.number_for_all(delivery),
                ..Envelope::direct(kind)
            };
            let host = self.room.authority();
            return self.put(now, host, channel(delivery), &envelope, payload);
        }
        if !self.room.is_mesh() {
            return self.send_to_guests(now, delivery, kind, payload);
        }
        for at in 0..self.room.peers().len() {
            let PeerInfo { id, presence, .. } = self.room.peers()[at];
            if id == me || presence == Presence::Away {
                continue;
            }
            match self.send_to(now, me, id, delivery, kind, payload) {
                // A guest that has just lost its connection is about to be away.
                Ok(()) | Err(SendError::NoSuchPeer) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends the same bytes from the host to all guests. A failure for one does not concern the others.
    fn send_to_guests(
        &mut self,
        now: Duration,
        delivery: Delivery,
        kind: MessageKind,
        payload: &[u8],
    ) -> Result<(), SendError> {
        let sealed = &mut self.traffic.scratch.sealed;
        Envelope::direct(kind).seal(payload, sealed);
        let mut outcome = Ok(());
        for (peer, contact) in &self.links.contacts {
            let awaits_state = self.admissions.states_wanted.contains(peer);
            // A guest that has just lost its connection is about to be away.
            let Some(connection) = contact.connection else {
                continue;
            };
            if awaits_state && !kind.is_shared() {
                continue;
            }
            let sent = self
                .endpoint
                .send(now, connection, channel(delivery), sealed);
            outcome = outcome.and(sent.map(|_| ()).map_err(SendError::Connection));
        }
        outcome
    }

    fn send_to(
        &mut self,
        now: Duration,
        me: PeerId,
        to: PeerId,
        delivery: Delivery,
        kind: MessageKind,
        payload: &[u8],
    ) -> Result<(), SendError> {
        if to == me {
            self.on_game(now, me, kind, self.traffic.buffers.payload(payload));
            return Ok(());
        }
        if !self.room.is_present(to) {
            return Err(SendError::NoSuchPeer);
        }
        if self.awaits_state(to) && !kind.is_shared() {
            return Ok(());
        }
        if self.room.is_mesh() {
            return self.send_numbered(now, to, delivery, kind, payload);
        }
        let host = self.room.authority();
        let (next, route) = match me == host || to == host {
            true => (to, Route::Direct),
            false => (host, Route::Via { to }),
        };
        let number = match route {
            Route::Direct => None,
            _ => self.number_for_all(delivery),
        };
        let envelope = Envelope {
            route,
            number,
            ..Envelope::direct(kind)
        };
        self.put(now, next, channel(delivery), &envelope, payload)
    }

    /// Sequenced messages that a host forwards keep their order by a number of their own.
    fn number_for_all(&mut self, delivery: Delivery) -> Option<Number> {
        if !delivery.is_sequenced() {
            return None;
        }
        self.traffic.sequenced += 1;
        Some(Number {
            epoch: FOR_ALL,
            number: self.traffic.sequenced,
            stream: SEQUENCED,
        })
    }

    /// Sends between members of a mesh: numbered end to end, so that it arrives whichever route it takes.
    fn send_numbered(
        &mut self,
        now: Duration,
        to: PeerId,
        delivery: Delivery,
        kind: MessageKind,
        payload: &[u8],
    ) -> Result<(), SendError> {
        let limit = self.config.unacknowledged_limit;
        let hop = self.next_hop(now, to);
        let by = self.connection_to(hop);
        let contact = self
            .links
            .contacts
            .get_mut(&to)
            .ok_or(SendError::NoSuchPeer)?;
        let number = match (delivery.is_reliable(), delivery.is_sequenced()) {
            (false, false) => None,
            (false, true) => Some(contact.streams.send_sequenced()),
            (true, _) => {
                if contact.streams.unacknowledged_bytes() + payload.len() > limit {
                    return Err(SendError::Backlog);
                }
                let payload = self.traffic.buffers.payload(payload);
                let stream = stream(delivery);
                Some(contact.streams.send(now, stream, kind, payload, by))
            }
        };
        self.send_along(now, to, hop, number, channel(delivery), kind, payload);
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one message")]
    fn send_along(
        &mut self,
        now: Duration,
        to: PeerId,
        hop: Option<PeerId>,
        number: Option<Number>,
        channel: ChannelId,
        kind: MessageKind,
        payload: &[u8],
    ) {
        let (Some(me), Some(hop)) = (self.me, hop) else {
            return;
        };
        let envelope = Envelope {
            route: Route::between(me, to, hop),
            number,
            ..Envelope::direct(kind)
        };
        self.put_along(now, to, hop, channel, envelope, payload);
    }

    /// Sends a payload to a member by a hop; with the proof of its origin if that is another.
    fn put_along(
        &mut self,
        now: Duration,
        to: PeerId,
        hop: PeerId,
        channel: ChannelId,
        envelope: Envelope,
        payload: &[u8],
    ) {
        let envelope = match envelope.route {
            Route::Relayed { .. } => self.prove_origin(to, payload, envelope),
            _ => Some(envelope),
        };
        if let Some(envelope) = envelope {
            let _ = self.put(now, hop, channel, &envelope, payload);
        }
    }

    /// Resends what a member of the mesh has not acknowledged, if its route has changed or it is overdue.
    pub(super) fn resend(&mut self, now: Duration, to: PeerId) {
        let hop = self.next_hop(now, to);
        let by = self.connection_to(hop);
        if by.is_none() {
            return;
        }
        let after = RESEND_AFTER.max(self.latency(to) * 4 + RESEND_AFTER / 2);
        let Some(contact) = self.links.contacts.get_mut(&to) else {
            return;
        };
        for (number, kind, payload) in contact.streams.resend(now, by, after) {
            let channel = channel(STREAMS[usize::from(number.stream)]);
            self.send_along(now, to, hop, Some(number), channel, kind, &payload);
        }
    }

    fn connection_to(&self, hop: Option<PeerId>) -> Option<ConnectionId> {
        self.links.contacts.get(&hop?)?.connection
    }

    /// The first hop of the path to a peer.
    pub(super) fn next_hop(&mut self, now: Duration, to: PeerId) -> Option<PeerId> {
        let mut reached = core::mem::take(&mut self.traffic.scratch.reached);
        let hop = self.hop(now, to, &mut reached);
        self.traffic.scratch.reached = reached;
        hop
    }

    /// The same, with memory for the search.
    pub(super) fn hop(
        &self,
        now: Duration,
        to: PeerId,
        reached: &mut Vec<(PeerId, PeerId)>,
    ) -> Option<PeerId> {
        let me = self.me?;
        let connected = |peer: PeerId| {
            self.links
                .contacts
                .get(&peer)
                .is_some_and(|c| c.connection.is_some())
        };
        if !self.room.is_mesh() {
            let host = self.room.authority();
            let next = if me == host || to == host { to } else { host };
            return connected(next).then_some(next);
        }
        if self
            .links
            .contacts
            .get(&to)
            .is_some_and(|c| c.is_direct(now))
        {
            return Some(to);
        }
        let hears = |peer: PeerId| match self.links.contacts.get(&peer) {
            Some(contact) if now.saturating_sub(contact.reported) < REPORT_FRESH => {
                &contact.hears[..]
            }
            _ => &[],
        };
        next_hop(me, to, self.direct(now), hears, reached).or_else(|| connected(to).then_some(to))
    }

    /// The members that are reached without a relay.
    pub(super) fn direct(&self, now: Duration) -> impl Iterator<Item = PeerId> {
        self.links
            .contacts
            .iter()
            .filter(move |(_, contact)| contact.is_direct(now))
            .map(|(peer, _)| *peer)
    }

    /// Sends a message with its envelope on a peer's connection, if there is one.
    pub(super) fn put_sealed(
        &mut self,
        now: Duration,
        peer: PeerId,
        channel: ChannelId,
        sealed: &[u8],
    ) {
        if let Some(connection) = self.connection_to(Some(peer)) {
            let _ = self.endpoint.send(now, connection, channel, sealed);
        }
    }

    /// Sends a payload on a peer's connection.
    pub(super) fn put(
        &mut self,
        now: Duration,
        peer: PeerId,
        channel: ChannelId,
        envelope: &Envelope,
        payload: &[u8],
    ) -> Result<(), SendError> {
        let connection = self
            .connection_to(Some(peer))
            .ok_or(SendError::NoSuchPeer)?;
        let sealed = &mut self.traffic.scratch.sealed;
        envelope.seal(payload, sealed);
        self.endpoint
            .send(now, connection, channel, sealed)
            .map(|_| ())
            .map_err(SendError::Connection)
    }

    /// Sends a control message to a peer over whatever route there is; reliably as long as that route lasts.
    pub(super) fn send_control(&mut self, now: Duration, peer: PeerId, control: &Control) {
        self.send_control_by(now, peer, CONTROL, control);
    }

    /// The same, unreliably.
    pub(super) fn send_control_unreliably(
        &mut self,
        now: Duration,
        peer: PeerId,
        control: &Control,
    ) {
        self.send_control_by(now, peer, UNRELIABLE, control);
    }

    pub(super) fn send_control_by(
        &mut self,
        now: Duration,
        peer: PeerId,
        channel: ChannelId,
        control: &Control,
    ) {
        let (Some(me), Some(hop)) = (self.me, self.next_hop(now, peer)) else {
            return;
        };
        let envelope = Envelope {
            route: Route::between(me, peer, hop),
            ..Envelope::control()
        };
        let bytes = encode_to_vec(control).expect("control messages stay within their bounds");
        self.put_along(now, peer, hop, channel, envelope, &bytes);
    }

    /// Sends a control message on a connection, whoever is at its other end.
    pub(super) fn send_control_on(&mut self, now: Duration, id: ConnectionId, control: &Control) {
        let _ = self.endpoint.send(now, id, CONTROL, &sealed(control));
    }
}

#[cfg(any(fuzzing, feature = "hostile"))]
impl Session {
    pub(crate) fn agreement(&self) -> Option<&crate::agreement::Agreement<crate::log::Entry>> {
        self.mesh.agreement.as_deref()
    }

    pub(crate) fn put_raw(&mut self, now: Duration, to: PeerId, channel: ChannelId, bytes: &[u8]) {
        self.put_sealed(now, to, channel, bytes);
    }

    pub(crate) fn false_relay(&mut self) -> &mut crate::hostile::FalseRelay {
        &mut self.traffic.false_relay
    }

    pub(crate) fn propose_raw(&mut self, now: Duration, proposal: crate::control::Proposal) {
        self.propose(now, proposal);
    }

    pub(crate) fn send_raw_on(
        &mut self,
        now: Duration,
        id: ConnectionId,
        channel: ChannelId,
        bytes: &[u8],
    ) {
        let _ = self.endpoint.send(now, id, channel, bytes);
    }

    pub(crate) fn dial_raw(
        &mut self,
        now: Duration,
        address: core::net::SocketAddr,
        options: samestep_proto::ConnectOptions,
    ) -> Option<ConnectionId> {
        self.endpoint.connect(now, address, options).ok()
    }
}

/// A control message with its envelope.
pub(super) fn sealed(control: &Control) -> Vec<u8> {
    let bytes = encode_to_vec(control).expect("control messages stay within their bounds");
    let mut sealed = Vec::new();
    Envelope::control().seal(&bytes, &mut sealed);
    sealed
}
