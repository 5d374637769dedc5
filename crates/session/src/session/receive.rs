//! Incoming connections, and the messages on them.

use core::net::SocketAddr;
use core::time::Duration;

use samestep_proto::{ChannelId, ConnectionId, Event, PublicKey};
use samestep_wire::decode_exact;
use tracing::{debug, warn};

use crate::agreement::Incarnation;
use crate::bounds::Bounded;
use crate::channels::{BULK, forwarding_channel};
use crate::control::Control;
use crate::envelope::{Content, Envelope, Route};
use crate::event::{LeaveReason, SessionEvent, State};
use crate::id::{MessageKind, PeerId};
use crate::payload::Payload;
use crate::session::life::parting;
use crate::session::permission::{Permission, is_of_a_connection, is_passed_on};
use crate::session::{OtherEnd, Session};

/// How long a connection may stay open without a hello.
const STRANGER: Duration = Duration::from_secs(5);
/// Members of a mesh that relay a message, at most.
pub(super) const MAX_HOPS: u8 = 4;

/// Decodes a control message whose times and numbers are within their bounds.
fn decode_control(payload: &[u8]) -> Option<Control> {
    decode_exact(payload).ok().filter(Control::is_bounded)
}

/// Whether a control message is one that a host sends its guests.
fn is_of_a_host(payload: &[u8]) -> bool {
    matches!(
        decode_control(payload),
        Some(
            Control::Entries(_)
                | Control::Denied { .. }
                | Control::Certain { .. }
                | Control::Yields { .. }
                | Control::Farewell(_)
        )
    )
}

impl Session {
    /// Handles the events of the endpoint.
    pub(super) fn pump(&mut self, now: Duration) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Connected {
                    id,
                    peer,
                    incoming,
                    key,
                    known,
                    ..
                } => {
                    self.links.keys.insert(id, key);
                    if !incoming {
                        self.on_reached(id, peer, key, known);
                    }
                    self.on_connected(now, id, incoming);
                }
                Event::Readable { id } => self.read(now, id),
                Event::Moved { .. } => {}
                Event::Refused { peer, reason } => {
                    self.on_refused(now, peer, LeaveReason::of_refused(reason));
                }
                Event::Closed { id, reason } => {
                    self.read(now, id);
                    self.on_closed(now, id, &reason);
                }
            }
        }
    }

    /// A connection that this program asked for is there, with whoever holds this key.
    fn on_reached(&mut self, id: ConnectionId, at: SocketAddr, key: PublicKey, known: bool) {
        if self.links.connections.get(&id) == Some(&OtherEnd::Sponsor) {
            self.links.pinned.insert(at, key);
            self.emit(SessionEvent::Connected { key, known });
        }
    }

    fn on_connected(&mut self, now: Duration, id: ConnectionId, incoming: bool) {
        if incoming {
            if let State::Left(reason) = &self.state {
                // Whoever looks for the room is to look elsewhere, and not to wait for an answer.
                let (code, words) = parting(reason);
                self.links.give_up(id);
                return self.endpoint.close(now, id, code, words);
            }
            debug!(connection = %id, "connection accepted");
            let until = now + STRANGER;
            self.links
                .connections
                .insert(id, OtherEnd::Stranger { until });
            self.wake_at(until);
            return;
        }
        match self.links.connections.get(&id) {
            Some(OtherEnd::Sponsor) if self.joining.hello_sent.is_some() => {
                // Another path was quicker.
                self.links.give_up(id);
                self.endpoint.close(now, id, 0, "another way was quicker");
            }
            Some(OtherEnd::Sponsor) => {
                self.joining.hello_to = Some(id);
                self.send_hello(now, id);
            }
            Some(OtherEnd::Dialled(peer)) => {
                let peer = *peer;
                // The other has come here meanwhile.
                if self.contact(peer).connection.is_some() {
                    self.links.give_up(id);
                    self.endpoint.close(now, id, 0, "dialled by both");
                    return;
                }
                if let Some(me) = self.me {
                    let link = Control::Link {
                        from: me,
                        incarnation: self.own.incarnation,
                    };
                    self.send_control_on(now, id, &link);
                    self.bind(now, peer, id);
                    self.contact(peer).dialling.reached_at = Some(now);
                }
            }
            Some(OtherEnd::Standby(peer)) => {
                let peer = *peer;
                self.on_standby_reached(now, id, peer);
            }
            _ => {}
        }
    }

    fn read(&mut self, now: Duration, id: ConnectionId) {
        while let Some(message) = self.endpoint.recv(id) {
            if matches!(self.state, State::Left(_)) {
                continue;
            }
            let channel = message.channel;
            let message = self.traffic.buffers.payload(message.payload);
            if self.on_message(now, id, channel, message).is_none() {
                self.traffic.malformed += 1;
                warn!(connection = %id, "malformed message: connection closed");
                self.links.give_up(id);
                self.endpoint.abort(now, id, 0, "malformed message");
                self.on_connection_lost(now, id, "it sent a malformed message");
                return;
            }
        }
    }

    /// Handles one message of a connection. Returns `None` if it is malformed, or not the sender's to send.
    pub(super) fn on_message(
        &mut self,
        now: Duration,
        id: ConnectionId,
        channel: ChannelId,
        mut message: Payload,
    ) -> Option<()> {
        let end = *self.links.connections.get(&id).unwrap_or(&OtherEnd::Gone);
        if end == OtherEnd::Gone {
            return Some(());
        }
        let (envelope, head) = match channel {
            BULK => (Envelope::control(), 0),
            _ => {
                let (envelope, content) = Envelope::open(&message).ok()?;
                (envelope, message.len() - content.len())
            }
        };
        let of_game = matches!(envelope.content, Content::Game(_)) || channel == BULK;
        let waits = match end {
            OtherEnd::Sponsor => of_game,
            // A standby that has said to host goes on speaking as one; this guest may still hear the former host.
            OtherEnd::Standby(_) => of_game || is_of_a_host(&message[head..]),
            _ => false,
        };
        if waits {
            self.inbox.keep_unwelcomed(id, channel, message);
            return Some(());
        }
        if channel == BULK {
            return self.on_bulk(now, id, &message);
        }
        message.skip(head);
        let payload = message;
        let neighbour = match end {
            OtherEnd::Peer(peer) => peer,
            _ if envelope.content == Content::Control && envelope.route == Route::Direct => {
                let control = decode_control(&payload)?;
                return self.on_stranger_control(now, id, end, control);
            }
            // A member whose link is not yet known here: it will send this again.
            _ => return Some(()),
        };
        self.contact(neighbour).on_heard(now);
        self.mesh.on_heard(now, neighbour);
        let from = match envelope.route {
            Route::Direct => neighbour,
            Route::Via { .. } | Route::ToOthers => {
                let serves = self.leads() && !self.room.is_mesh();
                if !serves || envelope.content == Content::Control {
                    return None;
                }
                let for_host = matches!(envelope.route, Route::Via { to } if Some(to) == self.me);
                if let Content::Game(kind) = envelope.content
                    && !for_host
                    && !is_passed_on(kind)
                {
                    self.traffic.refused += 1;
                    return Some(());
                }
                match envelope.route {
                    Route::Via { to } if Some(to) == self.me => {
                        if let Content::Game(kind) = envelope.content {
                            self.on_game(now, neighbour, kind, payload);
                        }
                        return Some(());
                    }
                    Route::Via { to } => {
                        self.pass_on(now, neighbour, to, channel, &envelope, &payload);
                        return Some(());
                    }
                    _ => self.pass_on_to_others(now, neighbour, channel, &envelope, &payload),
                }
                neighbour
            }
            Route::From { from } => {
                let is_host = neighbour == self.room.authority() || Some(neighbour) == self.leader;
                if self.room.is_mesh() || !is_host {
                    return None;
                }
                from
            }
            Route::Relayed { from, to, .. } => {
                if !self.room.is_mesh() {
                    return None;
                }
                if Some(to) != self.me {
                    self.relay(now, channel, &envelope, &payload);
                    return Some(());
                }
                if Some(from) == self.me || self.key_of(from).is_none() {
                    // It has left, or is not known here yet: it will send this again.
                    return Some(());
                }
                if !self.is_proven_origin(from, &envelope, &payload) {
                    debug!(%from, relay = %neighbour, "relayed message without proof of its origin");
                    self.traffic.refused += 1;
                    return Some(());
                }
                from
            }
        };
        match envelope.content {
            Content::Control => {
                let control = decode_control(&payload)?;
                if from != neighbour && is_of_a_connection(&control) {
                    self.traffic.refused += 1;
                    return Some(());
                }
                self.on_control(now, id, from, control)
            }
            Content::Game(kind) => {
                let Some(number) = envelope.number else {
                    self.on_game(now, from, kind, payload);
                    return Some(());
                };
                if self.room.peer(from).is_none() {
                    // It has left, and this was still in flight.
                    return Some(());
                }
                let mut ready = core::mem::take(&mut self.traffic.scratch.ready);
                let streams = &mut self.contact(from).streams;
                streams.receive(number, kind, payload, &mut ready);
                for (kind, payload) in ready.drain(..) {
                    self.on_game(now, from, kind, payload);
                }
                self.traffic.scratch.ready = ready;
                Some(())
            }
        }
    }

    /// The host passes a guest's message on to another peer.
    fn pass_on(
        &mut self,
        now: Duration,
        from: PeerId,
        to: PeerId,
        channel: ChannelId,
        envelope: &Envelope,
        payload: &[u8],
    ) {
        let envelope = Envelope {
            route: Route::From { from },
            ..*envelope
        };
        if !self.awaits_state(to) {
            let _ = self.put(now, to, forwarding_channel(channel), &envelope, payload);
        }
    }

    /// The host passes a guest's message on to all others: the same bytes for each.
    fn pass_on_to_others(
        &mut self,
        now: Duration,
        from: PeerId,
        channel: ChannelId,
        envelope: &Envelope,
        payload: &[u8],
    ) {
        let envelope = Envelope {
            route: Route::From { from },
            ..*envelope
        };
        let sealed = &mut self.traffic.scratch.sealed;
        envelope.seal(payload, sealed);
        let channel = forwarding_channel(channel);
        for (peer, contact) in &self.links.contacts {
            if let Some(connection) = contact.connection
                && *peer != from
                && !self.admissions.states_wanted.contains(peer)
            {
                let _ = self.endpoint.send(now, connection, channel, sealed);
            }
        }
    }

    /// A member of a mesh relays a message between two that are not connected.
    fn relay(&mut self, now: Duration, channel: ChannelId, envelope: &Envelope, payload: &[u8]) {
        let Route::Relayed {
            from,
            to,
            hops,
            proof,
        } = envelope.route
        else {
            return;
        };
        let Some(hop) = self.next_hop(now, to).filter(|hop| *hop != from) else {
            return;
        };
        if hops >= MAX_HOPS {
            return;
        }
        let envelope = Envelope {
            route: Route::Relayed {
                from,
                to,
                hops: hops + 1,
                proof,
            },
            ..*envelope
        };
        let channel = forwarding_channel(channel);
        #[cfg(any(fuzzing, feature = "hostile"))]
        if self.relay_falsely(now, hop, channel, &envelope, payload) {
            return;
        }
        let _ = self.put(now, hop, channel, &envelope, payload);
    }

    /// Takes a game's message in the order of its delivery: it is held for fairness, or delivered at once.
    pub(super) fn on_game(
        &mut self,
        now: Duration,
        from: PeerId,
        kind: MessageKind,
        payload: Payload,
    ) {
        if self.inbox.is_full() {
            return;
        }
        let release = self.fair_release(now, from);
        if release > now {
            let held = self.requests.acts.hold(release, from, kind, payload);
            self.traffic.refused += u64::from(!held);
            self.wake_at(release);
            return;
        }
        self.deliver(now, from, kind, payload);
    }

    pub(super) fn deliver(
        &mut self,
        now: Duration,
        from: PeerId,
        kind: MessageKind,
        payload: Payload,
    ) {
        if self.on_act_message(now, from, kind, &payload) {
            return;
        }
        self.emit(SessionEvent::Message {
            from,
            kind,
            payload,
        });
    }

    fn on_control(
        &mut self,
        now: Duration,
        id: ConnectionId,
        from: PeerId,
        control: Control,
    ) -> Option<()> {
        match self.permits(now, from, &control) {
            Permission::Granted => {}
            Permission::Dropped => {
                self.traffic.refused += 1;
                return Some(());
            }
            Permission::Closed => return None,
        }
        self.contact(from).on_heard_through_others(now);
        match control {
            Control::Hello(hello) => self.on_hello(now, id, hello),
            Control::Link { .. } | Control::Prove(_) | Control::Frozen { .. } => {}
            Control::Welcome(welcome) => self.on_welcome(now, id, *welcome),
            Control::Farewell(reason) => self.on_farewell(now, from, reason),
            Control::Propose {
                by,
                number,
                oldest_open,
                proposal,
            } => {
                // A former life of the peer asks for nothing any more.
                if self.room.peer(from).is_some_and(|p| p.incarnation == by) {
                    self.on_propose(now, from, number, oldest_open, proposal);
                }
            }
            Control::Denied {
                to,
                lane,
                number,
                reason,
            } => {
                if Some(from) == self.leader && to == self.own.incarnation {
                    self.on_denied(now, lane, number, reason);
                }
            }
            Control::Entries(entries) => self.on_entries(now, entries),
            Control::Agreement(message) => self.on_agreement(now, from, *message),
            Control::SameBeat { digest, lacks } => self.on_same_beat(now, from, digest, lacks),
            Control::Out { incarnation, index } => self.on_out(now, id, incarnation, index),
            Control::Heartbeat(beat) => self.on_heartbeat(now, from, beat),
            Control::Succession(message) => self.on_succession(now, from, *message),
            Control::Ability {
                is_ready,
                step_us,
                upstream,
            } => {
                let step = Duration::from_micros(step_us);
                self.on_ability(now, from, is_ready, step, upstream);
            }
            Control::Certain { before } => {
                let certain = &mut self.standbys.shipping.certain;
                *certain = Some(certain.map_or(before, |known| known.max(before)));
            }
            Control::Yields { to } => self.standbys.passing.heir = Some(to),
            Control::TakeOver(said) => self.on_take_over(now, id, from, *said),
            Control::Follows { host, address } => self.on_follows(now, from, host, address),
        }
        Some(())
    }

    /// Takes a connection for that of a member of the mesh, if its key is the member's. Returns `None` if it is another's.
    fn link(
        &mut self,
        now: Duration,
        id: ConnectionId,
        from: PeerId,
        incarnation: Incarnation,
        until: Duration,
    ) -> Option<()> {
        if self.state == State::Connecting {
            // It is looking for a door itself.
            self.links.give_up(id);
            self.endpoint.close(now, id, 0, "joins anew");
            return Some(());
        }
        let key = self.links.keys.get(&id).map(|key| *key.as_bytes());
        match self.room.peer(from).filter(|_| self.room.is_present(from)) {
            Some(member) if Some(member.key) != key => return None,
            Some(_) => {
                let contact = self.links.contacts.get(&from);
                if contact.is_some_and(|c| c.keeps_dialled(now, self.own.incarnation, incarnation))
                {
                    self.links.give_up(id);
                    self.endpoint.close(now, id, 0, "dialled by both");
                    return Some(());
                }
                self.bind(now, from, id);
                self.contact(from).on_heard(now);
            }
            None if self.room.is_peer_to_come(from) => {
                let linking = OtherEnd::Linking {
                    from,
                    incarnation,
                    until,
                };
                self.links.connections.insert(id, linking);
                self.knock_at(now, id);
            }
            None => {
                let index = self.log_index();
                self.send_control_on(now, id, &Control::Out { incarnation, index });
            }
        }
        Some(())
    }

    /// The room has changed: whoever said to be a member that was not known yet may be one now.
    pub(super) fn settle_links(&mut self, now: Duration) {
        let waiting = self
            .links
            .connections
            .iter()
            .filter_map(|(id, end)| match end {
                OtherEnd::Linking {
                    from,
                    incarnation,
                    until,
                } => Some((*id, *from, *incarnation, *until)),
                _ => None,
            });
        for (id, from, incarnation, until) in waiting.collect::<Vec<_>>() {
            if self.room.is_peer_to_come(from) {
                continue;
            }
            self.links
                .connections
                .insert(id, OtherEnd::Stranger { until });
            if self.link(now, id, from, incarnation, until).is_none() {
                self.links.give_up(id);
                self.endpoint.abort(now, id, 0, "not that member");
            }
        }
    }

    /// Handles a control message of a connection whose other end is not known as a peer.
    fn on_stranger_control(
        &mut self,
        now: Duration,
        id: ConnectionId,
        end: OtherEnd,
        control: Control,
    ) -> Option<()> {
        match (end, control) {
            (OtherEnd::Stranger { .. } | OtherEnd::Newcomer { .. }, Control::Hello(hello)) => {
                self.on_hello(now, id, hello);
            }
            (OtherEnd::Stranger { until }, Control::Link { from, incarnation }) => {
                return match self.room.is_mesh() {
                    true => self.link(now, id, from, incarnation, until),
                    false => self.on_standby_link(now, id, from),
                };
            }
            (OtherEnd::Standby(peer), Control::Succession(message)) => {
                self.on_succession(now, peer, *message);
            }
            (OtherEnd::Standby(peer), Control::TakeOver(said)) => {
                self.on_take_over(now, id, peer, *said);
            }
            (OtherEnd::Standby(peer), Control::Follows { host, address }) => {
                self.on_follows(now, peer, host, address);
            }
            // A host that was lost, or a guest that has not heard that this program hosts, wants in again.
            (OtherEnd::Standby(_), Control::Hello(hello)) => self.on_hello(now, id, hello),
            (OtherEnd::Linking { .. }, Control::Agreement(message)) => {
                self.on_agreement_of_later(now, id, *message);
            }
            (
                OtherEnd::Sponsor,
                Control::Follows {
                    address: Some(address),
                    ..
                },
            ) => self.prefer_door(now, address.into()),
            (OtherEnd::Sponsor, Control::Frozen { doors }) => self.on_room_frozen(now, &doors),
            (OtherEnd::Sponsor, Control::Welcome(welcome)) => self.on_welcome(now, id, *welcome),
            (OtherEnd::Sponsor, Control::Prove(prove)) => self.on_prove(now, id, prove),
            (OtherEnd::Sponsor, Control::Farewell(LeaveReason::Left(_))) => {
                let words = "the member asked has left".to_owned();
                self.finish(now, LeaveReason::NotReached(words));
            }
            (OtherEnd::Sponsor, Control::Farewell(reason)) => self.finish(now, reason),
            _ => {}
        }
        Some(())
    }
}
