//! When to campaign: the leader is silent, a quorum hears this member and would promise. The pre-vote is Raft's.

use core::time::Duration;
use std::collections::BTreeSet;

use super::ballot::Ballot;
use super::config::AgreementConfig;
use super::view::{Incarnation, View};

/// What a member knows of leaders and candidates of its view.
#[derive(Clone, Debug)]
pub(super) struct Election {
    config: AgreementConfig,
    /// The number of the view that all of this is about.
    view: u32,
    /// Who claimed last to lead, and when.
    claim: (Incarnation, Duration),
    /// The last promise, and when it was given.
    promised: (Ballot, Duration),
    /// The round of this member's own attempt.
    round: u32,
    attempt: Option<Attempt>,
}

/// An attempt to be elected.
#[derive(Clone, Debug)]
struct Attempt {
    since: Duration,
    granted: BTreeSet<Incarnation>,
    /// Whether the pre-votes sufficed and promises are collected.
    campaigning: bool,
}

impl Election {
    pub(super) fn new(config: AgreementConfig) -> Self {
        let none = (Incarnation::ANYONE, Duration::ZERO);
        Self {
            config,
            view: 0,
            claim: none,
            promised: (Ballot::default(), Duration::ZERO),
            round: 0,
            attempt: None,
        }
    }

    /// Another view: its owner leads, and was last heard then.
    pub(super) fn on_view(&mut self, view: &View, heard: Duration) {
        self.view = view.number;
        self.claim = (view.owner, heard);
        self.promised = (Ballot::first(view), heard);
        self.attempt = None;
    }

    pub(super) fn view(&self) -> u32 {
        self.view
    }

    /// Somebody leads a ballot that this member does not refuse.
    pub(super) fn on_claim(&mut self, now: Duration, leader: Incarnation) {
        self.claim = (leader, now);
        self.attempt = None;
    }

    /// Somebody has left: nobody waits for it to lead, and a promise to it binds no longer.
    pub(super) fn on_farewell(&mut self, now: Duration, from: Incarnation) {
        let suspected = now.saturating_sub(self.config.suspect);
        if self.claim.0 == from {
            self.claim.1 = self.claim.1.min(suspected);
        }
        if self.promised.0.by == from {
            self.promised.1 = self.promised.1.min(suspected);
        }
    }

    /// Notes what this member has promised.
    pub(super) fn on_promise(&mut self, now: Duration, promised: Ballot) {
        if self.promised.0 != promised {
            self.promised = (promised, now);
        }
    }

    /// The leader, if it claimed to be within the suspicion time.
    pub(super) fn leader(&self, now: Duration) -> Option<Incarnation> {
        let (leader, at) = self.claim;
        (now < at + self.config.suspect).then_some(leader)
    }

    /// When a member of this rank may ask for pre-votes.
    pub(super) fn due_at(&self, rank: u32) -> Duration {
        self.claim.1 + self.config.suspect + self.config.rank * rank
    }

    /// Whether this member attempts to be elected.
    pub(super) fn attempts(&self) -> bool {
        self.attempt.is_some()
    }

    /// Whether a member may ask for pre-votes: nobody has led for the suspicion time, and all of lower rank had their turn.
    pub(super) fn is_due(&self, now: Duration, rank: u32) -> bool {
        now >= self.due_at(rank)
    }

    /// Whether this member would promise somebody: it hears no leader, and has not just promised somebody else.
    pub(super) fn would_promise(&self, now: Duration, to: Incarnation) -> bool {
        let (ballot, at) = self.promised;
        let bound = ballot.by != to && ballot.n > 0 && now < at + self.config.suspect;
        !bound && self.leader(now).is_none_or(|leader| leader == to)
    }

    /// Begins an attempt, or goes on with one that has not lapsed. Returns its round, if pre-votes are to be asked for.
    pub(super) fn canvass(&mut self, now: Duration) -> Option<u32> {
        let lapsed = |a: &Attempt| now >= a.since + self.config.lapse;
        if self.attempt.as_ref().is_none_or(lapsed) {
            self.round = self.round.wrapping_add(1);
            self.attempt = Some(Attempt {
                since: now,
                granted: BTreeSet::new(),
                campaigning: false,
            });
        }
        let attempt = self.attempt.as_ref()?;
        (!attempt.campaigning).then_some(self.round)
    }

    /// Takes a pre-vote of the present round.
    pub(super) fn on_pre_voted(&mut self, from: Incarnation, round: u32) {
        if let Some(attempt) = self.attempt.as_mut().filter(|_| round == self.round) {
            attempt.granted.insert(from);
        }
    }

    /// Those who would promise.
    pub(super) fn granted(&self) -> Option<&BTreeSet<Incarnation>> {
        let attempt = self.attempt.as_ref().filter(|a| !a.campaigning)?;
        Some(&attempt.granted)
    }

    /// The pre-votes suffice.
    pub(super) fn on_campaign(&mut self, now: Duration) {
        if let Some(attempt) = &mut self.attempt {
            (attempt.since, attempt.campaigning) = (now, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_voter_refuses_while_it_hears_a_leader_and_after_a_promise() {
        let mut election = Election::new(AgreementConfig::default());
        let (a, b) = (Incarnation(1), Incarnation(2));
        election.on_claim(1000 * MS, a);
        assert!(!election.would_promise(1499 * MS, b));
        assert!(election.would_promise(1500 * MS, b));
        election.on_promise(1600 * MS, Ballot { n: 1, by: b });
        assert!(!election.would_promise(2099 * MS, a));
        assert!(election.would_promise(2000 * MS, b));
        assert!(election.would_promise(2100 * MS, a));
    }

    #[test]
    fn a_promise_to_a_candidate_that_leaves_binds_no_longer() {
        let mut election = Election::new(AgreementConfig::default());
        let (a, b) = (Incarnation(1), Incarnation(2));
        election.on_promise(1000 * MS, Ballot { n: 1, by: a });
        election.on_claim(1050 * MS, a);
        assert!(!election.would_promise(1100 * MS, b));
        election.on_farewell(1100 * MS, a);
        assert!(election.would_promise(1100 * MS, b) && election.is_due(1100 * MS, 0));
    }

    #[test]
    fn ranks_take_turns_and_answers_to_a_lapsed_round_do_not_count() {
        let mut election = Election::new(AgreementConfig::default());
        assert!(election.is_due(500 * MS, 0) && !election.is_due(500 * MS, 1));
        assert!(election.is_due(700 * MS, 1));
        assert_eq!(election.canvass(700 * MS), Some(1));
        assert_eq!(election.canvass(800 * MS), Some(1));
        election.on_pre_voted(Incarnation(2), 1);
        assert_eq!(election.granted().map(BTreeSet::len), Some(1));
        assert_eq!(election.canvass(1300 * MS), Some(2));
        election.on_pre_voted(Incarnation(2), 1);
        assert_eq!(election.granted().map(BTreeSet::len), Some(0));
        election.on_campaign(1400 * MS);
        assert_eq!(election.canvass(1500 * MS), None);
    }
}
