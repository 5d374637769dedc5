//! Matches in a file: recorded as they happen, played back, seeked, verified.
//!
//! A replay holds a state to begin with and what the players did in every tick after; the rules do the rest. WIRE.md has the format.

pub(crate) mod chunk;
mod cursor;
mod divergence;
mod playback;
mod recorder;
pub(crate) mod ticks;

use core::fmt;
use core::ops::Range;

use samestep_wire::{BitReader, DecodeError};
use thiserror::Error;

use self::chunk::{Broken, Chunks, Kind, MAGIC};
use self::ticks::{BodyItem, MAX_TICKS, TicksReader};
use crate::{Simulation, Tick, TickInputs};

pub use self::divergence::{DivergedState, Divergence};
pub use self::playback::{Deviation, Playback, Progress, Verified, VerifyError};
pub use self::recorder::{Recorder, RecorderConfig};

/// Which game a replay is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayHeader {
    /// [`Simulation::NAME`]; at most 64 bytes are kept.
    pub game: String,
    /// [`Simulation::VERSION`].
    pub version: u32,
    /// [`Simulation::TICKS_PER_SECOND`], so that a player without the rules can tell the time.
    pub ticks_per_second: u32,
}

impl ReplayHeader {
    const MAX_NAME: usize = 64;

    /// That of a game.
    pub fn of<S: Simulation>() -> Self {
        Self {
            game: S::NAME.into(),
            version: S::VERSION,
            ticks_per_second: S::TICKS_PER_SECOND,
        }
    }

    /// Whether the rules of `S` are those it was recorded with.
    pub fn check<S: Simulation>(&self) -> Result<(), ReplayError> {
        if self.game != S::NAME {
            return Err(ReplayError::AnotherGame {
                recorded: self.game.clone(),
                ours: S::NAME,
            });
        }
        if self.version != S::VERSION {
            return Err(ReplayError::AnotherVersion {
                recorded: self.version,
                ours: S::VERSION,
            });
        }
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = BitReader::new(bytes);
        let len = r.read_varint()?;
        if len > Self::MAX_NAME as u64 {
            return Err(DecodeError::TooLong);
        }
        let game = core::str::from_utf8(r.read_bytes(len as usize)?);
        let game = game.map_err(|_| DecodeError::BadUtf8)?.into();
        let mut number = || u32::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange);
        let (version, ticks_per_second) = (number()?, number()?);
        r.finish()?;
        Ok(Self {
            game,
            version,
            ticks_per_second,
        })
    }
}

/// Why a recording stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The game was over, or the program left it.
    Finished,
    /// It had become as large as it was allowed to.
    Full,
    /// Ticks went by that nobody recorded.
    Gap,
}

impl Ending {
    const ALL: [Ending; 3] = [Ending::Finished, Ending::Full, Ending::Gap];
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ending::Finished => "the recording was finished",
            Ending::Full => "the recording stopped at its size limit",
            Ending::Gap => "the recording stopped because ticks were missing",
        })
    }
}

/// Where and why a file cannot be read on. What comes before plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Byte of the file.
    pub at: usize,
    /// Whether the file merely ends too early, as after a crash.
    pub cut_off: bool,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cut_off {
            true => write!(
                f,
                "the file is cut off in the part that begins at byte {}",
                self.at
            ),
            false => write!(
                f,
                "the file is damaged in the part that begins at byte {}",
                self.at
            ),
        }
    }
}

/// A replay that was read from bytes.
#[derive(Clone, Debug)]
pub struct Replay {
    file: Vec<u8>,
    header: ReplayHeader,
    segments: Vec<Segment>,
    divergences: Vec<Divergence>,
    ending: Option<Ending>,
    damage: Option<Damage>,
}

/// The ticks from one given state to the next.
#[derive(Clone, Debug)]
struct Segment {
    first: Tick,
    /// Where it ends: at the next segment, or before a gap.
    end: Tick,
    checkpoint: Range<usize>,
    runs: Vec<Run>,
    /// In the order of ticks.
    checksums: Vec<(Tick, u64)>,
}

#[derive(Clone, Debug)]
struct Run {
    first: Tick,
    body: Range<usize>,
}

impl Replay {
    /// Reads a replay. Of a file that is damaged or cut off, what comes before is good: see [`damage`](Self::damage).
    pub fn parse(file: Vec<u8>) -> Result<Self, ReplayError> {
        let magic = file.get(..MAGIC.len()).ok_or(ReplayError::NoReplay)?;
        if magic[..MAGIC.len() - 1] != MAGIC[..MAGIC.len() - 1] {
            return Err(ReplayError::NoReplay);
        }
        if magic != MAGIC {
            let format = magic[MAGIC.len() - 1];
            return Err(ReplayError::AnotherFormat(format));
        }
        let mut chunks = Chunks::new(&file);
        let Ok(Some((Kind::Header, body))) = chunks.next() else {
            return Err(ReplayError::NoBeginning);
        };
        let header = ReplayHeader::decode(&file[body]).map_err(|_| ReplayError::NoBeginning)?;
        let mut replay = Self {
            file: Vec::new(),
            header,
            segments: Vec::new(),
            divergences: Vec::new(),
            ending: None,
            damage: None,
        };
        loop {
            let at = chunks.position();
            let read = chunks.next().and_then(|chunk| {
                let Some((kind, body)) = chunk else {
                    return Ok(false);
                };
                let offset = body.start;
                let taken = replay.take(kind, &file[body], offset);
                taken.map(|()| true).map_err(|_| Broken::Damaged)
            });
            match read {
                Ok(true) => {}
                Ok(false) => break,
                Err(broken) => {
                    let cut_off = broken == Broken::Short;
                    replay.damage = Some(Damage { at, cut_off });
                    break;
                }
            }
        }
        if replay.segments.is_empty() {
            return Err(ReplayError::NoBeginning);
        }
        replay.file = file;
        Ok(replay)
    }

    fn take(&mut self, kind: Kind, body: &[u8], offset: usize) -> Result<(), DecodeError> {
        match kind {
            Kind::Header => Err(DecodeError::OutOfRange),
            Kind::Checkpoint => self.take_checkpoint(body, offset),
            Kind::Ticks => self.take_ticks(body, offset),
            Kind::Divergence => {
                self.divergences.push(Divergence::decode(body)?);
                Ok(())
            }
            Kind::End => {
                let [code] = body else {
                    return Err(DecodeError::OutOfRange);
                };
                let ending = Ending::ALL.get(usize::from(*code));
                self.ending = Some(*ending.ok_or(DecodeError::UnknownVariant)?);
                Ok(())
            }
        }
    }

    fn take_checkpoint(&mut self, body: &[u8], offset: usize) -> Result<(), DecodeError> {
        let mut r = BitReader::new(body);
        let first = Tick(r.read_varint()?);
        if first.0 > u64::MAX / 2 {
            return Err(DecodeError::OutOfRange);
        }
        let state = offset + body.len() - r.remaining_bits() / 8;
        self.segments.retain(|segment| segment.first < first);
        if let Some(last) = self.segments.last_mut() {
            last.end = last.end.min(first);
            last.runs.retain(|run| run.first < first);
            last.checksums.retain(|(tick, _)| *tick < first);
        }
        self.segments.push(Segment {
            first,
            end: first,
            checkpoint: state..offset + body.len(),
            runs: Vec::new(),
            checksums: Vec::new(),
        });
        Ok(())
    }

    /// Reads them once, so that they can be relied on later.
    fn take_ticks(&mut self, body: &[u8], offset: usize) -> Result<(), DecodeError> {
        let segment = self.segments.last_mut().ok_or(DecodeError::OutOfRange)?;
        let mut reader = TicksReader::new(body)?;
        let first = reader.next();
        if first != segment.end {
            return Err(DecodeError::OutOfRange);
        }
        let mut checksums = Vec::new();
        let mut inputs = TickInputs::new();
        while let Some(item) = reader.read(body, &mut inputs)? {
            match item {
                BodyItem::Tick(tick) if tick.since(first) >= MAX_TICKS => {
                    return Err(DecodeError::OutOfRange);
                }
                BodyItem::Tick(_) => {}
                BodyItem::Checksum(tick, _) if tick < segment.first => {
                    return Err(DecodeError::OutOfRange);
                }
                BodyItem::Checksum(tick, checksum) => checksums.push((tick, checksum)),
            }
        }
        segment.end = reader.next();
        segment.checksums.extend(checksums);
        segment.checksums.sort_by_key(|(tick, _)| *tick);
        let body = offset..offset + body.len();
        segment.runs.push(Run { first, body });
        Ok(())
    }

    /// Which game it is of.
    pub fn header(&self) -> &ReplayHeader {
        &self.header
    }

    /// The tick it begins at.
    pub fn first(&self) -> Tick {
        self.segments[0].first
    }

    /// The tick it ends at: that after the last step.
    pub fn end(&self) -> Tick {
        self.segments[self.segments.len() - 1].end
    }

    /// The states it contains, with their ticks: the one it begins with, and those that replaced what was simulated.
    pub fn checkpoints(&self) -> impl Iterator<Item = (Tick, &[u8])> {
        let segments = self.segments.iter();
        segments.map(|segment| (segment.first, &self.file[segment.checkpoint.clone()]))
    }

    /// The state a segment begins with.
    fn checkpoint_of(&self, segment: usize) -> (Tick, &[u8]) {
        let segment = &self.segments[segment];
        (segment.first, &self.file[segment.checkpoint.clone()])
    }

    /// The segment a tick lies in, and the tick itself or the nearest one there is.
    fn place_of(&self, tick: Tick) -> (usize, Tick) {
        let after = self
            .segments
            .partition_point(|segment| segment.first <= tick);
        let at = after.saturating_sub(1);
        let segment = &self.segments[at];
        (at, tick.clamp(segment.first, segment.end))
    }

    fn checksum_at(&self, segment: usize, tick: Tick) -> Option<u64> {
        let checksums = &self.segments[segment].checksums;
        let at = checksums
            .binary_search_by_key(&tick, |(tick, _)| *tick)
            .ok()?;
        Some(checksums[at].1)
    }

    /// The checksums it contains.
    pub fn checksums(&self) -> impl Iterator<Item = (Tick, u64)> {
        self.segments
            .iter()
            .flat_map(|segment| segment.checksums.iter().copied())
    }

    /// Divergences that were found while it was recorded.
    pub fn divergences(&self) -> &[Divergence] {
        &self.divergences
    }

    /// Why the recording stopped; `None` if it was still going on.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Where the file ceases to be readable; `None` if it is sound.
    pub fn damage(&self) -> Option<Damage> {
        self.damage
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.file.len()
    }
}

/// Why a file is not played.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It is something else.
    #[error("this is not a replay")]
    NoReplay,
    /// It is a replay in a later format.
    #[error("this replay has format {0}, this program reads format {format}: use the program it was recorded with", format = MAGIC[MAGIC.len() - 1])]
    AnotherFormat(u8),
    /// Its header or its first state is damaged: there is nothing to begin with.
    #[error("the beginning of this replay is damaged: there is nothing to play")]
    NoBeginning,
    /// It was recorded by another game.
    #[error("this is a replay of {recorded}, not of {ours}")]
    AnotherGame {
        /// The game it was recorded with.
        recorded: String,
        /// The game that should play it.
        ours: &'static str,
    },
    /// It was recorded with other rules of the same game.
    #[error(
        "recorded with version {recorded} of the rules, these are version {ours}: use the program it was recorded with"
    )]
    AnotherVersion {
        /// The version it was recorded with.
        recorded: u32,
        /// The version of the rules here.
        ours: u32,
    },
}

#[cfg(test)]
mod tests;
