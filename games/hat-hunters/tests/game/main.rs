//! The game, one part of it in each file: `cargo test -p samestep-hat-hunters --test game rules`.

mod bots;
mod determinism;
mod fog;
mod late_inputs;
mod maps;
mod modes;
mod rules;
mod scene;
