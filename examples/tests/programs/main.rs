//! Every program of this folder in real processes, in each of the ways to play together that it offers.

mod first_game;
#[cfg(unix)]
mod logs;
mod mistakes;
mod models;
mod others;
mod stats;
#[cfg(unix)]
mod tanks;
mod terminal;
