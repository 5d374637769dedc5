//! One program's part in the agreement of a room: a replica, and when it acts.

mod cuts;
mod elect;
mod members;

use core::time::Duration;
use std::collections::{BTreeSet, VecDeque};

use super::ballot::Ballot;
use super::config::AgreementConfig;
use super::delivery::{Delivery, Event};
use super::detector::Detector;
use super::election::Election;
use super::flush::Round;
use super::learner::Learners;
use super::log::{Entry, Log, MAX_ENTRIES, Suffix};
use super::message::{Body, Message};
use super::replica::Replica;
use super::requests::{Pending, Request};
use super::view::{Incarnation, Member, NextView, Slot, View};

/// One program's part in the agreement of a room.
///
/// Messages and the time go in ([`handle`](Self::handle), [`handle_timeout`](Self::handle_timeout)), messages and events come out
/// ([`poll_message`](Self::poll_message), [`poll_knock`](Self::poll_knock), [`poll_event`](Self::poll_event)). Messages may be lost, repeated and reordered. The caller knows whom it received a message from, and
/// finds ways to members and doors by address.
#[derive(Clone, Debug)]
pub struct Agreement<C> {
    room: u64,
    config: AgreementConfig,
    replica: Replica<C>,
    detector: Detector,
    election: Election,
    learners: Learners,
    pending: Pending<C>,
    delivery: Delivery,
    /// The slot that a learner wants, and whether it is ready to be a member.
    slot: Option<Slot>,
    ready: bool,
    wishes: Wishes,
    flush: Option<Round>,
    /// The newest round that this member was asked in: the view, the leader's ballot, the number.
    flushing: (u32, Ballot, u32),
    /// Members that have this program's farewell.
    parted: BTreeSet<Incarnation>,
    beats: u32,
    next_beat: Duration,
    knocks: bool,
    out: VecDeque<Message<C>>,
    asides: VecDeque<Event<C>>,
}

/// Ballots of a view that are so much higher than any seen are not believed: nobody has lost so many elections.
const MAX_LATER_BALLOTS: u32 = 1000;

/// What the application of a leader wants of the next view.
#[derive(Clone, Debug, Default)]
struct Wishes {
    tie_breaker: Option<Incarnation>,
    /// Members that are to go although they are heard.
    unwanted: BTreeSet<Incarnation>,
}

/// How far a program is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It is fed, and not yet a member.
    Learner,
    /// It takes part.
    Member,
    /// It hears too few members.
    Frozen,
    /// It was excluded; it comes back as another incarnation.
    Excluded,
    /// It said farewell.
    Left,
}

/// Too many requests are undecided: propose again later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("too many requests are undecided")]
pub struct TooManyRequests;

impl<C: Clone + PartialEq> Agreement<C> {
    /// Opens a room with one member.
    pub fn found(now: Duration, config: AgreementConfig, room: u64, me: Member) -> Self {
        let first = Self::alone(me);
        Self::with_log(now, config, room, me.incarnation, Log::founding(first))
    }

    /// Joins a room as a learner, to come back to a slot or to get one. Until it is answered, it knocks at every door that the caller knows.
    pub fn join(
        now: Duration,
        config: AgreementConfig,
        room: u64,
        me: Incarnation,
        slot: Option<Slot>,
    ) -> Self {
        let mut joining = Self::with_log(now, config, room, me, Log::empty());
        joining.slot = slot;
        joining
    }

    /// Joins a room as a learner that was handed the end of its log by a member, snapshot included, and that takes it as shown. What is decided later is shown
    /// at once, although no view names it yet; none does before it says that it is [ready](Self::set_ready).
    pub fn join_with(
        now: Duration,
        config: AgreementConfig,
        room: u64,
        me: Member,
        suffix: Suffix<C>,
    ) -> Self {
        let mut log = Log::empty();
        let decided = suffix.decided;
        log.adopt(suffix);
        log.decide_to(decided);
        log.forget_undecided();
        let shown = Delivery::begun(log.decided().index, log.decided().view.clone());
        Self::with_log(now, config, room, me.incarnation, log).learning(me.slot, shown)
    }

    /// Comes back as another incarnation, a learner with the decided log of this one. It goes on to be shown what this one has not been.
    pub fn return_as(&self, now: Duration, me: Member) -> Self {
        let mut log = self.replica.log().clone();
        log.forget_undecided();
        let shown = Delivery::begun(self.delivery.index(), self.delivery.view().clone());
        Self::with_log(now, self.config, self.room, me.incarnation, log).learning(me.slot, shown)
    }

    fn learning(mut self, slot: Slot, shown: Delivery) -> Self {
        self.slot = Some(slot);
        self.ready = false;
        self.delivery = shown;
        self
    }

    /// Goes on alone as a new room, with everything that is decided here: for a member that is stranded. `None` for who is no member.
    pub fn found_from(&self, now: Duration, room: u64, me: Incarnation) -> Option<Self> {
        let slot = self.replica.view().slot(self.replica.me())?;
        let mut log = self.replica.log().clone();
        log.forget_undecided();
        let me = Member {
            incarnation: me,
            slot,
        };
        log.append(Entry::Next(Self::alone(me)));
        log.decide_to(log.length());
        let mut alone = Self::with_log(now, self.config, room, me.incarnation, log);
        alone.delivery = Delivery::begun(self.delivery.index(), self.delivery.view().clone());
        Some(alone)
    }

    /// Takes the end of the decided log from a member that it trusts with it.
    pub fn feed(&mut self, now: Duration, suffix: Suffix<C>) {
        self.replica.absorb(suffix);
        self.settle(now);
    }

    fn alone(me: Member) -> NextView {
        NextView {
            members: vec![me],
            tie_breaker: me.incarnation,
            owner: me.incarnation,
            cuts: Vec::new(),
        }
    }

    fn with_log(
        now: Duration,
        config: AgreementConfig,
        room: u64,
        me: Incarnation,
        log: Log<C>,
    ) -> Self {
        let mut agreement = Self {
            room,
            config,
            replica: Replica::new(me, log),
            detector: Detector::new(config.suspect),
            election: Election::new(config),
            learners: Learners::default(),
            pending: Pending::default(),
            delivery: Delivery::default(),
            slot: None,
            ready: true,
            wishes: Wishes::default(),
            flush: None,
            flushing: (0, Ballot::default(), 0),
            parted: BTreeSet::new(),
            beats: 0,
            next_beat: now,
            knocks: false,
            out: VecDeque::new(),
            asides: VecDeque::new(),
        };
        agreement.on_view(now);
        agreement
    }

    /// The room.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// What this member promised, accepted and decided.
    pub fn replica(&self) -> &Replica<C> {
        &self.replica
    }

    /// The view in force, as far as this program knows.
    pub fn view(&self) -> &View {
        self.replica.view()
    }

    /// The member that leads, if one was heard to within the suspicion time.
    pub fn leader(&self, now: Duration) -> Option<Incarnation> {
        match self.claims(now) {
            true => Some(self.me()),
            false => self.election.leader(now).filter(|l| *l != self.me()),
        }
    }

    /// How far this program is.
    pub fn standing(&self) -> Standing {
        let member = self.view().contains(self.me());
        // Who was admitted and excluded before it heard of either was a member all the same.
        let known = &self.replica.log().decided().requests;
        match (member, known.knows(self.me())) {
            _ if self.replica.has_left() => Standing::Left,
            (true, _) if self.delivery.is_frozen() => Standing::Frozen,
            (true, _) => Standing::Member,
            (false, true) => Standing::Excluded,
            (false, false) => Standing::Learner,
        }
    }

    /// The number of own requests that are not known to be decided.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Whether everyone has this program's farewell: it can end.
    pub fn is_gone(&self) -> bool {
        let me = self.me();
        let mut others = self.view().incarnations().filter(|m| *m != me);
        self.replica.has_left() && others.all(|m| self.parted.contains(&m))
    }

    /// Whom a leader makes the tie-breaker of views that it proposes, if it is a member; otherwise itself.
    pub fn prefer_tie_breaker(&mut self, who: Option<Incarnation>) {
        self.wishes.tie_breaker = who;
    }

    /// Whom a leader excludes although they are heard.
    pub fn set_unwanted(&mut self, now: Duration, unwanted: BTreeSet<Incarnation>) {
        if core::mem::replace(&mut self.wishes.unwanted, unwanted) != self.wishes.unwanted {
            self.change_view(now);
            self.settle(now);
        }
    }

    /// Whether a leader asks for [cuts](Event::Flush) before it excludes somebody: all members of a room must have the same.
    pub fn set_cuts(&mut self, cuts: bool) {
        self.config.cuts = cuts;
    }

    /// Whether a learner has all that it takes to be a member, apart from the log.
    pub fn set_ready(&mut self, now: Duration, ready: bool) {
        if core::mem::replace(&mut self.ready, ready) != ready {
            self.next_beat = now;
        }
    }

    /// Forgets the plea of a learner, if it is not the slot's by the application's word.
    pub fn forget_learner(&mut self, who: Incarnation) {
        self.learners.forget(who);
    }

    /// Whether this member leads, and a quorum hears it and is heard.
    pub fn leads(&self, now: Duration) -> bool {
        self.claims(now) && !self.delivery.is_frozen()
    }

    /// Whether too few members are heard.
    pub fn is_frozen(&self) -> bool {
        self.delivery.is_frozen()
    }

    /// How far the application has been shown the log.
    pub fn shown(&self) -> u64 {
        self.delivery.index()
    }

    /// The entries that the application has not been shown, decided or not, with their indices.
    pub fn unshown(&self) -> impl Iterator<Item = (u64, &Entry<C>)> {
        let log = self.replica.log();
        let first = self.shown().max(log.snapshot().point.index) + 1;
        (first..=log.length()).filter_map(|index| Some((index, log.entry(index)?)))
    }

    /// Something other than a message of the agreement came from a member: it counts as a beat.
    pub fn on_heard(&mut self, now: Duration, from: Incarnation) {
        self.detector.on_heard(now, from);
    }

    /// A member that this program has not heard yet was last heard then by whom it joined through: should this one lead soon, that silence counts.
    pub fn on_told_silent(&mut self, now: Duration, who: Incarnation, at: Duration) {
        let exclude = self.config.exclude;
        self.detector.on_told(now, who, at, exclude);
    }

    /// Whether a leader can [append](Self::append) now.
    pub fn can_append(&self, now: Duration) -> bool {
        let log = self.replica.log();
        let has_room = log.kept() < MAX_ENTRIES && self.pending.len() == 0;
        self.leads(now) && has_room && !log.is_closing()
    }

    /// The leader adds a command at once. What cannot be added now is not kept, and asked of nobody else: unlike [`propose`](Self::propose), which it is
    /// not to be mixed with. Returns whether it was added.
    pub fn append(&mut self, now: Duration, command: C) -> bool {
        let by = self.me();
        let next = self.replica.log().last_request(by).checked_add(1);
        let Some(n) = next.filter(|_| self.can_append(now)) else {
            return false;
        };
        let added = self.replica.append(Request { by, n }, command);
        self.settle(now);
        added
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn next_timeout(&self) -> Duration {
        self.next_beat
    }

    /// The next message to send.
    pub fn poll_message(&mut self) -> Option<Message<C>> {
        self.out.pop_front()
    }

    /// A message to send to every door, by address: from a learner that is not answered, and from a frozen member.
    pub fn poll_knock(&mut self) -> Option<Message<C>> {
        core::mem::take(&mut self.knocks).then(|| self.knock())
    }

    /// What this program says to whoever may know more.
    pub fn knock(&self) -> Message<C> {
        let body = match self.replica.votes() {
            true => Body::Status(self.replica.status()),
            false => Body::Learn {
                slot: self.slot,
                feed: true,
                ready: self.ready,
            },
        };
        self.message(Incarnation::ANYONE, body)
    }

    /// The next event.
    pub fn poll_event(&mut self, now: Duration) -> Option<Event<C>> {
        let me = self.me();
        let wait = self.config.wait;
        let event = self.delivery.poll(now, me, wait, self.replica.log());
        // What is asked about the present view comes after all that led to it.
        event.or_else(|| match self.delivery.is_frozen() {
            true => None,
            false => self.asides.pop_front(),
        })
    }

    /// Keeps the application's state in place of everything that it has been shown: later stragglers and learners get it.
    pub fn compact(&mut self, state: Vec<u8>) {
        self.compact_to(self.delivery.index(), state);
    }

    /// Keeps the application's state as it was at an index in place of the entries up to there.
    pub fn compact_to(&mut self, index: u64, state: Vec<u8>) {
        let index = index.min(self.delivery.index());
        self.replica.log_mut().compact(index, state);
    }

    /// Asks for a command to be decided. It is asked again of every leader until it is.
    pub fn propose(&mut self, now: Duration, command: C) -> Result<Request, TooManyRequests> {
        let n = self.pending.push(command).ok_or(TooManyRequests)?;
        self.ask(now);
        self.settle(now);
        let by = self.me();
        Ok(Request { by, n })
    }

    /// Leaves the room with a farewell, which is repeated until [`is_gone`](Self::is_gone).
    pub fn leave(&mut self, now: Duration) {
        if self.replica.votes() {
            let detector = &self.detector;
            self.replica.leave(|m| detector.decided(m));
            self.settle(now);
        }
    }

    /// Takes a message from a program.
    pub fn handle(&mut self, now: Duration, from: Incarnation, message: Message<C>) {
        let me = self.me();
        let meant = message.to == me || message.to == Incarnation::ANYONE;
        let foreign = message.room != self.room || message.from != from || from == me;
        let far = self.replica.seen().saturating_add(MAX_LATER_BALLOTS);
        let ahead = message.view == self.view().number && message.highest_ballot() > far;
        if foreign || !meant || ahead || !message.is_bounded() {
            return;
        }
        let Message {
            view,
            decided,
            body,
            ..
        } = message;
        self.detector.on_packet(now, from, view, decided);
        self.refresh(now);
        let here = self.view().number;
        if !self.note_claim(now, from, view, &body) {
            return;
        }
        let every = self.config.beat;
        match body {
            Body::Learn { slot, feed, ready } => {
                self.learners.on_learn(now, from, slot, decided, ready);
                self.on_learn(now, from, view, decided, feed);
            }
            Body::Frozen { members } => {
                let news = Event::RoomFrozen { members };
                if self.standing() == Standing::Learner && !self.asides.contains(&news) {
                    self.asides.push_back(news);
                }
            }
            Body::Parted => {
                self.parted.insert(from);
            }
            Body::CatchUp(_) | Body::Farewell { .. } => {
                if view <= here || self.believes(now, from) {
                    self.replica.handle(from, view, decided, body);
                }
                if self.replica.farewells().contains(from) {
                    self.election.on_farewell(now, from);
                    self.campaign(now);
                }
            }
            // Another view: answered, but not as often as it is met.
            body if view != here => {
                if self.detector.may_answer(now, from, every) {
                    self.replica.handle(from, view, decided, body);
                }
            }
            Body::Beat(beat) => self.on_beat(now, from, decided, &beat),
            Body::PreVote { round } => {
                let free = self.election.would_promise(now, from) && !self.claims(now);
                if free && self.replica.votes() && self.view().contains(from) {
                    self.send(from, Body::PreVoted { round });
                }
            }
            Body::PreVoted { round } => {
                self.election.on_pre_voted(from, round);
                self.campaign_if_wanted(now);
            }
            // Nobody unseats a leader that is heard; of several candidates the highest ballot wins.
            Body::Prepare { .. } if self.leader(now).is_some_and(|leader| leader != from) => {}
            Body::Request { first, commands } => self.on_request(from, first, commands),
            Body::Flush(flush) => self.on_flush(from, flush),
            Body::Flushed {
                ballot,
                round,
                holdings,
            } => {
                if let Some(flush) = self.flush.as_mut().filter(|f| f.is(ballot, round)) {
                    flush.on_answer(from, holdings);
                    self.change_view(now);
                }
            }
            body => self.replica.handle(from, view, decided, body),
        }
        self.settle(now);
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.refresh(now);
        if now >= self.next_beat {
            self.next_beat = self.beat_after(now);
            self.beats = self.beats.wrapping_add(1);
            match self.standing() {
                Standing::Learner => self.learn(now),
                Standing::Member | Standing::Frozen => {
                    self.beat(now);
                    self.campaign(now);
                    self.ask(now);
                    self.ask_to_flush();
                    self.change_view(now);
                    self.knocks = self.delivery.is_frozen();
                }
                Standing::Left if !self.is_gone() => {
                    let detector = &self.detector;
                    self.replica.leave(|m| detector.decided(m));
                }
                Standing::Excluded | Standing::Left => {}
            }
        }
        self.settle(now);
    }

    pub(super) fn me(&self) -> Incarnation {
        self.replica.me()
    }

    fn message(&self, to: Incarnation, body: Body<C>) -> Message<C> {
        Message {
            room: self.room,
            from: self.me(),
            to,
            view: self.view().number,
            decided: self.replica.log().decided().index,
            body,
        }
    }

    fn send(&mut self, to: Incarnation, body: Body<C>) {
        let message = self.message(to, body);
        self.out.push_back(message);
    }

    fn others(&self) -> Vec<Incarnation> {
        let me = self.me();
        self.view().incarnations().filter(|m| *m != me).collect()
    }

    /// Whether nothing is to be decided, and everyone is heard.
    fn is_calm(&self, now: Duration) -> bool {
        let log = self.replica.log();
        let others = self.others();
        let decided = log.length() == log.decided().index
            && others
                .iter()
                .all(|m| self.detector.decided(*m) == log.length());
        self.standing() == Standing::Member
            && self.leader(now).is_some()
            && decided
            && self.learners.is_empty()
            && self.wishes.unwanted.is_empty()
            && others.iter().all(|m| self.detector.is_mutual(now, *m))
    }

    /// When the next beat is due: soon while something is to be decided, and as soon as the leader is to be suspected.
    fn beat_after(&self, now: Duration) -> Duration {
        if !self.is_calm(now) {
            return now + self.config.beat;
        }
        let calm = now + self.config.calm_beat;
        let suspects = self.election.due_at(0);
        match self.replica.leads() || suspects <= now {
            true => calm,
            false => calm.min(suspects),
        }
    }

    /// Looks whether enough members are heard to go on.
    fn refresh(&mut self, now: Duration) {
        let (me, left) = (self.me(), self.replica.farewells());
        let freeze = self.config.freeze;
        let hears = |m: Incarnation| m == me || self.detector.heard_within(now, m, freeze);
        let view = self.view();
        let enough = view.is_quorum(hears) || view.is_whole(|m| hears(m) || left.contains(m));
        let frozen = self.replica.votes() && !enough;
        self.delivery.set_frozen(now, frozen);
        self.replica.hold(frozen);
    }

    /// What is to be decided wants the next beat soon.
    fn hurry(&mut self, now: Duration) {
        let soon = now + self.config.beat;
        if self.next_beat > soon && !self.is_calm(now) {
            self.next_beat = soon;
        }
    }

    /// After anything happened: takes what the replica says, and follows it into another view.
    fn settle(&mut self, now: Duration) {
        loop {
            let (room, from) = (self.room, self.me());
            while let Some(out) = self.replica.poll() {
                if !self.parted.contains(&out.to) {
                    self.out.push_back(Message {
                        room,
                        from,
                        to: out.to,
                        view: out.view,
                        decided: out.decided,
                        body: out.body,
                    });
                }
            }
            let promised = self.replica.status().promised;
            self.election.on_promise(now, promised);
            let last = self.replica.log().decided().requests.last(from);
            self.pending.on_decided(last);
            if self.view().number == self.election.view() {
                return self.hurry(now);
            }
            self.on_view(now);
        }
    }

    fn on_view(&mut self, now: Duration) {
        let view = self.replica.view();
        self.detector.on_view(now, view);
        let owner = view.owner;
        let heard = match owner == self.me() {
            true => now,
            false => self.detector.heard_at(owner).unwrap_or(now),
        };
        self.election.on_view(view, heard);
        if owner == self.replica.me() {
            // Who is new in the view was not told that the one before has ended.
            let fed = |m: Incarnation| Some((m, self.learners.decided(m)?));
            let new: Vec<(Incarnation, u64)> = view.incarnations().filter_map(fed).collect();
            for (member, decided) in new {
                self.replica.catch_up(member, decided);
            }
        }
        let view = self.replica.view();
        view.incarnations().for_each(|m| self.learners.forget(m));
        self.flush = None;
        self.asides
            .retain(|event| !matches!(event, Event::Flush(_)));
        if view.contains(self.replica.me()) {
            self.delivery.admit();
            self.next_beat = now;
        }
        self.ask(now);
    }

    /// Asks the leader for what is not decided yet.
    fn ask(&mut self, now: Duration) {
        if self.pending.len() == 0 || !self.replica.votes() || self.delivery.is_frozen() {
            return;
        }
        let (first, commands) = (self.pending.first(), self.pending.oldest());
        match self.leader(now) {
            Some(leader) if leader == self.me() => self.on_request(leader, first, commands),
            Some(leader) => self.send(leader, Body::Request { first, commands }),
            None => {}
        }
    }

    fn on_request(&mut self, by: Incarnation, first: u32, commands: Vec<C>) {
        if !self.replica.leads() || self.delivery.is_frozen() {
            return;
        }
        for (n, command) in (first..).zip(commands) {
            self.replica.append(Request { by, n }, command);
        }
    }
}
