//! A member without time: what it promised, accepted and decided, and what it answers. When to campaign and whom to exclude is decided elsewhere.
//!
//! This is Sequence Paxos within a view, and stop-signs between views. The exhaustive checker explores this type: every order of its messages,
//! whatever is lost or repeated, and every time at which it may be told to campaign, to append or to leave.

mod accept;
mod farewells;
mod guests;
mod prepare;

use std::collections::VecDeque;

use super::ballot::Ballot;
use super::farewell::Farewells;
use super::leader::{Leading, Phase, Promised};
use super::log::{Entry, Log, Start, Suffix};
use super::message::{Body, Status};
use super::view::{Incarnation, View};
use guests::Hosting;

/// A member's part in the agreement. A program that is not in its own view is a learner, or was excluded: it has no vote, and passes on what it knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Replica<C> {
    me: Incarnation,
    log: Log<C>,
    promised: Ballot,
    accepted: Ballot,
    /// The highest number of a ballot of this view that was seen.
    seen: u32,
    /// Whether the farewell is composed: from then on there is no vote.
    left: bool,
    leading: Option<Leading<C>>,
    farewells: Farewells<C>,
    /// Whether this member decides nothing, because the room is frozen.
    held: bool,
    /// Guests, and what a hosted room does otherwise.
    hosting: Hosting<C>,
    out: VecDeque<Outgoing<C>>,
}

/// A message that a replica sends, with the view and the decided index that it belongs to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Outgoing<C> {
    /// The receiver.
    pub to: Incarnation,
    /// The view it was said in.
    pub view: u32,
    /// How far its sender had decided.
    pub decided: u64,
    /// The message.
    pub body: Body<C>,
}

impl<C: Clone + PartialEq> Replica<C> {
    /// The part of a program with this log.
    pub fn new(me: Incarnation, log: Log<C>) -> Self {
        let mut replica = Self {
            me,
            log,
            promised: Ballot::default(),
            accepted: Ballot::default(),
            seen: 0,
            left: false,
            leading: None,
            farewells: Farewells::default(),
            held: false,
            hosting: Hosting::default(),
            out: VecDeque::new(),
        };
        replica.enter();
        replica
    }

    /// This program.
    pub fn me(&self) -> Incarnation {
        self.me
    }

    /// The view in force after everything decided.
    pub fn view(&self) -> &View {
        &self.log.decided().view
    }

    /// The log.
    pub fn log(&self) -> &Log<C> {
        &self.log
    }

    pub(super) fn log_mut(&mut self) -> &mut Log<C> {
        &mut self.log
    }

    /// Where this member stands in its view.
    pub fn status(&self) -> Status {
        Status {
            promised: self.promised,
            accepted: self.accepted,
            length: self.log.length(),
        }
    }

    /// The highest number of a ballot of this view that was seen.
    pub(super) fn seen(&self) -> u32 {
        self.seen.max(self.promised.n)
    }

    /// The farewells of members of the view.
    pub fn farewells(&self) -> &Farewells<C> {
        &self.farewells
    }

    /// Whether this program has a vote.
    pub fn votes(&self) -> bool {
        !self.left && self.view().contains(self.me)
    }

    /// Whether this program has composed its farewell.
    pub fn has_left(&self) -> bool {
        self.left
    }

    /// Whether this member is collecting promises.
    pub fn is_candidate(&self) -> bool {
        matches!(&self.leading, Some(l) if matches!(l.phase, Phase::Prepare(_)))
    }

    /// Whether this member leads a ballot, as far as it knows.
    pub fn leads(&self) -> bool {
        matches!(&self.leading, Some(l) if matches!(l.phase, Phase::Accept(_)))
    }

    /// The last index a member has accepted in the ballot that this one leads.
    pub fn matched(&self, member: Incarnation) -> u64 {
        match &self.leading {
            Some(l) if member == self.me && l.ballot.by == self.me => self.log.length(),
            Some(l) => match &l.phase {
                Phase::Accept(progress) => progress.get(&member).map_or(0, |p| p.matched),
                Phase::Prepare(_) => 0,
            },
            None => 0,
        }
    }

    /// Whether a quorum has accepted the ballot that this member leads: nothing that it did not adopt can still be decided in the view.
    pub fn is_followed(&self) -> bool {
        let (view, first) = (self.view(), self.view().first_index);
        let follows = |m: Incarnation| self.matched(m) >= first;
        self.leads()
            && (view.is_quorum(follows)
                || view.is_whole(|m| follows(m) || self.farewells.contains(m)))
    }

    /// The next message to send.
    pub fn poll(&mut self) -> Option<Outgoing<C>> {
        self.out.pop_front()
    }

    fn say(&mut self, to: Incarnation, body: Body<C>) {
        let (view, decided) = (self.view().number, self.log.decided().index);
        self.out.push_back(Outgoing {
            to,
            view,
            decided,
            body,
        });
    }

    /// Stops deciding while the room is frozen, and goes on when it is not.
    pub(super) fn hold(&mut self, held: bool) {
        if core::mem::replace(&mut self.held, held) && !held {
            self.decide();
        }
    }

    /// Takes a message of a member, whose view and decided index come with it. Messages about time, learners, requests and flushes are not its business.
    pub fn handle(&mut self, from: Incarnation, view: u32, decided: u64, body: Body<C>) {
        let here = self.view().number;
        if let Body::Farewell {
            promised,
            accepted,
            suffix,
        } = body
        {
            return self.on_farewell(from, view, promised, accepted, suffix);
        }
        if view < here {
            if !matches!(body, Body::CatchUp(_)) {
                self.catch_up(from, decided);
            }
            return;
        }
        if let Body::CatchUp(suffix) = body {
            let learns = !self.view().contains(self.me) && !self.hosting.follows;
            if view > here || learns {
                self.absorb(suffix);
            }
            return;
        }
        if view > here {
            return self.say_status(from);
        }
        if !self.takes(from, &body) {
            return;
        }
        match body {
            Body::Prepare {
                ballot,
                accepted,
                length,
            } if ballot.by == from => self.on_prepare(from, decided, ballot, accepted, length),
            Body::Promise {
                ballot,
                accepted,
                length,
                suffix,
            } => {
                let promised = Promised {
                    accepted,
                    length,
                    decided,
                    suffix,
                };
                self.on_promise(from, ballot, promised);
            }
            Body::Sync { ballot, suffix } if ballot.by == from => {
                self.on_sync(from, ballot, suffix)
            }
            Body::Accept {
                ballot,
                after,
                entries,
            } if ballot.by == from => {
                self.on_accept(from, ballot, after, entries, decided);
            }
            Body::Accepted { ballot, length } => self.on_accepted(from, ballot, length),
            Body::Decided { ballot } if ballot.by == from => self.on_decided(ballot, decided),
            Body::Status(status) => self.on_status(from, decided, status),
            Body::Tail {
                ballot,
                accepted,
                suffix,
            } => self.on_tail(from, decided, ballot, accepted, suffix),
            _ => {}
        }
    }

    fn say_status(&mut self, to: Incarnation) {
        let status = self.status();
        self.say(to, Body::Status(status));
    }

    /// Sends somebody the decided log beyond what it has.
    pub(super) fn catch_up(&mut self, to: Incarnation, decided: u64) {
        let suffix = self.log.decided_after(decided);
        self.say(to, Body::CatchUp(suffix));
    }

    /// Takes the decided log of somebody who is ahead. A member enters a view with the log up to the view's beginning: what follows comes from its leader.
    pub(super) fn absorb(&mut self, mut suffix: Suffix<C>) {
        if self.left || !self.log.joins(&suffix) || suffix.decided <= self.log.decided().index {
            return;
        }
        let decided = suffix.decided.saturating_sub(suffix.start_index());
        suffix.entries.truncate(decided as usize);
        let is_next = |entry: &Entry<C>| matches!(entry, Entry::Next(_));
        let last = suffix.entries.iter().rposition(is_next);
        let later = match &suffix.start {
            Start::Snapshot(snapshot) => snapshot.point.view.number > self.view().number,
            Start::After(_) => false,
        };
        if self.votes() && last.is_none() && !later {
            // What this member accepted is given up for another view only.
            return;
        }
        if let Some(Entry::Next(next)) = last.map(|at| &suffix.entries[at])
            && next.members.iter().any(|m| m.incarnation == self.me)
        {
            suffix.entries.truncate(last.unwrap_or(0) + 1);
        }
        let (before, end) = (self.view().number, suffix.length());
        self.log.adopt(suffix);
        self.log.decide_to(end);
        if self.view().number != before {
            self.enter();
        }
    }

    /// Begins the view in force. Its owner leads at once; all others have promised and accepted the owner's ballot, with the log as it is here.
    fn enter(&mut self) {
        let first = Ballot::first(self.view());
        (self.promised, self.accepted, self.seen) = (first, first, 0);
        let view = &self.log.decided().view;
        self.farewells.enter(view);
        self.leading = (view.owner == self.me && self.votes()).then(|| Leading::owner(view));
        self.hosting.forget_tails();
        self.feed_guests();
    }
}
