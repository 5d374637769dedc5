//! A value with one owner that everyone sees.

use core::fmt;
use core::ops::Deref;

use samestep_wire::{BitReader, BitWriter, DecodeError, EncodeError, Wire, encode_to_vec};
use thiserror::Error;

use crate::fields::{Access, Mark, SharedField};
use crate::id::Owner;

/// A value that one program sets and all see.
///
/// It reads like a `T`. Only its owner may [`set`](Synced::set) it; the other programs receive the newest value. Values in
/// between may be skipped: use a message for values that must all arrive.
///
/// ```
/// use samestep_sync::{Owner, Synced};
///
/// let mut score = Synced::new(0);
/// score.update(|points| *points += 10)?;
/// assert_eq!(*score, 10);
/// assert_eq!(score.owner(), Owner::Authority);
/// # Ok::<(), samestep_sync::SetError>(())
/// ```
///
/// Before it is shared, any program may set it. When it becomes shared, the owner's value replaces the others.
#[derive(Clone)]
pub struct Synced<T> {
    pub(crate) value: T,
    owner: Owner,
    pub(crate) mark: Mark,
}

impl<T: Wire> Synced<T> {
    /// A value that the authority sets: the host, or the leader of a mesh.
    pub fn new(value: T) -> Synced<T> {
        Synced::owned_by(Owner::Authority, value)
    }

    /// A value with this owner. If the owner leaves, the room names an heir, which goes on from the newest value that anybody had.
    pub fn owned_by(owner: Owner, value: T) -> Synced<T> {
        Synced {
            value,
            owner,
            mark: Mark::default(),
        }
    }

    /// Sets it for everyone.
    pub fn set(&mut self, value: T) -> Result<(), SetError> {
        if !self.is_mine() {
            return Err(SetError::NotYours(self.owner));
        }
        // While the room may know another value, setting the same value as here is a change too.
        let is_certain = self.mark.access == Access::Mine && !self.mark.claim;
        if !is_certain || !value.same(&self.value) {
            encode_to_vec(&value).map_err(SetError::Unsendable)?;
            self.mark.set = true;
        }
        self.value = value;
        Ok(())
    }

    /// Changes it for everyone.
    pub fn update(&mut self, change: impl FnOnce(&mut T)) -> Result<(), SetError> {
        if !self.is_mine() {
            return Err(SetError::NotYours(self.owner));
        }
        let mut value = self.value.clone();
        change(&mut value);
        self.set(value)
    }

    /// Who may set it.
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Whether this program may set it now.
    pub fn is_mine(&self) -> bool {
        self.mark.access != Access::Others
    }

    /// Whether another program has set it since the last call.
    pub fn take_changed(&mut self) -> bool {
        core::mem::take(&mut self.mark.changed)
    }
}

impl<T> Deref for Synced<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Wire + Default> Default for Synced<T> {
    fn default() -> Synced<T> {
        Synced::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Synced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: fmt::Display> fmt::Display for Synced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: Wire> SharedField for Synced<T> {
    fn owner(&self) -> Owner {
        self.owner
    }

    fn set_owner(&mut self, owner: Owner) {
        self.owner = owner;
    }

    fn mark(&mut self) -> &mut Mark {
        &mut self.mark
    }

    fn encode(&self, w: &mut BitWriter<'_>) {
        self.value.encode(w);
    }

    fn decode(&mut self, r: &mut BitReader<'_>, take: bool) -> Result<(), DecodeError> {
        let value = T::decode(r)?;
        if take {
            self.mark.changed |= !value.same(&self.value);
            self.value = value;
        }
        Ok(())
    }
}

/// Why a value could not be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SetError {
    /// It belongs to somebody else.
    #[error("this value belongs to {0}: send the owner a message and let it set the value")]
    NotYours(Owner),
    /// The value breaks the limits of its type, so that it cannot be sent.
    #[error("this value cannot be sent: {0}")]
    Unsendable(EncodeError),
    /// The change leads to no value of its type.
    #[error("the changed value would not fit into its type: make a smaller change")]
    DoesNotFit,
    /// An exact variable takes so many changes only.
    #[error("too many changes wait for their place: make more when outcomes of these have come")]
    TooMany,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::PlayerId;

    #[test]
    fn setting_what_is_there_already_is_not_a_change() {
        let mut value = Synced::new(3u8);
        value.mark.access = Access::Mine;
        value.set(3).unwrap();
        assert!(!value.mark.set);
        value.update(|v| *v += 1).unwrap();
        assert!(value.mark.set);
        assert_eq!(*value, 4);
    }

    #[test]
    fn only_the_owner_sets() {
        let mut value = Synced::owned_by(Owner::Player(PlayerId(2)), String::from("x"));
        value.mark.access = Access::Others;
        let error = value.set("y".into()).unwrap_err();
        assert!(error.to_string().contains("player 2"), "{error}");
        assert!(value.update(|v| v.clear()).is_err());
        assert_eq!(*value, "x");
    }

    #[test]
    fn a_value_that_cannot_be_sent_is_not_set() {
        #[derive(Clone, Debug, PartialEq, Wire)]
        struct Percent(#[wire(range = 0..=100)] u8);

        let mut value = Synced::new(Percent(1));
        let error = value.set(Percent(101)).unwrap_err();
        assert_eq!(error, SetError::Unsendable(EncodeError::OutOfRange));
        assert_eq!(*value, Percent(1));
    }
}
