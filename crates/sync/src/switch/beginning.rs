//! The point of a running game at which one model takes over from another.

use core::time::Duration;

use crate::{PlayerId, Tick};

/// The point of a running game from which another model continues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning<'a> {
    /// The tick that is simulated next. All before it are confirmed.
    pub(crate) tick: Tick,
    /// When tick 0 was due, before the schedule moved.
    pub(crate) start: Duration,
    /// How far the schedule has moved since.
    pub(crate) schedule_offset: Duration,
    /// Whether everyone's world is in the same state.
    pub(crate) is_known: bool,
    /// Who is present, in ascending order.
    pub(crate) players: &'a [PlayerId],
}
