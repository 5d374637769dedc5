//! Views: who the members are and which of them may decide. A view never changes; its last entry names the next.

use core::fmt;

use samestep_wire::Wire;

/// The most members of a view: beats say who is heard by one bit for each.
pub const MAX_MEMBERS: usize = 64;

/// One run of a program as a member: a random number that is never used again. Who returns takes another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Wire)]
pub struct Incarnation(pub u64);

impl Incarnation {
    /// The receiver of a message to whoever answers at an address. No program may take this number.
    pub const ANYONE: Self = Self(0);
}

impl fmt::Debug for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// What a returning program comes back to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub struct Slot(#[wire(varint)] pub u16);

/// A member of a view.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct Member {
    /// The program.
    pub incarnation: Incarnation,
    /// Its slot.
    pub slot: Slot,
}

/// The members who decide, from one index of the log to the entry that names the next view.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub struct View {
    /// Views are numbered from 1; a learner that was fed nothing yet is in view 0, which has no members.
    #[wire(varint)]
    pub number: u32,
    /// The members, by incarnation.
    #[wire(max_len = 64)]
    pub members: Vec<Member>,
    /// The member with which a half is a quorum.
    pub tie_breaker: Incarnation,
    /// The member that leads the view's ballot 0.
    pub owner: Incarnation,
    /// The index before the view's first entry.
    #[wire(varint)]
    pub first_index: u64,
}

impl View {
    /// The first view of a room.
    pub fn founding(founder: Member) -> Self {
        let next = NextView {
            members: vec![founder],
            tie_breaker: founder.incarnation,
            owner: founder.incarnation,
            cuts: Vec::new(),
        };
        next.open(0, 0)
    }

    /// The members' incarnations.
    pub fn incarnations(&self) -> impl Iterator<Item = Incarnation> + '_ {
        self.members.iter().map(|m| m.incarnation)
    }

    /// The place of a member among the members.
    pub fn position(&self, who: Incarnation) -> Option<usize> {
        self.members
            .binary_search_by_key(&who, |m| m.incarnation)
            .ok()
    }

    /// Whether somebody is a member.
    pub fn contains(&self, who: Incarnation) -> bool {
        self.position(who).is_some()
    }

    /// The slot of a member.
    pub fn slot(&self, who: Incarnation) -> Option<Slot> {
        self.position(who).map(|at| self.members[at].slot)
    }

    /// Whether these members may decide for all: more than half, or half with the tie-breaker.
    pub fn is_quorum(&self, with: impl Fn(Incarnation) -> bool) -> bool {
        let agreeing = self.incarnations().filter(|m| with(*m)).count();
        let half = agreeing * 2 == self.members.len() && agreeing > 0;
        agreeing * 2 > self.members.len()
            || (half && self.contains(self.tie_breaker) && with(self.tie_breaker))
    }

    /// Whether these are all the members.
    pub fn is_whole(&self, with: impl Fn(Incarnation) -> bool) -> bool {
        !self.members.is_empty() && self.incarnations().all(with)
    }
}

/// The last entry of a view.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct NextView {
    /// The members of the next view, by incarnation.
    #[wire(max_len = 64)]
    pub members: Vec<Member>,
    /// Its tie-breaker.
    pub tie_breaker: Incarnation,
    /// The member that leads its ballot 0. It is part of the entry because two leaders may complete the same entry, and
    /// must not both open the view.
    pub owner: Incarnation,
    /// Where the streams of those who are no longer members end.
    #[wire(max_len = 64)]
    pub cuts: Vec<Cut>,
}

impl NextView {
    /// The view that follows view `number` when this entry is at `index`.
    pub fn open(&self, number: u32, index: u64) -> View {
        let mut members = self.members.clone();
        members.sort_unstable();
        View {
            number: number.saturating_add(1),
            members,
            tie_breaker: self.tie_breaker,
            owner: self.owner,
            first_index: index,
        }
    }
}

/// Where the stream of a departed owner ends, for everybody.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct Cut {
    /// The departed owner.
    pub owner: Incarnation,
    /// Everybody has the items up to this number, and nobody delivers a later one.
    #[wire(varint)]
    pub last: u64,
    /// The items that some member lacked: the last of them has the number `last`.
    #[wire(max_len = 1024)]
    pub items: Vec<Item>,
    /// Whether the owner said farewell: it left, and was not lost.
    pub left: bool,
}

/// One item of a stream, as bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct Item(#[wire(max_len = 524288)] pub Vec<u8>);

#[cfg(test)]
mod tests {
    use super::*;

    fn view(members: &[u64], tie_breaker: u64) -> View {
        let members = members.iter().map(|n| Member {
            incarnation: Incarnation(*n),
            slot: Slot(*n as u16),
        });
        NextView {
            members: members.collect(),
            tie_breaker: Incarnation(tie_breaker),
            owner: Incarnation(tie_breaker),
            cuts: Vec::new(),
        }
        .open(1, 0)
    }

    #[test]
    fn any_two_quorums_of_a_view_share_a_member() {
        for size in 1..=6u32 {
            let members: Vec<u64> = (1..=u64::from(size)).collect();
            let view = view(&members, 1);
            let quorums: Vec<u32> = (0..1 << size)
                .filter(|set| view.is_quorum(|m| set >> (m.0 - 1) & 1 == 1))
                .collect();
            for a in &quorums {
                assert!(quorums.iter().all(|b| a & b != 0), "{size} {a:b}");
            }
        }
    }

    #[test]
    fn of_two_halves_the_one_with_the_tie_breaker_is_a_quorum() {
        let four = view(&[4, 3, 2, 1], 3);
        assert!(four.is_quorum(|m| m.0 >= 3));
        assert!(!four.is_quorum(|m| m.0 < 3));
        assert!(!four.is_quorum(|_| false));
        assert!(!View::default().is_quorum(|_| true));
        assert!(!View::default().is_whole(|_| true));
    }
}
