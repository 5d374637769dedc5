//! The agreement of a mesh in its session: messages and events of the core, who leads, and what the leader sees to.

use core::time::Duration;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use samestep_proto::ConnectionId;
use samestep_wire::{decode_exact, encode_to_vec};
use tracing::{debug, info};

use crate::agreement::{
    Agreement, AgreementConfig, Body, Cut, Entry as Agreed, Event, Incarnation, Member, Message,
    NextView, Slot, Start, Suffix, View,
};
use crate::channels::{CONTROL, UNRELIABLE};
use crate::control::Control;
use crate::event::{LeaveReason, SessionEvent, State};
use crate::id::{PeerId, RoomId};
use crate::log::{Entry, KEPT, Lane, Origin};
use crate::room::{Change, Presence, Room, Rules};
use crate::session::cuts::Cuts;
use crate::session::game_log::GameLog;
use crate::session::{Contact, Session};

/// Entries a newcomer is told of that were committed before it came, so that it can help others to return.
const HISTORY: u64 = 256;
/// The same, and what is kept, in a mesh that has a game in its log: nobody needs old ticks.
const HISTORY_BESIDE_GAME: u64 = 32;
const KEPT_BESIDE_GAME: usize = 512;
/// Entries beyond those kept that are collected before the log is shortened.
const COLLECTED: usize = 512;
/// Silence that freezes a mesh that waits for its members.
pub(super) const WAIT_SILENCE: Duration = Duration::from_secs(3);
/// The shortest and the longest time after which a silent member is suspected: three beats while nothing is to be decided.
const SUSPECT: (Duration, Duration) = (Duration::from_millis(300), Duration::from_millis(1200));
/// Members of a mesh that have something to settle are asked again after so long.
const SETTLE_AGAIN: Duration = Duration::from_millis(100);

/// The timers of a mesh with these rules.
fn timers(rules: &Rules) -> AgreementConfig {
    let waits_for = Duration::from_micros(rules.rejoin_grace_us).max(WAIT_SILENCE);
    let silence = rules.drop_after_us.map(Duration::from_micros);
    let freeze = silence.unwrap_or(WAIT_SILENCE).max(SUSPECT.0);
    let suspect = (freeze / 2).clamp(SUSPECT.0, SUSPECT.1);
    AgreementConfig {
        suspect,
        calm_beat: suspect / 3,
        // Waiting has a bound: who is not back within the grace period is given up.
        exclude: silence.unwrap_or(waits_for).max(suspect * 2),
        freeze,
        ..AgreementConfig::default()
    }
}

/// The name of a room in its agreement.
pub(super) fn room_number(id: &RoomId) -> u64 {
    let [first @ .., _, _, _, _, _, _, _, _] = *id;
    u64::from_le_bytes(first)
}

/// A program as a member of views: its slot is its id in the room.
pub(super) fn member(incarnation: Incarnation, peer: PeerId) -> Member {
    Member {
        incarnation,
        slot: Slot(peer.0),
    }
}

/// The agreement of a mesh, and what the session remembers of it.
#[derive(Debug)]
pub(super) struct Mesh {
    /// `None` before the first welcome.
    pub(super) agreement: Option<Box<Agreement<Entry>>>,
    /// The room at the snapshot that the log follows.
    base: Room,
    /// Whether this program leads.
    leads: bool,
    /// Changes that this leader has decided on and cannot append yet.
    backlog: VecDeque<Entry>,
    /// Members that are to go: they are sent away, or came to a door as another incarnation.
    pub(super) superseded: BTreeSet<Incarnation>,
    /// Where what excluded members sent ends.
    pub(super) cuts: Cuts,
    /// The game, if one that has an authority is played.
    pub(super) game: GameLog,
    /// Whether events and messages of the core are being taken.
    pumping: bool,
}

impl Mesh {
    pub(super) fn new(room: &Room) -> Self {
        Self {
            agreement: None,
            base: room.clone(),
            leads: false,
            backlog: VecDeque::new(),
            superseded: BTreeSet::new(),
            cuts: Cuts::default(),
            game: GameLog::default(),
            pumping: false,
        }
    }

    /// Where nobody plays, there is nothing to flush before somebody is excluded, and no answer to wait for.
    fn config(&self, rules: &Rules) -> AgreementConfig {
        AgreementConfig {
            cuts: self.cuts.is_played(),
            ..timers(rules)
        }
    }

    /// Opens a mesh with this room, which has one member.
    pub(super) fn found(&mut self, now: Duration, room: &Room, me: Member) {
        let number = room_number(room.id());
        let agreement = Agreement::found(now, self.config(&room.rules), number, me);
        self.base = room.clone();
        self.cuts.begin(agreement.view(), room);
        self.agreement = Some(Box::new(agreement));
        self.leads = true;
        self.game.on_founded();
    }

    /// Takes the end of a log from the member that lets this program in. Returns the room that it leads to, or `None` if it makes no sense here.
    pub(super) fn join(
        &mut self,
        now: Duration,
        me: Member,
        suffix: Suffix<Entry>,
    ) -> Option<Room> {
        let Start::Snapshot(snapshot) = &suffix.start else {
            return None;
        };
        let base: Room = decode_exact(&snapshot.state).ok()?;
        let mut room = base.clone();
        for (index, entry) in (snapshot.point.index + 1..).zip(&suffix.entries) {
            room.follow(index, entry);
            // Who has left the room may still be in the view.
            self.cuts.note(&room);
        }
        let (config, number) = (self.config(&room.rules), room_number(room.id()));
        let agreement = Agreement::join_with(now, config, number, me, suffix);
        self.base = base;
        self.cuts.begin(agreement.view(), &room);
        self.agreement = Some(Box::new(agreement));
        self.leads = false;
        Some(room)
    }

    /// Goes on from the log that this program has, with what it missed.
    pub(super) fn resume(&mut self, now: Duration, me: Member, suffix: Suffix<Entry>) {
        if let Some(former) = &self.agreement {
            let mut agreement = former.return_as(now, me);
            agreement.feed(now, suffix);
            self.agreement = Some(Box::new(agreement));
            self.leads = false;
        }
    }

    /// Something came from a member.
    pub(super) fn on_heard(&mut self, now: Duration, peer: PeerId) {
        if let Some(agreement) = &mut self.agreement {
            let mut members = agreement.view().members.iter();
            let member = members.find(|m| m.slot.0 == peer.0).map(|m| m.incarnation);
            member
                .into_iter()
                .for_each(|who| agreement.on_heard(now, who));
        }
    }

    /// How far the log has been applied.
    pub(super) fn index(&self) -> u64 {
        self.agreement.as_ref().map_or(0, |a| a.shown())
    }

    pub(super) fn leads(&self) -> bool {
        self.leads
    }

    pub(super) fn view(&self) -> Option<&View> {
        self.agreement.as_ref().map(|a| a.view())
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.agreement.as_ref().is_some_and(|a| a.is_frozen())
    }

    /// Somebody has left the room: it asks for no place any more.
    pub(super) fn forget_learner(&mut self, contacts: &BTreeMap<PeerId, Contact>, peer: PeerId) {
        if let (Some(agreement), Some(contact)) = (&mut self.agreement, contacts.get(&peer)) {
            agreement.forget_learner(contact.incarnation);
        }
    }

    /// The changes that are not committed yet.
    fn uncommitted(&self) -> impl Iterator<Item = &Entry> {
        let entries = self.agreement.iter().flat_map(|a| a.unshown());
        let entries = entries.filter_map(|(_, entry)| match entry {
            Agreed::Command { command, .. } => Some(command),
            Agreed::Next(_) => None,
        });
        entries.chain(&self.backlog)
    }

    /// The last of a peer's proposals that became a change, committed or not.
    pub(super) fn settled(&self, room: &Room, peer: PeerId, lane: Lane) -> u32 {
        let committed = room.peer(peer).map_or(0, |p| p.settled[lane as usize]);
        self.uncommitted()
            .filter_map(|e| e.origin)
            .filter(|origin| origin.peer == peer && origin.lane == lane)
            .map(|origin| origin.number)
            .fold(committed, u32::max)
    }

    /// The last index that would survive the loss of this program: of two members the tie-breaker decides alone.
    pub(super) fn survives(&self, me: Incarnation) -> u64 {
        let (Some(agreement), true) = (&self.agreement, self.leads) else {
            return u64::MAX;
        };
        let view = agreement.view();
        let mut others = view.incarnations().filter(|who| *who != me);
        match (others.next(), others.next()) {
            (Some(other), None) => agreement.replica().matched(other),
            _ => u64::MAX,
        }
    }

    /// Whether such a change is not committed yet.
    pub(super) fn awaits(&self, is: impl Fn(&Change) -> bool) -> bool {
        self.uncommitted().any(|entry| is(&entry.change))
    }

    /// The room as it will be once everything is committed: what the authority decides by.
    pub(super) fn expected<'a>(&self, room: &'a Room) -> Cow<'a, Room> {
        let mut expected = Cow::Borrowed(room);
        let of_room = |entry: &Agreed<Entry>| match entry {
            Agreed::Command { command, .. } => command.change.is_of_room(),
            Agreed::Next(_) => true,
        };
        let unshown = self.agreement.iter().flat_map(|a| a.unshown());
        for (index, entry) in unshown.filter(|(_, entry)| of_room(entry)) {
            expected.to_mut().follow(index, entry);
        }
        for entry in self.backlog.iter().filter(|e| e.change.is_of_room()) {
            let index = self.index();
            expected.to_mut().apply(index, &entry.change);
            expected.to_mut().settle(entry);
        }
        expected
    }

    /// The leader adds an entry, as soon as it can. Returns whether it leads.
    fn append(&mut self, now: Duration, entry: Entry) -> bool {
        if self.leads {
            self.backlog.push_back(entry);
            self.append_backlog(now);
        }
        self.leads
    }

    fn append_backlog(&mut self, now: Duration) {
        let Some(agreement) = &mut self.agreement else {
            return;
        };
        while let Some(entry) = self.backlog.front()
            && agreement.append(now, entry.clone())
        {
            self.backlog.pop_front();
        }
    }

    /// The incarnation of a peer that is in the view.
    fn member(&self, peer: PeerId) -> Option<Incarnation> {
        let mut members = self.view()?.members.iter();
        members.find(|m| m.slot.0 == peer.0).map(|m| m.incarnation)
    }

    /// The members of the view that are to go: by the log as it is, committed or not, they are no members of the room, or have come back as another
    /// incarnation.
    fn unwanted(&self, room: &Room) -> BTreeSet<Incarnation> {
        let (view, expected) = (self.view(), self.expected(room));
        let gone = view.into_iter().flat_map(|view| unwanted(view, &expected));
        gone.chain(self.superseded.iter().copied()).collect()
    }

    /// Whether somebody who has left the room is still in the view.
    pub(super) fn has_unwanted(&self, room: &Room) -> bool {
        let view = self.agreement.iter().map(|a| a.view());
        view.flat_map(|view| unwanted(view, room)).next().is_some()
    }

    /// What a program needs that has the log up to an index, or has none.
    pub(super) fn suffix_for(&self, have: Option<u64>) -> Option<Suffix<Entry>> {
        let mut log = self.agreement.as_ref()?.replica().log().clone();
        let first = log.snapshot().point.index;
        let shown = self.index();
        if let Some(have) = have.filter(|have| (first..=shown).contains(have)) {
            return Some(log.decided_after(have));
        }
        let history = match self.game.is_played() {
            true => HISTORY_BESIDE_GAME,
            false => HISTORY,
        };
        let history = shown.saturating_sub(history).max(first).max(1);
        let room = self.room_at(history);
        log.compact(history, encode_to_vec(&room).ok()?);
        Some(log.decided_after(0))
    }

    /// Whether somebody with the log up to an index of this room needs no snapshot.
    pub(super) fn reaches_back_to(&self, index: u64) -> bool {
        let first = self.agreement.as_ref().map(|a| a.replica().log());
        let first = first.map_or(u64::MAX, |log| log.snapshot().point.index);
        (first..=self.index()).contains(&index)
    }

    fn room_at(&self, index: u64) -> Room {
        let mut room = self.base.clone();
        if let Some(log) = self.agreement.as_ref().map(|a| a.replica().log()) {
            let first = log.snapshot().point.index + 1;
            for (index, entry) in (first..=index).filter_map(|i| Some((i, log.entry(i)?))) {
                room.follow(index, entry);
            }
        }
        room
    }

    /// Lets the log begin with the room as it is.
    fn begin_at(&mut self, room: &Room) {
        if let (Some(agreement), Ok(state)) = (&mut self.agreement, encode_to_vec(room)) {
            agreement.compact(state);
            self.base = room.clone();
        }
    }

    /// Keeps only so many entries as stragglers may need.
    fn shorten(&mut self) {
        let Some(agreement) = &self.agreement else {
            return;
        };
        let log = agreement.replica().log();
        let kept = match self.game.is_played() {
            true => KEPT_BESIDE_GAME,
            false => KEPT,
        };
        if log.kept() < kept + COLLECTED {
            return;
        }
        let first = log.snapshot().point.index;
        let index = (first + COLLECTED as u64).min(agreement.shown());
        let room = self.room_at(index);
        if let (Some(agreement), Ok(state)) = (&mut self.agreement, encode_to_vec(&room)) {
            agreement.compact_to(index, state);
            self.base = room;
        }
    }
}

impl Session {
    /// The authority makes a change. Returns whether it is the authority.
    pub(super) fn append(&mut self, now: Duration, origin: Option<Origin>, change: Change) -> bool {
        let entry = Entry { origin, change };
        if !self.room.is_mesh() {
            self.append_hosted(now, entry);
            return true;
        }
        let leads = self.mesh.append(now, entry);
        self.pump_agreement(now);
        leads
    }

    /// Whether the authority can make changes now: the leader of a mesh cannot while the view changes.
    pub(super) fn can_append(&self, now: Duration) -> bool {
        match (&self.mesh.agreement, self.room.is_mesh()) {
            (Some(agreement), true) => {
                self.mesh.leads && self.mesh.backlog.is_empty() && agreement.can_append(now)
            }
            _ => self.leads() && self.state != State::Frozen,
        }
    }

    /// Takes a message of the agreement.
    pub(super) fn on_agreement(&mut self, now: Duration, from: PeerId, message: Message<Entry>) {
        if self.state == State::Connecting || !self.may_speak_as(now, from, &message) {
            self.traffic.refused += 1;
            return;
        }
        let contact = self.contact(from);
        contact.incarnation = message.from;
        if matches!(message.body, Body::Farewell { .. }) {
            // What it said before may still be arriving.
            contact.last_promise = Some(Box::new(message));
            self.wake_at(now);
            return self.take_farewells(now);
        }
        if matches!(message.body, Body::Beat(_)) {
            contact.beats.on_whole(&message);
        }
        if let Some(agreement) = &mut self.mesh.agreement {
            agreement.handle(now, message.from, message);
        }
        self.pump_agreement(now);
    }

    /// Takes a beat that is as the last one of this member was.
    pub(super) fn on_same_beat(&mut self, now: Duration, from: PeerId, digest: u32, lacks: bool) {
        if let Some(message) = self.contact(from).beats.on_same(digest, lacks) {
            self.on_agreement(now, from, message);
        }
    }

    /// Whether a message comes from the incarnation that it names: nobody votes for somebody else, and only who was admitted asks for a place.
    fn may_speak_as(&mut self, now: Duration, from: PeerId, message: &Message<Entry>) -> bool {
        let Some(agreement) = &self.mesh.agreement else {
            return false;
        };
        let who = message.from;
        let is_others = |peer: &crate::room::PeerInfo| peer.incarnation == who && peer.id != from;
        if self.room.peers().iter().any(is_others) {
            return false;
        }
        let Body::Learn { slot, .. } = &message.body else {
            return agreement
                .view()
                .slot(who)
                .is_none_or(|slot| slot.0 == from.0);
        };
        let known = self.room.peer(from);
        let is_known = known.is_some_and(|p| p.incarnation == who && p.presence != Presence::Away);
        if !is_known && message.decided <= agreement.shown() {
            // What it was admitted by has been undone since.
            let index = agreement.shown();
            let incarnation = who;
            self.send_control(now, from, &Control::Out { incarnation, index });
        }
        is_known && *slot == Some(Slot(from.0))
    }

    /// Takes a message of somebody who says to have joined after everything that is known here. A frozen member has nobody else to learn of that from, and
    /// believes who knows the number of its room, which only members do.
    pub(super) fn on_agreement_of_later(
        &mut self,
        now: Duration,
        id: ConnectionId,
        message: Message<Entry>,
    ) {
        let Some(agreement) = &mut self.mesh.agreement else {
            return;
        };
        let who = message.from;
        let later = message.view > agreement.view().number && !agreement.view().contains(who);
        if self.state != State::Frozen || !agreement.is_frozen() || !later {
            return;
        }
        agreement.handle(now, who, message);
        while let Some(answer) = self.mesh.agreement.as_mut().and_then(|a| a.poll_message()) {
            match answer.to == who {
                true => {
                    let control = Control::Agreement(Box::new(answer));
                    self.send_control_on(now, id, &control);
                }
                false => self.send_agreement(now, answer),
            }
        }
        self.pump_agreement(now);
    }

    /// Takes the farewells of those from whom nothing more comes.
    pub(super) fn take_farewells(&mut self, now: Duration) {
        let parted: Vec<PeerId> = self
            .links
            .contacts
            .iter()
            .filter(|(peer, c)| c.last_promise.is_some() && self.has_hung_up(now, **peer))
            .map(|(peer, _)| *peer)
            .collect();
        for peer in parted {
            let contact = self.contact(peer);
            let reason = contact.farewell.clone();
            let message = contact.last_promise.take();
            if let (Some(agreement), Some(message)) = (&mut self.mesh.agreement, message) {
                agreement.handle(now, message.from, *message);
            }
            if let Some(reason) = reason
                && self.leads()
            {
                self.wish(now, peer, Change::Left { peer, reason });
            }
            self.pump_agreement(now);
            self.fulfil_wishes(now);
        }
    }

    /// Does what is due in the agreement. Returns whether anything was.
    pub(super) fn keep_agreement(&mut self, now: Duration) -> bool {
        let takes_part = matches!(self.state, State::Loading | State::InSync | State::Frozen);
        if !takes_part {
            return false;
        }
        self.take_farewells(now);
        let agreement = self.mesh.agreement.as_mut();
        let is_due = agreement.is_some_and(|agreement| {
            let is_due = agreement.next_timeout() <= now;
            agreement.handle_timeout(now);
            is_due
        });
        self.pump_agreement(now);
        is_due
    }

    /// Takes everything that the agreement has to tell and to send.
    pub(super) fn pump_agreement(&mut self, now: Duration) {
        if self.mesh.pumping {
            return;
        }
        self.mesh.pumping = true;
        loop {
            if matches!(self.state, State::Connecting | State::Left(_)) {
                break;
            }
            let Some(agreement) = &mut self.mesh.agreement else {
                break;
            };
            if let Some(event) = agreement.poll_event(now) {
                self.on_agreed(now, event);
            } else if let Some(message) = agreement.poll_message() {
                self.send_agreement(now, message);
            } else if let Some(knock) = agreement.poll_knock() {
                self.knock(now, &knock);
            } else if !self.watch_leader(now) {
                break;
            }
        }
        self.mesh.pumping = false;
        self.settle_game();
        self.mesh.shorten();
        if let Some(agreement) = &self.mesh.agreement {
            let next = agreement.next_timeout();
            self.wake_at(next.max(now));
        }
    }

    fn send_agreement(&mut self, now: Duration, message: Message<Entry>) {
        let to = message.to;
        let speaks_as = |(_, c): &(&PeerId, &Contact)| c.incarnation == to;
        let heard = self
            .links
            .contacts
            .iter()
            .find(speaks_as)
            .map(|(peer, _)| *peer);
        let known = || self.room.peers().iter().find(|p| p.incarnation == to);
        let Some(peer) = heard.or_else(|| known().map(|p| p.id)) else {
            return;
        };
        let repeated = matches!(
            message.body,
            Body::Beat(_) | Body::PreVote { .. } | Body::PreVoted { .. } | Body::Learn { .. }
        );
        let channel = if repeated { UNRELIABLE } else { CONTROL };
        let is_beat = matches!(message.body, Body::Beat(_));
        let control = match is_beat {
            true => self.contact(peer).beats.say(message),
            false => Control::Agreement(Box::new(message)),
        };
        let longest = timers(&self.room.rules).calm_beat / 2;
        if is_beat && self.lets_wait(now, peer, longest, &control) {
            return;
        }
        self.send_control_by(now, peer, channel, &control);
    }

    /// A frozen member asks everybody it is connected to.
    fn knock(&mut self, now: Duration, knock: &Message<Entry>) {
        let control = Control::Agreement(Box::new(knock.clone()));
        let peers: Vec<PeerId> = self.links.contacts.keys().copied().collect();
        for peer in peers {
            self.send_control_unreliably(now, peer, &control);
        }
    }

    /// A frozen member tells somebody that it does not know yet where it stands.
    pub(super) fn knock_at(&mut self, now: Duration, id: ConnectionId) {
        if let Some(agreement) = self.mesh.agreement.as_ref().filter(|a| a.is_frozen()) {
            let control = Control::Agreement(Box::new(agreement.knock()));
            self.send_control_on(now, id, &control);
        }
    }

    fn on_agreed(&mut self, now: Duration, event: Event<Entry>) {
        match event {
            Event::Command { index, command, .. } => self.apply(now, index, command),
            Event::ViewChanged { view, cuts } => self.on_view(now, &view, cuts),
            Event::Restored { .. } => {
                self.rejoin_through(now, None, "missed more than the others remember");
            }
            Event::Frozen | Event::Thawed => self.freeze_or_thaw(now),
            Event::Stranded => self.emit(SessionEvent::Stranded),
            Event::Flush(flush) => self.on_flush(now, flush),
            Event::RoomFrozen { .. } => {}
        }
    }

    /// Another view is in force: the room's members are in sync or away accordingly.
    fn on_view(&mut self, now: Duration, view: &View, cuts: Vec<Cut>) {
        debug!(number = view.number, members = view.members.len(), "view");
        let (index, next) = (view.first_index, next_of(view));
        self.timers.met_at = now;
        self.mesh.superseded.retain(|who| view.contains(*who));
        let mut changes = self.room.changes_of_view(&next);
        // Who is excluded itself joins anew, with the room as the view leaves it.
        changes.sort_by_key(
            |change| matches!(change, Change::Away { peer } if Some(*peer) == self.me),
        );
        for change in changes {
            let origin = None;
            self.apply(now, index, Entry { origin, change });
        }
        self.on_cuts(view, cuts);
        self.fulfil_wishes(now);
        self.tell_password(now);
        self.decide(now);
    }

    /// Follows who leads. Returns whether the agreement may have something to tell or to send by that.
    fn watch_leader(&mut self, now: Duration) -> bool {
        let Some(agreement) = &mut self.mesh.agreement else {
            return false;
        };
        let leads = agreement.leads(now);
        let view = agreement.view();
        let leader = agreement.leader(now).and_then(|who| view.slot(who));
        let leader = leader.map(|slot| PeerId(slot.0)).or(self.leader);
        if leads != self.mesh.leads {
            info!(leads, view = view.number, "leadership changes");
            self.mesh.leads = leads;
            self.mesh.superseded.clear();
            self.mesh.backlog.clear();
            self.mesh.game.on_leadership();
            self.leading.askers.forget();
            self.leading.wishes.clear();
            self.leader = leader;
            self.send_proposals(now);
            return true;
        }
        if leader != self.leader {
            debug!(?leader, "following a leader");
            self.leader = leader;
            if let Some(leader) = leader {
                self.clock.keeper.set_members(now, &self.room, leader);
            }
            self.send_proposals(now);
            return true;
        }
        if !leads {
            return false;
        }
        // The entry that sends somebody away and the view without it go out in the same instant: a leader that dies seldom leaves only the first behind.
        let unwanted = self.mesh.unwanted(&self.room);
        if let Some(agreement) = &mut self.mesh.agreement {
            agreement.set_unwanted(now, unwanted);
        }
        if !self.mesh.backlog.is_empty() {
            self.mesh.append_backlog(now);
            return self.mesh.backlog.is_empty();
        }
        let me = self.me.filter(|_| self.can_append(now));
        match me {
            Some(peer)
                if self.mesh.game.wants_claim()
                    || self.mesh.expected(&self.room).authority() != peer =>
            {
                self.mesh.game.on_claimed();
                self.append(now, None, Change::Authority { peer })
            }
            _ => false,
        }
    }

    /// Makes a change as soon as it can be made.
    pub(super) fn wish(&mut self, now: Duration, peer: PeerId, change: Change) {
        if self.leading.wishes.contains(&(peer, change.clone())) {
            return;
        }
        self.leading.wishes.retain(|(wished, _)| *wished != peer);
        self.leading.wishes.push_back((peer, change));
        self.wake_at(now);
    }

    pub(super) fn fulfil_wishes(&mut self, now: Duration) {
        while self.can_append(now) {
            let Some((peer, change)) = self.leading.wishes.pop_front() else {
                return;
            };
            let expected = self.mesh.expected(&self.room);
            let presence = expected.peer(peer).map(|p| p.presence);
            let member = self.mesh.member(peer).filter(|_| Some(peer) != self.me);
            if let Some(member) = member.filter(|_| !change.sends_away()) {
                // The room lets nobody go who still decides: should the leader die in between, those who stay would be too few.
                self.mesh.superseded.insert(member);
                self.leading.wishes.push_front((peer, change));
                break;
            }
            let is_mesh = expected.is_mesh();
            let makes_sense = match &change {
                Change::Away { .. } => presence.is_some_and(|p| p != Presence::Away),
                // It has come back meanwhile.
                Change::Left { reason, .. } if is_mesh && *reason == LeaveReason::Silent => {
                    presence == Some(Presence::Away)
                }
                _ => presence.is_some(),
            };
            if makes_sense && Some(peer) != self.me {
                self.append(now, None, change);
            }
        }
        if !self.leading.wishes.is_empty() {
            self.wake_at(now + SETTLE_AGAIN);
        }
    }

    /// Freezes a mesh that reaches too few, or that waits for somebody, and goes on when it need not be frozen any more.
    pub(super) fn freeze_or_thaw(&mut self, now: Duration) {
        let Some(view) = self.mesh.view() else {
            return;
        };
        let waits = self.room.rules.drop_after_us.is_none();
        let others: Vec<PeerId> = view.members.iter().map(|m| PeerId(m.slot.0)).collect();
        let is_here = |peer: &PeerId| !self.is_silent(now, *peer) || self.said_farewell(*peer);
        let complete = !waits || others.iter().all(is_here);
        let heard = others
            .iter()
            .any(|peer| Some(*peer) != self.me && is_here(peer));
        let goes_on = !self.mesh.is_frozen() && complete;
        match self.state {
            State::InSync if !goes_on => {
                self.state = State::Frozen;
                self.emit(SessionEvent::Frozen);
            }
            State::Frozen if goes_on => {
                self.state = State::InSync;
                self.emit(SessionEvent::InSync);
                self.send_proposals(now);
                self.decide(now);
            }
            State::Loading if !heard => {
                self.rejoin_through(now, None, "nobody was heard any more while loading");
            }
            _ => {}
        }
    }

    /// The leader marks those away that were silent while they loaded, and lets those go that said farewell.
    pub(super) fn drop_silent(&mut self, now: Duration) {
        if !self.leads() {
            return;
        }
        let peers = self.room.peers().iter();
        let peers: Vec<(PeerId, Presence)> = peers.map(|p| (p.id, p.presence)).collect();
        for (peer, presence) in peers {
            if Some(peer) == self.me || !self.is_silent(now, peer) {
                continue;
            }
            let farewell = self
                .links
                .contacts
                .get(&peer)
                .and_then(|c| c.farewell.clone());
            match farewell {
                // What it said before may still be arriving.
                Some(_) if !self.has_hung_up(now, peer) => {}
                Some(reason) => self.wish(now, peer, Change::Left { peer, reason }),
                None if presence == Presence::Loading => {
                    self.wish(now, peer, Change::Away { peer });
                }
                None => {}
            }
        }
        self.fulfil_wishes(now);
    }

    /// Says farewell to the other members of a mesh: this program never votes again.
    pub(super) fn part(&mut self, now: Duration) {
        if let Some(agreement) = &mut self.mesh.agreement {
            agreement.leave(now);
        }
        while let Some(message) = self.mesh.agreement.as_mut().and_then(|a| a.poll_message()) {
            self.send_agreement(now, message);
        }
    }

    /// Goes on alone, with everything that is certain here, as another room: for a member of a mesh that is [stranded](SessionEvent::Stranded). The others,
    /// if they live, go on without it. Returns whether it did: only who is frozen can.
    pub fn go_on_alone(&mut self, now: Duration) -> bool {
        let (Some(me), Some(agreement)) = (self.me, &self.mesh.agreement) else {
            return false;
        };
        if self.state != State::Frozen || !agreement.is_frozen() {
            return false;
        }
        let id = self.own.secrets.next_room_id();
        let incarnation = self.own.secrets.next_incarnation();
        let Some(alone) = agreement.found_from(now, room_number(&id), incarnation) else {
            return false;
        };
        info!("going on alone as another room");
        self.mesh.agreement = Some(Box::new(alone));
        self.own.incarnation = incarnation;
        self.room.go_on_as(id, me, incarnation);
        self.mesh.cuts.note(&self.room);
        self.pump_agreement(now);
        self.mesh.begin_at(&self.room);
        self.freeze_or_thaw(now);
        true
    }
}

/// The members of a view who are no members of the room any more: the leader has them excluded.
fn unwanted<'a>(view: &'a View, room: &'a Room) -> impl Iterator<Item = Incarnation> + 'a {
    let is_gone = |m: &&Member| {
        let known = room.peer(PeerId(m.slot.0));
        known.is_none_or(|p| p.incarnation != m.incarnation)
    };
    view.members.iter().filter(is_gone).map(|m| m.incarnation)
}

/// The entry that a view was opened by, as far as a room needs it.
fn next_of(view: &View) -> NextView {
    NextView {
        members: view.members.clone(),
        tie_breaker: view.tie_breaker,
        owner: view.owner,
        cuts: Vec::new(),
    }
}
