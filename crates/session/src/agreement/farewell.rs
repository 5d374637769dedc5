//! Farewells: the last promises of members that left.

use std::collections::BTreeMap;

use super::ballot::Ballot;
use super::log::{Log, Suffix};
use super::view::{Incarnation, View};

/// The last promise of a member of the present view: it has promised and accepted this much, and never votes again.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Farewell<C> {
    /// The ballot it promised.
    pub promised: Ballot,
    /// The ballot its log follows.
    pub accepted: Ballot,
    /// Its last index.
    pub length: u64,
    /// Its log, from something that is decided here; `None` if it never voted in the view.
    pub suffix: Option<Suffix<C>>,
}

/// The farewells of members of the present view. Each of them can be used here: its log joins what is decided.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Farewells<C>(BTreeMap<Incarnation, Farewell<C>>);

impl<C> Default for Farewells<C> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<C: Clone + PartialEq> Farewells<C> {
    /// Keeps a farewell, unless its log does not join this one: then it does not count.
    pub(super) fn keep(
        &mut self,
        log: &Log<C>,
        from: Incarnation,
        promised: Ballot,
        accepted: Ballot,
        suffix: Suffix<C>,
    ) -> bool {
        if !log.joins(&suffix) {
            return false;
        }
        let farewell = Farewell {
            promised,
            accepted,
            length: suffix.length(),
            suffix: Some(suffix),
        };
        self.0.insert(from, farewell);
        true
    }

    /// Keeps the farewell of a member that left in an earlier view: it never votes in this one.
    pub(super) fn keep_earlier(&mut self, view: &View, from: Incarnation) {
        let first = Ballot::first(view);
        self.0.entry(from).or_insert(Farewell {
            promised: first,
            accepted: first,
            length: view.first_index,
            suffix: None,
        });
    }

    /// Follows the log into another view, in which none of these members ever votes.
    pub(super) fn enter(&mut self, view: &View) {
        let left = core::mem::take(&mut self.0);
        for from in left.into_keys().filter(|from| view.contains(*from)) {
            self.keep_earlier(view, from);
        }
    }

    /// Whether a member has left.
    pub fn contains(&self, member: Incarnation) -> bool {
        self.0.contains_key(&member)
    }

    /// Whether a member has left and promised no higher ballot than this.
    pub fn allows(&self, member: Incarnation, ballot: Ballot) -> bool {
        self.0.get(&member).is_some_and(|f| f.promised <= ballot)
    }

    /// The highest ballot that any of them promised.
    pub fn highest(&self) -> Option<Ballot> {
        self.0.values().map(|f| f.promised).max()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Incarnation, &Farewell<C>)> {
        self.0.iter().map(|(from, farewell)| (*from, farewell))
    }
}
