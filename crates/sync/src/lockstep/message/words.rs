//! What a host passes on of several voices at once.

use core::time::Duration;

use super::{Bytes, Entries, MAX_SPAN, Span, put, put_voice};
use crate::Tick;
use crate::timeline::VoiceId;

/// What several voices say, as it lies in a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::lockstep) struct Words<'a>(pub(super) &'a [u8]);

impl<'a> Words<'a> {
    /// Begins to write such.
    pub(in crate::lockstep) fn begin(
        slip: Duration,
        predicting: bool,
        from: Tick,
        out: &mut Vec<u8>,
    ) {
        put(out, (slip.as_micros() as u64) << 1 | u64::from(predicting));
        put(out, from.0);
    }

    /// Adds what a voice says; `begin` is where the message begins to count ticks, not after what is said here.
    pub(in crate::lockstep) fn add(
        out: &mut Vec<u8>,
        begin: Tick,
        voice: VoiceId,
        (from, to): (Tick, Tick),
        entries: &[u8],
    ) {
        put_voice(out, voice);
        put(out, from.since(begin));
        put(out, to.since(from) << 1 | u64::from(!entries.is_empty()));
        if !entries.is_empty() {
            put(out, entries.len() as u64);
            out.extend_from_slice(entries);
        }
    }

    pub(in crate::lockstep) fn encoded(bytes: &'a [u8]) -> Words<'a> {
        Words(bytes)
    }

    pub(super) fn read(bytes: &'a [u8]) -> Option<Words<'a>> {
        let words = Words(bytes);
        words.each(|_| Some(()))?;
        Some(words)
    }

    /// Calls back with everything that is said. Stops with `None` where it is malformed, or the one called does.
    pub(in crate::lockstep) fn each(
        &self,
        mut tell: impl FnMut(Span<'a>) -> Option<()>,
    ) -> Option<()> {
        let mut r = Bytes(self.0);
        let word = r.number()?;
        let slip = Duration::from_micros((word >> 1).min(1 << 50));
        let begin = r.tick()?;
        while !r.0.is_empty() {
            let voice = r.voice()?;
            let from = begin + r.number().filter(|after| *after <= 2 * MAX_SPAN)?;
            let ticks = r.number()?;
            let len = match ticks & 1 {
                0 => 0,
                _ => usize::try_from(r.number()?).ok()?,
            };
            tell(Span {
                voice,
                slip,
                from,
                to: from + Some(ticks >> 1).filter(|ticks| *ticks <= MAX_SPAN)?,
                predicting: word & 1 == 1,
                initiative: None,
                changes: Vec::new(),
                entries: Entries(r.take(len)?),
            })?;
        }
        Some(())
    }
}
