//! Programs that are suspended for a while, as by SIGSTOP or a laptop's lid, in rooms whose hosts have standbys: whoever wakes is with the others again.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_session::{JoinTo, Match, Role, SessionConfig, State};
use samestep_sim::{NodeId, Pausable, Testbed};
use samestep_sync::{Events, Input, Inputs, Live, Model, ModelKind, Replicate, Simulation};
use samestep_wire::Wire;

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Nothing;

impl Input for Nothing {
    fn predict(&self) -> Self {
        Nothing
    }
}

#[derive(Clone, Default, PartialEq, Debug, Replicate)]
struct Counter {
    ticks: u32,
}

impl Simulation for Counter {
    type Input = Nothing;
    type Event = ();
    const NAME: &'static str = "counter";

    fn step(&mut self, _: &Inputs<'_, Nothing>, _: &mut Events<()>) {
        self.ticks += 1;
    }
}

type Program = Pausable<Live<Counter>, Box<dyn Model + Send>>;

struct Room {
    testbed: Testbed<Program>,
    nodes: Vec<NodeId>,
}

impl Room {
    /// A match that has run for a while, with everybody standing by who can.
    fn new(seed: u64, model: ModelKind, programs: usize) -> Room {
        let mut testbed = Testbed::new(seed);
        testbed.set_links(LinkConfig {
            latency: Duration::from_millis(20),
            ..LinkConfig::default()
        });
        let mut room = Room {
            testbed,
            nodes: Vec::new(),
        };
        for number in 0..programs {
            let role = match room.nodes.first() {
                None => Role::Host,
                Some(host) => Role::Client(JoinTo::new(room.testbed.address(*host))),
            };
            room.enter(model, role, number);
        }
        let standbys = (programs - 1).min(2);
        room.until(20, "the room did not fill", |room| {
            room.games().all(|game| {
                game.session().room().peers().len() == programs
                    && game.session().standbys().len() == standbys
            })
        });
        let host = room.nodes[0];
        let start = |now, program: &mut Program| program.game.session_mut().start(now);
        room.testbed.with(host, start);
        room.run(3000);
        room
    }

    fn enter(&mut self, model: ModelKind, role: Role, number: usize) {
        let node = self.testbed.add_node();
        let mut config = SessionConfig::new("counter", 1).player(&format!("player {number}"));
        (config.standbys, config.may_host) = (Some(2), Some(true));
        let model = model.config().build().expect("settings that make sense");
        self.testbed.start(node, |now, seed| {
            let world = Live::without_recording(Counter::default());
            Pausable::new(Match::new(now, config, role, seed, model, world).unwrap())
        });
        self.nodes.push(node);
    }

    fn games(&self) -> impl Iterator<Item = &Match<Live<Counter>, Box<dyn Model + Send>>> {
        let program = |node: &NodeId| &self.testbed.machine(*node).expect("runs").game;
        self.nodes.iter().map(program)
    }

    fn run(&mut self, ms: u64) {
        let until = self.testbed.now() + Duration::from_millis(ms);
        while self.testbed.next(until).is_some() {}
    }

    /// Runs until it is so, for as many seconds at most.
    #[track_caller]
    fn until(&mut self, seconds: u64, words: &str, so: impl Fn(&Room) -> bool) {
        for _ in 0..seconds * 10 {
            if so(self) {
                return;
            }
            self.run(100);
        }
        let states = self.games().map(|game| game.session().state().clone());
        panic!("{words}: {:?}", states.collect::<Vec<_>>());
    }

    fn suspend(&mut self, node: NodeId, time: Duration) {
        let pause = |now, program: &mut Program| program.pause_until(now + time);
        self.testbed.with(node, pause);
        self.run(time.as_millis() as u64);
    }

    /// Everybody takes part in one room, under one host, and the match goes on.
    fn is_whole(&self) -> bool {
        let room = self.games().next().expect("runs").session().room();
        let hosts = self.games().filter(|game| game.session().is_authority());
        hosts.count() == 1
            && self.games().all(|game| {
                *game.session().state() == State::InSync && game.session().room() == room
            })
    }

    fn ticks(&self) -> Vec<u64> {
        self.games()
            .map(|game| game.status().confirmed_tick.0)
            .collect()
    }

    /// Whoever was suspended is with the others again, and nobody stands still.
    #[track_caller]
    fn assert_goes_on(&mut self, what: &str) {
        self.until(15, what, Room::is_whole);
        self.run(2000);
        let before = self.ticks();
        self.run(2000);
        for (before, after) in before.iter().zip(self.ticks()) {
            assert!(after >= before + 90, "{what}: {before} to {after}");
        }
        assert!(self.is_whole(), "{what}");
    }
}

#[test]
fn a_standby_that_was_suspended_comes_back_to_its_host() {
    for model in ModelKind::ALL.iter().copied() {
        for programs in [2, 3, 4] {
            for seconds in [1, 3, 8, 20] {
                let mut room = Room::new(seconds, model, programs);
                let standby = room.nodes[1];
                room.suspend(standby, Duration::from_secs(seconds));
                room.assert_goes_on(&format!("{}, {programs} programs, {seconds} s", model.name));
            }
        }
    }
}

#[test]
fn a_host_that_was_suspended_is_a_guest_of_the_next() {
    for model in ModelKind::ALL.iter().copied() {
        for programs in [3, 4] {
            for seconds in [1, 3, 8, 20] {
                let mut room = Room::new(seconds, model, programs);
                let host = room.nodes[0];
                room.suspend(host, Duration::from_secs(seconds));
                room.assert_goes_on(&format!("{}, {programs} programs, {seconds} s", model.name));
            }
        }
    }
}
