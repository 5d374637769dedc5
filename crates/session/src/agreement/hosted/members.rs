//! Guests and standbys: who follows, and whom the host admits to and dismisses from its members.

use core::time::Duration;

use super::Hosted;
use crate::agreement::log::MAX_ENTRIES;
use crate::agreement::message::{Body, Status};
use crate::agreement::view::{Incarnation, MAX_MEMBERS, Member, NextView};

/// The most standbys of a host.
const MAX_STANDBYS: usize = 7;
/// Guests that a member remembers.
const MAX_GUESTS: usize = 256;
/// A guest that lacks more entries than this does not become a standby yet.
const CAUGHT_UP: u64 = 64;

impl<C: Clone + PartialEq> Hosted<C> {
    /// The host says whom it wants as standbys, the first of them first, at most seven: see [`choose_standbys`](crate::agreement::choose_standbys). What is wanted is wanted of one view: after [`ViewChanged`](crate::agreement::HostedEvent::ViewChanged) and
    /// [`HostChanged`](crate::agreement::HostedEvent::HostChanged) the members stay, even those that are silent, until the host says it again.
    pub fn want_standbys(&mut self, now: Duration, mut standbys: Vec<Member>) {
        let me = self.me();
        standbys.retain(|member| member.incarnation != me);
        standbys.truncate(MAX_STANDBYS);
        self.wanted = Some(standbys).filter(|_| self.replica.leads());
        self.change_view(now);
        self.settle(now);
    }

    /// A guest tells all members it knows where it stands, and asks one of them to feed it.
    pub(super) fn follow(&mut self, now: Duration) {
        let members = self.others();
        let status = self.replica.status();
        for (at, member) in members.iter().enumerate() {
            let feed = at == self.pulse.beats as usize % members.len();
            self.send(*member, Body::Follow { status, feed });
        }
        self.knocks = !members.iter().any(|m| self.detector.hears(now, *m));
    }

    /// A member takes where a guest stands.
    pub(super) fn on_follow(
        &mut self,
        now: Duration,
        from: Incarnation,
        view: u32,
        decided: u64,
        status: Status,
        feed: bool,
    ) {
        let here = self.view().number;
        if view > here {
            // A guest may be ahead of whoever it follows.
            let status = Body::Status(self.replica.status());
            return self.send(from, status);
        }
        // It does not beat yet; once it is a standby, its silence is counted from now on.
        self.detector.on_beat(now, from, true);
        let may_answer = feed && self.detector.may_answer(now, from, self.config.timers.beat);
        if !self.replica.votes() || self.view().contains(from) {
            if view < here && may_answer {
                self.replica.catch_up(from, decided);
            }
            return;
        }
        if self.replica.guests().count() < MAX_GUESTS {
            self.replica.add_guest(from);
        }
        match view == here {
            true => self.replica.on_status(from, decided, status),
            false if may_answer => self.replica.catch_up(from, decided),
            false => {}
        }
    }

    /// Begins another view: who is no longer a member is a guest, and whoever enters grants the view's owner its lease.
    pub(super) fn on_view(&mut self, now: Duration) {
        let view = self.replica.view().clone();
        let before = core::mem::replace(&mut self.members, view.incarnations().collect());
        let me = self.me();
        self.detector.on_view(now, &view);
        let heard = match view.owner == me {
            true => now,
            false => self.detector.heard_at(view.owner).unwrap_or(now),
        };
        self.election.on_view(&view, heard);
        (self.candidacy, self.succeeds, self.wanted) = (None, None, None);
        if view.contains(me) {
            self.pulse.next_beat = now;
            if view.owner != me {
                self.grants.grant(view.owner, now, self.config.lease);
            }
            for former in before.into_iter().filter(|m| !view.contains(*m)) {
                self.replica.add_guest(former);
            }
        }
        self.ask(now);
    }

    /// The host changes its standbys, by ending the view.
    pub(super) fn change_view(&mut self, now: Duration) {
        let silent_for = self.config.timers.suspect * 10;
        let silent = |g: &Incarnation| {
            let heard = self.detector.heard_at(*g);
            heard.is_none_or(|at| now >= at + silent_for)
        };
        let silent: Vec<Incarnation> = self.replica.guests().filter(silent).collect();
        silent
            .into_iter()
            .for_each(|g| self.replica.remove_guest(g));
        let log = self.replica.log();
        let full = log.kept() >= MAX_ENTRIES;
        if !self.claims(now) || self.shown.is_frozen() || log.is_closing() || full {
            return;
        }
        let Some(wanted) = &self.wanted else {
            return;
        };
        let next = self.next_view(now, wanted);
        if next.members != self.view().members && self.can_follow(now, &next) {
            self.proposed = (self.view().number + 1, now);
            self.replica.close_view(next);
        }
    }

    /// The members that the host wants, as far as they are there. Nobody who is there is dismissed before those who replace it are ready.
    fn next_view(&self, now: Duration, wanted: &[Member]) -> NextView {
        let me = self.me();
        let kept = self.kept(now);
        let is_kept = |who: Incarnation| kept.iter().any(|m| m.incarnation == who);
        let decided = self.replica.log().decided().index;
        let mut members: Vec<Member> = kept
            .iter()
            .filter(|m| m.incarnation == me)
            .copied()
            .collect();
        let mut ready = true;
        for member in wanted.iter().filter(|m| m.incarnation != me) {
            let who = member.incarnation;
            let follows = self.replica.guests().any(|g| g == who) && self.detector.hears(now, who);
            let caught_up = self.replica.matched(who) + CAUGHT_UP >= decided;
            let free = members
                .iter()
                .all(|m| m.slot != member.slot && m.incarnation != who);
            match is_kept(who) || (follows && caught_up) {
                true if free && members.len() < MAX_MEMBERS => members.push(*member),
                true => {}
                false => ready &= !follows,
            }
        }
        let first = members.get(1).map(|m| m.incarnation);
        if !ready {
            let unwanted = kept.iter().filter(|m| !members.contains(m));
            let unwanted: Vec<Member> = unwanted.copied().collect();
            members.extend(unwanted);
        }
        // Half of four members with the first standby is a quorum without the host.
        let even = members.len() >= 4 && members.len().is_multiple_of(2);
        members.sort_unstable();
        NextView {
            members,
            tie_breaker: first.filter(|_| even).unwrap_or(me),
            owner: me,
            cuts: Vec::new(),
        }
    }

    /// The members that neither left nor were silent for the exclusion time. Silence counts only if everyone who stays was heard after it was noticed.
    fn kept(&self, now: Duration) -> Vec<Member> {
        let (me, timers) = (self.me(), self.config.timers);
        let left = self.replica.farewells();
        let last = |m: Incarnation| match m == me {
            true => now,
            false => self.detector.mutual_at(m).unwrap_or_default(),
        };
        let silent = |m: Incarnation| now >= last(m) + timers.exclude;
        let here = || self.view().incarnations().filter(|m| !left.contains(*m));
        let noticed = here()
            .filter(|m| silent(*m))
            .map(|m| last(m) + timers.suspect);
        let noticed = noticed.max().unwrap_or_default();
        let certain = here().all(|m| silent(m) || last(m) >= noticed);
        let goes = |m: Incarnation| left.contains(m) || (silent(m) && certain);
        let members = self.view().members.iter();
        members.filter(|m| !goes(m.incarnation)).copied().collect()
    }

    /// Whether a quorum of the next view is heard, and holds nearly everything decided: a host that decides alone is always ahead of its standbys.
    fn can_follow(&self, now: Duration, next: &NextView) -> bool {
        let me = self.me();
        let decided = self.replica.log().decided().index;
        let view = next.open(self.view().number, decided);
        let heard = |m: Incarnation| m == me || self.detector.hears(now, m);
        view.is_quorum(|m| self.replica.matched(m) + CAUGHT_UP >= decided && heard(m))
    }
}
