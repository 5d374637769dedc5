//! What is measured in a match, of theirs and of ours alike.

use super::corrections::Corrections;

/// A match. Players but the host's are judged.
#[derive(Clone, Debug, Default)]
pub(in crate::experiments) struct Played {
    /// The judged time of all players that are judged, in s.
    pub client_seconds: f64,
    pub corrections: Corrections,
    /// How often an own character was shown to jump.
    pub teleports: u64,
    /// The largest distance of an own character on its screen from where the authority has it, in cells.
    pub gap: f64,
    /// Movement messages of a character and second, mean; the most of any character; and the largest error of what a receiver would extrapolate if
    /// messages took no time, in cells.
    pub messages: f64,
    pub most_messages: f64,
    pub reckoned: f64,
    /// Bytes that the authority sent to a client in a second, and what they would have been if it sent everything in each frame or tick.
    pub incremental: f64,
    pub full: f64,
    /// Messages that came too late for the window, of all, in %.
    pub ignored: f64,
    /// States that the authority computed again, per frame or tick.
    pub recomputed: f64,
}
