//! The metrics that several of these experiments have.

use crate::experiment::Metric;

/// The time between two updates of an entity.
pub const WAIT_P95: Metric = Metric::new(
    "wait_p95",
    "s",
    "between two updates of an entity that moves, 95th percentile",
);

/// The longest such time; it follows [`WAIT_P95`].
pub const WAIT_MOST: Metric = Metric::new("wait_most", "s", "the same, most");

/// The error of what is shown.
pub const ERROR_P95: Metric = Metric::new(
    "error_p95",
    "units",
    "between where something is shown and where it was at the time that is shown, 95th percentile",
);

/// The size of an update.
pub const BITS: Metric = Metric::new(
    "bits",
    "bit",
    "what one update of an entity that moves takes on the wire, everything included",
);

/// The delay of what is shown.
pub const DELAY: Metric = Metric::new(
    "delay",
    "ms",
    "how much later than the host's present things are shown, mean",
);

/// Pictures that stand still.
pub const STALLS: Metric = Metric::new(
    "stalls",
    "%",
    "pictures in which most of what moves stood still",
);
