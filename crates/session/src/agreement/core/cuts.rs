//! The flush of streams before their owners are excluded.

use core::time::Duration;

use super::Agreement;
use crate::agreement::delivery::Event;
use crate::agreement::flush::{Flush, Holding, Round};
use crate::agreement::message::Body;
use crate::agreement::view::{Cut, Incarnation, Member};

impl<C: Clone + PartialEq> Agreement<C> {
    /// Answers [`Event::Flush`]: these streams are held back from now on, and no others.
    pub fn answer_flush(&mut self, now: Duration, flush: &Flush, holdings: Vec<Holding>) {
        let (ballot, round) = (flush.ballot, flush.round);
        if ballot != self.replica.status().promised {
            return;
        }
        if ballot.by != self.me() {
            let answer = Body::Flushed {
                ballot,
                round,
                holdings,
            };
            self.send(ballot.by, answer);
        } else if let Some(own) = self.flush.as_mut().filter(|f| f.is(ballot, round)) {
            own.on_own(ballot.by, holdings);
            self.ask_to_flush();
            self.change_view(now);
            self.settle(now);
        }
    }

    /// The cuts of those who go, once every member of the next view has answered. A leader that lets nobody go releases what a former one had held back;
    /// it asks for nothing before a quorum follows it, because until then the former leader's end of the view, and its cuts, may still be decided.
    pub(super) fn cuts(&mut self, gone: &[Incarnation], members: &[Member]) -> Option<Vec<Cut>> {
        if !self.config.cuts {
            return Some(Vec::new());
        }
        if !self.replica.is_followed() {
            return None;
        }
        let here = |m: &&Member| self.view().contains(m.incarnation);
        let asked = members.iter().filter(here).map(|m| m.incarnation);
        let asked: Vec<Incarnation> = asked.collect();
        let ballot = self.replica.status().promised;
        let round = match &self.flush {
            Some(round) if round.is_for(ballot, gone, &asked) => {
                let mut cuts = round.cuts()?;
                for cut in &mut cuts {
                    cut.left = self.replica.farewells().contains(cut.owner);
                }
                return Some(cuts);
            }
            Some(round) => round.flush.round + 1,
            // Only the owner of a view asks under its ballot 0, and it has not: nobody holds anything back.
            None if gone.is_empty() && ballot.n == 0 => return Some(Vec::new()),
            None => 1,
        };
        let round = Round::new(ballot, round, gone, asked);
        self.ask_game_to_flush(round.flush.clone());
        self.flush = Some(round);
        None
    }

    pub(super) fn ask_game_to_flush(&mut self, flush: Flush) {
        self.asides
            .retain(|event| !matches!(event, Event::Flush(_)));
        self.asides.push_back(Event::Flush(flush));
    }

    pub(super) fn ask_to_flush(&mut self) {
        let me = self.me();
        let Some(round) = self.flush.as_ref().filter(|_| self.replica.leads()) else {
            return;
        };
        let flush = round.flush.clone();
        let members: Vec<Incarnation> = round.unanswered(me).collect();
        for member in members {
            self.send(member, Body::Flush(flush.clone()));
        }
    }

    pub(super) fn on_flush(&mut self, from: Incarnation, flush: Flush) {
        let (ballot, number) = (flush.ballot, self.view().number);
        let follows = ballot == self.replica.status().promised && ballot.by == from;
        let round = (number, ballot, flush.round);
        if follows && self.replica.votes() && round >= self.flushing {
            self.flushing = round;
            self.ask_game_to_flush(flush);
        }
    }
}
