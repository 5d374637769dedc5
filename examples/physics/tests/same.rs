//! Rapier's world stays the same: against itself, under rollback and lockstep over a bad network, with somebody who joins late.

use std::time::{Duration, Instant};

use samestep_netem::{LinkConfig, Loss};
use samestep_physics::{Push, Yard};
use samestep_session::{JoinTo, Match, MatchEvent, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{
    Live, Lockstep, Model, ModelEvent, Playback, PlayerId, Replay, Replicate, Rng, Rollback, Table,
    Tick, TickInputs, World, sync_test,
};

const HOST: NodeId = NodeId(0);

fn push(rng: &mut Rng) -> Push {
    Push {
        to: rng.range(-1..2) as i8,
        jump: rng.chance(0.1),
    }
}

#[test]
fn every_tick_gives_the_same_again() {
    let mut rng = Rng::new(7);
    let report = sync_test(Yard::default(), 600, 8, |_, _, inputs| {
        inputs.set_players(&[PlayerId(0), PlayerId(1), PlayerId(2)]);
        for player in 0..3 {
            if rng.chance(0.3) {
                inputs.give(PlayerId(player), &push(&mut rng));
            }
        }
    });
    assert_eq!(report.unwrap().ticks, 600);
}

/// A state that was sent and read goes on as the one that it was made of: who joins late has the same.
#[test]
fn who_reads_the_bytes_goes_on_the_same() {
    let mut rng = Rng::new(3);
    let mut one = Live::without_recording(Yard::default());
    let mut other = Live::without_recording(Yard::default());
    let (mut bytes, mut encode) = (0, Duration::ZERO);
    for tick in 0..600 {
        let mut inputs = TickInputs::new();
        inputs.set_players(&[PlayerId(0), PlayerId(1)]);
        inputs.give(PlayerId(tick as u16 % 2), &push(&mut rng));
        one.step(Tick(tick), &inputs);
        other.step(Tick(tick), &inputs);
        assert_eq!(one.checksum(), other.checksum(), "tick {tick}");
        if tick % 50 == 0 {
            let began = Instant::now();
            let state = one.checkpoint();
            encode = encode.max(began.elapsed());
            bytes = bytes.max(state.len());
            other.adopt(Tick(tick + 1), &state).unwrap();
        }
    }
    println!("a state of {bytes} bytes at most, written in {encode:?} at most");
}

type Game<M> = Match<Live<Yard>, M>;

fn open<M: Model>(testbed: &mut Testbed<Game<M>>, role: Role, model: M) -> NodeId {
    let node = testbed.add_node();
    let config = SessionConfig::new("yard", 1).player("somebody");
    testbed.start(node, |now, seed| {
        let world = Live::new(Yard::default());
        Match::new(now, config, role, seed, model, world).unwrap()
    });
    node
}

fn run<M: Model>(testbed: &mut Testbed<Game<M>>, ms: u64) -> Vec<(NodeId, MatchEvent)> {
    let until = testbed.now() + Duration::from_millis(ms);
    core::iter::from_fn(|| testbed.next(until))
        .map(|(_, node, event)| (node, event))
        .collect()
}

fn play<M: Model>(testbed: &mut Testbed<Game<M>>, rng: &mut Rng, rounds: usize) {
    let nodes: Vec<NodeId> = testbed.nodes().collect();
    for _ in 0..rounds {
        let node = nodes[rng.below(nodes.len() as u32) as usize];
        let push = push(rng);
        testbed.with(node, |now, game: &mut Game<M>| {
            let player = game.session().my_players().next();
            player.map(|player| game.input(now, player, &push))
        });
        run(testbed, 50);
    }
}

/// Two who play, over a bad network.
fn two<M: Model>(seed: u64, model: &impl Fn() -> M) -> (Testbed<Game<M>>, JoinTo) {
    let mut testbed = Testbed::new(seed);
    testbed.set_links(LinkConfig {
        latency: Duration::from_millis(40),
        loss: Loss::Bernoulli(0.05),
        ..LinkConfig::default()
    });
    open(&mut testbed, Role::Host, model());
    run(&mut testbed, 100);
    let door = JoinTo::new(testbed.address(HOST));
    open(&mut testbed, Role::Client(door.clone()), model());
    run(&mut testbed, 1000);
    testbed.with(HOST, |now, game| game.session_mut().start(now));
    run(&mut testbed, 1000);
    (testbed, door)
}

fn stays_the_same<M: Model>(model: impl Fn() -> M) {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let (mut testbed, door) = two(seed, &model);
        play(&mut testbed, &mut rng, 80);
        open(&mut testbed, Role::Client(door), model());
        run(&mut testbed, 1500);
        play(&mut testbed, &mut rng, 80);
        run(&mut testbed, 1000);
        for node in testbed.nodes() {
            let game = testbed.machine(node).unwrap();
            assert_eq!(game.world().state().balls.len(), 3, "seed {seed}, {node}");
            assert_eq!(game.status().desyncs, 0, "seed {seed}, {node}");
            let recorder = game.world().recorder().expect("records");
            let replay = Replay::parse(recorder.bytes()).unwrap();
            let world = Live::without_recording(Yard::default());
            let verified = Playback::new(replay, world).unwrap().verify().unwrap();
            assert!(verified.checksums > 2, "seed {seed}, {node}: {verified:?}");
        }
    }
}

#[test]
fn under_rollback() {
    stays_the_same(Rollback::default);
}

#[test]
fn under_lockstep() {
    stays_the_same(Lockstep::default);
}

#[test]
fn one_that_differs_is_named_and_repaired() {
    let (mut testbed, _) = two(1, &Lockstep::default);
    play(&mut testbed, &mut Rng::new(1), 20);
    let guest = NodeId(1);
    testbed.with(guest, |_, game| {
        game.world_mut().disturb(|yard| {
            let ball = yard.balls[&PlayerId(0)].body;
            let body = yard.physics.bodies.get_mut(ball).unwrap();
            let speed = body.linvel();
            body.set_linvel(speed * 1.000001, true);
        });
    });
    let told = run(&mut testbed, 5000);
    let report = told.iter().find_map(|(node, event)| match event {
        MatchEvent::Model(ModelEvent::Desync(report)) if *node == guest => Some(report),
        _ => None,
    });
    let report = report.expect("a desync").to_string();
    assert!(report.contains("physics, bytes from "), "{report}");
    assert_eq!(testbed.machine(guest).unwrap().status().desyncs, 1);
}

#[test]
fn the_schema_has_the_world_as_a_part() {
    let schema = Yard::schema();
    let names: Vec<_> = schema.kinds().iter().map(|kind| &*kind.name).collect();
    assert_eq!(names, ["globals", "physics", "balls"]);
    let mut table = Table::new(schema);
    Yard::default().extract(&mut table);
    assert!(table.len(1) > 10);
}
