//! A game in which everyone counts, and rooms in which it is played with any model.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_netem::{LinkConfig, Loss};
use samestep_session::{JoinTo, Match, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{
    EventStage, Events, Input, Inputs, Live, Model, Playback, PlayerId, Replay, Replicate,
    RoomKind, Simulation, Status, Tick, TimedEvent,
};
use samestep_wire::Wire;

#[derive(Clone, Default, PartialEq, Debug, Wire)]
pub struct Count(pub bool);

impl Input for Count {
    fn predict(&self) -> Self {
        Count(false)
    }
}

#[derive(Clone, Default, Replicate)]
pub struct Tally {
    pub counted: u32,
    /// What each player counted.
    pub of: [u32; 16],
}

/// Somebody counted, and that many there were then: another number if others counted before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Counted(pub PlayerId, pub u32);

impl Simulation for Tally {
    type Input = Count;
    type Event = Counted;
    const NAME: &'static str = "tally";

    fn step(&mut self, inputs: &Inputs<'_, Count>, events: &mut Events<Counted>) {
        for (player, _) in inputs.iter().filter(|(_, count)| count.0) {
            self.counted += 1;
            self.of[usize::from(player.0)] += 1;
            events.emit(Counted(player, self.counted));
        }
    }
}

pub type Game<M> = Match<Live<Tally>, M>;
pub type Told = Vec<TimedEvent<Counted>>;

/// A room in virtual time; node 0 opens it.
pub struct Room<M: Model> {
    pub testbed: Testbed<Game<M>>,
    mesh: bool,
    told: BTreeMap<NodeId, Told>,
}

pub fn links(latency_ms: u64, loss: f64) -> LinkConfig {
    LinkConfig {
        latency: Duration::from_millis(latency_ms),
        loss: Loss::Bernoulli(loss),
        ..LinkConfig::default()
    }
}

impl<M: Model> Room<M> {
    /// A room of one, 10 ms from everyone.
    pub fn new(mesh: bool, model: M) -> Room<M> {
        let kind = match mesh {
            true => RoomKind::Mesh,
            false => RoomKind::Hosted,
        };
        Room::of_kind(1, kind, links(10, 0.0), model)
    }

    /// A room of any kind with its first program, which is a player's unless the room is dedicated.
    pub fn of_kind(seed: u64, kind: RoomKind, links: LinkConfig, model: M) -> Room<M> {
        let mut testbed = Testbed::new(seed);
        testbed.set_links(links);
        let mut room = Room {
            testbed,
            mesh: kind == RoomKind::Mesh,
            told: BTreeMap::new(),
        };
        let node = room.testbed.add_node();
        let role = match room.mesh {
            true => Role::Introducer,
            false => Role::Host,
        };
        let players = usize::from(kind != RoomKind::Dedicated);
        room.open(node, role, players, model);
        room.run(100);
        room
    }

    /// As many programs as models, in a game that has begun.
    pub fn of(mesh: bool, models: impl IntoIterator<Item = M>) -> Room<M> {
        let mut models = models.into_iter();
        let mut room = Room::new(mesh, models.next().expect("at least one"));
        for model in models {
            room.join(1, model);
            room.run(300);
        }
        room.start();
        room
    }

    pub fn start(&mut self) {
        let start = |now, game: &mut Game<M>| game.session_mut().start(now);
        self.testbed.with(NodeId(0), start);
        self.run(1000);
    }

    fn open(&mut self, node: NodeId, role: Role, players: usize, model: M) {
        self.told.remove(&node);
        let mut config = SessionConfig::new("tally", 1);
        for _ in 0..players {
            config = config.player("somebody");
        }
        self.testbed.start(node, |now, seed| {
            let world = Live::new(Tally::default());
            Match::new(now, config, role, seed, model, world).unwrap()
        });
    }

    pub fn door(&self) -> JoinTo {
        JoinTo::new(self.testbed.address(NodeId(0)))
    }

    /// Somebody joins with that many players; with none, to watch.
    pub fn join(&mut self, players: usize, model: M) -> NodeId {
        let (node, to) = (self.testbed.add_node(), self.door());
        self.enter(node, to, players, model);
        node
    }

    pub fn enter(&mut self, node: NodeId, to: JoinTo, players: usize, model: M) {
        let role = match (self.mesh, players) {
            (true, _) => Role::Peer(to),
            (false, 0) => Role::Spectator(to),
            (false, _) => Role::Client(to),
        };
        self.open(node, role, players, model);
    }

    pub fn run(&mut self, ms: u64) {
        let until = self.testbed.now() + Duration::from_millis(ms);
        while self.testbed.next(until).is_some() {}
        for node in self.testbed.nodes() {
            let poll = |_, game: &mut Game<M>| {
                core::iter::from_fn(|| game.world_mut().poll_event()).collect::<Told>()
            };
            let told = self.testbed.with(node, poll).unwrap_or_default();
            self.told.entry(node).or_default().extend(told);
        }
    }

    /// A local player counts.
    pub fn count(&mut self, node: NodeId, local: usize) -> bool {
        let count = |now, game: &mut Game<M>| {
            let player = game.session().my_players().nth(local).expect("plays here");
            game.input(now, player, &Count(true))
        };
        self.testbed.with(node, count).expect("is running")
    }

    /// Those that play count one after the other, at uneven times.
    pub fn play(&mut self, seconds: u64) {
        let nodes: Vec<NodeId> = self.testbed.nodes().collect();
        self.play_at(&nodes, seconds);
    }

    /// The same at some programs alone.
    pub fn play_at(&mut self, nodes: &[NodeId], seconds: u64) {
        for round in 0..seconds * 20 {
            let node = nodes[(round * 7 + round / 5) as usize % nodes.len()];
            let players = self.game(node).session().my_players().count();
            if players > 0 {
                self.count(node, round as usize % players);
            }
            self.run(50);
        }
    }

    pub fn game(&self, node: NodeId) -> &Game<M> {
        self.testbed.machine(node).expect("is running")
    }

    pub fn status(&self, node: NodeId) -> Status {
        self.game(node).status()
    }

    pub fn state(&self, node: NodeId) -> &Tally {
        self.game(node).world().state()
    }

    pub fn nodes(&self) -> Vec<NodeId> {
        let nodes = self.testbed.nodes();
        nodes
            .filter(|node| self.testbed.is_running(*node))
            .collect()
    }

    /// What was confirmed before a tick, of what a program was told.
    pub fn confirmed(&self, node: NodeId, before: Tick) -> Vec<(Tick, Counted)> {
        let told = self.told[&node].iter();
        told.filter(|told| told.stage == EventStage::Confirmed && told.tick < before)
            .map(|told| (told.tick, told.event))
            .collect()
    }

    /// Everyone has counted the same, was told the same, and nothing twice. Those who came later know what happened since.
    pub fn assert_same(&self) {
        let nodes = self.nodes();
        let settled = nodes.iter().map(|node| self.status(*node).confirmed_tick);
        let settled = settled.min().expect("somebody");
        let all = self.confirmed(NodeId(0), settled);
        for node in nodes {
            assert_eq!(self.state(node).of, self.state(NodeId(0)).of, "{node}");
            assert_eq!(self.status(node).desyncs, 0, "{node}");
            let confirmed = self.confirmed(node, settled);
            assert!(all.ends_with(&confirmed), "{node}");
            self.assert_resolved(node);
        }
    }

    /// Each event that was predicted was confirmed or cancelled once.
    fn assert_resolved(&self, node: NodeId) {
        let mut open: Vec<(Tick, Counted)> = Vec::new();
        for told in &self.told[&node] {
            let predicted = told.predicted.map(|tick| (tick, told.event));
            match (told.stage, predicted) {
                (EventStage::Predicted, _) => open.push((told.tick, told.event)),
                (_, None) => assert_eq!(told.stage, EventStage::Confirmed, "{told:?}"),
                (_, Some(predicted)) => {
                    let at = open.iter().position(|open| *open == predicted);
                    open.remove(at.unwrap_or_else(|| panic!("{told:?} was not open")));
                }
            }
        }
        let settled = self.status(node).confirmed_tick;
        let forgotten = open.iter().find(|(tick, _)| tick.0 + 10 < settled.0);
        assert_eq!(forgotten, None, "{node} at tick {settled}");
    }

    /// What everyone recorded leads to the same.
    pub fn assert_recorded(&self) {
        for node in self.nodes() {
            let recorder = self.game(node).world().recorder().expect("records");
            let replay = Replay::parse(recorder.bytes()).unwrap();
            let world = Live::without_recording(Tally::default());
            let verified = Playback::new(replay, world).unwrap().verify().unwrap();
            assert!(
                verified.checksums > 0 && verified.ticks > 100,
                "{verified:?}"
            );
        }
    }
}
