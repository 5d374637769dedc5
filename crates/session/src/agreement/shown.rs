//! What the game of a hosted room is shown: the host's order at once, what became certain, and what is taken back.

use core::time::Duration;
use std::collections::VecDeque;

use super::log::{Entry, Log};
use super::requests::Request;
use super::view::{Incarnation, View};

/// How sure an entry is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grade {
    /// It is in the host's order, and may be taken back.
    Seen,
    /// A quorum of host and standbys holds it.
    Certain,
}

/// What happened in a hosted room, for the application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostedEvent<C> {
    /// The log begins with this state here: it stands for all entries up to the index, which are certain.
    Restored {
        /// The index.
        index: u64,
        /// What the application gave to [`Hosted::compact`](super::Hosted::compact), here or elsewhere.
        state: Vec<u8>,
    },
    /// A command, in the order of the log.
    Command {
        /// Its index in the log.
        index: u64,
        /// The request that it answers.
        request: Request,
        /// The command.
        command: C,
        /// How sure it is.
        grade: Grade,
    },
    /// What was seen up to this index is certain.
    Certain {
        /// The index.
        index: u64,
    },
    /// Commands that were seen are taken back: those after this index. What is in the log instead follows.
    Rewound {
        /// The last index that stands.
        index: u64,
        /// The requests among them that are no longer in the log. Requesters that live ask for theirs again.
        lost: Vec<Request>,
    },
    /// Another program hosts, or none that is heard.
    HostChanged {
        /// The host.
        host: Option<Incarnation>,
    },
    /// The host has other standbys: a certain entry of the log.
    ViewChanged {
        /// Host and standbys.
        view: View,
    },
    /// Too few members are heard, or by a guest no host: nothing is shown.
    Frozen,
    /// Enough members are heard again.
    Thawed,
    /// The room has been frozen for as long as this program waits. It may wait on, or go on alone: see [`Hosted::found_from`](super::Hosted::found_from).
    Stranded,
}

/// How far the game has been shown the log.
#[derive(Clone, Debug)]
pub(super) struct Shown<C> {
    /// The last entry that was shown.
    index: u64,
    /// The last entry that was told to be certain.
    certain: u64,
    /// What was shown beyond it.
    seen: VecDeque<Entry<C>>,
    view: View,
    view_due: bool,
    host: Option<Incarnation>,
    frozen_since: Option<Duration>,
    frozen_shown: bool,
    stranded: bool,
}

impl<C> Default for Shown<C> {
    fn default() -> Self {
        Self {
            index: 0,
            certain: 0,
            seen: VecDeque::new(),
            view: View::default(),
            view_due: false,
            host: None,
            frozen_since: None,
            frozen_shown: false,
            stranded: false,
        }
    }
}

impl<C: Clone + PartialEq> Shown<C> {
    /// The last entry that was told to be certain.
    pub(super) fn certain(&self) -> u64 {
        self.certain
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

    /// The next event. What is not decided is shown if `leased` says so: to everyone but a host without a lease.
    pub(super) fn poll(
        &mut self,
        now: Duration,
        wait: Option<Duration>,
        host: Option<Incarnation>,
        leased: bool,
        log: &Log<C>,
    ) -> Option<HostedEvent<C>> {
        if log.decided().index == 0 {
            return None;
        }
        let frozen = self.is_frozen();
        if self.frozen_shown != frozen {
            self.frozen_shown = frozen;
            return Some(match frozen {
                true => HostedEvent::Frozen,
                false => HostedEvent::Thawed,
            });
        }
        if self.host != host {
            self.host = host;
            return Some(HostedEvent::HostChanged { host });
        }
        if let Some(since) = self.frozen_since {
            let over = !self.stranded && wait.is_some_and(|wait| now >= since + wait);
            self.stranded |= over;
            return over.then_some(HostedEvent::Stranded);
        }
        self.poll_log(leased, log)
    }

    fn poll_log(&mut self, leased: bool, log: &Log<C>) -> Option<HostedEvent<C>> {
        if let Some(rewound) = self.rewind(log) {
            return Some(rewound);
        }
        let (snapshot, decided) = (log.snapshot(), log.decided().index);
        if snapshot.point.index > self.index {
            (self.index, self.certain) = (snapshot.point.index, snapshot.point.index);
            self.seen.clear();
            self.view_due = snapshot.point.view != self.view;
            return Some(HostedEvent::Restored {
                index: self.index,
                state: snapshot.state.clone(),
            });
        }
        if core::mem::take(&mut self.view_due) {
            self.view = snapshot.point.view.clone();
            let view = self.view.clone();
            return Some(HostedEvent::ViewChanged { view });
        }
        let index = self.index.min(decided);
        if self.certain < index {
            self.seen.drain(..(index - self.certain) as usize);
            self.certain = index;
            return Some(HostedEvent::Certain { index });
        }
        if self.index < decided {
            return self.show(log, Grade::Certain);
        }
        match leased {
            true => self.show(log, Grade::Seen),
            false => None,
        }
    }

    /// Takes back what was shown and is not in the log.
    fn rewind(&mut self, log: &Log<C>) -> Option<HostedEvent<C>> {
        // What a snapshot stands for is not known entry by entry: it is restored from the last certain one.
        let stands = |(index, entry): &(u64, &Entry<C>)| log.entry(*index) == Some(*entry);
        let shown = (self.certain + 1..).zip(&self.seen);
        let kept = shown.take_while(stands).count();
        if kept == self.seen.len() {
            return None;
        }
        let gone = self.seen.split_off(kept);
        self.index = self.certain + kept as u64;
        let lost = gone.iter().filter_map(|entry| match entry {
            Entry::Command { request, .. } if request.n > log.last_request(request.by) => {
                Some(*request)
            }
            _ => None,
        });
        Some(HostedEvent::Rewound {
            index: self.index,
            lost: lost.collect(),
        })
    }

    fn show(&mut self, log: &Log<C>, grade: Grade) -> Option<HostedEvent<C>> {
        let index = self.index + 1;
        let entry = log.entry(index)?;
        let event = match (entry, grade) {
            (Entry::Command { request, command }, _) => HostedEvent::Command {
                index,
                request: *request,
                command: command.clone(),
                grade,
            },
            (Entry::Next(next), Grade::Certain) => {
                self.view = next.open(self.view.number, index);
                let view = self.view.clone();
                HostedEvent::ViewChanged { view }
            }
            // Who the members are is shown when it is decided.
            (Entry::Next(_), Grade::Seen) => return None,
        };
        self.index = index;
        match grade {
            Grade::Seen => self.seen.push_back(entry.clone()),
            Grade::Certain => self.certain = index,
        }
        Some(event)
    }
}
