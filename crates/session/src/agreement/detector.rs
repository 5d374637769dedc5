//! The failure detector: who was heard when, and who said that it hears this member.

use core::time::Duration;
use std::collections::BTreeMap;

use super::ballot::Ballot;
use super::view::{Incarnation, View};

/// What was heard of others. It survives changes of view, so that nobody gets a new grace period by one.
#[derive(Clone, Debug)]
pub(super) struct Detector {
    suspect: Duration,
    peers: BTreeMap<Incarnation, Heard>,
}

#[derive(Clone, Copy, Debug)]
struct Heard {
    at: Duration,
    /// When it last said that it hears this member.
    mutual_at: Duration,
    decided: u64,
    /// The view of its last message, and the ballot that it said it promised there.
    view: u32,
    promised: Ballot,
    /// When it was last answered about its view.
    answered_at: Option<Duration>,
}

impl Detector {
    pub(super) fn new(suspect: Duration) -> Self {
        Self {
            suspect,
            peers: BTreeMap::new(),
        }
    }

    /// Any packet counts as a beat.
    pub(super) fn on_packet(&mut self, now: Duration, from: Incarnation, view: u32, decided: u64) {
        let heard = self.peers.entry(from).or_insert(Heard {
            at: now,
            mutual_at: now,
            decided,
            view,
            promised: Ballot::default(),
            answered_at: None,
        });
        heard.at = now;
        heard.decided = heard.decided.max(decided);
        if view > heard.view {
            (heard.view, heard.promised) = (view, Ballot::default());
        }
    }

    /// Somebody said which ballot it promised in a view.
    pub(super) fn on_promised(&mut self, from: Incarnation, view: u32, promised: Ballot) {
        if let Some(heard) = self.peers.get_mut(&from).filter(|h| h.view == view) {
            heard.promised = promised;
        }
    }

    /// Whether somebody said that it promised this ballot of this view.
    pub(super) fn has_promised(&self, who: Incarnation, view: u32, ballot: Ballot) -> bool {
        let heard = self.peers.get(&who);
        heard.is_some_and(|h| (h.view, h.promised) == (view, ballot))
    }

    /// Something that is not a message of the agreement came from somebody who is known.
    pub(super) fn on_heard(&mut self, now: Duration, from: Incarnation) {
        if let Some(heard) = self.peers.get_mut(&from) {
            heard.at = now;
        }
    }

    /// Somebody who was not heard here yet was last heard then by another: its silence counts from there, but it has the suspicion time to be heard.
    pub(super) fn on_told(
        &mut self,
        now: Duration,
        who: Incarnation,
        at: Duration,
        exclude: Duration,
    ) {
        let earliest = (now + self.suspect).saturating_sub(exclude);
        let at = at.max(earliest);
        if let Some(heard) = self.peers.get_mut(&who) {
            heard.at = heard.at.min(at);
            heard.mutual_at = heard.mutual_at.min(at);
        }
    }

    /// A beat says whether its sender hears this member.
    pub(super) fn on_beat(&mut self, now: Duration, from: Incarnation, hears_me: bool) {
        if let Some(heard) = self.peers.get_mut(&from).filter(|_| hears_me) {
            heard.mutual_at = now;
        }
    }

    /// Members that were never heard have from now on to be heard; who is no member and was not heard for long is forgotten.
    pub(super) fn on_view(&mut self, now: Duration, view: &View) {
        let suspect = self.suspect;
        self.peers
            .retain(|who, heard| view.contains(*who) || now < heard.at + suspect * 10);
        for member in view.incarnations() {
            self.peers.entry(member).or_insert(Heard {
                at: now,
                mutual_at: now,
                decided: 0,
                view: 0,
                promised: Ballot::default(),
                answered_at: None,
            });
        }
    }

    /// When somebody was last heard.
    pub(super) fn heard_at(&self, who: Incarnation) -> Option<Duration> {
        self.peers.get(&who).map(|heard| heard.at)
    }

    /// When somebody was last heard and said that it hears this member.
    pub(super) fn mutual_at(&self, who: Incarnation) -> Option<Duration> {
        let heard = self.peers.get(&who)?;
        Some(heard.at.min(heard.mutual_at))
    }

    /// Whether somebody is not suspected.
    pub(super) fn hears(&self, now: Duration, who: Incarnation) -> bool {
        self.heard_within(now, who, self.suspect)
    }

    /// Whether somebody was heard within this time.
    pub(super) fn heard_within(&self, now: Duration, who: Incarnation, time: Duration) -> bool {
        self.heard_at(who).is_some_and(|at| now < at + time)
    }

    /// The view of the last message of somebody who is not suspected.
    pub(super) fn view_of(&self, now: Duration, who: Incarnation) -> Option<u32> {
        let heard = self.peers.get(&who)?;
        (now < heard.at + self.suspect).then_some(heard.view)
    }

    /// Whether somebody is heard and hears this member.
    pub(super) fn is_mutual(&self, now: Duration, who: Incarnation) -> bool {
        self.mutual_at(who)
            .is_some_and(|at| now < at + self.suspect)
    }

    /// How far somebody has decided, as far as it said.
    pub(super) fn decided(&self, who: Incarnation) -> u64 {
        self.peers.get(&who).map_or(0, |heard| heard.decided)
    }

    /// Whether somebody may be answered about its view: not before the last answer can have arrived.
    pub(super) fn may_answer(&mut self, now: Duration, who: Incarnation, every: Duration) -> bool {
        let Some(heard) = self.peers.get_mut(&who) else {
            return false;
        };
        let may = heard.answered_at.is_none_or(|at| now >= at + every);
        if may {
            heard.answered_at = Some(now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn who_is_heard_and_does_not_hear_back_is_not_mutual() {
        let mut detector = Detector::new(500 * MS);
        let (a, b) = (Incarnation(1), Incarnation(2));
        for at in [0, 300, 600, 900] {
            detector.on_packet(at * MS, a, 1, 0);
            detector.on_beat(at * MS, a, at < 300);
            detector.on_packet(at * MS, b, 1, 0);
            detector.on_beat(at * MS, b, true);
        }
        assert!(detector.hears(1300 * MS, a) && !detector.is_mutual(1300 * MS, a));
        assert!(detector.is_mutual(1300 * MS, b));
        assert!(!detector.hears(1400 * MS, a));
    }

    #[test]
    fn who_was_silent_before_this_member_came_has_the_suspicion_time_to_be_heard() {
        let mut detector = Detector::new(500 * MS);
        let (a, b) = (Incarnation(1), Incarnation(2));
        for who in [a, b] {
            detector.on_packet(9000 * MS, who, 1, 0);
        }
        detector.on_told(9000 * MS, a, 1000 * MS, 1200 * MS);
        detector.on_told(9000 * MS, b, 8900 * MS, 1200 * MS);
        assert_eq!(detector.mutual_at(a), Some(8300 * MS));
        assert_eq!(detector.mutual_at(b), Some(8900 * MS));
    }

    #[test]
    fn last_heard_times_survive_a_change_of_view() {
        let mut detector = Detector::new(500 * MS);
        let view = View::founding(super::super::view::Member {
            incarnation: Incarnation(1),
            slot: Default::default(),
        });
        detector.on_packet(Duration::ZERO, Incarnation(1), 1, 0);
        detector.on_view(499 * MS, &view);
        assert!(!detector.hears(500 * MS, Incarnation(1)));
    }
}
