//! From an empty room to the first step.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_session::{JoinTo, Match, SessionConfig};
use samestep_sim::{NodeId, Testbed, Topology, is_in_sync};
use samestep_sync::{Live, PlayerId, Switch, Tick};

use super::rewind::Log;
use super::room::Counters;
use super::{Driver, Player, SERVER, Sandbox};
use crate::history::StepRecord;
use crate::{Gauges, History, Playable, Scenario, Server};

/// How long coming together may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long everyone gets to know its line before the match begins.
const SETTLING: Duration = Duration::from_secs(2);

/// Why there is no match.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SandboxError(String);

impl<G: Playable> Sandbox<G> {
    /// Opens a room, has everyone join it, and begins. Bots play until a person takes over.
    pub fn new(scenario: &Scenario) -> Result<Self, SandboxError> {
        check::<G>(scenario)?;
        let setup = scenario.setup();
        let game = G::begin(&setup).map_err(SandboxError)?;
        let players = scenario.players();
        let new_player = |player: usize| Player {
            driver: Driver::Bot,
            bot: G::bot(&setup, PlayerId(player as u16)),
            manual_input: G::Input::default(),
            gauges: Gauges::default(),
            counted: Counters::default(),
        };
        let now = StepRecord::new(&game, players, scenario.model);
        let mut sandbox = Sandbox {
            scenario: scenario.clone(),
            testbed: Testbed::new(scenario.seed),
            nodes: Vec::new(),
            start: Duration::ZERO,
            players: (0..players).map(new_player).collect(),
            model: scenario.model,
            wanted: None,
            history: History::new(bytes_of(&game) * (players + 1)),
            now,
            desyncs: Vec::new(),
            log: Log::new(scenario),
        };
        sandbox.assemble(&game)?;
        sandbox.observe();
        for player in 0..players {
            sandbox.players[player].counted = sandbox.count(player);
        }
        Ok(sandbox)
    }

    fn assemble(&mut self, game: &G) -> Result<(), SandboxError> {
        // Coming together is not what one wants to see: it goes over good lines.
        let latency = Duration::from_millis(5);
        self.testbed.set_links(LinkConfig {
            latency,
            ..LinkConfig::default()
        });
        self.testbed.add_node();
        if self.scenario.server != Server::Dedicated {
            self.nodes.push(SERVER);
        }
        self.start_program(SERVER, game.clone());
        while self.nodes.len() < self.scenario.players() {
            let node = self.testbed.add_node();
            self.nodes.push(node);
            self.start_program(node, game.clone());
            // One after the other, so that they are numbered in this order.
            let members = usize::from(node.0) + 1;
            self.wait(|game| is_in_sync(game.session(), members))?;
        }
        self.connect();
        self.testbed.run_for(SETTLING);
        self.testbed
            .with(SERVER, |now, game| game.session_mut().start(now));
        // A player that is late joins later.
        let _ = self.wait(|game| game.status().tick > Tick(0));
        self.start = self.testbed.now();
        Ok(())
    }

    /// Starts the program at a node.
    fn start_program(&mut self, node: NodeId, game: G) {
        let name = self.nodes.iter().position(|other| *other == node);
        let name = name.map(|player| format!("Player {}", player + 1));
        let mut config = SessionConfig::new(G::NAME, G::VERSION);
        // The same everywhere: browsers leave encryption to their transports.
        config.protocol = config.protocol.plain();
        config.protocol.timeout = PATIENCE;
        config
            .players
            .extend(name.map(|name| samestep_session::Profile::named(&name)));
        let topology = match self.scenario.server {
            Server::Mesh => Topology::Mesh,
            _ => Topology::Hosted,
        };
        let role = match node == SERVER {
            true => topology.opening(),
            false => topology.joining(JoinTo::new(self.testbed.address(SERVER))),
        };
        let world = match node == SERVER {
            true => Live::new(game),
            false => Live::without_recording(game),
        };
        let model = Switch::new(self.choices()).expect("settings that make sense");
        self.testbed.start(node, |now, seed| {
            Match::new(now, config, role, seed, model, world).expect("settings that make sense")
        });
    }

    /// A player that was dropped joins again as a new one.
    pub(super) fn rejoin(&mut self, node: NodeId) {
        if node != SERVER {
            let game = self.now.truth.clone();
            self.start_program(node, game);
        }
    }

    fn wait(&mut self, done: impl Fn(&Match<Live<G>, Switch>) -> bool) -> Result<(), SandboxError> {
        let step = Duration::from_millis(20);
        match self.testbed.wait_for_all(PATIENCE, step, done) {
            true => Ok(()),
            false => Err(SandboxError("the players did not come together".into())),
        }
    }
}

/// Whether a scenario is for this game, and possible.
fn check<G: Playable>(scenario: &Scenario) -> Result<(), SandboxError> {
    let refuse = |words: String| Err(SandboxError(words));
    if scenario.game != G::NAME {
        return refuse(format!("this is {}, not {}", G::NAME, scenario.game));
    }
    if !G::supports(scenario.model) {
        return refuse(format!(
            "{} is not played under {}",
            G::TITLE,
            scenario.model.title
        ));
    }
    if !scenario.server.supports(scenario.model) {
        let title = scenario.model.title;
        return refuse(format!(
            "{title} needs a server: choose one, or lockstep or rollback"
        ));
    }
    match (G::SIZES, scenario.size) {
        (None, Some(_)) => refuse(format!(
            "{} is as large as it is: leave out the size",
            G::TITLE
        )),
        (Some(sizes), Some(size)) if !(sizes.min..=sizes.max).contains(&size) => refuse(format!(
            "{} can have {} to {} {}",
            G::TITLE,
            sizes.min,
            sizes.max,
            sizes.unit
        )),
        _ => Ok(()),
    }
}

/// About how much memory a state takes.
fn bytes_of<G: Playable>(game: &G) -> usize {
    let mut table = samestep_sync::Table::new(G::schema());
    game.extract(&mut table);
    // Encoded it is a third to a quarter of that.
    4_096 + 4 * table.encode().len()
}
