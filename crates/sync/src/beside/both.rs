//! Two worlds as one.

use crate::bytes::{Bytes, put};
use crate::{
    AdoptError, ChecksumTree, Divergence, Patched, RowChunk, Scene, SeenBreach, Tick, TickInputs,
    World, WorldLayout,
};

/// The two parts of a game whose models run [side by side](crate::Beside).
///
/// A single model such as [`Lockstep`](crate::Lockstep) can simulate both as well. It cannot show a part of it only, so one that does
/// ([`Snapshot`](crate::Snapshot), [`StateSync`](crate::StateSync)) needs a world of its own: `Beside` gives it one.
#[derive(Clone, Debug, Default)]
pub struct Both<A, B> {
    /// The first part.
    pub first: A,
    /// The second part.
    pub second: B,
}

impl<A: World, B: World> Both<A, B> {
    /// Two worlds as one. Both are to have as many ticks per second.
    pub fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

/// What players do in one of the parts.
fn part_of(inputs: &TickInputs, which: u8) -> TickInputs {
    let mut part = TickInputs::new();
    part.share_attendance(inputs);
    for (player, input) in inputs.entries() {
        if let Some((_, rest)) = input.split_first().filter(|(tag, _)| **tag == which) {
            part.push(player, rest);
        }
    }
    for (player, view_time) in inputs.view_times() {
        part.set_view_time(*player, *view_time);
    }
    part
}

/// Two states in one, as [`split`] takes them apart.
pub(super) fn join(first: &[u8], second: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(first.len() + second.len() + 4);
    put(&mut out, first.len() as u64);
    out.extend_from_slice(first);
    out.extend_from_slice(second);
    out
}

pub(super) fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), AdoptError> {
    let mut r = Bytes(bytes);
    let len = r.number().and_then(|len| usize::try_from(len).ok());
    let first = len.and_then(|len| r.take(len));
    let malformed = || AdoptError::Malformed("where its second part begins is damaged".to_string());
    Ok((first.ok_or_else(malformed)?, r.0))
}

impl<A: World, B: World> World for Both<A, B> {
    fn ticks_per_second(&self) -> u32 {
        self.first.ticks_per_second()
    }

    fn layout(&self) -> WorldLayout {
        let (first, second) = (self.first.layout(), self.second.layout());
        WorldLayout {
            state: first.state ^ second.state.rotate_left(1),
            input: first.input ^ second.input.rotate_left(1),
            event: first.event ^ second.event.rotate_left(1),
        }
    }

    fn parts(&mut self) -> Option<(&mut dyn World, &mut dyn World)> {
        Some((&mut self.first, &mut self.second))
    }

    fn step(&mut self, tick: Tick, inputs: &TickInputs) {
        self.first.step(tick, &part_of(inputs, super::FIRST));
        self.second.step(tick, &part_of(inputs, super::SECOND));
    }

    fn confirm(&mut self, tick: Tick, inputs: &TickInputs) {
        self.first.confirm(tick, &part_of(inputs, super::FIRST));
        self.second.confirm(tick, &part_of(inputs, super::SECOND));
    }

    fn save(&mut self, tick: Tick) {
        self.first.save(tick);
        self.second.save(tick);
    }

    fn release(&mut self, tick: Tick) {
        self.first.release(tick);
        self.second.release(tick);
    }

    fn load(&mut self, tick: Tick) -> bool {
        self.first.load(tick) & self.second.load(tick)
    }

    fn take(&mut self, tick: Tick) -> bool {
        self.first.take(tick) & self.second.take(tick)
    }

    fn checksum(&mut self) -> u64 {
        self.first.checksum() ^ self.second.checksum().rotate_left(1)
    }

    fn checksum_at(&mut self, saved: Tick) -> Option<u64> {
        let first = self.first.checksum_at(saved)?;
        Some(first ^ self.second.checksum_at(saved)?.rotate_left(1))
    }

    fn record_checksum(&mut self, tick: Tick, _: u64) {
        // What all have agreed on is that of both together: so each is as it is here.
        let (first, second) = (self.first.checksum_at(tick), self.second.checksum_at(tick));
        if let Some(first) = first {
            self.first.record_checksum(tick, first);
        }
        if let Some(second) = second {
            self.second.record_checksum(tick, second);
        }
    }

    // What differs in it is not looked for: who differs gets the whole state.
    fn checksum_tree_at(&mut self, _: Tick) -> Option<ChecksumTree> {
        None
    }

    fn rows_at(&mut self, _: Tick, _: Option<&[RowChunk]>) -> Option<Vec<u8>> {
        None
    }

    fn patch(&mut self, saved: Tick, _: &[u8]) -> Result<Patched, AdoptError> {
        Err(AdoptError::NotKept(saved))
    }

    fn checkpoint(&mut self) -> Vec<u8> {
        join(&self.first.checkpoint(), &self.second.checkpoint())
    }

    fn adopt(&mut self, tick: Tick, checkpoint: &[u8]) -> Result<(), AdoptError> {
        let (first, second) = split(checkpoint)?;
        self.first.adopt(tick, first)?;
        self.second.adopt(tick, second)
    }

    fn replaced(&mut self, tick: Tick) {
        self.first.replaced(tick);
        self.second.replaced(tick);
    }

    fn desync_bundle(&mut self, _: Tick, _: &[TickInputs], _: &Divergence) -> Option<Vec<u8>> {
        None
    }

    fn poll_breach(&mut self) -> Option<SeenBreach> {
        let first = self.first.poll_breach();
        first.or_else(|| self.second.poll_breach())
    }

    /// # Panics
    /// Always: there is no one scene of two worlds. [`Beside`](crate::Beside) asks each for its own.
    fn scene(&mut self) -> &mut dyn Scene {
        panic!("a model that shows a world needs one world: run one beside the other with `Beside`")
    }
}
