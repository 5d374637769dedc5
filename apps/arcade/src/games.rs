//! How the games look, and how they are played by hand.

mod camera;
mod evaluation;
mod hat_hunters;
mod rawrlocks;
mod skirmish;
mod sublockus;
