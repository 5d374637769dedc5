//! Changes relative to what is there.

use samestep_wire::{BitReader, BitWriter, DecodeError, Wire};

use crate::id::{PeerId, PlayerId};

/// A value that an owner can change by a *delta*, on behalf of a member that does not know the newest value.
///
/// Numbers are added to, strings and lists appended to. Implement it for types of your own; whose type has no
/// deltas takes [`NoDelta`]:
///
/// ```
/// use samestep_sync::{DoesNotFit, Modify, NoDelta, Wire};
///
/// #[derive(Clone, Wire)]
/// struct Effect {
///     speed: f32,
/// }
///
/// impl Modify for Effect {
///     type Delta = NoDelta;
///
///     fn modify(&mut self, delta: &NoDelta) -> Result<(), DoesNotFit> {
///         match *delta {}
///     }
/// }
/// ```
///
/// Every member makes the change on its own: it must lead to the same value everywhere.
pub trait Modify: Wire {
    /// What is changed.
    type Delta: Wire;

    /// Makes the change. What is left after an error does not matter.
    fn modify(&mut self, delta: &Self::Delta) -> Result<(), DoesNotFit>;
}

/// A change does not lead to a value of the type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the changed value would not fit into its type")]
pub struct DoesNotFit;

/// The delta of a type that has none: it is only set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoDelta {}

impl Wire for NoDelta {
    fn encode(&self, _: &mut BitWriter<'_>) {
        match *self {}
    }

    fn decode(_: &mut BitReader<'_>) -> Result<NoDelta, DecodeError> {
        Err(DecodeError::OutOfRange)
    }

    fn same(&self, _: &NoDelta) -> bool {
        match *self {}
    }
}

macro_rules! integers {
    ($($int:ty),*) => {$(
        impl Modify for $int {
            type Delta = i64;

            fn modify(&mut self, delta: &i64) -> Result<(), DoesNotFit> {
                let sum = i128::from(*self) + i128::from(*delta);
                *self = sum.try_into().map_err(|_| DoesNotFit)?;
                Ok(())
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! floats {
    ($($float:ty),*) => {$(
        impl Modify for $float {
            type Delta = $float;

            fn modify(&mut self, delta: &$float) -> Result<(), DoesNotFit> {
                *self += *delta;
                match self.is_finite() {
                    true => Ok(()),
                    false => Err(DoesNotFit),
                }
            }
        }
    )*};
}

floats!(f32, f64);

impl Modify for String {
    type Delta = String;

    fn modify(&mut self, delta: &String) -> Result<(), DoesNotFit> {
        self.push_str(delta);
        Ok(())
    }
}

impl<T: Wire> Modify for Vec<T> {
    type Delta = Vec<T>;

    fn modify(&mut self, delta: &Vec<T>) -> Result<(), DoesNotFit> {
        self.extend(delta.iter().cloned());
        Ok(())
    }
}

macro_rules! only_set {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => {$(
        impl<$($generics)*> Modify for $type {
            type Delta = NoDelta;

            fn modify(&mut self, delta: &NoDelta) -> Result<(), DoesNotFit> {
                match *delta {}
            }
        }
    )*};
}

only_set![
    [] bool,
    [] char,
    [] PeerId,
    [] PlayerId,
    [T: Wire] Option<T>,
    [A: Wire, B: Wire] (A, B),
    [A: Wire, B: Wire, C: Wire] (A, B, C),
];
