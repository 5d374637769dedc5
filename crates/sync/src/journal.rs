//! The journal of an authority: what a program that was killed needs to go on after a restart, as bytes of a file.
//!
//! A write-ahead log with checkpoints: a state now and then, and every tick's inputs since, as records that end with a checksum which continues
//! that of the record before. Whoever keeps the file appends what [`JournalWriter::take`] gives, and begins a new file with every state.

use core::time::Duration;

use thiserror::Error;

use crate::bytes::{Bytes, put};
use crate::replay::chunk::crc;
use crate::{FeedError, Model, Standby, World, WorldLayout};

/// What a journal begins with; a byte with the version of the format follows.
const MAGIC: [u8; 16] = *b"samestep journal";
const VERSION: u8 = 1;
/// The longest record.
const MAX_RECORD: usize = 1 << 28;
/// A new file is begun when what was written since the last state is this many times as long as that, and at least so many bytes.
const GROWTH: usize = 4;
const MIN_GROWTH: usize = 1 << 20;
/// The longest name of a game or a model, in bytes.
const MAX_NAME: usize = 255;

const HEADER: u8 = 0;
const ROOM: u8 = 1;
const PROGRAM: u8 = 2;
const CLOCK: u8 = 3;
const FEED: u8 = 4;
const LAST: u8 = FEED;

/// What game a journal is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JournalHeader {
    /// The game's name.
    pub game: String,
    /// The version of its rules.
    pub version: u32,
    /// The model.
    pub model: String,
    /// Ticks per second.
    pub ticks_per_second: u32,
    /// Hashes of the game's types.
    pub layout: WorldLayout,
}

impl JournalHeader {
    /// That of a game under a model.
    pub fn of(
        game: &str,
        version: u32,
        model: &(impl Model + ?Sized),
        world: &impl World,
    ) -> JournalHeader {
        JournalHeader {
            game: game.into(),
            version,
            model: model.name(),
            ticks_per_second: world.ticks_per_second(),
            layout: world.layout(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for name in [&self.game, &self.model] {
            let mut len = name.len().min(MAX_NAME);
            while !name.is_char_boundary(len) {
                len -= 1;
            }
            put(&mut out, len as u64);
            out.extend_from_slice(&name.as_bytes()[..len]);
        }
        put(&mut out, self.version.into());
        put(&mut out, self.ticks_per_second.into());
        for hash in [self.layout.state, self.layout.input, self.layout.event] {
            out.extend_from_slice(&hash.to_le_bytes());
        }
        out
    }

    fn read(body: &[u8]) -> Option<JournalHeader> {
        let mut r = Bytes(body);
        let name = |r: &mut Bytes<'_>| {
            let len = usize::try_from(r.number()?).ok()?;
            let name = r.take(len).filter(|name| name.len() <= MAX_NAME)?;
            String::from_utf8(name.to_vec()).ok()
        };
        Some(JournalHeader {
            game: name(&mut r)?,
            model: name(&mut r)?,
            version: u32::try_from(r.number()?).ok()?,
            ticks_per_second: u32::try_from(r.number()?).ok()?,
            layout: WorldLayout {
                state: r.fixed()?,
                input: r.fixed()?,
                event: r.fixed()?,
            },
        })
    }
}

/// The program's own clock, and the time of day at that moment: after a restart the first goes on by as much as the second has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JournalClock {
    /// The program's own clock, which the common time of the room follows.
    pub now: Duration,
    /// The time of day, since 1970.
    pub time_of_day: Duration,
}

/// Writes a journal.
///
/// ```
/// use core::time::Duration;
/// use samestep_sync::{Journal, JournalClock, JournalError, JournalHeader, JournalWriter, WorldLayout};
///
/// let header = JournalHeader {
///     game: "pong".into(),
///     version: 1,
///     model: "state-sync".into(),
///     ticks_per_second: 60,
///     layout: WorldLayout::default(),
/// };
/// let mut journal = JournalWriter::new(&header);
/// journal.room(b"who is in it");
/// journal.clock(JournalClock { now: Duration::from_secs(7), time_of_day: Duration::from_secs(1_800_000_000) });
/// journal.state(b"what a model's begin_feed gives");
/// let mut file = journal.take();
/// journal.ticks(b"what its feed gives");
/// file.extend(journal.take());
///
/// // The machine stopped while it wrote the last record: that one is cut off.
/// journal.ticks(b"more");
/// file.extend(&journal.take()[..5]);
/// let found = Journal::parse(&file)?;
/// assert_eq!(found.header(), &header);
/// assert_eq!(found.room(), b"who is in it");
/// assert_eq!(found.torn_bytes(), 5);
/// # Ok::<(), JournalError>(())
/// ```
#[derive(Clone, Debug)]
pub struct JournalWriter {
    header: JournalHeader,
    out: Vec<u8>,
    check: u32,
    state_bytes: usize,
    /// Bytes since the last state.
    since_state: usize,
}

impl JournalWriter {
    /// A journal that begins with its header.
    pub fn new(header: &JournalHeader) -> JournalWriter {
        let mut writer = JournalWriter {
            header: header.clone(),
            out: Vec::new(),
            check: 0,
            state_bytes: 0,
            since_state: 0,
        };
        writer.restart();
        writer
    }

    /// Begins a new file. What has not been taken of the old one is dropped.
    pub fn restart(&mut self) {
        self.out.clear();
        self.out.extend_from_slice(&MAGIC);
        self.out.push(VERSION);
        self.check = crc(0, &self.out);
        (self.state_bytes, self.since_state) = (0, 0);
        let header = self.header.encode();
        self.append(HEADER, &header);
    }

    /// Who is in the room, and all else that was agreed there, in place of what was said before.
    pub fn room(&mut self, room: &[u8]) {
        self.append(ROOM, room);
    }

    /// What the program itself wants to find again, in place of what was said before.
    pub fn program(&mut self, program: &[u8]) {
        self.append(PROGRAM, program);
    }

    /// What time it is.
    pub fn clock(&mut self, clock: JournalClock) {
        let mut body = Vec::new();
        put(&mut body, clock.now.as_micros() as u64);
        put(&mut body, clock.time_of_day.as_micros() as u64);
        self.append(CLOCK, &body);
    }

    /// The state at a tick: a record of [`Model::begin_feed`].
    pub fn state(&mut self, record: &[u8]) {
        self.append(FEED, record);
        (self.state_bytes, self.since_state) = (record.len(), 0);
    }

    /// The ticks since: a record of [`Model::feed`].
    pub fn ticks(&mut self, record: &[u8]) {
        self.append(FEED, record);
    }

    /// What was written since this was called last.
    pub fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.out)
    }

    /// Whether so much was written since the last state that a new file should begin with another.
    pub fn has_grown(&self) -> bool {
        self.since_state > MIN_GROWTH.max(self.state_bytes.saturating_mul(GROWTH))
    }

    fn append(&mut self, kind: u8, body: &[u8]) {
        let start = self.out.len();
        self.out.push(kind);
        put(&mut self.out, body.len() as u64);
        self.out.extend_from_slice(body);
        self.check = crc(self.check, &self.out[start..]);
        self.out.extend_from_slice(&self.check.to_le_bytes());
        self.since_state += self.out.len() - start;
    }
}

/// A journal that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Journal {
    header: JournalHeader,
    room: Vec<u8>,
    program: Vec<u8>,
    clock: JournalClock,
    records: Vec<Vec<u8>>,
    torn_bytes: usize,
}

/// Why a journal cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum JournalError {
    /// The bytes are something else.
    #[error("this is not a journal")]
    NotAJournal,
    /// The journal is of another version of the format.
    #[error("this is a journal of version {0}, and this program reads version {VERSION}")]
    Version(u8),
    /// A record in the middle is damaged, with others behind it.
    #[error("it is damaged at byte {at}, with more behind it")]
    Damaged {
        /// Where the damaged record begins.
        at: usize,
    },
    /// There is no state to go on from.
    #[error("there is no state in it to go on from")]
    NoState,
}

impl Journal {
    /// Reads a journal. A last record that is not whole is cut off: the program was stopped while it wrote that.
    pub fn parse(file: &[u8]) -> Result<Journal, JournalError> {
        let start = MAGIC.len() + 1;
        let is_journal = file.len() >= start && file[..MAGIC.len()] == MAGIC;
        if !is_journal {
            return Err(JournalError::NotAJournal);
        }
        if file[MAGIC.len()] != VERSION {
            return Err(JournalError::Version(file[MAGIC.len()]));
        }
        let (mut header, mut journal) = (None, Found::default());
        let (mut at, mut check) = (start, crc(0, &file[..start]));
        while at < file.len() {
            let rest = &file[at..];
            let Some(record) = read_record(rest, check) else {
                match is_torn(rest) {
                    true => break,
                    false => return Err(JournalError::Damaged { at }),
                }
            };
            let damaged = JournalError::Damaged { at };
            match record.kind {
                HEADER => header = Some(JournalHeader::read(record.body).ok_or(damaged)?),
                ROOM => journal.room = record.body.to_vec(),
                PROGRAM => journal.program = record.body.to_vec(),
                CLOCK => journal.clock = read_clock(record.body).ok_or(damaged)?,
                _ => journal.records.push(record.body.to_vec()),
            }
            (at, check) = (at + record.len, record.check);
        }
        let header = header.filter(|_| !journal.records.is_empty());
        Ok(Journal {
            header: header.ok_or(JournalError::NoState)?,
            room: journal.room,
            program: journal.program,
            clock: journal.clock,
            records: journal.records,
            torn_bytes: file.len() - at,
        })
    }

    /// What game it is of.
    pub fn header(&self) -> &JournalHeader {
        &self.header
    }

    /// What was agreed in the room.
    pub fn room(&self) -> &[u8] {
        &self.room
    }

    /// What the program itself has kept.
    pub fn program(&self) -> &[u8] {
        &self.program
    }

    /// What time it was when the last record was written, or a moment before.
    pub fn clock(&self) -> JournalClock {
        self.clock
    }

    /// The bytes at its end that are not a whole record.
    pub fn torn_bytes(&self) -> usize {
        self.torn_bytes
    }

    /// Brings a world to the last tick: the standby has what it takes to go on from there.
    pub fn replay(&self, world: &mut dyn World) -> Result<Standby, FeedError> {
        let mut standby = Standby::new();
        for record in &self.records {
            standby.handle(record, world)?;
        }
        Ok(standby)
    }
}

#[derive(Default)]
struct Found {
    room: Vec<u8>,
    program: Vec<u8>,
    clock: JournalClock,
    records: Vec<Vec<u8>>,
}

struct RawRecord<'a> {
    kind: u8,
    body: &'a [u8],
    /// Its bytes in all.
    len: usize,
    check: u32,
}

fn read_record(rest: &[u8], check: u32) -> Option<RawRecord<'_>> {
    let mut r = Bytes(rest);
    let kind = r.byte().filter(|kind| *kind <= LAST)?;
    let len = body_len(&mut r)?;
    let body = r.take(len)?;
    let check = crc(check, &rest[..rest.len() - r.0.len()]);
    let stored = r.take(4)?;
    (stored == check.to_le_bytes()).then_some(RawRecord {
        kind,
        body,
        len: rest.len() - r.0.len(),
        check,
    })
}

fn body_len(r: &mut Bytes<'_>) -> Option<usize> {
    let len = r.number().and_then(|len| usize::try_from(len).ok());
    len.filter(|len| *len <= MAX_RECORD)
}

/// Whether a record that is not whole is the end of a file that was being written: it reaches to the end or beyond, or only zeros follow, as a file
/// system may leave them.
fn is_torn(rest: &[u8]) -> bool {
    let mut r = Bytes(rest);
    r.byte();
    let end = body_len(&mut r).map(|len| rest.len() - r.0.len() + len + 4);
    let reaches_end = match end {
        Some(end) => end >= rest.len(),
        // A length of several bytes that ends with the file.
        None => rest.len() < 6,
    };
    reaches_end || rest.iter().all(|byte| *byte == 0)
}

fn read_clock(body: &[u8]) -> Option<JournalClock> {
    let mut r = Bytes(body);
    let mut time = || r.number().map(Duration::from_micros);
    Some(JournalClock {
        now: time()?,
        time_of_day: time()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> JournalHeader {
        JournalHeader {
            game: "boat".into(),
            version: 3,
            model: "rewind".into(),
            ticks_per_second: 20,
            layout: WorldLayout {
                state: 1,
                input: u64::MAX,
                event: 7,
            },
        }
    }

    fn example() -> (Vec<u8>, Vec<usize>) {
        let mut writer = JournalWriter::new(&header());
        writer.room(b"room");
        writer.program(b"program");
        writer.clock(JournalClock {
            now: Duration::from_micros(77),
            time_of_day: Duration::from_secs(1_800_000_000),
        });
        writer.state(b"state");
        let (mut file, mut ends) = (writer.take(), Vec::new());
        ends.push(file.len());
        for number in 0..5u8 {
            writer.ticks(&[number; 200]);
            writer.room(&[number]);
            file.extend(writer.take());
            ends.push(file.len());
        }
        (file, ends)
    }

    #[test]
    fn a_journal_is_read_as_it_was_written() {
        let (file, _) = example();
        let journal = Journal::parse(&file).unwrap();
        assert_eq!(journal.header(), &header());
        assert_eq!(
            (journal.room(), journal.program()),
            (&[4][..], &b"program"[..])
        );
        assert_eq!(journal.clock().now, Duration::from_micros(77));
        assert_eq!((journal.records.len(), journal.torn_bytes()), (6, 0));
        assert_eq!(journal.records[0], b"state");
    }

    #[test]
    fn wherever_it_is_cut_off_all_whole_records_are_there() {
        let (file, ends) = example();
        for len in ends[0]..file.len() {
            let journal = Journal::parse(&file[..len]).unwrap();
            let whole = ends.iter().filter(|end| **end <= len).count();
            assert!(journal.records.len() >= whole, "{len}");
            let room = journal.room().first().copied();
            assert!(
                whole < 2 || room >= Some(whole as u8 - 2),
                "{len}: {room:?}"
            );
        }
        for len in 0..ends[0] {
            // Before the first state there is nothing to go on from.
            assert!(Journal::parse(&file[..len]).is_err(), "{len}");
        }
        let mut zeros = file.clone();
        zeros.extend([0; 4096]);
        assert_eq!(Journal::parse(&zeros).unwrap().torn_bytes(), 4096);
    }

    #[test]
    fn damage_in_the_middle_is_found() {
        let (file, ends) = example();
        assert_eq!(Journal::parse(b"samestep"), Err(JournalError::NotAJournal));
        let mut other = file.clone();
        other[16] = 9;
        assert_eq!(Journal::parse(&other), Err(JournalError::Version(9)));
        for at in ends[0]..ends[3] {
            let mut damaged = file.clone();
            damaged[at] ^= 0x04;
            match Journal::parse(&damaged) {
                Err(JournalError::Damaged { .. }) => {}
                // A length that reaches beyond the end looks like a record that was being written.
                Ok(journal) => assert!(journal.torn_bytes() > 0, "{at}"),
                other => panic!("{at}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_journal_that_has_grown_begins_anew() {
        let mut writer = JournalWriter::new(&header());
        writer.state(b"state");
        assert!(!writer.has_grown());
        writer.ticks(&vec![0; MIN_GROWTH]);
        assert!(writer.has_grown());
        writer.take();
        writer.restart();
        writer.state(b"state");
        assert!(!writer.has_grown());
        assert!(Journal::parse(&writer.take()).is_ok());
    }
}
