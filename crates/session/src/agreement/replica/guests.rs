//! Guests: programs that follow the log without a vote, and what they hold beyond the log of a candidate.

use std::collections::{BTreeMap, BTreeSet};

use super::Replica;
use crate::agreement::ballot::Ballot;
use crate::agreement::leader::{Leading, Phase, Progress};
use crate::agreement::log::{Entry, MAX_ENTRIES, Start, Suffix};
use crate::agreement::message::Body;
use crate::agreement::view::Incarnation;

/// What a hosted room adds to a replica. A mesh has none of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Hosting<C> {
    /// Those that this member sends the log to, or asks for theirs.
    pub(super) guests: BTreeSet<Incarnation>,
    /// What guests answered this candidate.
    tails: BTreeMap<Incarnation, Tail<C>>,
    /// Whether this program follows the log while it has no vote.
    pub(super) follows: bool,
    /// Whether a candidate with a quorum waits until it is told to lead.
    pub(super) patient: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Tail<C> {
    accepted: Ballot,
    decided: u64,
    suffix: Option<Suffix<C>>,
}

impl<C> Default for Hosting<C> {
    fn default() -> Self {
        Self {
            guests: BTreeSet::new(),
            tails: BTreeMap::new(),
            follows: false,
            patient: false,
        }
    }
}

/// Entries that a host sends again with later ones, while they are not acknowledged: what was lost is then not missed.
const REPEATED: u64 = 16;
/// By how many entries a guest may be behind that gets a new leader's log unasked.
const NEARLY: u64 = 32;

impl<C> Hosting<C> {
    /// Where a host begins what it sends to somebody who was sent everything up to `sent`, and has acknowledged `matched`.
    pub(super) fn repeat(&self, sent: u64, matched: u64) -> u64 {
        match self.follows {
            true => sent.saturating_sub(REPEATED).max(matched).min(sent),
            false => sent,
        }
    }

    pub(super) fn forget_tails(&mut self) {
        self.tails.clear();
    }

    pub(super) fn has_tail(&self, guest: Incarnation) -> bool {
        self.tails.contains_key(&guest)
    }
}

impl<C: Clone + PartialEq> Replica<C> {
    /// Makes this the replica of a hosted room: it follows the log as a guest, and as a candidate it leads when it is told to.
    pub fn hosted(mut self) -> Self {
        (self.hosting.follows, self.hosting.patient) = (true, true);
        self
    }

    /// The guests that this member knows.
    pub fn guests(&self) -> impl Iterator<Item = Incarnation> + '_ {
        let guests = self.hosting.guests.iter().copied();
        guests.filter(|guest| !self.view().contains(*guest))
    }

    /// Adds a guest.
    pub fn add_guest(&mut self, guest: Incarnation) {
        if guest != self.me && self.hosting.guests.insert(guest) {
            self.feed_guests();
        }
    }

    /// Forgets a guest.
    pub fn remove_guest(&mut self, guest: Incarnation) {
        self.hosting.guests.remove(&guest);
        if let Some(Leading {
            phase: Phase::Accept(progress),
            ..
        }) = &mut self.leading
        {
            progress.remove(&guest);
        }
    }

    /// Everyone that a leader or candidate speaks to: the other members, and the guests.
    pub(super) fn listeners(&self) -> Vec<Incarnation> {
        let members = self.view().incarnations().filter(|m| *m != self.me);
        members.chain(self.guests()).collect()
    }

    /// The owner of a view sends what follows the view's beginning to guests as well.
    pub(super) fn feed_guests(&mut self) {
        let first = self.view().first_index;
        let guests: Vec<Incarnation> = self.guests().collect();
        let Some(Leading {
            ballot,
            phase: Phase::Accept(progress),
        }) = &mut self.leading
        else {
            return;
        };
        for guest in guests.into_iter().filter(|_| ballot.n == 0) {
            progress.entry(guest).or_insert(Progress {
                sent: Some(first),
                ..Progress::default()
            });
        }
    }

    /// The leader sends again what was sent last and is not acknowledged: nothing may follow it that would tell who lacks it.
    pub fn repeat_entries(&mut self) {
        let length = self.log.length();
        for to in self.listeners() {
            if self.matched(to) < length {
                self.send_entries(to);
            }
        }
    }

    /// Whether a message of the present view is one that its sender may send to this program.
    pub(super) fn takes(&self, from: Incarnation, body: &Body<C>) -> bool {
        match (self.votes(), self.view().contains(from)) {
            (true, true) => !matches!(body, Body::Tail { .. }),
            (true, false) => {
                let of_guest = matches!(
                    body,
                    Body::Tail { .. } | Body::Accepted { .. } | Body::Status(_)
                );
                of_guest && self.hosting.guests.contains(&from)
            }
            (false, true) => {
                let of_host = matches!(
                    body,
                    Body::Prepare { .. }
                        | Body::Sync { .. }
                        | Body::Accept { .. }
                        | Body::Decided { .. }
                );
                of_host && self.hosting.follows && !self.left
            }
            (false, false) => false,
        }
    }

    /// A guest answers a candidate with what it holds, and promises nothing.
    pub(super) fn answer_as_guest(
        &mut self,
        from: Incarnation,
        decided: u64,
        ballot: Ballot,
        than: (Ballot, u64),
    ) {
        let ahead = (self.accepted, self.log.length()) > than;
        let tail = Body::Tail {
            ballot,
            accepted: self.accepted,
            suffix: ahead.then(|| self.log.suffix_after(decided)),
        };
        self.say(from, tail);
    }

    /// A candidate keeps what a guest holds; a leader that had no answer yet sends its log.
    pub(super) fn on_tail(
        &mut self,
        from: Incarnation,
        decided: u64,
        ballot: Ballot,
        accepted: Ballot,
        suffix: Option<Suffix<C>>,
    ) {
        match &self.leading {
            Some(l) if l.ballot != ballot => {}
            Some(l) if matches!(l.phase, Phase::Prepare(_)) => {
                let tail = Tail {
                    accepted,
                    decided,
                    suffix,
                };
                self.hosting.tails.insert(from, tail);
            }
            Some(l) if l.has_sent(from) => {}
            Some(_) => self.sync(from, decided),
            None => {}
        }
    }

    /// The members that have promised the ballot of this candidate.
    pub fn promisers(&self) -> Vec<Incarnation> {
        match self.leading.as_ref().map(|l| &l.phase) {
            Some(Phase::Prepare(promises)) => promises.keys().copied().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a quorum has promised this candidate.
    pub fn is_promised(&self) -> bool {
        let leading = self.leading.as_ref();
        leading.is_some_and(|l| l.is_promised(self.view(), &self.farewells))
    }

    /// Whether a member or guest has answered this candidate, or has left.
    pub fn has_answer(&self, who: Incarnation) -> bool {
        let promised = match self.leading.as_ref().map(|l| &l.phase) {
            Some(Phase::Prepare(promises)) => promises.contains_key(&who),
            _ => false,
        };
        promised || self.hosting.has_tail(who) || self.farewells.contains(who) || who == self.me
    }

    /// Whether the leader of the highest ballot among the logs of this candidate has promised or left: nobody holds more of that ballot.
    pub fn has_longest(&self) -> bool {
        let Some(Phase::Prepare(promises)) = self.leading.as_ref().map(|l| &l.phase) else {
            return false;
        };
        let left = self.farewells.iter().map(|(_, f)| f.accepted);
        let accepted = promises.values().map(|p| p.accepted).chain(left);
        let highest = accepted.fold(self.accepted, Ballot::max);
        self.view().contains(highest.by) && self.has_answer(highest.by)
    }

    /// Extends a log that follows `accepted` by what guests hold of the same ballot. Nothing beyond the highest log of a quorum can be decided, so nothing
    /// certain depends on what a guest says. A guest is not believed about views.
    pub(super) fn extend_by_tails(&mut self, accepted: Ballot) {
        let tails = core::mem::take(&mut self.hosting.tails);
        let of_ballot = |tail: &&Tail<C>| tail.accepted == accepted;
        let suffixes = tails.values().filter(of_ballot);
        for suffix in suffixes.filter_map(|tail| tail.suffix.as_ref()) {
            self.extend_by(suffix);
        }
        self.hosting.tails = tails;
    }

    fn extend_by(&mut self, suffix: &Suffix<C>) {
        let Start::After(start) = suffix.start else {
            return;
        };
        let decided = self.log.decided().index;
        for (index, entry) in (start + 1..).zip(&suffix.entries) {
            let known = self.log.entry(index);
            if index <= decided || known == Some(entry) {
                continue;
            }
            let next = match entry {
                Entry::Command { request, .. } => {
                    self.log.last_request(request.by).checked_add(1) == Some(request.n)
                }
                Entry::Next(_) => false,
            };
            let full = self.log.kept() >= MAX_ENTRIES || self.log.is_closing();
            if known.is_some() || index != self.log.length() + 1 || !next || full {
                return;
            }
            self.log.append(entry.clone());
        }
    }

    /// A new leader sends its log to the guests; those that have not answered have probably decided nearly as much.
    pub(super) fn sync_guests(&mut self) {
        let tails = core::mem::take(&mut self.hosting.tails);
        let guests: Vec<Incarnation> = self.guests().collect();
        let decided = self.log.decided().index.saturating_sub(NEARLY);
        let likely = decided.max(self.log.snapshot().point.index);
        for guest in guests {
            let decided = tails.get(&guest).map_or(likely, |tail| tail.decided);
            self.sync(guest, decided);
        }
    }
}
