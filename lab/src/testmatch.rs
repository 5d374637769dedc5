//! A match in virtual time, from an empty room to the last measured second: any game, kept in step by any model, watched by an observer.

mod bots;
mod busy;
mod event_log;
mod games;
mod inputs;
mod keys;
mod program;
mod work;

use std::time::Duration;

use samestep_netem::Path;
use samestep_session::{JoinTo, Match, PlayerId, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed, Topology};
use samestep_sync::Model;

pub use bots::seeing_bots;
pub use busy::Busy;
pub use event_log::EventLog;
pub use games::{Positions, setup_of};
pub use inputs::InputSchedule;
pub use keys::*;
pub use program::{Notice, PlayedWorld, Program, ProgramObserver};
pub use samestep_playable::{Playable, Script as InputScript};
pub use work::processor_time;

/// Time of a tick of all the games.
pub const TICK: Duration = Duration::from_nanos(1_000_000_000 / 60);
/// The program that opens the room, and hosts it unless it is a mesh.
pub const OPENER: NodeId = NodeId(0);
/// How long anything may take that has to happen before a match.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// The settings of a match: players, topology, links and machines.
#[derive(Clone, Debug)]
pub struct MatchConfig {
    /// Players the game and the script are for, one to a program, the opener's among them.
    pub players: u16,
    /// Hosted or a mesh.
    pub topology: Topology,
    /// From each member to the opener and back; in a mesh, both ways between any two are those to the opener.
    pub path: Path,
    /// The rate of the line that carries everything the opener sends, in bit/s.
    pub uplink_bps: u64,
    /// The time that a step takes on every machine.
    pub step_cost: Duration,
}

impl MatchConfig {
    /// A hosted room of machines whose steps take no time.
    pub fn hosted(players: u16, path: Path, uplink_bps: u64) -> MatchConfig {
        MatchConfig {
            players,
            topology: Topology::Hosted,
            path,
            uplink_bps,
            step_cost: Duration::ZERO,
        }
    }
}

/// Watches a match, as a whole at regular times and in each program at every call.
pub trait Observer: Sized {
    /// The world that the programs simulate.
    type World: PlayedWorld;
    /// The observer of each program.
    type Program: ProgramObserver<Self::World>;
    /// Time between two observations.
    const PERIOD: Duration;

    /// The game has begun everywhere.
    fn on_start<M: Model>(&mut self, _testbed: &mut Programs<Self, M>) {}

    /// So many periods have passed since the game began.
    fn observe<M: Model>(&mut self, testbed: &mut Programs<Self, M>, periods: u32);

    /// A node reported a notice, so long after the game began.
    fn on_notice(&mut self, _elapsed: Duration, _node: NodeId, _notice: Notice) {}
}

/// The programs of a match and the network between them.
pub type Programs<O, M> = Testbed<Busy<ProgramOf<O, M>>>;

type ProgramOf<O, M> = Program<<O as Observer>::World, M, <O as Observer>::Program>;
type GameOf<O> = <<O as Observer>::World as PlayedWorld>::Game;
type Start<O, M> = Box<dyn Fn(NodeId, Duration, Role, [u8; 32]) -> Busy<ProgramOf<O, M>>>;

/// A room of programs, the opener first; each has one player, who acts as the script says.
pub struct TestMatch<O: Observer, M: Model> {
    testbed: Programs<O, M>,
    config: MatchConfig,
    seed: u64,
    start_program: Start<O, M>,
    inputs: InputSchedule<GameOf<O>>,
    /// World time at which the game began.
    start: Duration,
    /// Observations since then.
    periods: u32,
    observer: O,
}

impl<O: Observer, M: Model> TestMatch<O, M> {
    /// The first member opens the room. `program` makes what a node simulates, its model, and what watches it from its time on.
    pub fn new(
        config: MatchConfig,
        seed: u64,
        script: InputScript<GameOf<O>>,
        observer: O,
        program: impl Fn(NodeId, Duration) -> (O::World, M, O::Program) + 'static,
    ) -> TestMatch<O, M> {
        let (players, step_cost) = (config.players, config.step_cost);
        let start_program = move |node, now, role, seed| {
            let (world, model, observer) = program(node, now);
            let session = session_of(node, players);
            let game = Match::new(now, session, role, seed, model, world);
            let game = game.expect("settings that make sense");
            Busy::new(Program::new(game, observer, node == OPENER), step_cost)
        };
        let mut testbed = Testbed::new(seed);
        testbed.set_links(config.path.up.clone());
        testbed.add_node();
        testbed.set_uplink(OPENER, config.uplink_bps, config.path.down.queue);
        let role = config.topology.opening();
        testbed.start(OPENER, |now, seed| start_program(OPENER, now, role, seed));
        TestMatch {
            testbed,
            inputs: InputSchedule::new(players, script),
            config,
            seed,
            start_program: Box::new(start_program),
            start: Duration::ZERO,
            periods: 0,
            observer,
        }
    }

    /// Another program asks to be let in.
    pub fn join(&mut self) -> NodeId {
        let node = self.testbed.add_node();
        self.set_path(node, self.config.path.clone());
        let opener = JoinTo::new(self.testbed.address(OPENER));
        let role = self.config.topology.joining(opener);
        let start = &self.start_program;
        self.testbed
            .start(node, |now, seed| start(node, now, role, seed));
        node
    }

    /// Lets as many join and waits until everyone knows everyone and the clocks agree, then begins the game and waits until it runs
    /// everywhere.
    pub fn begin(&mut self, members: usize) -> Result<(), String> {
        // A room answers 200 key exchanges a second.
        let spacing = Duration::from_millis(10);
        while self.testbed.nodes().count() < members {
            self.join();
            self.idle_for(spacing)?;
        }
        let words = format!("the {members} members did not come together");
        self.wait(&words, |program| program.is_in_sync(members))?;
        self.idle_for(Duration::from_secs(1))?;
        self.with(OPENER, |now, program| {
            program.game_mut().session_mut().start(now);
        });
        self.wait("the game did not begin everywhere", |p| p.is_playing())?;
        self.start = self.testbed.now();
        self.observer.on_start(&mut self.testbed);
        Ok(())
    }

    /// Sets the links from a member to the opener and back.
    pub fn set_path(&mut self, node: NodeId, path: Path) {
        self.testbed.set_link(node, OPENER, path.up);
        self.testbed.set_link(OPENER, node, path.down);
    }

    /// From now on everything takes at least this long, one way.
    pub fn set_latency(&mut self, latency: Duration) {
        let path = &mut self.config.path;
        (path.up.latency, path.down.latency) = (latency, latency);
        self.testbed.set_links(path.up.clone());
        for node in self.guests() {
            let down = self.config.path.down.clone();
            self.testbed.set_link(OPENER, node, down);
        }
    }

    /// World time since the game began.
    pub fn elapsed(&self) -> Duration {
        self.testbed.now() - self.start
    }

    /// The seed of everything random.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Everyone, in the order in which they came.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<O, M> {
        self.testbed.nodes()
    }

    /// Everyone but the opener.
    pub fn guests(&self) -> impl Iterator<Item = NodeId> + use<O, M> {
        self.nodes().skip(1)
    }

    /// The programs and the network between them.
    pub fn testbed(&self) -> &Programs<O, M> {
        &self.testbed
    }

    /// A member's program.
    pub fn program(&self, node: NodeId) -> &ProgramOf<O, M> {
        self.testbed.machine(node).expect("nobody ever stops")
    }

    /// Everyone's program.
    pub fn programs(&self) -> impl Iterator<Item = (NodeId, &ProgramOf<O, M>)> {
        self.nodes().map(|node| (node, self.program(node)))
    }

    /// Does something with a member's program.
    pub fn with<T>(
        &mut self,
        node: NodeId,
        act: impl FnOnce(Duration, &mut ProgramOf<O, M>) -> T,
    ) -> T {
        let act = |now, busy: &mut Busy<ProgramOf<O, M>>| act(now, busy);
        self.testbed.with(node, act).expect("nobody ever stops")
    }

    /// The observer of the match.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The same, to change what it does.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Plays on until this long after the beginning: everyone gives its inputs, and the observer observes.
    pub fn play_until(&mut self, elapsed: Duration) -> Result<(), String> {
        let end = self.start + elapsed;
        loop {
            let observation = self.start + O::PERIOD * (self.periods + 1);
            let input = self.next_input(observation.min(end));
            let next = input.unwrap_or(end).min(observation).min(end);
            self.idle_until(next)?;
            if Some(next) == input {
                self.give_input();
            } else if next == observation {
                self.periods += 1;
                self.observer.observe(&mut self.testbed, self.periods);
            } else {
                return Ok(());
            }
        }
    }

    /// Lets time pass in which nobody does anything.
    fn idle_until(&mut self, until: Duration) -> Result<(), String> {
        while let Some((at, node, notice)) = self.testbed.next(until) {
            if let Notice::Left(why) = &notice {
                return Err(format!("{node} is out of the room: {why}"));
            }
            let elapsed = at.saturating_sub(self.start);
            self.observer.on_notice(elapsed, node, notice);
        }
        Ok(())
    }

    fn idle_for(&mut self, time: Duration) -> Result<(), String> {
        self.idle_until(self.testbed.now() + time)
    }

    fn wait(&mut self, words: &str, done: impl Fn(&ProgramOf<O, M>) -> bool) -> Result<(), String> {
        let end = self.testbed.now() + PATIENCE;
        while self.testbed.now() < end {
            if self.programs().all(|(_, program)| done(program)) {
                return Ok(());
            }
            self.idle_for(Duration::from_millis(50))?;
        }
        let missing = self.programs().filter(|(_, program)| !done(program));
        Err(format!(
            "{words} within {} s: {} are missing",
            PATIENCE.as_secs(),
            missing.count()
        ))
    }

    /// The time of the next input, if it is due by `until`.
    fn next_input(&mut self, until: Duration) -> Option<Duration> {
        let (testbed, until) = (&self.testbed, until.saturating_sub(self.start));
        let at = self
            .inputs
            .next_at(until, |node| player_at::<O, M>(testbed, node))?;
        Some(self.start + at)
    }

    fn give_input(&mut self) {
        let testbed = &self.testbed;
        if let Some((node, player, input)) =
            self.inputs.take(|node| player_at::<O, M>(testbed, node))
        {
            self.with(node, |now, program| program.give(now, player, &input));
        }
    }
}

/// The player at a node and the game as it is there; `None` before the node has joined.
fn player_at<O: Observer, M: Model>(
    testbed: &Programs<O, M>,
    node: NodeId,
) -> Option<(PlayerId, &GameOf<O>)> {
    if testbed.nodes().count() <= node.0.into() {
        return None;
    }
    let program = testbed.machine(node)?;
    Some((program.player()?, program.state()))
}

/// The session of a program with one player, in a room for so many.
pub fn session_of(node: NodeId, players: u16) -> SessionConfig {
    let name = format!("player {}", node.0);
    let mut session = SessionConfig::new("samestep-lab", 1).player(&name);
    session.capacity = usize::from(players).max(session.capacity);
    session.load_grace = PATIENCE;
    session.protocol.connect_timeout = PATIENCE;
    session
}
