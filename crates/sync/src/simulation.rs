//! The rules of a game.

use core::fmt;

use crate::{Events, Input, Inputs, Replicate};

/// A game: its state, and how one tick turns it into the next.
///
/// `step` must be deterministic: the same state and inputs give the same state everywhere, to the last bit. So it uses no clock,
/// no random numbers but those of the state's own generator, no containers whose order depends on addresses or hashes.
pub trait Simulation: Replicate {
    /// What one player does in one tick.
    type Input: Input;

    /// Effects that are not part of the state: sounds, score, messages.
    type Event: Clone + PartialEq + fmt::Debug + 'static;

    /// The game's name, in replays and save games.
    const NAME: &'static str;

    /// Counts incompatible changes of the rules: a replay plays only with the rules it was recorded with.
    const VERSION: u32 = 1;

    /// Steps per second. Default 60.
    const TICKS_PER_SECOND: u32 = 60;

    /// Simulates one tick.
    fn step(&mut self, inputs: &Inputs<'_, Self::Input>, events: &mut Events<Self::Event>);
}
