//! Rollback: nobody waits for inputs that are on their way; they are predicted, and wrong predictions are resimulated when they arrive.
//!
//! The netcode of GGPO (Cannon 2012) and ggrs, on top of [`Lockstep`].

use core::time::Duration;

use thiserror::Error;

use crate::lockstep::Prediction;
use crate::{
    Length, Lockstep, LockstepConfig, LockstepError, ModelConfig, ModelKind, ModelWrapper,
    RoomKind, SlowMachine,
};

/// The maximum ticks of a window.
const MAX_WINDOW: u64 = 60;
/// The maximum ticks that are predicted beyond the window.
const MAX_GO_ON: u64 = 600;

/// The model that never waits for the network, as far as its window reaches.
///
/// Everyone simulates every tick when it is due. What others do in it and is not known yet is [predicted](crate::Input::predict); when it
/// arrives and is something else, the world rolls back to that tick and resimulates what followed, all within one call. So a player sees
/// its own input at once, and what others do as soon as it can be known.
///
/// Underneath it is [`Lockstep`]: joining and leaving, desync detection, corrections, spectators and recordings are the same. Other than
/// there, in a hosted room too every peer is an input source of its own, and the host relays the batches of all once a tick, so that traffic
/// grows with the number of players and not with its square.
///
/// [`Status::tick`](crate::Status::tick) is the tick that is shown, [`Status::confirmed_tick`](crate::Status::confirmed_tick) the one before which nothing changes any more. Events of a game come
/// [predicted](crate::EventStage::Predicted) first, and each is confirmed or cancelled exactly once.
///
/// ```
/// use core::time::Duration;
/// use samestep_sync::{Length, Rollback, RollbackConfig};
///
/// let model = Rollback::new(RollbackConfig {
///     // A fighting game: the same delay for everybody.
///     input_delay: Length::Fixed(2),
///     ..RollbackConfig::default()
/// })?;
/// assert_eq!(model.config().window, 14);
/// # Ok::<(), samestep_sync::RollbackError>(())
/// ```
#[derive(Debug)]
pub struct Rollback {
    config: RollbackConfig,
    engine: Lockstep,
}

/// Settings of [`Rollback`], checked once in `new`.
#[derive(Clone, PartialEq, Debug)]
pub struct RollbackConfig {
    /// The prediction window: ticks that are simulated before all their inputs are known, which hides as much latency. All of them may have to be
    /// resimulated within one tick, but only as many are as the network requires. Default 14: at 60 ticks a second that is enough for a round trip of
    /// 100 ms to a host or server, whose guests are 6 ticks from each other: a packet waits for the next tick at its sender and at the host, and
    /// three in a row may be lost.
    pub window: u64,
    /// The input delay: ticks from an input to the tick it takes effect in. Each tick of delay makes rollbacks a tick shorter. Default 1, and up to 15:
    /// as many as the window does not cover of the one-way delay, through the host if there is one, and of the packets that may be lost in a row.
    /// Both are measured. [`Status::delay`](crate::Status::delay) is what players feel of it.
    pub input_delay: Length,
    /// The policy where the window ends. Default: wait.
    pub beyond: Beyond,
    /// While the longest round trip is shorter than this, nothing is predicted and inputs are delayed by their travel time: the game is in
    /// lockstep until latency rises. The authority decides for everyone. Default zero: never.
    pub lockstep_below: Duration,
    /// The policy for a machine that cannot keep up. Default: everyone slows down by a tenth while one is half a second behind.
    pub slow: SlowMachine,
    /// Ticks between two desync checks; 0 for none. Default 60.
    pub desync_check_interval: u64,
    /// Whether guests correct the host of a room, as in [`LockstepConfig`]. Default no.
    pub correct_host: bool,
    /// How much later spectators see the game. Default none.
    pub spectator_delay: Duration,
    /// The maximum playout delay of a program that predicts nothing; and how long everyone waits for a peer before the common schedule
    /// moves. Default 500 ms.
    pub patience: Duration,
    /// Ticks whose inputs are kept to be sent again. Default 1200.
    pub keep: u64,
}

/// The policy where the window ends and the inputs of a peer are still missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond {
    /// The simulation waits, as in lockstep.
    Wait,
    /// The simulation predicts up to so many ticks, then waits. All of them may have to be resimulated at once.
    GoOn {
        /// Ticks, more than those of the window.
        ticks: u64,
    },
}

impl Default for RollbackConfig {
    fn default() -> Self {
        let lockstep = LockstepConfig::default();
        Self {
            window: 14,
            input_delay: Length::Dynamic { min: 1, max: 15 },
            beyond: Beyond::Wait,
            lockstep_below: Duration::ZERO,
            slow: lockstep.slow,
            desync_check_interval: lockstep.desync_check_interval,
            correct_host: lockstep.correct_host,
            spectator_delay: lockstep.spectator_delay,
            patience: lockstep.patience,
            keep: lockstep.keep,
        }
    }
}

/// Settings that make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum RollbackError {
    /// The window.
    #[error("a window has 1 to {MAX_WINDOW} ticks: set `window` to such, or use `Lockstep`")]
    Window,
    /// How far to go on.
    #[error(
        "going on means more ticks than the window's, at most {MAX_GO_ON} and those that are kept: set `beyond` to such"
    )]
    Beyond,
    /// A setting that rollback and lockstep have in common.
    #[error(transparent)]
    Lockstep(#[from] LockstepError),
}

impl Default for Rollback {
    /// The model with its default settings.
    fn default() -> Self {
        Rollback::new(RollbackConfig::default()).expect("default settings make sense")
    }
}

impl Rollback {
    /// What the registry of models says of it.
    pub const KIND: ModelKind = ModelKind {
        name: "rollback",
        title: "Rollback",
        sentence: "Only inputs travel. Your own act at once, others' are guessed to go on as before; a wrong guess is rewound and simulated again, and shows as others jumping a little.",
        rooms: &[RoomKind::Dedicated, RoomKind::Hosted, RoomKind::Mesh],
        config: || ModelConfig::Rollback(RollbackConfig::default()),
    };

    /// The model with these settings. Refuses those that make no sense.
    pub fn new(config: RollbackConfig) -> Result<Rollback, RollbackError> {
        if !(1..=MAX_WINDOW).contains(&config.window) {
            return Err(RollbackError::Window);
        }
        let most = match config.beyond {
            Beyond::Wait => config.window,
            Beyond::GoOn { ticks } => ticks,
        };
        if most < config.window || most > MAX_GO_ON.min(config.keep / 2) {
            return Err(RollbackError::Beyond);
        }
        let mut engine = Lockstep::new(LockstepConfig {
            turn: Length::Fixed(1),
            input_delay: config.input_delay,
            slow: config.slow,
            desync_check_interval: config.desync_check_interval,
            correct_host: config.correct_host,
            spectator_delay: config.spectator_delay,
            patience: config.patience,
            keep: config.keep,
            ..LockstepConfig::default()
        })?;
        engine.set_prediction(Prediction {
            window: config.window,
            max: most,
            lockstep_below: config.lockstep_below,
        });
        Ok(Rollback { config, engine })
    }

    /// The settings this was made with.
    pub fn config(&self) -> &RollbackConfig {
        &self.config
    }

    /// A description of how far the inputs of every source are known here, to find out why a game stalls.
    pub fn explain(&self) -> String {
        self.engine.explain()
    }
}

impl ModelWrapper for Rollback {
    type Inner = Lockstep;

    fn inner(&self) -> &Lockstep {
        &self.engine
    }

    fn inner_mut(&mut self) -> &mut Lockstep {
        &mut self.engine
    }
}
