//! The experiments, one per file.

mod block;
mod bottleneck;
mod churn;
mod clock;
mod delivery;
mod hits;
mod hostile;
mod jitter;
mod join;
mod lockstep;
mod loss_latency;
mod models;
mod prediction;
mod rollback;
mod snapshot;
mod topology;

pub use block::Block;
pub use bottleneck::Bottleneck;
pub use churn::Churn;
pub use clock::Clock;
pub use delivery::Delivery;
pub use hits::Hits;
pub use hostile::Hostile;
pub use jitter::Jitter;
pub use join::Join;
pub use lockstep::{Conditions, Limits, LockstepJoin, Resync, Scale};
pub use loss_latency::LossLatency;
pub use models::Models;
pub use prediction::Predictions;
pub use rollback::Rollbacks;
pub use snapshot::{Bandwidth, SnapshotConditions, SnapshotLimits};
pub use topology::Topology;

use crate::error::LabError;
use crate::parameters::Case;

/// Names the case in an error of a measurement.
fn in_case(case: &Case) -> impl Fn(String) -> LabError + '_ {
    |why| LabError::Measurement {
        case: case.name.clone(),
        why,
    }
}
