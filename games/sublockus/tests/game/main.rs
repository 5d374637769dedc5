//! The game, one part of it in each file: `cargo test -p samestep-sublockus --test game rules`.

mod arenas;
mod bots;
mod determinism;
mod fog;
mod past;
mod rules;
mod scene;
