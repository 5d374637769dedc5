use crate::{EncodeError, MAX_DEPTH};

/// Packs fields of 0 to 64 bits into a buffer that the caller owns.
///
/// Bit `i` of the stream is bit `i % 8` (counted from the least significant) of byte `i / 8`, and the least
/// significant bit of a field goes first. Hence a field of 16, 32 or 64 bits on a byte boundary is little-endian.
///
/// No write reports an error: the first failure sticks, later writes do nothing, and [`finish`](Self::finish) tells. Up to
/// eight bytes of the buffer after the last written bit may be overwritten with zeros.
///
/// ```
/// use samestep_wire::{BitReader, BitWriter};
///
/// let mut buffer = [0; 16];
/// let mut w = BitWriter::new(&mut buffer);
/// w.write_bits(5, 3);
/// w.write_varint(300);
/// let len = w.finish()?;
///
/// let mut r = BitReader::new(&buffer[..len]);
/// assert_eq!(r.read_bits(3)?, 5);
/// assert_eq!(r.read_varint()?, 300);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BitWriter<'a> {
    /// Emptied on failure, so that the fast path needs no separate check.
    out: &'a mut [u8],
    /// Bits written.
    at: usize,
    /// The 0 to 7 bits after the last whole byte; all above them are zero.
    acc: u64,
    error: Option<EncodeError>,
    depth: u32,
}

impl<'a> BitWriter<'a> {
    /// Starts at the first bit of `buffer`.
    #[inline]
    pub fn new(buffer: &'a mut [u8]) -> BitWriter<'a> {
        let len = buffer.len().min(usize::MAX / 8);
        BitWriter {
            out: &mut buffer[..len],
            at: 0,
            acc: 0,
            error: None,
            depth: 0,
        }
    }

    /// Writes the low `bits` bits of `value`; higher bits of `value` are ignored.
    ///
    /// # Panics
    /// If `bits` exceeds 64.
    #[inline(always)]
    pub fn write_bits(&mut self, value: u64, bits: u32) {
        if bits <= 56 {
            self.put(value, bits);
        } else {
            self.put_wide(value, bits);
        }
    }

    /// At most 56 bits, so that they and up to 7 waiting ones fit the accumulator.
    #[inline(always)]
    fn put(&mut self, value: u64, bits: u32) {
        let waiting = (self.at & 7) as u32;
        let acc = self.acc | (value & !(u64::MAX << bits)) << waiting;
        let byte = self.at >> 3;
        // Always storing eight bytes beats a branch on "accumulator full", which mixed widths make unpredictable.
        if let Some(slot) = self.out.get_mut(byte..byte + 8) {
            slot.copy_from_slice(&acc.to_le_bytes());
        } else if !put_near_end(self.out, byte, acc, waiting + bits) {
            return self.fail(EncodeError::Overflow);
        }
        self.at += bits as usize;
        self.acc = acc >> ((waiting + bits) & 0x38);
    }

    #[inline]
    fn put_wide(&mut self, value: u64, bits: u32) {
        assert!(bits <= 64, "a field has at most 64 bits, not {bits}");
        self.put(value, 32);
        self.put(value >> 32, bits - 32);
    }

    /// Writes one bit, 1 for `true`.
    #[inline(always)]
    pub fn write_bool(&mut self, value: bool) {
        self.put(u64::from(value), 1);
    }

    /// Writes 8 bits.
    #[inline(always)]
    pub fn write_u8(&mut self, value: u8) {
        self.put(u64::from(value), 8);
    }

    /// Writes 16 bits.
    #[inline(always)]
    pub fn write_u16(&mut self, value: u16) {
        self.put(u64::from(value), 16);
    }

    /// Writes 32 bits.
    #[inline(always)]
    pub fn write_u32(&mut self, value: u32) {
        self.put(u64::from(value), 32);
    }

    /// Writes 64 bits.
    #[inline(always)]
    pub fn write_u64(&mut self, value: u64) {
        self.put(value, 32);
        self.put(value >> 32, 32);
    }

    /// Writes groups of 7 bits, least significant first, each followed by a bit that says whether more come:
    /// on a byte boundary, LEB128. Takes [`varint_bits`] bits.
    #[inline]
    pub fn write_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put(value & 0x7f | 0x80, 8);
            value >>= 7;
        }
        self.put(value, 8);
    }

    /// Writes a signed number as the varint of 0, −1, 1, −2, 2 … counted from 0.
    #[inline]
    pub fn write_zigzag(&mut self, value: i64) {
        self.write_varint(zigzag(value));
    }

    /// Writes bytes at any bit position; a plain copy on a byte boundary.
    #[inline]
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        if self.at & 7 != 0 {
            return self.write_bytes_unaligned(bytes);
        }
        let byte = self.at >> 3;
        if let Some(slot) = self.out.get_mut(byte..byte.saturating_add(bytes.len())) {
            slot.copy_from_slice(bytes);
            self.at += bytes.len() * 8;
        } else {
            self.fail(EncodeError::Overflow);
        }
    }

    fn write_bytes_unaligned(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(4);
        for word in &mut words {
            let word = word.try_into().expect("chunks are four bytes long");
            self.put(u64::from(u32::from_le_bytes(word)), 32);
        }
        for &byte in words.remainder() {
            self.put(u64::from(byte), 8);
        }
    }

    /// Pads with zeros to the next byte boundary.
    #[inline]
    pub fn align(&mut self) {
        self.put(0, (self.at.wrapping_neg() & 7) as u32);
    }

    /// Bits written so far; 0 after a failure.
    #[inline]
    pub fn bit_len(&self) -> usize {
        self.at
    }

    /// Bits that still fit; 0 after a failure.
    #[inline]
    pub fn remaining_bits(&self) -> usize {
        self.out.len() * 8 - self.bit_len()
    }

    /// Whether nothing has been written.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.error.is_none() && self.bit_len() == 0
    }

    /// The failure so far, which [`finish`](Self::finish) will report.
    #[inline]
    pub fn error(&self) -> Option<EncodeError> {
        self.error
    }

    /// Gives up: [`finish`](Self::finish) will report the first error that was given. For hand-written encoders whose value cannot be encoded.
    #[inline]
    pub fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
        self.out = &mut [];
        self.at = 0;
        self.acc = 0;
    }

    /// Ends the stream and returns its length in bytes. The last byte is padded with zeros.
    #[inline]
    pub fn finish(self) -> Result<usize, EncodeError> {
        match self.error {
            None => Ok(self.at.div_ceil(8)),
            Some(error) => Err(error),
        }
    }

    /// Runs `write` one level deeper; fails beyond [`MAX_DEPTH`]. Types that may contain themselves use it.
    #[inline]
    pub fn nested(&mut self, write: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            return self.fail(EncodeError::TooDeep);
        }
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }
}

/// Stores the low `bits` bits of `acc` from `byte` on, unless they do not fit. Apart from the writer, so that it can stay in registers.
#[cold]
#[inline(never)]
fn put_near_end(out: &mut [u8], byte: usize, acc: u64, bits: u32) -> bool {
    let bytes = bits.div_ceil(8) as usize;
    let Some(slot) = out.get_mut(byte..byte + bytes) else {
        return false;
    };
    slot.copy_from_slice(&acc.to_le_bytes()[..bytes]);
    true
}

/// Bits that [`BitWriter::write_varint`] takes for `value`: 8 to 80.
#[inline]
pub const fn varint_bits(value: u64) -> u32 {
    (64 - (value | 1).leading_zeros()).div_ceil(7) * 8
}

/// Maps 0, −1, 1, −2, 2 … to 0, 1, 2, 3, 4 …, so that small magnitudes are small.
#[inline]
pub const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Undoes [`zigzag`].
#[inline]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bit_is_the_lowest_of_the_first_byte() {
        let mut buffer = [0xaa; 4];
        let mut w = BitWriter::new(&mut buffer);
        w.write_bool(true);
        w.write_bits(0b10, 2);
        w.write_bits(0x1ff, 9);
        assert_eq!(w.bit_len(), 12);
        assert_eq!(w.remaining_bits(), 20);
        assert_eq!(w.finish(), Ok(2));
        assert_eq!(buffer[..2], [0b1111_1101, 0b0000_1111]);
    }

    #[test]
    fn high_bits_of_the_value_are_ignored() {
        let mut buffer = [0; 9];
        let mut w = BitWriter::new(&mut buffer);
        w.write_bits(u64::MAX, 3);
        w.write_bits(0, 2);
        w.write_bits(u64::MAX, 63);
        w.write_bits(u64::MAX, 0);
        assert_eq!(w.bit_len(), 68);
        assert_eq!(w.finish(), Ok(9));
        assert_eq!(
            buffer,
            [0xe7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]
        );
    }

    #[test]
    fn a_full_buffer_is_no_overflow_and_one_bit_more_is() {
        let mut buffer = [0; 3];
        let mut w = BitWriter::new(&mut buffer);
        w.write_bits(0x12_3456, 24);
        assert_eq!(w.remaining_bits(), 0);
        assert_eq!(w.error(), None);
        w.write_bool(false);
        assert_eq!(w.error(), Some(EncodeError::Overflow));
        w.write_bits(0, 0);
        w.write_bytes(&[]);
        assert_eq!(w.finish(), Err(EncodeError::Overflow));
    }

    #[test]
    fn overflow_of_a_copy_sticks() {
        let mut buffer = [0; 3];
        let mut w = BitWriter::new(&mut buffer);
        w.write_bytes(&[1, 2, 3, 4]);
        w.write_u8(9);
        assert_eq!((w.bit_len(), w.remaining_bits()), (0, 0));
        assert_eq!(w.finish(), Err(EncodeError::Overflow));
    }

    #[test]
    fn the_first_failure_is_the_one_reported() {
        let mut buffer = [0; 1];
        let mut w = BitWriter::new(&mut buffer);
        w.fail(EncodeError::TooLong);
        w.write_u64(1);
        assert_eq!(w.finish(), Err(EncodeError::TooLong));
    }

    #[test]
    #[should_panic(expected = "at most 64 bits")]
    fn fields_wider_than_64_bits_are_a_mistake() {
        BitWriter::new(&mut [0; 16]).write_bits(0, 65);
    }

    #[test]
    fn varint_bits_are_what_is_written() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut buffer = [0; 10];
                let mut w = BitWriter::new(&mut buffer);
                w.write_varint(value);
                assert_eq!(w.bit_len(), varint_bits(value) as usize, "{value}");
            }
        }
    }

    #[test]
    fn zigzag_inverts() {
        for value in [0, -1, 1, -2, 2, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
    }
}
