use alloc::vec::Vec;

use crate::{BitReader, BitWriter, DecodeError, LayoutHasher};

/// A value with an encoding of its own, whole or relative to a baseline that both sides hold.
///
/// Derive it with `#[derive(Wire)]`. By hand, [`encode`](Self::encode), [`decode`](Self::decode) and [`same`](Self::same)
/// are enough; then a changed value is sent whole.
pub trait Wire: Clone {
    /// Writes the whole value. What cannot be encoded makes the writer [fail](BitWriter::fail).
    fn encode(&self, w: &mut BitWriter<'_>);

    /// Reads what [`encode`](Self::encode) wrote, or refuses it.
    fn decode(r: &mut BitReader<'_>) -> Result<Self, DecodeError>;

    /// Whether both values have the same encoding. Quantised floats on the same step do, even if they differ.
    fn same(&self, other: &Self) -> bool;

    /// Writes what differs from `baseline`. The reader must hold a baseline that is [the same](Self::same).
    fn encode_delta(&self, baseline: &Self, w: &mut BitWriter<'_>) {
        let changed = !self.same(baseline);
        w.write_bool(changed);
        if changed {
            self.encode(w);
        }
    }

    /// Reads what [`encode_delta`](Self::encode_delta) wrote.
    fn decode_delta(baseline: &Self, r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        match r.read_bool()? {
            true => Self::decode(r),
            false => Ok(baseline.clone()),
        }
    }

    /// A lower bound of the bits any value takes. Claimed list lengths are checked against it before anything is allocated.
    fn min_bits() -> usize {
        0
    }

    /// Describes the encoding, so that programs with different types notice. By default all that is known of it is
    /// [`min_bits`](Self::min_bits).
    fn layout(hasher: &mut LayoutHasher) {
        hasher.number(Self::min_bits() as u64);
    }

    /// Writes all of `values`, without their number.
    #[doc(hidden)]
    fn encode_all(values: &[Self], w: &mut BitWriter<'_>) {
        for value in values {
            value.encode(w);
        }
    }

    /// Appends `count` values to `into`, whose capacity is already what the input justifies.
    #[doc(hidden)]
    fn decode_all(
        into: &mut Vec<Self>,
        count: usize,
        r: &mut BitReader<'_>,
    ) -> Result<(), DecodeError> {
        for _ in 0..count {
            into.push(Self::decode(r)?);
        }
        Ok(())
    }
}

/// A way to encode a `T` that its type alone does not tell: what the attributes of a field become.
///
/// [`Range`](crate::Range), [`Quantised`](crate::Quantised), [`Varint`](crate::Varint) and [`MaxLen`](crate::MaxLen) reach through
/// `Option`, `Box` and arrays, the first three also through `Vec`, to the values they are for.
#[diagnostic::on_unimplemented(
    message = "this `wire` attribute does not apply to `{T}`",
    label = "`{Self}` cannot encode this",
    note = "`range` is for integers, `range` with `precision` for floats, `varint` for integers, `max_len` for `String` and `Vec`; all of them also inside `Option`, `Box` and arrays"
)]
pub trait Codec<T> {
    /// As [`Wire::encode`].
    fn encode(&self, value: &T, w: &mut BitWriter<'_>);

    /// As [`Wire::decode`].
    fn decode(&self, r: &mut BitReader<'_>) -> Result<T, DecodeError>;

    /// As [`Wire::same`].
    fn same(&self, value: &T, other: &T) -> bool;

    /// As [`Wire::encode_delta`].
    fn encode_delta(&self, value: &T, baseline: &T, w: &mut BitWriter<'_>);

    /// As [`Wire::decode_delta`].
    fn decode_delta(&self, baseline: &T, r: &mut BitReader<'_>) -> Result<T, DecodeError>;

    /// As [`Wire::min_bits`].
    fn min_bits(&self) -> usize;

    /// As [`Wire::layout`].
    fn layout(&self, hasher: &mut LayoutHasher) {
        hasher.number(self.min_bits() as u64);
    }

    /// Writes all of `values`, without their number.
    #[doc(hidden)]
    fn encode_all(&self, values: &[T], w: &mut BitWriter<'_>) {
        for value in values {
            self.encode(value, w);
        }
    }

    /// Appends `count` values to `into`, whose capacity is already what the input justifies.
    #[doc(hidden)]
    fn decode_all(
        &self,
        into: &mut Vec<T>,
        count: usize,
        r: &mut BitReader<'_>,
    ) -> Result<(), DecodeError> {
        for _ in 0..count {
            into.push(self.decode(r)?);
        }
        Ok(())
    }
}

/// The encoding that the type itself has; what a field without attributes uses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl<T: Wire> Codec<T> for Plain {
    #[inline]
    fn encode(&self, value: &T, w: &mut BitWriter<'_>) {
        value.encode(w);
    }

    #[inline]
    fn decode(&self, r: &mut BitReader<'_>) -> Result<T, DecodeError> {
        T::decode(r)
    }

    #[inline]
    fn same(&self, value: &T, other: &T) -> bool {
        value.same(other)
    }

    #[inline]
    fn encode_delta(&self, value: &T, baseline: &T, w: &mut BitWriter<'_>) {
        value.encode_delta(baseline, w);
    }

    #[inline]
    fn decode_delta(&self, baseline: &T, r: &mut BitReader<'_>) -> Result<T, DecodeError> {
        T::decode_delta(baseline, r)
    }

    #[inline]
    fn min_bits(&self) -> usize {
        T::min_bits()
    }

    fn layout(&self, hasher: &mut LayoutHasher) {
        T::layout(hasher);
    }

    #[inline]
    fn encode_all(&self, values: &[T], w: &mut BitWriter<'_>) {
        T::encode_all(values, w);
    }

    #[inline]
    fn decode_all(
        &self,
        into: &mut Vec<T>,
        count: usize,
        r: &mut BitReader<'_>,
    ) -> Result<(), DecodeError> {
        T::decode_all(into, count, r)
    }
}

/// Implements [`Wire`] for a type by a [`Codec`].
macro_rules! wire_by_codec {
    ([$($generics:tt)*] $type:ty, $codec:expr) => {
        impl<$($generics)*> $crate::Wire for $type {
            #[inline]
            fn encode(&self, w: &mut $crate::BitWriter<'_>) {
                $crate::Codec::<$type>::encode(&$codec, self, w);
            }

            #[inline]
            fn decode(r: &mut $crate::BitReader<'_>) -> Result<Self, $crate::DecodeError> {
                $crate::Codec::<$type>::decode(&$codec, r)
            }

            #[inline]
            fn same(&self, other: &Self) -> bool {
                $crate::Codec::<$type>::same(&$codec, self, other)
            }

            #[inline]
            fn encode_delta(&self, baseline: &Self, w: &mut $crate::BitWriter<'_>) {
                $crate::Codec::<$type>::encode_delta(&$codec, self, baseline, w);
            }

            #[inline]
            fn decode_delta(
                baseline: &Self,
                r: &mut $crate::BitReader<'_>,
            ) -> Result<Self, $crate::DecodeError> {
                $crate::Codec::<$type>::decode_delta(&$codec, baseline, r)
            }

            #[inline]
            fn min_bits() -> usize {
                $crate::Codec::<$type>::min_bits(&$codec)
            }

            fn layout(hasher: &mut $crate::LayoutHasher) {
                $crate::Codec::<$type>::layout(&$codec, hasher);
            }
        }
    };
}
pub(crate) use wire_by_codec;
