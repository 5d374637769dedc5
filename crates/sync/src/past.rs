//! What was: states of earlier ticks, for rules that judge by what somebody saw.

use std::collections::VecDeque;

use crate::{PlayerId, Tick, TickInputs};

/// What a player saw of the others when it did something: a moment between two ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sight {
    /// The state it came from.
    pub before: Tick,
    /// The state it went to.
    pub after: Tick,
    /// How far, in parts of 65,536.
    pub part: u16,
}

/// States of the ticks before the one that is simulated, and what each player saw of them.
///
/// ```
/// use samestep_sync::{Past, PlayerId, Replicate};
///
/// #[derive(Clone, Replicate)]
/// struct Range {
///     target: f32,
/// }
///
/// /// Where the target was for who shoots: what it saw, or if nothing is known of that, where it is.
/// fn target(now: &Range, past: &Past<'_, Range>, shooter: PlayerId) -> f32 {
///     match past.seen_by(shooter) {
///         Some(seen) => seen.before.target + (seen.after.target - seen.before.target) * seen.part,
///         None => now.target,
///     }
/// }
/// # assert_eq!(target(&Range { target: 2.0 }, &Past::none(), PlayerId(0)), 2.0);
/// ```
#[derive(Debug)]
pub struct Past<'a, S> {
    states: Option<(&'a VecDeque<(Tick, S)>, &'a TickInputs)>,
}

/// What a player saw.
#[derive(Debug)]
pub struct Seen<'a, S> {
    /// The state it came from.
    pub before: &'a S,
    /// The state it went to.
    pub after: &'a S,
    /// How far, from 0 to 1.
    pub part: f32,
}

impl<'a, S> Past<'a, S> {
    /// Nobody saw anything else than the present.
    pub fn none() -> Self {
        Self { states: None }
    }

    /// The states before the ticks, in ascending order, and what was seen of them.
    pub(crate) fn new(states: &'a VecDeque<(Tick, S)>, inputs: &'a TickInputs) -> Self {
        Self {
            states: Some((states, inputs)),
        }
    }

    /// What a player saw of the others when it did what it does in this tick. `None` if it is to be judged by the present: where everyone
    /// simulates the same, or the authority does not go by what this player sees.
    pub fn seen_by(&self, player: PlayerId) -> Option<Seen<'a, S>> {
        let (states, inputs) = self.states?;
        let sight = inputs.sight(player)?;
        let at = |tick: Tick| {
            let place = states.binary_search_by_key(&tick, |(tick, _)| *tick).ok()?;
            states.get(place).map(|(_, state)| state)
        };
        Some(Seen {
            before: at(sight.before)?,
            after: at(sight.after)?,
            part: f32::from(sight.part) / 65_536.0,
        })
    }
}
