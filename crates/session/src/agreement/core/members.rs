//! Who is admitted and who is excluded.

use core::time::Duration;

use super::Agreement;
use crate::agreement::message::Body;
use crate::agreement::view::{Incarnation, Member, NextView};

impl<C: Clone + PartialEq> Agreement<C> {
    /// A learner asks all members it knows to be admitted, and one of them to be fed.
    pub(super) fn learn(&mut self, now: Duration) {
        let members = self.others();
        let (slot, ready) = (self.slot, self.ready);
        for (at, member) in members.iter().enumerate() {
            let feed = at == self.beats as usize % members.len();
            self.send(*member, Body::Learn { slot, feed, ready });
        }
        self.knocks = !members.iter().any(|m| self.detector.hears(now, *m));
    }

    pub(super) fn on_learn(
        &mut self,
        now: Duration,
        from: Incarnation,
        view: u32,
        decided: u64,
        feed: bool,
    ) {
        if view > self.view().number {
            // A learner may be ahead of whoever it asks.
            self.learners.forget(from);
            let status = Body::Status(self.replica.status());
            return self.send(from, status);
        }
        // It does not beat yet; once it is a member, its silence is counted from now on.
        self.detector.on_beat(now, from, true);
        let behind = decided < self.replica.log().decided().index;
        if self.delivery.is_frozen() && feed {
            let members = self.view().incarnations().collect();
            self.send(from, Body::Frozen { members });
        } else if behind && feed && self.detector.may_answer(now, from, self.config.beat) {
            self.replica.catch_up(from, decided);
        }
        self.change_view(now);
    }

    /// The leader admits and excludes, by ending the view.
    pub(super) fn change_view(&mut self, now: Duration) {
        self.learners.expire(now, self.config.suspect);
        if !self.claims(now) || self.delivery.is_frozen() || self.replica.log().is_closing() {
            return;
        }
        let (kept, gone) = self.kept(now);
        let mut members = kept.clone();
        let decided = self.replica.log().decided();
        let requests = &decided.requests;
        self.learners.admit(&mut members, decided.index, requests);
        members.sort_unstable();
        let me = self.me();
        let stays = |who: &Incarnation| members.iter().any(|m| m.incarnation == *who);
        let wanted = self.wishes.tie_breaker.filter(stays);
        let is_same = members == self.view().members
            && wanted.is_none_or(|who| who == self.view().tie_breaker);
        if !self.config.cuts && is_same {
            return;
        }
        let Some(cuts) = self.cuts(&gone, &members) else {
            return;
        };
        let next = NextView {
            tie_breaker: wanted.unwrap_or(me),
            members,
            owner: me,
            cuts,
        };
        if !is_same && self.can_follow(now, &next) {
            self.replica.close_view(next);
        }
    }

    /// Whether the leader is about to end the view, as soon as a quorum of the next one holds everything decided. Who appends without a pause lets them hold it
    /// first: where a tie-breaker decides alone, others are always a way behind.
    pub fn is_to_change(&self, now: Duration) -> bool {
        if !self.claims(now) || self.replica.log().is_closing() {
            return false;
        }
        let (mut members, _) = self.kept(now);
        let decided = self.replica.log().decided();
        self.learners
            .admit(&mut members, decided.index, &decided.requests);
        members.sort_unstable();
        members != self.view().members
    }

    /// The members that stay and those that go: who said farewell, and who was silent for the exclusion time, but only if everyone who stays
    /// was heard after that silence was noticed. Where several fall silent one after another, that is waited for a quarter of the suspicion time; then those who
    /// were not heard go too, if the others are a quorum. So do those whose answer about a departed stream is waited for as long, and who were silent for the suspicion time.
    pub(super) fn kept(&self, now: Duration) -> (Vec<Member>, Vec<Incarnation>) {
        let me = self.me();
        let config = self.config;
        let last = |m: Incarnation| match m == me {
            true => now,
            false => self.detector.mutual_at(m).unwrap_or_default(),
        };
        let left = self.replica.farewells();
        let silent_for = |m: Incarnation, time: Duration| now >= last(m) + time;
        let silent = |m: Incarnation| silent_for(m, config.exclude);
        let members = || self.view().members.iter().copied();
        let noticed = members()
            .map(|m| m.incarnation)
            .filter(|m| !left.contains(*m) && silent(*m))
            .map(|m| last(m) + config.suspect)
            .max();
        let stays = |m: Incarnation| noticed.is_none_or(|at| last(m) >= at);
        let mut candidates = members().map(|m| m.incarnation);
        let all_stay = candidates.all(|m| left.contains(m) || silent(m) || stays(m));
        let patience = config.exclude + config.suspect / 4;
        let overdue = members().any(|m| silent_for(m.incarnation, patience));
        let without_doubtful = overdue && self.view().is_quorum(stays);
        let holds_up = |m: Incarnation| {
            silent_for(m, config.suspect) && self.flush.as_ref().is_some_and(|round| round.lacks(m))
        };
        let without_waiting =
            overdue && self.view().is_quorum(|m| !left.contains(m) && !holds_up(m));
        let unwanted = &self.wishes.unwanted;
        let goes = |m: &Member| {
            let who = m.incarnation;
            let gone = left.contains(who) || (unwanted.contains(&who) && who != me);
            gone || (silent(who) && all_stay)
                || (!stays(who) && without_doubtful)
                || (holds_up(who) && without_waiting)
        };
        let gone = members().filter(goes).map(|m| m.incarnation).collect();
        (members().filter(|m| !goes(m)).collect(), gone)
    }

    /// Whether a quorum of the next view holds everything decided, and is heard.
    pub(super) fn can_follow(&self, now: Duration, next: &NextView) -> bool {
        let me = self.me();
        let decided = self.replica.log().decided().index;
        let view = next.open(self.view().number, decided);
        let holds = |m: Incarnation| {
            let has = self.replica.matched(m) >= decided
                || self.learners.decided(m).is_some_and(|has| has >= decided);
            has && (m == me || self.detector.hears(now, m))
        };
        view.is_quorum(holds)
    }
}
