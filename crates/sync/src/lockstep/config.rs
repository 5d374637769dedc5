//! Settings of lockstep.

use core::time::Duration;

use thiserror::Error;

use crate::{Lockstep, ModelConfig, ModelKind, RoomKind};

/// Settings of [`Lockstep`](crate::Lockstep), checked once in `new`. In a hosted room everyone uses the host's, except for
/// [`patience`](Self::patience). In a mesh each member uses its own for what it sends, and the opener's pace and desync checks.
#[derive(Clone, PartialEq, Debug)]
pub struct LockstepConfig {
    /// The length of a turn: ticks whose inputs travel together. Longer turns need fewer packets and delay inputs. Default 1 to 8, by latency.
    pub turn: Length,
    /// The input delay: ticks from the end of a turn to its first tick, in which its inputs reach everyone. Default 1 to 15 ticks, as
    /// measured: the delay rises at once when inputs arrive late and falls slowly. A peer for which the maximum is too short simulates later than the others.
    pub input_delay: Length,
    /// Whether the clock or the players make time pass. Default: the clock.
    pub pace: Pace,
    /// The policy for a machine that cannot keep up. Default: everyone slows down by a tenth while one is half a second behind.
    pub slow: SlowMachine,
    /// Ticks between two desync checks; 0 for none. Each check costs a checksum and a copy of the state. Default 60.
    pub desync_check_interval: u64,
    /// Whether guests correct the host of a room: if most of those who play have the same state and the host has another, the host takes theirs over.
    /// For hosts that players trust no more than each other. In a mesh the majority always counts, and spectators never do. Default no: the host
    /// is right.
    pub correct_host: bool,
    /// How much later spectators see the game. A spectator waits as long for its first picture, so the session's `load_grace` must be longer. Default none.
    pub spectator_delay: Duration,
    /// The maximum playout delay: how much later than the others this program may simulate to make up for an unsteady connection. A program
    /// that is later catches up instead. Default 500 ms.
    pub patience: Duration,
    /// Ticks whose inputs are kept to be sent again. A peer that is farther behind gets the whole state. Default 1200.
    pub keep: u64,
}

/// A number of ticks, fixed or measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// The same at all times.
    Fixed(u64),
    /// As many as the connections require.
    Dynamic {
        /// The minimum.
        min: u64,
        /// The maximum.
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
    /// The clock makes time pass.
    RealTime,
    /// The players make time pass, one after the other: the player that holds the initiative acts and passes it on, and so many ticks are simulated. No
    /// player has a time limit.
    Initiative {
        /// Ticks of a turn; more if the player gave more inputs than fit.
        ticks: u64,
    },
}

/// The policy for a machine that simulates more slowly than time passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowMachine {
    /// The others go on, and the machine falls behind.
    GoOn,
    /// Everyone waits for the machine once it is this many ticks behind.
    Wait {
        /// Ticks.
        behind: u64,
    },
    /// Everyone slows down gently until the machine is less than this many ticks behind.
    Ease {
        /// Ticks.
        behind: u64,
        /// The slowdown in percent, 1 to 50.
        percent: u32,
    },
    /// The machine is dropped once it is this many ticks behind.
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
            correct_host: false,
            spectator_delay: Duration::ZERO,
            patience: Duration::from_millis(500),
            keep: 1200,
        }
    }
}

impl LockstepConfig {
    /// The settings of the literature (Bettner and Terrano, *1500 Archers on a 28.8*, 2001): turns of 15 ticks, inputs of turn N run in turn N + 2, a
    /// desync check every 20 turns.
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
