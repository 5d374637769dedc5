//! Snapshot interpolation: the authority simulates, clients draw its snapshots a little later.

use core::time::Duration;

use thiserror::Error;

use crate::authority::{Engine, SentStats, Settings};
use crate::{Interpolation, InterpolationDelay, ModelConfig, ModelKind, ModelWrapper, RoomKind};

/// The most ticks between two snapshots.
const MAX_EVERY: u64 = 600;
/// The fewest and the most snapshots that are kept.
const KEEP: core::ops::RangeInclusive<u64> = 8..=1024;
/// The smallest budget, in bits per second.
const LEAST_BUDGET: u32 = 32_000;

/// The model for many players and things: only the authority simulates, and shows everyone what they may see.
///
/// Every few ticks the state is put on the grid that its description declares, and what has changed since what somebody has confirmed
/// travels to it (delta compression), unreliably and in messages that can each be decoded alone: what is lost comes with the next. What a player may not
/// see ([`Simulation::interest`](crate::Simulation::interest)) is never sent.
///
/// Those who follow draw what they know a little later ([`Status::interpolation_delay`](crate::Status::interpolation_delay)), so that there is always something to move towards; how much
/// adapts to their connection. Their inputs are timed such that they arrive just before the tick they are meant for. Nobody who follows
/// simulates, so rules need not be deterministic, but what one does oneself is seen a round trip later: see [`StateSync`](crate::StateSync).
///
/// ```
/// use samestep_sync::{Snapshot, SnapshotConfig};
///
/// let model = Snapshot::new(SnapshotConfig {
///     // Phones: 256 kbit/s each, everything included.
///     budget: Some(256_000),
///     ..SnapshotConfig::default()
/// })?;
/// assert_eq!(model.config().every, 3);
/// # Ok::<(), samestep_sync::SnapshotError>(())
/// ```
#[derive(Debug)]
pub struct Snapshot {
    config: SnapshotConfig,
    engine: Engine,
}

/// Settings of [`Snapshot`], checked once in `new`.
#[derive(Clone, PartialEq, Debug)]
pub struct SnapshotConfig {
    /// Ticks between two snapshots. Fewer cost more bytes, and show others sooner. Default 3.
    pub every: u64,
    /// Bits per second that the authority sends to each client at most, packets included. What matters most goes first; what does not fit
    /// comes later. Default none: as much as the connection is estimated to carry.
    pub budget: Option<u32>,
    /// How views get from one snapshot to the next. Default linear.
    pub interpolation: Interpolation,
    /// How much later than the authority's present things are drawn. Default: as much as the connection needs.
    pub delay: InterpolationDelay,
    /// For how long what nothing is known of is drawn to move on. Default 100 ms.
    pub extrapolate: Duration,
    /// How much later spectators see the game. Default none.
    pub spectator_delay: Duration,
    /// Snapshots that are kept to tell what has changed since. Who has confirmed none of them is told everything again. Default 64.
    pub keep: u64,
}

impl Default for SnapshotConfig {
    fn default() -> Self {
        Self {
            every: 3,
            budget: None,
            interpolation: Interpolation::default(),
            delay: InterpolationDelay::default(),
            extrapolate: Duration::from_millis(100),
            spectator_delay: Duration::ZERO,
            keep: 64,
        }
    }
}

/// Settings that make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SnapshotError {
    /// The ticks between snapshots.
    #[error("a snapshot is taken every 1 to {MAX_EVERY} ticks: set `every` to such")]
    Every,
    /// The budget.
    #[error("a budget is {LEAST_BUDGET} bits per second or more: set `budget` to such, or to none")]
    Budget,
    /// The delay.
    #[error("the least delay is not above the most: set `delay` to such")]
    Delay,
    /// The snapshots kept.
    #[error("{} to {} snapshots are kept: set `keep` to such", KEEP.start(), KEEP.end())]
    Keep,
}

impl SnapshotConfig {
    pub(crate) fn check(&self) -> Result<(), SnapshotError> {
        if !(1..=MAX_EVERY).contains(&self.every) {
            return Err(SnapshotError::Every);
        }
        if self.budget.is_some_and(|budget| budget < LEAST_BUDGET) {
            return Err(SnapshotError::Budget);
        }
        if let InterpolationDelay::Adaptive { least, most } = self.delay
            && least > most
        {
            return Err(SnapshotError::Delay);
        }
        match KEEP.contains(&self.keep) {
            true => Ok(()),
            false => Err(SnapshotError::Keep),
        }
    }
}

impl Default for Snapshot {
    /// The model with its default settings.
    fn default() -> Self {
        Snapshot::new(SnapshotConfig::default()).expect("default settings make sense")
    }
}

impl Snapshot {
    /// What the registry of models says of it.
    pub const KIND: ModelKind = ModelKind {
        name: "snapshot",
        title: "Snapshot interpolation",
        sentence: "The server simulates and sends pictures, which are played back smoothly a moment later: nothing jumps, everything you see is past, your own character included.",
        rooms: &[RoomKind::Dedicated, RoomKind::Hosted, RoomKind::Mesh],
        config: || ModelConfig::Snapshot(SnapshotConfig::default()),
    };

    /// The model with these settings. Refuses those that make no sense.
    pub fn new(config: SnapshotConfig) -> Result<Snapshot, SnapshotError> {
        config.check()?;
        let engine = Engine::new(Settings {
            snapshot: config.clone(),
            prediction: None,
            rewind: None,
        });
        Ok(Snapshot { config, engine })
    }

    /// The settings.
    pub fn config(&self) -> &SnapshotConfig {
        &self.config
    }

    /// What the authority has sent so far; nothing elsewhere.
    pub fn sent(&self) -> SentStats {
        self.engine.sent()
    }
}

impl ModelWrapper for Snapshot {
    type Inner = Engine;

    fn inner(&self) -> &Engine {
        &self.engine
    }

    fn inner_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }
}
