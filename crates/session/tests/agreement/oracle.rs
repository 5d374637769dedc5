//! What must hold over everything that any program ever decided or was shown, the dead ones included.

use std::collections::{BTreeMap, BTreeSet};

use samestep_session::agreement::{Cut, Entry, Incarnation, Item, Request, View};

use crate::fault::Fault;

/// The one log, as the programs revealed it.
pub struct Oracle {
    fault: Fault,
    entries: Vec<Entry<u32>>,
    /// A hash of the commands up to each index.
    chain: Vec<u64>,
    views: BTreeMap<u32, View>,
    requests: BTreeSet<Request>,
    commands: BTreeSet<u32>,
    /// Where each stream ended, and how far anybody delivered it.
    ends: BTreeMap<Incarnation, u64>,
    /// The first violation.
    pub violation: Option<String>,
}

/// Adds a command to the hash of those before it.
pub fn chain(hash: u64, command: u32) -> u64 {
    (hash ^ u64::from(command))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(23)
}

impl Oracle {
    pub fn new(fault: Fault) -> Self {
        Self {
            fault,
            entries: Vec::new(),
            chain: vec![0],
            views: BTreeMap::new(),
            requests: BTreeSet::new(),
            commands: BTreeSet::new(),
            ends: BTreeMap::new(),
            violation: None,
        }
    }

    pub fn violate(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    /// The last index that anybody decided.
    pub fn last(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The newest view that anybody entered.
    pub fn newest_view(&self) -> Option<&View> {
        self.views.values().next_back()
    }

    /// One value for each index; each request and each command once.
    pub fn on_decided(&mut self, who: Incarnation, index: u64, entry: &Entry<u32>) {
        let entry = self.fault.comparable(entry);
        if let Some(known) = self.entries.get(index as usize - 1) {
            if *known != entry {
                let text = format!("two values at {index}: {known:?}, and at {who} {entry:?}");
                self.violate(text);
            }
            return;
        }
        if index != self.last() + 1 {
            return self.violate(format!("{who} decided {index} after {}", self.last()));
        }
        let hash = self.chain[index as usize - 1];
        self.chain.push(match entry {
            Entry::Command { command, .. } => chain(hash, command),
            Entry::Next(_) => hash,
        });
        if let Entry::Command { request, command } = &entry
            && (!self.requests.insert(*request) || !self.commands.insert(*command))
        {
            self.violate(format!("{request:?} ({command}) was decided twice"));
        }
        self.entries.push(entry);
    }

    /// One view for each number.
    pub fn on_view(&mut self, who: Incarnation, view: &View) {
        let mut view = view.clone();
        if self.fault == Fault::OwnTieBreaker {
            view.tie_breaker = Incarnation::ANYONE;
        }
        if self.fault == Fault::SameLeaderOpens {
            view.owner = Incarnation::ANYONE;
        }
        let number = view.number;
        let members = &view.members;
        if members
            .windows(2)
            .any(|m| m[0].incarnation == m[1].incarnation)
        {
            self.violate(format!("a member counts twice in {view:?}"));
        }
        let known = self.views.entry(number).or_insert_with(|| view.clone());
        if *known != view {
            let text = format!("two views {number}: {known:?}, and at {who} {view:?}");
            self.violate(text);
        }
    }

    /// The game is shown every command, once and in order.
    pub fn on_shown(&mut self, who: Incarnation, after: u64, index: u64, hash: u64) {
        let between = after as usize..index.saturating_sub(1) as usize;
        let skipped = self.entries.get(between);
        let no_gap = skipped.is_some_and(|e| e.iter().all(|e| matches!(e, Entry::Next(_))));
        if index <= after || !no_gap || self.chain.get(index as usize) != Some(&hash) {
            self.violate(format!(
                "{who} was shown {index} after {after}, or another command"
            ));
        }
    }

    /// A snapshot is what the log leads to.
    pub fn on_restored(&mut self, who: Incarnation, index: u64, state: &[u8]) {
        let hash = self.chain.get(index as usize).map(|h| h.to_le_bytes());
        if hash.is_none_or(|hash| hash != state) {
            self.violate(format!("{who} restored another state at {index}"));
        }
    }

    /// A stream ends at the same item for everybody, nobody delivers more of it, and nobody lacks any of it.
    pub fn on_cut(&mut self, who: Incarnation, cut: &Cut, delivered: u64) {
        let end = *self.ends.entry(cut.owner).or_insert(cut.last);
        let missing = cut.last.saturating_sub(delivered);
        // Who has received nothing of a stream gets it with the game's state.
        let lacks = delivered > 0 && missing > cut.items.len() as u64;
        let numbers = (1..=cut.last).rev().zip(cut.items.iter().rev());
        let wrong = numbers.clone().any(|(n, item)| *item != item_of(n));
        if end != cut.last || delivered > cut.last || lacks || wrong {
            self.violate(format!(
                "the stream of {} ends at {end} or {}, {who} has {delivered}, {} items came",
                cut.owner,
                cut.last,
                cut.items.len()
            ));
        }
    }
}

/// The content of a stream's item.
pub fn item_of(number: u64) -> Item {
    Item(vec![number as u8])
}
