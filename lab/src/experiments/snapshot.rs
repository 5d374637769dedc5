//! The authority sends snapshots of its state to every client.

pub mod bandwidth;
pub mod conditions;
mod keys;
pub mod limits;
mod metrics;
mod played;
