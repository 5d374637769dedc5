//! Phase 1: a candidate asks for promises, adopts the highest log among them, and leads.

use std::collections::BTreeMap;

use super::Replica;
use crate::agreement::ballot::Ballot;
use crate::agreement::leader::{Leading, Phase, Progress, Promised};
use crate::agreement::message::Body;
use crate::agreement::view::Incarnation;

impl<C: Clone + PartialEq> Replica<C> {
    /// Asks for promises of a ballot above all that were seen.
    pub fn campaign(&mut self) {
        let highest = self.farewells.highest().map_or(0, |b| b.n);
        let n = self.seen.max(self.promised.n).max(highest);
        let Some(n) = n.checked_add(1).filter(|_| self.votes()) else {
            return;
        };
        let ballot = Ballot { n, by: self.me };
        (self.promised, self.seen) = (ballot, n);
        self.leading = Some(Leading::candidate(ballot));
        self.hosting.forget_tails();
        if let Some(prepare) = self.prepare() {
            self.tell_all(&prepare);
        }
        self.lead_if_promised();
    }

    pub(super) fn prepare(&self) -> Option<Body<C>> {
        let leading = self.leading.as_ref()?;
        Some(Body::Prepare {
            ballot: leading.ballot,
            accepted: self.accepted,
            length: self.log.length(),
        })
    }

    pub(super) fn tell_all(&mut self, body: &Body<C>) {
        for member in self.listeners() {
            self.say(member, body.clone());
        }
    }

    pub(super) fn on_prepare(
        &mut self,
        from: Incarnation,
        decided: u64,
        ballot: Ballot,
        accepted: Ballot,
        length: u64,
    ) {
        if !self.votes() {
            return self.answer_as_guest(from, decided, ballot, (accepted, length));
        }
        self.seen = self.seen.max(ballot.n);
        if ballot < self.promised {
            return self.say_status(from);
        }
        self.promised = ballot;
        self.step_down_below(ballot);
        let own = (self.accepted, self.log.length());
        let ahead = own > (accepted, length);
        let promise = Body::Promise {
            ballot,
            accepted: own.0,
            length: own.1,
            suffix: ahead.then(|| self.log.suffix_after(decided)),
        };
        self.say(from, promise);
    }

    pub(super) fn step_down_below(&mut self, ballot: Ballot) {
        if matches!(&self.leading, Some(l) if l.ballot < ballot) {
            self.leading = None;
        }
    }

    pub(super) fn on_promise(&mut self, from: Incarnation, ballot: Ballot, promised: Promised<C>) {
        let Some(leading) = self.leading.as_mut().filter(|l| l.ballot == ballot) else {
            return;
        };
        match &mut leading.phase {
            Phase::Prepare(promises) => {
                promises.insert(from, promised);
                self.lead_if_promised();
            }
            Phase::Accept(progress) => {
                if progress.get(&from).is_none_or(|p| p.sent.is_none()) {
                    self.sync(from, promised.decided);
                }
            }
        }
    }

    pub(super) fn lead_if_promised(&mut self) {
        if !self.hosting.patient {
            self.lead();
        }
    }

    /// With the promises of a quorum the highest log among them is this one's, and this member leads. In a mesh that happens by itself.
    pub fn lead(&mut self) {
        let view = &self.log.decided().view;
        let Some(leading) = &self.leading else {
            return;
        };
        let ballot = leading.ballot;
        if self.farewells.highest().is_some_and(|b| b > ballot) {
            self.leading = None;
            return;
        }
        if !leading.is_promised(view, &self.farewells) {
            return;
        }
        let own = (self.accepted, self.log.length());
        let highest = leading.highest(&self.farewells);
        let Phase::Prepare(promises) = &leading.phase else {
            return;
        };
        let promisers: Vec<(Incarnation, u64)> =
            promises.iter().map(|(m, p)| (*m, p.decided)).collect();
        let mut follows = own.0;
        if let Some((accepted, length, suffix)) = highest
            && (accepted, length) > own
        {
            self.log.adopt(suffix);
            follows = accepted;
        }
        self.extend_by_tails(follows);
        self.accepted = ballot;
        let progress = BTreeMap::from([(self.me, Progress::default())]);
        self.leading = Some(Leading {
            ballot,
            phase: Phase::Accept(progress),
        });
        let left = self.farewells.iter().filter_map(|(_, f)| f.suffix.as_ref());
        let known = promisers.iter().map(|(_, decided)| *decided);
        let known = known.chain(left.map(|s| s.decided)).max().unwrap_or(0);
        for (member, decided) in promisers {
            self.sync(member, decided);
        }
        self.sync_guests();
        if self.log.decide_to(known) {
            return self.enter();
        }
        self.decide();
    }
}
