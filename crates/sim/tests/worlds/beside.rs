//! Two models side by side: an economy in lockstep, a battle by snapshots, and what the one means for the other.

use std::time::Duration;

use samestep_netem::{LinkConfig, Loss};
use samestep_session::{JoinTo, Match, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{
    Beside, Both, Either, Entities, EventStage, Events, Input, Inputs, Live, Lockstep,
    LockstepConfig, Playback, PlayerId, Record, Replay, Replicate, Simulation, Snapshot,
    SnapshotConfig, Tick, World,
};
use samestep_wire::Wire;

const HOST: NodeId = NodeId(0);
/// The host's player: it alone says in the economy what was won in the battle.
const HERALD: PlayerId = PlayerId(0);
const PRIZE: u32 = 7;

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Order {
    hire: u32,
    /// Players that have won a battle.
    won: Vec<u16>,
}

impl Input for Order {
    fn predict(&self) -> Self {
        Order::default()
    }
}

#[derive(Clone, Default, Replicate)]
struct Economy {
    hired: u32,
    gold: [u32; 8],
    ticks: u32,
}

impl Simulation for Economy {
    type Input = Order;
    type Event = u32;
    const NAME: &'static str = "economy";

    fn step(&mut self, inputs: &Inputs<'_, Order>, events: &mut Events<u32>) {
        self.ticks += 1;
        for (_, order) in inputs.given() {
            self.hired += order.hire;
            events.emit(self.hired);
            for player in &order.won {
                self.gold[usize::from(*player)] += PRIZE;
            }
        }
    }

    fn allows(&self, player: PlayerId, order: &Order) -> bool {
        order.won.is_empty() || player == HERALD
    }
}

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Act {
    right: bool,
    strike: bool,
}

impl Input for Act {
    fn predict(&self) -> Self {
        Act {
            strike: false,
            ..self.clone()
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Debug, Record)]
struct Fighter {
    player: u16,
    x: i32,
}

#[derive(Clone, Default, Replicate)]
struct Battle {
    fighters: Entities<Fighter>,
    strikes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
struct Won(PlayerId);

impl Simulation for Battle {
    type Input = Act;
    type Event = Won;
    const NAME: &'static str = "battle";

    fn step(&mut self, inputs: &Inputs<'_, Act>, events: &mut Events<Won>) {
        for (player, act) in inputs.iter() {
            if self.fighters.iter().all(|(_, one)| one.player != player.0) {
                self.fighters.insert(Fighter {
                    player: player.0,
                    x: 0,
                });
            }
            for (_, one) in self.fighters.iter_mut() {
                one.x += i32::from(act.right && one.player == player.0);
            }
            if act.strike {
                self.strikes += 1;
                events.emit(Won(player));
            }
        }
    }
}

type Realm = Both<Live<Economy>, Live<Battle>>;
type Game = Match<Realm, Beside<Lockstep, Snapshot>>;

struct Room {
    testbed: Testbed<Game>,
    /// Battles won that each was told of.
    won: Vec<u32>,
}

impl Room {
    fn new(programs: usize) -> Room {
        let mut room = Room {
            testbed: Testbed::new(1),
            won: Vec::new(),
        };
        room.set_links(10, 0.0);
        for _ in 0..programs {
            room.join();
            room.run(300);
        }
        room.testbed
            .with(HOST, |now, game| game.session_mut().start(now));
        room.run(1000);
        room
    }

    fn set_links(&mut self, latency_ms: u64, loss: f64) {
        self.testbed.set_links(LinkConfig {
            latency: Duration::from_millis(latency_ms),
            loss: Loss::Bernoulli(loss),
            ..LinkConfig::default()
        });
    }

    fn join(&mut self) -> NodeId {
        let node = self.testbed.add_node();
        let role = match node {
            HOST => Role::Host,
            _ => Role::Client(JoinTo::new(self.testbed.address(HOST))),
        };
        let config = SessionConfig::new("realm", 1).player("somebody");
        self.testbed.start(node, |now, seed| {
            let economy = Lockstep::new(LockstepConfig::default()).unwrap();
            let battle = Snapshot::new(SnapshotConfig::default()).unwrap();
            let world = Both::new(Live::new(Economy::default()), Live::new(Battle::default()));
            Match::new(now, config, role, seed, Beside::new(economy, battle), world).unwrap()
        });
        self.won.push(0);
        node
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            let until = self.testbed.now() + Duration::from_millis(1);
            while self.testbed.next(until).is_some() {}
            for node in self.testbed.nodes() {
                self.hear(node);
            }
        }
    }

    /// Hears what was won; the host says it where it matters.
    fn hear(&mut self, node: NodeId) {
        let hear = |now, game: &mut Game| {
            let events = core::iter::from_fn(|| game.world_mut().second.poll_event());
            let confirmed = events.filter(|told| told.stage == EventStage::Confirmed);
            let won: Vec<u16> = confirmed.map(|told| told.event.0.0).collect();
            let count = won.len() as u32;
            if node == HOST && count > 0 {
                let order = Order { hire: 0, won };
                assert!(game.input(now, HERALD, &Either::<Order, Act>::First(order)));
            }
            count
        };
        self.won[usize::from(node.0)] += self.testbed.with(node, hear).unwrap_or(0);
    }

    fn act(&mut self, node: NodeId, input: Either<Order, Act>) {
        let act = |now, game: &mut Game| {
            let player = game.session().my_players().next().expect("plays");
            assert!(game.input(now, player, &input));
        };
        self.testbed.with(node, act);
    }

    fn game(&self, node: NodeId) -> &Game {
        self.testbed.machine(node).expect("runs")
    }
}

#[test]
fn an_economy_in_lockstep_beside_a_battle_by_snapshots() {
    let mut room = Room::new(4);
    room.set_links(50, 0.02);
    let (mut hired, mut struck) = (0, 0);
    for round in 0..200u32 {
        let node = NodeId(((round * 7 + round / 5) % 4) as u16);
        match round % 3 {
            0 => {
                let order = Order {
                    hire: round,
                    won: Vec::new(),
                };
                room.act(node, Either::First(order));
                hired += round;
            }
            which => {
                let act = Act {
                    right: which == 1,
                    strike: which == 2,
                };
                room.act(node, Either::Second(act));
                struck += u32::from(which == 2);
            }
        }
        room.run(50);
        if round == 100 {
            room.join();
        }
    }
    room.run(2000);
    let host = room.game(HOST).world();
    assert_eq!(
        (host.first.state().hired, host.second.state().strikes),
        (hired, struck)
    );
    assert_eq!(host.first.state().gold.iter().sum::<u32>(), struck * PRIZE);
    let (gold, fighters) = (
        host.first.state().gold,
        host.second.state().fighters.as_slice(),
    );
    for node in room.testbed.nodes() {
        let game = room.game(node);
        let (economy, battle) = (game.world().first.state(), game.world().second.state());
        assert_eq!((economy.hired, economy.gold), (hired, gold), "{node}");
        assert_eq!(battle.strikes, struck, "{node}");
        let shown: Vec<u16> = battle.fighters.iter().map(|(_, one)| one.player).collect();
        let right: Vec<u16> = fighters.iter().map(|one| one.player).collect();
        assert_eq!(shown, right, "{node}");
        let status = game.status();
        assert_eq!((status.desyncs, status.trouble), (0, None), "{node}");
        assert!(status.running && status.tick > Tick(500), "{node}");
        if node.0 < 4 {
            assert_eq!(room.won[usize::from(node.0)], struck, "{node}");
        }
    }
    assert_eq!(
        room.game(NodeId(1)).status().confirmed_tick.min(Tick(500)),
        Tick(500)
    );
}

#[test]
fn nobody_else_says_what_was_won() {
    let mut room = Room::new(3);
    let won = Order {
        hire: 0,
        won: vec![1, 1, 1],
    };
    room.act(NodeId(1), Either::First(won));
    room.run(1000);
    for node in room.testbed.nodes() {
        assert_eq!(room.game(node).world().first.state().gold, [0; 8], "{node}");
    }
}

#[test]
fn each_part_is_recorded_for_itself() {
    let mut room = Room::new(2);
    for round in 0..20 {
        let order = Order {
            hire: round,
            won: Vec::new(),
        };
        room.act(NodeId(1), Either::First(order));
        room.run(100);
    }
    for node in room.testbed.nodes() {
        let recorder = room.game(node).world().first.recorder().expect("records");
        let replay = Replay::parse(recorder.bytes()).unwrap();
        let world = Live::without_recording(Economy::default());
        let verified = Playback::new(replay, world).unwrap().verify().unwrap();
        assert!(
            verified.ticks > 100 && verified.checksums > 0,
            "{verified:?}"
        );
    }
}

#[test]
fn one_model_simulates_both_as_well() {
    let mut testbed: Testbed<Match<Realm, Lockstep>> = Testbed::new(1);
    testbed.set_links(LinkConfig {
        latency: Duration::from_millis(20),
        ..LinkConfig::default()
    });
    for at in 0..3 {
        let node = testbed.add_node();
        let role = match at {
            0 => Role::Host,
            _ => Role::Client(JoinTo::new(testbed.address(HOST))),
        };
        let config = SessionConfig::new("realm", 1).player("somebody");
        testbed.start(node, |now, seed| {
            let model = Lockstep::new(LockstepConfig::default()).unwrap();
            let world = Both::new(Live::new(Economy::default()), Live::new(Battle::default()));
            Match::new(now, config, role, seed, model, world).unwrap()
        });
        let until = testbed.now() + Duration::from_millis(300);
        while testbed.next(until).is_some() {}
    }
    testbed.with(HOST, |now, game| game.session_mut().start(now));
    for round in 0..40u32 {
        let until = testbed.now() + Duration::from_millis(100);
        while testbed.next(until).is_some() {}
        let input = match round % 2 {
            0 => Either::First(Order {
                hire: 1,
                won: Vec::new(),
            }),
            _ => Either::Second(Act {
                right: false,
                strike: true,
            }),
        };
        testbed.with(NodeId((round % 3) as u16), |now, game| {
            let player = game.session().my_players().next().expect("plays");
            game.input(now, player, &input);
        });
    }
    let until = testbed.now() + Duration::from_secs(1);
    while testbed.next(until).is_some() {}
    let state = |node, game: &mut Match<Realm, Lockstep>| {
        assert_eq!(game.status().desyncs, 0, "{node}");
        let world = game.world_mut();
        let (hired, strikes) = (world.first.state().hired, world.second.state().strikes);
        (hired, strikes, world.second.checksum())
    };
    for node in testbed.nodes() {
        let (hired, strikes, _) = testbed.with(node, |_, game| state(node, game)).unwrap();
        assert!(hired > 15 && strikes > 15, "{node}: {hired} {strikes}");
        assert_eq!(
            testbed.with(node, |_, game| state(node, game)),
            testbed.with(HOST, |_, game| state(HOST, game)),
        );
    }
}
