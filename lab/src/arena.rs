//! A match in virtual time, from an empty room to the last measured second: any of the games, kept in step by any of the models.

mod compare;
mod contest;
mod corrections;
mod cues;
mod keys;
mod notes;
mod seat;
mod told;
mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use samestep_evaluation::Evaluation;
use samestep_netem::Path;
use samestep_session::{JoinTo, PlayerId, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{Lockstep, LockstepConfig, RollbackConfig, Tick};

use crate::busy::Busy;
use crate::samples::Course;
use crate::stats::Samples;
pub use contest::{Contest, Placed};
pub use cues::{Cues, Script, script_of};
pub use keys::*;
pub use seat::{ArenaModel, Notice, Seat};
pub use told::Told;

/// Time of a tick of all the games.
pub const TICK: Duration = Duration::from_nanos(1_000_000_000 / 60);
/// The program that opens the room, and hosts it unless it is a mesh.
pub const OPENER: NodeId = NodeId(0);
/// How long anything may take that has to happen before a match.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// What a match is made of.
#[derive(Clone, Debug)]
pub struct ArenaConfig {
    /// Players the game has entities for; whoever joins late is one of them.
    pub players: u16,
    /// Entities, split over the players.
    pub entities: usize,
    /// Whether everyone talks to everyone.
    pub mesh: bool,
    /// From each member to the opener and back; in a mesh, both ways between any two are those to the opener.
    pub path: Path,
    /// What everything the opener sends shares.
    pub uplink_bps: u64,
    /// What a step takes on every machine.
    pub step_cost: Duration,
    /// How they keep in step, under either model.
    pub lockstep: LockstepConfig,
    /// The same.
    pub rollback: RollbackConfig,
    /// Whether everyone takes notes: for few players.
    pub closely: bool,
}

/// A room of programs, the opener first; each has one player, who does what the script says.
pub struct Arena<G: Contest = Evaluation, M: ArenaModel = Lockstep> {
    testbed: Testbed<Busy<Seat<G, M>>>,
    config: ArenaConfig,
    seed: u64,
    /// What everyone begins with.
    game: G,
    /// World time at which the game began.
    start: Duration,
    cues: Cues<G>,
    seconds: u32,
    course: Course,
    /// The opener's check values, and those of others for ticks it has not reached.
    truth: BTreeMap<Tick, u64>,
    early: Vec<(NodeId, Tick, u64)>,
    differing: BTreeSet<(NodeId, Tick)>,
    notices: Vec<(Duration, NodeId, Notice)>,
}

impl<G: Contest, M: ArenaModel> Arena<G, M> {
    /// The first member opens the room.
    pub fn open(config: ArenaConfig, seed: u64) -> Result<Arena<G, M>, String> {
        let mut arena = Arena {
            testbed: Testbed::new(seed),
            game: G::begin(config.players, config.entities, seed)?,
            cues: Cues::new(
                config.players,
                script_of(config.players, config.entities, seed)?,
            ),
            config,
            seed,
            start: Duration::ZERO,
            seconds: 0,
            course: Course::default(),
            truth: BTreeMap::new(),
            early: Vec::new(),
            differing: BTreeSet::new(),
            notices: Vec::new(),
        };
        arena.testbed.set_links(arena.config.path.up.clone());
        arena.testbed.add_node();
        let queue = arena.config.path.down.queue;
        let rate = arena.config.uplink_bps;
        arena.testbed.set_uplink(OPENER, rate, queue);
        let role = match arena.config.mesh {
            true => Role::Introducer,
            false => Role::Host,
        };
        arena.sit(OPENER, role);
        Ok(arena)
    }

    /// Another program asks to be let in.
    pub fn join(&mut self) -> NodeId {
        let node = self.testbed.add_node();
        let down = self.config.path.down.clone();
        self.testbed.set_link(OPENER, node, down);
        let join = JoinTo::new(self.testbed.address(OPENER));
        let role = match self.config.mesh {
            true => Role::Peer(join),
            false => Role::Client(join),
        };
        self.sit(node, role);
        node
    }

    fn sit(&mut self, node: NodeId, role: Role) {
        let session = session_of(node, self.config.players);
        let (config, game) = (&self.config, self.game.clone());
        self.testbed.start(node, |now, seed| {
            let seat = Seat::new(now, config, session, role, seed, game);
            Busy::new(seat, config.step_cost)
        });
    }

    /// Lets as many join and waits until everyone knows everyone and the clocks agree, then begins the game and waits until it runs everywhere.
    pub fn begin(&mut self, members: usize) -> Result<(), String> {
        // A room answers 200 key exchanges a second.
        let spacing = Duration::from_millis(10);
        while self.testbed.nodes().count() < members {
            self.join();
            let until = self.testbed.now() + spacing;
            self.idle_until(until)?;
        }
        let words = format!("the {members} members did not come together");
        self.wait(&words, |seat| seat.is_in_sync(members))?;
        let until = self.testbed.now() + Duration::from_secs(1);
        self.idle_until(until)?;
        self.with(OPENER, |now, seat| seat.start(now));
        self.wait("the game did not begin everywhere", Seat::is_playing)?;
        self.start = self.testbed.now();
        self.notices.clear();
        self.sample();
        Ok(())
    }

    /// From now on everything takes at least this long, one way.
    pub fn set_latency(&mut self, latency: Duration) {
        let path = &mut self.config.path;
        (path.up.latency, path.down.latency) = (latency, latency);
        self.testbed.set_links(path.up.clone());
        for node in self.nodes().filter(|node| *node != OPENER) {
            let down = self.config.path.down.clone();
            self.testbed.set_link(OPENER, node, down);
        }
    }

    /// World time since the game began.
    pub fn elapsed(&self) -> Duration {
        self.testbed.now() - self.start
    }

    /// Everyone, in the order in which they came.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<G, M> {
        self.testbed.nodes().collect::<Vec<_>>().into_iter()
    }

    /// A member's part.
    pub fn seat(&self, node: NodeId) -> &Seat<G, M> {
        let busy = self.testbed.machine(node).expect("nobody ever stops");
        busy.machine()
    }

    /// Everyone's part.
    pub fn seats(&self) -> impl Iterator<Item = (NodeId, &Seat<G, M>)> {
        self.testbed.nodes().map(|node| (node, self.seat(node)))
    }

    /// Does something with a member's part.
    pub fn with<T>(&mut self, node: NodeId, act: impl FnOnce(Duration, &mut Seat<G, M>) -> T) -> T {
        let act = |now, busy: &mut Busy<Seat<G, M>>| act(now, busy.machine_mut());
        self.testbed.with(node, act).expect("nobody ever stops")
    }

    /// What everyone wrote down each second.
    pub fn course(&self) -> &Course {
        &self.course
    }

    /// What happened, with its time since the game began.
    pub fn notices(&self) -> &[(Duration, NodeId, Notice)] {
        &self.notices
    }

    /// Where a member's state was not the opener's, by looking at both.
    pub fn differing(&self) -> &BTreeSet<(NodeId, Tick)> {
        &self.differing
    }

    /// Fails if anybody's state was ever not the opener's.
    pub fn check_equal(&self) -> Result<(), String> {
        match self.differing.first() {
            None => Ok(()),
            Some((node, tick)) => Err(format!(
                "{node} differs from the opener at tick {}, and at {} of the others looked at (seed {})",
                tick.0,
                self.differing.len() - 1,
                self.seed,
            )),
        }
    }

    /// Times in ms from a player's input to its execution in its own simulation, of those given after `settling` of the game.
    pub fn command_delays(&self, settling: Duration) -> Samples {
        let mut delays = Samples::new();
        for (node, seat) in self.seats() {
            // Seats keep the times of their own clocks.
            let from = self
                .testbed
                .local(node)
                .saturating_sub(self.elapsed().saturating_sub(settling));
            let judged = seat.delays().iter().filter(|(given, _)| *given >= from);
            for (_, delay) in judged {
                delays.push(delay.as_secs_f64() * 1e3);
            }
        }
        delays
    }

    /// Plays on until this long after the beginning: everyone gives its commands, and writes down once a second what it counted.
    pub fn play_until(&mut self, elapsed: Duration) -> Result<(), String> {
        let end = self.start + elapsed;
        loop {
            let second = self.start + Duration::from_secs(1) * (self.seconds + 1);
            let command = self.next_command(second.min(end));
            let next = command.unwrap_or(end).min(second).min(end);
            self.idle_until(next)?;
            if next == second {
                self.seconds += 1;
                self.sample();
            } else if Some(next) == command {
                self.command();
            } else {
                return Ok(());
            }
        }
    }

    /// The next event, at most until this long after the beginning, while nobody gives commands but those given before.
    fn idle_until(&mut self, until: Duration) -> Result<(), String> {
        while let Some((at, node, notice)) = self.testbed.next(until) {
            if let Notice::Left(why) = &notice {
                return Err(format!("{node} is out of the room: {why}"));
            }
            let at = at.saturating_sub(self.start);
            self.notices.push((at, node, notice));
        }
        Ok(())
    }

    fn wait(&mut self, words: &str, done: impl Fn(&Seat<G, M>) -> bool) -> Result<(), String> {
        let end = self.testbed.now() + PATIENCE;
        while self.testbed.now() < end {
            if self.seats().all(|(_, seat)| done(seat)) {
                return Ok(());
            }
            let until = self.testbed.now() + Duration::from_millis(50);
            self.idle_until(until)?;
        }
        let missing = self.seats().filter(|(_, seat)| !done(seat)).count();
        Err(format!(
            "{words} within {} s: {missing} are missing",
            PATIENCE.as_secs()
        ))
    }

    /// When the next command is given, if by this time.
    fn next_command(&mut self, until: Duration) -> Option<Duration> {
        let testbed = &self.testbed;
        let until = until.saturating_sub(self.start);
        let at = self.cues.next_at(until, |node| player_of(testbed, node))?;
        Some(self.start + at)
    }

    fn command(&mut self) {
        let testbed = &self.testbed;
        if let Some((node, player, command)) = self.cues.take(|node| player_of(testbed, node)) {
            self.with(node, |now, seat| seat.give(now, player, &command));
        }
    }

    /// Everyone writes down what it has counted, and what was seen of the states is compared.
    fn sample(&mut self) {
        for node in self.testbed.nodes() {
            let (local, busy) = (self.testbed.local(node), self.testbed.machine(node));
            let busy = busy.expect("nobody ever stops");
            let mut counts = busy.machine().counts();
            counts.views = busy.views(local);
            self.course.take(u32::from(node.0), self.seconds, counts);
            let looks = self.with(node, |_, seat| seat.take_looks());
            match node == OPENER {
                true => self.truth.extend(looks),
                false => self
                    .early
                    .extend(looks.into_iter().map(|(tick, sum)| (node, tick, sum))),
            }
        }
        let Arena {
            truth,
            early,
            differing,
            ..
        } = self;
        early.retain(|(node, tick, sum)| {
            let Some(true_sum) = truth.get(tick) else {
                return true;
            };
            if sum != true_sum {
                differing.insert((*node, *tick));
            }
            false
        });
    }
}

/// Who plays at a node, and the game as it is there; nobody if whoever might has not come.
fn player_of<G: Contest, M: ArenaModel>(
    testbed: &Testbed<Busy<Seat<G, M>>>,
    node: NodeId,
) -> Option<(PlayerId, &G)> {
    if testbed.nodes().count() <= node.0.into() {
        return None;
    }
    let seat = testbed.machine(node)?.machine();
    Some((seat.player()?, seat.state()))
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

#[cfg(test)]
mod tests;
