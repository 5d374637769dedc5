use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::codec::wire_by_codec;
use crate::{
    BitReader, BitWriter, Codec, DEFAULT_MAX_LEN, DecodeError, LayoutHasher, MaxLen, Plain,
    Quantised, Range, Varint, Wire,
};

/// Encodes what contains values of a codec: options, arrays, boxes.
struct Inside<'a, C>(&'a C);

/// One bit for presence, then the value if there is one.
impl<T: Clone, C: Codec<T>> Codec<Option<T>> for Inside<'_, C> {
    #[inline]
    fn encode(&self, value: &Option<T>, w: &mut BitWriter<'_>) {
        w.write_bool(value.is_some());
        if let Some(value) = value {
            self.0.encode(value, w);
        }
    }

    #[inline]
    fn decode(&self, r: &mut BitReader<'_>) -> Result<Option<T>, DecodeError> {
        match r.read_bool()? {
            true => Ok(Some(self.0.decode(r)?)),
            false => Ok(None),
        }
    }

    #[inline]
    fn same(&self, value: &Option<T>, other: &Option<T>) -> bool {
        match (value, other) {
            (Some(value), Some(other)) => self.0.same(value, other),
            (value, other) => value.is_none() == other.is_none(),
        }
    }

    fn encode_delta(&self, value: &Option<T>, baseline: &Option<T>, w: &mut BitWriter<'_>) {
        let changed = !self.same(value, baseline);
        w.write_bool(changed);
        if !changed {
            return;
        }
        // A change from `None` can only be to `Some`.
        match (baseline, value) {
            (None, None) => {}
            (None, Some(value)) => self.0.encode(value, w),
            (Some(_), None) => w.write_bool(false),
            (Some(baseline), Some(value)) => {
                w.write_bool(true);
                self.0.encode_delta(value, baseline, w);
            }
        }
    }

    fn decode_delta(
        &self,
        baseline: &Option<T>,
        r: &mut BitReader<'_>,
    ) -> Result<Option<T>, DecodeError> {
        if !r.read_bool()? {
            return Ok(baseline.clone());
        }
        match baseline {
            None => Ok(Some(self.0.decode(r)?)),
            Some(baseline) => match r.read_bool()? {
                true => Ok(Some(self.0.decode_delta(baseline, r)?)),
                false => Ok(None),
            },
        }
    }

    #[inline]
    fn min_bits(&self) -> usize {
        1
    }

    fn layout(&self, hasher: &mut LayoutHasher) {
        hasher.name("option");
        self.0.layout(hasher);
    }
}

/// The elements in order; their number is known.
impl<T: Clone, C: Codec<T>, const N: usize> Codec<[T; N]> for Inside<'_, C> {
    #[inline]
    fn encode(&self, value: &[T; N], w: &mut BitWriter<'_>) {
        self.0.encode_all(value, w);
    }

    #[inline]
    fn decode(&self, r: &mut BitReader<'_>) -> Result<[T; N], DecodeError> {
        try_array(|_| self.0.decode(r))
    }

    #[inline]
    fn same(&self, value: &[T; N], other: &[T; N]) -> bool {
        value.iter().zip(other).all(|(a, b)| self.0.same(a, b))
    }

    fn encode_delta(&self, value: &[T; N], baseline: &[T; N], w: &mut BitWriter<'_>) {
        if N > 1 {
            let changed = !self.same(value, baseline);
            w.write_bool(changed);
            if !changed {
                return;
            }
        }
        for (value, baseline) in value.iter().zip(baseline) {
            self.0.encode_delta(value, baseline, w);
        }
    }

    fn decode_delta(
        &self,
        baseline: &[T; N],
        r: &mut BitReader<'_>,
    ) -> Result<[T; N], DecodeError> {
        if N > 1 && !r.read_bool()? {
            return Ok(baseline.clone());
        }
        try_array(|i| self.0.decode_delta(&baseline[i], r))
    }

    #[inline]
    fn min_bits(&self) -> usize {
        N.saturating_mul(self.0.min_bits())
    }

    fn layout(&self, hasher: &mut LayoutHasher) {
        hasher.name("array");
        hasher.number(N as u64);
        self.0.layout(hasher);
    }
}

/// Its content, with a limit to how deep it may nest.
impl<T: Clone, C: Codec<T>> Codec<Box<T>> for Inside<'_, C> {
    #[inline]
    fn encode(&self, value: &Box<T>, w: &mut BitWriter<'_>) {
        w.nested(|w| self.0.encode(&**value, w));
    }

    #[inline]
    fn decode(&self, r: &mut BitReader<'_>) -> Result<Box<T>, DecodeError> {
        r.nested(|r| Ok(Box::new(self.0.decode(r)?)))
    }

    #[inline]
    fn same(&self, value: &Box<T>, other: &Box<T>) -> bool {
        self.0.same(&**value, &**other)
    }

    #[inline]
    fn encode_delta(&self, value: &Box<T>, baseline: &Box<T>, w: &mut BitWriter<'_>) {
        w.nested(|w| self.0.encode_delta(&**value, &**baseline, w));
    }

    #[inline]
    fn decode_delta(
        &self,
        baseline: &Box<T>,
        r: &mut BitReader<'_>,
    ) -> Result<Box<T>, DecodeError> {
        r.nested(|r| Ok(Box::new(self.0.decode_delta(&**baseline, r)?)))
    }

    /// Not that of the content, which may contain the box.
    #[inline]
    fn min_bits(&self) -> usize {
        0
    }

    fn layout(&self, hasher: &mut LayoutHasher) {
        self.0.layout(hasher);
    }
}

/// Fills an array until the first error, without allocating.
#[inline]
fn try_array<T, const N: usize>(
    mut element: impl FnMut(usize) -> Result<T, DecodeError>,
) -> Result<[T; N], DecodeError> {
    let mut error = None;
    let array: [Option<T>; N] = core::array::from_fn(|i| {
        if error.is_some() {
            return None;
        }
        element(i).map_err(|e| error = Some(e)).ok()
    });
    match error {
        None => Ok(array.map(|element| element.expect("no element failed"))),
        Some(error) => Err(error),
    }
}

/// Lets a codec encode `$type`, which contains its values, by `$by` made of the codec itself.
macro_rules! reach_through {
    ([$($generics:tt)*] $codec:ty, $type:ty, $by:expr) => {
        impl<$($generics)* T: Clone> Codec<$type> for $codec
        where
            $codec: Codec<T>,
        {
            #[inline]
            fn encode(&self, value: &$type, w: &mut BitWriter<'_>) {
                $by(self).encode(value, w);
            }

            #[inline]
            fn decode(&self, r: &mut BitReader<'_>) -> Result<$type, DecodeError> {
                $by(self).decode(r)
            }

            #[inline]
            fn same(&self, value: &$type, other: &$type) -> bool {
                $by(self).same(value, other)
            }

            #[inline]
            fn encode_delta(&self, value: &$type, baseline: &$type, w: &mut BitWriter<'_>) {
                $by(self).encode_delta(value, baseline, w);
            }

            #[inline]
            fn decode_delta(
                &self,
                baseline: &$type,
                r: &mut BitReader<'_>,
            ) -> Result<$type, DecodeError> {
                $by(self).decode_delta(baseline, r)
            }

            #[inline]
            fn min_bits(&self) -> usize {
                Codec::<$type>::min_bits(&$by(self))
            }

            fn layout(&self, hasher: &mut LayoutHasher) {
                Codec::<$type>::layout(&$by(self), hasher);
            }
        }
    };
}

reach_through!([] Quantised, Option<T>, Inside);
reach_through!([] Quantised, Box<T>, Inside);
reach_through!([const N: usize,] Quantised, [T; N], Inside);
reach_through!([] Quantised, Vec<T>, default_len);
reach_through!([] Varint, Option<T>, Inside);
reach_through!([] Varint, Box<T>, Inside);
reach_through!([const N: usize,] Varint, [T; N], Inside);
reach_through!([] Varint, Vec<T>, default_len);
reach_through!([const MIN: i128, const MAX: i128,] Range<MIN, MAX>, Option<T>, Inside);
reach_through!([const MIN: i128, const MAX: i128,] Range<MIN, MAX>, Box<T>, Inside);
reach_through!([const MIN: i128, const MAX: i128, const N: usize,] Range<MIN, MAX>, [T; N], Inside);
reach_through!([const MIN: i128, const MAX: i128,] Range<MIN, MAX>, Vec<T>, default_len);
reach_through!([C,] MaxLen<C>, Option<T>, Inside);
reach_through!([C,] MaxLen<C>, Box<T>, Inside);
reach_through!([C, const N: usize,] MaxLen<C>, [T; N], Inside);

#[inline]
fn default_len<C: Copy>(each: &C) -> MaxLen<C> {
    MaxLen::new(DEFAULT_MAX_LEN, *each)
}

wire_by_codec!([T: Wire] Option<T>, Inside(&Plain));
wire_by_codec!([T: Wire] Box<T>, Inside(&Plain));
wire_by_codec!([T: Wire, const N: usize] [T; N], Inside(&Plain));

/// One bit; relative to a baseline, one bit that says whether it changed.
impl Wire for bool {
    #[inline]
    fn encode(&self, w: &mut BitWriter<'_>) {
        w.write_bool(*self);
    }

    #[inline]
    fn decode(r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        r.read_bool()
    }

    #[inline]
    fn same(&self, other: &Self) -> bool {
        self == other
    }

    #[inline]
    fn encode_delta(&self, baseline: &Self, w: &mut BitWriter<'_>) {
        w.write_bool(self != baseline);
    }

    #[inline]
    fn decode_delta(baseline: &Self, r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        Ok(r.read_bool()? != *baseline)
    }

    #[inline]
    fn min_bits() -> usize {
        1
    }

    fn layout(hasher: &mut LayoutHasher) {
        hasher.name("bool");
    }
}

/// 21 bits.
impl Wire for char {
    #[inline]
    fn encode(&self, w: &mut BitWriter<'_>) {
        w.write_bits(u64::from(*self), 21);
    }

    #[inline]
    fn decode(r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        char::from_u32(r.read_bits(21)? as u32).ok_or(DecodeError::OutOfRange)
    }

    #[inline]
    fn same(&self, other: &Self) -> bool {
        self == other
    }

    #[inline]
    fn min_bits() -> usize {
        21
    }

    fn layout(hasher: &mut LayoutHasher) {
        hasher.name("char");
    }
}

/// No bits.
impl Wire for () {
    #[inline]
    fn encode(&self, _: &mut BitWriter<'_>) {}

    #[inline]
    fn decode(_: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }

    #[inline]
    fn same(&self, (): &Self) -> bool {
        true
    }

    #[inline]
    fn encode_delta(&self, (): &Self, _: &mut BitWriter<'_>) {}

    #[inline]
    fn decode_delta((): &Self, _: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

macro_rules! tuples {
    ($(($($type:ident $i:tt),+);)*) => {$(
        /// The parts in order; relative to a baseline, first a bit that says whether any of several changed.
        impl<$($type: Wire),+> Wire for ($($type,)+) {
            #[inline]
            fn encode(&self, w: &mut BitWriter<'_>) {
                $(self.$i.encode(w);)+
            }

            #[inline]
            fn decode(r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
                Ok(($($type::decode(r)?,)+))
            }

            #[inline]
            fn same(&self, other: &Self) -> bool {
                $(self.$i.same(&other.$i))&&+
            }

            fn encode_delta(&self, baseline: &Self, w: &mut BitWriter<'_>) {
                if const { [$($i),+].len() > 1 } {
                    let changed = !self.same(baseline);
                    w.write_bool(changed);
                    if !changed {
                        return;
                    }
                }
                $(self.$i.encode_delta(&baseline.$i, w);)+
            }

            fn decode_delta(baseline: &Self, r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
                if const { [$($i),+].len() > 1 } && !r.read_bool()? {
                    return Ok(baseline.clone());
                }
                Ok(($($type::decode_delta(&baseline.$i, r)?,)+))
            }

            #[inline]
            fn min_bits() -> usize {
                0 $(+ $type::min_bits())+
            }

            fn layout(hasher: &mut LayoutHasher) {
                hasher.name("(");
                $($type::layout(hasher);)+
                hasher.name(")");
            }
        }
    )*};
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}
