//! The games of Samestep to see and play, in a window and in the browser.
//!
//! The sandbox plays a whole match in one program and shows every player's screen side by side; `samestep-sandbox` is what it shows.
//!
//! - [`app::Arcade`] is the program. [`registry::GAMES`] has the games; [`drawn::Drawn`] says how one looks and is played.
//! - [`show::Show`] is a match of any game.

pub mod app;
pub mod canvas;
pub mod drawn;
mod games;
pub mod icons;
pub mod registry;
pub mod replays;
pub mod report;
pub mod sandbox;
pub mod show;
pub mod surroundings;
pub mod theme;
#[cfg(target_arch = "wasm32")]
pub mod web;
