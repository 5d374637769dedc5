//! Who hosts: claims, grants and candidacies.

use core::time::Duration;

use super::Hosted;
use crate::agreement::ballot::Ballot;
use crate::agreement::message::{Beat, Body};
use crate::agreement::view::Incarnation;

/// This member's attempt to become host, from its Prepare on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidacy {
    /// When it asked for promises.
    asked: Duration,
    /// Since when a quorum has promised.
    promised: Option<Duration>,
    /// When the last promise or farewell came.
    answered: Duration,
}

impl Candidacy {
    /// When it waits no longer for further logs.
    pub(super) fn waits_until(&self, collect: Duration) -> Option<Duration> {
        self.promised.map(|since| since + collect)
    }
}

impl<C: Clone + PartialEq> Hosted<C> {
    /// Looks whether enough members are heard to go on; a guest, whether a host is.
    pub(super) fn refresh(&mut self, now: Duration) {
        let me = self.me();
        let frozen = match self.replica.votes() {
            true => {
                let left = self.replica.farewells();
                let hears = |m: Incarnation| m == me || self.detector.hears(now, m);
                let view = self.view();
                !view.is_quorum(hears) && !view.is_whole(|m| hears(m) || left.contains(m))
            }
            false => !self.has_left() && self.host(now).is_none(),
        };
        self.shown.set_frozen(now, frozen);
        self.replica.hold(frozen && self.replica.votes());
    }

    /// Whether a quorum hears this member and is heard.
    fn is_backed(&self, now: Duration) -> bool {
        let (me, left) = (self.me(), self.replica.farewells());
        let mutual = |m: Incarnation| m == me || self.detector.is_mutual(now, m);
        let view = self.view();
        view.is_quorum(mutual) || view.is_whole(|m| mutual(m) || left.contains(m))
    }

    /// Whether this member claims to host: a leader without a quorum does not.
    pub(super) fn claims(&self, now: Duration) -> bool {
        self.replica.leads() && self.is_backed(now)
    }

    /// Whoever leads a ballot that this program does not refuse is the host. What the former host did not order is asked of a new one at once.
    pub(super) fn note_claim(
        &mut self,
        now: Duration,
        from: Incarnation,
        view: u32,
        body: &Body<C>,
    ) {
        let ballot = match body {
            Body::Beat(beat) if beat.leads => beat.status.promised,
            Body::Sync { ballot, .. } | Body::Accept { ballot, .. } | Body::Decided { ballot } => {
                *ballot
            }
            _ => return,
        };
        let follows = ballot.by == from && ballot >= self.replica.status().promised;
        if view != self.view().number || !follows || !self.view().contains(from) {
            return;
        }
        let before = self.election.leader(now);
        self.election.on_claim(now, from);
        if before != Some(from) {
            self.refresh(now);
            self.ask(now);
        }
    }

    /// Beats to the members; a host also to guests, and asks for its lease.
    pub(super) fn beat(&mut self, now: Duration) {
        let me = self.me();
        let hears = self.view().incarnations().enumerate();
        let hears = hears.filter(|(_, m)| *m == me || self.detector.hears(now, *m));
        let hears = hears.fold(0u64, |bits, (at, _)| bits | 1 << at.min(63));
        let status = self.replica.status();
        let beat = Beat {
            status,
            leads: self.claims(now),
            hears,
        };
        let leads = self.replica.leads();
        // Grants to a host without a quorum would keep others from electing another.
        let number = beat.leads.then(|| self.lease.ask(now));
        for member in self.others() {
            self.send(member, Body::Beat(beat));
            if let Some(number) = number {
                let ballot = status.promised;
                self.send(member, Body::Lease { ballot, number });
            }
        }
        if leads {
            self.replica.repeat_entries();
        }
        let guests: Vec<Incarnation> = self.replica.guests().filter(|_| leads).collect();
        for guest in guests {
            self.send(guest, Body::Beat(beat));
        }
    }

    /// Takes what members of the present view, and guests, say about votes, leases and the log.
    pub(super) fn on_vote(
        &mut self,
        now: Duration,
        from: Incarnation,
        decided: u64,
        body: Body<C>,
    ) {
        let (view, status) = (self.view().number, self.replica.status());
        let (votes, member) = (self.replica.votes(), self.view().contains(from));
        match body {
            Body::Beat(beat) => {
                let at = self.view().position(self.me());
                let hears_me = at.is_some_and(|at| beat.hears >> at.min(63) & 1 == 1);
                self.detector.on_beat(now, from, hears_me);
                if member {
                    self.replica.on_status(from, decided, beat.status);
                }
            }
            Body::Lease { ballot, number } => {
                let follows = ballot.by == from && ballot == status.promised;
                // Nobody grants two: leases of two hosts would share a member that granted both.
                let free = self.grants.allow(now, from);
                if votes && member && follows && ballot == status.accepted && free {
                    self.grants.grant(from, now, self.config.lease);
                    self.send(from, Body::Granted { ballot, number });
                }
            }
            Body::Granted { ballot, number } => {
                if member && self.lease.is_of(view, ballot) {
                    self.lease.on_granted(from, number);
                }
            }
            Body::HandOver { ballot, to } => {
                if votes && ballot.by == from && ballot == status.promised {
                    self.on_hand_over(now, from, to);
                }
            }
            Body::PreVote { round } => {
                let free = self.election.would_promise(now, from)
                    && self.grants.allow(now, from)
                    && !self.claims(now);
                if free && votes && member && self.may_pre_vote(now, from) {
                    self.send(from, Body::PreVoted { round });
                }
            }
            Body::PreVoted { round } => {
                self.election.on_pre_voted(from, round);
                self.campaign_if_wanted(now);
            }
            Body::Prepare { ballot, .. } if votes => {
                let free = !self.claims(now) && self.grants.allow(now, from);
                if free || self.hands_over_to(from) {
                    self.replica.handle(from, view, decided, body);
                    if self.replica.status().promised == ballot {
                        self.grants.grant(from, now, self.config.lease);
                    }
                }
            }
            body => {
                if let Body::Promise { ballot, .. } = &body {
                    self.on_promise(now, from, *ballot);
                }
                self.replica.handle(from, view, decided, body);
            }
        }
    }

    /// A promise binds for the time of a lease: two candidates that share the promises would both wait that long. So pre-votes go to the first that asks, for as long as
    /// ranks are apart.
    fn may_pre_vote(&mut self, now: Duration, candidate: Incarnation) -> bool {
        if now >= self.pre_voted.1 {
            self.pre_voted = (candidate, now + self.config.timers.rank);
        }
        self.pre_voted.0 == candidate
    }

    fn on_promise(&mut self, now: Duration, from: Incarnation, ballot: Ballot) {
        if let Some(candidacy) = &mut self.candidacy {
            candidacy.answered = now;
        }
        // A late promise of an earlier ballot says nothing: its sender may host again.
        if self.replica.is_candidate() && ballot == self.replica.status().promised {
            self.gives_way(from);
        }
    }

    /// Somebody has promised this member, or has left: if it was host, its lease is over.
    fn gives_way(&mut self, host: Incarnation) {
        self.grants.end(host);
        self.succeeds = self.succeeds.filter(|h| *h != host);
    }

    /// Who left is not waited for. Its farewell counts as a promise, but grants nothing.
    pub(super) fn on_farewell(&mut self, now: Duration, from: Incarnation) {
        if !self.replica.farewells().contains(from) {
            return;
        }
        if let Some(candidacy) = &mut self.candidacy {
            candidacy.answered = now;
        }
        self.gives_way(from);
        self.election.on_farewell(now, from);
    }

    fn rank(&self, now: Duration) -> u32 {
        let (me, left) = (self.me(), self.replica.farewells());
        let hears =
            |m: &Incarnation| *m == me || (self.detector.hears(now, *m) && !left.contains(*m));
        let before = self.view().incarnations().filter(hears);
        before.take_while(|m| *m != me).count() as u32
    }

    /// When this member stands for election, if it does not stand already.
    pub(super) fn stands_at(&self) -> Option<Duration> {
        let idle = self.replica.votes() && !self.replica.leads() && !self.election.attempts();
        let at = self.election.due_at(0);
        idle.then(|| self.election.due_at(self.rank(at)))
    }

    /// Stands for election if nobody hosts and a quorum hears this member.
    pub(super) fn campaign(&mut self, now: Duration) {
        let due = self.election.is_due(now, self.rank(now)) && !self.replica.leads();
        let free = self.grants.allow(now, self.me());
        if !due || !free || !self.replica.votes() || !self.is_backed(now) {
            return;
        }
        if let Some(round) = self.election.canvass(now) {
            for member in self.others() {
                self.send(member, Body::PreVote { round });
            }
            self.campaign_if_wanted(now);
        }
    }

    fn campaign_if_wanted(&mut self, now: Duration) {
        let (me, left) = (self.me(), self.replica.farewells());
        let Some(granted) = self.election.granted() else {
            return;
        };
        let would = |m: Incarnation| m == me || granted.contains(&m) || left.contains(m);
        let free = self.election.would_promise(now, me) && self.grants.allow(now, me);
        if self.view().is_quorum(would) && free {
            self.stand(now);
        }
    }

    /// Asks for promises.
    pub(super) fn stand(&mut self, now: Duration) {
        self.election.on_campaign(now);
        self.candidacy = Some(Candidacy {
            asked: now,
            promised: None,
            answered: now,
        });
        self.replica.campaign();
        self.lead_if_ready(now);
    }

    /// A candidate with a quorum leads once it has every log that it can get in time, and no lease is in its way.
    pub(super) fn lead_if_ready(&mut self, now: Duration) {
        if !self.replica.is_candidate() || !self.replica.is_promised() {
            return;
        }
        let Some(candidacy) = &mut self.candidacy else {
            return;
        };
        let since = *candidacy.promised.get_or_insert(now);
        let candidacy = *candidacy;
        // Others promised in spite of their grants: the host itself must have given way, or those grants be over.
        let handed = self.succeeds.is_none() || now >= candidacy.answered + self.config.lease;
        let hears = |who: &Incarnation| self.detector.hears(now, *who);
        let asked = || self.view().incarnations().chain(self.replica.guests());
        let collected = now >= since + self.config.collect
            || self.replica.has_longest()
            || asked()
                .filter(hears)
                .all(|who| self.replica.has_answer(who));
        if !handed || !collected || !self.grants.allow(now, self.me()) {
            return;
        }
        let promisers = self.replica.promisers();
        let (view, ballot) = (self.view().number, self.replica.status().promised);
        (self.candidacy, self.succeeds) = (None, None);
        self.replica.lead();
        if self.replica.leads() && self.view().number == view {
            self.lease.win(view, ballot, candidacy.asked, &promisers);
            self.pulse.next_beat = now;
        }
    }
}
