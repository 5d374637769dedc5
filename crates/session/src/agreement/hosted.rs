//! One program's part in a hosted room: host, standby or guest. The log and its votes are those of a mesh; the members are the host and its standbys.

mod config;
mod elect;
mod handover;
mod members;
mod requests;

use core::time::Duration;
use std::collections::{BTreeSet, VecDeque};

pub use self::config::HostedConfig;
use self::elect::Candidacy;
use self::handover::Leaving;
pub use self::requests::NotAppended;
use super::detector::Detector;
use super::election::Election;
use super::lease::{Grants, Lease};
use super::log::{Entry, Log};
use super::message::{Body, Message};
use super::replica::Replica;
use super::requests::Pending;
use super::shown::{HostedEvent, Shown};
use super::view::{Incarnation, Member, NextView, View};

/// What a program is in a hosted room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostedRole {
    /// It orders, as far as it knows.
    Host,
    /// It has a vote, and may become host.
    Standby,
    /// It follows the log without a vote.
    Guest,
    /// It said farewell.
    Left,
}

/// One program's part in a hosted room.
///
/// Messages and the time go in, messages and events come out, as with [`Agreement`](super::Agreement). The clock must run while the program sleeps.
///
/// A host and a guest, which asks for something. A host without standbys is a quorum, so what it orders is certain at once:
///
/// ```
/// use core::time::Duration;
/// use samestep_session::agreement::{
///     Grade, Hosted, HostedConfig, HostedEvent, Incarnation, Member, Slot,
/// };
///
/// let config = HostedConfig::default();
/// let me = Member { incarnation: Incarnation(0x5eed), slot: Slot(0) };
/// let mut host = Hosted::found(Duration::ZERO, config, 7, me);
/// let mut guest = Hosted::join(Duration::ZERO, config, 7, Incarnation(0xcafe));
/// guest.propose(Duration::ZERO, "open the door")?;
/// let mut shown = Vec::new();
/// for now in (0..1000).step_by(50).map(Duration::from_millis) {
///     host.handle_timeout(now);
///     guest.handle_timeout(now);
///     while let Some(message) = guest.poll_knock().or_else(|| guest.poll_message()) {
///         host.handle(now, message.from, message);
///     }
///     while let Some(message) = host.poll_message() {
///         guest.handle(now, message.from, message);
///     }
///     while let Some(event) = guest.poll_event(now) {
///         if let HostedEvent::Command { command, grade, .. } = event {
///             shown.push((command, grade));
///         }
///     }
/// }
/// assert_eq!(guest.host(Duration::from_secs(1)), Some(me.incarnation));
/// assert_eq!(shown, [("open the door", Grade::Certain)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hosted<C> {
    room: u64,
    config: HostedConfig,
    replica: Replica<C>,
    detector: Detector,
    election: Election,
    candidacy: Option<Candidacy>,
    /// The host that hands over to this member: it has not given way yet, as far as is known.
    succeeds: Option<Incarnation>,
    lease: Lease,
    grants: Grants,
    /// Whom this member gave its pre-vote, and until when it gives it to nobody else.
    pre_voted: (Incarnation, Duration),
    pending: Pending<C>,
    shown: Shown<C>,
    /// The standbys that the application of a host wants in place of those of this view, the first of them first.
    wanted: Option<Vec<Member>>,
    /// Requests that came while nothing could be ordered.
    waiting: Vec<(Incarnation, u32, Vec<C>)>,
    /// The members of the view, to notice who is dismissed.
    members: Vec<Incarnation>,
    /// The view that this program proposed last, and when.
    proposed: (u32, Duration),
    parting: Parting,
    pulse: Pulse,
    knocks: bool,
    out: VecDeque<Message<C>>,
}

/// How far this program is with leaving.
#[derive(Clone, Debug, Default)]
struct Parting {
    stage: Leaving,
    /// Members that have this program's farewell.
    informed: BTreeSet<Incarnation>,
}

/// When a member beats, and how often it did.
#[derive(Clone, Debug)]
struct Pulse {
    beats: u32,
    next_beat: Duration,
    /// When it was last told the time.
    woken: Duration,
}

impl<C: Clone + PartialEq> Hosted<C> {
    /// Opens a room with a host and nobody else.
    pub fn found(now: Duration, config: HostedConfig, room: u64, me: Member) -> Self {
        let log = Log::founding(Self::alone(me));
        Self::with_log(now, config, room, me.incarnation, log)
    }

    /// Joins a room as a guest. Until it is answered, it knocks at every door that the caller knows.
    pub fn join(now: Duration, config: HostedConfig, room: u64, me: Incarnation) -> Self {
        Self::with_log(now, config, room, me, Log::empty())
    }

    /// Goes on alone as a new room, with everything that this program holds: for one that is stranded. What was shown is not shown again. `None` before it knows
    /// the room.
    pub fn found_from(&self, now: Duration, room: u64, me: Member) -> Option<Self> {
        if self.view().number == 0 {
            return None;
        }
        let mut log = self.replica.log().clone();
        log.reopen();
        log.append(Entry::Next(Self::alone(me)));
        log.decide_to(log.length());
        let mut alone = Self::with_log(now, self.config, room, me.incarnation, log);
        alone.shown = self.shown.clone();
        alone.refresh(now);
        Some(alone)
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
        config: HostedConfig,
        room: u64,
        me: Incarnation,
        log: Log<C>,
    ) -> Self {
        let mut hosted = Self {
            room,
            config,
            replica: Replica::new(me, log).hosted(),
            detector: Detector::new(config.timers.suspect),
            election: Election::new(config.timers),
            candidacy: None,
            succeeds: None,
            lease: Lease::new(config.lease.min(config.timers.suspect)),
            grants: Grants::default(),
            pre_voted: (Incarnation::ANYONE, now),
            pending: Pending::default(),
            shown: Shown::default(),
            wanted: None,
            waiting: Vec::new(),
            members: Vec::new(),
            proposed: (0, now),
            parting: Parting::default(),
            pulse: Pulse {
                beats: 0,
                next_beat: now,
                woken: now,
            },
            knocks: false,
            out: VecDeque::new(),
        };
        hosted.on_view(now);
        hosted.settle(now);
        hosted
    }

    /// What this program promised, accepted and decided.
    pub fn replica(&self) -> &Replica<C> {
        &self.replica
    }

    /// Host and standbys, as far as this program knows.
    pub fn view(&self) -> &View {
        self.replica.view()
    }

    /// The host, if one was heard within the suspicion time.
    pub fn host(&self, now: Duration) -> Option<Incarnation> {
        match self.claims(now) {
            true => Some(self.me()),
            false => self.election.leader(now).filter(|l| *l != self.me()),
        }
    }

    /// What this program is.
    pub fn role(&self) -> HostedRole {
        match () {
            () if self.has_left() => HostedRole::Left,
            () if self.replica.leads() => HostedRole::Host,
            () if self.replica.votes() => HostedRole::Standby,
            () => HostedRole::Guest,
        }
    }

    /// Whether nothing is shown, because too few members are heard, or no host.
    pub fn is_frozen(&self) -> bool {
        self.shown.is_frozen()
    }

    /// Whether this program is the host and nobody else can become it: it orders and shows.
    pub fn holds_lease(&self, now: Duration) -> bool {
        let (view, ballot) = (self.view(), self.replica.status().promised);
        let left = |m| self.replica.farewells().allows(m, ballot);
        // Nothing follows the end of a view: what comes then is under the next view's lease.
        self.replica.leads()
            && !self.replica.log().is_closing()
            && self.lease.is_of(view.number, ballot)
            && self.lease.holds(now, view, self.me(), left)
    }

    /// Whether a program was heard within the suspicion time.
    pub fn hears(&self, now: Duration, who: Incarnation) -> bool {
        self.detector.hears(now, who)
    }

    /// The guests that this member hears.
    pub fn guests(&self, now: Duration) -> impl Iterator<Item = Incarnation> + '_ {
        let guests = self.replica.guests();
        guests.filter(move |guest| self.detector.hears(now, *guest))
    }

    /// Forgets a guest whose connection is closed. One that is merely silent is forgotten after a while.
    pub fn remove_guest(&mut self, guest: Incarnation) {
        self.replica.remove_guest(guest);
    }

    /// The number of own requests that are not known to be certain.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn next_timeout(&self) -> Duration {
        let candidacy = self
            .candidacy
            .as_ref()
            .filter(|_| self.replica.is_candidate());
        let lead = candidacy.and_then(|c| c.waits_until(self.config.collect));
        // What was not possible when it was due is tried again with the next beat.
        let due = [lead, self.stands_at()].into_iter().flatten();
        let due = due.filter(|at| *at > self.pulse.woken).min();
        due.map_or(self.pulse.next_beat, |at| at.min(self.pulse.next_beat))
    }

    /// The next message to send.
    pub fn poll_message(&mut self) -> Option<Message<C>> {
        self.out.pop_front()
    }

    /// A message to send to every door, by address: from a guest that is not answered, and from a frozen member.
    pub fn poll_knock(&mut self) -> Option<Message<C>> {
        if !core::mem::take(&mut self.knocks) {
            return None;
        }
        let status = self.replica.status();
        let body = match self.replica.votes() {
            true => Body::Status(status),
            false => Body::Follow { status, feed: true },
        };
        Some(self.message(Incarnation::ANYONE, body))
    }

    /// The next event.
    pub fn poll_event(&mut self, now: Duration) -> Option<HostedEvent<C>> {
        self.refresh(now);
        let (host, wait) = (self.host(now), self.config.timers.wait);
        let leased = !self.replica.leads() || self.holds_lease(now);
        let log = self.replica.log();
        self.shown.poll(now, wait, host, leased, log)
    }

    /// Keeps the application's state at an index that it was told to be certain, in place of the entries up to there.
    pub fn compact(&mut self, index: u64, state: Vec<u8>) {
        if index <= self.shown.certain() {
            self.replica.log_mut().compact(index, state);
        }
    }

    /// Takes a message from a program.
    pub fn handle(&mut self, now: Duration, from: Incarnation, message: Message<C>) {
        let me = self.me();
        let meant = message.to == me || message.to == Incarnation::ANYONE;
        let foreign = message.room != self.room || message.from != from || from == me;
        if foreign || !meant || !message.is_bounded() {
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
        self.note_claim(now, from, view, &body);
        let every = self.config.timers.beat;
        match body {
            Body::Follow { status, feed } => {
                self.on_follow(now, from, view, decided, status, feed);
            }
            Body::Parted => {
                self.parting.informed.insert(from);
            }
            Body::CatchUp(_) => self.replica.handle(from, view, decided, body),
            Body::Farewell { .. } => {
                self.replica.handle(from, view, decided, body);
                self.on_farewell(now, from);
            }
            // Another view: answered, but not as often as it is met.
            body if view != here => {
                if self.detector.may_answer(now, from, every) {
                    self.replica.handle(from, view, decided, body);
                }
            }
            Body::Request { first, commands } => self.on_request(now, from, first, commands),
            body => self.on_vote(now, from, decided, body),
        }
        self.lead_if_ready(now);
        self.settle(now);
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.refresh(now);
        if now >= self.pulse.next_beat {
            self.pulse.next_beat = now + self.config.timers.beat;
            self.pulse.beats = self.pulse.beats.wrapping_add(1);
            match self.role() {
                HostedRole::Host | HostedRole::Standby => {
                    self.beat(now);
                    self.hand_on();
                    self.campaign(now);
                    self.ask(now);
                    self.change_view(now);
                    self.knocks = self.shown.is_frozen();
                }
                HostedRole::Guest => {
                    self.follow(now);
                    self.ask(now);
                }
                HostedRole::Left => self.part(),
            }
        } else if self
            .stands_at()
            .is_some_and(|at| now >= at && at > self.pulse.woken)
        {
            self.campaign(now);
        }
        self.pulse.woken = now;
        self.leave_if_over(now);
        self.lead_if_ready(now);
        self.settle(now);
    }

    fn me(&self) -> Incarnation {
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

    /// After anything happened: takes what the replica says, and follows it into another view.
    fn settle(&mut self, now: Duration) {
        loop {
            let (room, from) = (self.room, self.me());
            while let Some(out) = self.replica.poll() {
                if !self.parting.informed.contains(&out.to) {
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
            let (number, ballot) = (self.view().number, self.replica.status().promised);
            self.election.on_promise(now, ballot);
            let last = self.replica.log().decided().requests.last(from);
            self.pending.on_decided(last);
            match self.replica.leads() {
                true if !self.lease.is_of(number, ballot) => {
                    let (view, at) = self.proposed;
                    let proposed = (view == number && ballot.n == 0).then_some(at);
                    self.lease.open(number, ballot, proposed);
                }
                true => {}
                false => self.wanted = None,
            }
            if number != self.election.view() {
                self.on_view(now);
            } else if !self.order_waiting(now) {
                return;
            }
        }
    }
}
