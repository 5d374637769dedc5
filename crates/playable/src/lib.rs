//! What a game says about itself so that any program can play it without a window.
//!
//! A game implements [`Playable`] in its own crate, next to [`Simulation`](samestep_sync::Simulation). The command-line program, the sandbox, the
//! lab and the WebAssembly check need nothing else of it; `samestep-catalog` lists the games that implement it.
//!
//! - [`Setup`] is what a match is set up from, [`Sizes`] the range of sizes of a game that can be of any size.
//! - [`Bots`] plays all players of a match.
//! - [`Script`] is what the players of a measured match do, and [`rehearse`] records it from bots.
//! - [`Setting`] is what can be set about a match, [`Choices`] what was chosen, [`Level`] how well bots play.
//! - [`Score`] is a row of the score table.
//! - [`TextMap`] reads a map that players have written as text, with the place of every mistake.
//! - [`Cell`] and [`row`] turn colours into lines of a terminal, [`Key`] is a key pressed there.
//!
//! The crate knows no game, no network and no window.
#![forbid(unsafe_code)]

mod bots;
mod key;
mod playable;
mod script;
mod settings;
mod terminal;
mod text_map;

pub use bots::Bots;
pub use key::Key;
pub use playable::{Playable, Score, Setup, Sizes};
pub use script::{Script, rehearse};
pub use settings::{Choices, Level, Setting};
pub use terminal::{Cell, Rgb, row};
pub use text_map::{TextMap, TextMapError, TextMapFault, TextMapLimits, reachable};
