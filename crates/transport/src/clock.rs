use std::sync::LazyLock;
use std::time::{Duration, Instant};

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The clock of all transports in this process: the time since one of them was first asked.
pub fn now() -> Duration {
    // The first reading may race with the making of the epoch.
    Instant::now().saturating_duration_since(*EPOCH)
}

/// How long to wait for the clock to reach `until`; `None` means for ever.
pub(crate) fn left(until: Option<Duration>) -> Option<Duration> {
    until.map(|until| until.saturating_sub(now()))
}
