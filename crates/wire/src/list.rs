use alloc::string::String;
use alloc::vec::Vec;

use crate::codec::wire_by_codec;
use crate::int::bits_for;
use crate::{BitReader, BitWriter, Codec, DecodeError, EncodeError, LayoutHasher, Plain};

/// The longest `String` (in bytes) or `Vec` (in elements) that a field without `max_len` may hold.
pub const DEFAULT_MAX_LEN: usize = 4095;

/// Strings of at most so many bytes, lists of at most so many elements: `#[wire(max_len = 32)]`. `C` encodes the elements.
///
/// The length takes as few bits as its maximum allows. Encoding more makes the writer fail with
/// [`EncodeError::TooLong`]; decoding more is refused before anything is allocated.
#[derive(Clone, Copy, Debug)]
pub struct MaxLen<C> {
    max_len: usize,
    each: C,
}

impl<C> MaxLen<C> {
    /// A list of at most `max_len` elements, each encoded by `each`.
    pub const fn new(max_len: usize, each: C) -> MaxLen<C> {
        MaxLen { max_len, each }
    }

    const fn len_bits(&self) -> u32 {
        bits_for(self.max_len as u64)
    }

    #[inline]
    fn write_len(&self, len: usize, w: &mut BitWriter<'_>) {
        if len > self.max_len {
            return w.fail(EncodeError::TooLong);
        }
        w.write_bits(len as u64, self.len_bits());
    }

    #[inline]
    fn read_len(&self, r: &mut BitReader<'_>) -> Result<usize, DecodeError> {
        match r.read_bits(self.len_bits())? {
            len if len <= self.max_len as u64 => Ok(len as usize),
            _ => Err(DecodeError::TooLong),
        }
    }
}

/// Room for `count` elements after `kept` ones. What `count` claims is only believed as far as the input could hold it: one byte
/// of memory for each bit that is left. The list may still grow beyond, as elements turn out to be there.
fn with_justified_capacity<T>(
    kept: usize,
    count: usize,
    min_bits: usize,
    r: &BitReader<'_>,
) -> Result<Vec<T>, DecodeError> {
    if min_bits > 0 && count > r.remaining_bits() / min_bits {
        return Err(DecodeError::Truncated);
    }
    let believed = r.remaining_bits() / size_of::<T>().max(1);
    Ok(Vec::with_capacity(kept + count.min(believed)))
}

impl<T: Clone, C: Codec<T>> Codec<Vec<T>> for MaxLen<C> {
    fn encode(&self, value: &Vec<T>, w: &mut BitWriter<'_>) {
        self.write_len(value.len(), w);
        w.nested(|w| self.each.encode_all(value, w));
    }

    fn decode(&self, r: &mut BitReader<'_>) -> Result<Vec<T>, DecodeError> {
        let len = self.read_len(r)?;
        let mut list = with_justified_capacity(0, len, self.each.min_bits(), r)?;
        r.nested(|r| self.each.decode_all(&mut list, len, r))?;
        Ok(list)
    }

    fn same(&self, value: &Vec<T>, other: &Vec<T>) -> bool {
        let mut pairs = value.iter().zip(other);
        value.len() == other.len() && pairs.all(|(a, b)| self.each.same(a, b))
    }

    fn encode_delta(&self, value: &Vec<T>, baseline: &Vec<T>, w: &mut BitWriter<'_>) {
        let changed = !self.same(value, baseline);
        w.write_bool(changed);
        if !changed {
            return;
        }
        w.write_bool(value.len() != baseline.len());
        if value.len() != baseline.len() || value.len() > self.max_len {
            self.write_len(value.len(), w);
        }
        let (common, added) = value.split_at(value.len().min(baseline.len()));
        w.nested(|w| {
            for (element, baseline) in common.iter().zip(baseline) {
                self.each.encode_delta(element, baseline, w);
            }
            self.each.encode_all(added, w);
        });
    }

    fn decode_delta(
        &self,
        baseline: &Vec<T>,
        r: &mut BitReader<'_>,
    ) -> Result<Vec<T>, DecodeError> {
        if !r.read_bool()? {
            return Ok(baseline.clone());
        }
        let len = match r.read_bool()? {
            true => self.read_len(r)?,
            false => baseline.len(),
        };
        let kept = len.min(baseline.len());
        let added = len - kept;
        let mut list = with_justified_capacity(kept, added, self.each.min_bits(), r)?;
        r.nested(|r| {
            for baseline in &baseline[..kept] {
                list.push(self.each.decode_delta(baseline, r)?);
            }
            self.each.decode_all(&mut list, added, r)
        })?;
        Ok(list)
    }

    fn min_bits(&self) -> usize {
        self.len_bits() as usize
    }

    fn layout(&self, hasher: &mut LayoutHasher) {
        hasher.name("list");
        hasher.number(self.max_len as u64);
        self.each.layout(hasher);
    }
}

impl Codec<String> for MaxLen<Plain> {
    fn encode(&self, value: &String, w: &mut BitWriter<'_>) {
        self.write_len(value.len(), w);
        w.write_bytes(value.as_bytes());
    }

    fn decode(&self, r: &mut BitReader<'_>) -> Result<String, DecodeError> {
        let len = self.read_len(r)?;
        let mut bytes = with_justified_capacity(0, len, 8, r)?;
        bytes.resize(len, 0);
        r.read_into(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| DecodeError::BadUtf8)
    }

    fn same(&self, value: &String, other: &String) -> bool {
        value == other
    }

    fn encode_delta(&self, value: &String, baseline: &String, w: &mut BitWriter<'_>) {
        w.write_bool(value != baseline);
        if value != baseline {
            self.encode(value, w);
        }
    }

    fn decode_delta(
        &self,
        baseline: &String,
        r: &mut BitReader<'_>,
    ) -> Result<String, DecodeError> {
        match r.read_bool()? {
            true => self.decode(r),
            false => Ok(baseline.clone()),
        }
    }

    fn min_bits(&self) -> usize {
        self.len_bits() as usize
    }

    fn layout(&self, hasher: &mut LayoutHasher) {
        hasher.name("string");
        hasher.number(self.max_len as u64);
    }
}

wire_by_codec!([T: crate::Wire] Vec<T>, MaxLen::new(DEFAULT_MAX_LEN, Plain));
wire_by_codec!([] String, MaxLen::new(DEFAULT_MAX_LEN, Plain));

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::Wire;

    fn encoded<T>(codec: &impl Codec<T>, value: &T) -> Result<Vec<u8>, EncodeError> {
        let mut buffer = vec![0; 4096];
        let mut w = BitWriter::new(&mut buffer);
        codec.encode(value, &mut w);
        let len = w.finish()?;
        buffer.truncate(len);
        Ok(buffer)
    }

    #[test]
    fn more_than_the_maximum_is_an_error_on_both_sides() {
        let short = MaxLen::new(4, Plain);
        let long = MaxLen::new(7, Plain);
        assert_eq!(encoded(&short, &vec![0u8; 5]), Err(EncodeError::TooLong));
        let bytes = encoded(&long, &vec![0u8; 5]).unwrap();
        let read: Result<Vec<u8>, _> = short.decode(&mut BitReader::new(&bytes));
        assert_eq!(read, Err(DecodeError::TooLong));
        assert_eq!(
            encoded(&short, &String::from("hello")),
            Err(EncodeError::TooLong)
        );
    }

    #[test]
    fn a_delta_cannot_keep_an_overlong_baseline_silently() {
        let mut buffer = [0; 64];
        let mut w = BitWriter::new(&mut buffer);
        MaxLen::new(2, Plain).encode_delta(&vec![1u8; 3], &vec![0u8; 3], &mut w);
        assert_eq!(w.finish(), Err(EncodeError::TooLong));
    }

    #[test]
    fn claimed_lengths_are_checked_against_the_input() {
        let codec = MaxLen::new(usize::MAX, Plain);
        let mut bytes = [0xff; 16];
        bytes[7] = 0x0f;
        let read: Result<Vec<u64>, _> = codec.decode(&mut BitReader::new(&bytes));
        assert_eq!(read, Err(DecodeError::Truncated));
        let read: Result<String, _> = codec.decode(&mut BitReader::new(&bytes));
        assert_eq!(read, Err(DecodeError::Truncated));
    }

    #[test]
    fn capacity_is_bounded_by_the_input_even_for_large_elements() {
        // 4095 claimed elements of 4 KiB that may each take a single bit.
        let mut bytes = [0; 600];
        bytes[..2].copy_from_slice(&[0xff, 0x0f]);
        let list: Vec<Option<[u64; 512]>> =
            with_justified_capacity(0, 4095, 1, &BitReader::new(&bytes)).unwrap();
        assert!(list.capacity() * size_of::<Option<[u64; 512]>>() <= bytes.len() * 8);
    }

    #[test]
    fn invalid_utf8_is_refused() {
        let bytes = encoded(&MaxLen::new(9, Plain), &vec![0xffu8, 0xfe]).unwrap();
        let read: Result<String, _> = MaxLen::new(9, Plain).decode(&mut BitReader::new(&bytes));
        assert_eq!(read, Err(DecodeError::BadUtf8));
    }

    #[test]
    fn elements_without_bits_are_limited_by_the_maximum_only() {
        let units = vec![(); 4095];
        let bytes = encoded(&Plain, &units).unwrap();
        assert_eq!(bytes.len(), 2);
        assert_eq!(Vec::<()>::decode(&mut BitReader::new(&bytes)), Ok(units));
    }
}
