//! How the games look, and how they are played by hand.

mod camera;
mod evaluation;
mod skirmish;
mod sublockus;
