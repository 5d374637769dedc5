use alloc::vec::Vec;

use crate::delta::{Step, read_step, write_step};
use crate::writer::{unzigzag, zigzag};
use crate::{BitReader, BitWriter, Codec, DecodeError, EncodeError, LayoutHasher, Wire};

/// Integers from `MIN` to `MAX` inclusive, in as few bits as can tell them apart: `#[wire(range = 0..=100)]`.
///
/// Encoding an integer outside makes the writer fail with [`EncodeError::OutOfRange`]; decoding one is refused.
/// A range that the integer type cannot hold does not compile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range<const MIN: i128, const MAX: i128>;

impl<const MIN: i128, const MAX: i128> Range<MIN, MAX> {
    /// The greatest distance from `MIN`.
    const SPAN: u64 = {
        assert!(MIN <= MAX, "an empty range: min is greater than max");
        assert!(
            MAX - MIN <= u64::MAX as i128,
            "a range may span 64 bits at most"
        );
        (MAX - MIN) as u64
    };

    /// Bits that each value takes.
    pub const BITS: u32 = bits_for(Self::SPAN);

    const fn assert_within(min: i128, max: i128) {
        assert!(
            MIN >= min && MAX <= max,
            "the range is wider than the integer type"
        );
    }

    #[inline]
    fn write(offset: u64, w: &mut BitWriter<'_>) {
        if offset > Self::SPAN {
            return w.fail(EncodeError::OutOfRange);
        }
        w.write_bits(offset, Self::BITS);
    }

    #[inline]
    fn check(offset: u64) -> Result<u64, DecodeError> {
        match offset <= Self::SPAN {
            true => Ok(offset),
            false => Err(DecodeError::OutOfRange),
        }
    }
}

/// Bits that numbers from 0 to `max` take.
#[inline]
pub(crate) const fn bits_for(max: u64) -> u32 {
    64 - max.leading_zeros()
}

/// Integers that are usually small but have no bound: `#[wire(varint)]`. Signed ones are zigzag-coded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Varint;

macro_rules! range_and_varint {
    ($($int:ty, $wide:ty, $to_varint:expr, $from_varint:expr;)*) => {$(
        impl<const MIN: i128, const MAX: i128> Codec<$int> for Range<MIN, MAX> {
            #[inline]
            fn encode(&self, value: &$int, w: &mut BitWriter<'_>) {
                const { Self::assert_within(<$int>::MIN as i128, <$int>::MAX as i128) }
                // Wrapping: the offset of a value outside is greater than the span.
                Self::write((*value as u64).wrapping_sub(MIN as u64), w);
            }

            #[inline]
            fn decode(&self, r: &mut BitReader<'_>) -> Result<$int, DecodeError> {
                const { Self::assert_within(<$int>::MIN as i128, <$int>::MAX as i128) }
                let offset = Self::check(r.read_bits(Self::BITS)?)?;
                Ok((MIN as u64).wrapping_add(offset) as $int)
            }

            #[inline]
            fn same(&self, value: &$int, other: &$int) -> bool {
                value == other
            }

            #[inline]
            fn encode_delta(&self, value: &$int, baseline: &$int, w: &mut BitWriter<'_>) {
                let offset = (*value as u64).wrapping_sub(MIN as u64);
                if offset > Self::SPAN {
                    return w.fail(EncodeError::OutOfRange);
                }
                let baseline = (*baseline as i128).clamp(MIN, MAX) as u64;
                let difference = (*value as u64).wrapping_sub(baseline) as i64;
                write_step(w, difference, offset, Self::BITS);
            }

            #[inline]
            fn decode_delta(
                &self,
                baseline: &$int,
                r: &mut BitReader<'_>,
            ) -> Result<$int, DecodeError> {
                let baseline = (*baseline as i128).clamp(MIN, MAX) as u64;
                let offset = match read_step(r, Self::BITS)? {
                    Step::Keep => return Ok(baseline as $int),
                    Step::Add(by) => baseline.wrapping_add(by as u64).wrapping_sub(MIN as u64),
                    Step::Replace(offset) => offset,
                };
                Ok((MIN as u64).wrapping_add(Self::check(offset)?) as $int)
            }

            #[inline]
            fn min_bits(&self) -> usize {
                Self::BITS as usize
            }

            fn layout(&self, hasher: &mut LayoutHasher) {
                hasher.name("range");
                hasher.number(MIN as u64);
                hasher.number(MAX as u64);
            }
        }

        impl Codec<$int> for Varint {
            #[inline]
            fn encode(&self, value: &$int, w: &mut BitWriter<'_>) {
                w.write_varint($to_varint(*value as $wide));
            }

            #[inline]
            fn decode(&self, r: &mut BitReader<'_>) -> Result<$int, DecodeError> {
                let wide: $wide = $from_varint(r.read_varint()?);
                wide.try_into().map_err(|_| DecodeError::OutOfRange)
            }

            #[inline]
            fn same(&self, value: &$int, other: &$int) -> bool {
                value == other
            }

            #[inline]
            fn encode_delta(&self, value: &$int, baseline: &$int, w: &mut BitWriter<'_>) {
                w.write_bool(value != baseline);
                if value != baseline {
                    w.write_zigzag((*value as $wide).wrapping_sub(*baseline as $wide) as i64);
                }
            }

            #[inline]
            fn decode_delta(
                &self,
                baseline: &$int,
                r: &mut BitReader<'_>,
            ) -> Result<$int, DecodeError> {
                if !r.read_bool()? {
                    return Ok(*baseline);
                }
                (*baseline as $wide)
                    .wrapping_add(r.read_zigzag()? as $wide)
                    .try_into()
                    .map_err(|_| DecodeError::OutOfRange)
            }

            #[inline]
            fn min_bits(&self) -> usize {
                8
            }

            fn layout(&self, hasher: &mut LayoutHasher) {
                hasher.name(concat!("varint ", stringify!($wide)));
            }
        }
    )*};
}

range_and_varint! {
    u8, u64, core::convert::identity, core::convert::identity;
    u16, u64, core::convert::identity, core::convert::identity;
    u32, u64, core::convert::identity, core::convert::identity;
    u64, u64, core::convert::identity, core::convert::identity;
    usize, u64, core::convert::identity, core::convert::identity;
    i8, i64, zigzag, unzigzag;
    i16, i64, zigzag, unzigzag;
    i32, i64, zigzag, unzigzag;
    i64, i64, zigzag, unzigzag;
    isize, i64, zigzag, unzigzag;
}

macro_rules! fixed_width {
    ($($int:ty, $signed:ty, { $($special:tt)* };)*) => {$(
        /// As many bits as the type has, two's complement.
        impl Wire for $int {
            #[inline]
            fn encode(&self, w: &mut BitWriter<'_>) {
                w.write_bits(*self as u64, <$int>::BITS);
            }

            #[inline]
            fn decode(r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
                Ok(r.read_bits(<$int>::BITS)? as $int)
            }

            #[inline]
            fn same(&self, other: &Self) -> bool {
                self == other
            }

            #[inline]
            fn encode_delta(&self, baseline: &Self, w: &mut BitWriter<'_>) {
                let difference = self.wrapping_sub(*baseline) as $signed as i64;
                write_step(w, difference, *self as u64, <$int>::BITS);
            }

            #[inline]
            fn decode_delta(baseline: &Self, r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
                Ok(match read_step(r, <$int>::BITS)? {
                    Step::Keep => *baseline,
                    Step::Add(by) => baseline.wrapping_add(by as $int),
                    Step::Replace(whole) => whole as $int,
                })
            }

            #[inline]
            fn min_bits() -> usize {
                <$int>::BITS as usize
            }

            fn layout(hasher: &mut LayoutHasher) {
                hasher.name(stringify!($int));
            }

            $($special)*
        }
    )*};
}

fixed_width! {
    u8, i8, {
        fn encode_all(values: &[u8], w: &mut BitWriter<'_>) {
            w.write_bytes(values);
        }

        fn decode_all(
            into: &mut Vec<u8>,
            count: usize,
            r: &mut BitReader<'_>,
        ) -> Result<(), DecodeError> {
            if count > r.remaining_bits() / 8 {
                return Err(DecodeError::Truncated);
            }
            let start = into.len();
            into.resize(start + count, 0);
            r.read_into(&mut into[start..])
        }
    };
    u16, i16, {};
    u32, i32, {};
    u64, i64, {};
    i8, i8, {};
    i16, i16, {};
    i32, i32, {};
    i64, i64, {};
}

// A width that depends on the machine has no place on the wire.
crate::codec::wire_by_codec!([] usize, Varint);
crate::codec::wire_by_codec!([] isize, Varint);

#[cfg(test)]
mod tests {
    use super::*;

    fn bits<T>(codec: impl Codec<T>, value: T) -> Result<usize, EncodeError> {
        let mut buffer = [0; 16];
        let mut w = BitWriter::new(&mut buffer);
        codec.encode(&value, &mut w);
        let bits = w.bit_len();
        w.finish().map(|_| bits)
    }

    #[test]
    fn ranges_take_as_few_bits_as_can_tell_them_apart() {
        assert_eq!(bits(Range::<0, 0>, 0u8), Ok(0));
        assert_eq!(bits(Range::<0, 1>, 1u8), Ok(1));
        assert_eq!(bits(Range::<-3, 4>, -3i8), Ok(3));
        assert_eq!(bits(Range::<-3, 5>, 5i64), Ok(4));
        assert_eq!(bits(Range::<0, { u64::MAX as i128 }>, u64::MAX), Ok(64));
        let all = Range::<{ i64::MIN as i128 }, { i64::MAX as i128 }>;
        assert_eq!(bits(all, i64::MIN), Ok(64));
    }

    #[test]
    fn values_out_of_range_are_refused_on_both_sides() {
        assert_eq!(bits(Range::<5, 9>, 4u8), Err(EncodeError::OutOfRange));
        assert_eq!(bits(Range::<5, 9>, 10u8), Err(EncodeError::OutOfRange));
        assert_eq!(bits(Range::<-5, 9>, i64::MIN), Err(EncodeError::OutOfRange));
        let decode = |byte: u8| Codec::<u8>::decode(&Range::<5, 9>, &mut BitReader::new(&[byte]));
        assert_eq!(decode(4), Ok(9));
        assert_eq!(decode(5), Err(DecodeError::OutOfRange));
    }

    #[test]
    fn a_baseline_out_of_range_counts_as_the_nearest_value_in_it() {
        let codec = Range::<0, 100>;
        let mut buffer = [0; 4];
        let mut w = BitWriter::new(&mut buffer);
        codec.encode_delta(&100u8, &255u8, &mut w);
        codec.encode_delta(&99u8, &255u8, &mut w);
        assert_eq!(w.bit_len(), 1 + 4);
        let mut r = BitReader::new(&buffer);
        assert_eq!(codec.decode_delta(&255u8, &mut r), Ok(100));
        assert_eq!(codec.decode_delta(&255u8, &mut r), Ok(99));
    }

    #[test]
    fn varints_that_the_type_cannot_hold_are_refused() {
        let bytes = [0x80, 0x02];
        let mut r = BitReader::new(&bytes);
        assert_eq!(
            Codec::<u8>::decode(&Varint, &mut r),
            Err(DecodeError::OutOfRange)
        );
        let mut r = BitReader::new(&bytes);
        assert_eq!(
            Codec::<i8>::decode(&Varint, &mut r),
            Err(DecodeError::OutOfRange)
        );
        let mut r = BitReader::new(&bytes);
        assert_eq!(Codec::<i16>::decode(&Varint, &mut r), Ok(128));
    }

    #[test]
    fn counters_that_wrap_stay_near() {
        let mut buffer = [0; 4];
        let mut w = BitWriter::new(&mut buffer);
        2u16.encode_delta(&u16::MAX, &mut w);
        assert_eq!(w.bit_len(), 7);
        assert_eq!(
            u16::decode_delta(&u16::MAX, &mut BitReader::new(&buffer)),
            Ok(2)
        );
    }
}
