//! A game whose host keeps it in a journal, and goes on with it after a restart.

use samestep_session::{Match, Phase, Role, SessionConfig, StartRule};
use samestep_sync::{JournalHeader, Live, Model, Simulation};
use samestep_transport::{Transport, Udp, advance_clock_to};

use super::Game;
use crate::address::Listen;
use crate::background::{StartError, bind_any};
use crate::driver::{Driver, seed, session_with_clock};
use crate::journal::{JournalFile, JournalFileError, clock_after};

impl<S: Simulation, M: Model> Game<S, M> {
    /// Opens a game as [`host`](Game::host) does, and keeps it in a journal, so that `kill -9` and a restart lose nothing: if the journal has a match
    /// that a program was killed in, the game goes on with that, and whoever was in it returns to its place by itself. Leaving, or dropping
    /// the game, closes the room and removes the journal.
    ///
    /// Give [`SessionConfig::protocol`] the same `identity` each time ([`keep_identity`](crate::keep_identity)): guests believe no other host. A
    /// dedicated server has no players in `config`. Under [`Switch`](samestep_sync::Switch) and [`Beside`](samestep_sync::Beside) no journal
    /// can be kept.
    ///
    /// ```no_run
    /// # use samestep::prelude::*;
    /// # #[derive(Clone, Default, PartialEq, Debug, Wire)]
    /// # struct Nothing;
    /// # impl Input for Nothing { fn predict(&self) -> Self { Nothing } }
    /// # #[derive(Clone, Default, Replicate)]
    /// # struct Arena { ticks: u32 }
    /// # impl Simulation for Arena {
    /// #     type Input = Nothing;
    /// #     type Event = ();
    /// #     const NAME: &'static str = "arena";
    /// #     fn step(&mut self, _: &Inputs<'_, Nothing>, _: &mut Events<()>) { self.ticks += 1; }
    /// # }
    /// use samestep::{JournalConfig, JournalFile, keep_identity};
    ///
    /// let mut config = SessionConfig::new("arena", 1);
    /// config.protocol.identity = Some(keep_identity("arena.key")?);
    /// let journal = JournalFile::open("arena.journal", JournalConfig::default())?;
    /// let mut game = Game::host_with_journal(14242, config, StateSync::default(), Arena::default(), journal)?;
    /// loop {
    ///     game.run_for(std::time::Duration::from_millis(4))?;
    /// }
    /// # #[allow(unreachable_code)]
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn host_with_journal(
        at: impl Into<Listen>,
        config: SessionConfig,
        model: M,
        state: S,
        journal: JournalFile,
    ) -> Result<Self, StartError> {
        let udp: Udp = bind_any(at.into())?;
        Game::over_with_journal(udp, config, model, Live::new(state), journal)
    }
}

impl<S: Simulation, M: Model, T: Transport> Game<S, M, T> {
    /// The same over a transport of your own, whose clock is that of all transports.
    pub fn over_with_journal(
        transport: T,
        config: SessionConfig,
        model: M,
        mut world: Live<S>,
        mut journal: JournalFile,
    ) -> Result<Self, StartError> {
        let header = JournalHeader::of(S::NAME, S::VERSION, &model, &world);
        let path = journal.path().to_path_buf();
        let found = journal.take_found(&header)?;
        let mut game = match found {
            None => {
                // What it writes is what standbys would be fed.
                let standbys = Some(0);
                let config = SessionConfig { standbys, ..config };
                Game::over(transport, config, Role::Host, model, world)?
            }
            Some(found) => {
                let replayed = found.replay(&mut world);
                let standby = replayed.map_err(|error| JournalFileError::Replay {
                    path: path.clone(),
                    error,
                })?;
                let handover = standby.handover().cloned().unwrap_or_default();
                tracing::info!(tick = handover.tick().0, "the match of a journal goes on");
                advance_clock_to(clock_after(found.clock()));
                let begins = config.start == StartRule::AtOnce;
                let (now, seed) = (transport.now(), seed().map_err(StartError::Io)?);
                let config = session_with_clock(now, config);
                let smooths = world.view().is_none();
                let resumed =
                    Match::resume(now, config, seed, model, world, found.room(), &handover);
                let mut resumed = resumed.map_err(|error| JournalFileError::Resume {
                    path: path.clone(),
                    error,
                })?;
                if begins && *resumed.session().room().phase() == Phase::SetUp {
                    resumed.session_mut().start(now);
                }
                Game::with(Driver::over(transport, resumed), smooths)
            }
        };
        let mut journal = journal.keep(&header);
        let now = game.driver.now();
        let begun = journal.begin(now, game.driver.machine_mut());
        begun.map_err(|error| JournalFileError::Io { path, error })?;
        game.journal = Some(journal);
        Ok(game)
    }

    /// Keeps something of the program's own in the journal, which [`JournalFile::found`] has after a restart; in place of what was kept before.
    pub fn keep_in_journal(&mut self, program: &[u8]) {
        if let Some(journal) = &mut self.journal {
            journal.set_program(program);
        }
    }

    /// Why the journal is not written any more: the disk is full, for instance. The game goes on without it.
    pub fn journal_error(&self) -> Option<&str> {
        self.journal.as_ref()?.error()
    }

    /// The room is closed for good: there is nothing to go on with.
    pub(super) fn end_journal(&mut self) {
        if let Some(journal) = self.journal.take() {
            journal.remove();
        }
    }
}
