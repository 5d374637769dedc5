//! Plays a replay in a world.

use core::fmt;
use std::collections::BTreeMap;

use thiserror::Error;

use super::Replay;
use super::cursor::{Cursor, ReplayItem};
use crate::{AdoptError, Tick, TickInputs, World};

/// Ticks between the states kept for going back, at first.
const KEEP_EVERY: u64 = 300;
/// How many are kept. Beyond that every second one goes, and those to come are twice as far apart.
const KEPT: usize = 256;

/// A replay being played: forwards tick by tick, or to any tick.
///
/// The world should not record what it plays: see [`Live::without_recording`](crate::Live::without_recording).
#[derive(Debug)]
pub struct Playback<W> {
    replay: Replay,
    world: W,
    cursor: Cursor,
    tick: Tick,
    inputs: TickInputs,
    /// States gone through, by segment and tick.
    kept: BTreeMap<(usize, Tick), Vec<u8>>,
    every: u64,
}

/// How [`Playback::step`] went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// One tick was simulated.
    Stepped,
    /// The state was replaced by the next one in the replay: a peer was repaired here, or came in.
    Replaced,
    /// There is nothing more to play.
    Ended,
}

/// A whole replay gave the checksums it was recorded with, at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verified {
    /// Ticks simulated.
    pub ticks: u64,
    /// Checksums compared.
    pub checksums: u64,
}

impl<W: World> Playback<W> {
    /// At the beginning of `replay`. Which state `world` is in does not matter.
    pub fn new(replay: Replay, mut world: W) -> Result<Self, AdoptError> {
        let (tick, checkpoint) = replay.checkpoint_of(0);
        world.adopt(tick, checkpoint)?;
        Ok(Self {
            cursor: Cursor::at_segment(&replay, 0),
            replay,
            world,
            tick,
            inputs: TickInputs::new(),
            kept: BTreeMap::new(),
            every: KEEP_EVERY,
        })
    }

    /// What is played.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }

    /// The world, at [`tick`](Self::tick).
    pub fn world(&self) -> &W {
        &self.world
    }

    /// The world, for reading what needs `&mut`: events, checksums. Who changes its state spoils what is played.
    pub fn world_mut(&mut self) -> &mut W {
        &mut self.world
    }

    /// The tick it is at.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// The inputs of the tick simulated last.
    pub fn inputs(&self) -> &TickInputs {
        &self.inputs
    }

    /// Goes on by one tick, or to the next state in the replay.
    pub fn step(&mut self) -> Result<Progress, AdoptError> {
        match self.cursor.read(&self.replay, &mut self.inputs) {
            ReplayItem::Tick(tick) => {
                self.world.step(tick, &self.inputs);
                self.world.confirm(tick, &self.inputs);
                self.tick = tick.next();
                self.keep();
                Ok(Progress::Stepped)
            }
            ReplayItem::Replaced(segment) => {
                let (tick, checkpoint) = self.replay.checkpoint_of(segment);
                self.world.adopt(tick, checkpoint)?;
                self.tick = tick;
                Ok(Progress::Replaced)
            }
            ReplayItem::End => Ok(Progress::Ended),
        }
    }

    /// Goes to `tick`, or as near as the replay has it: back and forth from the nearest state at hand.
    pub fn seek(&mut self, tick: Tick) -> Result<(), AdoptError> {
        while !self.approach(tick, u64::MAX)? {}
        Ok(())
    }

    /// Goes towards `tick` as [`seek`](Self::seek) does, but simulates at most so many ticks; says whether it is there. For programs that must not
    /// stand still for long.
    pub fn approach(&mut self, tick: Tick, most: u64) -> Result<bool, AdoptError> {
        let target = self.replay.place_of(tick);
        let nearest = self.nearest(target);
        if self.place() > target || self.place() < nearest {
            self.jump(nearest)?;
        }
        for _ in 0..most {
            if self.place() >= target || self.step()? == Progress::Ended {
                return Ok(true);
            }
        }
        Ok(self.place() >= target)
    }

    /// The segment and the tick it is at.
    fn place(&self) -> (usize, Tick) {
        (self.cursor.segment(), self.tick)
    }

    /// The last place up to `target` that can be gone to at once.
    fn nearest(&self, target: (usize, Tick)) -> (usize, Tick) {
        let kept = self.kept.range(..=target).next_back();
        let kept = kept.map(|(place, _)| *place);
        // What was before a given state is not known there.
        let given = match self.world.looks_back() {
            true => 0,
            false => target.0,
        };
        let given = (given, self.replay.segments[given].first);
        kept.map_or(given, |kept| kept.max(given))
    }

    fn jump(&mut self, (segment, tick): (usize, Tick)) -> Result<(), AdoptError> {
        match self.kept.get(&(segment, tick)) {
            Some(kept) => self.world.come_back(tick, kept)?,
            None => self
                .world
                .adopt(tick, self.replay.checkpoint_of(segment).1)?,
        }
        self.tick = tick;
        self.cursor = Cursor::at(&self.replay, segment, tick);
        Ok(())
    }

    /// Compares the state here with the checksum that was recorded for this tick, if there is one.
    pub fn check(&mut self) -> Option<Result<(), Deviation>> {
        let recorded = self.replay.checksum_at(self.cursor.segment(), self.tick)?;
        let played = self.world.checksum();
        if played == recorded {
            return Some(Ok(()));
        }
        tracing::warn!(
            tick = self.tick.0,
            recorded,
            played,
            "desync: the replay leads to another state than was recorded"
        );
        let checksums = self.replay.checksums();
        let agreed = checksums
            .map(|(tick, _)| tick)
            .take_while(|tick| *tick < self.tick);
        Some(Err(Deviation {
            tick: self.tick,
            agreed: agreed.last(),
            recorded,
            played,
        }))
    }

    /// Plays everything from the beginning and compares every checksum, up to the first that differs. A replay without any is an error.
    pub fn verify(&mut self) -> Result<Verified, VerifyError> {
        self.seek(self.replay.first())?;
        let mut verified = Verified {
            ticks: 0,
            checksums: 0,
        };
        loop {
            if let Some(checked) = self.check() {
                checked?;
                verified.checksums += 1;
            }
            match self.step()? {
                Progress::Stepped => verified.ticks += 1,
                Progress::Replaced => {}
                Progress::Ended if verified.checksums == 0 => {
                    let ticks = verified.ticks;
                    return Err(VerifyError::NothingCompared { ticks });
                }
                Progress::Ended => return Ok(verified),
            }
        }
    }

    /// Keeps the state every so often.
    fn keep(&mut self) {
        if !self.tick.0.is_multiple_of(self.every) {
            return;
        }
        let place = self.place();
        if self.kept.contains_key(&place) {
            return;
        }
        self.kept.insert(place, self.world.keep());
        if self.kept.len() > KEPT {
            self.every *= 2;
            let every = self.every;
            self.kept
                .retain(|(_, tick), _| tick.0.is_multiple_of(every));
        }
    }
}

/// A state that is not as it was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deviation {
    /// The first tick whose checksum differs, of those that were recorded.
    pub tick: Tick,
    /// The last recorded checksum before it, which agreed; `None` if there was none.
    pub agreed: Option<Tick>,
    /// The checksum when it was recorded.
    pub recorded: u64,
    /// The checksum now.
    pub played: u64,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tick, recorded, played) = (self.tick, self.recorded, self.played);
        write!(f, "the state at tick {tick} is not as recorded")?;
        match self.agreed {
            Some(agreed) => write!(f, " (at tick {agreed} it still was)")?,
            None => f.write_str(" (the first checksum of the replay)")?,
        }
        write!(f, ": checksum {recorded:016x} then, {played:016x} now")
    }
}

impl core::error::Error for Deviation {}

/// Why a replay could not be verified.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// A checksum differs.
    #[error(transparent)]
    Differs(#[from] Deviation),
    /// The replay contains no checksum, so playing it shows nothing.
    #[error(
        "nothing was compared: the recording has {ticks} ticks and no checksum; a longer one has, and the host or server has all of the match"
    )]
    NothingCompared {
        /// Ticks simulated.
        ticks: u64,
    },
    /// A state in the replay is not one of this game.
    #[error(transparent)]
    Adopt(#[from] AdoptError),
}

#[cfg(test)]
mod tests;
