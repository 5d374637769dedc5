//! Where a model begins that takes over from another.

use core::time::Duration;

use crate::{PlayerId, Tick};

/// A moment of a running game from which another model goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning<'a> {
    /// The tick that is simulated next. All before it are settled.
    pub(crate) tick: Tick,
    /// When tick 0 was due, before anything slipped.
    pub(crate) start: Duration,
    /// How much later than planned everything happens since.
    pub(crate) schedule_offset: Duration,
    /// Whether everyone's world is in the same state.
    pub(crate) is_known: bool,
    /// Who is present, in ascending order.
    pub(crate) players: &'a [PlayerId],
}
