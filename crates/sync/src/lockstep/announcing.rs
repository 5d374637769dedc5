//! Who may announce who comes and goes.
//!
//! Where every peer is an input source, the authority announces it in its own batches, or the first source while the authority is none. A member may hear
//! later than others that the authority has changed: so what a source announces that is not believed yet waits for a while, and what a former
//! authority has under way still counts.

use core::time::Duration;

use super::Lockstep;
use super::message::InputBatch;
use super::room::Topology;
use crate::timeline::SourceId;

/// What a source announces waits this long for the news that it may, and counts this long after the news that it no longer may.
const ALLOWANCE: Duration = Duration::from_secs(3);

/// How far a source is believed about who comes and goes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Announcing {
    /// Set once it was the one to announce.
    believed_until: Option<Duration>,
    /// Since when all its batches announce what is not its to announce.
    undue_since: Option<Duration>,
}

/// What becomes of the changes in a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Judgement {
    /// They count.
    Believe,
    /// The batch is taken when its source turns out to be the one to announce, or when the time for that is over.
    Wait,
    /// The batch counts without them.
    Refuse,
}

impl Announcing {
    /// The source is the one to announce, as far as known here.
    pub(super) fn on_turn(&mut self, now: Duration) {
        self.believed_until = Some(now + ALLOWANCE);
    }

    /// Whether it has ever been the one to announce, as far as known here.
    pub(super) fn has_announced(&self) -> bool {
        self.believed_until.is_some()
    }

    /// Judges a batch: whether its source is the one to `announce` now, and whether there `is_news` in it.
    pub(super) fn judge(&mut self, now: Duration, announces: bool, is_news: bool) -> Judgement {
        if announces {
            self.on_turn(now);
        }
        if !is_news || self.believed_until.is_some_and(|until| now <= until) {
            self.undue_since = None;
            return Judgement::Believe;
        }
        let since = *self.undue_since.get_or_insert(now);
        match now.saturating_sub(since) < ALLOWANCE {
            true => Judgement::Wait,
            false => Judgement::Refuse,
        }
    }
}

impl Lockstep {
    /// Whether the authority announces who comes and goes among many sources. Elsewhere all changes come from it alone, as `permission.rs` says.
    pub(super) fn announces_in_turn(&self) -> bool {
        self.room.topology == Topology::Mesh
    }

    /// Whether a source is believed about who comes and goes as soon as its batch is.
    pub(super) fn may_announce(&self, id: SourceId) -> bool {
        !self.announces_in_turn() || self.announces_players(id)
    }

    /// Whether it is this source that announces who comes and goes: the authority or, while that is no source, the first source.
    pub(super) fn announces_players(&self, id: SourceId) -> bool {
        let leader = self.room.authority_source();
        let leader = leader.filter(|leader| self.sources.active(*leader).is_some());
        leader.or(self.sources.all_active().next()) == Some(id)
    }

    /// The room may have another authority: notes that, and looks at the batches that have waited for it.
    pub(super) fn note_announcing(&mut self, now: Duration) {
        let authority = self.room.authority_source();
        if let Some(source) = authority.and_then(|id| self.sources.known.get_mut(&id)) {
            source.announcing.on_turn(now);
        }
        self.retry_early_batches(now);
    }

    /// Whether a batch announces something that still counts and is not known here.
    pub(super) fn has_new_changes(&self, batch: &InputBatch<'_>) -> bool {
        let mut changes = batch.changes.iter();
        changes.any(|(tick, change)| {
            *tick >= self.simulated.confirmed_tick && !self.timeline.changes(*tick).contains(change)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn news_of_another_waits_and_then_does_not_count() {
        let mut member = Announcing::default();
        assert_eq!(member.judge(ms(0), false, false), Judgement::Believe);
        assert_eq!(member.judge(ms(10), false, true), Judgement::Wait);
        assert_eq!(member.judge(ms(3000), false, true), Judgement::Wait);
        assert_eq!(member.judge(ms(3010), false, true), Judgement::Refuse);
        assert_eq!(member.judge(ms(9000), false, true), Judgement::Refuse);
        assert!(!member.has_announced());
        // Without lies for once, it begins anew; as the authority it is believed.
        assert_eq!(member.judge(ms(9010), false, false), Judgement::Believe);
        assert_eq!(member.judge(ms(9020), false, true), Judgement::Wait);
        assert_eq!(member.judge(ms(9030), true, true), Judgement::Believe);
    }

    #[test]
    fn a_former_authority_is_believed_a_little_longer() {
        let mut former = Announcing::default();
        former.on_turn(ms(1000));
        assert_eq!(former.judge(ms(4000), false, true), Judgement::Believe);
        assert_eq!(former.judge(ms(4001), false, true), Judgement::Wait);
        assert_eq!(former.judge(ms(8000), false, true), Judgement::Refuse);
        assert!(former.has_announced());
    }
}
