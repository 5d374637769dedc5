//! The games there are.

mod evaluation;
mod skirmish;
mod sublockus;
