//! The games of Samestep to see and play, in a window and in the browser.
//!
//! One tab is the *sandbox*: a whole match in one program, every player's screen side by side, with sliders for each player's network and plots of what
//! the netcode does. What it shows is computed by `samestep-sandbox`; this crate draws kept pictures of it and takes keys and mouse. The other tab is
//! *replays*: recorded matches and desync bundles, to watch, verify, cut and compare.
//!
//! In a window it also plays the games over a network, as `samestep host|join|watch GAME` asks for: one player's screen ([`online`]).
//!
//! `make play` serves it as a page, `make window` opens it in a window. Both take the same links, such as
//! `game=skirmish&model=rollback&players=3&net=lte&seed=7`, each of which is one match, to the last bit.
//!
//! # Main types
//!
//! - [`app::Arcade`] is the program, [`app::Opening`] what it begins with.
//! - [`registry::GAMES`] has the games. [`drawn::Drawn`] says how one looks and is played by hand; [`canvas::Canvas`] is what it draws on. A game that is not
//!   known is a [`show::AnyMatch`], of which an [`GameEntry`](show::Entry) makes new ones.
//! - [`sandbox::SandboxTab`] and [`replays::Replays`] are the two tabs.
//! - [`sound::Sounds`] plays how events sound ([`drawn::Drawn::sound`]), each once. [`sound::synth`] makes the samples.
//! - [`platform::Platform`] is what differs between a window and a page: the clock, files, the address, the speaker.
//! - [`report::Report`] is what is on the screen, as data, with the places of all controls: tests read it, also from a real browser.
//!
//! # To add a game
//!
//! Implement [`Drawn`](drawn::Drawn) in a file of `games/` and add a line to [`registry::GAMES`]: it then is in every list, link and test, and in Replays.
//!
//! # What it does not do
//!
//! It knows no netcode: matches come from the sandbox or from `samestep-play`, and nothing it draws bears on them. A page plays no match over a network.

pub mod any_match;
pub mod app;
pub mod canvas;
pub mod drawn;
mod games;
pub mod icons;
pub mod keyboard;
#[cfg(not(target_arch = "wasm32"))]
pub mod online;
pub mod platform;
pub mod registry;
pub mod replays;
pub mod report;
pub mod sandbox;
mod screen;
pub mod sound;
pub mod theme;
#[cfg(target_arch = "wasm32")]
pub mod web;
