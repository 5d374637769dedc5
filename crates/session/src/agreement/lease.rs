//! The lease of a host: for how long nobody else can become host. Nothing irreversible rests on it.
//!
//! A standby counts from *receiving* the host's question, and the host from *sending* it, so the host's time is over first however long either way took.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use super::ballot::Ballot;
use super::view::{Incarnation, View};

/// The share of its time that the host uses, in percent: clocks may differ by the rest.
const SHARE: u32 = 98;
/// Questions whose answers still count.
const MAX_SENT: usize = 64;

/// What a member has granted: whom it does not abandon, and until when.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants(BTreeMap<Incarnation, Duration>);

impl Grants {
    /// Grants somebody a lease until then.
    pub(super) fn grant(&mut self, to: Incarnation, now: Duration, time: Duration) {
        self.0.retain(|_, until| now < *until);
        let until = self.0.entry(to).or_default();
        *until = (*until).max(now + time);
    }

    /// The holder of a lease wants this member to promise somebody else, and nobody but that one.
    pub(super) fn pass_on(&mut self, holder: Incarnation, to: Incarnation) {
        if let Some(until) = self.0.remove(&holder) {
            let passed = self.0.entry(to).or_default();
            *passed = (*passed).max(until);
        }
    }

    /// The holder of a lease has left, or promised another: it is over.
    pub(super) fn end(&mut self, holder: Incarnation) {
        self.0.remove(&holder);
    }

    /// Whether this member may promise somebody.
    pub(super) fn allow(&self, now: Duration, candidate: Incarnation) -> bool {
        let held = |(to, until): (&Incarnation, &Duration)| *to != candidate && now < *until;
        !self.0.iter().any(held)
    }
}

/// The lease of a host, of one ballot of one view.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    time: Duration,
    view: u32,
    ballot: Ballot,
    number: u32,
    /// The questions: number and time of sending.
    sent: VecDeque<(u32, Duration)>,
    /// The time of sending of what each member granted last.
    granted: BTreeMap<Incarnation, Duration>,
    /// The time from which every member of the view has granted it by entering the view.
    entered: Option<Duration>,
}

impl Lease {
    pub(super) fn new(time: Duration) -> Self {
        Self {
            time,
            view: 0,
            ballot: Ballot::default(),
            number: 0,
            sent: VecDeque::new(),
            granted: BTreeMap::new(),
            entered: None,
        }
    }

    /// Whether the lease is of this ballot.
    pub(super) fn is_of(&self, view: u32, ballot: Ballot) -> bool {
        (self.view, self.ballot) == (view, ballot)
    }

    /// The owner of a view leads it: it proposed the view then, or somebody else completed it.
    pub(super) fn open(&mut self, view: u32, ballot: Ballot, proposed: Option<Duration>) {
        self.begin(view, ballot);
        self.entered = proposed;
    }

    /// A candidate leads: these have promised what it asked for from then on.
    pub(super) fn win(
        &mut self,
        view: u32,
        ballot: Ballot,
        asked: Duration,
        promisers: &[Incarnation],
    ) {
        self.begin(view, ballot);
        self.granted = promisers.iter().map(|m| (*m, asked)).collect();
    }

    fn begin(&mut self, view: u32, ballot: Ballot) {
        (self.view, self.ballot, self.entered) = (view, ballot, None);
        self.sent.clear();
        self.granted.clear();
    }

    /// The number of the next question.
    pub(super) fn ask(&mut self, now: Duration) -> u32 {
        self.number = self.number.wrapping_add(1);
        self.sent.push_back((self.number, now));
        if self.sent.len() > MAX_SENT {
            self.sent.pop_front();
        }
        self.number
    }

    /// A member grants what was asked for with a number.
    pub(super) fn on_granted(&mut self, from: Incarnation, number: u32) {
        if let Some((_, at)) = self.sent.iter().find(|(n, _)| *n == number) {
            let granted = self.granted.entry(from).or_insert(*at);
            *granted = (*granted).max(*at);
        }
    }

    /// Whether the lease holds: a quorum has granted it, or everyone who has not left.
    pub(super) fn holds(
        &self,
        now: Duration,
        view: &View,
        me: Incarnation,
        left: impl Fn(Incarnation) -> bool,
    ) -> bool {
        let share = self.time * SHARE / 100;
        let grants = |m: Incarnation| {
            let at = self.granted.get(&m).copied().max(self.entered);
            m == me || at.is_some_and(|at| now < at + share)
        };
        self.view == view.number
            && (view.is_quorum(grants) || view.is_whole(|m| grants(m) || left(m)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::{Member, NextView, Slot};
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const T: Duration = Duration::from_millis(500);
    const ONE: Incarnation = Incarnation(1);

    fn view(size: u64) -> View {
        let members = (1..=size).map(|n| Member {
            incarnation: Incarnation(n),
            slot: Slot(n as u16),
        });
        NextView {
            members: members.collect(),
            tie_breaker: ONE,
            owner: ONE,
            cuts: Vec::new(),
        }
        .open(0, 1)
    }

    fn holds(lease: &Lease, now: Duration, size: u64) -> bool {
        lease.holds(now, &view(size), ONE, |_| false)
    }

    #[test]
    fn the_host_counts_from_sending_and_less_than_the_standby() {
        let mut lease = Lease::new(T);
        let mut grants = Grants::default();
        lease.open(1, Ballot::first(&view(3)), None);
        let number = lease.ask(1000 * MS);
        // 200 ms there, 200 ms back.
        grants.grant(ONE, 1200 * MS, T);
        lease.on_granted(Incarnation(2), number);
        assert!(holds(&lease, 1489 * MS, 3) && !holds(&lease, 1490 * MS, 3));
        assert!(!grants.allow(1699 * MS, Incarnation(3)));
        assert!(grants.allow(1699 * MS, ONE) && grants.allow(1700 * MS, Incarnation(3)));
    }

    #[test]
    fn a_quorum_must_grant_and_the_host_is_in_it() {
        let mut lease = Lease::new(T);
        lease.open(1, Ballot::first(&view(5)), None);
        let number = lease.ask(1000 * MS);
        lease.on_granted(Incarnation(2), number);
        assert!(!holds(&lease, 1001 * MS, 5));
        lease.on_granted(Incarnation(3), number + 1);
        assert!(!holds(&lease, 1001 * MS, 5), "that was not asked");
        lease.on_granted(Incarnation(3), number);
        assert!(holds(&lease, 1001 * MS, 5));
        let left = |m: Incarnation| m == Incarnation(3);
        assert!(!Lease::new(T).holds(MS, &view(3), ONE, left));
        assert!(holds(&lease, 9000 * MS, 1), "who is alone needs no grant");
    }

    #[test]
    fn who_enters_a_view_grants_from_its_proposal_on() {
        let mut lease = Lease::new(T);
        lease.open(1, Ballot::first(&view(3)), Some(1000 * MS));
        assert!(holds(&lease, 1489 * MS, 3) && !holds(&lease, 1490 * MS, 3));
        lease.win(1, Ballot { n: 1, by: ONE }, 2000 * MS, &[Incarnation(3)]);
        assert!(holds(&lease, 2489 * MS, 3) && !holds(&lease, 2490 * MS, 3));
        assert!(!lease.is_of(1, Ballot::first(&view(3))));
    }

    #[test]
    fn a_grant_that_is_passed_on_allows_one_other_only() {
        let mut grants = Grants::default();
        grants.grant(ONE, Duration::ZERO, T);
        grants.pass_on(ONE, Incarnation(2));
        assert!(grants.allow(MS, Incarnation(2)));
        assert!(!grants.allow(MS, Incarnation(3)) && !grants.allow(MS, ONE));
        grants.end(Incarnation(2));
        assert!(grants.allow(MS, Incarnation(3)));
    }
}
