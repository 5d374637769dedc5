//! Structs as lists of shared fields.

use samestep_wire::{BitReader, BitWriter, DecodeError};

use crate::id::{Owner, PeerId};
use crate::synced::Synced;
use crate::variable::{Declared, VariableField};
use samestep_wire::Wire;

/// Something that consists of shared fields: a [`Synced`], an array, or a struct that derives it.
///
/// The fields, their types and their order must be the same in all programs: they are told apart by counting.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not shared",
    label = "neither `Synced<…>` nor a struct of such fields",
    note = "wrap it in `Synced<…>`, or leave it out with `#[shared(skip)]`"
)]
pub trait SharedFields {
    /// Visits every field, always in the same order.
    fn for_each(&mut self, visit: &mut dyn FnMut(&mut dyn SharedField));

    /// Gives fields the owners that the struct declares. The replicator calls it once.
    fn declare_owners(&mut self) {}
}

impl<T: Wire> SharedFields for Synced<T> {
    fn for_each(&mut self, visit: &mut dyn FnMut(&mut dyn SharedField)) {
        visit(self);
    }
}

impl<P: SharedFields, const N: usize> SharedFields for [P; N] {
    fn for_each(&mut self, visit: &mut dyn FnMut(&mut dyn SharedField)) {
        for part in self {
            part.for_each(visit);
        }
    }

    fn declare_owners(&mut self) {
        for part in self {
            part.declare_owners();
        }
    }
}

/// One shared field, whatever its type. [`Synced`] implements it; a program has no use for it.
pub trait SharedField {
    /// Who may change it.
    fn owner(&self) -> Owner;

    /// Names another owner. All programs must name the same.
    fn set_owner(&mut self, owner: Owner);

    /// Says how it is to be kept the same. Only a [`Variable`](crate::Variable) can be declared otherwise than fresh and inexact.
    fn declare(&mut self, how: &dyn Fn(&mut Declared)) {
        how(&mut self.mark().declared);
    }

    #[doc(hidden)]
    fn mark(&mut self) -> &mut Mark;

    #[doc(hidden)]
    fn encode(&self, w: &mut BitWriter<'_>);

    /// Reads a value and takes it, or only reads past it.
    #[doc(hidden)]
    fn decode(&mut self, r: &mut BitReader<'_>, take: bool) -> Result<(), DecodeError>;

    /// What makes it a variable with a declaration of its own.
    #[doc(hidden)]
    fn variable(&mut self) -> Option<&mut dyn VariableField> {
        None
    }
}

/// The age of a value: the later one wins.
///
/// Within a term a field has one owner, which counts. The next owner stamps its values with a later term, so that no earlier
/// value can win over them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct Stamp {
    /// The term: it rises whenever owners change.
    pub term: u64,
    /// How often the value was set in this term.
    pub count: u64,
}

impl Stamp {
    pub(crate) fn next(self, term: u64) -> Stamp {
        if term > self.term {
            return Stamp { term, count: 1 };
        }
        Stamp {
            term: self.term,
            count: self.count.saturating_add(1),
        }
    }

    /// A hosted room whose host was lost may go on without the newest terms of that host. What was set in them counts as the latest of the terms
    /// before, in the same order: 15 bits of the count are for the terms, 48 for the counts in them.
    pub(crate) fn before(self, term: u64) -> Stamp {
        let Some(beyond) = self.term.checked_sub(term) else {
            return self;
        };
        Stamp {
            term: term.saturating_sub(1),
            count: 1 << 63 | beyond.min(0x7fff) << 48 | self.count.min((1 << 48) - 1),
        }
    }
}

/// The bookkeeping of a field.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Mark {
    pub stamp: Stamp,
    pub access: Access,
    /// Set here and not yet stamped.
    pub set: bool,
    /// To be sent again under a new stamp, because this program is the new owner.
    pub claim: bool,
    /// The others are still asked for the former owner's newest value: no claim is sent before they have replied.
    pub collect: bool,
    /// Stamped and not sent to the others yet: the peer it came from, which is not sent it back.
    pub untold: Option<PeerId>,
    /// Changed by another program since the last call of `take_changed`.
    pub changed: bool,
    /// How it is kept the same.
    pub declared: Declared,
}

/// Whether the program may set a field.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Access {
    /// Not in a room yet: every program sets initial values.
    #[default]
    Unbound,
    Mine,
    Others,
}
