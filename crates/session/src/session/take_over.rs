//! Another program becomes the host of a room: on that program, on the guests, and on the host that was.

use core::net::SocketAddr;
use core::time::Duration;

use samestep_proto::{ConnectionId, PublicKey};
use tracing::{debug, info};

use crate::address::Address;
use crate::config::{JoinTo, Role};
use crate::control::{Control, TakeOver};
use crate::event::{LeaveReason, SessionEvent, State, shorten};
use crate::id::{PeerId, PlayerId};
use crate::log::HostLog;
use crate::room::{Change, Presence, Room};
use crate::session::time::Timekeeper;
use crate::session::{OtherEnd, Session};

/// A guest that still hears its host follows nobody else: what a host without a lease says dries up within this time.
const STILL_HOSTED: Duration = Duration::from_millis(300);
/// How long a guest remembers that somebody else says to host.
const HELD_FOR: Duration = Duration::from_secs(5);
/// How long a guest whose host is gone waits for the next one to come to it.
const NEXT_HOST: Duration = Duration::from_millis(1500);
const HELD_AGAIN: Duration = Duration::from_millis(50);
/// Changes of the room that guests are told again, in case they missed the last ones.
const RETOLD: usize = 64;

/// A room that passes from one host to another, as its guests and its former host see it.
#[derive(Debug, Default)]
pub(super) struct Passing {
    /// Since when a guest has waited for the next host, without a connection to one.
    orphaned: Option<Duration>,
    /// Whom the host hands over to, as it told its guests.
    pub(super) heir: Option<PeerId>,
    /// Another host that is known of, while the host is still heard.
    held: Option<Held>,
    /// What a program said that nobody has announced as a standby: it counts if one that was announced follows it.
    unannounced: Option<Held>,
    /// A host that hands over before it leaves, with these words.
    pub(super) leaving: Option<String>,
}

impl Passing {
    /// Another program hosts.
    pub(super) fn on_another_host(&mut self) {
        (self.heir, self.held, self.orphaned) = (None, None, None);
        self.unannounced = None;
    }

    /// This program is no standby and no host any more.
    pub(super) fn forget(&mut self) {
        (self.held, self.unannounced) = (None, None);
    }
}

/// Another program hosts, as far as this guest has heard.
#[derive(Debug)]
struct Held {
    host: PeerId,
    since: Duration,
    way: WayToHost,
}

/// How a guest gets to its next host.
#[derive(Debug)]
enum WayToHost {
    /// That program said on this connection that it hosts.
    TakeOver(ConnectionId, Box<TakeOver>),
    /// A standby follows it, and says where it is.
    Address(SocketAddr),
}

impl Session {
    /// This program stood by, and is the host from now on. Returns whether it is.
    pub(super) fn take_over(&mut self, now: Duration) -> bool {
        let (Some(me), Some(time)) = (self.me, self.time(now)) else {
            return false;
        };
        let Some((room, log, password)) = self.standbys.takes_over(now) else {
            return false;
        };
        let before = self.room.authority();
        info!(%before, "taking over as the host");
        self.adopt_room(now, room, &log);
        self.role = Role::Host;
        self.leader = Some(me);
        self.clock.keeper = Timekeeper::own(now, time);
        self.joining.host_silent = false;
        if let Some(password) = password {
            self.demand_secretly(now, password);
        }
        self.leading.askers.forget();
        self.leading.wishes.clear();
        for (peer, id) in self.standbys.linked() {
            if self.room.peer(peer).is_some() {
                self.standbys.unlink(id);
                self.begin_hosting(now, peer, id);
            }
        }
        if self.state != State::InSync {
            self.state = State::InSync;
            self.emit(SessionEvent::InSync);
        }
        self.append(now, None, Change::Authority { peer: me });
        self.part_from_absent(now, me, before);
        let guests = self.links.contacts.iter();
        let guests = guests.filter_map(|(peer, contact)| Some((*peer, contact.connection?)));
        for (peer, id) in guests.collect::<Vec<_>>() {
            self.tell_take_over(now, peer, id);
        }
        self.send_proposals(now);
        self.start_when_due(now);
        self.wake_at(now);
        true
    }

    /// A guest of the former host is one of this program's now.
    fn begin_hosting(&mut self, now: Duration, peer: PeerId, id: ConnectionId) {
        let since = self.room.peer(peer).map_or(0, |p| p.since);
        self.contact(peer).begin_anew(now, since);
        self.bind(now, peer, id);
    }

    /// Who is not connected to this program is away, and so is who had not loaded: its state was to come from the former host.
    fn part_from_absent(&mut self, now: Duration, me: PeerId, before: PeerId) {
        // A host that hands over plays no more.
        let host_stays = self.standbys.passing.heir.take().is_none();
        let host = self.room.peer(before).map(|p| p.incarnation);
        let host_lives = host_stays && host.is_some_and(|host| self.standbys.hears(now, host));
        let others = self.room.peers().iter().filter(|p| p.id != me);
        let others: Vec<(PeerId, Presence)> = others.map(|p| (p.id, p.presence)).collect();
        for (peer, presence) in others {
            let connected = self
                .links
                .contacts
                .get(&peer)
                .is_some_and(|c| c.connection.is_some());
            let gone = !connected || (peer == before && !host_lives);
            match presence {
                Presence::Away => {
                    self.leading.absent_since.insert(peer, now);
                }
                Presence::InSync if !gone => {}
                _ => {
                    self.append(now, None, Change::Away { peer });
                }
            }
        }
    }

    /// Tells a guest that this program hosts.
    pub(super) fn tell_take_over(&mut self, now: Duration, peer: PeerId, id: ConnectionId) {
        let index = self.hosted.log.last();
        let (chain, entries) = self.hosted.log.last_entries(RETOLD);
        let said = TakeOver {
            index,
            room: self.room.clone(),
            chain,
            entries,
            clock_us: now.as_micros() as u64,
            epoch_us: self.clock.keeper.epoch_us(),
        };
        debug!(%peer, "telling a guest that this program hosts");
        self.send_control_on(now, id, &Control::TakeOver(Box::new(said)));
        if let Some(contact) = self.links.contacts.get_mut(&peer)
            && contact.connection == Some(id)
        {
            contact.sent_index = index;
            contact.welcomed = self.room.is_present(peer);
        }
    }

    /// A standby says that it hosts. A guest believes one that was announced; another standby one that the agreement elected, which may have been announced too late to
    /// be known here.
    pub(super) fn on_take_over(
        &mut self,
        now: Duration,
        id: ConnectionId,
        from: PeerId,
        said: TakeOver,
    ) {
        if self.room.is_mesh() || self.me.is_none() || from == self.room.authority() {
            self.traffic.refused += 1;
            return;
        }
        if self.leads() {
            // The agreement says whether that is so.
            return;
        }
        let held = Held {
            host: from,
            since: now,
            way: WayToHost::TakeOver(id, Box::new(said)),
        };
        let announced = self.room.standbys().contains(&from);
        if announced || self.standbys.next_host(now) == Some(from) {
            return self.go_to_host(now, held);
        }
        self.traffic.refused += 1;
        self.standbys.passing.unannounced = Some(held);
    }

    /// A standby says whom it follows. Who has lost its host believes one that was announced: its host may have been lost before it could announce the next.
    pub(super) fn on_follows(
        &mut self,
        now: Duration,
        from: PeerId,
        host: PeerId,
        address: Option<Address>,
    ) {
        let standbys = self.room.standbys();
        // One that was announced says so itself.
        let known = host == self.room.authority() || standbys.contains(&host);
        let announced = standbys.contains(&from) && from != host;
        if self.room.is_mesh() || self.leads() || self.me.is_none_or(|me| me == host) {
            return;
        }
        if known || !announced || self.room.peer(host).is_none() {
            self.traffic.refused += u64::from(!announced);
            return;
        }
        let told = self.standbys.passing.unannounced.take();
        let told = told.filter(|told| told.host == host);
        let way = match (told, address) {
            (Some(told), _) => told.way,
            (None, Some(address)) => WayToHost::Address(address.into()),
            (None, None) => return,
        };
        let waits_already = self.standbys.passing.held.as_ref();
        if waits_already.is_none_or(|held| held.host != host) {
            let since = now;
            self.go_to_host(now, Held { host, since, way });
        }
    }

    /// Goes to another host, unless the present one is still heard: then this guest looks again a little later.
    fn go_to_host(&mut self, now: Duration, held: Held) {
        let host = self.links.contacts.get(&self.room.authority());
        let heard = host.filter(|c| c.connection.is_some()).map(|c| c.heard);
        let is_hosted = heard.is_some_and(|at| now.saturating_sub(at) < STILL_HOSTED);
        let is_heir = self.standbys.passing.heir == Some(held.host);
        if is_hosted && !is_heir && self.state == State::InSync {
            self.standbys.passing.held = Some(held);
            return self.wake_at(now + HELD_AGAIN);
        }
        match held.way {
            WayToHost::TakeOver(id, said) => self.follow_host(now, id, held.host, *said),
            WayToHost::Address(address) => self.rejoin_at(now, held.host, address),
        }
    }

    /// Joins the room again at its next host.
    fn rejoin_at(&mut self, now: Duration, host: PeerId, address: SocketAddr) {
        info!(%host, "the standbys follow another host: joining it");
        if let Some(info) = self.room.peer(host)
            && let Ok(key) = PublicKey::from_bytes(info.key)
        {
            self.links.pinned.insert(address, key);
        }
        if self.state != State::Connecting {
            self.rejoin_through(now, None, "another program hosts");
        }
        self.prefer_door(now, address);
    }

    /// Tells the guests that this standby knows whom it follows.
    fn tell_host(&mut self, now: Duration, host: PeerId) {
        for (_, id) in self.standbys.linked() {
            self.tell_host_on(now, host, id);
        }
    }

    pub(super) fn tell_host_on(&mut self, now: Duration, host: PeerId, id: ConnectionId) {
        let connection = self.links.connection(host);
        let address = connection.and_then(|id| self.endpoint.peer_address(id));
        let address = address.map(Address::from);
        self.send_control_on(now, id, &Control::Follows { host, address });
    }

    /// The host has left, or was lost, and standbys are there: one of them says soon that it hosts.
    pub(super) fn await_next_host(&mut self, now: Duration) {
        self.standbys.passing.orphaned = Some(now);
        self.wake_at(now + NEXT_HOST);
    }

    /// A guest that no standby has come to looks for the room itself.
    pub(super) fn await_host(&mut self, now: Duration) {
        let Some(since) = self.standbys.passing.orphaned else {
            return;
        };
        let host = self.links.contacts.get(&self.room.authority());
        if self.state != State::InSync || host.is_some_and(|c| c.connection.is_some()) {
            self.standbys.passing.orphaned = None;
        } else if now >= since + NEXT_HOST {
            self.standbys.passing.orphaned = None;
            self.rejoin_through(now, None, "the host has gone");
        } else {
            self.wake_at(since + NEXT_HOST);
        }
    }

    /// Looks again whether the host is still heard, though another says to host.
    pub(super) fn retry_take_over(&mut self, now: Duration) {
        let Some(held) = self.standbys.passing.held.take() else {
            return;
        };
        let lives = match held.way {
            WayToHost::Address(_) => true,
            WayToHost::TakeOver(id, _) => {
                self.links.connections.get(&id) == Some(&OtherEnd::Standby(held.host))
            }
        };
        if lives && now < held.since + HELD_FOR {
            self.go_to_host(now, held);
        }
    }

    /// This guest follows another host from now on.
    fn follow_host(&mut self, now: Duration, id: ConnectionId, from: PeerId, said: TakeOver) {
        let me = self.me.and_then(|me| said.room.peer(me));
        let mine = *self.own.identity.public_key().as_bytes();
        let is_mine = |info: &crate::room::PeerInfo| {
            info.key == mine && info.incarnation == self.own.incarnation
        };
        let here = me.is_some_and(|me| is_mine(me) && me.presence == Presence::InSync);
        self.standbys.unlink(id);
        if !here || self.state != State::InSync || said.room.authority() != from {
            // It goes on from the state that the new host gives it.
            self.room
                .apply(self.hosted.log.last(), &Change::Authority { peer: from });
            return self.rejoin_through(now, Some(id), "another program hosts");
        }
        info!(host = %from, "following another host");
        let host = self.room.authority();
        if let Some(old) = self.links.contacts.remove(&host).and_then(|c| c.connection) {
            self.links.give_up(old);
            self.endpoint.abort(now, old, 0, "another program hosts");
        }
        self.bind(now, from, id);
        let since = self.own.since_index;
        let contact = self.contact(from);
        contact.begin_anew(now, since);
        contact.welcomed = true;
        contact.clock.on_told(now, said.clock_us);
        self.clock.keeper.follow(from, said.epoch_us);
        self.leader = Some(from);
        self.joining.host_silent = false;
        if said.room.id() != self.room.id() {
            // It goes on as another room: what was followed of the former one leads nowhere.
            self.standbys.forget();
        }
        self.standbys.on_another_host(now);
        let log = HostLog::of(said.index, said.chain, said.entries);
        self.adopt_room(now, said.room, &log);
        if self.room.authority() != from {
            return self.rejoin_through(now, Some(id), "another program hosts");
        }
        self.tell_host(now, from);
        self.on_rejoined(now, true);
        self.take_unwelcomed(now);
        self.wake_at(now);
    }

    /// Takes over the room of another host: the changes that are not known here, one by one, or, if changes were seen that are lost with the former
    /// host, the whole.
    fn adopt_room(&mut self, now: Duration, room: Room, log: &HostLog) {
        let known = self.hosted.log.last();
        if log.chain_at(known) == Some(self.hosted.log.chain()) {
            for entry in log.entries_after(known, usize::MAX) {
                let index = self.hosted.log.append(entry.clone());
                self.apply(now, index, entry);
            }
            self.hosted.log = log.clone();
            // It may go on as another room.
            self.room.set_id(*room.id());
            return;
        }
        info!("changes of the room are lost with the former host");
        let before = core::mem::replace(&mut self.room, room);
        self.hosted.log = log.clone();
        let keys: Vec<_> = before.peers().iter().map(|p| p.key).collect();
        self.trust_members(&keys);
        self.tell_differences(now, &before);
    }

    /// Tells the game how the room differs from what it was told.
    fn tell_differences(&mut self, now: Duration, before: &Room) {
        let had: Vec<PlayerId> = before.players().iter().map(|p| p.id).collect();
        let has: Vec<PlayerId> = self.room.players().iter().map(|p| p.id).collect();
        for player in had.iter().filter(|player| !has.contains(player)) {
            self.emit(SessionEvent::PlayerLeft { player: *player });
        }
        let gone = before.peers().iter().map(|p| p.id);
        let gone = gone.filter(|peer| self.room.peer(*peer).is_none());
        for peer in gone.collect::<Vec<_>>() {
            let reason = LeaveReason::Silent;
            self.emit(SessionEvent::PeerLeft { peer, reason });
        }
        let here: Vec<(PeerId, Presence)> = self
            .room
            .peers()
            .iter()
            .map(|p| (p.id, p.presence))
            .collect();
        for (peer, presence) in here {
            let was = before.peer(peer).map(|p| p.presence);
            if was.is_none() {
                self.emit(SessionEvent::PeerJoined { peer });
            }
            match presence {
                _ if was == Some(presence) => {}
                Presence::InSync => self.emit(SessionEvent::PeerInSync { peer }),
                Presence::Away => self.emit(SessionEvent::PeerAway { peer }),
                Presence::Loading => {}
            }
        }
        for player in has.iter().filter(|player| !had.contains(player)) {
            self.emit(SessionEvent::PlayerJoined { player: *player });
        }
        if before.authority() != self.room.authority() {
            let authority = self.room.authority();
            self.emit(SessionEvent::AuthorityChanged { authority });
        }
        self.emit(SessionEvent::RoomChanged);
        self.emit(SessionEvent::OwnersChanged);
        self.announce_start(now);
    }

    /// Another program hosts: this one, which did, is a guest from now on.
    pub(super) fn step_down(&mut self, now: Duration) {
        if self.standbys.passing.leaving.is_some() {
            // It has handed over: its farewell is all that is left to say.
            return self.standbys.part(now);
        }
        let core = self.standbys.next_host(now);
        let info = core.and_then(|peer| self.room.peer(peer));
        let Some((peer, address, key)) =
            info.and_then(|info| Some((info.id, info.address?, info.key)))
        else {
            return;
        };
        info!(host = %peer, "another program hosts: going on as its guest");
        let mut join = JoinTo::new(address.into());
        join.server_key = PublicKey::from_bytes(key).ok();
        self.role = match self.config.players.is_empty() {
            true => Role::Spectator(join),
            false => Role::Client(join),
        };
        let link = self.standbys.link_or_contact(&self.links.contacts, peer);
        for id in self.standbys.linked().into_iter().map(|(_, id)| id) {
            if Some(id) != link {
                self.links.give_up(id);
                self.endpoint.close(now, id, 0, "another program hosts");
            }
        }
        let guests = core::mem::take(&mut self.links.contacts);
        for id in guests
            .into_values()
            .filter_map(|contact| contact.connection)
        {
            if Some(id) != link {
                self.links.give_up(id);
                self.endpoint.close(now, id, 0, "another program hosts");
            }
        }
        self.standbys.forget();
        self.clock.keeper = Timekeeper::new(now, &self.config.clock, &self.role);
        self.leading.askers.forget();
        self.leading.wishes.clear();
        self.rejoin_through(now, link, "another program hosts");
    }

    /// A host that hands over has done so: it leaves.
    pub(super) fn finish_leaving(&mut self, now: Duration) {
        let words = self.standbys.passing.leaving.take().unwrap_or_default();
        let reason = LeaveReason::Left(shorten(&words));
        self.send_control_to_all(now, &Control::Farewell(reason.clone()));
        self.finish(now, reason);
    }

    /// Takes the messages that came before it was known from whom.
    pub(super) fn take_unwelcomed(&mut self, now: Duration) {
        for (id, channel, message) in self.inbox.take_unwelcomed() {
            if self.on_message(now, id, channel, message).is_none() {
                self.traffic.malformed += 1;
            }
        }
    }
}
