//! The experiments, one per file.

mod block;
mod bottleneck;
mod clock;
mod delivery;
mod hostile;
mod jitter;
mod loss_latency;

pub use block::Block;
pub use bottleneck::Bottleneck;
pub use clock::Clock;
pub use delivery::Delivery;
pub use hostile::Hostile;
pub use jitter::Jitter;
pub use loss_latency::LossLatency;

use crate::error::LabError;
use crate::parameters::Case;

/// Names the case in an error of a measurement.
fn in_case(case: &Case) -> impl Fn(String) -> LabError + '_ {
    |why| LabError::Measurement {
        case: case.name.clone(),
        why,
    }
}
