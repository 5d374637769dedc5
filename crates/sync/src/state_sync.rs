//! State synchronisation: the authority decides, and clients predict (client-side prediction with server reconciliation; lag compensation for shots).

use core::time::Duration;

use thiserror::Error;

use crate::authority::{Engine, Prediction, SentStats, Settings};
use crate::{ModelConfig, ModelKind, ModelWrapper, RoomKind, SnapshotConfig, SnapshotError};

/// The most ticks that are simulated ahead.
const MAX_WINDOW: u64 = 120;

/// The model of most action games: the authority simulates and is right; everyone simulates ahead of it, so that one's own inputs take effect
/// at once.
///
/// Snapshots travel as with [`Snapshot`](crate::Snapshot), but exact. Where the predicted state of a tick differs from the authority's, the world is
/// reconciled: it continues from the authority's state and resimulates the ticks since; [`Match::shown`](https://docs.rs/samestep) glides over the difference. Rows
/// that declare an `owner` are drawn as [`RemotePlayers`] says if they are another player's.
///
/// Lag compensation: a shot is judged by what the shooter saw ([`Simulation::step_lag_compensated`](crate::Simulation::step_lag_compensated)): the authority goes back to what was
/// drawn there, as far as the round trip that it measures itself is within [`compensation`](StateSyncConfig::compensation). Beyond that it
/// judges by the present, and who shoots is told to show how far to aim ahead ([`Status::beyond_lag_compensation`](crate::Status::beyond_lag_compensation)).
///
/// ```
/// use samestep_sync::{RemotePlayers, StateSync, StateSyncConfig};
///
/// let model = StateSync::new(StateSyncConfig {
///     // A race: others are where they will be, not where they were.
///     remote_players: RemotePlayers::Simulated,
///     ..StateSyncConfig::default()
/// })?;
/// assert_eq!(model.config().window, 30);
/// # Ok::<(), samestep_sync::StateSyncError>(())
/// ```
#[derive(Debug)]
pub struct StateSync {
    config: StateSyncConfig,
    engine: Engine,
}

/// Settings of [`StateSync`], checked once in `new`.
#[derive(Clone, PartialEq, Debug)]
pub struct StateSyncConfig {
    /// How the authority tells of its state.
    pub snapshot: SnapshotConfig,
    /// How other players are drawn. Default: interpolated.
    pub remote_players: RemotePlayers,
    /// The round trip up to which a shot is judged by what the shooter saw; the delay with which it sees others comes on top. Default
    /// 150 ms; `None` for never.
    pub compensation: Option<Duration>,
    /// The maximum number of ticks predicted ahead of the newest snapshot. A client that receives nothing for longer stalls. Default 30.
    pub window: u64,
}

/// How the rows of other players are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RemotePlayers {
    /// Where they were, a little in the past: never wrong, and what is hit is what is seen.
    #[default]
    Interpolated,
    /// Where they are if they go on to do what they last did, by the rules of the game.
    Simulated,
    /// Where they are if they go on to move as they last moved.
    DeadReckoned,
}

impl Default for StateSyncConfig {
    fn default() -> Self {
        Self {
            snapshot: SnapshotConfig::default(),
            remote_players: RemotePlayers::default(),
            compensation: Some(Duration::from_millis(150)),
            window: 30,
        }
    }
}

/// Settings that make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum StateSyncError {
    /// The window.
    #[error(
        "a window has more ticks than lie between two snapshots, and at most {MAX_WINDOW}: set `window` to such, or use `Snapshot`"
    )]
    Window,
    /// A setting of the snapshots.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl Default for StateSync {
    /// The model with its default settings.
    fn default() -> Self {
        StateSync::new(StateSyncConfig::default()).expect("default settings make sense")
    }
}

impl StateSync {
    /// What the registry of models says of it.
    pub const KIND: ModelKind = ModelKind {
        name: "state-sync",
        title: "State sync with prediction",
        sentence: "The server decides. Your own character is predicted and obeys at once, everybody else is drawn from the past; where the server disagrees, yours is corrected.",
        rooms: &[RoomKind::Dedicated, RoomKind::Hosted, RoomKind::Mesh],
        config: || ModelConfig::StateSync(StateSyncConfig::default()),
    };

    /// The model with these settings. Refuses those that make no sense.
    pub fn new(config: StateSyncConfig) -> Result<StateSync, StateSyncError> {
        config.snapshot.check()?;
        if config.window <= config.snapshot.every || config.window > MAX_WINDOW {
            return Err(StateSyncError::Window);
        }
        let engine = Engine::new(Settings {
            snapshot: config.snapshot.clone(),
            prediction: Some(Prediction {
                remote_players: config.remote_players,
                compensation: config.compensation,
                window: config.window,
            }),
            rewind: None,
        });
        Ok(StateSync { config, engine })
    }

    /// The settings.
    pub fn config(&self) -> &StateSyncConfig {
        &self.config
    }

    /// What the authority has sent so far; nothing elsewhere.
    pub fn sent(&self) -> SentStats {
        self.engine.sent()
    }
}

impl ModelWrapper for StateSync {
    type Inner = Engine;

    fn inner(&self) -> &Engine {
        &self.engine
    }

    fn inner_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }
}
