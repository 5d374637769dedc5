//! Joining: from the hello to being in sync.

use core::time::Duration;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use samestep_proto::{ConnectError, ConnectionId, PublicKey};
use tracing::debug;
use zeroize::Zeroizing;

use crate::address::Address;
use crate::agreement::{Incarnation, Start};
use crate::channels::BULK;
use crate::control::{Absence, Beginning, Control, Have, Hello, NotAdmitted, Proposal, Welcome};
use crate::event::{LeaveReason, SessionEvent, State, shorten};
use crate::id::{MemberKey, PeerId};
use crate::log::HostLog;
use crate::room::{Change, Newcomer, PeerInfo, PeerKind, Phase, Presence, Room, distinct};
use crate::session::agree::member;
use crate::session::door::Door;
use crate::session::joining::MAX_DOORS;
use crate::session::standbys::BASE;
use crate::session::{OtherEnd, Session};

/// What the first byte of a message on the channel for states says that it is: a state for a newcomer.
const STATE: u8 = 0;
/// How often a newcomer says hello.
const HELLO_AGAIN: Duration = Duration::from_secs(1);
/// How long it waits for an answer: of a host, and of a member of a mesh, which may have to elect another leader first.
const ANSWER: Duration = Duration::from_secs(3);
const ANSWER_OF_MESH: Duration = Duration::from_secs(8);
/// Silence of a member that a newcomer is told of.
const SILENT: Duration = Duration::from_secs(1);
/// The minimum time between two refusals that the game is told of.
const REFUSALS_EVERY: Duration = Duration::from_millis(100);

/// Who is at the door, and who may not come in.
#[derive(Default)]
pub(super) struct Admissions {
    /// Connections of those whose admission is being decided, by their keys, and what they have.
    pub(super) waiting: BTreeMap<MemberKey, Waiting>,
    /// From which the nonces follow that newcomers prove to this program while it leads.
    pub(super) secret: Zeroizing<[u8; 32]>,
    /// How many have left for good while this program was here.
    pub(super) departures: u64,
    /// When a refusal is told of again.
    next_refusal: Duration,
    /// What newcomers need to be let in.
    pub(super) door: Door,
    /// Peers whose game state has been asked for and not yet given.
    pub(super) states_wanted: Vec<PeerId>,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) connection: ConnectionId,
    have: Option<Have>,
    clock_us: u64,
    /// How often it was asked to prove its key to the leader.
    pub(super) asked: u8,
}

/// What becomes of somebody who is not refused.
pub(super) enum Admission {
    /// This change lets it in.
    Change(Change),
    /// It must wait until its old self is gone.
    After(Replaced),
}

/// The old self of somebody who is at the door.
pub(super) enum Replaced {
    /// In a hosted room.
    Guest(PeerId),
    /// In a mesh.
    Member(Incarnation),
}

impl Admissions {
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self {
            secret: Zeroizing::new(secret),
            ..Self::default()
        }
    }
}

impl Session {
    /// Connects to where the room is.
    pub(super) fn dial_home(
        &mut self,
        now: Duration,
        address: SocketAddr,
    ) -> Result<(), ConnectError> {
        let options = self.credentials(address);
        let id = self.endpoint.connect(now, address, options)?;
        debug!(%address, "connecting to the room");
        self.links.connections.insert(id, OtherEnd::Sponsor);
        self.joining.homes.insert(id, address);
        Ok(())
    }

    /// The key of whoever is to be at an address: a member of the mesh, the one that was asked for, or the one that was found there before.
    pub(super) fn key_at(&self, address: SocketAddr) -> Option<PublicKey> {
        let is_there = |peer: &&PeerInfo| peer.address.map(SocketAddr::from) == Some(address);
        let member = self.room.peers().iter().find(is_there);
        let member = member.and_then(|peer| PublicKey::from_bytes(peer.key).ok());
        let asked_for = self.role.join().and_then(|join| join.key_at(address));
        asked_for
            .or(member)
            .or_else(|| self.links.pinned.get(&address).copied())
    }

    /// Says hello, and again, until there is an answer.
    pub(super) fn resend_hello(&mut self, now: Duration) {
        let sponsor = self
            .joining
            .hello_to
            .filter(|id| self.links.connections.get(id) == Some(&OtherEnd::Sponsor));
        let (Some(id), Some((first, last))) = (sponsor, self.joining.hello_sent) else {
            return;
        };
        let answer = match self.role.is_mesh() {
            true => ANSWER_OF_MESH,
            false => ANSWER,
        };
        if now >= first + answer {
            let words = "the member asked does not answer".to_owned();
            self.joining.hello_sent = None;
            return self.finish(now, LeaveReason::NotReached(words));
        }
        let unanswered = self.endpoint.stats(id).and_then(|s| s.unanswered_since);
        if unanswered.is_some_and(|since| now >= since + HELLO_AGAIN) && self.try_elsewhere(now) {
            return;
        }
        if now >= last + HELLO_AGAIN {
            self.send_hello(now, id);
            self.joining.hello_sent = Some((first, now));
        }
        self.wake_at(now + HELLO_AGAIN);
    }

    pub(super) fn send_hello(&mut self, now: Duration, id: ConnectionId) {
        self.joining.hello_sent = Some((now, now));
        self.wake_at(now + HELLO_AGAIN);
        if self.joining.announced_on != Some(id) {
            // Nothing that was said to or by an earlier attempt counts.
            self.joining.announced_on = Some(id);
            self.own.incarnation = self.own.secrets.next_incarnation();
        }
        let have = self.me.map(|peer| Have {
            room: *self.room.id(),
            peer,
            index: self.log_index(),
            chain: self.hosted.log.chain(),
        });
        let mut hello = Hello {
            kind: self.kind(),
            players: self.config.players.clone(),
            incarnation: self.own.incarnation,
            have,
            clock_us: now.as_micros() as u64,
            reached_at: self.endpoint.peer_address(id).map(Into::into),
            description: self.config.description.clone(),
            proof: None,
        };
        hello.proof = self.proof_of_key(id, &hello);
        self.send_control_on(now, id, &Control::Hello(hello));
        debug!(connection = %id, returning = self.me.is_some(), "hello sent");
    }

    /// Somebody wants in, through this program.
    pub(super) fn on_hello(&mut self, now: Duration, id: ConnectionId, mut hello: Hello) {
        debug!(connection = %id, kind = ?hello.kind, "hello received");
        let mesh = hello.kind == PeerKind::Member;
        if mesh != self.room.is_mesh() || hello.kind == PeerKind::Host {
            return self.turn_away(now, id, LeaveReason::WrongTopology);
        }
        if !mesh && !self.leads() {
            let words = "that program plays, and does not host: ask the host".to_owned();
            let key = self.links.keys.get(&id).map(|key| *key.as_bytes());
            if self.room.peers().iter().any(|p| Some(p.key) == key) {
                // A member that has lost the room is told where it is; a stranger is not.
                self.tell_host_on(now, self.room.authority(), id);
            }
            return self.turn_away(now, id, LeaveReason::NotReached(words));
        }
        // Everyone here plays the same: the authority need not compare it again.
        let theirs = hello.description.take();
        if let (Some(ours), Some(theirs)) = (&self.config.description, theirs)
            && let Some(words) = ours.difference(&theirs)
        {
            return self.turn_away(now, id, LeaveReason::Incompatible(shorten(&words)));
        }
        if self.state == State::Frozen && self.mesh.is_frozen() {
            return self.say_frozen(now, id);
        }
        // A mesh that waits for somebody still lets it in.
        if !matches!(self.state, State::InSync | State::Frozen) {
            // Not now; it will ask again, or elsewhere.
            return;
        }
        if hello.players.is_empty() != (hello.kind == PeerKind::Spectator) {
            return self.turn_away(now, id, LeaveReason::WrongTopology);
        }
        let Some(key) = self.links.keys.get(&id).map(|key| *key.as_bytes()) else {
            return;
        };
        let asked = match self.admissions.waiting.get(&key) {
            Some(before) if before.connection == id => before.asked,
            _ => 0,
        };
        let waiting = Waiting {
            connection: id,
            have: hello.have,
            clock_us: hello.clock_us,
            asked,
        };
        if let Some(OtherEnd::Peer(peer)) = self.links.connections.get(&id) {
            let peer = *peer;
            let known = self.room.peer(peer).map(|p| p.incarnation);
            if self.room.is_present(peer) && known == Some(hello.incarnation) {
                // The welcome is on its way.
                return;
            }
            self.contact(peer).connection = None;
        }
        self.links
            .connections
            .insert(id, OtherEnd::Newcomer { key });
        self.admissions.waiting.insert(key, waiting);
        let is_asked = asked > 0 && hello.proof.is_none() && !self.leads();
        if is_asked || self.asks_to_admit(&key) {
            // The proof, or the answer, is on its way.
            return;
        }
        let address = self.endpoint.peer_address(id).map(Into::into);
        let hello = Box::new(hello);
        let admit = Proposal::Admit {
            hello,
            key,
            address,
        };
        if self.propose(now, admit).is_none() {
            self.admissions.waiting.remove(&key);
            self.turn_away(now, id, LeaveReason::Full);
        }
    }

    /// Somebody asks for a slot that is kept: it is not freed while its key is being proved.
    pub(super) fn note_reclaim(&mut self, now: Duration, key: &MemberKey) {
        let mut peers = self.room.peers().iter();
        let owner = peers.find(|p| p.key == *key && p.presence == Presence::Away);
        if let Some(owner) = owner.map(|p| p.id) {
            self.leading.reclaimed_at.insert(owner, now);
        }
    }

    /// Somebody was refused, by this program or by the protocol underneath. Requests cost nothing, so not all of them are told of.
    pub(super) fn on_refused(&mut self, now: Duration, address: SocketAddr, reason: LeaveReason) {
        let is_member = !matches!(self.state, State::Connecting | State::Left(_));
        if is_member && now >= self.admissions.next_refusal {
            self.admissions.next_refusal = now + REFUSALS_EVERY;
            self.emit(SessionEvent::Refused { address, reason });
        }
    }

    pub(super) fn turn_away(&mut self, now: Duration, id: ConnectionId, reason: LeaveReason) {
        if let Some(address) = self.endpoint.peer_address(id) {
            self.on_refused(now, address, reason.clone());
        }
        let (code, words) = reason.to_close();
        self.send_control_on(now, id, &Control::Farewell(reason.clone()));
        self.links.give_up(id);
        self.endpoint.close(now, id, code, words);
    }

    /// The authority's decision about somebody who wants in, by the room as it will be. `Err` is a No.
    pub(super) fn decide_admission(
        &self,
        now: Duration,
        expected: &Room,
        sponsor: PeerId,
        hello: &Hello,
        key: &MemberKey,
        address: Option<SocketAddr>,
    ) -> Result<Admission, NotAdmitted> {
        let ip = address.map(|a| a.ip());
        let time = self.time(now).unwrap_or_default();
        if let Some(ban) = expected.ban_of(time, key, ip) {
            return Err(LeaveReason::Banned(ban.words.clone()).into());
        }
        if !self.is_proven_newcomer(expected, sponsor, hello, key) {
            let nonce = self.admission_nonce(expected, sponsor, key);
            return Err(NotAdmitted::Unproven(nonce));
        }
        let address = address.filter(|_| expected.is_mesh()).map(Into::into);
        if let Some(known) = expected.peers().iter().find(|p| p.key == *key) {
            let peer = known.id;
            if Some(peer) == self.me {
                let words = "that place is the authority's".to_owned();
                return Err(LeaveReason::NotReached(words).into());
            }
            if known.presence == Presence::InSync {
                // It cannot be in and at the door: its old self is gone.
                let former = match expected.is_mesh() {
                    true => Replaced::Member(known.incarnation),
                    false => Replaced::Guest(peer),
                };
                return Ok(Admission::After(former));
            }
            return Ok(Admission::Change(Change::Returned {
                peer,
                sponsor,
                sponsor_address: hello.reached_at,
                address,
                incarnation: hello.incarnation,
                count_from: hello.have.is_none().then(|| self.beyond(peer)),
            }));
        }
        if self.is_password_changing() {
            let words = "the password is being changed: ask for the new one";
            return Err(LeaveReason::WrongPassword(words.into()).into());
        }
        let full = match hello.kind {
            PeerKind::Spectator => expected.free_spectator_places() == 0,
            _ => expected.free_places() < hello.players.len(),
        };
        let free = expected.free_peer().filter(|_| !full);
        let peer = free.ok_or(LeaveReason::Full)?;
        let mut newcomer = Newcomer {
            peer,
            kind: hello.kind,
            sponsor,
            sponsor_address: hello.reached_at.filter(|_| expected.is_mesh()),
            address,
            key: *key,
            incarnation: hello.incarnation,
            players: Vec::new(),
        };
        let places = expected.lowest_free(hello.players.len());
        for (place, asked) in places.into_iter().zip(&hello.players) {
            let here = expected.players().iter().map(|p| &p.profile);
            let with_it = newcomer.players.iter().map(|(_, profile)| profile);
            let profile = distinct(asked, here.chain(with_it));
            newcomer.players.push((place, profile));
        }
        Ok(Admission::Change(Change::Joined(newcomer)))
    }

    /// Somebody this program sponsors is in.
    pub(super) fn welcome(&mut self, now: Duration, peer: PeerId, key: MemberKey, returns: bool) {
        let Some(waiting) = self.admissions.waiting.remove(&key) else {
            return;
        };
        let (Some(me), Some(leader)) = (self.me, self.leader) else {
            return;
        };
        let id = waiting.connection;
        if !matches!(
            self.links.connections.get(&id),
            Some(OtherEnd::Newcomer { .. })
        ) {
            return;
        }
        let state_follows = self.room.rules.initial_state;
        let have = waiting.have.filter(|have| {
            let same = have.room == *self.room.id() && have.peer == peer;
            returns && !state_follows && same && self.has_log_after(have)
        });
        let have = have.map(|have| have.index);
        let log = match self.room.is_mesh() {
            true => self.mesh.suffix_for(have).map(Beginning::Mesh),
            false => Some(Beginning::Hosted {
                index: have.unwrap_or(self.hosted.log.last()),
                chain: self.hosted.log.chain(),
                room: have.is_none().then(|| Box::new(self.room.clone())),
            }),
        };
        let (Some(log), Some(info)) = (log, self.room.peer(peer)) else {
            return;
        };
        let (since, incarnation) = (info.since, info.incarnation);
        self.bind(now, peer, id);
        let index = self.hosted.log.last();
        let contact = self.contact(peer);
        contact.on_heard(now);
        contact.clock.on_told(now, waiting.clock_us);
        contact.sent_index = have.unwrap_or(index);
        contact.welcomed = true;
        let welcome = Welcome {
            you: peer,
            incarnation,
            since,
            returned: returns,
            me,
            leader,
            log,
            absences: self.absences(now),
            state_follows,
            clock_us: now.as_micros() as u64,
            epoch_us: self.clock.keeper.epoch_us(),
        };
        self.send_control_on(now, id, &Control::Welcome(Box::new(welcome)));
        debug!(%peer, returns, state_follows, "welcome sent");
        if state_follows {
            self.admissions.states_wanted.push(peer);
            self.emit(SessionEvent::StateWanted { peer });
        }
        self.feed(now, peer);
        // The others learn by it that the newcomer is reached through this program.
        self.timers.next_beat = now;
        self.wake_at(now);
    }

    /// For how long others have been away or loading, or present and silent: who joins while somebody's silence goes unnoticed counts it from the same moment.
    fn absences(&self, now: Duration) -> Vec<Absence> {
        let absent = &self.leading.absent_since;
        let silent = self.links.contacts.iter();
        let silent = silent.map(|(peer, contact)| (peer, contact.last_heard()));
        let silent = silent.filter(|(peer, heard)| {
            !absent.contains_key(peer) && now.saturating_sub(*heard) >= SILENT
        });
        let absent = absent.iter().map(|(peer, since)| (peer, *since));
        let all = absent.chain(silent.filter(|_| self.room.is_mesh()));
        all.map(|(peer, since)| Absence {
            peer: *peer,
            ms: now.saturating_sub(since).as_millis() as u64,
        })
        .collect()
    }

    /// Takes for how long others have been absent or silent from the member that lets this program in.
    fn take_absences(&mut self, now: Duration, absences: &[Absence]) {
        self.leading.absent_since.clear();
        for Absence { peer, ms } in absences {
            let since = now.saturating_sub(Duration::from_millis(*ms));
            // Who is present in the room that the log begins with may be away further on in it.
            self.leading.absent_since.insert(*peer, since);
            let known = self.room.peer(*peer);
            let is_present = known.is_some_and(|p| p.presence == Presence::InSync);
            let contact = self.links.contacts.get_mut(peer);
            if let Some(contact) = contact.filter(|_| is_present) {
                contact.heard_by_sponsor = Some(since);
                if let Some(agreement) = &mut self.mesh.agreement {
                    agreement.on_told_silent(now, contact.incarnation, since);
                }
            }
        }
    }

    /// Whether the log here has everything after what a returning peer has.
    fn has_log_after(&self, have: &Have) -> bool {
        match self.room.is_mesh() {
            true => self.mesh.reaches_back_to(have.index),
            false => self.hosted.log.chain_at(have.index) == Some(have.chain),
        }
    }

    /// Tells a newcomer that the mesh is frozen, and where else to ask.
    fn say_frozen(&mut self, now: Duration, id: ConnectionId) {
        let others = self.room.peers().iter().filter(|p| Some(p.id) != self.me);
        let doors = others.filter_map(|p| p.address).take(MAX_DOORS).collect();
        self.send_control_on(now, id, &Control::Frozen { doors });
    }

    /// The mesh that this program asked is frozen: it asks again, also elsewhere.
    pub(super) fn on_room_frozen(&mut self, now: Duration, doors: &[Address]) {
        let known = self.role.join().map(|j| j.address);
        let doors = doors.iter().map(|door| SocketAddr::from(*door));
        self.joining
            .remember_doors(doors.filter(|door| Some(*door) != known));
        self.emit(SessionEvent::RoomFrozen);
        if self.joining.retry.is_none() {
            self.try_doors(
                now,
                "the mesh is frozen: too few of its members reach each other",
            );
        }
    }

    /// The answer to an admission this program asked for was No.
    pub(super) fn on_not_admitted(&mut self, now: Duration, key: &MemberKey, reason: &[u8]) {
        let reason = match samestep_wire::decode_exact(reason) {
            Ok(NotAdmitted::Unproven(nonce)) => return self.ask_for_proof(now, key, nonce),
            Ok(NotAdmitted::Refused(reason)) => reason,
            Err(_) => LeaveReason::Full,
        };
        if let Some(waiting) = self.admissions.waiting.remove(key) {
            self.turn_away(now, waiting.connection, reason);
        }
    }

    /// Somebody at the door has gone.
    pub(super) fn on_newcomer_gone(&mut self, id: ConnectionId) {
        let gone: Vec<MemberKey> = self
            .admissions
            .waiting
            .iter()
            .filter(|(_, w)| w.connection == id)
            .map(|(key, _)| *key)
            .collect();
        for key in gone {
            self.admissions.waiting.remove(&key);
            self.withdraw_admission(key);
        }
    }

    /// Takes the welcome of the member it joins through: from here on this program is a peer of the room, and its state transfer begins.
    pub(super) fn on_welcome(&mut self, now: Duration, id: ConnectionId, welcome: Welcome) {
        if self.state != State::Connecting {
            return;
        }
        if welcome.incarnation != self.own.incarnation || self.joining.hello_to != Some(id) {
            // It answers an earlier attempt.
            return;
        }
        let before: Vec<MemberKey> = self.room.peers().iter().map(|p| p.key).collect();
        let fresh = self.me.is_none();
        let Some(resumed) = self.begin_with(now, &welcome) else {
            // A room that refers to a past this program does not have, or in which its place is not its own.
            let words = "the room made no sense".to_owned();
            return self.finish(now, LeaveReason::NotReached(words));
        };
        debug!(me = %welcome.you, leader = %welcome.leader, resumed, "welcome received");
        self.joining.retry = None;
        // What an earlier incarnation followed is not this one's.
        self.standbys.forget();
        self.joining.hello_sent = None;
        self.joining.to_prove = None;
        self.hang_up_on_others(now, id);
        self.me = Some(welcome.you);
        self.own.since_index = welcome.since;
        self.leader = Some(welcome.leader);
        self.leading.askers.forget();
        self.leading.wishes.clear();
        self.trust_members(&before);
        self.demand_agreed(now);
        self.inbox.forget_state();
        self.own.next_object = self
            .room
            .network_objects()
            .iter()
            .filter_map(|thing| match thing.id {
                crate::id::NetworkId::Dynamic { by, number } if by == welcome.you => {
                    Some(number.saturating_add(1))
                }
                _ => None,
            })
            .max()
            .unwrap_or(0)
            .max(self.own.next_object);
        self.state = State::Loading;
        self.meet_everyone(now, welcome.you, welcome.me);
        self.take_absences(now, &welcome.absences);
        self.bind(now, welcome.me, id);
        let contact = self.contact(welcome.me);
        contact.on_heard(now);
        contact.welcomed = true;
        contact.clock.on_told(now, welcome.clock_us);
        self.clock
            .keeper
            .joined(now, welcome.you, welcome.leader, welcome.epoch_us);
        self.clock
            .keeper
            .set_members(now, &self.room, welcome.leader);
        self.emit(SessionEvent::Joined { me: welcome.you });
        if welcome.returned && fresh {
            // Actions of a former life may still be on their way: an incarnation is random, and so is where it begins to count.
            self.requests
                .acts
                .skip_to((self.own.incarnation.0 >> 34) as u32);
        }
        self.on_rejoined(now, resumed);
        self.inbox
            .begin_loading(welcome.state_follows.then_some(id));
        if !welcome.state_follows {
            self.say_loaded(now);
        }
        self.timers.next_beat = now;
        self.wake_at(now);
        self.pump_agreement(now);
        self.take_unwelcomed(now);
    }

    /// Takes the room and the log that a welcome brings. Returns whether this program goes on from what it has, or `None` if they make no sense here.
    fn begin_with(&mut self, now: Duration, welcome: &Welcome) -> Option<bool> {
        let resumes = match &welcome.log {
            Beginning::Hosted { room, .. } => room.is_none(),
            Beginning::Mesh(suffix) => matches!(suffix.start, Start::After(_)),
        };
        let me = member(welcome.incarnation, welcome.you);
        let mine = *self.own.identity.public_key().as_bytes();
        // The place is this program's own only if the room knows it by its key.
        let is_mine = |room: &Room| {
            let knows_me = room.peer(welcome.you).is_some_and(|you| you.key == mine);
            knows_me && (resumes || room.peer(welcome.me).is_some())
        };
        if resumes {
            if self.me != Some(welcome.you) || !is_mine(&self.room) {
                return None;
            }
            match welcome.log.clone() {
                Beginning::Hosted { index, .. } if index != self.hosted.log.last() => return None,
                Beginning::Hosted { .. } => {}
                Beginning::Mesh(suffix) if suffix.start_index() > self.mesh.index() => return None,
                Beginning::Mesh(suffix) => self.mesh.resume(now, me, suffix),
            }
            return Some(true);
        }
        match welcome.log.clone() {
            Beginning::Hosted { index, chain, room } => {
                self.room = *room.filter(|room| !room.is_mesh() && is_mine(room))?;
                self.hosted.log = HostLog::of(index, chain, Vec::new());
            }
            Beginning::Mesh(suffix) => {
                let room = self.mesh.join(now, me, suffix)?;
                if !room.is_mesh() || !is_mine(&room) {
                    return None;
                }
                self.room = room;
            }
        }
        Some(false)
    }

    /// Makes contacts of everyone in the room.
    fn meet_everyone(&mut self, now: Duration, me: PeerId, sponsor: PeerId) {
        let room = &self.room;
        self.links
            .contacts
            .retain(|peer, _| room.peer(*peer).is_some() && (room.is_mesh() || *peer == sponsor));
        let others: Vec<(PeerId, u64, Incarnation)> = room
            .peers()
            .iter()
            .filter(|p| p.id != me)
            // Who only plays in a host's room has to do with the host alone.
            .filter(|p| room.is_mesh() || p.id == sponsor)
            .map(|p| (p.id, p.since, p.incarnation))
            .collect();
        let mine = self.own.since_index;
        for (peer, since, incarnation) in others {
            let contact = self.contact(peer);
            contact.begin_anew(now, since.max(mine));
            contact.incarnation = incarnation;
            contact.dialling.next = now;
            if peer != sponsor
                && let Some(old) = contact.connection.take()
            {
                self.links.give_up(old);
                self.endpoint.abort(now, old, 0, "joined anew");
            }
        }
    }

    /// Hands the game's state to somebody who joins through this program; the answer to
    /// [`StateWanted`](SessionEvent::StateWanted).
    pub fn provide_state(&mut self, now: Duration, peer: PeerId, state: &[u8]) {
        let wanted = self
            .admissions
            .states_wanted
            .iter()
            .position(|p| *p == peer);
        let Some(at) = wanted else {
            return;
        };
        self.admissions.states_wanted.swap_remove(at);
        // The state holds what the game has heard of, not what still waits for it.
        let holds = self.inbox.unheard().unwrap_or(self.log_index());
        // Which life of the newcomer it is for: it may have joined anew meanwhile.
        let life = self.room.peer(peer).map_or(0, |p| p.since);
        let bytes = [
            &[STATE][..],
            &life.to_le_bytes(),
            &holds.to_le_bytes(),
            state,
        ]
        .concat();
        self.put_sealed(now, peer, BULK, &bytes);
        debug!(%peer, bytes = state.len(), "state transfer begun");
    }

    /// Whether somebody is yet to get the game's state from here: what is said meanwhile will be in that state.
    pub(super) fn awaits_state(&self, peer: PeerId) -> bool {
        self.admissions.states_wanted.contains(&peer)
    }

    /// Something large has arrived: the game's state, or what a standby begins with.
    pub(super) fn on_bulk(&mut self, now: Duration, id: ConnectionId, bytes: &[u8]) -> Option<()> {
        match bytes.split_first()? {
            (&STATE, state) => self.on_state(id, state),
            (&BASE, base) => self.on_base(now, id, base),
            _ => None,
        }
    }

    /// The game's state has arrived.
    fn on_state(&mut self, id: ConnectionId, bytes: &[u8]) -> Option<()> {
        let (life, bytes) = bytes.split_first_chunk()?;
        let (holds, state) = bytes.split_first_chunk()?;
        let holds = u64::from_le_bytes(*holds);
        let current = u64::from_le_bytes(*life) == self.own.since_index;
        // Only the member that this program joined through gives it a state.
        let is_due = self.state == State::Loading && self.inbox.state_by() == Some(id);
        if !is_due || !current {
            self.traffic.refused += 1;
            return Some(());
        }
        if self.inbox.on_state(holds) {
            self.emit(SessionEvent::InitialState {
                state: state.to_vec(),
            });
        }
        Some(())
    }

    /// If the connection by which the state was to come is gone, it will not come.
    pub(super) fn await_state(&mut self, now: Duration) {
        let Some(by) = self.inbox.state_by() else {
            return;
        };
        let alive = matches!(self.links.connections.get(&by), Some(OtherEnd::Peer(_)));
        if self.state == State::Loading && !alive {
            self.inbox.lose_state();
            self.rejoin_through(now, None, "lost the member it joined through");
        }
    }

    /// The game has loaded its initial state and wants to take part.
    pub fn loaded(&mut self, now: Duration) {
        if self.state != State::Loading {
            return;
        }
        if self.inbox.end_loading() {
            self.say_loaded(now);
        }
    }

    /// This program has all that it takes to take part: the host, or the next view of a mesh, says when it does.
    fn say_loaded(&mut self, now: Duration) {
        match &mut self.mesh.agreement {
            Some(agreement) => {
                agreement.set_ready(now, true);
                self.wake_at(now);
            }
            None => {
                self.propose(now, Proposal::Loaded);
            }
        }
    }

    /// This program takes part fully.
    pub(super) fn on_in_sync(&mut self, now: Duration) {
        self.state = State::InSync;
        self.emit(SessionEvent::InSync);
        match self.room.phase() {
            Phase::Playing { .. } => self.announce_start(now),
            // The game that was begun here has ended meanwhile.
            Phase::Ended { result } if self.clock.started => {
                let result = result.clone();
                self.clock.started = false;
                self.emit(SessionEvent::Ended { result });
            }
            Phase::SetUp | Phase::Ended { .. } => {}
        }
    }
}
