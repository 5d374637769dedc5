//! A state that is loaded between two games, while somebody joins, is cut off, or the model changes.

use crate::entrance;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::entrance::FIRST;
use samestep_netem::{LinkConfig, Loss};
use samestep_session::{Match, Phase, SessionConfig, StartRule};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{
    EventStage, Events, Input, Inputs, Live, Model, ModelKind, PlayerId, Replicate, RoomKind,
    Simulation, Switch, Tick, TimedEvent,
};
use samestep_wire::Wire;

#[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
struct Goal(bool);

impl Input for Goal {
    fn predict(&self) -> Self {
        Goal(false)
    }
}

#[derive(Clone, Default, PartialEq, Debug, Replicate)]
struct Pitch {
    round: u32,
    goals: u32,
    ticks: u32,
}

/// A goal: its round, its number in the round, and who scored it. Some things happen by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
enum Told {
    Goal(u32, u32, PlayerId),
    Whistle(u32, u32),
}

impl Simulation for Pitch {
    type Input = Goal;
    type Event = Told;
    const NAME: &'static str = "pitch";

    fn step(&mut self, inputs: &Inputs<'_, Goal>, events: &mut Events<Told>) {
        self.ticks += 1;
        if self.ticks.is_multiple_of(7) {
            events.emit(Told::Whistle(self.round, self.ticks));
        }
        for (player, _) in inputs.iter().filter(|(_, goal)| goal.0) {
            self.goals += 1;
            events.emit(Told::Goal(self.round, self.goals, player));
        }
    }
}

type Game<M> = Match<Live<Pitch>, M>;

struct Room<M: Model> {
    testbed: Testbed<Game<M>>,
    kind: RoomKind,
    told: BTreeMap<NodeId, Vec<TimedEvent<Told>>>,
    rounds: u32,
}

const PROGRAMS: usize = 3;

impl<M: Model> Room<M> {
    fn new(room: RoomKind, round_trip_ms: u64, seed: u64, make: impl Fn() -> M) -> Self {
        let mut testbed = Testbed::new(seed);
        testbed.set_links(LinkConfig {
            latency: Duration::from_millis(round_trip_ms / 2),
            loss: Loss::Bernoulli(0.05),
            ..LinkConfig::default()
        });
        let mut room = Room {
            testbed,
            kind: room,
            told: BTreeMap::new(),
            rounds: 0,
        };
        for _ in 0..PROGRAMS {
            room.join(make());
            room.run(2000);
        }
        room.start();
        room
    }

    fn join(&mut self, model: M) -> NodeId {
        let node = self.testbed.add_node();
        let to = (self.kind, entrance::door(&self.testbed));
        let config = SessionConfig::new("pitch", 1).starts(StartRule::ByAuthority);
        let game = (Live::new(Pitch::default()), model);
        entrance::enter(&mut self.testbed, to, node, config, game);
        node
    }

    fn run(&mut self, ms: u64) {
        self.testbed.run_for(Duration::from_millis(ms));
        for node in self.testbed.nodes() {
            let poll = |_, game: &mut Game<M>| {
                let events = core::iter::from_fn(|| game.world_mut().poll_event());
                events.collect::<Vec<_>>()
            };
            let told = self.testbed.with(node, poll).unwrap_or_default();
            self.told.entry(node).or_default().extend(told);
        }
    }

    fn start(&mut self) {
        entrance::start(&mut self.testbed);
        self.run(1500);
    }

    /// Everyone scores, until the moment in which the game ends, and on.
    fn play(&mut self, ms: u64) {
        for _ in 0..ms / 20 {
            for node in self.testbed.nodes() {
                self.testbed.with(node, |now, game| {
                    let player = game.session().my_players().next();
                    player.is_some_and(|player| game.input(now, player, &Goal(true)))
                });
            }
            self.run(20);
        }
    }

    /// The game ends, and the next one begins from another state.
    fn rematch(&mut self) {
        self.play(400);
        self.set_up();
        self.load();
        self.play(100);
        self.start();
    }

    /// The game ends; as soon as the authority knows of it, it goes back to set-up.
    fn set_up(&mut self) {
        for node in self.testbed.nodes() {
            self.testbed.with(node, |now, game| {
                game.session_mut().propose_end(now, b"over");
            });
        }
        let mut is_set_up = false;
        for _ in 0..1000 {
            self.play(20);
            let rematch = |now, game: &mut Game<M>| {
                game.session_mut().rematch(now);
                *game.session().room().phase() == Phase::SetUp
            };
            is_set_up = self.testbed.with(FIRST, rematch).unwrap();
            if is_set_up {
                break;
            }
        }
        assert!(is_set_up, "the game ends");
    }

    fn load(&mut self) {
        self.rounds += 1;
        let fresh = Live::checkpoint_of(Pitch {
            round: self.rounds,
            ..Pitch::default()
        });
        let load = |now, game: &mut Game<M>| game.load(now, &fresh);
        assert_eq!(self.testbed.with(FIRST, load), Some(true));
    }

    fn confirmed(&self, node: NodeId, before: Tick) -> Vec<(Tick, Told)> {
        let told = self.told[&node].iter();
        told.filter(|told| told.stage == EventStage::Confirmed && told.tick < before)
            .map(|told| (told.tick, told.event))
            .collect()
    }

    fn assert_same(&mut self, what: &str) {
        self.run(4000);
        let nodes: Vec<NodeId> = self.testbed.nodes().collect();
        let status = |node| self.testbed.machine(node).unwrap().status();
        let settled = nodes.iter().map(|node| status(*node).confirmed_tick);
        // What an authority tells last is shown a little later.
        let settled = Tick(settled.min().unwrap().0 - 60);
        let all = self.confirmed(FIRST, settled);
        assert!(all.len() > 100, "{what}: {} events", all.len());
        for node in nodes {
            assert_eq!(status(node).desyncs, 0, "{what} at {node}");
            let theirs = self.confirmed(node, settled);
            let differs = all
                .iter()
                .zip(&theirs)
                .position(|(one, other)| one != other);
            let differs = differs.map(|at| (all[at], theirs[at]));
            assert_eq!(
                (differs, theirs.len()),
                (None, all.len()),
                "{what} at {node}"
            );
            let mut open: Vec<(Tick, Told)> = Vec::new();
            for told in &self.told[&node] {
                match (told.stage, told.predicted) {
                    (EventStage::Predicted, _) => open.push((told.tick, told.event)),
                    (_, None) => {}
                    (_, Some(tick)) => {
                        let at = open.iter().position(|open| *open == (tick, told.event));
                        open.remove(at.unwrap_or_else(|| panic!("{what}: {told:?} was not open")));
                    }
                }
            }
            let forgotten = open.iter().find(|(tick, _)| *tick < settled);
            assert_eq!(
                forgotten, None,
                "{what} at {node}: neither confirmed nor cancelled"
            );
        }
    }
}

/// Somebody comes while the state is replaced, at any time of its joining, and somebody else is cut off meanwhile.
#[test]
fn who_joins_or_is_away_while_the_state_is_replaced_has_the_new_one() {
    for kind in ModelKind::ALL {
        for room in kind.rooms {
            for after_ms in [0, 60, 130, 180, 230, 300] {
                let what = format!("{} {room:?}, {after_ms} ms", kind.name);
                let make = || kind.config().build().unwrap();
                let mut room = Room::new(*room, 50, 1, make);
                room.testbed.isolate(NodeId(2));
                room.set_up();
                let late = room.join(make());
                room.run(after_ms);
                room.load();
                room.run(5000);
                room.testbed.rejoin(NodeId(2));
                room.run(12_000);
                let state = |node| room.testbed.machine(node).unwrap().world().state().round;
                let rounds = [FIRST, NodeId(1), NodeId(2), late].map(state);
                assert_eq!(rounds, [1; 4], "{what}");
                let status = room.testbed.machine(late).unwrap().status();
                assert_eq!((status.desyncs, status.trouble), (0, None), "{what}");
            }
        }
    }
}

#[test]
fn a_game_that_changes_its_model_is_replaced_the_same_everywhere() {
    let kinds = || ModelKind::ALL.iter().map(|kind| kind.config()).collect();
    let mut room = Room::new(RoomKind::Hosted, 50, 1, || Switch::new(kinds()).unwrap());
    for choice in [1, 2, 3, 0] {
        room.testbed.with(FIRST, |now, game| {
            let time = game.session().time(now).expect("hosts");
            assert!(game.model_mut().to(time, choice));
        });
        room.run(2000);
        room.rematch();
    }
    room.assert_same("switch");
}
