//! Values that are shared as they are declared: the newest counts, or every change does.

mod declared;
mod group;
mod message;
mod modify;
mod sequence;
mod variables;

use core::fmt;
use core::ops::Deref;

use samestep_wire::{BitReader, BitWriter, DecodeError, EncodeError, Wire, encode_to_vec};

pub use declared::{ChangedBy, DeclarationError, Declared, Exactness, Freshness, UpdateOrder};
pub use message::Refusal;
pub use modify::{DoesNotFit, Modify, NoDelta};
pub use variables::{ChangeOutcome, MemberRole, Variables};

use crate::fields::{Access, Mark, SharedField, SharedFields};
use crate::id::Owner;
use crate::synced::{SetError, Synced};

/// A value that is the same for everyone, kept so as it is declared.
///
/// It reads like a `T`. What is written at the field says how it travels: how *fresh* it is, whether it is *exact*, and in which *order* changes are seen.
///
/// ```
/// use samestep_sync::{SharedFields, Variable};
///
/// #[derive(Default, SharedFields)]
/// struct Arena {
///     /// The newest value counts, as with `Synced`.
///     #[shared(owner = authority)]
///     radius: Variable<f32>,
///     /// Every change counts; whoever hits somebody makes one.
///     #[shared(owner = each_player, exact, changed_by = all)]
///     health: [Variable<i32>; 4],
///     #[shared(owner = authority)]
///     power_up: PowerUp,
/// }
///
/// /// These change together, or not at all.
/// #[derive(Default, SharedFields)]
/// #[shared(group)]
/// struct PowerUp {
///     #[shared(exact)]
///     is_there: Variable<bool>,
///     #[shared(exact)]
///     taken_by: Variable<Vec<u16>>,
/// }
/// # let mut arena = Arena::default();
/// # arena.health[0].modify(-10)?;
/// # Ok::<(), samestep_sync::SetError>(())
/// ```
///
/// Changes of an exact variable are requests: the owner (the host, if there is one) gives each its place in a sequence, all make them in this order, and the requester is told when the change is *certain*: everyone
/// in sync has it, so that it survives whoever leaves. Until a change has come to its place the value stays as it is, on the requester's screen too. What is set and modified before the next flush is one request
/// of each group. An outcome comes for each: made, refused, or unknown, if the program itself was out of the room for too long.
#[derive(Clone)]
pub struct Variable<T: Modify> {
    /// What is shown.
    shown: Synced<T>,
    /// The newest in the sequence, if it is not what is shown.
    newest: Option<T>,
    /// What a change leads to, while it is not known whether all of it fits.
    candidate: Option<T>,
    staged: Vec<Staged<T>>,
    /// An inexact value that waits for the next time it may be sent.
    is_late: bool,
    link: Link,
}

#[derive(Clone)]
enum Staged<T: Modify> {
    Set(T),
    Modify(T::Delta),
}

/// What a variable knows of the sequence it is part of.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    /// Its group.
    pub group: u16,
    /// The number of the next request.
    pub next: u64,
    /// How many changes may be made until the next flush.
    pub room: usize,
    /// Whether nothing newer is known.
    pub is_certain: bool,
}

/// The name of a change, for its outcome.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct ChangeId {
    /// The group of the variable, counted from 0.
    pub group: u16,
    /// The number of the request to this group; it counts from 1.
    pub number: u64,
}

/// The longest change of one variable in one call, in bytes.
const MAX_STEP: usize = message::MAX_CHANGE / 4;

/// Changes of one variable before the next flush.
const MAX_STAGED: usize = 64;

impl<T: Modify> Variable<T> {
    /// A variable of the authority: the host, or the leader of a mesh.
    pub fn new(value: T) -> Variable<T> {
        Variable::owned_by(Owner::Authority, value)
    }

    /// A variable with this owner. If the owner leaves, the room names an heir, which goes on from the newest value that anybody had.
    pub fn owned_by(owner: Owner, value: T) -> Variable<T> {
        Variable {
            shown: Synced::owned_by(owner, value),
            newest: None,
            candidate: None,
            staged: Vec::new(),
            is_late: false,
            link: Link {
                room: MAX_STAGED,
                ..Link::default()
            },
        }
    }

    /// Sets it for everyone. An inexact variable has the value at once, and there is nothing to wait for; of an exact one it is requested, and
    /// the outcome comes under this name.
    pub fn set(&mut self, value: T) -> Result<Option<ChangeId>, SetError> {
        if !self.is_exact() {
            return self.set_inexact(value).map(|()| None);
        }
        self.check()?;
        self.fits(&value)?;
        self.stage(Staged::Set(value)).map(Some)
    }

    /// Changes it by a delta for everyone: adds to a number, appends to a string or a list. The owner of an exact variable makes the change of the newest value, whatever this
    /// program knows of it.
    pub fn modify(&mut self, delta: T::Delta) -> Result<Option<ChangeId>, SetError> {
        if !self.is_exact() {
            let mut value = self.shown.value.clone();
            value.modify(&delta).map_err(|_| SetError::DoesNotFit)?;
            return self.set_inexact(value).map(|()| None);
        }
        self.check()?;
        self.fits(&delta)?;
        self.stage(Staged::Modify(delta)).map(Some)
    }

    fn set_inexact(&mut self, value: T) -> Result<(), SetError> {
        let is_set = core::mem::take(&mut self.shown.mark.set);
        self.shown.set(value)?;
        let bound = self.shown.mark.access != Access::Unbound;
        if bound && !is_set && self.shown.mark.declared.freshness == Freshness::Settled {
            self.is_late |= core::mem::take(&mut self.shown.mark.set);
        }
        self.shown.mark.set |= is_set;
        Ok(())
    }

    fn check(&self) -> Result<(), SetError> {
        let by_all = self.shown.mark.declared.changed_by == ChangedBy::All;
        if !by_all && !self.shown.is_mine() {
            return Err(SetError::NotYours(self.owner()));
        }
        match self.staged.len() < MAX_STAGED && self.link.room > 0 {
            true => Ok(()),
            false => Err(SetError::TooMany),
        }
    }

    fn fits(&self, part: &impl Wire) -> Result<(), SetError> {
        let bytes = encode_to_vec(part).map_err(SetError::Unsendable)?;
        match bytes.len() <= MAX_STEP {
            true => Ok(()),
            false => Err(SetError::DoesNotFit),
        }
    }

    fn stage(&mut self, change: Staged<T>) -> Result<ChangeId, SetError> {
        if self.shown.mark.access == Access::Unbound {
            // Before it is shared, it is what it is set to.
            match change {
                Staged::Set(value) => self.shown.value = value,
                Staged::Modify(delta) => {
                    let mut value = self.shown.value.clone();
                    value.modify(&delta).map_err(|_| SetError::DoesNotFit)?;
                    self.shown.value = value;
                }
            }
        } else {
            self.staged.push(change);
        }
        Ok(ChangeId {
            group: self.link.group,
            number: self.link.next,
        })
    }

    /// Whether every change of it counts.
    pub fn is_exact(&self) -> bool {
        self.shown.mark.declared.exactness == Exactness::Exact
    }

    /// How it is kept the same.
    pub fn declared(&self) -> Declared {
        self.shown.mark.declared
    }

    /// Whose it is.
    pub fn owner(&self) -> Owner {
        self.shown.owner()
    }

    /// Whether it is this program's own now.
    pub fn is_mine(&self) -> bool {
        self.shown.is_mine()
    }

    /// Whether all members are known to have the newest change that this program knows of. As long as a linearisable variable is certain, nobody has seen a newer value than this.
    pub fn is_certain(&self) -> bool {
        !self.is_exact() || self.link.is_certain
    }

    /// Whether it has been changed since the last call: an inexact one by another program, an exact one by anybody.
    pub fn take_changed(&mut self) -> bool {
        self.shown.take_changed()
    }

    fn latest(&self) -> &T {
        let newest = self.newest.as_ref().unwrap_or(&self.shown.value);
        self.candidate.as_ref().unwrap_or(newest)
    }

    fn show(&mut self, value: T) {
        self.shown.mark.changed |= !value.same(&self.shown.value);
        self.shown.value = value;
    }
}

impl<T: Modify> Deref for Variable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.shown
    }
}

impl<T: Modify + Default> Default for Variable<T> {
    fn default() -> Variable<T> {
        Variable::new(T::default())
    }
}

impl<T: Modify + fmt::Debug> fmt::Debug for Variable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown.fmt(f)
    }
}

impl<T: Modify + fmt::Display> fmt::Display for Variable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown.fmt(f)
    }
}

impl<T: Modify> SharedFields for Variable<T> {
    fn for_each(&mut self, visit: &mut dyn FnMut(&mut dyn SharedField)) {
        visit(self);
    }
}

impl<T: Modify> SharedField for Variable<T> {
    fn owner(&self) -> Owner {
        self.shown.owner()
    }

    fn set_owner(&mut self, owner: Owner) {
        self.shown.set_owner(owner);
    }

    fn mark(&mut self) -> &mut Mark {
        &mut self.shown.mark
    }

    fn encode(&self, w: &mut BitWriter<'_>) {
        self.shown.encode(w);
    }

    fn decode(&mut self, r: &mut BitReader<'_>, take: bool) -> Result<(), DecodeError> {
        self.shown.decode(r, take)
    }

    fn variable(&mut self) -> Option<&mut dyn VariableField> {
        Some(self)
    }
}

/// One variable, whatever its type.
#[doc(hidden)]
pub trait VariableField {
    fn link(&mut self) -> &mut Link;

    /// Sends what has waited.
    fn release(&mut self);

    /// How many changes have been made since the last flush.
    fn staged(&self) -> usize;

    /// Writes the changes made since the last flush, each with the number of the variable in its group.
    fn encode_staged(&mut self, index: u64, w: &mut BitWriter<'_>);

    /// Reads a change, and makes it of the candidate.
    fn try_change(&mut self, r: &mut BitReader<'_>) -> Result<(), Refusal>;

    /// Reads a value as candidate.
    fn try_load(&mut self, r: &mut BitReader<'_>) -> Result<(), DecodeError>;

    /// Makes the candidate the newest value, or forgets it.
    fn decide(&mut self, is_good: bool);

    /// The newest value in bytes, or the candidate.
    fn latest(&self) -> Result<Vec<u8>, EncodeError>;

    /// Shows the newest value.
    fn show_newest(&mut self);

    /// Shows a value that has been the newest.
    fn show_former(&mut self, r: &mut BitReader<'_>) -> Result<(), DecodeError>;
}

impl<T: Modify> VariableField for Variable<T> {
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    fn release(&mut self) {
        if core::mem::take(&mut self.is_late) && self.shown.mark.access == Access::Mine {
            self.shown.mark.set = true;
        }
    }

    fn staged(&self) -> usize {
        self.staged.len()
    }

    fn encode_staged(&mut self, index: u64, w: &mut BitWriter<'_>) {
        for change in self.staged.drain(..) {
            w.write_varint(index);
            match change {
                Staged::Set(value) => {
                    w.write_bool(false);
                    value.encode(w);
                }
                Staged::Modify(delta) => {
                    w.write_bool(true);
                    delta.encode(w);
                }
            }
        }
    }

    fn try_change(&mut self, r: &mut BitReader<'_>) -> Result<(), Refusal> {
        let is_delta = r.read_bool().map_err(|_| Refusal::NotUnderstood)?;
        let value = if is_delta {
            let delta = T::Delta::decode(r).map_err(|_| Refusal::NotUnderstood)?;
            let mut value = Variable::latest(self).clone();
            value.modify(&delta).map_err(|_| Refusal::DoesNotFit)?;
            value
        } else {
            T::decode(r).map_err(|_| Refusal::NotUnderstood)?
        };
        self.candidate = Some(value);
        Ok(())
    }

    fn try_load(&mut self, r: &mut BitReader<'_>) -> Result<(), DecodeError> {
        self.candidate = Some(T::decode(r)?);
        Ok(())
    }

    fn decide(&mut self, is_good: bool) {
        let candidate = self.candidate.take();
        if let Some(value) = candidate.filter(|_| is_good) {
            self.newest = Some(value);
        }
    }

    fn latest(&self) -> Result<Vec<u8>, EncodeError> {
        encode_to_vec(Variable::latest(self))
    }

    fn show_newest(&mut self) {
        if let Some(value) = self.newest.take() {
            self.show(value);
        }
    }

    fn show_former(&mut self, r: &mut BitReader<'_>) -> Result<(), DecodeError> {
        // The first time there may be none: what is shown is the newest.
        if self.newest.is_none() {
            self.newest = Some(self.shown.value.clone());
        }
        let value = T::decode(r)?;
        self.show(value);
        Ok(())
    }
}

#[cfg(test)]
mod explore;
#[cfg(test)]
mod vectors;
