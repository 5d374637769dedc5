//! The game, one part of it in each file: `cargo test -p samestep-rawrlocks --test game rules`.

mod bots;
mod determinism;
mod rules;
mod scene;
