//! The models that can be changed between.

use core::fmt;
use core::time::Duration;

use super::Beginning;
use crate::authority::Engine;
use crate::{
    Lockstep, LockstepConfig, LockstepError, Model, Pace, PeerId, Rollback, RollbackConfig,
    RollbackError, Snapshot, SnapshotConfig, SnapshotError, StateSync, StateSyncConfig,
    StateSyncError, Tick, World,
};

/// The most models that can be chosen from.
const MAX_CHOICES: usize = 64;

/// A model that can be changed to, with its settings.
#[derive(Clone, PartialEq, Debug)]
pub enum Choice {
    /// [`Lockstep`], in real time.
    Lockstep(LockstepConfig),
    /// [`Rollback`].
    Rollback(RollbackConfig),
    /// [`Snapshot`].
    Snapshot(SnapshotConfig),
    /// [`StateSync`].
    StateSync(StateSyncConfig),
}

/// Why models cannot be changed between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwitchError {
    /// There is none, or there are too many.
    Count,
    /// One of them does not go with real time.
    Pace,
    /// Settings of lockstep.
    Lockstep(LockstepError),
    /// Settings of rollback.
    Rollback(RollbackError),
    /// Settings of snapshots.
    Snapshot(SnapshotError),
    /// Settings of state synchronisation.
    StateSync(StateSyncError),
}

impl fmt::Display for SwitchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => write!(f, "give 1 to {MAX_CHOICES} models to choose from"),
            Self::Pace => f.write_str(
                "only models that go with real time can be changed between: set `pace` to `Pace::RealTime`",
            ),
            Self::Lockstep(error) => error.fmt(f),
            Self::Rollback(error) => error.fmt(f),
            Self::Snapshot(error) => error.fmt(f),
            Self::StateSync(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SwitchError {}

/// Whether these make sense.
pub(super) fn check(choices: &[Choice]) -> Result<(), SwitchError> {
    if !(1..=MAX_CHOICES).contains(&choices.len()) {
        return Err(SwitchError::Count);
    }
    choices.iter().try_for_each(|choice| match choice {
        Choice::Lockstep(config) if config.pace != Pace::RealTime => Err(SwitchError::Pace),
        choice => choice.make().map(drop),
    })
}

impl Choice {
    /// The model, at its beginning.
    pub(super) fn make(&self) -> Result<Running, SwitchError> {
        Ok(match self {
            Self::Lockstep(config) => {
                let model = Lockstep::new(config.clone()).map_err(SwitchError::Lockstep)?;
                Running::Lockstep(Box::new(model))
            }
            Self::Rollback(config) => {
                let model = Rollback::new(config.clone()).map_err(SwitchError::Rollback)?;
                Running::Rollback(Box::new(model))
            }
            Self::Snapshot(config) => {
                let model = Snapshot::new(config.clone()).map_err(SwitchError::Snapshot)?;
                Running::Snapshot(Box::new(model))
            }
            Self::StateSync(config) => {
                let model = StateSync::new(config.clone()).map_err(SwitchError::StateSync)?;
                Running::StateSync(Box::new(model))
            }
        })
    }
}

/// A model that runs.
#[derive(Debug)]
pub(super) enum Running {
    Lockstep(Box<Lockstep>),
    Rollback(Box<Rollback>),
    Snapshot(Box<Snapshot>),
    StateSync(Box<StateSync>),
}

impl Running {
    pub(super) fn model(&self) -> &dyn Model {
        match self {
            Self::Lockstep(model) => &**model,
            Self::Rollback(model) => &**model,
            Self::Snapshot(model) => &**model,
            Self::StateSync(model) => &**model,
        }
    }

    pub(super) fn model_mut(&mut self) -> &mut dyn Model {
        match self {
            Self::Lockstep(model) => &mut **model,
            Self::Rollback(model) => &mut **model,
            Self::Snapshot(model) => &mut **model,
            Self::StateSync(model) => &mut **model,
        }
    }

    /// Whether everyone's state is the same where it ends: so nobody needs to be told what it is.
    pub(super) fn is_same_everywhere(&self) -> bool {
        match self {
            Self::Lockstep(_) | Self::Rollback(_) => true,
            Self::Snapshot(_) | Self::StateSync(_) => false,
        }
    }

    /// What models of an authority have in common.
    fn engine_mut(&mut self) -> Option<&mut Engine> {
        match self {
            Self::Lockstep(_) | Self::Rollback(_) => None,
            Self::Snapshot(model) => Some(model.engine_mut()),
            Self::StateSync(model) => Some(model.engine_mut()),
        }
    }

    /// When tick 0 was due before anything slipped, and how much everything has.
    pub(super) fn schedule(&self) -> Option<(Duration, Duration)> {
        match self {
            Self::Lockstep(model) => model.schedule(),
            Self::Rollback(model) => model.engine().schedule(),
            Self::Snapshot(model) => model.engine().schedule(),
            Self::StateSync(model) => model.engine().schedule(),
        }
    }

    /// Begins in the middle of a game.
    pub(super) fn begin(&mut self, now: Duration, at: &Beginning<'_>, world: &mut dyn World) {
        match self {
            Self::Lockstep(model) => model.begin(now, at, world),
            Self::Rollback(model) => model.engine_mut().begin(now, at, world),
            Self::Snapshot(model) => model.engine_mut().begin(now, at, world),
            Self::StateSync(model) => model.engine_mut().begin(now, at, world),
        }
    }

    /// Tells others what they need to come as far as this has.
    pub(super) fn linger(&mut self, now: Duration) {
        match self {
            Self::Lockstep(model) => model.linger(now),
            Self::Rollback(model) => model.engine_mut().linger(now),
            Self::Snapshot(_) | Self::StateSync(_) => {}
        }
    }

    /// What somebody may not have heard yet of what happened, for its model.
    pub(super) fn farewell(&mut self, peer: PeerId) -> Vec<u8> {
        let engine = self.engine_mut();
        engine.map_or_else(Vec::new, |engine| engine.farewell(peer))
    }

    /// Somebody will have the checkpoint that was made for it before it hears of anything else.
    pub(super) fn trust(&mut self, peer: PeerId) {
        if let Some(engine) = self.engine_mut() {
            engine.trust(peer);
        }
    }

    /// Whether what is drawn has come to a tick.
    pub(super) fn has_shown(&mut self, now: Duration, tick: Tick) -> bool {
        let engine = self.engine_mut();
        engine.is_none_or(|engine| engine.has_shown(now, tick))
    }

    /// Tells the game everything that is known to have happened.
    pub(super) fn finish(&mut self, world: &mut dyn World) {
        if let Some(engine) = self.engine_mut() {
            engine.finish(world);
        }
    }
}
