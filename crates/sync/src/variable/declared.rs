//! What a program declares of a variable. This alone chooses how it travels.

use thiserror::Error;

use crate::id::Owner;

/// How new what is shown has to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub enum Freshness {
    /// As new as can be: sent with the next flush, shown as soon as it arrives.
    #[default]
    Fresh,
    /// An inexact variable is sent ten times a second at most; an exact one is shown once it is certain, that is, once all have the change.
    Settled,
}

/// Whether every change counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub enum Exactness {
    /// The newest value counts; values in between may be skipped.
    #[default]
    Inexact,
    /// Every change is made exactly once, and all see the same sequence of them.
    Exact,
}

/// Which changes are seen in the same order everywhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub enum UpdateOrder {
    /// Those of one variable or group; of several only those that one program makes, one after the other.
    #[default]
    Sequential,
    /// Those of all linearisable variables of the struct with the same owner; and they are shown once they are certain, so that nobody reads an older value after somebody
    /// has read a newer one, as long as the variable [is certain](crate::Variable::is_certain). For exact variables.
    Linearisable,
}

/// Who may change an exact variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub enum ChangedBy {
    /// Its owner.
    #[default]
    Owner,
    /// Every member of the room that does not only watch.
    All,
}

/// How a variable is to be kept the same. `#[derive(SharedFields)]` fills it in from what is written at the field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct Declared {
    /// How new it has to be.
    pub freshness: Freshness,
    /// Whether every change counts.
    pub exactness: Exactness,
    /// Which changes are seen in the same order.
    pub order: UpdateOrder,
    /// Who may change it.
    pub changed_by: ChangedBy,
    /// Variables with the same number here change together. The numbers mean nothing else.
    pub group: Option<usize>,
}

impl Declared {
    /// Whether it is shown once it is certain.
    pub(super) fn shows_certain(&self) -> bool {
        self.freshness == Freshness::Settled || self.order == UpdateOrder::Linearisable
    }

    /// What contradicts itself in it.
    pub(super) fn contradiction(&self) -> Option<DeclarationError> {
        let is_exact = self.exactness == Exactness::Exact;
        if is_exact {
            return None;
        }
        if self.order == UpdateOrder::Linearisable {
            return Some(DeclarationError::NeedsExact("linearisable"));
        }
        if self.changed_by == ChangedBy::All {
            return Some(DeclarationError::NeedsExact("changed by all"));
        }
        self.group
            .map(|_| DeclarationError::NeedsExact("part of a group"))
    }
}

/// Which variables share a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Together {
    Alone(usize),
    Group(usize),
    Linearisable(Owner),
}

impl Together {
    pub(super) fn of(declared: &Declared, owner: Owner, index: usize) -> Together {
        match (declared.order, declared.group) {
            (UpdateOrder::Linearisable, _) => Together::Linearisable(owner),
            (_, Some(group)) => Together::Group(group),
            _ => Together::Alone(index),
        }
    }
}

/// Why variables cannot be shared as they are declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DeclarationError {
    /// A `Synced` is fresh and inexact, whatever is written at it.
    #[error("a `Synced` is always fresh and inexact: make the field a `Variable<…>`")]
    NotAVariable,
    /// Only exact variables can be that.
    #[error("a variable that is {0} has to be exact: write `exact` too")]
    NeedsExact(&'static str),
    /// A group changes in one place, and is shown at once.
    #[error("variables that change together have one owner, and are declared alike")]
    NotAlike,
    /// So many groups are more than a struct may have.
    #[error("a struct has at most 256 groups of exact variables: group some of them")]
    TooMany,
}
