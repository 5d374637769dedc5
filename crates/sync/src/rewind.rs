//! Server rewind: the authority places a late input in the tick it was made in, and simulates again what came after.

use core::time::Duration;

use thiserror::Error;

use crate::authority::{Engine, Prediction, RewindStats, SentStats, Settings};
use crate::{ModelConfig, ModelKind, ModelWrapper, RemotePlayers, RoomKind, SnapshotConfig};

/// The longest update window.
const MAX_LENGTH: Duration = Duration::from_millis(500);
/// The most ticks that are simulated ahead.
const MAX_PREDICTION: u64 = 120;

/// The model in which a late action counts when it was made: everyone acts in the tick that the common clock shows, and the authority can recompute
/// the ticks of the last moments (the update window).
///
/// An input takes its time to the authority. [`StateSync`](crate::StateSync) lets clients run ahead by that time; here they run with the
/// authority, which keeps the state before each tick of the window and the inputs of each tick since. A late input is placed in the tick it
/// belongs to, and the ticks from there on are simulated again; nothing is simulated again if nothing changed. An input that is older than the
/// window is refused, counted, and its sender told, which gives it again for the present. Nobody who is far away is shot before the bullet that
/// it fired first.
///
/// Everyone is shown the newest tick that the inputs of all clients have reached, and simulates from there to the present. So a client has an
/// update window too: where the authority disagrees about a past tick, the client corrects that tick and recomputes the ones since.
///
/// What a game must not take back (a box that was placed) waits until its tick leaves the window, or is predicted, or counts at once, as the game says for each kind of
/// effect: see [`Confirmation`](crate::Confirmation).
///
/// ```
/// use core::time::Duration;
/// use samestep_sync::{Rewind, RewindConfig, WindowLength};
///
/// let model = Rewind::new(RewindConfig {
///     // As long as the slowest connection needs, but nobody waits for more than 150 ms.
///     window: WindowLength::Following { most: Duration::from_millis(150) },
///     ..RewindConfig::default()
/// })?;
/// assert!(model.config().client_window);
/// # Ok::<(), samestep_sync::RewindError>(())
/// ```
#[derive(Debug)]
pub struct Rewind {
    config: RewindConfig,
    engine: Engine,
}

/// Settings of [`Rewind`], checked once in `new`.
#[derive(Clone, PartialEq, Debug)]
pub struct RewindConfig {
    /// How the authority tells of its state.
    pub snapshot: SnapshotConfig,
    /// How long the authority accepts inputs for a tick after it was due. Default 100 ms.
    pub window: WindowLength,
    /// Whether a client whose inputs take longer than the window acts ahead of the others by the rest. If not, what comes after the window is refused, or
    /// counts when it arrives if there is no window. Default true.
    pub lead: bool,
    /// Whether clients are told of the newest tick that everyone's inputs have reached, and recompute what came after (the client's update
    /// window). Otherwise they are told of the authority's present, which lacks the inputs that are on their way, and are corrected by those.
    /// Default true.
    pub client_window: bool,
    /// How other players are drawn. Default: simulated, so that everyone is shown at the same moment.
    pub remote_players: RemotePlayers,
    /// The maximum number of ticks predicted ahead of the newest snapshot. A client that receives nothing for longer stalls. A snapshot is
    /// as old as the window, the lead and the way from the authority together. Default 60.
    pub prediction: u64,
}

/// How long an update window is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowLength {
    /// Always so long. Zero is no window: an input that comes after its tick counts when it arrives.
    Fixed(Duration),
    /// As long as the inputs of the slowest client need, within a bound: whoever needs more acts ahead of the others by the rest, so that nobody
    /// else waits for it.
    Following {
        /// The bound.
        most: Duration,
    },
}

impl WindowLength {
    /// The longest that it can be.
    pub fn most(self) -> Duration {
        match self {
            WindowLength::Fixed(length) | WindowLength::Following { most: length } => length,
        }
    }

    /// The longest that it can be, in ticks.
    pub(crate) fn in_ticks(self, tick_time: Duration) -> u64 {
        let ticks = self.most().as_secs_f64() / tick_time.as_secs_f64();
        ticks.round() as u64
    }
}

impl Default for WindowLength {
    fn default() -> Self {
        WindowLength::Fixed(Duration::from_millis(100))
    }
}

impl Default for RewindConfig {
    fn default() -> Self {
        Self {
            snapshot: SnapshotConfig::default(),
            window: WindowLength::default(),
            lead: true,
            client_window: true,
            remote_players: RemotePlayers::Simulated,
            prediction: 60,
        }
    }
}

/// Settings that make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum RewindError {
    /// The window.
    #[error("an update window is at most {} ms long: set `window` to such", MAX_LENGTH.as_millis())]
    Window,
    /// The ticks predicted.
    #[error(
        "clients predict more ticks than lie between two snapshots, and at most {MAX_PREDICTION}: set `prediction` to such"
    )]
    Prediction,
    /// A setting of the snapshots.
    #[error(transparent)]
    Snapshot(#[from] crate::SnapshotError),
}

impl Default for Rewind {
    /// The model with its default settings.
    fn default() -> Self {
        Rewind::new(RewindConfig::default()).expect("default settings make sense")
    }
}

impl Rewind {
    /// What the registry of models says of it.
    pub const KIND: ModelKind = ModelKind {
        name: "rewind",
        title: "Server rewind (update window)",
        sentence: "Everyone acts in the same moment. The server puts a late action where it belongs and recomputes what came after; what must not be taken back waits until it is certain.",
        rooms: &[RoomKind::Dedicated, RoomKind::Hosted, RoomKind::Mesh],
        config: || ModelConfig::Rewind(RewindConfig::default()),
    };

    /// The model with these settings. Refuses those that make no sense.
    pub fn new(config: RewindConfig) -> Result<Rewind, RewindError> {
        config.snapshot.check()?;
        if config.window.most() > MAX_LENGTH {
            return Err(RewindError::Window);
        }
        if config.prediction <= config.snapshot.every || config.prediction > MAX_PREDICTION {
            return Err(RewindError::Prediction);
        }
        let engine = Engine::new(Settings {
            snapshot: config.snapshot.clone(),
            prediction: Some(Prediction {
                remote_players: config.remote_players,
                compensation: None,
                window: config.prediction,
            }),
            rewind: Some(crate::authority::RewindSettings {
                length: config.window,
                lead: config.lead,
                client_window: config.client_window,
            }),
        });
        Ok(Rewind { config, engine })
    }

    /// The settings.
    pub fn config(&self) -> &RewindConfig {
        &self.config
    }

    /// What the authority has sent so far; nothing elsewhere.
    pub fn sent(&self) -> SentStats {
        self.engine.sent()
    }

    /// What the authority has recomputed so far; nothing elsewhere.
    pub fn rewound(&self) -> RewindStats {
        self.engine.rewound()
    }
}

impl ModelWrapper for Rewind {
    type Inner = Engine;

    fn inner(&self) -> &Engine {
        &self.engine
    }

    fn inner_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }
}
