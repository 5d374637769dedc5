use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// By how much the clock was advanced, in µs.
static ADVANCED: AtomicU64 = AtomicU64::new(0);

/// The clock of all transports in this process: the time since one of them was first asked, or later if it was [advanced](advance_clock_to).
pub fn now() -> Duration {
    // The first reading may race with the making of the epoch.
    let passed = Instant::now().saturating_duration_since(*EPOCH);
    passed + Duration::from_micros(ADVANCED.load(Ordering::Relaxed))
}

/// Advances the clock of all transports in this process to a time, unless it is later already: for a program that goes on with what an earlier one
/// has begun, whose clock others know. To those that run already it is as if they had been suspended.
pub fn advance_clock_to(time: Duration) {
    let by = time.saturating_sub(now()).as_micros() as u64;
    ADVANCED.fetch_add(by, Ordering::Relaxed);
}

/// How long to wait for the clock to reach `until`; `None` means for ever.
pub(crate) fn left(until: Option<Duration>) -> Option<Duration> {
    until.map(|until| until.saturating_sub(now()))
}
