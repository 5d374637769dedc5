//! The timers of the agreement.

use core::time::Duration;

/// When members beat, suspect, exclude and campaign. All members of a room have the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgreementConfig {
    /// Time between beats while something is to be decided; what was lost is sent again as often.
    pub beat: Duration,
    /// Time between beats while nothing is.
    pub calm_beat: Duration,
    /// A member that was silent for so long is suspected.
    pub suspect: Duration,
    /// A member that was silent for so long, or did not hear the leader for so long, is excluded.
    pub exclude: Duration,
    /// Each rank campaigns so much later than the one before.
    pub rank: Duration,
    /// An attempt to be elected that took so long is begun anew.
    pub lapse: Duration,
    /// A member that hears no quorum for so long is frozen; it has stopped deciding before.
    pub freeze: Duration,
    /// A frozen member says after so long that it is stranded.
    pub wait: Option<Duration>,
    /// Whether streams of excluded members are cut before they are excluded: see [`Flush`](super::Flush).
    pub cuts: bool,
}

impl Default for AgreementConfig {
    fn default() -> Self {
        Self {
            beat: Duration::from_millis(100),
            calm_beat: Duration::from_millis(100),
            suspect: Duration::from_millis(500),
            exclude: Duration::from_millis(1200),
            rank: Duration::from_millis(200),
            lapse: Duration::from_millis(600),
            freeze: Duration::from_millis(500),
            wait: Some(Duration::from_secs(10)),
            cuts: false,
        }
    }
}
