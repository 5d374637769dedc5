//! A place in a replay.

use super::Replay;
use super::ticks::{BodyItem, TicksReader};
use crate::{Tick, TickInputs};

/// Walks through the ticks of a [`Replay`], which the caller passes each time.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    segment: usize,
    /// The run that is read next, or, if `reader` is there, read now.
    run: usize,
    reader: Option<TicksReader>,
    next: Tick,
}

/// The next item of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReplayItem {
    /// The inputs of this tick.
    Tick(Tick),
    /// The state was replaced by the one of this segment.
    Replaced(usize),
    End,
}

impl Cursor {
    /// Before the tick `first` of a segment.
    pub(super) fn at_segment(replay: &Replay, segment: usize) -> Self {
        Self {
            segment,
            run: 0,
            reader: None,
            next: replay.segments[segment].first,
        }
    }

    /// Before `tick`, which lies in the segment or at its end.
    pub(super) fn at(replay: &Replay, segment: usize, tick: Tick) -> Self {
        let mut cursor = Self::at_segment(replay, segment);
        let runs = &replay.segments[segment].runs;
        let run = runs.partition_point(|run| run.first <= tick);
        cursor.run = run.saturating_sub(1);
        cursor.next = runs.get(cursor.run).map_or(cursor.next, |run| run.first);
        let mut inputs = TickInputs::new();
        while cursor.next < tick {
            if !matches!(cursor.read(replay, &mut inputs), ReplayItem::Tick(_)) {
                break;
            }
        }
        cursor
    }

    pub(super) fn segment(&self) -> usize {
        self.segment
    }

    /// Reads on.
    pub(super) fn read(&mut self, replay: &Replay, inputs: &mut TickInputs) -> ReplayItem {
        let segment = &replay.segments[self.segment];
        while self.next < segment.end {
            let Some(run) = segment.runs.get(self.run) else {
                break;
            };
            let body = &replay.file[run.body.clone()];
            // Everything was read once when the file was parsed, so nothing fails here.
            let item = match &mut self.reader {
                Some(reader) => reader.read(body, inputs).unwrap_or_default(),
                None => {
                    self.reader = TicksReader::new(body).ok();
                    continue;
                }
            };
            match item {
                Some(BodyItem::Tick(tick)) => {
                    self.next = tick.next();
                    return ReplayItem::Tick(tick);
                }
                Some(BodyItem::Checksum(..)) => {}
                None => {
                    self.run += 1;
                    self.reader = None;
                }
            }
        }
        if self.segment + 1 == replay.segments.len() {
            return ReplayItem::End;
        }
        *self = Self::at_segment(replay, self.segment + 1);
        ReplayItem::Replaced(self.segment)
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::{PlayerId, Recorder, ReplayHeader};

    /// Ticks 10 to 9,999, then a state at 5,000 from which it goes to 5,100, then one after a gap.
    fn replay() -> Replay {
        let header = ReplayHeader {
            game: "walk".into(),
            version: 3,
            ticks_per_second: 20,
        };
        let mut recorder = Recorder::new(&header, Tick(10), b"a");
        let mut record = |from: u64, to: u64, state: &[u8]| {
            recorder.on_checkpoint(Tick(from), state);
            for tick in from..to {
                recorder.on_tick(Tick(tick), &inputs(tick, state));
            }
            recorder.bytes()
        };
        record(10, 10_000, b"a");
        record(5000, 5100, b"b");
        Replay::parse(record(6000, 6001, b"c")).unwrap()
    }

    fn inputs(tick: u64, state: &[u8]) -> TickInputs {
        let mut inputs = TickInputs::new();
        inputs.set_players(&[PlayerId(4), PlayerId((tick / 100) as u16 + 5)]);
        if tick.is_multiple_of(3) {
            inputs.push(PlayerId(4), &[&tick.to_le_bytes(), state].concat());
        }
        inputs
    }

    #[test]
    fn later_states_replace_what_was_recorded_before() {
        let replay = replay();
        assert_eq!((replay.first(), replay.end()), (Tick(10), Tick(6001)));
        let checkpoints: Vec<_> = replay.checkpoints().collect();
        let expected = [(10, &b"a"[..]), (5000, b"b"), (6000, b"c")];
        assert_eq!(checkpoints, expected.map(|(at, state)| (Tick(at), state)));

        let mut cursor = Cursor::at_segment(&replay, 0);
        let mut read = TickInputs::new();
        let expect =
            |cursor: &mut Cursor, read: &mut TickInputs, from: u64, to: u64, state: &[u8]| {
                for tick in from..to {
                    assert_eq!(cursor.read(&replay, read), ReplayItem::Tick(Tick(tick)));
                    assert_eq!(*read, inputs(tick, state));
                }
            };
        expect(&mut cursor, &mut read, 10, 5000, b"a");
        assert_eq!(cursor.read(&replay, &mut read), ReplayItem::Replaced(1));
        expect(&mut cursor, &mut read, 5000, 5100, b"b");
        assert_eq!(cursor.read(&replay, &mut read), ReplayItem::Replaced(2));
        expect(&mut cursor, &mut read, 6000, 6001, b"c");
        assert_eq!(cursor.read(&replay, &mut read), ReplayItem::End);
        assert_eq!(cursor.read(&replay, &mut read), ReplayItem::End);
    }

    #[test]
    fn any_tick_can_be_gone_to() {
        let replay = replay();
        let mut read = TickInputs::new();
        for tick in [10, 11, 4095, 4096, 4105, 4106, 4107, 4999] {
            let mut cursor = Cursor::at(&replay, 0, Tick(tick));
            assert_eq!(
                cursor.read(&replay, &mut read),
                ReplayItem::Tick(Tick(tick))
            );
            assert_eq!(read, inputs(tick, b"a"));
        }
        let mut cursor = Cursor::at(&replay, 0, Tick(5000));
        assert_eq!(cursor.read(&replay, &mut read), ReplayItem::Replaced(1));
        assert_eq!(cursor.segment(), 1);
        let mut cursor = Cursor::at(&replay, 1, Tick(5100));
        assert_eq!(cursor.read(&replay, &mut read), ReplayItem::Replaced(2));
    }
}
