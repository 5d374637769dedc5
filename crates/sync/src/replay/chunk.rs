//! The pieces a replay consists of: each says what it is and how long, and ends with a checksum.

use crate::bytes::put;
use core::ops::Range;

use samestep_wire::BitReader;

/// What a replay begins with. The last byte is the version of the format.
pub(super) const MAGIC: [u8; 16] = *b"samestep replay\x01";

/// A replay's checkpoint, the largest piece, has a few hundred kilobytes. Who claims more is not believed.
pub(super) const MAX_BODY: usize = 1 << 28;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Header,
    Checkpoint,
    Ticks,
    Divergence,
    End,
}

impl Kind {
    const ALL: [Kind; 5] = [
        Kind::Header,
        Kind::Checkpoint,
        Kind::Ticks,
        Kind::Divergence,
        Kind::End,
    ];
}

/// Appends a chunk to a file that has the checksum `check` so far, and returns the new one. It continues the one before,
/// so that a chunk which is missing or out of place shows.
pub(super) fn append(file: &mut Vec<u8>, check: u32, kind: Kind, body: &[u8]) -> u32 {
    let start = file.len();
    file.push(kind as u8);
    put(file, body.len() as u64);
    file.extend_from_slice(body);
    let check = crc(check, &file[start..]);
    file.extend_from_slice(&check.to_le_bytes());
    check
}

/// Why the next chunk cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Broken {
    /// The bytes end within it.
    Short,
    /// Its checksum is another, or there is no such kind.
    Damaged,
}

/// Reads chunks one after the other.
pub(super) struct Chunks<'a> {
    file: &'a [u8],
    at: usize,
    check: u32,
}

impl<'a> Chunks<'a> {
    /// Of a file that begins with [`MAGIC`].
    pub(super) fn new(file: &'a [u8]) -> Self {
        Self {
            file,
            at: MAGIC.len(),
            check: crc(0, &MAGIC),
        }
    }

    /// Where the next one begins.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The checksum of everything read so far.
    #[cfg(test)]
    pub(super) fn check(&self) -> u32 {
        self.check
    }

    /// The next one and where its body is; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<(Kind, Range<usize>)>, Broken> {
        let rest = &self.file[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let mut r = BitReader::new(rest);
        let kind = r.read_u8().map_err(|_| Broken::Short)?;
        let kind = Kind::ALL.get(usize::from(kind)).ok_or(Broken::Damaged)?;
        let len = r.read_varint().map_err(|_| Broken::Short)?;
        let len = usize::try_from(len).map_err(|_| Broken::Damaged)?;
        if len > MAX_BODY {
            return Err(Broken::Damaged);
        }
        let head = rest.len() - r.remaining_bits() / 8;
        let end = head + len;
        let stored = rest.get(end..end + 4).ok_or(Broken::Short)?;
        let check = crc(self.check, &rest[..end]);
        // A fuzzer would not get beyond it.
        if check.to_le_bytes() != stored && !cfg!(fuzzing) {
            return Err(Broken::Damaged);
        }
        let body = self.at + head..self.at + end;
        self.check = check;
        self.at += end + 4;
        Ok(Some((*kind, body)))
    }
}

/// CRC-32 (as of Ethernet, zip and PNG) of bytes that come after others with the value `before`.
pub(crate) fn crc(before: u32, bytes: &[u8]) -> u32 {
    let mut value = !before;
    for byte in bytes {
        value = (value >> 8) ^ TABLE[usize::from(value as u8 ^ byte)];
    }
    !value
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = (value >> 1) ^ (0xedb8_8320 * (value & 1));
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_is_the_well_known_one_and_can_be_continued() {
        assert_eq!(crc(0, b"123456789"), 0xcbf4_3926);
        assert_eq!(crc(crc(0, b"1234"), b"56789"), 0xcbf4_3926);
    }

    #[test]
    fn a_chunk_that_is_missing_shows_in_those_after_it() {
        let mut file = MAGIC.to_vec();
        let check = append(&mut file, crc(0, &MAGIC), Kind::Header, b"abc");
        let first = file.len();
        let check = append(&mut file, check, Kind::Ticks, b"d");
        let second = file.len();
        append(&mut file, check, Kind::End, b"");

        let mut chunks = Chunks::new(&file);
        let (kind, body) = chunks.next().unwrap().unwrap();
        assert_eq!((kind, &file[body]), (Kind::Header, &b"abc"[..]));
        assert_eq!(chunks.next().unwrap().unwrap().0, Kind::Ticks);
        assert_eq!(chunks.next().unwrap().unwrap().0, Kind::End);
        assert_eq!(chunks.next(), Ok(None));

        let mut without = file.clone();
        without.drain(first..second);
        let mut chunks = Chunks::new(&without);
        assert!(chunks.next().is_ok());
        assert_eq!(chunks.next(), Err(Broken::Damaged));
    }
}
