//! A room of sessions in virtual time, without a game.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_session::{JoinTo, RejoinSecret, Role, Session, SessionConfig, SessionEvent, State};
use samestep_sim::{NodeId, Testbed, Topology};

use crate::parameters::{Case, Key, plain};
use crate::testmatch::{self, topology};

/// How the members are connected, in the name of every case.
pub const TOPOLOGY: Key = testmatch::TOPOLOGY.labelled(plain);

/// Programs that take part, the opener first; each has one player.
pub struct TestRoom {
    /// The sessions and the network between them.
    pub testbed: Testbed<Session>,
    config: SessionConfig,
    state: Vec<u8>,
    topology: Topology,
}

impl TestRoom {
    /// The first member opens the room. `config` holds for everyone but for the player's name; who joins is given
    /// `state` first, unless that is empty.
    pub fn open(
        seed: u64,
        case: &Case,
        link: &LinkConfig,
        mut config: SessionConfig,
        state: Vec<u8>,
    ) -> TestRoom {
        config.initial_state = !state.is_empty();
        let mut room = TestRoom {
            testbed: Testbed::new(seed),
            config,
            state,
            topology: topology(case),
        };
        room.testbed.set_links(link.clone());
        let opener = room.testbed.add_node();
        room.start(opener, room.topology.opening());
        room
    }

    /// Whether everyone talks to everyone.
    pub fn is_mesh(&self) -> bool {
        self.topology.is_mesh()
    }

    /// Starts a program at a node that joins through another, in its old slot if it proves to be who it was.
    pub fn join(&mut self, node: NodeId, through: NodeId, rejoin: Option<RejoinSecret>) {
        let mut join = JoinTo::new(self.testbed.address(through));
        join.rejoin = rejoin;
        self.start(node, self.topology.joining(join));
    }

    fn start(&mut self, node: NodeId, role: Role) {
        let config = self.config.clone().player(&format!("player {}", node.0));
        self.testbed.start(node, |now, seed| {
            Session::new(now, config, role, seed).expect("settings that make sense")
        });
    }

    /// Lets as many join, one every 50 ms, and waits until everyone is in sync. Whoever of a pair that is cut cannot reach
    /// the opener comes last, through somebody else.
    pub fn gather(&mut self, members: usize, cut: Option<(NodeId, NodeId)>) -> Result<(), String> {
        while self.testbed.nodes().count() < members {
            self.testbed.add_node();
        }
        let opener = NodeId(0);
        let cut_off = cut.and_then(|(a, b)| match (a == opener, b == opener) {
            (true, _) => Some(b),
            (_, true) => Some(a),
            _ => None,
        });
        let mut order: Vec<NodeId> = self.testbed.nodes().skip(1).collect();
        order.sort_by_key(|node| Some(*node) == cut_off);
        let first = order.first().copied();
        for node in order {
            let through = first.filter(|_| Some(node) == cut_off).unwrap_or(opener);
            self.join(node, through, None);
            self.run_for(Duration::from_millis(50))?;
        }
        let end = self.testbed.now() + Duration::from_secs(120);
        while self.testbed.now() < end {
            self.run_for(Duration::from_millis(100))?;
            if self.is_complete(members) {
                return Ok(());
            }
        }
        Err(format!(
            "the {members} members did not come together within two minutes"
        ))
    }

    /// Whether that many are in sync and everyone lists everyone.
    fn is_complete(&self, members: usize) -> bool {
        let sessions = self
            .testbed
            .nodes()
            .filter_map(|node| self.testbed.machine(node));
        let complete = |session: &&Session| {
            *session.state() == State::InSync && session.room().peers().len() == members
        };
        sessions.filter(complete).count() == members
    }

    /// The next event, at most until world time `until`. Who joins is given the state, and loads it at once.
    pub fn next(
        &mut self,
        until: Duration,
    ) -> Result<Option<(Duration, NodeId, SessionEvent)>, String> {
        let Some((at, node, event)) = self.testbed.next(until) else {
            return Ok(None);
        };
        match &event {
            SessionEvent::StateWanted { peer } => {
                let (peer, state) = (*peer, &self.state);
                self.testbed
                    .with(node, |now, session| session.provide_state(now, peer, state));
            }
            SessionEvent::InitialState { state } => {
                if *state != self.state {
                    return Err("the state arrived damaged".into());
                }
                self.testbed.with(node, |now, session| session.loaded(now));
            }
            _ => {}
        }
        Ok(Some((at, node, event)))
    }

    /// Runs for a while and ignores the events.
    pub fn run_for(&mut self, time: Duration) -> Result<(), String> {
        let until = self.testbed.now() + time;
        while self.next(until)?.is_some() {}
        Ok(())
    }
}
