//! What two peers found to differ, kept in a replay.

use core::fmt;

use samestep_wire::{BitReader, DecodeError};

use crate::Tick;
use crate::bytes::put;

/// A report of two states that should have been the same, as seen by the one whose state is wrong.
///
/// Whoever plays the replay up to [`tick`](Self::tick) can tell by the checksum which of the two the rules lead to, here and now: that of
/// the others (something had changed the state that was not a rule), one's own (the rules themselves differ between two machines), or neither.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Divergence {
    /// Where the checksums differed first, as far as was checked.
    pub tick: Tick,
    /// What differs, in words: entity, field, both values.
    pub description: String,
    /// What is wrong.
    pub ours: DivergedState,
    /// What is right, because most or the authority say so.
    pub theirs: DivergedState,
}

/// One side of a [`Divergence`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DivergedState {
    /// The checksum of the state.
    pub checksum: u64,
    /// The differing rows, exactly as transferred.
    pub rows: Vec<u8>,
}

impl Divergence {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.tick.0);
        push_bytes(&mut out, self.description.as_bytes());
        for side in [&self.ours, &self.theirs] {
            out.extend_from_slice(&side.checksum.to_le_bytes());
            push_bytes(&mut out, &side.rows);
        }
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = BitReader::new(bytes);
        let tick = Tick(r.read_varint()?);
        let description = core::str::from_utf8(read_bytes(&mut r)?);
        let description = description.map_err(|_| DecodeError::BadUtf8)?.into();
        let mut side = || -> Result<DivergedState, DecodeError> {
            Ok(DivergedState {
                checksum: r.read_u64()?,
                rows: read_bytes(&mut r)?.to_vec(),
            })
        };
        let (ours, theirs) = (side()?, side()?);
        r.finish()?;
        Ok(Self {
            tick,
            description,
            ours,
            theirs,
        })
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ours, theirs) = (self.ours.checksum, self.theirs.checksum);
        write!(f, "at tick {}: {}", self.tick, self.description)?;
        write!(f, " (checksums: ours {ours:016x}, theirs {theirs:016x})")
    }
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn read_bytes<'a>(r: &mut BitReader<'a>) -> Result<&'a [u8], DecodeError> {
    let len = usize::try_from(r.read_varint()?).map_err(|_| DecodeError::TooLong)?;
    r.read_bytes(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_as_written_and_never_from_less() {
        let divergence = Divergence {
            tick: Tick(4242),
            description: "unit 17: health is 80 here and 79 there".into(),
            ours: DivergedState {
                checksum: u64::MAX,
                rows: b"ours".to_vec(),
            },
            theirs: DivergedState {
                checksum: 7,
                rows: Vec::new(),
            },
        };
        let bytes = divergence.encode();
        assert_eq!(Divergence::decode(&bytes), Ok(divergence));
        for len in 0..bytes.len() {
            assert!(Divergence::decode(&bytes[..len]).is_err());
        }
    }
}
