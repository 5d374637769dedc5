//! The game, one part of it in each file: `cargo test -p samestep-skirmish --test game rules`.

mod bots;
mod crowds;
mod determinism;
mod rules;
mod scene;
