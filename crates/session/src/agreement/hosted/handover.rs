//! Handing the room over on purpose, and leaving it.

use core::time::Duration;

use super::{Hosted, HostedRole};
use crate::agreement::message::Body;
use crate::agreement::view::Incarnation;

/// Whether this program hands over or leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Leaving {
    #[default]
    No,
    /// The host wants this standby to succeed it; it leaves when that is done, or by then.
    HandsOver {
        to: Incarnation,
        leaves_by: Option<Duration>,
    },
    /// It said farewell, or was a guest that has none to say.
    Left,
}

impl<C: Clone + PartialEq> Hosted<C> {
    /// The host wants a standby to be the next host, or the one that holds most of the log. It goes on until that one is about to lead. Returns whom it is.
    pub fn hand_over(&mut self, now: Duration, to: Option<Incarnation>) -> Option<Incarnation> {
        let heard = |m: &Incarnation| self.detector.is_mutual(now, *m);
        let standbys = self.others().into_iter().filter(heard);
        let holds_most = standbys.max_by_key(|m| (Some(*m) == to, self.replica.matched(*m)));
        let to = holds_most.filter(|_| self.replica.leads())?;
        self.parting.stage = Leaving::HandsOver {
            to,
            leaves_by: None,
        };
        self.hand_on();
        self.settle(now);
        Some(to)
    }

    /// Leaves the room. A host hands over first, if it has a standby; then a farewell is repeated until [`is_gone`](Self::is_gone).
    pub fn leave(&mut self, now: Duration) {
        if self.has_left() {
            return;
        }
        match self.hand_over(now, None) {
            Some(to) => {
                let leaves_by = Some(now + self.config.timers.suspect);
                self.parting.stage = Leaving::HandsOver { to, leaves_by };
            }
            None => self.say_farewell(),
        }
        self.settle(now);
    }

    /// Whether everyone has this program's farewell: it can end.
    pub fn is_gone(&self) -> bool {
        let others = self.others();
        let member = self.view().contains(self.me());
        self.has_left() && (!member || others.iter().all(|m| self.parting.informed.contains(m)))
    }

    pub(super) fn has_left(&self) -> bool {
        self.parting.stage == Leaving::Left
    }

    /// Whether the host gives way to this standby.
    pub(super) fn hands_over_to(&self, who: Incarnation) -> bool {
        let named = matches!(self.parting.stage, Leaving::HandsOver { to, .. } if to == who);
        named && self.replica.leads()
    }

    /// Tells the standbys who succeeds this host.
    pub(super) fn hand_on(&mut self) {
        let Leaving::HandsOver { to, .. } = self.parting.stage else {
            return;
        };
        let ballot = self.replica.status().promised;
        for member in self
            .others()
            .into_iter()
            .filter(|_| self.replica.leads())
            .collect::<Vec<_>>()
        {
            self.send(member, Body::HandOver { ballot, to });
        }
    }

    /// A standby is told who succeeds the host: it may promise that one before its grant is over, and nobody else.
    pub(super) fn on_hand_over(&mut self, now: Duration, host: Incarnation, to: Incarnation) {
        if to != self.me() {
            self.grants.pass_on(host, to);
        } else if !self.replica.is_candidate() && !self.replica.leads() {
            self.succeeds = Some(host);
            self.stand(now);
        }
    }

    /// A host that hands over has done so when another hosts; one that leaves says farewell then, or when that takes too long.
    pub(super) fn leave_if_over(&mut self, now: Duration) {
        let Leaving::HandsOver { leaves_by, .. } = self.parting.stage else {
            return;
        };
        let other = self.host(now).is_some_and(|host| host != self.me());
        let handed = other && !self.replica.leads();
        match leaves_by {
            Some(by) if handed || now >= by => self.say_farewell(),
            None if handed => self.parting.stage = Leaving::No,
            _ => {}
        }
    }

    fn say_farewell(&mut self) {
        self.parting.stage = Leaving::Left;
        self.part();
    }

    /// Says farewell, again to those that have not answered.
    pub(super) fn part(&mut self) {
        let member = self.view().contains(self.me());
        if member && (!self.replica.has_left() || !self.is_gone()) {
            let detector = &self.detector;
            self.replica.leave(|m| detector.decided(m));
        }
        debug_assert_eq!(self.role(), HostedRole::Left);
    }
}
