//! Whole values to and from whole buffers.

use alloc::vec;
use alloc::vec::Vec;

use crate::{BitReader, BitWriter, DecodeError, EncodeError, Wire};

/// Encodes `value` at the start of `buffer` and returns its length in bytes.
pub fn encode_into<T: Wire>(value: &T, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let mut w = BitWriter::new(buffer);
    value.encode(&mut w);
    w.finish()
}

/// Encodes `value` into a buffer of its own. Where the buffer can be reused, prefer [`encode_into`].
pub fn encode_to_vec<T: Wire>(value: &T) -> Result<Vec<u8>, EncodeError> {
    grow_until_it_fits(|w| value.encode(w))
}

/// Encodes `value` relative to `baseline` into a buffer of its own.
pub fn encode_delta_to_vec<T: Wire>(value: &T, baseline: &T) -> Result<Vec<u8>, EncodeError> {
    grow_until_it_fits(|w| value.encode_delta(baseline, w))
}

/// Decodes a value that takes all of `bytes`, but for zero bits that fill the last byte.
pub fn decode_exact<T: Wire>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut r = BitReader::new(bytes);
    let value = T::decode(&mut r)?;
    r.finish()?;
    Ok(value)
}

/// Decodes a value relative to `baseline` that takes all of `bytes`, but for zero bits that fill the last byte.
pub fn decode_delta_exact<T: Wire>(baseline: &T, bytes: &[u8]) -> Result<T, DecodeError> {
    let mut r = BitReader::new(bytes);
    let value = T::decode_delta(baseline, &mut r)?;
    r.finish()?;
    Ok(value)
}

fn grow_until_it_fits(encode: impl Fn(&mut BitWriter<'_>)) -> Result<Vec<u8>, EncodeError> {
    let mut buffer = vec![0; 256];
    loop {
        let mut w = BitWriter::new(&mut buffer);
        encode(&mut w);
        match w.finish() {
            Ok(len) => {
                buffer.truncate(len);
                return Ok(buffer);
            }
            Err(EncodeError::Overflow) => buffer.resize(buffer.len() * 4, 0),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_bytes_and_set_padding_are_refused() {
        assert_eq!(encode_to_vec(&true), Ok(vec![1]));
        assert_eq!(decode_exact(&[1]), Ok(true));
        assert_eq!(decode_exact::<bool>(&[3]), Err(DecodeError::Padding));
        assert_eq!(decode_exact::<bool>(&[1, 0]), Err(DecodeError::Trailing));
        assert_eq!(decode_exact::<bool>(&[]), Err(DecodeError::Truncated));
        assert_eq!(decode_exact::<()>(&[]), Ok(()));
    }

    #[test]
    fn the_buffer_grows_as_needed() {
        let large = vec![[7u64; 10]; 999];
        let bytes = encode_to_vec(&large).unwrap();
        assert_eq!(bytes.len(), 999 * 80 + 2);
        assert_eq!(decode_exact(&bytes), Ok(large));
    }
}
