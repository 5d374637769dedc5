//! Connections between standbys and the other guests, before they are needed, and the messages of the agreement on them.

use core::time::Duration;

use samestep_proto::{ConnectOptions, ConnectionId, PublicKey};
use tracing::debug;

use super::ship::Shipped;
use crate::agreement::{Body, Message};
use crate::channels::{CONTROL, UNRELIABLE};
use crate::control::Control;
use crate::event::State;
use crate::id::PeerId;
use crate::session::send::sealed;
use crate::session::{OtherEnd, Session};

/// Time between attempts to reach a standby.
const DIAL_EVERY: Duration = Duration::from_secs(1);

/// A connection between a standby and another guest.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::session) struct Link {
    pub(super) connection: Option<ConnectionId>,
    pub(super) next_dial: Duration,
}

impl Session {
    /// Takes a message of the agreement of host and standbys.
    pub(in crate::session) fn on_succession(
        &mut self,
        now: Duration,
        from: PeerId,
        message: Message<Shipped>,
    ) {
        let speaks_as = self.room.peer(from).map(|p| p.incarnation);
        let follower = self.standbys.following.follower.as_ref();
        let known = follower
            .and_then(|f| f.room.peer(from))
            .map(|p| p.incarnation);
        if speaks_as != Some(message.from) && known != Some(message.from) {
            self.traffic.refused += 1;
            return;
        }
        if let Some(core) = &mut self.standbys.core {
            core.handle(now, message.from, message);
            self.pump_standbys(now);
        }
    }

    pub(in crate::session) fn send_succession(&mut self, now: Duration, message: Message<Shipped>) {
        let to = message.to;
        let known = self.room.peers().iter().find(|p| p.incarnation == to);
        let slot = || self.standbys.core.as_ref()?.view().slot(to);
        let Some(peer) = known.map(|p| p.id).or_else(|| slot().map(|s| PeerId(s.0))) else {
            return;
        };
        let repeated = matches!(
            message.body,
            Body::Beat(_)
                | Body::PreVote { .. }
                | Body::PreVoted { .. }
                | Body::Follow { .. }
                | Body::Lease { .. }
                | Body::Granted { .. }
                | Body::HandOver { .. }
        );
        let channel = if repeated { UNRELIABLE } else { CONTROL };
        self.put_succession(now, peer, channel, message);
    }

    pub(in crate::session) fn put_succession(
        &mut self,
        now: Duration,
        peer: PeerId,
        channel: samestep_proto::ChannelId,
        message: Message<Shipped>,
    ) {
        let contact = self.links.connection(peer);
        let Some(id) = contact.or_else(|| self.standbys.link(peer)) else {
            return;
        };
        let bytes = sealed(&Control::Succession(Box::new(message)));
        let _ = self.endpoint.send(now, id, channel, &bytes);
    }

    pub(in crate::session) fn knock_at_members(&mut self, now: Duration, knock: &Message<Shipped>) {
        let host = self.room.authority();
        let peers = self.room.standbys().iter().copied().chain([host]);
        for peer in peers.collect::<Vec<_>>() {
            if Some(peer) != self.me {
                self.put_succession(now, peer, UNRELIABLE, knock.clone());
            }
        }
    }

    /// Connects to the standbys, so that they are known should they be needed. Between two of them, the one with the higher number does.
    pub(in crate::session) fn dial_standbys(&mut self, now: Duration) {
        let Some(me) = self.me.filter(|_| self.state != State::Connecting) else {
            return;
        };
        if self.leads() && self.state != State::Frozen {
            return;
        }
        let stands_by = self.room.standbys().contains(&me);
        let peers: Vec<PeerId> = self.room.standbys().to_vec();
        for peer in peers {
            let skip = peer == me
                || peer == self.room.authority()
                || (stands_by && peer > me)
                || self
                    .links
                    .contacts
                    .get(&peer)
                    .is_some_and(|c| c.connection.is_some());
            let Some(info) = self.room.peer(peer).filter(|_| !skip) else {
                continue;
            };
            let (Some(address), Ok(key)) = (info.address, PublicKey::from_bytes(info.key)) else {
                continue;
            };
            let link = self.standbys.links.entry(peer).or_default();
            if link.connection.is_some() || link.next_dial > now {
                continue;
            }
            link.next_dial = now + DIAL_EVERY;
            let dialled = OtherEnd::Standby(peer);
            let dials = |end: &OtherEnd| *end == dialled;
            if self.links.connections.values().any(dials) {
                continue;
            }
            let options = ConnectOptions {
                server_key: Some(key),
                ..ConnectOptions::default()
            };
            if let Ok(id) = self.endpoint.connect(now, address.into(), options) {
                debug!(%peer, "connecting to a standby");
                self.links.connections.insert(id, dialled);
            }
        }
    }

    /// A connection to a standby is there.
    pub(in crate::session) fn on_standby_reached(
        &mut self,
        now: Duration,
        id: ConnectionId,
        peer: PeerId,
    ) {
        if let Some(me) = self.me {
            let link = Control::Link {
                from: me,
                incarnation: self.own.incarnation,
            };
            self.send_control_on(now, id, &link);
            self.bind_link(now, peer, id);
        }
    }

    /// Another guest, or a host that was lost, has connected to this program, which stands by or hosts.
    pub(in crate::session) fn on_standby_link(
        &mut self,
        now: Duration,
        id: ConnectionId,
        from: PeerId,
    ) -> Option<()> {
        let key = self.links.keys.get(&id).map(|key| *key.as_bytes());
        match self.room.peer(from) {
            Some(peer) if Some(peer.key) != key => return None,
            Some(_) if Some(from) != self.me => self.bind_link(now, from, id),
            _ => {
                // It is tried again when this program knows it too.
                self.links.give_up(id);
                self.endpoint.close(now, id, 0, "not known here yet");
            }
        }
        Some(())
    }

    pub(in crate::session) fn bind_link(&mut self, now: Duration, peer: PeerId, id: ConnectionId) {
        let link = self.standbys.links.entry(peer).or_default();
        let old = link.connection.replace(id);
        self.links.connections.insert(id, OtherEnd::Standby(peer));
        if let Some(old) = old.filter(|old| *old != id) {
            self.links.give_up(old);
            self.endpoint.abort(now, old, 0, "replaced");
        }
        if self.room.is_mesh() || self.standbys.core.is_none() {
            return;
        }
        // It may not know yet who hosts.
        match self.leads() {
            true => self.tell_take_over(now, peer, id),
            false => self.tell_host_on(now, self.room.authority(), id),
        }
    }
}
