//! [`Game`]: a session, a model and a socket in one type.

mod journal;
mod room;
mod save;

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use samestep_session::{
    JoinTo, LeaveReason, Match, MatchEvent, PlayerId, PlayerInfo, RejoinSecret, Role,
    SessionConfig, StartRule, State,
};
use samestep_sync::{Live, Model, Simulation, SmoothConfig, Status, Switch, Tick, TimedEvent};
use samestep_transport::{Transport, Udp};

pub use self::save::LoadGameError;
use crate::address::{DEFAULT_PORT, Listen, resolve_join};
use crate::arguments::Arguments;
use crate::background::{StartError, bind_any, bind_towards};
use crate::driver::{Driver, seed, session_with_clock};
use crate::journal::JournalKeeper;
use crate::stats::{GameStats, Sampler};

/// The news that are kept until the program takes them.
const NEWS: usize = 1024;
/// The maximum time that leaving takes.
const FAREWELL: Duration = Duration::from_secs(2);

/// One program's part in a game: the rules `S`, kept the same everywhere by the model `M`.
///
/// A program opens a game or joins it, then loops: [`set_controls`](Game::set_controls) with the state of the keys,
/// [`run_for`](Game::run_for) a few milliseconds, draw [`shown`](Game::shown).
///
/// ```
/// use samestep::prelude::*;
/// use std::time::Duration;
///
/// #[derive(Clone, Default, PartialEq, Debug, Wire)]
/// struct Pull(bool);
///
/// impl Input for Pull {
///     fn predict(&self) -> Self {
///         self.clone() // a player that pulls goes on pulling
///     }
/// }
///
/// #[derive(Clone, Default, Replicate)]
/// struct TugOfWar {
///     rope: i32,
/// }
///
/// impl Simulation for TugOfWar {
///     type Input = Pull;
///     type Event = ();
///     const NAME: &'static str = "tug of war";
///
///     fn step(&mut self, inputs: &Inputs<'_, Pull>, _: &mut Events<()>) {
///         for (player, _) in inputs.iter().filter(|(_, pull)| pull.0) {
///             self.rope += if player.0 % 2 == 0 { -1 } else { 1 };
///         }
///     }
/// }
///
/// // Two programs in one.
/// let config = |name| SessionConfig::new("tug of war", 1).player(name);
/// let mut ann = Game::host(0, config("Ann"), Rollback::default(), TugOfWar::default())?;
/// let address = format!("127.0.0.1:{}", ann.local_addr().port());
/// let mut ben = Game::join(&address, config("Ben"), Rollback::default(), TugOfWar::default())?;
///
/// let moment = Duration::from_millis(4);
/// while ann.shown().rope < 30 {
///     ann.run_for(moment)?;
///     ben.run_for(moment)?;
///     ben.set_controls(&Pull(true));
/// }
/// assert_eq!(ann.players().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Dropping it sends a farewell once and does not wait for its acknowledgement; [`leave`](Game::leave) waits. Either way the slot is free at once.
/// That of a program that is killed is kept for [`SessionConfig::rejoin_grace`], so that it can come back.
pub struct Game<S: Simulation, M: Model, T: Transport = Udp> {
    driver: Driver<T, Match<Live<S>, M>>,
    news: VecDeque<MatchEvent>,
    last_error: Option<String>,
    /// Where the match is kept.
    journal: Option<JournalKeeper>,
    sampler: Sampler,
    /// Whether the first picture begins to smooth what is shown: a program that draws nothing does not pay for it.
    smooths: bool,
}

impl<S: Simulation, M: Model> Game<S, M> {
    /// Opens or joins a game as the command line says:
    ///
    /// | | |
    /// |---|---|
    /// | `host [PORT]` | opens a game and plays in it ([`host`](Game::host)) |
    /// | `serve [PORT]` | opens a game for others ([`serve`](Game::serve)) |
    /// | `join ADDRESS` | joins either ([`join`](Game::join)) |
    /// | `watch ADDRESS` | watches either ([`watch`](Game::watch)) |
    /// | `mesh [PORT]` | opens a game without a host ([`open_mesh`](Game::open_mesh)) |
    /// | `peer ADDRESS` | joins that ([`join_mesh`](Game::join_mesh)) |
    ///
    /// Without a port it is [`DEFAULT_PORT`]; instead of one, `192.168.0.7:5000` listens at that address only. `--name NAME` names the
    /// first player, `--password-file FILE`, or the environment variable `SAMESTEP_PASSWORD`, has the password that protects a game or opens one that is protected. With a lobby, `--lobby-key KEY` and `--shard N` say whose tokens a game that is
    /// opened takes, and `--token-file FILE`, or `SAMESTEP_TOKEN`, has the one to join with. `--key-file FILE` keeps this program's own key. `--stats FILE` writes [figures](Game::write_stats), to standard error if the file is `-`;
    /// `--log FILTER` logs, if the feature `log` is on.
    pub fn from_args(mut config: SessionConfig, model: M, state: S) -> Result<Self, StartError> {
        let arguments = Arguments::for_game()?;
        arguments.apply(&mut config);
        let mut game = Game::from_words(&arguments.words(), config, model, state)?;
        if let Some(file) = &arguments.stats {
            game.write_stats(file).map_err(StartError::Io)?;
        }
        Ok(game)
    }

    fn from_words(
        words: &[&str],
        config: SessionConfig,
        model: M,
        state: S,
    ) -> Result<Self, StartError> {
        let at = match words {
            [_, at] => Listen::parse(at),
            _ => Some(Listen::Port(DEFAULT_PORT)),
        };
        match (words, at) {
            (["host"] | ["host", _], Some(at)) => Game::host(at, config, model, state),
            (["serve"] | ["serve", _], Some(at)) => Game::serve(at, config, model, state),
            (["mesh"] | ["mesh", _], Some(at)) => Game::open_mesh(at, config, model, state),
            (["join", address], _) => Game::join(address, config, model, state),
            (["watch", address], _) => Game::watch(address, config, model, state),
            (["peer", address], _) => Game::join_mesh(address, config, model, state),
            _ => Err(StartError::Command(words.join(" "))),
        }
    }

    /// Opens a game at a port, 0 for any free one, or at [one address](Listen), and plays in it.
    ///
    /// The game begins at once, and peers that join later get the state; with another [`StartRule`] the room waits first.
    pub fn host(
        at: impl Into<Listen>,
        config: SessionConfig,
        model: M,
        state: S,
    ) -> Result<Self, StartError> {
        let udp = bind_any(at.into())?;
        Game::over(udp, config, Role::Host, model, Live::new(state))
    }

    /// Opens a game for others: a dedicated server. The players of `config` do not play here.
    pub fn serve(
        at: impl Into<Listen>,
        mut config: SessionConfig,
        model: M,
        state: S,
    ) -> Result<Self, StartError> {
        config.players.clear();
        Game::host(at, config, model, state)
    }

    /// Joins a host's game: `"example.org:14242"`, `"192.168.0.7"`, `"[::1]:5000"`, each also with the host's [key](Game::public_key) behind a `#`. The state
    /// given here is replaced by the game's.
    pub fn join(
        address: &str,
        config: SessionConfig,
        model: M,
        state: S,
    ) -> Result<Self, StartError> {
        Game::join_as(address, Role::Client, config, model, state)
    }

    /// Joins a host's game again after a restart, with the [secret](Game::rejoin_secret) of the time before: the player is the same as then.
    pub fn rejoin(
        address: &str,
        secret: RejoinSecret,
        config: SessionConfig,
        model: M,
        state: S,
    ) -> Result<Self, StartError> {
        let role = |join| {
            Role::Client(JoinTo {
                rejoin: Some(secret),
                ..join
            })
        };
        Game::join_as(address, role, config, model, state)
    }

    /// Watches a host's game. The players of `config` do not play here.
    pub fn watch(
        address: &str,
        mut config: SessionConfig,
        model: M,
        state: S,
    ) -> Result<Self, StartError> {
        config.players.clear();
        Game::join_as(address, Role::Spectator, config, model, state)
    }

    /// Opens a game without a host, as [`host`](Game::host) does with one: a mesh, in which everyone talks to everyone.
    pub fn open_mesh(
        at: impl Into<Listen>,
        config: SessionConfig,
        model: M,
        state: S,
    ) -> Result<Self, StartError> {
        let udp = bind_any(at.into())?;
        Game::over(udp, config, Role::Introducer, model, Live::new(state))
    }

    /// Joins a mesh through any of its members.
    pub fn join_mesh(
        address: &str,
        config: SessionConfig,
        model: M,
        state: S,
    ) -> Result<Self, StartError> {
        Game::join_as(address, Role::Peer, config, model, state)
    }

    fn join_as(
        address: &str,
        role: impl FnOnce(JoinTo) -> Role,
        mut config: SessionConfig,
        model: M,
        state: S,
    ) -> Result<Self, StartError> {
        let join = resolve_join(address)?;
        let udp = bind_towards(join.address)?;
        config.may_host = config.may_host.or(Some(true));
        Game::over(udp, config, role(join), model, Live::new(state))
    }
}

impl<S: Simulation, M: Model, T: Transport> Game<S, M, T> {
    /// Takes any role in a game, over a transport of your own: a socket with other settings, TCP, an impaired one.
    pub fn over(
        transport: T,
        config: SessionConfig,
        role: Role,
        model: M,
        world: Live<S>,
    ) -> Result<Self, StartError> {
        let opens = role.join().is_none() && config.start == StartRule::AtOnce;
        let (now, seed) = (transport.now(), seed().map_err(StartError::Io)?);
        let config = session_with_clock(now, config);
        let smooths = world.view().is_none();
        tracing::info!(
            game = S::NAME,
            address = %transport.local_addr(),
            joining = role.join().map(|join| tracing::field::display(join.address)),
            "game starts"
        );
        let mut game =
            Match::new(now, config, role, seed, model, world).map_err(StartError::Setup)?;
        if opens {
            game.session_mut().start(now);
        }
        Ok(Game::with(Driver::over(transport, game), smooths))
    }

    fn with(driver: Driver<T, Match<Live<S>, M>>, smooths: bool) -> Self {
        Game {
            sampler: Sampler::new(driver.now()),
            driver,
            news: VecDeque::new(),
            last_error: None,
            journal: None,
            smooths,
        }
    }

    /// Runs the game for this long: receives, simulates the ticks that are due, sends.
    ///
    /// An error is final: this program could not join, was dropped, or the room was closed. Its message says why.
    pub fn run_for(&mut self, time: Duration) -> Result<(), GameError> {
        let until = self.driver.now() + time;
        let journal = &mut self.journal;
        let mut note = |now: Duration, game: &mut Match<Live<S>, M>| {
            if let Some(journal) = journal {
                journal.write(now, game);
            }
        };
        while let Some(event) = self.driver.drive_noting(until, &mut note)? {
            if self.news.len() == NEWS {
                self.news.pop_front();
            }
            self.last_error = room::trouble(&event).or(self.last_error.take());
            self.news.push_back(event);
        }
        let now = self.driver.now();
        self.sampler.on_time(now, self.driver.machine())?;
        match self.driver.machine().session().state() {
            State::Left(reason) => {
                tracing::info!(%reason, "game ends");
                Err(GameError::Left(reason.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Sets the controls of [this program's first player](Game::me): what is held and pressed. Call it as often as the program looks at its keys,
    /// once a frame or more: each tick samples the latest, and what was pressed and released in between is not lost ([`Input::merge`]).
    ///
    /// Returns false if the controls are not taken: the player has not joined yet, or too many inputs wait.
    ///
    /// [`Input::merge`]: samestep_sync::Input::merge
    pub fn set_controls(&mut self, controls: &S::Input) -> bool {
        self.me()
            .is_some_and(|me| self.set_controls_of(me, controls))
    }

    /// Sets the controls of any player on this program, where several share it.
    pub fn set_controls_of(&mut self, player: PlayerId, controls: &S::Input) -> bool {
        let now = self.driver.now();
        self.driver
            .machine_mut()
            .set_controls(now, player, controls)
    }

    /// Gives a command of [this program's first player](Game::me): build, play this card, move that unit. Each is carried out exactly once, in
    /// the order in which they were given, one per tick.
    ///
    /// Returns false if the command is not taken: the player has not joined yet, it is not its turn, or too many wait.
    pub fn command(&mut self, command: &S::Input) -> bool {
        self.me().is_some_and(|me| self.command_of(me, command))
    }

    /// Gives a command of any player on this program, where several share it.
    pub fn command_of(&mut self, player: PlayerId, command: &S::Input) -> bool {
        let now = self.driver.now();
        self.driver.machine_mut().command(now, player, command)
    }

    /// [This program's first player](Game::me) passes the initiative on, in a game without real time.
    pub fn end_turn(&mut self) {
        let now = self.driver.now();
        if let Some(me) = self.me() {
            self.driver.machine_mut().end_turn(now, me);
        }
    }

    /// The first player on this program; `None` before it has joined, or if nobody plays here.
    pub fn me(&self) -> Option<PlayerId> {
        self.driver.machine().session().my_players().next()
    }

    /// All players on this program, in the order of [`SessionConfig::players`]; none before it has joined, or if nobody plays here.
    pub fn my_players(&self) -> impl Iterator<Item = PlayerId> {
        self.driver.machine().session().my_players()
    }

    /// The players, with names and colours.
    pub fn players(&self) -> &[PlayerInfo] {
        self.driver.machine().session().room().players()
    }

    /// The state to draw, under any model and at any frame rate.
    ///
    /// Fields that blend (`#[field(blend = "linear")]`) lie between the last two ticks: an input begins to show in the first frame after its
    /// tick, and shows in full a tick later. A correction makes them glide. All other fields are those of the newest tick.
    /// [`set_smoothing`](Game::set_smoothing) changes that.
    pub fn shown(&mut self) -> &S {
        if self.smooths {
            self.set_smoothing(Some(SmoothConfig::default()));
        }
        let now = self.driver.now();
        self.driver.machine_mut().shown(now)
    }

    /// Sets how [`shown`](Game::shown) moves. With `None` everything that is simulated here is shown as it is at the newest tick: a tick sooner, at
    /// the tick rate, and corrections jump.
    pub fn set_smoothing(&mut self, config: Option<SmoothConfig>) {
        self.smooths = false;
        let world = self.driver.machine_mut().world_mut();
        match config {
            Some(config) => world.smooth(config),
            None => world.stop_smoothing(),
        }
    }

    /// The state as it is simulated here; where only the authority simulates, the newest that has arrived.
    pub fn state(&self) -> &S {
        self.driver.machine().world().state()
    }

    /// The tick of [`state`](Game::state).
    pub fn tick(&self) -> Tick {
        self.status().tick
    }

    /// The status of the model: ticks, delays, counters, and whose turn it is in a game without real time.
    pub fn status(&self) -> Status {
        self.driver.machine().status()
    }

    /// What went wrong last, in words: a lost connection, a desync, why the game ended. The game may have recovered since.
    pub fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    /// Changes the state here alone, as a broken machine or another rule would: to see what becomes of a desync.
    pub fn disturb(&mut self, change: impl Fn(&mut S)) {
        self.driver.machine_mut().world_mut().disturb(change);
    }

    /// The figures of the game so far: ticks, delays, rollbacks, desyncs, and the connection to every other program.
    pub fn stats(&self) -> GameStats {
        let now = self.driver.now();
        self.sampler.stats(now, self.driver.machine())
    }

    /// Writes the [figures](Game::stats) once a second from now on: into a CSV file with a row per second and peer, or if the path is
    /// `-` as lines on standard error.
    pub fn write_stats(&mut self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        if path == Path::new("-") {
            self.sampler.write_lines();
            return Ok(());
        }
        let explain =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let file = File::create(path).map_err(explain)?;
        self.sampler.write_csv(Box::new(file)).map_err(explain)
    }

    /// The next event of the rules, with its tick and whether it is predicted, confirmed or cancelled.
    pub fn next_event(&mut self) -> Option<TimedEvent<S::Event>> {
        self.driver.machine_mut().world_mut().poll_event()
    }

    /// The next news of the room and of the model: peers that joined or left, messages, desyncs. The last 1024 are kept.
    pub fn next_news(&mut self) -> Option<MatchEvent> {
        self.news.pop_front()
    }

    /// The address others join at; if it is a wildcard, on any address of this machine.
    pub fn local_addr(&self) -> SocketAddr {
        self.driver.local_addr()
    }

    /// Leaves with this message to the others, and waits at most two seconds for their acknowledgement. A host hands over to who stands by, or else closes
    /// the room.
    pub fn leave(mut self, words: &str) -> Result<(), GameError> {
        self.end_journal();
        let until = self.driver.now() + FAREWELL;
        let left = self.driver.leave_game(words, until);
        tracing::info!(reason = words, "game ends");
        Ok(left?)
    }

    /// The driver, for what is below a game: session, model and world are in its [machine](Driver::machine).
    pub fn driver(&self) -> &Driver<T, Match<Live<S>, M>> {
        &self.driver
    }

    /// The driver, for what is below a game. Take its events from [`next_news`](Game::next_news).
    pub fn driver_mut(&mut self) -> &mut Driver<T, Match<Live<S>, M>> {
        &mut self.driver
    }
}

impl<S: Simulation, T: Transport> Game<S, Switch, T> {
    /// The model that runs here now: its place among the choices given to [`Switch::new`].
    pub fn current_model(&self) -> usize {
        self.driver.machine().model().current()
    }

    /// Changes to another of the models as soon as everyone can know of it.
    ///
    /// Returns false if this program is not the host of a game that runs, if a change is under way, or if there is nothing to change.
    pub fn switch_to(&mut self, choice: usize) -> bool {
        let now = self.driver.now();
        let game = self.driver.machine_mut();
        let time = game.session().time(now);
        time.is_some_and(|time| game.model_mut().to(time, choice))
    }
}

impl<S: Simulation, M: Model, T: Transport> Drop for Game<S, M, T> {
    /// Leaves, unless the program has left already.
    fn drop(&mut self) {
        let now = self.driver.now();
        // Whoever crashes wants to go on.
        if !std::thread::panicking() {
            self.end_journal();
        }
        self.driver.machine_mut().session_mut().leave(now, "");
        // Nobody can handle an error here; the others detect the silence.
        let _ = self.driver.drive(Duration::ZERO);
        self.driver.machine_mut().session_mut().hang_up(now);
        let _ = self.driver.drive(Duration::ZERO);
    }
}

/// Why a game has ended. `Debug` shows the message too, so that `main` may return it.
#[derive(thiserror::Error)]
pub enum GameError {
    /// This program has left the room, or was not admitted.
    #[error("{}", why_left(.0))]
    Left(LeaveReason),
    /// An error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn why_left(reason: &LeaveReason) -> String {
    match reason {
        LeaveReason::Silent => "the connection to the others is lost".into(),
        reason => reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use samestep_sync::{
        Events, Input, Inputs, Lockstep, Replicate, Rewind, Rollback, Snapshot, StateSync, Wire,
    };
    use samestep_transport::{Impaired, Memory, Tcp};

    use super::*;

    #[derive(Clone, Default, PartialEq, Debug, Wire)]
    struct Nothing;

    impl Input for Nothing {
        fn predict(&self) -> Self {
            Nothing
        }
    }

    #[derive(Clone, Default, Replicate)]
    struct Rest {
        ticks: u32,
    }

    impl Simulation for Rest {
        type Input = Nothing;
        type Event = ();
        const NAME: &'static str = "rest";

        fn step(&mut self, _: &Inputs<'_, Nothing>, _: &mut Events<()>) {
            self.ticks += 1;
        }
    }

    fn start(words: &[&str]) -> Result<Game<Rest, Lockstep>, StartError> {
        let config = SessionConfig::new("rest", 1).player("somebody");
        Game::from_words(words, config, Lockstep::default(), Rest::default())
    }

    /// A game may live in an engine's shared resource, or move to a thread of its own, under every model and over every transport.
    const _: () = {
        const fn is_send_and_sync<T: Send + Sync>() {}
        is_send_and_sync::<Game<Rest, Lockstep>>();
        is_send_and_sync::<Game<Rest, Rollback>>();
        is_send_and_sync::<Game<Rest, Snapshot>>();
        is_send_and_sync::<Game<Rest, StateSync>>();
        is_send_and_sync::<Game<Rest, Rewind>>();
        is_send_and_sync::<Game<Rest, Switch>>();
        is_send_and_sync::<Game<Rest, Lockstep, Tcp>>();
        is_send_and_sync::<Game<Rest, Lockstep, Memory>>();
        is_send_and_sync::<Game<Rest, Lockstep, Impaired<Udp>>>();
    };

    #[test]
    fn commands_choose_the_role() {
        let role = |words: &[&str]| {
            let game = start(words).unwrap();
            let session = game.driver.machine().session();
            (session.role().clone(), session.config().players.len())
        };
        assert!(matches!(role(&["host", "0"]), (Role::Host, 1)));
        assert!(matches!(role(&["serve", "0"]), (Role::Host, 0)));
        assert!(matches!(role(&["mesh", "0"]), (Role::Introducer, 1)));
        assert!(matches!(role(&["join", "::1"]), (Role::Client(_), 1)));
        assert!(matches!(role(&["watch", "::1"]), (Role::Spectator(_), 0)));
        assert!(matches!(role(&["peer", "::1"]), (Role::Peer(_), 1)));
    }

    #[test]
    fn an_unknown_command_is_answered_with_the_list() {
        let wrong: [&[&str]; 6] = [
            &[],
            &["join"],
            &["host", "door"],
            &["host", "70000"],
            &["serve", "1", "2"],
            &["dance"],
        ];
        for words in wrong {
            let error = start(words).err().unwrap().to_string();
            assert!(error.contains("`join ADDRESS`"), "{words:?}: {error}");
        }
    }

    #[test]
    fn news_that_are_not_taken_are_bounded() {
        let mut game = start(&["host", "0"]).unwrap();
        game.run_for(Duration::from_millis(5)).unwrap();
        let some = game.news.front().unwrap().clone();
        game.news.resize(NEWS, some);
        while game.tick() < Tick(1) {
            game.run_for(Duration::from_millis(5)).unwrap();
        }
        assert_eq!(game.news.len(), NEWS, "the beginning was told as well");
    }
}
