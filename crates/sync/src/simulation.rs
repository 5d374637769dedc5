//! The rules of a game.

use core::fmt;

use samestep_wire::Wire;

use crate::{
    Breach, Confirmation, Events, Input, Inputs, Interest, LagCompensation, PlayerId, Replicate,
};

/// A game: its state, and how one tick turns it into the next.
///
/// `step` must be deterministic: the same state and inputs give the same state everywhere, to the last bit. So it uses no clock,
/// no random numbers but those of the state's own generator, no containers whose order depends on addresses or hashes.
///
/// Only [`step`](Self::step) is needed. The others are for games in which not everyone may do or see everything.
pub trait Simulation: Replicate {
    /// What one player does in one tick.
    type Input: Input;

    /// Effects that are not part of the state: sounds, score, messages. Where only the authority simulates, they travel.
    type Event: Wire + Clone + PartialEq + fmt::Debug + 'static;

    /// The game's name, in replays and save games.
    const NAME: &'static str;

    /// Counts incompatible changes of the rules: a replay plays only with the rules it was recorded with.
    const VERSION: u32 = 1;

    /// Steps per second. Default 60.
    const TICKS_PER_SECOND: u32 = 60;

    /// Ticks whose states are kept for [`step_lag_compensated`](Self::step_lag_compensated). Default none.
    const PAST: u64 = 0;

    /// Simulates one tick.
    fn step(&mut self, inputs: &Inputs<'_, Self::Input>, events: &mut Events<Self::Event>);

    /// Simulates one tick, by rules that judge a shot by what the shooter saw. It is called in place of [`step`](Self::step), which is what it
    /// does by default.
    fn step_lag_compensated(
        &mut self,
        inputs: &Inputs<'_, Self::Input>,
        _past: &LagCompensation<'_, Self>,
        events: &mut Events<Self::Event>,
    ) {
        self.step(inputs, events);
    }

    /// Whether a player may do this now at all. What it may not counts as nothing, for everyone alike. Default: everything.
    fn allows(&self, _player: PlayerId, _input: &Self::Input) -> bool {
        true
    }

    /// How a player's input breaks the rules, by the state before its tick: what a modified program gives, and no other does. It must be as
    /// [deterministic](Simulation) as [`step`](Self::step), and changes nothing: what such an input does is up to the rules. Every program that knows
    /// all inputs of a tick judges them alike once the tick is final, and reports who is convicted by itself; whom more than half of a mesh
    /// report is dropped. Default: nothing does.
    fn judge(&self, _player: PlayerId, _input: &Self::Input) -> Option<Breach> {
        None
    }

    /// What a program with these players may see, and how often it is told, where the authority alone knows everything. Default: all of it,
    /// always.
    fn interest(&self, _viewers: &[PlayerId], _interest: &mut Interest) {}

    /// Whether a program with these players may be told of an event, where the authority alone knows everything. Default: of all.
    fn perceives(&self, _viewers: &[PlayerId], _event: &Self::Event) -> bool {
        true
    }

    /// When an event counts under a model whose authority may still change its tick ([`Rewind`](crate::Rewind)). One that is
    /// [predicted](Confirmation::Predicted) or [at once](Confirmation::AtOnce) is delivered as predicted wherever it is simulated first; the
    /// authority confirms it when its tick leaves the update window, or at once and for good. One that waits for the
    /// [end of the window](Confirmation::WindowEnd) is delivered only when it is confirmed. Default: predicted.
    fn confirmation(&self, _event: &Self::Event) -> Confirmation {
        Confirmation::Predicted
    }
}
