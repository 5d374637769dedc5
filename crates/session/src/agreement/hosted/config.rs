//! The timers of a hosted room.

use core::time::Duration;

use crate::agreement::config::AgreementConfig;

/// The timers of a hosted room. All its programs have the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostedConfig {
    /// The timers that a mesh has as well.
    pub timers: AgreementConfig,
    /// For how long a standby refuses everyone but the host that it heard: at most the suspicion time.
    pub lease: Duration,
    /// For how long a candidate with a quorum waits for further logs.
    pub collect: Duration,
}

impl Default for HostedConfig {
    fn default() -> Self {
        let timers = AgreementConfig {
            exclude: Duration::from_millis(600),
            ..AgreementConfig::default()
        };
        Self {
            timers,
            lease: timers.suspect,
            collect: Duration::from_millis(150),
        }
    }
}
