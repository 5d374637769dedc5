//! Save games and recordings of a game.

use samestep_sync::{Live, LoadError, Model, Replicate, Simulation, load_game, save_game};
use samestep_transport::Transport;

use super::Game;

impl<S: Simulation + Replicate, M: Model, T: Transport> Game<S, M, T> {
    /// The state as a save game, to write into a file. Under a model where only the authority knows everything, save there.
    pub fn save(&self) -> Vec<u8> {
        save_game(self.state(), self.tick())
    }

    /// Loads a save game for everyone. The authority can, while the room is in set-up: before [`start`](Game::start), or after
    /// [`rematch`](Game::rematch). A guest that has just joined has to know the common time first, which takes about a second.
    pub fn load(&mut self, save_game: &[u8]) -> Result<(), LoadGameError> {
        let (state, _) = load_game(save_game)?;
        match self.replace_state(state) {
            true => Ok(()),
            false => Err(LoadGameError::NotNow),
        }
    }

    /// Begins the next game with another state, for everyone. Returns false if it is not the time for it: see [`load`](Game::load).
    pub fn replace_state(&mut self, state: S) -> bool {
        let now = self.driver.now();
        let game = self.driver.machine_mut();
        game.load(now, &Live::checkpoint_of(state))
    }
}

impl<S: Simulation, M: Model, T: Transport> Game<S, M, T> {
    /// The recording of the game so far, to write into a file that `samestep replay` plays; `None` if the game is not recorded.
    pub fn recording(&self) -> Option<Vec<u8>> {
        let recorder = self.driver.machine().world().recorder();
        recorder.map(|recorder| recorder.bytes())
    }
}

/// Why a save game is not loaded. `Debug` shows the message too, so that `main` may return it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadGameError {
    /// It is no save game of this game.
    #[error(transparent)]
    Save(#[from] LoadError),
    /// This program is not the authority, or the game has begun.
    #[error("only the authority can load a save game, and only while the room is in set-up")]
    NotNow,
}
