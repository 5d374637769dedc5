//! Leaving, and what the farewells of others count for.

use super::Replica;
use crate::agreement::ballot::Ballot;
use crate::agreement::log::Suffix;
use crate::agreement::message::Body;
use crate::agreement::view::Incarnation;

impl<C: Clone + PartialEq> Replica<C> {
    /// Leaves: from here on there is no vote. Each member gets this one's log beyond what it has decided, as far as `decided` knows.
    pub fn leave(&mut self, decided: impl Fn(Incarnation) -> u64) {
        self.left = true;
        self.leading = None;
        let me = self.me;
        let others: Vec<Incarnation> = self.view().incarnations().filter(|m| *m != me).collect();
        for member in others {
            let farewell = Body::Farewell {
                promised: self.promised,
                accepted: self.accepted,
                suffix: self.log.suffix_after(decided(member)),
            };
            self.say(member, farewell);
        }
    }

    pub(super) fn on_farewell(
        &mut self,
        from: Incarnation,
        view: u32,
        promised: Ballot,
        accepted: Ballot,
        suffix: Suffix<C>,
    ) {
        if view > self.view().number {
            self.absorb(suffix.clone());
        }
        let here = self.view().number;
        if self.left || view > here {
            return self.say_status(from);
        }
        if self.view().contains(from) {
            let length = suffix.length();
            if view < here {
                let view = &self.log.decided().view;
                self.farewells.keep_earlier(view, from);
            } else if !(self.farewells).keep(&self.log, from, promised, accepted, suffix) {
                return self.say_status(from);
            }
            self.say(from, Body::Parted);
            self.on_left(from, promised, accepted, length);
        } else if view < here {
            self.say(from, Body::Parted);
        }
    }

    /// Counts a farewell in the ballot that this member prepares or leads.
    pub(super) fn on_left(
        &mut self,
        from: Incarnation,
        promised: Ballot,
        accepted: Ballot,
        length: u64,
    ) {
        let Some(leading) = &self.leading else {
            return;
        };
        let ballot = leading.ballot;
        if promised > ballot && self.farewells.highest() > Some(ballot) {
            self.leading = None;
        } else if self.is_candidate() {
            self.lead_if_promised();
        } else if accepted == ballot {
            self.on_accepted(from, ballot, length);
        } else {
            self.decide();
        }
    }
}
