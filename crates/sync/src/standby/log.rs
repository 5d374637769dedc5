//! What a world logs for whoever follows: the inputs of the ticks that are final, and states that took the place of others.

use crate::bytes::{Bytes, MessageField, Prefixed, put};
use crate::replay::ticks::{MAX_TICKS, TicksWriter};
use crate::{Tick, TickInputs};

/// Bytes that may wait to be taken.
const MAX_BYTES: usize = 64 << 20;

const TICKS: u8 = 0;
const STATE: u8 = 1;
const REPLACEMENT: u8 = 2;

/// The log of a world.
#[derive(Debug)]
pub(crate) struct TickLog {
    done: Vec<u8>,
    open: TicksWriter,
    /// Ticks since it was taken last.
    count: u64,
    /// Something is missing: whoever follows has to begin anew.
    is_lost: bool,
}

impl TickLog {
    /// The maximum number of ticks that may wait to be taken.
    pub(crate) const MAX_TICKS: u64 = MAX_TICKS;

    /// A log whose first tick is `next`.
    pub(crate) fn new(next: Tick) -> TickLog {
        TickLog {
            done: Vec::new(),
            open: TicksWriter::new(next),
            count: 0,
            is_lost: false,
        }
    }

    /// A tick is final.
    pub(crate) fn on_tick(&mut self, tick: Tick, inputs: &TickInputs) {
        if self.is_lost || tick < self.open.next() {
            return;
        }
        if tick > self.open.next() || self.count == MAX_TICKS || self.done.len() > MAX_BYTES {
            return self.lose();
        }
        if let Some(checkpoint) = inputs.replacement() {
            self.close();
            self.push(REPLACEMENT, tick, checkpoint);
        }
        self.open.tick(inputs);
        self.count += 1;
    }

    /// The state at a tick is known to have this checksum.
    pub(crate) fn on_checksum(&mut self, tick: Tick, checksum: u64) {
        if !self.is_lost && tick == self.open.next() {
            self.open.checksum(0, checksum);
        }
    }

    /// The state was replaced by this one, which was [kept](crate::World::keep).
    pub(crate) fn on_state(&mut self, tick: Tick, kept: &[u8]) {
        if !self.is_lost {
            self.close();
            self.push(STATE, tick, kept);
            self.open.begin(tick);
        }
    }

    /// What has come since this was called last; `None` if something is missing.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        if self.is_lost {
            return None;
        }
        self.close();
        self.count = 0;
        Some(core::mem::take(&mut self.done))
    }

    fn lose(&mut self) {
        self.is_lost = true;
        self.done = Vec::new();
    }

    fn push(&mut self, kind: u8, tick: Tick, bytes: &[u8]) {
        self.done.push(kind);
        put(&mut self.done, tick.0);
        Prefixed(bytes).write(&mut self.done);
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            let end = self.open.next();
            self.done.push(TICKS);
            Prefixed(self.open.finish()).write(&mut self.done);
            self.open.begin(end);
        }
    }
}

/// A piece of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LogItem<'a> {
    /// Ticks, as in a replay.
    Ticks(&'a [u8]),
    /// The state at this tick is another.
    State(Tick, &'a [u8]),
    /// A checkpoint takes the place of the state in this tick.
    Replacement(Tick, &'a [u8]),
}

/// The pieces of a log; `None` for what is damaged, and nothing after it.
pub(super) fn items(log: &[u8]) -> impl Iterator<Item = Option<LogItem<'_>>> {
    let mut rest = Bytes(log);
    core::iter::from_fn(move || {
        if rest.0.is_empty() {
            return None;
        }
        let item = item(&mut rest);
        if item.is_none() {
            rest = Bytes(&[]);
        }
        Some(item)
    })
}

fn item<'a>(r: &mut Bytes<'a>) -> Option<LogItem<'a>> {
    let kind = r.byte()?;
    let bytes = |r: &mut Bytes<'a>| Prefixed::read(r).map(|prefixed| prefixed.0);
    Some(match kind {
        TICKS => LogItem::Ticks(bytes(r)?),
        STATE => LogItem::State(r.tick()?, bytes(r)?),
        REPLACEMENT => LogItem::Replacement(r.tick()?, bytes(r)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_or_too_much_that_waits_ends_the_log() {
        let inputs = TickInputs::new();
        let mut log = TickLog::new(Tick(5));
        log.on_tick(Tick(5), &inputs);
        log.on_tick(Tick(5), &inputs);
        log.on_tick(Tick(6), &inputs);
        assert!(log.take().is_some_and(|bytes| !bytes.is_empty()));
        assert_eq!(log.take(), Some(Vec::new()));
        log.on_tick(Tick(8), &inputs);
        assert_eq!(log.take(), None);
        let mut log = TickLog::new(Tick(0));
        (0..=TickLog::MAX_TICKS).for_each(|tick| log.on_tick(Tick(tick), &inputs));
        assert_eq!(log.take(), None);
    }

    #[test]
    fn pieces_are_read_as_they_were_written() {
        let mut log = TickLog::new(Tick(3));
        log.on_state(Tick(9), b"state");
        let mut inputs = TickInputs::new();
        inputs.set_replacement(Some(b"other"[..].into()));
        log.on_tick(Tick(9), &inputs);
        let bytes = log.take().unwrap();
        let read: Vec<_> = items(&bytes).collect();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0], Some(LogItem::State(Tick(9), b"state")));
        assert_eq!(read[1], Some(LogItem::Replacement(Tick(9), b"other")));
        assert_eq!(items(&bytes[..4]).collect::<Vec<_>>(), [None]);
    }
}
