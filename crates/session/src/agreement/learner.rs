//! Learners: programs that are fed the decided log until a view names them.

use core::time::Duration;
use std::collections::BTreeMap;

use super::requests::RequestTable;
use super::view::{Incarnation, MAX_MEMBERS, Member, Slot};

/// A learner that lacks more entries than this is not admitted yet.
const CAUGHT_UP: u64 = 64;
/// Learners that a member remembers.
const MAX_LEARNERS: usize = 256;

/// The learners that asked this member lately.
#[derive(Clone, Debug, Default)]
pub(super) struct Learners(BTreeMap<Incarnation, Learner>);

#[derive(Clone, Copy, Debug)]
struct Learner {
    slot: Option<Slot>,
    decided: u64,
    ready: bool,
    heard_at: Duration,
}

impl Learners {
    pub(super) fn on_learn(
        &mut self,
        now: Duration,
        from: Incarnation,
        slot: Option<Slot>,
        decided: u64,
        ready: bool,
    ) {
        if self.0.len() < MAX_LEARNERS || self.0.contains_key(&from) {
            let heard_at = now;
            self.0.insert(
                from,
                Learner {
                    slot,
                    decided,
                    ready,
                    heard_at,
                },
            );
        }
    }

    /// Forgets those that were not heard for so long.
    pub(super) fn expire(&mut self, now: Duration, after: Duration) {
        self.0.retain(|_, learner| now < learner.heard_at + after);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn forget(&mut self, who: Incarnation) {
        self.0.remove(&who);
    }

    /// How far a learner has been fed.
    pub(super) fn decided(&self, who: Incarnation) -> Option<u64> {
        self.0.get(&who).map(|learner| learner.decided)
    }

    /// Adds those that are ready and have caught up to the members of the next view. A slot whose incarnation is kept is not given to another; an incarnation that was
    /// a member before is not admitted again: its plea is a late one.
    pub(super) fn admit(&self, members: &mut Vec<Member>, decided: u64, requests: &RequestTable) {
        for (incarnation, learner) in &self.0 {
            let taken: Vec<Slot> = members.iter().map(|m| m.slot).collect();
            let slot = match learner.slot {
                Some(slot) => slot,
                None => requests.free_slot(&taken),
            };
            let caught_up = learner.decided + CAUGHT_UP >= decided;
            let free = !taken.contains(&slot) && members.len() < MAX_MEMBERS;
            let late = requests.knows(*incarnation);
            if learner.ready && caught_up && free && !late && learner.decided > 0 {
                members.push(Member {
                    incarnation: *incarnation,
                    slot,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_not_taken_from_a_member_that_is_kept() {
        let mut learners = Learners::default();
        let now = Duration::ZERO;
        learners.on_learn(now, Incarnation(8), Some(Slot(1)), 90, true);
        learners.on_learn(now, Incarnation(9), None, 90, true);
        learners.on_learn(now, Incarnation(10), None, 20, true);
        learners.on_learn(now, Incarnation(11), None, 90, false);
        let kept = Member {
            incarnation: Incarnation(1),
            slot: Slot(1),
        };
        let mut members = vec![kept];
        learners.admit(&mut members, 100, &RequestTable::default());
        let admitted: Vec<(u64, u16)> = members
            .iter()
            .map(|m| (m.incarnation.0, m.slot.0))
            .collect();
        assert_eq!(
            admitted,
            [(1, 1), (9, 0)],
            "10 lags too far behind, 11 is not ready"
        );
    }
}
