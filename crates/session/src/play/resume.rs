//! A match that is kept in a journal, and goes on from there after a restart.

use core::time::Duration;

use samestep_sync::{AdoptError, Handover, Model, NotFed, World};
use thiserror::Error;

use crate::config::{GameDescription, SessionConfig};
use crate::play::Match;
use crate::session::{ResumeError, Session};

/// Why a match cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ResumeMatchError {
    /// The room cannot be opened again.
    #[error(transparent)]
    Room(#[from] ResumeError),
    /// The model cannot go on from the state.
    #[error(transparent)]
    State(#[from] AdoptError),
}

impl<W: World, M: Model> Match<W, M> {
    /// Goes on as the host of a match after a restart: with the room that was [saved](Session::save_room), and with a world that has been brought to
    /// the last tick that was kept ([`Journal::replay`](samestep_sync::Journal::replay)).
    pub fn resume(
        now: Duration,
        mut config: SessionConfig,
        seed: [u8; 32],
        model: M,
        world: W,
        room: &[u8],
        handover: &Handover,
    ) -> Result<Self, ResumeMatchError> {
        config.initial_state = true;
        config.description = Some(GameDescription::of(&model, &world));
        let session = Session::resume(now, config, seed, room)?;
        let mut game = Match::with_session(now, session, model, world);
        let time = game.session.time(now).unwrap_or_default();
        game.update_roster(now, time);
        game.model.take_over(time, handover, &mut game.world)?;
        Ok(game)
    }

    /// As the host: the exact state, for a journal or for a program that follows. See [`Model::begin_feed`].
    pub fn begin_feed(&mut self, now: Duration) -> Option<Vec<u8>> {
        let time = self.session.time(now)?;
        self.update_roster(now, time);
        self.model.begin_feed(time, &mut self.world)
    }

    /// As the host: the ticks since the last record. See [`Model::feed`].
    pub fn feed(&mut self) -> Result<Option<Vec<u8>>, NotFed> {
        self.model.feed(&mut self.world)
    }
}
