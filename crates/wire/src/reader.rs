use crate::writer::unzigzag;
use crate::{DecodeError, MAX_DEPTH};

/// Unpacks what a [`BitWriter`](crate::BitWriter) packed. Every read is checked: nothing panics on hostile bytes, and
/// nothing is read past their end.
#[derive(Clone, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    /// Bits consumed.
    at: usize,
    depth: u32,
}

impl<'a> BitReader<'a> {
    /// Starts at the first bit of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader {
            bytes: &bytes[..bytes.len().min(usize::MAX / 8)],
            at: 0,
            depth: 0,
        }
    }

    /// Reads a field of `bits` bits.
    ///
    /// # Panics
    /// If `bits` exceeds 64.
    #[inline(always)]
    pub fn read_bits(&mut self, bits: u32) -> Result<u64, DecodeError> {
        let byte = self.at >> 3;
        let value = match self.bytes.get(byte..byte + 8) {
            // 7 + 56 bits lie within the eight bytes: no further check is needed.
            Some(chunk) if bits <= 56 => {
                let chunk = chunk.try_into().expect("the chunk is eight bytes long");
                u64::from_le_bytes(chunk) >> (self.at & 7) & !(u64::MAX << bits)
            }
            _ => bits_near_end(self.bytes, self.at, bits)?,
        };
        self.at += bits as usize;
        Ok(value)
    }

    /// Reads one bit.
    #[inline(always)]
    pub fn read_bool(&mut self) -> Result<bool, DecodeError> {
        Ok(self.read_bits(1)? != 0)
    }

    /// Reads 8 bits.
    #[inline(always)]
    pub fn read_u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.read_bits(8)? as u8)
    }

    /// Reads 16 bits.
    #[inline(always)]
    pub fn read_u16(&mut self) -> Result<u16, DecodeError> {
        Ok(self.read_bits(16)? as u16)
    }

    /// Reads 32 bits.
    #[inline(always)]
    pub fn read_u32(&mut self) -> Result<u32, DecodeError> {
        Ok(self.read_bits(32)? as u32)
    }

    /// Reads 64 bits.
    #[inline(always)]
    pub fn read_u64(&mut self) -> Result<u64, DecodeError> {
        let low = self.read_bits(32)?;
        Ok(low | self.read_bits(32)? << 32)
    }

    /// Reads a varint; refuses one that is longer than its value needs, so that each value has one encoding.
    #[inline]
    pub fn read_varint(&mut self) -> Result<u64, DecodeError> {
        let first = self.read_bits(8)?;
        if first < 0x80 {
            return Ok(first);
        }
        let mut value = first & 0x7f;
        let mut shift = 7;
        loop {
            let group = self.read_bits(8)?;
            // The tenth group holds bit 63 only.
            if shift == 63 && group > 1 {
                return Err(DecodeError::Overlong);
            }
            value |= (group & 0x7f) << shift;
            if group < 0x80 {
                return if group == 0 {
                    Err(DecodeError::Overlong)
                } else {
                    Ok(value)
                };
            }
            shift += 7;
        }
    }

    /// Reads what [`BitWriter::write_zigzag`](crate::BitWriter::write_zigzag) wrote.
    #[inline]
    pub fn read_zigzag(&mut self) -> Result<i64, DecodeError> {
        Ok(unzigzag(self.read_varint()?))
    }

    /// Borrows the next `len` bytes. Only on a byte boundary: else [`DecodeError::Unaligned`], see [`read_into`](Self::read_into).
    #[inline]
    pub fn read_bytes(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        if self.at & 7 != 0 {
            return Err(DecodeError::Unaligned);
        }
        let (bytes, _) = self.bytes[self.at >> 3..]
            .split_at_checked(len)
            .ok_or(DecodeError::Truncated)?;
        self.at += len * 8;
        Ok(bytes)
    }

    /// Fills `into` from any bit position; a plain copy on a byte boundary.
    #[inline]
    pub fn read_into(&mut self, into: &mut [u8]) -> Result<(), DecodeError> {
        if self.at & 7 == 0 {
            into.copy_from_slice(self.read_bytes(into.len())?);
            return Ok(());
        }
        if into.len() > self.remaining_bits() / 8 {
            return Err(DecodeError::Truncated);
        }
        let mut words = into.chunks_exact_mut(4);
        for word in &mut words {
            word.copy_from_slice(&self.read_u32()?.to_le_bytes());
        }
        for byte in words.into_remainder() {
            *byte = self.read_u8()?;
        }
        Ok(())
    }

    /// Skips to the next byte boundary; the skipped bits must be zero.
    #[inline]
    pub fn align(&mut self) -> Result<(), DecodeError> {
        match self.read_bits((self.at.wrapping_neg() & 7) as u32)? {
            0 => Ok(()),
            _ => Err(DecodeError::Padding),
        }
    }

    /// [Aligns](Self::align), then takes all bytes that are left.
    #[inline]
    pub fn rest(&mut self) -> Result<&'a [u8], DecodeError> {
        self.align()?;
        self.read_bytes(self.remaining_bits() / 8)
    }

    /// Checks that nothing but zero padding to the byte boundary is left.
    #[inline]
    pub fn finish(mut self) -> Result<(), DecodeError> {
        self.align()?;
        match self.is_empty() {
            true => Ok(()),
            false => Err(DecodeError::Trailing),
        }
    }

    /// Bits read so far.
    #[inline]
    pub fn bit_len(&self) -> usize {
        self.at
    }

    /// Bits left, padding included.
    #[inline]
    pub fn remaining_bits(&self) -> usize {
        self.bytes.len() * 8 - self.at
    }

    /// Whether no bit is left, not even padding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.remaining_bits() == 0
    }

    /// Runs `read` one level deeper; refuses more than [`MAX_DEPTH`] levels, because hostile bytes could otherwise exhaust
    /// the stack. Types that may contain themselves use it.
    #[inline]
    pub fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.depth >= MAX_DEPTH {
            return Err(DecodeError::TooDeep);
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }
}

/// Apart from the reader, so that it can stay in registers.
#[cold]
#[inline(never)]
fn bits_near_end(bytes: &[u8], mut at: usize, bits: u32) -> Result<u64, DecodeError> {
    assert!(bits <= 64, "a field has at most 64 bits, not {bits}");
    if bits as usize > bytes.len() * 8 - at {
        return Err(DecodeError::Truncated);
    }
    let mut value = 0;
    let mut done = 0;
    while done < bits {
        let skip = (at & 7) as u32;
        let take = (8 - skip).min(bits - done);
        let part = u64::from(bytes[at >> 3] >> skip) & !(u64::MAX << take);
        value |= part << done;
        done += take;
        at += take as usize;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BitWriter;

    #[test]
    fn reads_across_the_end_are_refused_at_any_offset() {
        let bytes = [0xff; 20];
        for len in 0..bytes.len() {
            for skip in 0..len * 8 {
                let mut r = BitReader::new(&bytes[..len]);
                for _ in 0..skip {
                    assert_eq!(r.read_bool(), Ok(true));
                }
                let left = len * 8 - skip;
                for bits in 0..=64 {
                    let mut r = r.clone();
                    let ones = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
                    let expected = match bits as usize <= left {
                        true => Ok(ones),
                        false => Err(DecodeError::Truncated),
                    };
                    assert_eq!(r.read_bits(bits), expected, "{bits} bits, {left} left");
                }
            }
        }
    }

    #[test]
    fn varints_have_one_encoding() {
        let read = |bytes: &[u8]| BitReader::new(bytes).read_varint();
        assert_eq!(read(&[0]), Ok(0));
        assert_eq!(read(&[0x80, 0]), Err(DecodeError::Overlong));
        assert_eq!(read(&[0x80, 1]), Ok(128));
        assert_eq!(read(&[0xff, 0x80, 0]), Err(DecodeError::Overlong));
        assert_eq!(read(&[0xff; 3]), Err(DecodeError::Truncated));
        let mut longest = [0xff; 10];
        longest[9] = 1;
        assert_eq!(read(&longest), Ok(u64::MAX));
        longest[9] = 2;
        assert_eq!(read(&longest), Err(DecodeError::Overlong));
        longest[9] = 0x81;
        assert_eq!(read(&longest), Err(DecodeError::Overlong));
    }

    #[test]
    fn bytes_are_borrowed_on_a_boundary_and_copied_off_it() {
        let bytes: [u8; 12] = core::array::from_fn(|i| i as u8);
        let mut r = BitReader::new(&bytes);
        assert_eq!(r.read_bytes(3), Ok(&bytes[..3]));
        assert_eq!(r.read_bytes(10), Err(DecodeError::Truncated));
        assert_eq!(r.read_bytes(usize::MAX), Err(DecodeError::Truncated));
        r.read_bits(4).unwrap();
        assert_eq!(r.read_bytes(1), Err(DecodeError::Unaligned));
        let mut into = [0; 7];
        r.read_into(&mut into).unwrap();
        assert_eq!(into, [0x40, 0x50, 0x60, 0x70, 0x80, 0x90, 0xa0]);
        assert_eq!(r.read_into(&mut [0; 2]), Err(DecodeError::Truncated));
        assert_eq!(r.rest(), Ok(&bytes[11..]));
        assert!(r.is_empty());
        assert_eq!(r.rest(), Ok(&[][..]));
    }

    #[test]
    fn padding_must_be_zero() {
        let mut r = BitReader::new(&[0b0000_0101, 0b0000_0101]);
        r.read_bits(3).unwrap();
        r.align().unwrap();
        r.read_bits(2).unwrap();
        assert_eq!(r.align(), Err(DecodeError::Padding));
    }

    #[test]
    fn finish_refuses_left_over_bytes() {
        let mut r = BitReader::new(&[1, 0]);
        r.read_bits(1).unwrap();
        assert_eq!(r.clone().finish(), Err(DecodeError::Trailing));
        r.read_bits(8).unwrap();
        assert_eq!(r.finish(), Ok(()));
    }

    #[test]
    fn unaligned_bytes_round_trip() {
        let bytes: [u8; 31] = core::array::from_fn(|i| (i * 37) as u8);
        for skip in 0..8 {
            for len in 0..bytes.len() {
                let mut buffer = [0; 32];
                let mut w = BitWriter::new(&mut buffer);
                w.write_bits(0, skip);
                w.write_bytes(&bytes[..len]);
                w.align();
                assert_eq!(w.bit_len() % 8, 0);
                let size = w.finish().unwrap();
                let mut r = BitReader::new(&buffer[..size]);
                r.read_bits(skip).unwrap();
                let mut into = [0; 31];
                r.read_into(&mut into[..len]).unwrap();
                assert_eq!(into[..len], bytes[..len]);
                r.finish().unwrap();
            }
        }
    }
}
