//! Who is heard, who claims to lead, and when this member campaigns.

use core::time::Duration;

use super::Agreement;
use crate::agreement::ballot::Ballot;
use crate::agreement::message::{Beat, Body};
use crate::agreement::view::Incarnation;

impl<C: Clone + PartialEq> Agreement<C> {
    /// Whether a quorum hears this member and is heard.
    pub(super) fn is_backed(&self, now: Duration) -> bool {
        let (me, left) = (self.me(), self.replica.farewells());
        let mutual = |m: Incarnation| m == me || self.detector.is_mutual(now, m);
        let view = self.view();
        view.is_quorum(mutual) || view.is_whole(|m| mutual(m) || left.contains(m))
    }

    /// Whether this member claims to lead: a leader without a quorum does not, so that others can elect another.
    pub(super) fn claims(&self, now: Duration) -> bool {
        self.replica.leads() && self.is_backed(now)
    }

    /// Whether a member leads a ballot of this view, as far as this one can tell: it has promised that ballot itself, or so many say to have, or are not
    /// heard, that a quorum may have. So nobody leads because it says so.
    fn is_elected(&self, now: Duration, ballot: Ballot) -> bool {
        let (me, view) = (self.me(), self.view());
        let may_have_promised = |m: Incarnation| {
            let says_so = self.detector.has_promised(m, view.number, ballot);
            m == ballot.by || (m != me && (says_so || !self.detector.hears(now, m)))
        };
        ballot == self.replica.status().promised || view.is_quorum(may_have_promised)
    }

    /// Whoever leads a ballot that this member does not refuse is the leader. Returns whether a message of this view may be handled: not if its sender only
    /// pretends to lead.
    pub(super) fn note_claim(
        &mut self,
        now: Duration,
        from: Incarnation,
        view: u32,
        body: &Body<C>,
    ) -> bool {
        let ballot = match body {
            Body::Beat(Beat { status, .. }) | Body::Status(status) => {
                self.detector.on_promised(from, view, status.promised);
                match body {
                    Body::Beat(beat) if beat.leads => beat.status.promised,
                    _ => return true,
                }
            }
            Body::Sync { ballot, .. } | Body::Accept { ballot, .. } | Body::Decided { ballot } => {
                *ballot
            }
            _ => return true,
        };
        if view != self.view().number {
            return true;
        }
        let is_led =
            ballot.by == from && self.view().contains(from) && self.is_elected(now, ballot);
        if is_led && ballot >= self.replica.status().promised {
            self.election.on_claim(now, from);
        }
        is_led || matches!(body, Body::Beat(_))
    }

    /// Whether the word of a member of a later view is taken for what the room has decided: it leads, or so many others have left this member's view or
    /// fallen silent that those who have not are no quorum. So no single member leads another astray.
    pub(super) fn believes(&self, now: Duration, from: Incarnation) -> bool {
        let (me, view) = (self.me(), self.view());
        let stays = |m: Incarnation| {
            let here = self.detector.view_of(now, m) == Some(view.number);
            m == me || (m != from && here)
        };
        let led = self.election.leader(now) == Some(from);
        !self.replica.votes() || led || !view.is_quorum(stays)
    }

    pub(super) fn beat(&mut self, now: Duration) {
        let me = self.me();
        let hears = self.view().incarnations().enumerate();
        let hears = hears.filter(|(_, m)| *m == me || self.detector.hears(now, *m));
        let hears = hears.fold(0u64, |bits, (at, _)| bits | 1 << at.min(63));
        let beat = Beat {
            status: self.replica.status(),
            leads: self.claims(now),
            hears,
        };
        for member in self.others() {
            self.send(member, Body::Beat(beat));
        }
    }

    pub(super) fn on_beat(&mut self, now: Duration, from: Incarnation, decided: u64, beat: &Beat) {
        let at = self.view().position(self.me());
        let hears_me = at.is_some_and(|at| beat.hears >> at.min(63) & 1 == 1);
        self.detector.on_beat(now, from, hears_me);
        if self.replica.votes() && self.view().contains(from) {
            self.replica.on_status(from, decided, beat.status);
        }
    }

    /// Stands for election if nobody leads and a quorum hears this member.
    pub(super) fn campaign(&mut self, now: Duration) {
        let me = self.me();
        let hears = |m: &Incarnation| *m == me || self.detector.hears(now, *m);
        let rank = self.view().incarnations().filter(hears);
        let rank = rank.take_while(|m| *m != me).count() as u32;
        let due = self.election.is_due(now, rank) && !self.replica.leads();
        if !due || !self.replica.votes() || !self.is_backed(now) {
            return;
        }
        if let Some(round) = self.election.canvass(now) {
            for member in self.others() {
                self.send(member, Body::PreVote { round });
            }
            self.campaign_if_wanted(now);
        }
    }

    pub(super) fn campaign_if_wanted(&mut self, now: Duration) {
        let (me, left) = (self.me(), self.replica.farewells());
        let Some(granted) = self.election.granted() else {
            return;
        };
        let would = |m: Incarnation| m == me || granted.contains(&m) || left.contains(m);
        if self.view().is_quorum(would) && self.election.would_promise(now, me) {
            self.election.on_campaign(now);
            self.replica.campaign();
        }
    }
}
