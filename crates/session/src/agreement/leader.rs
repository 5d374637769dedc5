//! A member's own ballot: the promises it collects as a candidate, and how far the others follow once it leads.

use std::collections::BTreeMap;

use super::ballot::Ballot;
use super::farewell::Farewells;
use super::log::Suffix;
use super::view::{Incarnation, View};

/// The ballot of a candidate or leader.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Leading<C> {
    pub(super) ballot: Ballot,
    pub(super) phase: Phase<C>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase<C> {
    /// Phase 1: the promises so far.
    Prepare(BTreeMap<Incarnation, Promised<C>>),
    /// Phase 2: how far each member follows.
    Accept(BTreeMap<Incarnation, Progress>),
}

/// What came with a promise.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Promised<C> {
    pub(super) accepted: Ballot,
    pub(super) length: u64,
    pub(super) decided: u64,
    pub(super) suffix: Option<Suffix<C>>,
}

/// How far a member follows the leader.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Progress {
    /// The last index it has accepted in this ballot.
    pub(super) matched: u64,
    /// The last index sent to it; `None` before its first Sync.
    pub(super) sent: Option<u64>,
    /// The length it reported last: what it reports twice, it waits at.
    pub(super) reported: Option<u64>,
}

impl<C: Clone + PartialEq> Leading<C> {
    /// A candidate, which has promised itself.
    pub(super) fn candidate(ballot: Ballot) -> Self {
        Self {
            ballot,
            phase: Phase::Prepare(BTreeMap::new()),
        }
    }

    /// The owner of a view, which leads its first ballot without having been promised anything.
    pub(super) fn owner(view: &View) -> Self {
        let progress = Progress {
            matched: view.first_index,
            sent: Some(view.first_index),
            reported: None,
        };
        Self {
            ballot: Ballot::first(view),
            phase: Phase::Accept(view.incarnations().map(|m| (m, progress)).collect()),
        }
    }

    /// Whether a leader has sent its log to somebody.
    pub(super) fn has_sent(&self, to: Incarnation) -> bool {
        match &self.phase {
            Phase::Accept(progress) => progress.get(&to).is_some_and(|p| p.sent.is_some()),
            Phase::Prepare(_) => false,
        }
    }

    /// Whether a quorum has promised. Who left without having promised a higher ballot counts: it promises nobody anything any more.
    pub(super) fn is_promised(&self, view: &View, farewells: &Farewells<C>) -> bool {
        let Phase::Prepare(promises) = &self.phase else {
            return false;
        };
        view.is_quorum(|m| {
            m == self.ballot.by || promises.contains_key(&m) || farewells.allows(m, self.ballot)
        })
    }

    /// The highest log among the promises and the farewells: by the ballot it follows, then by length.
    pub(super) fn highest(&self, farewells: &Farewells<C>) -> Option<(Ballot, u64, Suffix<C>)> {
        let Phase::Prepare(promises) = &self.phase else {
            return None;
        };
        let promised = promises.values();
        let promised = promised.map(|p| (p.accepted, p.length, p.suffix.as_ref()));
        let left = farewells.iter().map(|(_, f)| f);
        let left = left.map(|f| (f.accepted, f.length, f.suffix.as_ref()));
        let all = promised.chain(left);
        let with_logs = all.filter_map(|(b, l, suffix)| Some((b, l, suffix?.clone())));
        with_logs.max_by_key(|(accepted, length, _)| (*accepted, *length))
    }

    /// The highest index that may be decided, the leader's own log being `length` long: a quorum has accepted it, or everyone who has not left.
    pub(super) fn decidable(&self, view: &View, farewells: &Farewells<C>, length: u64) -> u64 {
        let Phase::Accept(progress) = &self.phase else {
            return 0;
        };
        let leader = self.ballot.by;
        let matched = |m: Incarnation| match m == leader {
            true => length,
            false => progress.get(&m).map_or(0, |p| p.matched),
        };
        let enough = |index: u64| {
            let has = |m: Incarnation| matched(m) >= index;
            view.is_quorum(|m| has(m) && has(leader))
                || view.is_whole(|m| has(m) || farewells.allows(m, self.ballot))
        };
        // A quorum's index is that of one of its members.
        let indices = view.incarnations().map(matched);
        indices.filter(|index| enough(*index)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::{Member, NextView, Slot};
    use super::*;

    fn view(size: u64) -> View {
        let members = (1..=size).map(|n| Member {
            incarnation: Incarnation(n),
            slot: Slot(n as u16),
        });
        NextView {
            members: members.collect(),
            tie_breaker: Incarnation(1),
            owner: Incarnation(1),
            cuts: Vec::new(),
        }
        .open(0, 1)
    }

    fn accepted(leading: &mut Leading<char>, by: u64, length: u64) {
        if let Phase::Accept(progress) = &mut leading.phase {
            progress.entry(Incarnation(by)).or_default().matched = length;
        }
    }

    #[test]
    fn an_entry_is_decided_by_a_quorum_with_the_leader() {
        let view = view(4);
        let farewells = Farewells::default();
        let mut leading = Leading::owner(&view);
        assert_eq!(leading.decidable(&view, &farewells, 9), 1);
        accepted(&mut leading, 2, 5);
        assert_eq!(leading.decidable(&view, &farewells, 9), 5);
        accepted(&mut leading, 3, 7);
        assert_eq!(leading.decidable(&view, &farewells, 9), 7);
    }

    #[test]
    fn all_who_have_not_left_decide_for_the_view() {
        let view = view(3);
        let mut farewells = Farewells::default();
        let mut leading = Leading::<char>::owner(&view);
        farewells.keep_earlier(&view, Incarnation(2));
        assert_eq!(leading.decidable(&view, &farewells, 4), 1, "3 may be alive");
        farewells.keep_earlier(&view, Incarnation(3));
        assert_eq!(leading.decidable(&view, &farewells, 4), 4);
        accepted(&mut leading, 2, 2);
        assert_eq!(leading.decidable(&view, &farewells, 4), 4);
    }
}
