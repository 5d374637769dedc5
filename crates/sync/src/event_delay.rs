//! Event delay: an input takes effect everywhere at the same instant, a set time after it was made, and nobody waits for anybody.
//!
//! Local lag (Mauve et al., *Local-lag and timewarp*, 2004) on top of [`Lockstep`]: the delay hides the network, and what it does not hide is
//! repaired by resimulation. `docs/event-delay.md` says how it works.

use core::time::Duration;

use thiserror::Error;

use crate::lockstep::Prediction;
use crate::{
    GameDelay, Length, Lockstep, LockstepConfig, LockstepError, ModelConfig, ModelKind,
    ModelWrapper, RoomKind, SlowMachine,
};

/// The maximum game delay.
const MAX_DELAY: Duration = Duration::from_secs(2);
/// Ticks whose states are all saved while inputs are missing; farther back only some are.
const DENSE_SAVES: u64 = 30;
/// The maximum ticks that are repaired.
const MAX_REPAIRED: u64 = 3600;
/// The maximum packets a second.
const MAX_PACKETS: u32 = 240;

/// The model in which everyone sees everything at the same instant, a little late.
///
/// An input that is made at a time *t* takes effect in the first tick that is due at *t* plus the [game delay](GameDelay), on the clock that all
/// have in common: on the machine it was made on, and on every other. It travels meanwhile, so that a peer whose inputs take *L* has them
/// *delay − L* before they are needed.
///
/// - A tick is simulated when it is due, whatever is missing. What is missing counts as [going on](crate::Input::predict); when it arrives and is
///   something else, the world is rolled back to its tick and resimulated.
/// - The delay is [constant](GameDelay::Constant), or follows the two peers that are farthest apart up to a [bound](GameDelay::Dynamic). All have
///   the same, and it changes by a few milliseconds at a time. [`Status::waiting_for`](crate::Status::waiting_for) names a peer that is too far
///   away for it.
/// - Packets leave at once when an input was made, again 100 and 400 ms later, and then 400 ms apart. Each holds everything that its receivers
///   have not acknowledged.
///
/// Underneath it is the engine of [`Rollback`](crate::Rollback): joining and leaving, desync detection, corrections, spectators and recordings are
/// the same, in a mesh and in a hosted room, whose host relays.
///
/// ```
/// use core::time::Duration;
/// use samestep_sync::{EventDelay, EventDelayConfig, GameDelay};
///
/// let model = EventDelay::new(EventDelayConfig {
///     // Everyone is within 50 ms.
///     delay: GameDelay::Constant(Duration::from_millis(50)),
///     ..EventDelayConfig::default()
/// })?;
/// assert_eq!(model.game_delay(), Duration::from_millis(50));
/// # Ok::<(), samestep_sync::EventDelayError>(())
/// ```
#[derive(Debug)]
pub struct EventDelay {
    config: EventDelayConfig,
    engine: Lockstep,
}

/// Settings of [`EventDelay`], checked once in `new`. Everyone uses its own, so they should be the same.
#[derive(Clone, PartialEq, Debug)]
pub struct EventDelayConfig {
    /// The game delay. Default: as long as the two peers require that are farthest apart, 20 to 300 ms.
    pub delay: GameDelay,
    /// The maximum of packets a second to each peer that repeat inputs. An input leaves at once; the first packet that repeats it leaves an interval
    /// later, the next after three, and then one in every four. Default 10.
    pub packets_per_second: u32,
    /// Ticks within which a late input is repaired by resimulation. A peer that is silent for longer is waited for, unless the room has given it up
    /// by then. Default 900: 15 s at 60 ticks a second, more than a room waits for a peer.
    pub repair_window: u64,
    /// The policy for a machine that cannot keep up. Default: the others go on.
    pub slow: SlowMachine,
    /// Ticks between two desync checks; 0 for none. Default 60.
    pub desync_check_interval: u64,
    /// Whether guests correct the host of a room, as in [`LockstepConfig`]. Default no.
    pub correct_host: bool,
    /// How much later spectators see the game. Default none.
    pub spectator_delay: Duration,
    /// Ticks whose inputs are kept to be sent again. Default 1800.
    pub keep: u64,
}

impl Default for EventDelayConfig {
    fn default() -> Self {
        let lockstep = LockstepConfig::default();
        Self {
            delay: GameDelay::Dynamic {
                min: Duration::from_millis(20),
                max: Duration::from_millis(300),
            },
            packets_per_second: 10,
            repair_window: 900,
            slow: SlowMachine::GoOn,
            desync_check_interval: lockstep.desync_check_interval,
            correct_host: lockstep.correct_host,
            spectator_delay: lockstep.spectator_delay,
            keep: 1800,
        }
    }
}

/// Settings that make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum EventDelayError {
    /// The game delay.
    #[error("inputs are delayed by 0 to 2000 ms: set `delay` to such, `min` not above `max`")]
    Delay,
    /// The rate of packets.
    #[error("1 to {MAX_PACKETS} packets a second are sent: set `packets_per_second` to such")]
    Packets,
    /// How far back inputs are repaired.
    #[error(
        "inputs are repaired within {DENSE_SAVES} to {MAX_REPAIRED} ticks, at most half of those that are kept: set `repair_window` to such"
    )]
    RepairWindow,
    /// A setting that event delay and lockstep have in common.
    #[error(transparent)]
    Lockstep(#[from] LockstepError),
}

impl Default for EventDelay {
    /// The model with its default settings.
    fn default() -> Self {
        EventDelay::new(EventDelayConfig::default()).expect("default settings make sense")
    }
}

impl EventDelay {
    /// What the registry of models says of it.
    pub const KIND: ModelKind = ModelKind {
        name: "event-delay",
        title: "Event delay",
        sentence: "Only inputs travel. Everyone's, your own too, act at the same instant everywhere, as much later as the slowest path takes; nobody waits, and what came too late is simulated again.",
        rooms: &[RoomKind::Dedicated, RoomKind::Hosted, RoomKind::Mesh],
        config: || ModelConfig::EventDelay(EventDelayConfig::default()),
    };

    /// The model with these settings. Refuses those that make no sense.
    pub fn new(config: EventDelayConfig) -> Result<EventDelay, EventDelayError> {
        if let GameDelay::Dynamic { min, max } = config.delay
            && min > max
        {
            return Err(EventDelayError::Delay);
        }
        if config.delay.max() > MAX_DELAY {
            return Err(EventDelayError::Delay);
        }
        if !(1..=MAX_PACKETS).contains(&config.packets_per_second) {
            return Err(EventDelayError::Packets);
        }
        let most = MAX_REPAIRED.min(config.keep / 2);
        if !(DENSE_SAVES..=most).contains(&config.repair_window) {
            return Err(EventDelayError::RepairWindow);
        }
        let mut engine = Lockstep::new(LockstepConfig {
            turn: Length::Fixed(1),
            slow: config.slow,
            desync_check_interval: config.desync_check_interval,
            correct_host: config.correct_host,
            spectator_delay: config.spectator_delay,
            keep: config.keep,
            ..LockstepConfig::default()
        })?;
        engine.set_prediction(Prediction {
            window: DENSE_SAVES,
            max: config.repair_window,
            lockstep_below: Duration::ZERO,
        });
        let packet_interval = Duration::from_secs(1) / config.packets_per_second;
        engine.set_game_delay(config.delay, packet_interval);
        Ok(EventDelay { config, engine })
    }

    /// The settings this was made with.
    pub fn config(&self) -> &EventDelayConfig {
        &self.config
    }

    /// The game delay at present.
    pub fn game_delay(&self) -> Duration {
        self.engine.game_delay()
    }

    /// A description of how far the inputs of every source are known here, to find out why a game stalls.
    pub fn explain(&self) -> String {
        self.engine.explain()
    }
}

impl ModelWrapper for EventDelay {
    type Inner = Lockstep;

    fn inner(&self) -> &Lockstep {
        &self.engine
    }

    fn inner_mut(&mut self) -> &mut Lockstep {
        &mut self.engine
    }
}

#[cfg(test)]
mod tests;
