//! Standbys: guests of a hosted room that follow its host and can take its place.
//!
//! The host ships them every change of the room and every record of the game, in the order of one log that the host and its standbys agree on
//! (`docs/agreement.md`, "Hosted rooms"). Guests that are no standbys know nothing of that log: they are told by the next host that it hosts.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use samestep_proto::{ConnectOptions, ConnectionId, PublicKey};
use samestep_wire::{Wire, decode_exact, encode_to_vec};
use tracing::{debug, info};

use crate::address::Address;
use crate::agreement::{
    Ability, Body, Demand, Grade, Hosted, HostedConfig, HostedEvent, HostedRole, Incarnation,
    Message, Request, choose_standbys,
};
use crate::channels::{BULK, CONTROL, UNRELIABLE};
use crate::control::Control;
use crate::event::{SessionEvent, State};
use crate::id::PeerId;
use crate::log::{Entry, HostLog, KEPT};
use crate::room::{Change, PeerKind, Presence, Room};
use crate::session::agree::{member, room_number};
use crate::session::send::sealed;
use crate::session::{AgreedPassword, Contact, OtherEnd, Session};

/// Time between two looks at who should stand by.
const CHOOSE_EVERY: Duration = Duration::from_millis(500);
/// A guest that could host says so, and how well, at least this often.
const ABILITY_EVERY: Duration = Duration::from_secs(5);
/// A guest that was sent the state to follow from gets it again after so long without an answer.
const BASE_AGAIN: Duration = Duration::from_secs(10);
/// Time between attempts to reach a standby.
const DIAL_EVERY: Duration = Duration::from_secs(1);
/// A room with one standby cannot tell who of the two is lost: the standby goes on as another room after so long.
const ALONE_AFTER: Duration = Duration::from_millis(300);
/// A program that was not driven for so long was asleep, and is not alone for so long after.
const ASLEEP: Duration = Duration::from_millis(1500);
const AWAKE: Duration = Duration::from_secs(3);
/// Entries of the agreed log that are kept before it is shortened, and the most that anybody is waited for.
const SHORTEN_AT: usize = 512;
const SHORTEN_ANYWAY: usize = 6000;
/// Guests learn what is certain at most this often.
const CERTAIN_EVERY: Duration = Duration::from_millis(50);
/// What a host has to do, until it is known better.
const DEMAND: Demand = Demand {
    step: Duration::from_millis(10),
    upstream: 32_000,
};
/// What the first byte of a message on the channel for states says that it is.
pub(super) const BASE: u8 = 1;

/// What a host ships to its standbys.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) enum Shipped {
    /// A change of the room.
    Room(Entry),
    /// A record of the game: the ticks since the last one.
    Game(#[wire(max_len = 16_777_216)] Vec<u8>),
    /// The password that newcomers need from now on.
    Password(AgreedPassword),
}

/// What a standby begins with.
#[derive(Clone, PartialEq, Debug, Wire)]
struct Base {
    /// The index of the agreed log that it stands for.
    #[wire(varint)]
    index: u64,
    room: Room,
    /// The last index of the room's own log, and what all before it comes to.
    #[wire(varint)]
    log_index: u64,
    chain: u64,
    password: Option<AgreedPassword>,
    /// The exact state of the game, if the room has one.
    #[wire(max_len = 67_108_864)]
    game: Option<Vec<u8>>,
}

/// What a game that follows the host gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shipment {
    /// The exact state, to begin with.
    State(Vec<u8>),
    /// What happened since.
    Record(Vec<u8>),
}

/// A guest that could host, as the host knows it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    incarnation: Incarnation,
    /// Whether it follows.
    is_ready: bool,
    step: Duration,
    upstream: u64,
    /// When it was sent what to follow from.
    asked_at: Option<Duration>,
}

/// A connection between a standby and another guest.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    connection: Option<ConnectionId>,
    next_dial: Duration,
}

/// The room as shipped, beside the one that this guest sees.
#[derive(Debug)]
struct Follower {
    /// The last index of the agreed log that is in it.
    applied: u64,
    room: Room,
    log: HostLog,
    password: Option<AgreedPassword>,
    /// What is not certain yet.
    seen: VecDeque<(u64, Shipped)>,
}

/// Who could take the host's place, and what this program needs to do so itself.
#[derive(Debug, Default)]
pub(super) struct Standbys {
    /// The agreement of host and standbys; `None` on guests that are none, and as long as there are none.
    core: Option<Box<Hosted<Shipped>>>,
    is_pumping: bool,
    /// What a host could not append yet.
    backlog: VecDeque<Shipped>,
    candidates: BTreeMap<PeerId, Candidate>,
    /// Guests that wait for the state to follow from.
    pub(super) bases_wanted: Vec<PeerId>,
    next_choice: Duration,
    /// Whether the game cannot be followed.
    is_impossible: bool,
    follower: Option<Follower>,
    pub(super) shipments: VecDeque<Shipment>,
    next_ability: Duration,
    /// Whether the host was told that this program follows it.
    has_told_ready: bool,
    /// Since when a guest has waited for the next host, without a connection to one.
    pub(super) orphaned: Option<Duration>,
    /// The time of a step here, as the program measured it.
    step: Duration,
    links: BTreeMap<PeerId, Link>,
    frozen_since: Option<Duration>,
    /// When this program was driven last, and since when it has been without a pause: who was asleep cannot tell that the host is gone.
    driven_at: Duration,
    awake_since: Duration,
    /// The records that were shipped: index and the first tick after each.
    marks: VecDeque<(u64, u64)>,
    /// The first tick that is not certain.
    pub(super) certain: Option<u64>,
    next_certain: Duration,
    /// A host that hands over before it leaves, with these words.
    pub(super) leaving: Option<String>,
    /// Whom the host hands over to, as it told its guests.
    pub(super) heir: Option<PeerId>,
    pub(super) held: Option<super::take_over::Held>,
}

impl Standbys {
    /// Whether what a host decides is shipped to standbys.
    pub(super) fn ships(&self) -> bool {
        self.core.is_some()
    }

    /// The connection to a standby, or of a standby to another guest.
    fn link(&self, peer: PeerId) -> Option<ConnectionId> {
        self.links.get(&peer)?.connection
    }

    /// All links there are.
    pub(super) fn linked(&self) -> Vec<(PeerId, ConnectionId)> {
        let links = self.links.iter();
        links
            .filter_map(|(peer, link)| Some((*peer, link.connection?)))
            .collect()
    }

    /// A link is no longer one: it was lost, or is the connection to the host now.
    pub(super) fn unlink(&mut self, id: ConnectionId) {
        for link in self.links.values_mut() {
            link.connection = link.connection.filter(|connection| *connection != id);
        }
    }

    /// The guests that follow a host go on following the next one.
    pub(super) fn takes_over(
        &mut self,
        now: Duration,
    ) -> Option<(Room, HostLog, Option<AgreedPassword>)> {
        let mut follower = self.follower.take()?;
        // Whoever leads holds a log that nobody else can go beyond.
        for (index, shipped) in core::mem::take(&mut follower.seen) {
            follower.apply(index, shipped, &mut self.shipments);
        }
        self.candidates.clear();
        self.marks.clear();
        self.frozen_since = None;
        // The guests say first what they can.
        self.next_choice = now + CHOOSE_EVERY;
        Some((follower.room, follower.log, follower.password))
    }

    /// Another program hosts: it is told soon what this one can.
    pub(super) fn on_another_host(&mut self, now: Duration) {
        (self.heir, self.held, self.orphaned) = (None, None, None);
        (self.next_ability, self.has_told_ready) = (now, false);
    }

    /// Whether this program follows the host.
    fn is_ready(&self) -> bool {
        let decided = self
            .core
            .as_ref()
            .map(|core| core.replica().log().decided().index);
        let follower = self.follower.as_ref();
        follower.is_some_and(|follower| decided.is_some_and(|at| at >= follower.applied))
    }

    /// Whether this program, which stood by, is to host.
    fn is_elected(&self, now: Duration) -> bool {
        let core = self.core.as_ref().filter(|_| self.follower.is_some());
        core.is_some_and(|core| core.role() == HostedRole::Host && core.holds_lease(now))
    }

    /// This program is no standby and no host any more.
    pub(super) fn forget(&mut self) {
        (self.core, self.follower) = (None, None);
        self.backlog.clear();
        self.candidates.clear();
        self.bases_wanted.clear();
        self.shipments.clear();
        self.marks.clear();
        (self.frozen_since, self.certain, self.held) = (None, None, None);
        (self.next_ability, self.has_told_ready) = (Duration::ZERO, false);
    }

    /// A host that hands over has done so.
    pub(super) fn part(&mut self, now: Duration) {
        if let Some(core) = &mut self.core {
            core.handle_timeout(now);
        }
    }

    /// The host that the agreement follows, unless it is this program.
    pub(super) fn next_host(&self, now: Duration) -> Option<PeerId> {
        let core = self.core.as_ref()?;
        let slot = core.view().slot(core.host(now)?)?;
        Some(PeerId(slot.0))
    }

    /// The connection to a peer, as a guest of this program or as a standby.
    pub(super) fn link_or_contact(
        &self,
        contacts: &BTreeMap<PeerId, Contact>,
        peer: PeerId,
    ) -> Option<ConnectionId> {
        let contact = contacts.get(&peer).and_then(|c| c.connection);
        contact.or_else(|| self.link(peer))
    }

    /// Whether the agreement hears a program.
    pub(super) fn hears(&self, now: Duration, who: Incarnation) -> bool {
        self.core.as_ref().is_some_and(|core| core.hears(now, who))
    }
}

impl Follower {
    fn apply(&mut self, index: u64, shipped: Shipped, shipments: &mut VecDeque<Shipment>) {
        if index <= self.applied {
            return;
        }
        self.applied = index;
        match shipped {
            Shipped::Room(entry) => {
                let at = self.log.append(entry.clone());
                self.log.trim(KEPT);
                self.room.apply(at, &entry.change);
                self.room.settle(&entry);
            }
            Shipped::Game(record) => shipments.push_back(Shipment::Record(record)),
            Shipped::Password(password) => self.password = Some(password),
        }
    }

    fn settle(&mut self, certain: u64, shipments: &mut VecDeque<Shipment>) {
        while let Some((index, _)) = self.seen.front()
            && *index <= certain
            && let Some((index, shipped)) = self.seen.pop_front()
        {
            self.apply(index, shipped, shipments);
        }
    }
}

impl Session {
    /// Guests that the host keeps ready to take its place, in the order in which they would.
    pub fn standbys(&self) -> &[PeerId] {
        self.room.standbys()
    }

    /// Says how long a step of the simulation takes here: the host chooses its standbys by that, too.
    pub fn set_step_time(&mut self, step: Duration) {
        self.standbys.step = step;
    }

    /// Whether this program follows the host, and knows the common time that it would have to keep.
    fn could_take_over(&self, now: Duration) -> bool {
        self.standbys.is_ready() && self.time(now).is_some()
    }

    fn may_host(&self) -> bool {
        self.config.may_host == Some(true)
    }

    /// How many standbys this host wants.
    fn standbys_wanted(&self) -> usize {
        let accept = self.config.protocol.accept.as_ref();
        // Who could not ask a lobby would let everybody in.
        let by_lobby = accept.is_some_and(|accept| accept.lobby_key.is_some());
        match !self.standbys.is_impossible && !by_lobby && !self.room.is_mesh() {
            true => usize::from(self.room.rules.standbys),
            false => 0,
        }
    }

    /// The game cannot be followed: there are no standbys.
    pub(crate) fn forgo_standbys(&mut self) {
        self.standbys.is_impossible = true;
        self.standbys.bases_wanted.clear();
    }

    /// Whether the game is to hand over its exact state for a standby to follow from.
    pub(crate) fn wants_base(&self) -> bool {
        !self.standbys.bases_wanted.is_empty() && self.standbys.backlog.is_empty()
    }

    /// Whether records of the game are shipped.
    pub(crate) fn ships(&self) -> bool {
        self.leads() && !self.room.is_mesh() && self.standbys.ships()
    }

    /// What the host has shipped for the game here, if this program stands by.
    pub(crate) fn next_shipment(&mut self) -> Option<Shipment> {
        self.standbys.shipments.pop_front()
    }

    /// The game here cannot follow: this program does not stand by until it is given a state anew.
    pub(crate) fn cannot_follow(&mut self, now: Duration) {
        self.standbys.forget();
        self.tell_ability(now);
    }

    /// The first tick that may still be lost with the host; `None` if the room has no standbys, and nothing is more certain than what is told.
    pub(crate) fn certain_before(&self) -> Option<u64> {
        let has_standbys = !self.room.is_mesh() && !self.room.standbys().is_empty();
        self.standbys.certain.filter(|_| has_standbys)
    }

    /// The host ships a record of the game, which leads up to a tick.
    pub(crate) fn ship_record(&mut self, now: Duration, record: Vec<u8>, tick: u64) {
        if let Some(index) = self.ship(now, Shipped::Game(record)) {
            self.standbys.marks.push_back((index, tick));
            if self.standbys.marks.len() > SHORTEN_ANYWAY {
                self.standbys.marks.pop_front();
            }
            self.pump_standbys(now);
        }
    }

    /// Ships something, as soon as it can be. Returns the index that it has, if it has one already.
    pub(super) fn ship(&mut self, now: Duration, shipped: Shipped) -> Option<u64> {
        if !self.ships() {
            return None;
        }
        self.standbys.backlog.push_back(shipped);
        self.ship_backlog(now)
    }

    fn ship_backlog(&mut self, now: Duration) -> Option<u64> {
        let (me, standbys) = (self.incarnation, &mut self.standbys);
        let core = standbys.core.as_mut()?;
        let mut last = None;
        while let Some(shipped) = standbys.backlog.front() {
            let n = core.replica().log().last_request(me) + 1;
            let Ok(index) = core.append(now, Request { by: me, n }, shipped.clone()) else {
                // Indices of what waits are not known yet: nobody is told that it is certain.
                return None;
            };
            standbys.backlog.pop_front();
            last = Some(index);
        }
        last
    }

    /// The host hands the game's state to those who are to follow from it.
    pub(crate) fn provide_base(&mut self, now: Duration, game: Option<Vec<u8>>) {
        let wanted = core::mem::take(&mut self.standbys.bases_wanted);
        let Some(core) = &self.standbys.core else {
            return;
        };
        let base = Base {
            index: core.replica().log().length(),
            room: self.room.clone(),
            log_index: self.host_log.last(),
            chain: self.host_log.chain(),
            password: self.agreed_password(),
            game,
        };
        let Ok(encoded) = encode_to_vec(&base) else {
            return self.forgo_standbys();
        };
        let bytes = [&[BASE][..], &encoded].concat();
        for peer in wanted {
            debug!(%peer, bytes = bytes.len(), "asking a guest to stand by");
            self.put_sealed(now, peer, BULK, &bytes);
        }
    }

    /// A guest is given what to follow from.
    pub(super) fn on_base(&mut self, now: Duration, id: ConnectionId, bytes: &[u8]) -> Option<()> {
        let base: Base = decode_exact(bytes).ok()?;
        let host = self.room.authority();
        let is_host = self.connections.get(&id) == Some(&OtherEnd::Peer(host));
        let may = is_host && !self.room.is_mesh() && !self.leads() && self.may_host();
        let is_mine = base.room.id() == self.room.id();
        if !may || !is_mine || self.state != State::InSync {
            self.refused += 1;
            return Some(());
        }
        let number = room_number(base.room.id());
        let core = Hosted::join(now, HostedConfig::default(), number, self.incarnation);
        self.standbys.forget();
        self.standbys.core = Some(Box::new(core));
        if let Some(game) = base.game {
            self.standbys.shipments.push_back(Shipment::State(game));
        }
        let log = HostLog::of(base.log_index, base.chain, Vec::new());
        self.standbys.follower = Some(Follower {
            applied: base.index,
            room: base.room,
            log,
            password: base.password,
            seen: VecDeque::new(),
        });
        self.wake_at(now);
        Some(())
    }

    /// A guest says whether it could host, or does follow.
    pub(super) fn on_ability(
        &mut self,
        now: Duration,
        from: PeerId,
        is_ready: bool,
        step: Duration,
        upstream: u64,
    ) {
        let Some(incarnation) = self.room.peer(from).map(|p| p.incarnation) else {
            return;
        };
        let before = self.standbys.candidates.get(&from);
        let before = before.filter(|known| known.incarnation == incarnation);
        let asked_at = before.and_then(|known| known.asked_at);
        // It follows no longer: it has to be given a state anew.
        let fell_out = before.is_some_and(|known| known.is_ready) && !is_ready;
        let candidate = Candidate {
            incarnation,
            is_ready,
            step,
            upstream,
            asked_at: asked_at.filter(|_| !fell_out),
        };
        self.standbys.candidates.insert(from, candidate);
        self.standbys.next_choice = now;
        self.wake_at(now);
    }

    /// A guest tells the host whether it could take its place.
    fn tell_ability(&mut self, now: Duration) {
        self.standbys.next_ability = now + ABILITY_EVERY;
        let host = self.room.authority();
        let is_ready = self.could_take_over(now);
        self.standbys.has_told_ready = is_ready;
        let ability = Control::Ability {
            is_ready,
            step_us: crate::bounds::us(self.standbys.step),
            upstream: self.available_rate(host).unwrap_or(0),
        };
        self.send_control(now, host, &ability);
    }

    /// Everything that is due about standbys.
    pub(super) fn keep_standbys(&mut self, now: Duration) {
        if self.room.is_mesh() || self.me.is_none() {
            return;
        }
        if now.saturating_sub(self.standbys.driven_at) >= ASLEEP {
            self.standbys.awake_since = now;
        }
        self.standbys.driven_at = now;
        self.retry_take_over(now);
        self.await_host(now);
        self.dial_standbys(now);
        let is_member = matches!(self.state, State::InSync | State::Frozen);
        if !is_member {
            return;
        }
        match self.leads() {
            true => self.choose(now),
            false if self.may_host() && now >= self.standbys.next_ability => {
                self.tell_ability(now);
            }
            false => {}
        }
        if let Some(core) = &mut self.standbys.core
            && core.next_timeout() <= now
        {
            core.handle_timeout(now);
        }
        self.pump_standbys(now);
        if !self.leads() && self.could_take_over(now) && !self.standbys.has_told_ready {
            self.tell_ability(now);
        }
        self.tell_certain(now);
    }

    /// The host looks who should stand by.
    fn choose(&mut self, now: Duration) {
        if now < self.standbys.next_choice || self.standbys.leaving.is_some() {
            return;
        }
        self.standbys.next_choice = now + CHOOSE_EVERY;
        let wanted = self.standbys_wanted();
        let core = self.standbys.core.as_ref();
        let standing: Vec<Incarnation> = core
            .iter()
            .flat_map(|core| core.view().incarnations())
            .filter(|who| *who != self.incarnation)
            .collect();
        let present: Vec<(PeerId, Ability)> = self
            .room
            .peers()
            .iter()
            .filter(|p| p.presence == Presence::InSync && p.kind != PeerKind::Spectator)
            .filter_map(|p| {
                let known = self.standbys.candidates.get(&p.id);
                let known = known.filter(|known| known.incarnation == p.incarnation);
                // A standby of the former host is one until it says what it can.
                let stands = standing.contains(&p.incarnation);
                let (step, upstream) = match known {
                    Some(known) => (known.step, known.upstream),
                    None if stands => (DEMAND.step, DEMAND.upstream),
                    None => return None,
                };
                self.contacts.get(&p.id)?.connection?;
                let ability = Ability {
                    who: p.incarnation,
                    step,
                    upstream,
                    latency: self.latency(p.id),
                };
                Some((p.id, ability))
            })
            .collect();
        let abilities: Vec<Ability> = present.iter().map(|(_, ability)| *ability).collect();
        let chosen = choose_standbys(&DEMAND, &abilities, &standing, wanted);
        let peer_of =
            |who: Incarnation| present.iter().find(|(_, a)| a.who == who).map(|(p, _)| *p);
        let chosen: Vec<(PeerId, Incarnation)> = chosen
            .into_iter()
            .filter_map(|who| Some((peer_of(who)?, who)))
            .collect();
        if self.standbys.core.is_none() {
            let Some(me) = self.me.filter(|_| !chosen.is_empty()) else {
                return;
            };
            let number = room_number(self.room.id());
            let me = member(self.incarnation, me);
            let core = Hosted::found(now, HostedConfig::default(), number, me);
            self.standbys.core = Some(Box::new(core));
        }
        for (peer, _) in &chosen {
            let Some(candidate) = self.standbys.candidates.get_mut(peer) else {
                continue;
            };
            let waits = candidate.asked_at.is_some_and(|at| now < at + BASE_AGAIN);
            if !candidate.is_ready && !waits {
                candidate.asked_at = Some(now);
                self.standbys.bases_wanted.push(*peer);
            }
        }
        if !self.room.rules.initial_state && self.wants_base() {
            self.provide_base(now, None);
        }
        let is_ready = |peer: &PeerId| {
            let candidate = self.standbys.candidates.get(peer);
            candidate.is_some_and(|candidate| candidate.is_ready)
        };
        let ready = chosen
            .iter()
            .filter(|(peer, who)| is_ready(peer) || standing.contains(who))
            .map(|(peer, who)| member(*who, *peer));
        let ready: Vec<_> = ready.collect();
        let mut now_standing: Vec<Incarnation> = ready.iter().map(|m| m.incarnation).collect();
        now_standing.sort_unstable();
        let mut before = standing;
        before.sort_unstable();
        if now_standing != before
            && let Some(core) = &mut self.standbys.core
        {
            core.want_standbys(now, ready);
        }
    }

    /// The host tells everyone who stands by, and where.
    fn announce_standbys(&mut self, now: Duration) {
        let Some(core) = &self.standbys.core else {
            return;
        };
        let others = core.view().members.iter();
        let others = others.map(|m| PeerId(m.slot.0));
        let others = others.filter(|peer| Some(*peer) != self.me);
        let address = |peer: PeerId| -> Option<Address> {
            let connection = self.contacts.get(&peer)?.connection?;
            self.endpoint.peer_address(connection).map(Into::into)
        };
        let standbys: Vec<(PeerId, Option<Address>)> =
            others.map(|peer| (peer, address(peer))).collect();
        let same = standbys
            .iter()
            .map(|(peer, _)| peer)
            .eq(self.room.standbys());
        if !same && self.leads() {
            info!(count = standbys.len(), "standbys announced");
            self.append(now, None, Change::Standbys { standbys });
        }
    }

    /// Takes what the agreement of host and standbys has to tell and to send.
    pub(super) fn pump_standbys(&mut self, now: Duration) {
        if self.standbys.is_pumping {
            return;
        }
        self.standbys.is_pumping = true;
        loop {
            if matches!(self.state, State::Connecting | State::Left(_)) {
                break;
            }
            let Some(core) = &mut self.standbys.core else {
                break;
            };
            if let Some(event) = core.poll_event(now) {
                self.on_standby_event(now, event);
            } else if let Some(message) = core.poll_message() {
                self.send_succession(now, message);
            } else if let Some(knock) = core.poll_knock() {
                self.knock_at_members(now, &knock);
            } else if !self.standbys.backlog.is_empty() && core.holds_lease(now) {
                if self.ship_backlog(now).is_none() && !self.standbys.backlog.is_empty() {
                    break;
                }
            } else if self.standbys.is_elected(now) && !self.leads() {
                // All that is in the log has been shown.
                if !self.take_over(now) {
                    break;
                }
            } else {
                break;
            }
        }
        self.standbys.is_pumping = false;
        self.watch_lease(now);
        self.shorten_shipped();
        let is_member = matches!(self.state, State::InSync | State::Frozen);
        if let Some(core) = self.standbys.core.as_ref().filter(|_| is_member) {
            let next = core.next_timeout();
            self.wake_at(next.max(now));
        }
    }

    fn on_standby_event(&mut self, now: Duration, event: HostedEvent<Shipped>) {
        let hosts = self.leads();
        let standbys = &mut self.standbys;
        match event {
            HostedEvent::Restored { index, .. } => {
                let reaches = |follower: &Follower| follower.applied >= index;
                if !hosts && !standbys.follower.as_ref().is_some_and(reaches) {
                    debug!("missed more than the host remembers: no standby any more");
                    self.cannot_follow(now);
                }
            }
            HostedEvent::Command {
                index,
                command,
                grade,
                ..
            } => {
                if let Some(follower) = standbys.follower.as_mut().filter(|_| !hosts) {
                    follower.seen.push_back((index, command));
                }
                if grade == Grade::Certain {
                    self.on_certain_index(now, index);
                }
            }
            HostedEvent::Certain { index } => self.on_certain_index(now, index),
            HostedEvent::Rewound { index, .. } => {
                if let Some(follower) = &mut standbys.follower {
                    follower.seen.retain(|(at, _)| *at <= index);
                }
            }
            HostedEvent::HostChanged { host } => {
                if hosts && host.is_some_and(|host| host != self.incarnation) {
                    self.step_down(now);
                }
            }
            HostedEvent::ViewChanged { .. } => {
                standbys.next_choice = now;
                if hosts {
                    self.announce_standbys(now);
                } else {
                    self.tell_ability(now);
                }
            }
            HostedEvent::Frozen => standbys.frozen_since = Some(now),
            HostedEvent::Thawed => standbys.frozen_since = None,
            HostedEvent::Stranded if hosts => self.emit(SessionEvent::Stranded),
            HostedEvent::Stranded => {}
        }
    }

    fn on_certain_index(&mut self, now: Duration, index: u64) {
        if !self.leads() {
            let standbys = &mut self.standbys;
            if let Some(follower) = &mut standbys.follower {
                follower.settle(index, &mut standbys.shipments);
            }
            return;
        }
        let index = index.min(self.survives());
        let standbys = &mut self.standbys;
        while let Some((at, tick)) = standbys.marks.front()
            && *at <= index
        {
            standbys.certain = Some(*tick);
            standbys.marks.pop_front();
        }
        self.tell_certain(now);
    }

    /// The last index that would survive the loss of this host. A host with one standby decides alone, so that what it decides need not.
    fn survives(&self) -> u64 {
        let Some(core) = &self.standbys.core else {
            return u64::MAX;
        };
        let view = core.view();
        let others = || view.incarnations().filter(|who| *who != self.incarnation);
        match others().count() {
            1 => others().map(|who| core.replica().matched(who)).min(),
            _ => None,
        }
        .unwrap_or(u64::MAX)
    }

    /// Tells the guests which ticks are certain.
    fn tell_certain(&mut self, now: Duration) {
        if !self.leads() || now < self.standbys.next_certain || self.room.standbys().is_empty() {
            return;
        }
        if let Some(before) = self.standbys.certain {
            self.standbys.next_certain = now + CERTAIN_EVERY;
            let bytes = sealed(&Control::Certain { before });
            let peers: Vec<PeerId> = self.contacts.keys().copied().collect();
            for peer in peers {
                self.put_sealed(now, peer, UNRELIABLE, &bytes);
            }
        }
    }

    /// A host that cannot be sure to host stops; a standby that is left alone with what it has goes on.
    fn watch_lease(&mut self, now: Duration) {
        let Some(core) = &self.standbys.core else {
            return;
        };
        if !self.leads() {
            let is_pair = core.view().members.len() == 2 && core.role() == HostedRole::Standby;
            let awake = now >= self.standbys.awake_since + AWAKE;
            let alone = self.standbys.frozen_since.filter(|_| is_pair && awake);
            if let Some(since) = alone {
                match now >= since + ALONE_AFTER {
                    true => self.go_on_as_host(now),
                    false => self.wake_at(since + ALONE_AFTER),
                }
            }
            return;
        }
        let hosts = core.role() == HostedRole::Host;
        let sure = core.holds_lease(now) || core.replica().log().is_closing();
        match self.state {
            _ if core.role() == HostedRole::Left => self.finish_leaving(now),
            State::InSync if !sure && hosts => {
                self.state = State::Frozen;
                self.emit(SessionEvent::Frozen);
            }
            State::Frozen if sure && hosts => {
                self.state = State::InSync;
                self.emit(SessionEvent::InSync);
                self.decide(now);
            }
            _ => {}
        }
    }

    /// A standby whose only other member is lost goes on as the host of another room, with all that it holds.
    fn go_on_as_host(&mut self, now: Duration) {
        let (Some(me), Some(core)) = (self.me, &self.standbys.core) else {
            return;
        };
        let id = self.secrets.next_room_id();
        let me = member(self.incarnation, me);
        let Some(alone) = core.found_from(now, room_number(&id), me) else {
            return;
        };
        info!("the host is lost, and there is no other standby: going on as another room");
        self.standbys.core = Some(Box::new(alone));
        if let Some(follower) = &mut self.standbys.follower {
            follower
                .room
                .go_on_as(id, PeerId(me.slot.0), self.incarnation);
        }
        self.pump_standbys(now);
    }

    /// The agreed log keeps what the members, and those who are about to be, have not got yet.
    fn shorten_shipped(&mut self) {
        let Some(core) = &mut self.standbys.core else {
            return;
        };
        let kept = core.replica().log().kept();
        if kept < SHORTEN_AT {
            return;
        }
        let decided = core.replica().log().decided().index;
        let asked = self.standbys.candidates.values();
        let asked = asked
            .filter(|c| c.asked_at.is_some() && !c.is_ready)
            .count();
        let me = self.incarnation;
        let others = core.view().incarnations().filter(|who| *who != me);
        let held = others.map(|who| core.replica().matched(who)).min();
        let waits = core.role() == HostedRole::Host && kept < SHORTEN_ANYWAY;
        let upto = match waits {
            true if asked > 0 => return,
            true => held.unwrap_or(decided).min(decided),
            false => decided,
        };
        core.compact(upto, Vec::new());
    }

    /// Takes a message of the agreement of host and standbys.
    pub(super) fn on_succession(&mut self, now: Duration, from: PeerId, message: Message<Shipped>) {
        let speaks_as = self.room.peer(from).map(|p| p.incarnation);
        let follower = self.standbys.follower.as_ref();
        let known = follower
            .and_then(|f| f.room.peer(from))
            .map(|p| p.incarnation);
        if speaks_as != Some(message.from) && known != Some(message.from) {
            self.refused += 1;
            return;
        }
        if let Some(core) = &mut self.standbys.core {
            core.handle(now, message.from, message);
            self.pump_standbys(now);
        }
    }

    fn send_succession(&mut self, now: Duration, message: Message<Shipped>) {
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

    fn put_succession(
        &mut self,
        now: Duration,
        peer: PeerId,
        channel: samestep_proto::ChannelId,
        message: Message<Shipped>,
    ) {
        let contact = self.contacts.get(&peer).and_then(|c| c.connection);
        let Some(id) = contact.or_else(|| self.standbys.link(peer)) else {
            return;
        };
        let bytes = sealed(&Control::Succession(Box::new(message)));
        let _ = self.endpoint.send(now, id, channel, &bytes);
    }

    fn knock_at_members(&mut self, now: Duration, knock: &Message<Shipped>) {
        let host = self.room.authority();
        let peers = self.room.standbys().iter().copied().chain([host]);
        for peer in peers.collect::<Vec<_>>() {
            if Some(peer) != self.me {
                self.put_succession(now, peer, UNRELIABLE, knock.clone());
            }
        }
    }

    /// Connects to the standbys, so that they are known should they be needed. Between two of them, the one with the higher number does.
    fn dial_standbys(&mut self, now: Duration) {
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
            if self.connections.values().any(dials) {
                continue;
            }
            let options = ConnectOptions {
                server_key: Some(key),
                ..ConnectOptions::default()
            };
            if let Ok(id) = self.endpoint.connect(now, address.into(), options) {
                debug!(%peer, "connecting to a standby");
                self.connections.insert(id, dialled);
            }
        }
    }

    /// A connection to a standby is there.
    pub(super) fn on_standby_reached(&mut self, now: Duration, id: ConnectionId, peer: PeerId) {
        if let Some(me) = self.me {
            let link = Control::Link {
                from: me,
                incarnation: self.incarnation,
            };
            self.send_control_on(now, id, &link);
            self.bind_link(now, peer, id);
        }
    }

    /// Another guest, or a host that was lost, has connected to this program, which stands by or hosts.
    pub(super) fn on_standby_link(
        &mut self,
        now: Duration,
        id: ConnectionId,
        from: PeerId,
    ) -> Option<()> {
        let key = self.keys.get(&id).map(|key| *key.as_bytes());
        match self.room.peer(from) {
            Some(peer) if Some(peer.key) != key => return None,
            Some(_) if Some(from) != self.me => self.bind_link(now, from, id),
            _ => {
                // It is tried again when this program knows it too.
                self.connections.insert(id, OtherEnd::Gone);
                self.endpoint.close(now, id, 0, "not known here yet");
            }
        }
        Some(())
    }

    fn bind_link(&mut self, now: Duration, peer: PeerId, id: ConnectionId) {
        let link = self.standbys.links.entry(peer).or_default();
        let old = link.connection.replace(id);
        self.connections.insert(id, OtherEnd::Standby(peer));
        if let Some(old) = old.filter(|old| *old != id) {
            self.connections.insert(old, OtherEnd::Gone);
            self.endpoint.abort(now, old, 0, "replaced");
        }
        if self.leads() && !self.room.is_mesh() && self.standbys.core.is_some() {
            // It does not know yet who hosts.
            self.tell_take_over(now, peer, id);
        }
    }

    /// Hands over to a standby before this host leaves. Returns whether there is one.
    pub(super) fn hand_over_and_leave(&mut self, now: Duration, words: &str) -> bool {
        let me = self.incarnation;
        let Some(core) = self.standbys.core.as_mut().filter(|_| self.me.is_some()) else {
            return false;
        };
        let others = core.view().incarnations().filter(|who| *who != me);
        if !others.into_iter().any(|who| core.hears(now, who)) {
            return false;
        }
        self.standbys.leaving = Some(words.to_owned());
        let to = core
            .hand_over(now, None)
            .and_then(|who| core.view().slot(who));
        core.leave(now);
        if let Some(to) = to {
            self.send_control_to_all(now, &Control::Yields { to: PeerId(to.0) });
        }
        self.pump_standbys(now);
        true
    }
}
