//! The connections between the members of a mesh: heartbeats, routes, and who dials whom.

use core::time::Duration;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use samestep_proto::{CloseReason, ConnectionId, PublicKey, RefuseReason};
use tracing::debug;

use crate::agreement::Incarnation;
use crate::control::{Control, Heartbeat};
use crate::event::{LeaveReason, State};
use crate::id::PeerId;
use crate::room::{PeerInfo, Presence};
use crate::session::agree::WAIT_SILENCE;
use crate::session::{Contact, OtherEnd, Session};

/// Time between two rounds of heartbeats. Who has nothing to be told gets one in one and a half seconds, together with a beat of the
/// agreement.
pub(super) const BEAT: Duration = Duration::from_millis(250);
const CALM: Duration = Duration::from_millis(1500);
/// Every second round carries clock reports while clocks are new, and one in 64 later.
const REPORT_EVERY: u32 = 2;
const REPORT_CALM: u32 = 64;
/// A mesh whose members changed within this time is told more often about routes and clocks.
const YOUNG: Duration = Duration::from_secs(10);
/// A leader calls a member that has been away for so long and has not come to a door.
const CALL_AFTER: Duration = Duration::from_secs(5);
/// Longest wait for the last words of who has said goodbye.
const HANGING_UP: Duration = Duration::from_secs(1);

/// The connections of this program, and to whom they lead.
#[derive(Default)]
pub(super) struct Links {
    pub(super) contacts: BTreeMap<PeerId, Contact>,
    pub(super) connections: BTreeMap<ConnectionId, OtherEnd>,
    /// The static key that the other end of each connection has proven.
    pub(super) keys: BTreeMap<ConnectionId, PublicKey>,
    /// The keys found at the addresses of the room: nobody else is believed there.
    pub(super) pinned: BTreeMap<SocketAddr, PublicKey>,
}

impl Links {
    /// The connection to a peer of the room.
    pub(super) fn connection(&self, peer: PeerId) -> Option<ConnectionId> {
        self.contacts.get(&peer)?.connection
    }

    /// The connection to the member that was heard last.
    pub(super) fn heard_last(&self) -> Option<ConnectionId> {
        let linked = self.contacts.values().filter(|c| c.connection.is_some());
        linked.max_by_key(|c| c.last_heard())?.connection
    }

    /// The connections to members through which this program wants to join.
    pub(super) fn sponsors(&self) -> Vec<ConnectionId> {
        let ends = self.connections.iter();
        ends.filter(|(_, end)| **end == OtherEnd::Sponsor)
            .map(|(id, _)| *id)
            .collect()
    }

    /// A connection is given up: messages that still arrive are ignored.
    pub(super) fn give_up(&mut self, id: ConnectionId) {
        self.connections.insert(id, OtherEnd::Gone);
    }
}

impl Session {
    fn silence(&self) -> Duration {
        self.room
            .rules
            .drop_after_us
            .map_or(WAIT_SILENCE, Duration::from_micros)
    }

    /// Whether nothing has come from a peer, by any way, for too long.
    pub(super) fn is_silent(&self, now: Duration, peer: PeerId) -> bool {
        match self.links.contacts.get(&peer) {
            _ if Some(peer) == self.me => false,
            // Who said goodbye is as good as silent from then on.
            Some(contact) => {
                contact.farewell.is_some() || now.saturating_sub(contact.heard) >= self.silence()
            }
            None => true,
        }
    }

    /// Whether nothing more comes from who has said goodbye.
    pub(super) fn has_hung_up(&self, now: Duration, peer: PeerId) -> bool {
        self.links
            .contacts
            .get(&peer)
            .is_none_or(|c| c.connection.is_none() || now.saturating_sub(c.heard) >= HANGING_UP)
    }

    pub(super) fn said_farewell(&self, peer: PeerId) -> bool {
        self.links
            .contacts
            .get(&peer)
            .is_some_and(|c| c.farewell.is_some())
    }

    /// Several times a second: tells every member about routes and clocks, and sends again what was not acknowledged.
    pub(super) fn beat(&mut self, now: Duration, with_agreement: bool) {
        self.timers.next_beat = now + BEAT;
        let Some(me) = self.me else {
            return;
        };
        if !self.room.is_mesh() || matches!(self.state, State::Connecting | State::Left(_)) {
            return;
        }
        let others: Vec<PeerId> = self
            .room
            .peers()
            .iter()
            .filter(|p| p.id != me)
            .filter(|p| p.presence != Presence::Away || self.state == State::Frozen)
            .map(|p| p.id)
            .collect();
        let hears: Vec<PeerId> = self.direct(now).collect();
        self.timers.beats += 1;
        let young = now.saturating_sub(self.timers.met_at) < YOUNG;
        let every = if young { REPORT_EVERY } else { REPORT_CALM };
        let clock = match self.timers.beats.is_multiple_of(every) {
            true => self.clock.keeper.mesh_report(now),
            false => None,
        };
        let waited = now.saturating_sub(self.timers.last_round);
        let due = waited >= CALM + BEAT * 2 || (with_agreement && waited + BEAT / 2 >= CALM);
        let is_round = young || clock.is_some() || due || self.state != State::InSync;
        if is_round {
            self.timers.last_round = now;
        }
        for peer in others {
            let contact = self.links.contacts.entry(peer).or_default();
            let received = contact.streams.acks();
            let is_told = is_round || received != contact.told_acks || contact.hears_of != hears;
            if is_told {
                contact.told_acks = received;
                contact.hears_of.clone_from(&hears);
                let beat = Heartbeat {
                    hears: hears.clone(),
                    received,
                    clock_us: now.as_micros() as u64,
                    clock: clock.clone(),
                };
                self.send_control_unreliably(now, peer, &Control::Heartbeat(beat));
            }
            self.dial_member(now, peer);
            self.resend(now, peer);
        }
        if self.leads() {
            // Who is away may be frozen, and know nobody any more who is still here.
            let is_lost = |p: &&PeerInfo| {
                let since = self.leading.absent_since.get(&p.id);
                let long = since.is_some_and(|since| now.saturating_sub(*since) >= CALL_AFTER);
                let at_the_door = self.links.keys.values().any(|key| *key.as_bytes() == p.key);
                p.presence == Presence::Away && long && !at_the_door
            };
            let lost = self.room.peers().iter().filter(is_lost).map(|p| p.id);
            for peer in lost.collect::<Vec<_>>() {
                self.dial_member(now, peer);
            }
        }
        self.freeze_or_thaw(now);
        self.drop_silent(now);
        self.drop_convicted(now);
    }

    /// Connects to a member there is no connection to. The one that came later dials.
    fn dial_member(&mut self, now: Duration, peer: PeerId) {
        let mine = self.own.since_index;
        let Some(info) = self.room.peer(peer) else {
            return;
        };
        let (Some(address), key, since) = (info.address, info.key, info.since) else {
            return;
        };
        let lost = self.state == State::Frozen || info.presence == Presence::Away;
        let dialling = OtherEnd::Dialled(peer);
        if self.links.connections.values().any(|end| *end == dialling) {
            return;
        }
        let contact = self.links.contacts.entry(peer).or_default();
        if contact.connection.is_some() || contact.dialling.next > now || (since > mine && !lost) {
            return;
        }
        let Ok(key) = PublicKey::from_bytes(key) else {
            return;
        };
        contact.dialling.count += 1;
        // Who is alone has nothing better to do than to look for the others.
        let alone = self.state == State::Frozen;
        let patience = if alone {
            0
        } else {
            contact.dialling.count.min(3)
        };
        contact.dialling.next = now + Duration::from_secs(1 << patience);
        let with_password = !contact.dialling.by_key;
        let password = self.config.password_as(&self.role);
        let options = samestep_proto::ConnectOptions {
            password: password.filter(|_| with_password),
            server_key: Some(key),
            ..Default::default()
        };
        if let Ok(id) = self.endpoint.connect(now, address.into(), options) {
            debug!(%peer, "connecting to a member");
            self.links.connections.insert(id, dialling);
        }
    }

    /// A member that this program dialled did not let it in. The password opens where this program is not known to be a member yet, or not any more; its key
    /// does everywhere else, and still does when the password was changed meanwhile. So the one is tried after the other, at once the first time.
    pub(super) fn on_dial_failed(&mut self, now: Duration, peer: PeerId, reason: &CloseReason) {
        let asks = matches!(
            reason,
            CloseReason::Refused(
                RefuseReason::Password
                    | RefuseReason::PasswordRequired
                    | RefuseReason::PasswordUnneeded
            )
        );
        if let Some(contact) = self.links.contacts.get_mut(&peer).filter(|_| asks) {
            let dialling = &mut contact.dialling;
            dialling.by_key = !dialling.by_key;
            if dialling.refusals.is_multiple_of(2) {
                dialling.next = now;
            }
            dialling.refusals += 1;
            self.wake_at(now);
        }
    }

    pub(super) fn on_heartbeat(&mut self, now: Duration, from: PeerId, beat: Heartbeat) {
        if !self.room.is_mesh() || self.me.is_none() {
            return;
        }
        let contact = self.links.contacts.entry(from).or_default();
        contact.hears = beat.hears;
        contact.reported = now;
        contact.clock.on_told(now, beat.clock_us);
        contact.streams.on_acks(&beat.received);
        if let Some(report) = &beat.clock {
            self.clock.keeper.on_mesh_report(now, from, report);
        }
    }

    /// Somebody says this incarnation is no member any more.
    pub(super) fn on_out(
        &mut self,
        now: Duration,
        id: ConnectionId,
        incarnation: Incarnation,
        index: u64,
    ) {
        let member = matches!(self.state, State::InSync | State::Loading | State::Frozen);
        // Who knows less than that this incarnation has begun cannot tell.
        if member && self.own.incarnation == incarnation && self.own.since_index <= index {
            self.rejoin_through(now, Some(id), "was dropped by the others");
        }
    }

    /// The reason a peer gave when it left, if it did.
    pub(super) fn on_farewell(&mut self, now: Duration, from: PeerId, reason: LeaveReason) {
        let leaving = matches!(reason, LeaveReason::Left(_));
        if self.room.is_mesh() && leaving {
            self.contact(from).farewell = Some(reason);
            self.wake_at(now);
            return;
        }
        if !self.room.is_mesh() && self.leads() {
            // What it said before is still arriving: it has left once its connection is closed.
            self.contact(from).farewell = Some(reason);
            return;
        }
        if self.room.is_mesh() && matches!(reason, LeaveReason::RoomClosed(_)) {
            self.contact(from).says_closed = true;
            if !self.is_closed(now, from) {
                return;
            }
        }
        let hands_over = matches!(reason, LeaveReason::Left(_));
        if !self.room.is_mesh() && hands_over && !self.room.standbys().is_empty() {
            // A standby takes its place.
            return;
        }
        self.part(now);
        self.finish(now, reason);
    }
}
