//! What the game is shown of the log: everything decided, once and in order, and nothing while the room is frozen.

use core::time::Duration;

use super::flush::Flush;
use super::log::{Entry, Log};
use super::requests::Request;
use super::view::{Cut, Incarnation, View};

/// What happened, for the application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<C> {
    /// The log begins with this state here: it stands for all entries up to the index.
    Restored {
        /// The index.
        index: u64,
        /// What the application gave to [`Agreement::compact`](super::Agreement::compact), here or elsewhere.
        state: Vec<u8>,
    },
    /// A command is decided.
    Command {
        /// Its index in the log.
        index: u64,
        /// The request that it answers.
        request: Request,
        /// The command.
        command: C,
    },
    /// Another view is in force. If this program is not in it, it was excluded, and comes back as another incarnation.
    ViewChanged {
        /// The view.
        view: View,
        /// Where the streams of excluded members end. All other streams are released.
        cuts: Vec<Cut>,
    },
    /// Too few members are heard: nothing is decided and nothing is shown.
    Frozen,
    /// Enough members are heard again.
    Thawed,
    /// The room has been frozen for as long as this program waits. It may wait on, or go on alone: see
    /// [`Agreement::found_from`](super::Agreement::found_from).
    Stranded,
    /// The room that this learner asked is frozen, and has these members.
    RoomFrozen {
        /// The members.
        members: Vec<Incarnation>,
    },
    /// The leader asks to hold these streams back: answer with [`Agreement::answer_flush`](super::Agreement::answer_flush).
    Flush(Flush),
}

/// How far the game has been shown the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    index: u64,
    view: View,
    /// The snapshot was restored, and its view is not shown yet.
    view_due: bool,
    admitted: bool,
    excluded: bool,
    frozen_since: Option<Duration>,
    frozen_shown: bool,
    stranded: bool,
}

impl Delivery {
    /// A program that has been shown the log up to an index, and is shown what follows also while it is a learner.
    pub(super) fn begun(index: u64, view: View) -> Self {
        Self {
            index,
            view,
            admitted: true,
            ..Self::default()
        }
    }

    /// The view that was shown last.
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    pub(super) fn index(&self) -> u64 {
        self.index
    }

    pub(super) fn admit(&mut self) {
        self.admitted = true;
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.frozen_since.is_some()
    }

    pub(super) fn set_frozen(&mut self, now: Duration, frozen: bool) {
        match frozen {
            true => self.frozen_since = self.frozen_since.or(Some(now)),
            false => (self.frozen_since, self.stranded) = (None, false),
        }
    }

    /// The next event of the room or of the log.
    pub(super) fn poll<C: Clone + PartialEq>(
        &mut self,
        now: Duration,
        me: Incarnation,
        wait: Option<Duration>,
        log: &Log<C>,
    ) -> Option<Event<C>> {
        if !self.admitted || self.excluded {
            return None;
        }
        let frozen = self.is_frozen();
        if self.frozen_shown != frozen {
            self.frozen_shown = frozen;
            return Some(match frozen {
                true => Event::Frozen,
                false => Event::Thawed,
            });
        }
        if let Some(since) = self.frozen_since {
            let over = !self.stranded && wait.is_some_and(|wait| now >= since + wait);
            self.stranded |= over;
            return over.then_some(Event::Stranded);
        }
        self.poll_log(me, log)
    }

    fn poll_log<C: Clone + PartialEq>(
        &mut self,
        me: Incarnation,
        log: &Log<C>,
    ) -> Option<Event<C>> {
        let snapshot = log.snapshot();
        if snapshot.point.index > self.index {
            self.index = snapshot.point.index;
            // The same view again would release streams that are held back.
            self.view_due = snapshot.point.view != self.view;
            return Some(Event::Restored {
                index: self.index,
                state: snapshot.state.clone(),
            });
        }
        if core::mem::take(&mut self.view_due) {
            return Some(self.show_view(me, snapshot.point.view.clone(), Vec::new()));
        }
        if self.index >= log.decided().index {
            return None;
        }
        let entry = log.entry(self.index + 1)?;
        self.index += 1;
        Some(match entry {
            Entry::Command { request, command } => Event::Command {
                index: self.index,
                request: *request,
                command: command.clone(),
            },
            Entry::Next(next) => {
                let view = next.open(self.view.number, self.index);
                self.show_view(me, view, next.cuts.clone())
            }
        })
    }

    fn show_view<C>(&mut self, me: Incarnation, view: View, cuts: Vec<Cut>) -> Event<C> {
        self.excluded = self.view.contains(me) && !view.contains(me);
        self.view = view.clone();
        Event::ViewChanged { view, cuts }
    }
}
