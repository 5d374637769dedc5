//! The sequence of changes of one group of exact variables: ordered by one member, the *sequencer*, seen by all.
//!
//! The sequencer is the owner in a mesh, and the host of a hosted room. It stands on the room's agreement: the terms of the room, which all members go through
//! in the same order, say who the sequencer is, and every message belongs to one term.
//!
//! 1. **Order.** A requester numbers its requests. The sequencer takes only the one after the last it took from that member, gives it the next place, and
//!    sends it to all with its place. Nobody takes an entry but the one after its last.
//! 2. **Certain.** Members say how far they have come. What all members in sync have is certain, and only then a requester is told that its change was made.
//!    Who is silent for long is not waited for any more, but in a mesh a majority has to have it all the same: a sequencer that nobody hears any more
//!    makes nothing certain.
//! 3. **Claim.** In a new term the sequencer begins the sequence anew with the state it has. A sequencer of the former term has the newest state. Any other first
//!    collects what all members in sync have (a flush, as in virtual synchrony) and goes on from the latest.
//! 4. **Copies.** Whoever has not come in step with a silent sequencer asks the others what they have, and keeps the latest for the next one: members that had what is
//!    certain may leave one after another while the room takes their sequencer for present.
//! 5. **Again.** In the new term members send again what has not come to its place. The table of the last number of each member is part of the state, so that
//!    nothing is done twice.
//!
//! **Invariants.** What is certain is in the state of every later sequencer, while one member that was in sync then is asked or asks: all had it, and a member takes nothing of an
//! earlier term once it has answered in a later one. What a member in sync has seen is not taken back: it is in its reply, and what is claimed is the latest
//! of all replies, which continue each other, because in a term there is one sequencer.
//!
//! Messages may be lost and repeated: [`remind`](Sequence::remind) says again what was not answered. Of a lie remains what its teller is believed anyway: a sequencer has its variables in its
//! hands, a reply can invent the state of a sequencer that is gone, and who says to have what it has not is only not counted on.

mod receive;
mod requests;

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::message::{Asker, Body, Refusal, State, Verdict};
use crate::fields::Stamp;
use crate::id::PeerId;
use crate::replicator::Recipient;
use crate::variable::MemberRole;
use requests::{Requests, Waiting};

/// Changes of one member that are not certain yet: what it asks beyond them waits.
pub(super) const WINDOW: usize = 64;

/// Changes of all members that are not certain yet.
const OPEN_LIMIT: usize = 1024;

/// Messages kept until they are asked for.
const OUT_LIMIT: usize = 4096;

/// States kept of a group that shows what is certain.
const LOG_LIMIT: usize = 256;

/// Members whose numbers are kept.
const TABLE_LIMIT: usize = 1024;

/// Reminders that a member may leave unanswered before it is not waited for any more.
pub(super) const REMINDERS: u8 = 13;

/// Refusals kept of each member: as many as it can wait for.
const REFUSED_LIMIT: usize = WINDOW;

/// The values that a sequence changes.
pub(super) trait Content {
    /// Makes a change of the newest values, or none of it.
    fn change(&mut self, change: &[u8], by_owner: bool) -> Result<(), Refusal>;
    /// The newest values.
    fn save(&mut self) -> Vec<u8>;
    /// Replaces the newest values. Changes nothing if they are malformed.
    fn load(&mut self, values: &[u8]) -> bool;
    /// Shows these values, or the newest.
    fn show(&mut self, values: Option<&[u8]>);
}

/// The room as one group sees it.
#[derive(Clone, Copy)]
pub(super) struct Seat<'a> {
    pub me: PeerId,
    /// Who orders the changes.
    pub sequencer: Option<PeerId>,
    /// Who may make those that only the owner makes.
    pub owner: Option<PeerId>,
    /// The others that take part.
    pub in_sync: &'a [PeerId],
    /// So many members, this one among them, have to have what is certain while somebody is not waited for.
    pub least: usize,
    pub term: u64,
    pub former_term: u64,
    /// What a program is in the room.
    pub role_of: &'a dyn Fn(PeerId) -> MemberRole,
}

/// What became of a request.
pub(super) type Outcome = Option<Result<(), Refusal>>;

/// One member's part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Sequence {
    seen: Option<(u64, PeerId, Option<PeerId>)>,
    /// Where the newest values stand.
    stamp: Stamp,
    table: BTreeMap<PeerId, Asker>,
    role: Role,
    /// A newer state than this one, of somebody who followed a sequencer that is silent: not shown, and kept for the next.
    copy: Option<(Stamp, State)>,
    /// How far all have come in this term.
    certain: u64,
    /// Whether values are shown when they are certain, not when they come.
    shows_certain: bool,
    /// The values at each place that is not certain.
    log: VecDeque<(u64, Vec<u8>)>,
    requests: Requests,
    out: VecDeque<(Recipient, Body)>,
    changed: bool,
    refused: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Role {
    /// It follows the sequencer, and knows that it has what the sequencer had.
    Follows { in_step: bool },
    /// It is the sequencer, and asks what others have of the former one's.
    Collects {
        replied: BTreeSet<PeerId>,
        silent: Silent,
    },
    /// It is the sequencer.
    Leads {
        base: Stamp,
        haves: BTreeMap<PeerId, u64>,
        silent: Silent,
        /// Who asked for what is not certain.
        open: VecDeque<(u64, PeerId)>,
        /// Who lacks the state.
        wanted: BTreeSet<PeerId>,
    },
}

/// How often members were reminded since they were heard last.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Silent(BTreeMap<PeerId, u8>);

impl Silent {
    fn on_reminded(&mut self, peer: PeerId) {
        let reminded = self.0.entry(peer).or_default();
        *reminded = reminded.saturating_add(1).min(REMINDERS);
    }

    fn on_heard(&mut self, peer: PeerId) {
        self.0.remove(&peer);
    }

    /// Whether a member is not waited for.
    fn is_excused(&self, peer: PeerId) -> bool {
        self.0.get(&peer) == Some(&REMINDERS)
    }
}

impl Sequence {
    pub(super) fn new(shows_certain: bool) -> Sequence {
        Sequence {
            seen: None,
            stamp: Stamp::default(),
            table: BTreeMap::new(),
            role: Role::Follows { in_step: false },
            copy: None,
            certain: 0,
            shows_certain,
            log: VecDeque::new(),
            requests: Requests::default(),
            out: VecDeque::new(),
            changed: false,
            refused: 0,
        }
    }

    /// Asks for a change. `life` is drawn anew by each program. Returns the request's number.
    pub(super) fn request(&mut self, life: u64, change: Vec<u8>) -> u64 {
        if self.requests.last == 0 {
            self.requests.life = life;
        }
        self.requests.last += 1;
        self.requests.made += 1;
        let (number, id) = (self.requests.last, self.requests.made);
        self.requests.waiting.push_back(Waiting {
            number,
            id,
            change,
            at: None,
        });
        id
    }

    /// A request that cannot be sent.
    pub(super) fn refuse(&mut self, refusal: Refusal) {
        self.requests.made += 1;
        self.requests.tell(self.requests.made, Some(Err(refusal)));
    }

    /// The number of the next request.
    pub(super) fn next_number(&self) -> u64 {
        self.requests.made + 1
    }

    /// How many more requests may be made.
    pub(super) fn room_for_requests(&self) -> usize {
        WINDOW.saturating_sub(self.requests.waiting.len())
    }

    /// The program is in another room, or another member of this one: what it asked for is not known to anybody there.
    /// `keeps` says whether what it has counts.
    pub(super) fn on_other_room(&mut self, keeps: bool) {
        self.seen = None;
        self.out.clear();
        if !keeps {
            self.stamp = Stamp::default();
            self.table.clear();
            self.log.clear();
            self.copy = None;
            self.role = Role::Follows { in_step: false };
        }
        for waiting in core::mem::take(&mut self.requests.waiting) {
            self.requests.tell(waiting.id, None);
        }
        self.requests.last = 0;
    }

    pub(super) fn poll_outcome(&mut self) -> Option<(u64, Outcome)> {
        self.requests.outcomes.pop_front()
    }

    pub(super) fn poll(&mut self, content: &mut dyn Content) -> Option<(Recipient, Body)> {
        if self.out.is_empty() {
            self.send_states(content);
        }
        self.out.pop_front()
    }

    pub(super) fn take_changed(&mut self) -> bool {
        core::mem::take(&mut self.changed)
    }

    pub(super) fn take_refused(&mut self) -> u64 {
        core::mem::take(&mut self.refused)
    }

    /// Whether it has the sequencer's state.
    pub(super) fn is_in_step(&self) -> bool {
        !matches!(
            self.role,
            Role::Follows { in_step: false } | Role::Collects { .. }
        )
    }

    /// Whether everything that is known here is known to all.
    pub(super) fn is_certain(&self) -> bool {
        self.is_in_step() && self.certain == self.stamp.count
    }

    /// What has been reached: while it stays the same and somebody is waited for, nothing moves.
    pub(super) fn progress(&self) -> (u64, u64, usize) {
        let replied = match &self.role {
            Role::Follows { in_step } => usize::from(*in_step),
            Role::Collects { replied, .. } => 2 + replied.len(),
            Role::Leads { .. } => 1 << 20,
        };
        (self.stamp.term, self.certain, replied)
    }

    /// Whether something was said that has not been answered.
    pub(super) fn is_waiting(&self) -> bool {
        !self.is_certain() || self.requests.waiting.iter().any(|w| w.at.is_none())
    }

    /// Takes note of the room. To be called before anything else.
    pub(super) fn on_view(&mut self, content: &mut dyn Content, seat: &Seat<'_>) {
        let now = (seat.term, seat.me, seat.sequencer);
        if self.seen != Some(now) {
            let before = self.seen.replace(now);
            self.on_term(content, before, seat);
        }
        self.settle(content, seat);
    }

    fn on_term(
        &mut self,
        content: &mut dyn Content,
        before: Option<(u64, PeerId, Option<PeerId>)>,
        seat: &Seat<'_>,
    ) {
        if before.is_some_and(|(term, ..)| term >= seat.term) {
            self.stamp = self.stamp.before(seat.term);
        }
        let leads = matches!(self.role, Role::Leads { .. });
        let goes_on = before.is_some_and(|(term, me, sequencer)| {
            term == seat.former_term && sequencer == Some(me) && me == seat.me
        });
        self.out.clear();
        self.certain = 0;
        self.requests.sent = 0;
        for waiting in &mut self.requests.waiting {
            waiting.at = None;
        }
        self.table
            .retain(|peer, _| (seat.role_of)(*peer) != MemberRole::Stranger);
        if seat.sequencer != Some(seat.me) {
            self.role = Role::Follows { in_step: false };
            return;
        }
        self.role = Role::Collects {
            replied: BTreeSet::new(),
            silent: Silent::default(),
        };
        if let Some((stamp, state)) = self.copy.take()
            && stamp > self.stamp
            && stamp.term < seat.term
        {
            self.load(content, stamp, state);
        }
        match goes_on && leads {
            true => self.claim(content, seat),
            false => self.collect(seat),
        }
    }

    /// Where the newest stands that this program could give the next sequencer.
    fn newest(&self) -> Stamp {
        let copied = self.copy.as_ref().map(|(stamp, _)| *stamp);
        copied.map_or(self.stamp, |stamp| stamp.max(self.stamp))
    }

    fn collect(&mut self, seat: &Seat<'_>) {
        let Role::Collects { replied, .. } = &self.role else {
            return;
        };
        let have = self.stamp.into();
        for &peer in seat.in_sync.iter().filter(|peer| !replied.contains(peer)) {
            self.out
                .push_back((Recipient::Peer(peer), Body::Collect { have }));
        }
    }

    fn claim(&mut self, content: &mut dyn Content, seat: &Seat<'_>) {
        let base = core::mem::replace(
            &mut self.stamp,
            Stamp {
                term: seat.term,
                count: 1,
            },
        );
        self.role = Role::Leads {
            base,
            haves: BTreeMap::new(),
            silent: Silent::default(),
            open: VecDeque::new(),
            wanted: BTreeSet::new(),
        };
        let claim = Body::Claim {
            base: base.into(),
            count: 1,
        };
        self.out.push_back((Recipient::Others, claim));
        self.on_new_values(content);
    }

    /// What follows from what has become known.
    fn settle(&mut self, content: &mut dyn Content, seat: &Seat<'_>) {
        if let Role::Collects { replied, silent } = &self.role {
            let others = seat.in_sync.iter();
            let mut missing = others.filter(|peer| !replied.contains(peer));
            let are_excused = missing.clone().all(|peer| silent.is_excused(*peer));
            let is_all = missing.next().is_none();
            if is_all || are_excused && replied.len() + 1 >= seat.least {
                self.claim(content, seat);
            }
        }
        if matches!(self.role, Role::Leads { .. }) {
            self.order_own(content, seat);
        }
        self.count(seat);
        self.show(content);
        self.answer();
        self.ask(seat);
        if self.is_in_step() {
            self.copy = None;
        }
        // Who is not asked for messages keeps some: the others say theirs again.
        while self.out.len() > OUT_LIMIT {
            self.out.pop_front();
        }
    }

    /// The newest values have changed.
    fn on_new_values(&mut self, content: &mut dyn Content) {
        if !self.shows_certain {
            content.show(None);
            return;
        }
        // Before the beginning of this term there are other places.
        while self
            .log
            .back()
            .is_some_and(|(count, _)| *count >= self.stamp.count)
        {
            self.log.pop_back();
        }
        if self.log.len() >= LOG_LIMIT {
            self.log.pop_front();
        }
        self.log.push_back((self.stamp.count, content.save()));
    }

    /// The sequencer's own requests need no message.
    fn order_own(&mut self, content: &mut dyn Content, seat: &Seat<'_>) {
        let (life, sent) = (self.requests.life, self.requests.sent);
        let new = self.requests.waiting.iter().filter(|w| w.number > sent);
        let waiting: Vec<(u64, Vec<u8>)> = new.map(|w| (w.number, w.change.clone())).collect();
        for (number, change) in waiting {
            if !self.order(content, seat, seat.me, life, number, change) {
                break;
            }
            self.requests.sent = number;
        }
        self.place();
    }

    /// Gives a request the next place. Says whether it has one.
    fn order(
        &mut self,
        content: &mut dyn Content,
        seat: &Seat<'_>,
        from: PeerId,
        life: u64,
        number: u64,
        change: Vec<u8>,
    ) -> bool {
        let Role::Leads { open, .. } = &mut self.role else {
            return false;
        };
        let known = self.table.get(&from);
        if known.is_none() && self.table.len() >= TABLE_LIMIT {
            return false;
        }
        let last = known.filter(|asker| asker.life == life);
        let last = last.map_or(0, |asker| asker.last);
        if number <= last {
            return true;
        }
        if number != last + 1 {
            return false;
        }
        let of_theirs = open.iter().filter(|(_, by)| *by == from).count();
        if open.len() >= OPEN_LIMIT || of_theirs >= WINDOW {
            return false;
        }
        let made = match (seat.role_of)(from) {
            MemberRole::Watches => Err(Refusal::Watches),
            _ => content.change(&change, seat.owner == Some(from)),
        };
        let verdict = match made {
            Ok(()) => Verdict::Change(change),
            Err(refusal) => Verdict::Refused(refusal),
        };
        self.stamp.count += 1;
        open.push_back((self.stamp.count, from));
        self.note(from, life, number, &verdict);
        let entry = Body::Entry {
            count: self.stamp.count,
            by: from,
            life,
            number,
            verdict,
        };
        self.out.push_back((Recipient::Others, entry));
        self.on_new_values(content);
        true
    }

    fn note(&mut self, from: PeerId, life: u64, number: u64, verdict: &Verdict) {
        let asker = self.table.entry(from).or_default();
        if asker.life != life {
            *asker = Asker {
                life,
                ..Asker::default()
            };
        }
        asker.last = number;
        if let Verdict::Refused(refusal) = verdict {
            if asker.refused.len() >= REFUSED_LIMIT {
                asker.refused.remove(0);
            }
            asker.refused.push((number, *refusal));
        }
        self.changed = true;
    }

    /// The sequencer counts who has what.
    fn count(&mut self, seat: &Seat<'_>) {
        let Role::Leads {
            haves,
            silent,
            open,
            ..
        } = &mut self.role
        else {
            return;
        };
        let newest = self.stamp.count;
        let have = |peer: &PeerId| haves.get(peer).copied().unwrap_or(0);
        let others = seat.in_sync.iter();
        let (excused, needed): (Vec<_>, Vec<_>) =
            others.partition(|peer| silent.is_excused(**peer));
        let mut certain = needed.iter().map(&have).min().unwrap_or(newest);
        if !excused.is_empty() {
            let mut all: Vec<u64> = seat.in_sync.iter().map(have).collect();
            all.push(newest);
            all.sort_unstable_by_key(|count| Reverse(*count));
            let of_enough = all.get(seat.least.saturating_sub(1));
            certain = certain.min(of_enough.copied().unwrap_or(0));
        }
        if certain > self.certain {
            self.certain = certain;
            while open.front().is_some_and(|(count, _)| *count <= certain) {
                open.pop_front();
            }
            let certain = Body::Certain { count: certain };
            self.out.push_back((Recipient::Others, certain));
        }
    }

    /// Sends the state to those that lack it: once, however often they have asked.
    fn send_states(&mut self, content: &mut dyn Content) {
        let Role::Leads { wanted, .. } = &mut self.role else {
            return;
        };
        for peer in core::mem::take(wanted) {
            let state = self.state(content);
            let count = self.stamp.count;
            self.out
                .push_back((Recipient::Peer(peer), Body::State { count, state }));
        }
    }

    fn state(&self, content: &mut dyn Content) -> State {
        State {
            table: self.table.iter().map(|(p, a)| (*p, a.clone())).collect(),
            values: content.save(),
        }
    }

    /// Shows what has become certain.
    fn show(&mut self, content: &mut dyn Content) {
        let mut newest = None;
        while self
            .log
            .front()
            .is_some_and(|(count, _)| self.is_in_step() && *count <= self.certain)
        {
            newest = self.log.pop_front();
        }
        if let Some((_, values)) = newest {
            content.show(Some(&values));
            self.changed = true;
        }
    }

    /// Finds the places of this program's requests.
    fn place(&mut self) {
        if !self.is_in_step() {
            return;
        }
        let me = self.seen.map(|(_, me, _)| me);
        let mine = me.and_then(|me| self.table.get(&me));
        let Some(asker) = mine.filter(|asker| asker.life == self.requests.life) else {
            return;
        };
        for waiting in &mut self.requests.waiting {
            if waiting.number <= asker.last {
                waiting.at.get_or_insert(self.stamp.count);
            }
        }
    }

    /// Tells this program what is certain of its requests.
    fn answer(&mut self) {
        let me = self.seen.map(|(_, me, _)| me);
        while let Some(first) = self.requests.waiting.front() {
            if first.at.is_none_or(|at| at > self.certain) {
                return;
            }
            let asker = me.and_then(|me| self.table.get(&me));
            let refused = asker.and_then(|a| a.refused.iter().find(|(n, _)| *n == first.number));
            let outcome = match refused {
                Some((_, refusal)) => Err(*refusal),
                None => Ok(()),
            };
            let id = first.id;
            self.requests.waiting.pop_front();
            self.requests.tell(id, Some(outcome));
        }
    }

    /// Sends the requests that have not been sent in this term.
    fn ask(&mut self, seat: &Seat<'_>) {
        let (Role::Follows { in_step: true }, Some(sequencer)) = (&self.role, seat.sequencer)
        else {
            return;
        };
        for waiting in &self.requests.waiting {
            if waiting.at.is_none() && waiting.number > self.requests.sent {
                let request = Body::Request {
                    life: self.requests.life,
                    number: waiting.number,
                    change: waiting.change.clone(),
                };
                self.out.push_back((Recipient::Peer(sequencer), request));
                self.requests.sent = waiting.number;
            }
        }
    }

    /// Says again what was not answered. Who leaves many reminders unanswered is not waited for any more.
    pub(super) fn remind(&mut self, content: &mut dyn Content, seat: &Seat<'_>) {
        match &mut self.role {
            Role::Follows { in_step } => {
                let Some(sequencer) = seat.sequencer else {
                    return;
                };
                self.requests.sent = 0;
                if !*in_step {
                    self.out
                        .push_back((Recipient::Peer(sequencer), Body::Question));
                    // It may be gone, and those who have what it had may follow it before the room gives its place to another.
                    let have = self.newest().into();
                    let others = seat.in_sync.iter().filter(|peer| **peer != sequencer);
                    let ask = |peer: &PeerId| (Recipient::Peer(*peer), Body::Collect { have });
                    self.out.extend(others.map(ask));
                } else if self.certain < self.stamp.count {
                    let count = self.stamp.count;
                    self.out
                        .push_back((Recipient::Peer(sequencer), Body::Have { count }));
                }
            }
            Role::Collects { replied, silent } => {
                let others = seat.in_sync.iter();
                for peer in others.filter(|peer| !replied.contains(peer)) {
                    silent.on_reminded(*peer);
                }
                self.collect(seat);
            }
            Role::Leads {
                base,
                haves,
                silent,
                ..
            } => {
                let (base, count) = ((*base).into(), self.stamp.count);
                for &peer in seat.in_sync {
                    if haves.get(&peer).is_none_or(|have| *have < count) {
                        silent.on_reminded(peer);
                        self.out
                            .push_back((Recipient::Peer(peer), Body::Claim { base, count }));
                    }
                }
            }
        }
        self.settle(content, seat);
    }
}
