//! The common clock.

/// How the common time is kept.
#[derive(Clone, Debug, Default)]
pub struct ClockConfig {}
