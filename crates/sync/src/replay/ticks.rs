//! The inputs of a run of ticks, as bytes.
//!
//! A body names its first tick and the players present; operations follow. Ticks without inputs make a run. Each body can be read by itself.

use samestep_wire::{BitReader, DecodeError};

use crate::bytes::put;
use crate::{PlayerId, Tick, TickInputs, UpdateWindow, ViewTime};

/// The maximum ticks of a body: a few bytes cannot stand for years, and seeking reads little.
pub(crate) const MAX_TICKS: u64 = 4096;

const QUIET: u64 = 0;
const INPUTS: u64 = 1;
const PLAYERS: u64 = 2;
const CHECKSUM: u64 = 3;
/// The view times of players, before the inputs of the same tick.
const VIEW_TIMES: u64 = 1 << 2 | PLAYERS;
/// The players that are away, if they are others than before; nobody is at the beginning of a body.
const AWAY: u64 = 2 << 2 | PLAYERS;
/// The ticks of the update window, if they are more or fewer than before; there is no window at the beginning of a body.
const WINDOW: u64 = 3 << 2 | PLAYERS;

/// Writes one body.
#[derive(Clone, Debug)]
pub(crate) struct TicksWriter {
    first: Tick,
    next: Tick,
    quiet: u64,
    players: Vec<PlayerId>,
    away: Vec<(PlayerId, Tick)>,
    window: u16,
    body: Vec<u8>,
    /// Bytes of the body before its first operation.
    head: usize,
}

impl TicksWriter {
    /// A body that begins at `first`; nobody is present until inputs say otherwise.
    pub(crate) fn new(first: Tick) -> Self {
        let mut writer = Self {
            first,
            next: first,
            quiet: 0,
            players: Vec::new(),
            away: Vec::new(),
            window: 0,
            body: Vec::new(),
            head: 0,
        };
        writer.begin(first);
        writer
    }

    /// Starts the next body, with the same players present.
    pub(crate) fn begin(&mut self, first: Tick) {
        (self.first, self.next, self.quiet) = (first, first, 0);
        self.body.clear();
        put(&mut self.body, first.0);
        push_players(&mut self.body, &self.players);
        if !self.away.is_empty() {
            push_away(&mut self.body, &self.away);
        }
        if self.window > 0 {
            push_window(&mut self.body, self.window);
        }
        self.head = self.body.len();
    }

    pub(crate) fn first(&self) -> Tick {
        self.first
    }

    /// The tick that comes next.
    pub(crate) fn next(&self) -> Tick {
        self.next
    }

    pub(crate) fn len(&self) -> usize {
        self.body.len()
    }

    /// Whether it contains no tick and no checksum yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.quiet == 0 && self.body.len() == self.head
    }

    /// Adds the tick that comes next.
    pub(crate) fn tick(&mut self, inputs: &TickInputs) {
        if self.players != inputs.players() {
            self.end_run();
            self.players.clear();
            self.players.extend_from_slice(inputs.players());
            put(&mut self.body, PLAYERS);
            push_players(&mut self.body, &self.players);
        }
        if self.away != inputs.away() {
            self.end_run();
            self.away.clear();
            self.away.extend_from_slice(inputs.away());
            push_away(&mut self.body, &self.away);
        }
        if self.window != inputs.window().ticks {
            self.end_run();
            self.window = inputs.window().ticks;
            push_window(&mut self.body, self.window);
        }
        if inputs.is_empty() {
            self.quiet += 1;
        } else {
            self.end_run();
            push_view_times(&mut self.body, self.next, inputs.view_times());
            put(&mut self.body, (inputs.len() as u64) << 2 | INPUTS);
            for (player, input) in inputs.entries() {
                put(&mut self.body, player.0.into());
                put(&mut self.body, input.len() as u64);
                self.body.extend_from_slice(input);
            }
        }
        self.next = self.next.next();
    }

    /// Adds the checksum of the state `back` ticks before the one that comes next.
    pub(crate) fn checksum(&mut self, back: u64, checksum: u64) {
        self.end_run();
        put(&mut self.body, back << 2 | CHECKSUM);
        self.body.extend_from_slice(&checksum.to_le_bytes());
    }

    /// The body.
    pub(crate) fn finish(&mut self) -> &[u8] {
        self.end_run();
        &self.body
    }

    fn end_run(&mut self) {
        if self.quiet > 0 {
            put(&mut self.body, self.quiet << 2 | QUIET);
            self.quiet = 0;
        }
    }
}

/// Present players as runs of numbers that follow each other: how many runs, and for each the gap before it and its length less one.
fn push_players(out: &mut Vec<u8>, players: &[PlayerId]) {
    let runs = players.chunk_by(|a, b| a.0 + 1 == b.0);
    put(out, runs.clone().count() as u64);
    let mut next = 0;
    for run in runs {
        let (first, last) = (run[0].0, run[run.len() - 1].0);
        put(out, u64::from(first) - next);
        put(out, u64::from(last - first));
        next = u64::from(last) + 1;
    }
}

fn push_away(out: &mut Vec<u8>, away: &[(PlayerId, Tick)]) {
    put(out, AWAY);
    put(out, away.len() as u64);
    for (player, since) in away {
        put(out, player.0.into());
        put(out, since.0);
    }
}

fn read_away(r: &mut BitReader<'_>, into: &mut Vec<(PlayerId, Tick)>) -> Result<(), DecodeError> {
    into.clear();
    for _ in 0..r.read_varint()? {
        let player = u16::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?;
        if into.last().is_some_and(|last| last.0.0 >= player) {
            return Err(DecodeError::OutOfRange);
        }
        into.push((PlayerId(player), Tick(r.read_varint()?)));
    }
    Ok(())
}

fn push_window(out: &mut Vec<u8>, ticks: u16) {
    put(out, WINDOW);
    put(out, ticks.into());
}

/// What was seen, as distances: how many ticks ago it was, to what later tick it went, and how far.
fn push_view_times(out: &mut Vec<u8>, tick: Tick, view_times: &[(PlayerId, ViewTime)]) {
    if view_times.is_empty() {
        return;
    }
    put(out, VIEW_TIMES);
    put(out, view_times.len() as u64);
    for (player, view_time) in view_times {
        put(out, player.0.into());
        put(out, tick.since(view_time.before));
        put(out, view_time.after.since(view_time.before));
        put(out, view_time.fraction.into());
    }
}

fn read_view_times(
    r: &mut BitReader<'_>,
    tick: Tick,
    into: &mut Vec<(PlayerId, ViewTime)>,
) -> Result<(), DecodeError> {
    into.clear();
    for _ in 0..r.read_varint()? {
        let player = u16::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?;
        let before = tick.0.checked_sub(r.read_varint()?);
        let before = before.ok_or(DecodeError::OutOfRange)?;
        let after = before.checked_add(r.read_varint()?);
        let view_time = ViewTime {
            before: Tick(before),
            after: Tick(after.ok_or(DecodeError::OutOfRange)?),
            fraction: u16::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?,
        };
        into.push((PlayerId(player), view_time));
    }
    Ok(())
}

fn read_players(r: &mut BitReader<'_>, into: &mut Vec<PlayerId>) -> Result<(), DecodeError> {
    into.clear();
    let mut next = 0u64;
    for _ in 0..r.read_varint()? {
        let first = next.saturating_add(r.read_varint()?);
        let last = first.saturating_add(r.read_varint()?);
        let range = u16::try_from(first).ok().zip(u16::try_from(last).ok());
        let (first, last) = range.ok_or(DecodeError::OutOfRange)?;
        into.extend((first..=last).map(PlayerId));
        next = u64::from(last) + 1;
    }
    Ok(())
}

/// Reads a body tick by tick. Holds positions, not bytes: the caller passes the same body each time.
#[derive(Clone, Debug, Default)]
pub(crate) struct TicksReader {
    at: usize,
    next: Tick,
    quiet: u64,
    players: Vec<PlayerId>,
    away: Vec<(PlayerId, Tick)>,
    view_times: Vec<(PlayerId, ViewTime)>,
    window: UpdateWindow,
}

/// The next item of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BodyItem {
    /// The inputs of this tick.
    Tick(Tick),
    /// The checksum of the state at this tick.
    Checksum(Tick, u64),
}

impl TicksReader {
    /// At the beginning of `body`.
    pub(crate) fn new(body: &[u8]) -> Result<Self, DecodeError> {
        let mut r = BitReader::new(body);
        let mut reader = Self {
            next: Tick(r.read_varint()?),
            ..Self::default()
        };
        if reader.next.0 > u64::MAX / 2 {
            return Err(DecodeError::OutOfRange);
        }
        read_players(&mut r, &mut reader.players)?;
        reader.at = body.len() - r.remaining_bits() / 8;
        Ok(reader)
    }

    /// The tick that comes next.
    pub(crate) fn next(&self) -> Tick {
        self.next
    }

    /// Reads on, inputs into `inputs`; `None` at the end.
    pub(crate) fn read(
        &mut self,
        body: &[u8],
        inputs: &mut TickInputs,
    ) -> Result<Option<BodyItem>, DecodeError> {
        loop {
            if self.quiet > 0 {
                self.quiet -= 1;
                self.present(inputs);
                return Ok(Some(self.advance()));
            }
            let rest = body.get(self.at..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(None);
            }
            let mut r = BitReader::new(rest);
            let operation = r.read_varint()?;
            let value = operation >> 2;
            let mut item = None;
            match operation & 3 {
                QUIET if value == 0 || value > MAX_TICKS => return Err(DecodeError::OutOfRange),
                QUIET => self.quiet = value,
                INPUTS => {
                    self.present(inputs);
                    read_entries(&mut r, value, inputs)?;
                    for (player, view_time) in self.view_times.drain(..) {
                        inputs.set_view_time(player, view_time);
                    }
                    item = Some(self.advance());
                }
                PLAYERS if operation == VIEW_TIMES => {
                    read_view_times(&mut r, self.next, &mut self.view_times)?;
                }
                PLAYERS if operation == AWAY => read_away(&mut r, &mut self.away)?,
                PLAYERS if operation == WINDOW => {
                    let ticks = u16::try_from(r.read_varint()?);
                    self.window.ticks = ticks.map_err(|_| DecodeError::OutOfRange)?;
                }
                PLAYERS if value != 0 => return Err(DecodeError::OutOfRange),
                PLAYERS => read_players(&mut r, &mut self.players)?,
                _ => {
                    let tick = self.next.0.checked_sub(value);
                    let tick = tick.ok_or(DecodeError::OutOfRange)?;
                    item = Some(BodyItem::Checksum(Tick(tick), r.read_u64()?));
                }
            }
            self.at = body.len() - r.remaining_bits() / 8;
            if item.is_some() {
                return Ok(item);
            }
        }
    }

    fn present(&self, inputs: &mut TickInputs) {
        inputs.clear();
        if inputs.players() != self.players {
            inputs.set_players(&self.players);
        }
        if inputs.away() != self.away {
            inputs.set_away(&self.away);
        }
        inputs.set_window(self.window);
    }

    fn advance(&mut self) -> BodyItem {
        let tick = self.next;
        self.next = tick.next();
        BodyItem::Tick(tick)
    }
}

fn read_entries(
    r: &mut BitReader<'_>,
    count: u64,
    inputs: &mut TickInputs,
) -> Result<(), DecodeError> {
    let mut next = 0;
    for _ in 0..count {
        let player = r.read_varint()?;
        if player < next || player > u16::MAX.into() {
            return Err(DecodeError::OutOfRange);
        }
        next = player + 1;
        let len = usize::try_from(r.read_varint()?).map_err(|_| DecodeError::TooLong)?;
        inputs.push(PlayerId(player as u16), r.read_bytes(len)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn players(ids: &[u16]) -> Vec<PlayerId> {
        ids.iter().map(|id| PlayerId(*id)).collect()
    }

    #[test]
    fn quiet_ticks_cost_nearly_nothing() {
        let mut writer = TicksWriter::new(Tick(7));
        let mut inputs = TickInputs::new();
        inputs.set_players(&players(&[0, 1, 2, 3, 8]));
        for _ in 0..4000 {
            writer.tick(&inputs);
        }
        let before = writer.finish().len();
        assert!(before < 12, "{before} bytes");
    }

    #[test]
    fn what_was_written_is_read() {
        let mut writer = TicksWriter::new(Tick(100));
        let mut inputs = TickInputs::new();
        let mut written = Vec::new();
        for tick in 100..200u64 {
            inputs.clear();
            if tick == 130 {
                inputs.set_players(&players(&[1, 2, 3, 700, 65_535]));
            }
            if tick == 150 {
                inputs.set_away(&[(PlayerId(4), Tick(3)), (PlayerId(900), Tick(149))]);
            }
            if tick == 180 {
                inputs.set_away(&[]);
            }
            if tick == 140 || tick == 160 {
                let ticks = (tick - 134) as u16;
                inputs.set_window(UpdateWindow {
                    ticks,
                    ..Default::default()
                });
            }
            if tick % 7 == 0 {
                inputs.push(PlayerId(1), b"");
                inputs.push(PlayerId(2), &tick.to_le_bytes());
                inputs.push(PlayerId(65_535), &[9; 300]);
                let view_time = ViewTime {
                    before: Tick(tick - 9),
                    after: Tick(tick - 6),
                    fraction: 40_000,
                };
                inputs.set_view_time(PlayerId(2), view_time);
            }
            writer.tick(&inputs);
            written.push((BodyItem::Tick(Tick(tick)), inputs.clone()));
            if tick % 20 == 0 {
                writer.checksum(3, tick * 1_000_003);
                let checked = BodyItem::Checksum(Tick(tick - 2), tick * 1_000_003);
                written.push((checked, inputs.clone()));
            }
        }
        let body = writer.finish().to_vec();
        let mut reader = TicksReader::new(&body).unwrap();
        let mut inputs = TickInputs::new();
        for (item, expected) in written {
            assert_eq!(reader.read(&body, &mut inputs), Ok(Some(item)));
            assert_eq!(inputs, expected);
        }
        assert_eq!(reader.read(&body, &mut inputs), Ok(None));
        assert_eq!(reader.next(), Tick(200));
    }

    #[test]
    fn a_body_tells_by_itself_who_is_away_and_how_long_the_window_is() {
        let mut writer = TicksWriter::new(Tick(10));
        let mut inputs = TickInputs::new();
        inputs.set_players(&players(&[1]));
        inputs.set_away(&[(PlayerId(2), Tick(10))]);
        let window = UpdateWindow {
            ticks: 6,
            ..Default::default()
        };
        inputs.set_window(window);
        writer.tick(&inputs);
        writer.begin(Tick(11));
        assert!(writer.is_empty());
        writer.tick(&inputs);
        let body = writer.finish().to_vec();
        let (mut reader, mut read) = (TicksReader::new(&body).unwrap(), TickInputs::new());
        let item = BodyItem::Tick(Tick(11));
        assert_eq!(reader.read(&body, &mut read), Ok(Some(item)));
        assert_eq!(read, inputs);
    }

    #[test]
    fn claims_beyond_reason_are_refused() {
        let read_all = |body: &[u8]| -> Result<(), DecodeError> {
            let mut reader = TicksReader::new(body)?;
            let mut inputs = TickInputs::new();
            while reader.read(body, &mut inputs)?.is_some() {}
            Ok(())
        };
        let body = |bytes: &[u64]| {
            let mut body = Vec::new();
            bytes.iter().for_each(|value| put(&mut body, *value));
            body
        };
        assert_eq!(read_all(&body(&[0, 0, 5 << 2])), Ok(()));
        let hostile = [
            body(&[u64::MAX, 0]),                       // a tick at the end of time
            body(&[0, 1, 65_530, 6]),                   // players beyond the last
            body(&[0, u64::MAX]),                       // more runs of players than bytes
            body(&[0, 0, !3]),                          // years of silence
            body(&[0, 0, 0]),                           // an operation that does nothing
            body(&[0, 0, 1 << 40 | INPUTS]),            // more inputs than bytes
            body(&[0, 0, 1 << 2 | INPUTS, 0, 1000]),    // an input longer than the body
            body(&[0, 0, 2 << 2 | INPUTS, 3, 0, 3, 0]), // the same player twice
            body(&[0, 0, 1 << 2 | CHECKSUM, 0]),        // a checksum from before the beginning
            body(&[0, 0, VIEW_TIMES, 1, 0, 1, 0, 0]),   // seen before the beginning
            body(&[0, 0, VIEW_TIMES, 1 << 40]),         // more was seen than there are bytes
            body(&[0, 0, AWAY, 1 << 40]),               // more are away than there are bytes
            body(&[0, 0, AWAY, 2, 3, 0, 3, 0]),         // the same player twice
            body(&[0, 0, WINDOW, 65_536]),              // a window of minutes
        ];
        for body in hostile {
            assert!(read_all(&body).is_err(), "{body:?}");
        }
    }
}
