//! Phase 2: a leader's log goes to the others, and is decided.

use super::{Outgoing, Replica};
use crate::agreement::ballot::Ballot;
use crate::agreement::leader::{Leading, Phase};
use crate::agreement::log::{Entry, MAX_ENTRIES, Suffix};
use crate::agreement::message::{Body, Status};
use crate::agreement::requests::Request;
use crate::agreement::view::{Incarnation, NextView};

impl<C: Clone + PartialEq> Replica<C> {
    /// The leader adds what a member asks for, if it is that member's next request.
    pub fn append(&mut self, request: Request, command: C) -> bool {
        let next = self.log.last_request(request.by).checked_add(1);
        let full = self.log.kept() >= MAX_ENTRIES;
        let known = self.view().contains(request.by) || self.hosting.guests.contains(&request.by);
        if full || next != Some(request.n) || !known {
            return false;
        }
        self.add(Entry::Command { request, command })
    }

    /// The leader ends the view.
    pub fn close_view(&mut self, next: NextView) -> bool {
        self.add(Entry::Next(next))
    }

    pub(super) fn add(&mut self, entry: Entry<C>) -> bool {
        if !self.leads() || self.log.is_closing() {
            return false;
        }
        self.log.append(entry);
        for member in self.listeners() {
            self.send_entries(member);
        }
        self.decide();
        true
    }

    /// Sends a member what it was not sent yet, if it follows.
    pub(super) fn send_entries(&mut self, to: Incarnation) {
        let length = self.log.length();
        let Some(Leading {
            ballot,
            phase: Phase::Accept(progress),
        }) = &mut self.leading
        else {
            return;
        };
        let ballot = *ballot;
        let Some(progress) = progress.get_mut(&to).filter(|p| p.sent.is_some()) else {
            return;
        };
        let (after, matched) = (
            progress.sent.replace(length).unwrap_or(length),
            progress.matched,
        );
        let kept = self.log.snapshot().point.index;
        if after < kept {
            // It lacks what is no longer kept.
            return self.sync(to, after);
        }
        let after = self.hosting.repeat(after, matched.max(kept));
        let entries = self.log.suffix_after(after).entries;
        self.say(
            to,
            Body::Accept {
                ballot,
                after,
                entries,
            },
        );
    }

    pub(super) fn sync(&mut self, to: Incarnation, decided: u64) {
        let length = self.log.length();
        let Some(leading) = &mut self.leading else {
            return;
        };
        if let Phase::Accept(progress) = &mut leading.phase {
            progress.entry(to).or_default().sent = Some(length);
            let sync = Body::Sync {
                ballot: leading.ballot,
                suffix: self.log.suffix_after(decided),
            };
            self.say(to, sync);
        }
    }

    pub(super) fn on_sync(&mut self, from: Incarnation, ballot: Ballot, suffix: Suffix<C>) {
        self.seen = self.seen.max(ballot.n);
        if ballot < self.promised {
            return self.say_status(from);
        }
        if !self.log.joins(&suffix) {
            return;
        }
        let decided = suffix.decided;
        let after = suffix.start_index();
        if self.accepted == ballot && after <= self.log.length() {
            // Said again: a log never gets shorter within a ballot.
            self.log.extend(after, suffix.entries);
        } else {
            self.log.adopt(suffix);
        }
        (self.promised, self.accepted) = (ballot, ballot);
        self.step_down_below(ballot);
        let length = self.log.length();
        self.say(from, Body::Accepted { ballot, length });
        self.on_decided(ballot, decided);
    }

    pub(super) fn on_accept(
        &mut self,
        from: Incarnation,
        ballot: Ballot,
        after: u64,
        entries: Vec<Entry<C>>,
        decided: u64,
    ) {
        self.seen = self.seen.max(ballot.n);
        if ballot != self.promised || ballot != self.accepted {
            if self.hosting.follows && ballot == self.accepted {
                // It has promised another: it sees what its host still orders, as a guest does, and accepts nothing.
                self.log.extend(after, entries);
                return self.on_decided(ballot, decided);
            }
            return self.say_status(from);
        }
        if !self.log.extend(after, entries) && self.hosting.follows {
            // Something is missing: the leader need not wait for the next beat.
            return self.say_status(from);
        }
        let length = self.log.length();
        self.say(from, Body::Accepted { ballot, length });
        self.on_decided(ballot, decided);
    }

    pub(super) fn on_accepted(&mut self, from: Incarnation, ballot: Ballot, length: u64) {
        let Some(leading) = self.leading.as_mut().filter(|l| l.ballot == ballot) else {
            return;
        };
        if let Phase::Accept(progress) = &mut leading.phase {
            let progress = progress.entry(from).or_default();
            progress.matched = progress.matched.max(length.min(self.log.length()));
        }
        self.decide();
    }

    /// Decides what may be decided in the ballot that this member leads.
    pub(super) fn decide(&mut self) {
        let length = self.log.length();
        let view = &self.log.decided().view;
        let Some(leading) = self.leading.as_ref().filter(|_| !self.held) else {
            return;
        };
        let index = leading.decidable(view, &self.farewells, length);
        let ballot = leading.ballot;
        if index <= self.log.decided().index {
            return;
        }
        // Those that are not in the next view are told as well.
        let number = view.number;
        let others = self.listeners();
        let enters = self.log.decide_to(index);
        self.out.extend(others.into_iter().map(|to| Outgoing {
            to,
            view: number,
            decided: index,
            body: Body::Decided { ballot },
        }));
        if enters {
            self.enter();
        }
    }

    /// Takes the word of a ballot's leader on how far its log is decided, if this log follows that ballot.
    pub(super) fn on_decided(&mut self, ballot: Ballot, decided: u64) {
        if self.accepted == ballot && self.log.decide_to(decided) {
            self.enter();
        }
    }

    /// Takes where a member of the same view stands: what it lacks is sent again.
    pub fn on_status(&mut self, from: Incarnation, decided: u64, status: Status) {
        // A guest deposes nobody.
        let member = self.view().contains(from);
        if member {
            self.seen = self.seen.max(status.promised.n);
        }
        if from == status.accepted.by {
            self.on_decided(status.accepted, decided);
        }
        let (length, prepare) = (self.log.length(), self.prepare());
        let Some(leading) = &mut self.leading else {
            return;
        };
        let ballot = leading.ballot;
        if status.promised > ballot {
            if member {
                self.leading = None;
            }
            return;
        }
        let progress = match &mut leading.phase {
            Phase::Prepare(promises) => {
                let answered = promises.contains_key(&from) || self.hosting.has_tail(from);
                if let Some(prepare) = prepare.filter(|_| !answered) {
                    self.say(from, prepare);
                }
                return;
            }
            Phase::Accept(progress) => progress.entry(from).or_default(),
        };
        let follows = status.accepted == ballot;
        let waits = progress.reported.replace(status.length) == Some(status.length);
        if follows && status.length > progress.matched {
            self.on_accepted(from, ballot, status.length);
        } else if follows && status.length < length && waits {
            (progress.sent, progress.reported) = (Some(status.length), None);
            self.send_entries(from);
        } else if !follows && (waits || progress.sent.is_none()) {
            self.sync(from, decided);
        }
    }
}
