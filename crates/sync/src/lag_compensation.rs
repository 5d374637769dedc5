//! Lag compensation: a shot is judged by what the shooter saw, not by where its target has moved since.
//!
//! The method is that of Yahn W. Bernier, *Latency Compensating Methods in Client/Server In-game Protocol Design and Optimization*, 2001. A client
//! sends with each input the time that it was drawing; the authority checks that claim against the round trip that it measures itself, and lends
//! the rules the states of the past.

use std::collections::VecDeque;

use crate::{PlayerId, Tick, TickInputs};

/// The time at which a player was shown the others when it gave an input: a point between two ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ViewTime {
    /// The tick that the view was interpolated from.
    pub before: Tick,
    /// The tick that the view was interpolated to.
    pub after: Tick,
    /// How far between them the view was, in 65,536ths.
    pub fraction: u16,
}

/// States of the ticks before the one that is simulated, and what each player saw of them.
///
/// ```
/// use samestep_sync::{LagCompensation, PlayerId, Replicate};
///
/// #[derive(Clone, Replicate)]
/// struct Range {
///     target: f32,
/// }
///
/// /// Where the target was for who shoots: what it saw, or if nothing is known of that, where it is.
/// fn target(now: &Range, past: &LagCompensation<'_, Range>, shooter: PlayerId) -> f32 {
///     match past.seen_by(shooter) {
///         Some(seen) => seen.before.target + (seen.after.target - seen.before.target) * seen.fraction,
///         None => now.target,
///     }
/// }
/// # assert_eq!(target(&Range { target: 2.0 }, &LagCompensation::none(), PlayerId(0)), 2.0);
/// ```
#[derive(Debug)]
pub struct LagCompensation<'a, S> {
    states: Option<(&'a VecDeque<(Tick, S)>, &'a TickInputs)>,
}

/// The two states that a player's view was interpolated between.
#[derive(Debug)]
pub struct SeenState<'a, S> {
    /// The state that the view was interpolated from.
    pub before: &'a S,
    /// The state that the view was interpolated to.
    pub after: &'a S,
    /// How far between them the view was, from 0 to 1.
    pub fraction: f32,
}

impl<'a, S> LagCompensation<'a, S> {
    /// Every player saw the present state.
    pub fn none() -> Self {
        Self { states: None }
    }

    /// Past states in ascending order of their ticks, and inputs with the view times of those who gave them.
    pub(crate) fn new(states: &'a VecDeque<(Tick, S)>, inputs: &'a TickInputs) -> Self {
        Self {
            states: Some((states, inputs)),
        }
    }

    /// What a player saw of the others when it gave the input of this tick. `None` if it is to be judged by the present: where everyone
    /// simulates the same, or where the authority does not accept the player's view time.
    pub fn seen_by(&self, player: PlayerId) -> Option<SeenState<'a, S>> {
        let (states, inputs) = self.states?;
        let view_time = inputs.view_time(player)?;
        let at = |tick: Tick| {
            let index = states.binary_search_by_key(&tick, |(tick, _)| *tick).ok()?;
            states.get(index).map(|(_, state)| state)
        };
        Some(SeenState {
            before: at(view_time.before)?,
            after: at(view_time.after)?,
            fraction: f32::from(view_time.fraction) / 65_536.0,
        })
    }
}
