//! What a model has to be capable of so that a running game can change to it and away from it.

use core::fmt;
use core::time::Duration;

use crate::input::Attendance;
use crate::{Model, ModelWrapper, PeerId, Tick, World};

/// A model that a running game can change to and away from.
pub(crate) trait SwitchableModel: Model + fmt::Debug + Send + Sync {
    /// Whether its ticks follow the clock: turns that wait for players cannot be handed over.
    fn is_real_time(&self) -> bool {
        true
    }

    /// Whether everyone's state is the same where the model ends, so that nobody has to be sent one.
    fn is_same_everywhere(&self) -> bool;

    /// When tick 0 was due before the schedule moved, and how far it has moved.
    fn schedule(&self) -> Option<(Duration, Duration)>;

    /// Begins in the middle of a game.
    fn begin(&mut self, now: Duration, at: &Beginning<'_>, world: &mut dyn World);

    /// After the change: sends others what they still need to come as far as this program has.
    fn linger(&mut self, _now: Duration) {}

    /// A message for the model of a peer with all events that it may not have received yet.
    fn farewell(&mut self, _peer: PeerId) -> Vec<u8> {
        Vec::new()
    }

    /// The checkpoint made for a peer reaches it before anything else does: it counts as acknowledged.
    fn trust(&mut self, _peer: PeerId) {}

    /// Whether what is drawn has reached a tick.
    fn has_shown(&mut self, _now: Duration, _tick: Tick) -> bool {
        true
    }

    /// Delivers all events that are known of to the game.
    fn finish(&mut self, _world: &mut dyn World) {}
}

impl<W> SwitchableModel for W
where
    W: ModelWrapper<Inner: SwitchableModel> + fmt::Debug + Send + Sync,
{
    fn is_real_time(&self) -> bool {
        self.inner().is_real_time()
    }

    fn is_same_everywhere(&self) -> bool {
        self.inner().is_same_everywhere()
    }

    fn schedule(&self) -> Option<(Duration, Duration)> {
        self.inner().schedule()
    }

    fn begin(&mut self, now: Duration, at: &Beginning<'_>, world: &mut dyn World) {
        self.inner_mut().begin(now, at, world);
    }

    fn linger(&mut self, now: Duration) {
        self.inner_mut().linger(now);
    }

    fn farewell(&mut self, peer: PeerId) -> Vec<u8> {
        self.inner_mut().farewell(peer)
    }

    fn trust(&mut self, peer: PeerId) {
        self.inner_mut().trust(peer);
    }

    fn has_shown(&mut self, now: Duration, tick: Tick) -> bool {
        self.inner_mut().has_shown(now, tick)
    }

    fn finish(&mut self, world: &mut dyn World) {
        self.inner_mut().finish(world);
    }
}

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
    /// Who takes part.
    pub(crate) attendance: &'a Attendance,
}
