//! Leaving, vanishing, coming back.

use core::time::Duration;
use std::net::SocketAddr;

use samestep_proto::{CloseReason, ConnectionId};
use tracing::{debug, info};

use crate::bounds::us;
use crate::config::Role;
use crate::control::Control;
use crate::event::{LeaveReason, SessionEvent, State, shorten};
use crate::id::{PeerId, PlayerId};
use crate::room::{Change, PeerKind, Presence};
use crate::session::joining::RETRY_EVERY;
use crate::session::{Contact, OtherEnd, Session};

/// How long a host waits for the last messages of a client that has said farewell and is silent since: its program may have ended.
const PARTING: Duration = Duration::from_secs(2);
/// How much longer a slot is kept for somebody who asks for it.
const RECLAIMING: Duration = Duration::from_secs(1);

impl Session {
    pub(super) fn on_closed(&mut self, now: Duration, id: ConnectionId, reason: &CloseReason) {
        let end = self.links.connections.remove(&id);
        self.links.keys.remove(&id);
        if matches!(self.state, State::Left(_)) {
            return;
        }
        match end {
            Some(OtherEnd::Sponsor) => self.on_sponsor_lost(now, reason),
            Some(OtherEnd::Newcomer { .. }) => self.on_newcomer_gone(id),
            Some(OtherEnd::Peer(peer)) => self.on_peer_lost(now, id, peer, reason),
            Some(OtherEnd::Standby(_)) => self.standbys.unlink(id),
            Some(OtherEnd::Dialled(peer)) => self.on_dial_failed(now, peer, reason),
            Some(OtherEnd::Stranger { .. } | OtherEnd::Linking { .. } | OtherEnd::Gone) | None => {}
        }
    }

    /// A connection was given up here.
    pub(super) fn on_connection_lost(&mut self, now: Duration, id: ConnectionId, why: &str) {
        let owner = self
            .links
            .contacts
            .iter()
            .find(|(_, contact)| contact.connection == Some(id))
            .map(|(peer, _)| *peer);
        if let Some(peer) = owner {
            let reason = CloseReason::Remote {
                code: 0,
                reason: shorten(why),
            };
            self.on_peer_lost(now, id, peer, &reason);
        } else {
            self.on_newcomer_gone(id);
        }
    }

    fn on_sponsor_lost(&mut self, now: Duration, reason: &CloseReason) {
        if !self
            .links
            .connections
            .values()
            .any(|e| *e == OtherEnd::Sponsor)
        {
            self.joining.hello_sent = None;
        }
        if self.is_asked_for_more(reason)
            && (self.joining.retry.is_none() || self.me.is_none())
            && let Some(address) = self.role.join().map(|join| join.address)
            && self.dial_home(now, address).is_ok()
        {
            return;
        }
        match (&mut self.joining.retry, reason) {
            (None, reason) => self.finish(now, LeaveReason::of_close(reason)),
            (Some(retry), reason) => {
                let why = LeaveReason::of_close(reason);
                let refused = self.me.is_none() && !matches!(why, LeaveReason::NotReached(_));
                if refused || matches!(why, LeaveReason::Banned(_)) {
                    // Every door is one of the same room.
                    return self.finish(now, why);
                }
                // Why the room was lost matters more than that it still does not answer.
                if !matches!(reason, CloseReason::NoAnswer | CloseReason::TimedOut) {
                    retry.why = reason.to_string();
                }
                let next = retry.next;
                self.wake_at(next);
            }
        }
    }

    fn on_peer_lost(
        &mut self,
        now: Duration,
        id: ConnectionId,
        peer: PeerId,
        reason: &CloseReason,
    ) {
        let contact = self.contact(peer);
        if contact.connection != Some(id) {
            return;
        }
        contact.connection = None;
        contact.dialling.next = now;
        debug!(%peer, %reason, "connection lost");
        if self.room.is_mesh() {
            self.look_for_another_sponsor(now, peer);
            self.wake_at(now);
            return;
        }
        if self.leads() {
            contact_gone(self, now, peer, reason);
        } else if peer == self.room.authority() {
            match reason {
                CloseReason::Remote { code, reason } => {
                    let why = LeaveReason::from_close(*code, reason);
                    let goes_on = matches!(why, LeaveReason::NotReached(_));
                    match goes_on && !self.room.standbys().is_empty() {
                        true if self.state == State::InSync => self.await_next_host(now),
                        true => self.rejoin_through(now, None, reason),
                        false => self.finish(now, why),
                    }
                }
                reason => self.rejoin_through(now, None, &reason.to_string()),
            }
        }
    }

    /// If this program waits for a state that this member was to bring, it will not come.
    pub(super) fn look_for_another_sponsor(&mut self, now: Duration, gone: PeerId) {
        let sponsor = self.me.and_then(|me| self.room.peer(me)).map(|p| p.sponsor);
        let waits = self.inbox.is_loading() && self.state == State::Loading;
        if waits && sponsor == Some(gone) && self.room.is_mesh() {
            self.rejoin_through(now, None, "lost the member it joined through");
        }
    }

    /// Looks for a way back into the room: over a connection there is, or over new ones.
    pub(super) fn rejoin_through(&mut self, now: Duration, id: Option<ConnectionId>, why: &str) {
        self.state = State::Connecting;
        let grace = Duration::from_micros(self.room.rules.rejoin_grace_us);
        self.emit(SessionEvent::Reconnecting {
            why: why.to_owned(),
        });
        let next = match id {
            Some(_) => now + RETRY_EVERY * 3,
            None => now,
        };
        self.joining.retry(now + grace, next, 0, why);
        let dialled: Vec<ConnectionId> = self
            .links
            .connections
            .iter()
            .filter(|(_, end)| matches!(end, OtherEnd::Dialled(_)))
            .map(|(id, _)| *id)
            .collect();
        for id in dialled {
            self.links.give_up(id);
            self.endpoint.abort(now, id, 0, "joins anew");
        }
        if let Some(id) = id {
            if let Some(OtherEnd::Peer(peer)) = self.links.connections.insert(id, OtherEnd::Sponsor)
            {
                self.contact(peer).connection = None;
            }
            // A return is another incarnation, also on a connection that was used before.
            self.joining.announced_on = None;
            self.joining.hello_to = Some(id);
            self.send_hello(now, id);
        }
        self.wake_at(next);
    }

    /// A newcomer that one door did not let in tries all that it knows, for as long as a place would be kept for it.
    pub(super) fn try_doors(&mut self, now: Duration, why: &str) {
        let next = now + RETRY_EVERY;
        let until = now + self.config.rejoin_grace;
        self.joining.retry(until, next, 1, why);
        self.hang_up_on_sponsor(now);
        self.wake_at(next);
    }

    /// A newcomer that knows several doors of the room tries the others while the first does not answer.
    pub(super) fn know_doors(&mut self, now: Duration, doors: Vec<SocketAddr>) {
        if !doors.is_empty() {
            self.joining.remember_doors(doors);
            let (until, next) = (now + self.config.rejoin_grace, now + RETRY_EVERY);
            self.joining.retry(until, next, 1, "nobody answers");
            self.wake_at(next);
        }
    }

    /// Tries again to come back.
    pub(super) fn retry(&mut self, now: Duration) {
        let Some(retry) = self.joining.retry.clone() else {
            return;
        };
        if now >= retry.until {
            let why = &retry.why;
            let words = match self.me {
                Some(_) => {
                    let who = if self.room.is_mesh() {
                        "the others"
                    } else {
                        "the host"
                    };
                    let grace = self.room.rules.rejoin_grace_us / 1_000_000;
                    format!("lost {who}, and not back within {grace} s: {why}")
                }
                None => {
                    let grace = self.config.rejoin_grace.as_secs();
                    format!("not let in at any address of the room within {grace} s: {why}")
                }
            };
            return self.finish(now, LeaveReason::NotReached(shorten(&words)));
        }
        if now < retry.next {
            self.wake_at(retry.next.min(retry.until));
            return;
        }
        let ways = self.ways_back();
        let connections = &self.links.connections;
        self.joining
            .homes
            .retain(|id, _| connections.get(id) == Some(&OtherEnd::Sponsor));
        let way = self.joining.next_way(retry.turn, &ways);
        if let Some(address) = way {
            let _ = self.dial_home(now, address);
        }
        self.joining.on_turn(now, way.is_some());
        self.wake_at(now + RETRY_EVERY);
    }

    /// Addresses at which the room may be found.
    fn ways_back(&self) -> Vec<SocketAddr> {
        let mut ways: Vec<SocketAddr> = self.role.join().map(|j| j.address).into_iter().collect();
        ways.extend(self.joining.doors());
        // Of a hosted room only the addresses of standbys are known.
        for peer in self.room.present() {
            let address = peer.address.map(SocketAddr::from);
            if let Some(address) = address
                && Some(peer.id) != self.me
                && !ways.contains(&address)
            {
                ways.push(address);
            }
        }
        ways
    }

    /// Whoever was asked is silent, and may be gone: the room is looked for elsewhere, if another way is known.
    pub(super) fn try_elsewhere(&mut self, now: Duration) -> bool {
        let knows_others = self.ways_back().len() > 1;
        let Some(retry) = self.joining.retry.as_mut().filter(|_| knows_others) else {
            return false;
        };
        retry.next = now;
        self.hang_up_on_sponsor(now);
        true
    }

    /// Tries this address of the room next.
    pub(super) fn prefer_door(&mut self, now: Duration, address: SocketAddr) {
        self.joining.remember_doors([address]);
        let way = self.ways_back().iter().position(|way| *way == address);
        if let (Some(way), Some(retry)) = (way, &mut self.joining.retry) {
            (retry.turn, retry.next) = (way, now);
            self.wake_at(now);
        }
    }

    pub(super) fn on_away(&mut self, now: Duration, index: u64, peer: PeerId) {
        if Some(peer) == self.me {
            // Whoever brought the news is there, and may be the only one who still is.
            let through = self.links.heard_last().filter(|_| self.room.is_mesh());
            return self.rejoin_through(now, through, "was dropped by the others");
        }
        // To who has just come back it may be old news: what that peer has said since counts, and since when it is away came with the welcome.
        let is_news = index >= self.own.since_index;
        if is_news {
            self.leading
                .absent_since
                .insert(peer, self.silent_since(now, peer));
        }
        self.leading.askers.forget_peer(peer);
        self.admissions.states_wanted.retain(|p| *p != peer);
        if let Some(contact) = self.links.contacts.get_mut(&peer).filter(|_| is_news) {
            contact.welcomed = false;
            contact.streams.reset(0);
        }
        self.emit(SessionEvent::PeerAway { peer });
        self.emit(SessionEvent::OwnersChanged);
        if let Some(leader) = self.leader {
            self.clock.keeper.set_members(now, &self.room, leader);
        }
        self.look_for_another_sponsor(now, peer);
        self.wake_at(now);
    }

    /// Since when a peer that is marked away now counts as absent: since its silence was too long, however long the others took to agree on that.
    fn silent_since(&self, now: Duration, peer: PeerId) -> Duration {
        let heard = self.links.contacts.get(&peer).map(Contact::last_heard);
        let silence = self.room.rules.drop_after_us.map(Duration::from_micros);
        match (heard, silence) {
            (Some(heard), Some(silence)) if self.room.is_mesh() => {
                (heard + silence).clamp(now.saturating_sub(silence), now)
            }
            _ => now,
        }
    }

    pub(super) fn on_left(
        &mut self,
        now: Duration,
        peer: PeerId,
        reason: LeaveReason,
        players: &[PlayerId],
    ) {
        if Some(peer) == self.me {
            self.part(now);
            return self.finish(now, reason);
        }
        self.admissions.departures += 1;
        self.leading.absent_since.remove(&peer);
        self.leading.reclaimed_at.remove(&peer);
        self.leading.askers.forget_peer(peer);
        self.admissions.states_wanted.retain(|p| *p != peer);
        self.mesh.forget_learner(&self.links.contacts, peer);
        let sent_away = matches!(
            reason,
            LeaveReason::Kicked(_) | LeaveReason::Banned(_) | LeaveReason::LoadingTooLong
        );
        if self.leads() && sent_away {
            self.send_control(now, peer, &Control::Farewell(reason.clone()));
        }
        if let Some(id) = self.links.contacts.remove(&peer).and_then(|c| c.connection) {
            self.links.give_up(id);
            let (code, words) = reason.to_close();
            self.endpoint.close(now, id, code, words);
        }
        for player in players {
            self.emit(SessionEvent::PlayerLeft { player: *player });
        }
        self.emit(SessionEvent::PeerLeft { peer, reason });
        self.emit(SessionEvent::OwnersChanged);
        if let Some(leader) = self.leader {
            self.clock.keeper.set_members(now, &self.room, leader);
        }
        self.look_for_another_sponsor(now, peer);
    }

    /// The authority gives up the places of those who have been away or loading for too long.
    pub(super) fn expire(&mut self, now: Duration) {
        if !self.leads() {
            return;
        }
        let rules = &self.room.rules;
        let load = Duration::from_micros(rules.load_grace_us);
        let rejoin = Duration::from_micros(rules.rejoin_grace_us);
        let mut over = Vec::new();
        let mut next: Option<Duration> = None;
        let expected = self.mesh.expected(&self.room);
        for (peer, since) in &self.leading.absent_since {
            let mut wished = self.leading.wishes.iter();
            // Who is about to be away was told to be silent some time ago, and may have been heard since.
            let known = self.room.peer(*peer);
            let is_here = known.is_some_and(|p| p.presence == Presence::InSync);
            if is_here || wished.any(|(wished, _)| wished == peer) {
                continue;
            }
            let (grace, reason) = match expected.peer(*peer).map(|p| p.presence) {
                Some(Presence::Away) => (rejoin, LeaveReason::Silent),
                Some(Presence::Loading) => (load, LeaveReason::LoadingTooLong),
                _ => continue,
            };
            let mut end = *since + grace;
            // Who comes back at the last moment is still proving its key. The extension is bounded: a lying member could ask for ever.
            if let Some(asked) = self.leading.reclaimed_at.get(peer) {
                end = end.max((*asked + RECLAIMING).min(end + RECLAIMING));
            }
            match now >= end {
                true => over.push((*peer, reason)),
                false => next = Some(next.map_or(end, |n| n.min(end))),
            }
        }
        if !self.room.is_mesh() {
            for (peer, contact) in &self.links.contacts {
                let silent = now.saturating_sub(contact.heard) >= PARTING;
                if let (Some(reason), true) = (&contact.farewell, silent) {
                    over.push((*peer, reason.clone()));
                }
            }
        }
        for (peer, reason) in over {
            // Since when it is away is known until it has left: another may have to see to that.
            self.wish(now, peer, Change::Left { peer, reason });
        }
        self.fulfil_wishes(now);
        if let Some(next) = next {
            self.wake_at(next);
        }
    }

    /// This program's part is over.
    pub(super) fn finish(&mut self, now: Duration, reason: LeaveReason) {
        if matches!(self.state, State::Left(_)) {
            return;
        }
        if self.joining.may_go_on(now) && matches!(reason, LeaveReason::NotReached(_)) {
            // This member could not help; another may.
            return self.hang_up_on_sponsor(now);
        }
        self.inbox.end_loading();
        if self.room.is_mesh() && matches!(reason, LeaveReason::RoomClosed(_)) {
            // Whoever does not hear the leader hears it from others.
            self.send_control_to_all(now, &Control::Farewell(reason.clone()));
        }
        self.inbox.drop_questions();
        self.leading.askers.forget();
        self.requests.acts.forget();
        self.give_up_proposals();
        self.state = State::Left(reason.clone());
        let (code, words) = parting(&reason);
        for (id, end) in core::mem::take(&mut self.links.connections) {
            if end != OtherEnd::Gone {
                self.endpoint.close(now, id, code, words);
            }
        }
        self.links.contacts.clear();
        self.joining.retry = None;
        self.timers.wake = None;
        self.emit(SessionEvent::Left { reason });
    }

    /// One way in is enough.
    pub(super) fn hang_up_on_others(&mut self, now: Duration, keep: ConnectionId) {
        let mut others = self.links.sponsors();
        others.retain(|id| *id != keep);
        for id in others {
            self.links.give_up(id);
            self.endpoint.close(now, id, 0, "another way was quicker");
        }
    }

    fn hang_up_on_sponsor(&mut self, now: Duration) {
        for id in self.links.sponsors() {
            self.links.give_up(id);
            self.endpoint.close(now, id, 0, "trying elsewhere");
        }
        self.joining.hello_sent = None;
        if let Some(retry) = &self.joining.retry {
            let next = retry.next;
            self.wake_at(next);
        }
    }

    pub(super) fn send_control_to_all(&mut self, now: Duration, control: &Control) {
        let peers: Vec<PeerId> = self.links.contacts.keys().copied().collect();
        for peer in peers {
            self.send_control(now, peer, control);
        }
    }

    /// Leaves the room. A host that leaves hands over to a standby first, if it has one; else it closes the room.
    pub fn leave(&mut self, now: Duration, words: &str) {
        if matches!(self.state, State::Left(_)) || self.standbys.passing.leaving.is_some() {
            return;
        }
        if matches!(self.role, Role::Host) {
            if !self.hand_over_and_leave(now, words) {
                self.close_room(now, words);
            }
            return;
        }
        self.joining.retry = None;
        let reason = LeaveReason::Left(shorten(words));
        self.send_control_to_all(now, &Control::Farewell(reason.clone()));
        self.part(now);
        self.finish(now, reason);
    }

    /// After leaving, closes all connections without waiting for acknowledgements: for a program that ends now. What it has sent may still arrive,
    /// and its slot is free as soon as the close does.
    pub fn hang_up(&mut self, now: Duration) {
        if let State::Left(reason) = &self.state {
            let (code, words) = parting(reason);
            let open: Vec<ConnectionId> = self.endpoint.connections().collect();
            for id in open {
                self.endpoint.abort(now, id, code, words);
            }
        }
    }

    /// Closes the room for everybody. Only the authority can.
    pub fn close_room(&mut self, now: Duration, words: &str) {
        if !self.leads() {
            return;
        }
        let words = shorten(words);
        if self.room.is_mesh() {
            self.append(now, None, Change::Closed { words });
            return;
        }
        let reason = LeaveReason::RoomClosed(words);
        self.send_control_to_all(now, &Control::Farewell(reason.clone()));
        self.finish(now, reason);
    }

    /// Sends somebody away. Only the authority can.
    pub fn kick(&mut self, now: Duration, peer: PeerId, words: &str) {
        let reason = LeaveReason::Kicked(shorten(words));
        self.send_away(now, peer, Change::Left { peer, reason });
    }

    /// Sends somebody away and does not let it in again for a while: neither by its key, nor, if nobody else here
    /// shares it, by its address. Only the authority can.
    pub fn ban(&mut self, now: Duration, peer: PeerId, lasting: Duration, words: &str) {
        if !self.leads() || Some(peer) == self.me {
            return;
        }
        let mut address = None;
        if self.room.peer(peer).is_some() {
            let ip = |peer: PeerId| {
                let known = self.room.peer(peer)?.address.map(SocketAddr::from);
                let connection = self.links.contacts.get(&peer)?.connection;
                let address = known.or_else(|| self.endpoint.peer_address(connection?));
                address.map(|a| a.ip())
            };
            let own = ip(peer);
            let shared = self
                .links
                .contacts
                .keys()
                .any(|other| *other != peer && ip(*other) == own);
            address = own.filter(|ip| !shared && !ip.is_loopback());
        }
        let until = self.time(now).unwrap_or_default() + lasting;
        let ban = Change::Banned {
            peer,
            address: address.map(|ip| SocketAddr::new(ip, 0).into()),
            until_us: us(until),
            words: shorten(words),
        };
        self.send_away(now, peer, ban);
    }

    fn send_away(&mut self, now: Duration, peer: PeerId, change: Change) {
        if self.leads() && Some(peer) != self.me {
            info!(%peer, "sending a peer away");
            if self.room.is_mesh() {
                let reason = match &change {
                    Change::Banned { words, .. } => LeaveReason::Banned(words.clone()),
                    Change::Left { reason, .. } => reason.clone(),
                    _ => LeaveReason::Kicked(String::new()),
                };
                self.send_control(now, peer, &Control::Farewell(reason));
            }
            self.wish(now, peer, change);
            self.fulfil_wishes(now);
        }
    }
}

/// The close code and reason for the others when this program's part is over. What ends it does not end that of others, unless it is the room that
/// ends.
pub(super) fn parting(reason: &LeaveReason) -> (u32, &str) {
    match reason {
        LeaveReason::RoomClosed(_) => reason.to_close(),
        _ => (1, "left"),
    }
}

/// The host has lost a client.
fn contact_gone(session: &mut Session, now: Duration, peer: PeerId, reason: &CloseReason) {
    let spectator = session
        .room
        .peer(peer)
        .is_some_and(|p| p.kind == PeerKind::Spectator);
    let farewell = session
        .links
        .contacts
        .get_mut(&peer)
        .and_then(|c| c.farewell.take());
    let change = match reason {
        _ if farewell.is_some() => Change::Left {
            peer,
            reason: farewell.unwrap_or(LeaveReason::Silent),
        },
        CloseReason::Remote { reason, .. } => Change::Left {
            peer,
            reason: LeaveReason::Left(shorten(reason)),
        },
        _ if spectator => Change::Left {
            peer,
            reason: LeaveReason::Silent,
        },
        _ => Change::Away { peer },
    };
    session.wish(now, peer, change);
    session.fulfil_wishes(now);
}
