//! What the models of an authority have in common, as the engine takes it.

use core::time::Duration;

use super::window::RewindSettings;
use crate::{InterpolationDelay, RemotePlayers, SnapshotConfig};

/// No connection that is fit to play needs others to be shown later.
const MOST_DELAY: Duration = Duration::from_millis(250);

/// How an engine runs.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Settings {
    pub snapshot: SnapshotConfig,
    /// For those who simulate what is to come themselves.
    pub prediction: Option<Prediction>,
    /// For an authority that can recompute its last ticks.
    pub rewind: Option<RewindSettings>,
}

impl Settings {
    /// How much later than it could be something is shown that was just updated: what who follows may claim.
    pub(super) fn most_delay(&self) -> Duration {
        let most = match self.snapshot.delay {
            InterpolationDelay::Adaptive { most, .. } => most,
            InterpolationDelay::Fixed(delay) => delay,
        };
        most.min(MOST_DELAY)
    }
}

/// How clients simulate themselves.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Prediction {
    pub remote_players: RemotePlayers,
    /// The round trip up to which shots are judged by what the shooter saw.
    pub compensation: Option<Duration>,
    /// Ticks ahead at most.
    pub window: u64,
}
