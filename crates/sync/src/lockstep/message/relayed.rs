//! Batches of several sources in one message, as a host relays them.

use core::time::Duration;

use super::{Bytes, EncodedInputs, InputBatch, MAX_BATCH_TICKS, MessageField, put};
use crate::Tick;
use crate::timeline::SourceId;

/// The schedule offset, at most.
const MAX_OFFSET: Duration = Duration::from_micros(1 << 50);

/// Batches of several sources, encoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::lockstep) struct RelayedBatches<'a>(pub(super) &'a [u8]);

impl<'a> RelayedBatches<'a> {
    /// Begins to write them; ticks are counted from `from`.
    pub(in crate::lockstep) fn begin(
        schedule_offset: Duration,
        predicting: bool,
        from: Tick,
        out: &mut Vec<u8>,
    ) {
        put(
            out,
            (schedule_offset.as_micros() as u64) << 1 | u64::from(predicting),
        );
        put(out, from.0);
    }

    /// Adds the batch of a source; `begin` is where the message counts ticks from, and not after the batch.
    pub(in crate::lockstep) fn add(
        out: &mut Vec<u8>,
        begin: Tick,
        source: SourceId,
        (from, to): (Tick, Tick),
        entries: &[u8],
    ) {
        source.write(out);
        put(out, from.since(begin));
        put(out, to.since(from) << 1 | u64::from(!entries.is_empty()));
        if !entries.is_empty() {
            put(out, entries.len() as u64);
            out.extend_from_slice(entries);
        }
    }

    pub(in crate::lockstep) fn encoded(bytes: &'a [u8]) -> RelayedBatches<'a> {
        RelayedBatches(bytes)
    }

    /// Visits every batch. Stops with `None` where the encoding is malformed, or the visitor does.
    pub(in crate::lockstep) fn each(
        &self,
        mut visit: impl FnMut(InputBatch<'a>) -> Option<()>,
    ) -> Option<()> {
        let mut r = Bytes(self.0);
        let flags = r.number()?;
        let schedule_offset = Duration::from_micros(flags >> 1);
        if schedule_offset > MAX_OFFSET {
            return None;
        }
        let begin = r.tick()?;
        while !r.0.is_empty() {
            let source = SourceId::read(&mut r)?;
            let from = begin + r.number().filter(|after| *after <= 2 * MAX_BATCH_TICKS)?;
            let ticks = r.number()?;
            let len = match ticks & 1 {
                0 => 0,
                _ => usize::try_from(r.number()?).ok()?,
            };
            visit(InputBatch {
                source,
                schedule_offset,
                from,
                to: from + Some(ticks >> 1).filter(|ticks| *ticks <= MAX_BATCH_TICKS)?,
                predicting: flags & 1 == 1,
                initiative: None,
                changes: Vec::new(),
                entries: EncodedInputs(r.take(len)?),
            })?;
        }
        Some(())
    }
}

impl<'a> MessageField<'a> for RelayedBatches<'a> {
    fn read(r: &mut Bytes<'a>) -> Option<Self> {
        let batches = RelayedBatches(r.rest());
        batches.each(|_| Some(()))?;
        Some(batches)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }
}
