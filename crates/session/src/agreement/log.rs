//! The log: entries by index through all views, how far they are decided, and the snapshot that stands for what is no longer kept.

use std::collections::VecDeque;

use samestep_wire::Wire;

use super::requests::{Request, RequestTable};
use super::view::{Incarnation, NextView, View};

/// The most entries that are kept beside the snapshot, and that a message carries: a leader takes no request beyond that.
pub const MAX_ENTRIES: usize = 8192;

/// An entry of the log.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub enum Entry<C> {
    /// What a member asked for.
    Command {
        /// The request it answers.
        request: Request,
        /// What the application understands.
        command: C,
    },
    /// The last entry of a view.
    Next(NextView),
}

/// What the entries up to an index lead to, apart from the game.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub struct Point {
    /// The index of the last entry.
    #[wire(varint)]
    pub index: u64,
    /// The view in force after it.
    pub view: View,
    /// The last request of everyone.
    pub requests: RequestTable,
}

impl Point {
    fn apply<C>(&mut self, entry: &Entry<C>) {
        self.index += 1;
        match entry {
            Entry::Command { request, .. } => self.requests.on_decided(*request),
            Entry::Next(next) => {
                self.view = next.open(self.view.number, self.index);
                self.requests.on_view(&self.view);
            }
        }
    }
}

/// What stands for the entries up to an index.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub struct Snapshot {
    /// What they lead to.
    pub point: Point,
    /// The application's own state there.
    #[wire(max_len = 16_777_216)]
    pub state: Vec<u8>,
}

/// Where a suffix begins.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub enum Start {
    /// After an index that the receiver has decided.
    After(#[wire(varint)] u64),
    /// After a snapshot, because the sender keeps nothing older.
    Snapshot(Box<Snapshot>),
}

/// The end of a log.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct Suffix<C> {
    /// What the entries follow.
    pub start: Start,
    /// The entries.
    #[wire(max_len = 8192)]
    pub entries: Vec<Entry<C>>,
    /// How far the sender's log is decided.
    #[wire(varint)]
    pub decided: u64,
}

impl<C> Suffix<C> {
    /// The index before the first entry.
    pub fn start_index(&self) -> u64 {
        match &self.start {
            Start::After(index) => *index,
            Start::Snapshot(snapshot) => snapshot.point.index,
        }
    }

    /// The index of the last entry.
    pub fn length(&self) -> u64 {
        self.start_index() + self.entries.len() as u64
    }
}

/// A member's log.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Log<C> {
    snapshot: Snapshot,
    entries: VecDeque<Entry<C>>,
    decided: Point,
}

impl<C: Clone + PartialEq> Log<C> {
    /// The log of a program that was fed nothing yet.
    pub fn empty() -> Self {
        Self {
            snapshot: Snapshot::default(),
            entries: VecDeque::new(),
            decided: Point::default(),
        }
    }

    /// The log of a room's founder, which begins with its first view decided.
    pub fn founding(first: NextView) -> Self {
        let mut log = Self::empty();
        log.append(Entry::Next(first));
        log.decide_to(1);
        log
    }

    /// What the decided entries lead to.
    pub fn decided(&self) -> &Point {
        &self.decided
    }

    /// The snapshot that the kept entries follow.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The index of the last entry, decided or not.
    pub fn length(&self) -> u64 {
        self.snapshot.point.index + self.entries.len() as u64
    }

    /// The number of entries that are kept.
    pub fn kept(&self) -> usize {
        self.entries.len()
    }

    /// The entry at an index, if it is kept.
    pub fn entry(&self, index: u64) -> Option<&Entry<C>> {
        let at = index.checked_sub(self.snapshot.point.index + 1)?;
        self.entries.get(usize::try_from(at).ok()?)
    }

    /// Adds an entry.
    pub fn append(&mut self, entry: Entry<C>) {
        self.entries.push_back(entry);
    }

    /// Whether the log ends with the end of a view that is not decided: nothing follows it.
    pub fn is_closing(&self) -> bool {
        self.length() > self.decided.index && matches!(self.entries.back(), Some(Entry::Next(_)))
    }

    /// The entries after an index, or the snapshot and what follows if not all of them are kept.
    pub fn suffix_after(&self, index: u64) -> Suffix<C> {
        self.suffix(index, self.length())
    }

    /// The decided entries after an index.
    pub fn decided_after(&self, index: u64) -> Suffix<C> {
        self.suffix(index, self.decided.index)
    }

    fn suffix(&self, index: u64, end: u64) -> Suffix<C> {
        let base = self.snapshot.point.index;
        let (start, skip) = match index.checked_sub(base) {
            Some(skip) => (Start::After(index.min(end)), skip.min(end - base)),
            None => (Start::Snapshot(Box::new(self.snapshot.clone())), 0),
        };
        let (skip, end) = (skip as usize, (end - base) as usize);
        Suffix {
            start,
            entries: self.entries.range(skip..end).cloned().collect(),
            decided: self.decided.index,
        }
    }

    /// Whether a suffix joins what is decided here.
    pub fn joins(&self, suffix: &Suffix<C>) -> bool {
        matches!(suffix.start, Start::Snapshot(_)) || suffix.start_index() <= self.decided.index
    }

    /// Replaces everything that is not decided by a suffix that joins the log. Nothing is decided by this.
    pub fn adopt(&mut self, suffix: Suffix<C>) {
        let start = suffix.start_index();
        let decided = self.decided.index;
        match suffix.start {
            Start::Snapshot(snapshot) if start > decided => {
                self.decided = snapshot.point.clone();
                self.snapshot = *snapshot;
                self.entries = suffix.entries.into();
            }
            _ => {
                let keep = decided - self.snapshot.point.index;
                self.entries.truncate(keep as usize);
                let known = (decided - start) as usize;
                self.entries.extend(suffix.entries.into_iter().skip(known));
            }
        }
    }

    /// Adds entries that follow `after`, those that are missing here. Returns whether there was no gap.
    pub fn extend(&mut self, after: u64, entries: Vec<Entry<C>>) -> bool {
        let Some(known) = self.length().checked_sub(after) else {
            return false;
        };
        self.entries
            .extend(entries.into_iter().skip(known as usize));
        true
    }

    /// Decides the entries up to an index, as far as there are any. Returns whether that led into another view.
    pub fn decide_to(&mut self, index: u64) -> bool {
        let view = self.decided.view.number;
        while self.decided.index < index {
            let at = self.decided.index - self.snapshot.point.index;
            match self.entries.get(at as usize) {
                Some(entry) => self.decided.apply(entry),
                None => break,
            }
        }
        self.decided.view.number != view
    }

    /// The number of an incarnation's last request, undecided entries counted.
    pub fn last_request(&self, by: Incarnation) -> u32 {
        let decided = (self.decided.index - self.snapshot.point.index) as usize;
        let undecided = self.entries.range(decided..).rev();
        undecided
            .filter_map(|entry| match entry {
                Entry::Command { request, .. } if request.by == by => Some(request.n),
                _ => None,
            })
            .next()
            .unwrap_or_else(|| self.decided.requests.last(by))
    }

    /// Keeps the application's state in place of the entries up to a decided index.
    pub fn compact(&mut self, index: u64, state: Vec<u8>) {
        if index <= self.snapshot.point.index || index > self.decided.index {
            return;
        }
        while self.snapshot.point.index < index {
            if let Some(entry) = self.entries.pop_front() {
                self.snapshot.point.apply(&entry);
            }
        }
        self.snapshot.state = state;
    }

    /// Drops the end of a view that is not decided.
    pub fn reopen(&mut self) {
        if self.is_closing() {
            self.entries.pop_back();
        }
    }

    /// Drops what is not decided.
    pub fn forget_undecided(&mut self) {
        let keep = self.decided.index - self.snapshot.point.index;
        self.entries.truncate(keep as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::{Member, Slot};
    use super::*;

    fn next(members: &[u64]) -> NextView {
        let members = members.iter().map(|n| Member {
            incarnation: Incarnation(*n),
            slot: Slot(*n as u16),
        });
        NextView {
            members: members.collect(),
            tie_breaker: Incarnation(1),
            owner: Incarnation(1),
            cuts: Vec::new(),
        }
    }

    fn command(n: u32) -> Entry<char> {
        let request = Request {
            by: Incarnation(1),
            n,
        };
        Entry::Command {
            request,
            command: char::from(b'a' + n as u8),
        }
    }

    fn log(commands: u32) -> Log<char> {
        let mut log = Log::founding(next(&[1]));
        (1..=commands).for_each(|n| log.append(command(n)));
        log
    }

    #[test]
    fn a_suffix_replaces_what_is_undecided_and_nothing_else() {
        let mut ours = log(3);
        ours.decide_to(2);
        let mut theirs = log(1);
        theirs.append(command(9));
        let suffix = theirs.suffix_after(1);
        assert!(ours.joins(&suffix));
        ours.adopt(suffix);
        assert_eq!(ours.length(), 3);
        assert_eq!(ours.entry(2), Some(&command(1)));
        assert_eq!(ours.entry(3), Some(&command(9)));
    }

    #[test]
    fn a_gap_is_refused_and_an_overlap_is_not_taken_twice() {
        let mut log = log(2);
        assert!(!log.extend(4, vec![command(4)]));
        assert!(log.extend(2, vec![command(2), command(3)]));
        assert_eq!(log.length(), 4);
    }

    #[test]
    fn a_snapshot_stands_for_what_is_no_longer_kept() {
        let mut ours = log(3);
        ours.append(Entry::Next(next(&[1, 2])));
        ours.decide_to(5);
        ours.compact(5, vec![7]);
        assert_eq!(ours.kept(), 0);
        let suffix = ours.decided_after(0);
        let mut theirs = Log::empty();
        assert!(theirs.joins(&suffix));
        theirs.adopt(suffix);
        assert_eq!(theirs.decided(), ours.decided());
        assert_eq!(theirs.decided().view.number, 2);
        assert_eq!(theirs.decided().requests.last(Incarnation(1)), 3);
        assert_eq!(theirs.snapshot().state, [7]);
    }

    #[test]
    fn undecided_requests_count() {
        let mut log = log(2);
        assert_eq!(log.last_request(Incarnation(1)), 2);
        log.forget_undecided();
        assert_eq!(log.last_request(Incarnation(1)), 0);
        assert_eq!(log.last_request(Incarnation(2)), 0);
    }
}
