//! The models that can be changed between.

use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;

use super::Beginning;
use crate::{
    Lockstep, LockstepConfig, LockstepError, Model, Pace, Rollback, RollbackConfig, RollbackError,
    World,
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
        })
    }
}

/// A model that runs.
#[derive(Debug)]
pub(super) enum Running {
    Lockstep(Box<Lockstep>),
    Rollback(Box<Rollback>),
}

impl Running {
    pub(super) fn model(&self) -> &dyn Model {
        match self {
            Self::Lockstep(model) => &**model,
            Self::Rollback(model) => &**model,
        }
    }

    pub(super) fn model_mut(&mut self) -> &mut dyn Model {
        match self {
            Self::Lockstep(model) => &mut **model,
            Self::Rollback(model) => &mut **model,
        }
    }

    /// Whether everyone's state is the same where it ends: so nobody needs to be told what it is.
    pub(super) fn is_same_everywhere(&self) -> bool {
        match self {
            Self::Lockstep(_) | Self::Rollback(_) => true,
        }
    }

    /// When tick 0 was due before anything slipped, and how much everything has.
    pub(super) fn schedule(&self) -> Option<(Duration, Duration)> {
        match self {
            Self::Lockstep(model) => model.schedule(),
            Self::Rollback(model) => model.engine().schedule(),
        }
    }

    /// Begins in the middle of a game.
    pub(super) fn begin(&mut self, now: Duration, at: &Beginning<'_>, world: &mut dyn World) {
        match self {
            Self::Lockstep(model) => model.begin(now, at, world),
            Self::Rollback(model) => model.engine_mut().begin(now, at, world),
        }
    }

    /// Tells others what they need to come as far as this has.
    pub(super) fn linger(&mut self, now: Duration) {
        match self {
            Self::Lockstep(model) => model.linger(now),
            Self::Rollback(model) => model.engine_mut().linger(now),
        }
    }
}
