//! The flush of streams whose owners are excluded (virtual synchrony): all members of the next view deliver the same items of them.
//!
//! A stream is what one member sends to all others outside the log: the inputs of its players, the variables it owns. When its owner is excluded, members
//! have received different parts of it. The leader asks everyone who will be in the next view; who answers holds the stream back from then on. The end is the
//! maximum over all of them, and the items that anybody lacks are part of the view's last entry.

use std::collections::BTreeMap;

use samestep_wire::Wire;

use super::ballot::Ballot;
use super::view::{Cut, Incarnation, Item};

/// A leader's question: hold back the streams of these owners, and send what lies above what the leader has.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub struct Flush {
    /// The leader's ballot.
    pub ballot: Ballot,
    /// The number of the round. A later round of the same leader, or one of a later leader, replaces it, and releases what it no longer names.
    #[wire(varint)]
    pub round: u32,
    /// Each owner, and the last item of it that the leader has.
    #[wire(max_len = 64)]
    pub owners: Vec<(Incarnation, u64)>,
}

/// What a member has of a stream that it holds back.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct Holding {
    /// The owner.
    pub owner: Incarnation,
    /// The number of the last item, before which none is missing.
    #[wire(varint)]
    pub last: u64,
    /// The last items, the newest last: of the leader all that it keeps, of the others those above the leader's.
    #[wire(max_len = 1024)]
    pub items: Vec<Item>,
}

/// A round of the leader.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Round {
    /// The question; its numbers are the leader's once the leader has answered.
    pub(super) flush: Flush,
    members: Vec<Incarnation>,
    answers: BTreeMap<Incarnation, Vec<Holding>>,
}

impl Round {
    pub(super) fn new(
        ballot: Ballot,
        round: u32,
        departed: &[Incarnation],
        members: Vec<Incarnation>,
    ) -> Self {
        let owners = departed.iter().map(|owner| (*owner, 0)).collect();
        let flush = Flush {
            ballot,
            round,
            owners,
        };
        Self {
            flush,
            members,
            answers: BTreeMap::new(),
        }
    }

    /// Whether it has no answer of a member, or does not ask it.
    pub(super) fn lacks(&self, who: Incarnation) -> bool {
        !self.answers.contains_key(&who)
    }

    /// Whether it is the round of this ballot for these, among these. Under another ballot members may have been asked to release what they held.
    pub(super) fn is_for(
        &self,
        ballot: Ballot,
        departed: &[Incarnation],
        members: &[Incarnation],
    ) -> bool {
        let owners = self.flush.owners.iter().map(|(owner, _)| owner);
        self.flush.ballot == ballot && owners.eq(departed.iter()) && self.members == members
    }

    /// Takes the leader's own answer: from now on others can be asked.
    pub(super) fn on_own(&mut self, me: Incarnation, holdings: Vec<Holding>) {
        for (owner, last) in &mut self.flush.owners {
            let holding = holdings.iter().find(|h| h.owner == *owner);
            *last = holding.map_or(0, |h| h.last);
        }
        self.answers.insert(me, holdings);
    }

    /// Whether it is this round of this ballot.
    pub(super) fn is(&self, ballot: Ballot, round: u32) -> bool {
        (self.flush.ballot, self.flush.round) == (ballot, round)
    }

    /// Takes the answer of another member. What it says to have beyond the leader counts only with the items.
    pub(super) fn on_answer(&mut self, from: Incarnation, mut holdings: Vec<Holding>) {
        for holding in &mut holdings {
            let mut owners = self.flush.owners.iter();
            let leaders = owners.find(|(owner, _)| *owner == holding.owner);
            let leaders = leaders.map_or(0, |(_, last)| *last);
            let beyond = holding.last.saturating_sub(leaders);
            if leaders > 0 && beyond > holding.items.len() as u64 {
                holding.last = leaders;
                holding.items.clear();
            }
        }
        if self.members.contains(&from) {
            self.answers.entry(from).or_insert(holdings);
        }
    }

    /// The members that have not answered, once the leader has.
    pub(super) fn unanswered(&self, me: Incarnation) -> impl Iterator<Item = Incarnation> + '_ {
        let asks = self.answers.contains_key(&me);
        let members = self.members.iter().copied();
        members.filter(move |m| asks && !self.answers.contains_key(m))
    }

    /// The cuts, once every member of the next view has answered. Who left with a farewell is not known here.
    pub(super) fn cuts(&self) -> Option<Vec<Cut>> {
        if !self.members.iter().all(|m| self.answers.contains_key(m)) {
            return None;
        }
        let owners = self.flush.owners.iter();
        Some(owners.map(|(owner, _)| self.cut(*owner)).collect())
    }

    fn cut(&self, owner: Incarnation) -> Cut {
        let holding = |answer: &Vec<Holding>| answer.iter().find(|h| h.owner == owner).cloned();
        let holdings: Vec<Option<Holding>> = self.answers.values().map(holding).collect();
        let lasts = || holdings.iter().map(|h| h.as_ref().map_or(0, |h| h.last));
        let last = lasts().max().unwrap_or(0);
        let lowest = lasts().min().unwrap_or(0);
        let mut known: BTreeMap<u64, Item> = BTreeMap::new();
        for holding in holdings.into_iter().flatten() {
            let first = (holding.last + 1).saturating_sub(holding.items.len() as u64);
            known.extend((first..).zip(holding.items));
        }
        let mut items: Vec<Item> = (lowest + 1..=last)
            .rev()
            .map_while(|number| known.remove(&number))
            .collect();
        items.reverse();
        let left = false;
        Cut {
            owner,
            last,
            items,
            left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Incarnation = Incarnation(9);

    fn holding(first: u64, last: u64) -> Vec<Holding> {
        let items = (first..=last).map(|n| Item(vec![n as u8]));
        vec![Holding {
            owner: OWNER,
            last,
            items: items.collect(),
        }]
    }

    #[test]
    fn the_cut_is_the_maximum_and_has_what_anybody_lacks() {
        let members: Vec<Incarnation> = (1..=3).map(Incarnation).collect();
        let mut round = Round::new(Ballot::default(), 1, &[OWNER], members);
        round.on_answer(Incarnation(2), holding(6, 8));
        assert_eq!(round.unanswered(Incarnation(1)).count(), 0, "not asked yet");
        round.on_own(Incarnation(1), holding(2, 5));
        assert_eq!(round.flush.owners, [(OWNER, 5)]);
        assert_eq!(round.cuts(), None);
        round.on_answer(Incarnation(7), holding(9, 12));
        round.on_answer(Incarnation(3), holding(4, 3));
        let cut = &round.cuts().expect("all answered")[0];
        let items: Vec<u8> = cut.items.iter().map(|item| item.0[0]).collect();
        assert_eq!((cut.last, items), (8, vec![4, 5, 6, 7, 8]));
    }

    #[test]
    fn what_a_member_says_to_have_beyond_the_leader_counts_with_its_items() {
        let members: Vec<Incarnation> = (1..=3).map(Incarnation).collect();
        let mut round = Round::new(Ballot::default(), 1, &[OWNER], members);
        round.on_own(Incarnation(1), holding(2, 5));
        round.on_answer(Incarnation(2), holding(8, 9));
        round.on_answer(Incarnation(3), holding(6, 7));
        let cut = &round.cuts().expect("all answered")[0];
        let items: Vec<u8> = cut.items.iter().map(|item| item.0[0]).collect();
        assert_eq!((cut.last, items), (7, vec![6, 7]));
    }

    #[test]
    fn another_set_of_departed_owners_is_another_round() {
        let round = Round::new(Ballot::default(), 1, &[OWNER], vec![Incarnation(1)]);
        assert!(round.is_for(Ballot::default(), &[OWNER], &[Incarnation(1)]));
        assert!(!round.is_for(
            Ballot::default(),
            &[OWNER, Incarnation(8)],
            &[Incarnation(1)]
        ));
        assert!(!round.is_for(
            Ballot::default(),
            &[OWNER],
            &[Incarnation(1), Incarnation(2)]
        ));
    }
}
