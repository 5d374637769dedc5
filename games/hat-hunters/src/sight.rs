//! What each player is told: everything but who is who.

use samestep_sync::{Interest, PlayerId, Relevance};

use crate::hat_hunters::HatHunters;

impl HatHunters {
    /// Who plays which character, and what characters carry, is known only to each player itself while a round is played. What the characters intend
    /// that nobody plays is never told.
    pub(crate) fn tell_interest(&self, viewers: &[PlayerId], interest: &mut Interest) {
        interest.part("minds").all(Relevance::HIDDEN);
        // A round that is over gives everybody away; in the next one they are other characters.
        if self.round.is_over() {
            return;
        }
        let is_own = |player: PlayerId| viewers.contains(&player);
        let mut hunters = interest.part("hunters");
        hunters.all(Relevance::HIDDEN);
        for (row, hunter) in self.hunters.as_slice().iter().enumerate() {
            if is_own(hunter.player) {
                hunters.row(row, Relevance::FULL);
            }
        }
        let mut purses = interest.part("purses");
        purses.all(Relevance::HIDDEN);
        for hunter in self.hunters.as_slice() {
            let row = self.purses.index_of(hunter.character);
            if let Some(row) = row.filter(|_| is_own(hunter.player)) {
                purses.row(row, Relevance::FULL);
            }
        }
    }
}
