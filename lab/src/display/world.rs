//! The worlds whose pictures are looked at.

use std::time::Duration;

use samestep_session::{Match, PlayerId};
use samestep_sync::{Live, Model, Simulation, TimedEvent};

use crate::testmatch::{Playable, PlayedWorld};

/// The event of a world's game.
pub type EventOf<W> = <<W as PlayedWorld>::Game as Simulation>::Event;

/// A world with a game that is drawn and judged.
pub trait ShownWorld: PlayedWorld<Game: Playable> + Sized + 'static {
    /// The game, which is simulated here.
    fn live(&self) -> &Live<Self::Game>;

    /// The next event of the game.
    fn poll_event(&mut self) -> Option<TimedEvent<EventOf<Self>>>;

    /// The game to draw at `now`.
    fn shown<M: Model>(game: &mut Match<Self, M>, now: Duration) -> &Self::Game;

    /// The world has come to another tick.
    fn on_tick<M: Model>(_game: &mut Match<Self, M>, _now: Duration) {}

    /// Whether an input is a shot that another part of the world decides.
    fn shoots(_input: &<Self::Game as Simulation>::Input) -> bool {
        false
    }

    /// How many shots of a player are decided in what was drawn last; `None` in a world without such a part.
    fn decided(&self, _player: PlayerId) -> Option<u16> {
        None
    }
}

impl<G: Playable> ShownWorld for Live<G> {
    fn live(&self) -> &Live<G> {
        self
    }

    fn poll_event(&mut self) -> Option<TimedEvent<G::Event>> {
        Live::poll_event(self)
    }

    fn shown<M: Model>(game: &mut Match<Self, M>, now: Duration) -> &G {
        game.shown(now)
    }
}
