//! Settings of lockstep.

use core::time::Duration;

use thiserror::Error;

use crate::{Lockstep, ModelConfig, ModelKind, RoomKind};

/// Settings of [`Lockstep`](crate::Lockstep), checked once in `new`. In a hosted room the host's count for all but
/// [`patience`](Self::patience); in a mesh each member's hold for what it sends itself, and the pace and the checks are those of the opener.
#[derive(Clone, PartialEq, Debug)]
pub struct LockstepConfig {
    /// Ticks whose inputs travel together. Longer turns need fewer packets and make inputs wait. Default 1 to 8, by latency.
    pub turn: Length,
    /// Ticks from the end of a turn to its first tick: the time its inputs have to arrive everywhere. Default 1 to 15 ticks, as
    /// measured: it rises at once when inputs come late and falls slowly. Who is farther away than the most simulates later than the others.
    pub input_delay: Length,
    /// What makes time pass. Default real time.
    pub pace: Pace,
    /// What to do about a machine that cannot keep up. Default: slow everyone by a tenth if it is half a second behind.
    pub slow: SlowMachine,
    /// Ticks between two comparisons of everyone's state; 0 for none. Each costs a checksum and a copy of the state. Default 60.
    pub desync_check_interval: u64,
    /// How much later spectators see the game. They wait as long for their first picture; the session's `load_grace` must be longer. Default none.
    pub spectator_delay: Duration,
    /// How much later than the others this program may simulate to make up for an unsteady connection. Who is later than
    /// that hurries after the others instead. Default 500 ms.
    pub patience: Duration,
    /// Ticks whose inputs are kept for those who missed them. Who is farther behind gets the whole state. Default 1200.
    pub keep: u64,
}

/// A number of ticks, fixed or found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// Always this many.
    Fixed(u64),
    /// As the connections require.
    Dynamic {
        /// Never fewer.
        min: u64,
        /// Never more.
        max: u64,
    },
}

impl Length {
    pub(crate) fn clamp(self, ticks: u64) -> u64 {
        match self {
            Self::Fixed(ticks) => ticks,
            Self::Dynamic { min, max } => ticks.clamp(min, max),
        }
    }

    fn min(self) -> u64 {
        self.clamp(0)
    }

    fn max(self) -> u64 {
        self.clamp(u64::MAX)
    }
}

/// What makes time pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// The clock.
    RealTime,
    /// The players, one after the other: who holds the initiative acts, then passes it on, and so many ticks are simulated. Nobody
    /// is hurried.
    Initiative {
        /// Ticks of a turn; more if the player did more than fits.
        ticks: u64,
    },
}

/// What to do about a machine that simulates more slowly than time passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowMachine {
    /// Nothing: it falls behind.
    GoOn,
    /// Wait for it once it is this many ticks behind.
    Wait {
        /// Ticks.
        behind: u64,
    },
    /// Slow everyone gently until it is not this many ticks behind any more.
    Ease {
        /// Ticks.
        behind: u64,
        /// By how many percent, 1 to 50.
        percent: u32,
    },
    /// Send it away.
    Drop {
        /// Ticks.
        behind: u64,
    },
}

impl Default for LockstepConfig {
    fn default() -> Self {
        Self {
            turn: Length::Dynamic { min: 1, max: 8 },
            input_delay: Length::Dynamic { min: 1, max: 15 },
            pace: Pace::RealTime,
            slow: SlowMachine::Ease {
                behind: 30,
                percent: 10,
            },
            desync_check_interval: 60,
            spectator_delay: Duration::ZERO,
            patience: Duration::from_millis(500),
            keep: 1200,
        }
    }
}

impl LockstepConfig {
    /// As in the literature: turns of 15 ticks, inputs of turn N run in turn N + 2, checked every 20 turns.
    pub fn classic() -> Self {
        Self {
            turn: Length::Fixed(15),
            input_delay: Length::Fixed(15),
            desync_check_interval: 300,
            ..Self::default()
        }
    }

    pub(crate) fn check(&self) -> Result<(), LockstepError> {
        if self.turn.min() == 0 || self.turn.max() > 600 || self.turn.min() > self.turn.max() {
            return Err(LockstepError::Turn);
        }
        if self.input_delay.max() > 600 || self.input_delay.min() > self.input_delay.max() {
            return Err(LockstepError::Delay);
        }
        if let Pace::Initiative { ticks } = self.pace
            && !(1..=600).contains(&ticks)
        {
            return Err(LockstepError::Turn);
        }
        if let SlowMachine::Ease { percent, .. } = self.slow
            && !(1..=50).contains(&percent)
        {
            return Err(LockstepError::Ease);
        }
        if self.keep < 300 || self.keep > 36_000 || self.keep < 4 * self.desync_check_interval {
            return Err(LockstepError::Keep);
        }
        Ok(())
    }
}

/// Settings that make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum LockstepError {
    /// The length of a turn.
    #[error("a turn has 1 to 600 ticks: set `turn` (or the ticks of the initiative) to such")]
    Turn,
    /// The delay of inputs.
    #[error(
        "inputs are delayed by 0 to 600 ticks: set `input_delay` to such, `min` not above `max`"
    )]
    Delay,
    /// How much everyone is slowed.
    #[error("everyone is slowed by 1 to 50 percent: set `percent` to such")]
    Ease,
    /// How long inputs are kept.
    #[error("inputs are kept for 300 to 36000 ticks, at least four checks: set `keep` to such")]
    Keep,
}

impl Lockstep {
    /// What the registry of models says of it.
    pub const KIND: ModelKind = ModelKind {
        name: "lockstep",
        title: "Lockstep",
        sentence: "Only inputs travel, and nobody goes on before everyone's are known: all see exactly the same, each a little late, and your own hand waits for the network too.",
        rooms: &[RoomKind::Dedicated, RoomKind::Hosted, RoomKind::Mesh],
        config: || ModelConfig::Lockstep(LockstepConfig::default()),
    };
}
