//! The games of Samestep to see and play.
