//! A mesh of programs that play under event delay, in virtual time or over sockets of this machine.

mod network;
pub mod tries;
mod watch;

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_session::{JoinTo, Match, PlayerId, Role};
use samestep_sim::NodeId;
use samestep_sync::{EventDelay, EventDelayConfig, Live, Simulation};

use crate::testmatch::{Program, session_of};
use network::Network;
pub use watch::{Seen, Watch};

/// The longest time until all are together, and until the game has begun everywhere.
const PATIENCE: Duration = Duration::from_secs(60);

/// One program, and what is watched of it.
pub type DelayProgram<G, S> = Program<Live<G>, EventDelay, Watch<G, S>>;

/// The settings of a room.
#[derive(Clone, Debug)]
pub struct DelayRoomConfig {
    /// One for each program.
    pub players: u16,
    /// The settings of the model.
    pub model: EventDelayConfig,
    /// From each program to each other.
    pub link: LinkConfig,
    /// Ways that are otherwise.
    pub special: Vec<(NodeId, NodeId, LinkConfig)>,
    /// Over sockets of this machine.
    pub real: bool,
    /// The seed of everything random.
    pub seed: u64,
}

impl DelayRoomConfig {
    /// A room in virtual time whose ways are all alike.
    pub fn new(players: u16, link: &LinkConfig, seed: u64) -> DelayRoomConfig {
        DelayRoomConfig {
            players,
            model: EventDelayConfig::default(),
            link: link.clone(),
            special: Vec::new(),
            real: false,
            seed,
        }
    }
}

/// The programs, each with one player, and the network between them.
pub struct DelayRoom<G: Simulation, S> {
    network: Network<G, S>,
    players: Vec<PlayerId>,
    count: u16,
}

impl<G: Simulation + Clone + 'static, S: 'static> DelayRoom<G, S> {
    /// Opens a mesh, lets everyone join and begins the game. `sample` is taken of each state that a program reaches.
    pub fn open(
        config: &DelayRoomConfig,
        game: &G,
        sample: fn(&G) -> S,
    ) -> Result<DelayRoom<G, S>, String> {
        let model = || EventDelay::new(config.model.clone()).map_err(|error| error.to_string());
        let mut room = DelayRoom {
            network: Network::new(config)?,
            players: Vec::new(),
            count: config.players,
        };
        let mut door = None;
        for node in room.nodes() {
            let (place, address) = room.network.place(node)?;
            let role = match door {
                None => Role::Introducer,
                Some(door) => Role::Peer(JoinTo::new(door)),
            };
            door.get_or_insert(address);
            let session = session_of(node, config.players);
            let (model, world) = (model()?, Live::without_recording(game.clone()));
            room.network.start(place, |now, seed| {
                let game = Match::new(now, session, role, seed, model, world);
                let game = game.expect("settings that make sense");
                Program::new(game, Watch::new(sample), false)
            });
            room.run_for(Duration::from_millis(50))?;
        }
        let all = usize::from(config.players);
        room.wait("the players did not come together", |program| {
            program.is_in_sync(all)
        })?;
        room.run_for(Duration::from_secs(1))?;
        room.network.with(NodeId(0), |now, program| {
            program.game_mut().session_mut().start(now);
        });
        room.wait("the game did not begin everywhere", Program::is_playing)?;
        let players = room.nodes().map(|node| room.program(node).player());
        let players: Option<Vec<PlayerId>> = players.collect();
        room.players = players.ok_or("somebody does not play")?;
        Ok(room)
    }

    fn wait(
        &mut self,
        words: &str,
        done: impl Fn(&DelayProgram<G, S>) -> bool,
    ) -> Result<(), String> {
        let end = self.now() + PATIENCE;
        while self.now() < end {
            if self.nodes().all(|node| done(self.program(node))) {
                return Ok(());
            }
            self.run_for(Duration::from_millis(50))?;
        }
        Err(format!("{words} within {} s", PATIENCE.as_secs()))
    }

    /// Everyone: the first has opened the mesh.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<G, S> {
        (0..self.count).map(NodeId)
    }

    /// True time since the beginning.
    pub fn now(&self) -> Duration {
        self.network.now()
    }

    /// Lets time pass until then.
    pub fn run_until(&mut self, until: Duration) -> Result<(), String> {
        self.network.run_until(until)
    }

    fn run_for(&mut self, time: Duration) -> Result<(), String> {
        self.run_until(self.now() + time)
    }

    /// A program.
    pub fn program(&self, node: NodeId) -> &DelayProgram<G, S> {
        self.network.program(node)
    }

    /// What is watched of a program.
    pub fn watch(&self, node: NodeId) -> &Watch<G, S> {
        &self.program(node).observer
    }

    /// The events that a program has shown since last asked, with the true time of each in s.
    pub fn take_seen(&mut self, node: NodeId) -> Vec<(f64, Seen<G::Event>)> {
        let take = |_, program: &mut DelayProgram<G, S>| program.observer.take_seen();
        let seen = self.network.with(node, take).into_iter();
        seen.map(|seen| (self.world_time(node, seen.at), seen))
            .collect()
    }

    /// The true time, in s, at which a machine's clock shows this.
    pub fn world_time(&self, node: NodeId, local: Duration) -> f64 {
        self.network.world_time(node, local)
    }

    /// Datagrams that a program has sent, and their bytes with all headers.
    pub fn sent(&self, node: NodeId) -> (u64, u64) {
        self.network.sent(node)
    }

    /// The player at a program.
    pub fn player(&self, node: NodeId) -> PlayerId {
        self.players[usize::from(node.0)]
    }

    /// The player at a program does something now.
    pub fn give(&mut self, node: NodeId, input: &G::Input) -> Result<(), String> {
        let player = self.player(node);
        let give =
            |now, program: &mut DelayProgram<G, S>| program.game_mut().input(now, player, input);
        match self.network.with(node, give) {
            true => Ok(()),
            false => Err(format!("{node} cannot play any more")),
        }
    }
}
