//! How a game begins.

use crate::place::ONE;

/// The most players with avatars; others watch.
pub const MAX_PLAYERS: u16 = 10;

/// How a game begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawrlocksConfig {
    /// Two games with the same seed and inputs are the same. Default 1.
    pub seed: u64,
    /// The radius of the arena when a round begins, in yards, 100 to 1000. Default 400.
    pub radius: i32,
    /// By how many yards it shrinks at a time, 1 to 1000. Default 40.
    pub shrink_by: i32,
    /// Ticks from one time to the next, 1 to an hour. Default 600.
    pub shrink_ticks: u32,
    /// Ticks from the end of a round to the next, up to an hour. Default 180.
    pub break_ticks: u32,
    /// Rounds to be won for the match. Default `None`: it goes on.
    pub wins: Option<u16>,
    /// Whether there are power-ups. Default true.
    pub power_ups: bool,
}

impl Default for RawrlocksConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            radius: 400,
            shrink_by: 40,
            shrink_ticks: 600,
            break_ticks: 180,
            wins: None,
            power_ups: true,
        }
    }
}

impl RawrlocksConfig {
    /// An arena that suits so many players: they stand as far apart, and it is gone after 100 seconds.
    pub fn for_players(seed: u64, players: u16) -> Self {
        let radius = 260 + 20 * i32::from(players.clamp(2, MAX_PLAYERS));
        Self {
            seed,
            radius,
            shrink_by: radius / 10,
            ..Self::default()
        }
    }

    pub(crate) fn check(&self) -> Result<(), RawrlocksConfigError> {
        const HOUR: u32 = 60 * 60 * 60;
        if !(100..=1000).contains(&self.radius) {
            return Err(RawrlocksConfigError::Radius);
        }
        let shrinks = (1..=1000).contains(&self.shrink_by);
        if !shrinks || !(1..=HOUR).contains(&self.shrink_ticks) || self.break_ticks > HOUR {
            return Err(RawrlocksConfigError::Times);
        }
        if self.wins == Some(0) {
            return Err(RawrlocksConfigError::Wins);
        }
        Ok(())
    }

    /// Yards in units.
    pub(crate) const fn units(yards: i32) -> i32 {
        yards * ONE
    }
}

/// Mistakes in a [`RawrlocksConfig`], with the way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RawrlocksConfigError {
    /// Too small to stand in, or too large to meet.
    #[error("the arena's radius is 100 to 1000 yards")]
    Radius,
    /// A round that never ends, or hardly.
    #[error(
        "the arena shrinks by 1 to 1000 yards at least once an hour, and a break is an hour at most"
    )]
    Times,
    /// Nobody can win no rounds.
    #[error("a match takes at least one round won")]
    Wins,
}
