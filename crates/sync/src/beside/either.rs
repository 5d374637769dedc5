//! What a player does in one of two parts of a game.

use samestep_wire::{BitReader, BitWriter, DecodeError, LayoutHasher, Wire};

use crate::Input;

/// What a player does in a game of two parts, which are kept in step [side by side](crate::Beside).
///
/// Each part knows only what is done in it.
#[derive(Clone, PartialEq, Debug)]
pub enum Either<I, J> {
    /// In the first part.
    First(I),
    /// In the second.
    Second(J),
}

impl<I: Default, J> Default for Either<I, J> {
    fn default() -> Self {
        Self::First(I::default())
    }
}

// A whole byte says which it is, so that what follows it lies as if it were alone.
impl<I: Input, J: Input> Wire for Either<I, J> {
    fn encode(&self, w: &mut BitWriter<'_>) {
        match self {
            Self::First(input) => {
                w.write_u8(super::FIRST);
                input.encode(w);
            }
            Self::Second(input) => {
                w.write_u8(super::SECOND);
                input.encode(w);
            }
        }
    }

    fn decode(r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        match r.read_u8()? {
            super::FIRST => I::decode(r).map(Self::First),
            super::SECOND => J::decode(r).map(Self::Second),
            _ => Err(DecodeError::UnknownVariant),
        }
    }

    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::First(input), Self::First(other)) => input.same(other),
            (Self::Second(input), Self::Second(other)) => input.same(other),
            _ => false,
        }
    }

    fn min_bits() -> usize {
        8 + I::min_bits().min(J::min_bits())
    }

    fn layout(hasher: &mut LayoutHasher) {
        I::layout(hasher);
        J::layout(hasher);
    }
}

impl<I: Input, J: Input> Input for Either<I, J> {
    fn predict(&self) -> Self {
        match self {
            Self::First(input) => Self::First(input.predict()),
            Self::Second(input) => Self::Second(input.predict()),
        }
    }

    fn merge(&mut self, late: &Self) -> bool {
        match (self, late) {
            (Self::First(input), Self::First(late)) => input.merge(late),
            (Self::Second(input), Self::Second(late)) => input.merge(late),
            _ => false,
        }
    }
}
