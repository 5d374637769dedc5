//! The project's times as the crates for ICE and TURN want them.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Where the times of ICE begin. Only differences count, so it does not matter when it is.
static EPOCH: LazyLock<Instant> = LazyLock::new(epoch);

#[expect(
    clippy::disallowed_methods,
    reason = "there is no other way to make an Instant; no time is ever told by it"
)]
fn epoch() -> Instant {
    Instant::now()
}

/// A time for the ICE agents.
pub(crate) fn ice_time(now: Duration) -> Instant {
    *EPOCH + now
}

/// A time of an ICE agent, on our clock.
pub(crate) fn from_ice_time(time: Instant) -> Duration {
    time.saturating_duration_since(*EPOCH)
}

/// A time for the client of TURN.
pub(crate) fn turn_time(now: Duration) -> turn_client_proto::types::Instant {
    turn_client_proto::types::Instant::from_nanos(i64::try_from(now.as_nanos()).unwrap_or(i64::MAX))
}

/// A time of the client of TURN, on our clock.
pub(crate) fn from_turn_time(time: turn_client_proto::types::Instant) -> Duration {
    time.saturating_duration_since(turn_client_proto::types::Instant::from_nanos(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_there_and_back() {
        for now in [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::from_secs(100_000),
        ] {
            assert_eq!(from_ice_time(ice_time(now)), now);
            assert_eq!(from_turn_time(turn_time(now)), now);
        }
    }
}
