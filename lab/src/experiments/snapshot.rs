//! An authority that tells everyone of its state.

mod bandwidth;
mod conditions;
mod keys;
mod limits;
mod played;

pub use bandwidth::Bandwidth;
pub use conditions::SnapshotConditions;
pub use limits::SnapshotLimits;
