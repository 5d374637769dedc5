//! Who is heard, who claims to lead, and when this member campaigns.

use core::time::Duration;

use super::Agreement;
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

    /// Whoever leads a ballot that this member does not refuse is the leader.
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
        if view == self.view().number && follows && self.view().contains(from) {
            self.election.on_claim(now, from);
        }
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
