//! Derive macro for `samestep-wire`.
