//! Games in rooms: delayed spectators, save games loaded while the room is set up.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_session::{JoinTo, Match, Role, SessionConfig};
use samestep_sim::{Fleet, NodeId};
use samestep_sync::{
    Events, Input, Inputs, Live, Lockstep, LockstepConfig, Playback, PlayerId, Replay, Replicate,
    Simulation,
};
use samestep_wire::Wire;

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Count(bool);

impl Input for Count {
    fn predict(&self) -> Self {
        Count(false)
    }
}

#[derive(Clone, Replicate)]
struct Tally {
    counted: u32,
}

impl Simulation for Tally {
    type Input = Count;
    type Event = ();
    const NAME: &'static str = "tally";

    fn step(&mut self, inputs: &Inputs<'_, Count>, _: &mut Events<()>) {
        self.counted += inputs.iter().filter(|(_, count)| count.0).count() as u32;
    }
}

type Game = Match<Live<Tally>, Lockstep>;

fn start(fleet: &mut Fleet<Game>, role: Role, delay: Duration) -> NodeId {
    let node = fleet.add_node();
    let mut config = SessionConfig::new("tally", 1);
    if !matches!(role, Role::Spectator(_)) {
        config = config.player("somebody");
    }
    let lockstep = LockstepConfig {
        spectator_delay: delay,
        ..LockstepConfig::default()
    };
    fleet.start(node, |now, seed| {
        let model = Lockstep::new(lockstep).unwrap();
        let world = Live::new(Tally { counted: 0 });
        Match::new(now, config, role, seed, model, world).unwrap()
    });
    node
}

fn run(fleet: &mut Fleet<Game>, ms: u64) {
    let until = fleet.now() + Duration::from_millis(ms);
    while fleet.next(until).is_some() {}
}

fn counted(fleet: &Fleet<Game>, node: NodeId) -> u32 {
    fleet.machine(node).unwrap().world().state().counted
}

fn hosted(delay: Duration) -> (Fleet<Game>, NodeId, JoinTo) {
    let mut fleet = Fleet::new(1);
    let latency = Duration::from_millis(10);
    fleet.set_links(LinkConfig {
        latency,
        ..LinkConfig::default()
    });
    let host = start(&mut fleet, Role::Host, delay);
    let to = JoinTo::new(fleet.address(host));
    (fleet, host, to)
}

#[test]
fn a_spectator_sees_the_game_as_much_later_as_the_host_says() {
    let delay = Duration::from_secs(3);
    let (mut fleet, host, to) = hosted(delay);
    run(&mut fleet, 100);
    fleet.with(host, |now, game| game.session_mut().start(now));
    run(&mut fleet, 2000);
    let watcher = start(&mut fleet, Role::Spectator(to), Duration::ZERO);
    run(&mut fleet, 6000);
    let ticks = |fleet: &Fleet<Game>, node| fleet.machine(node).unwrap().status().tick;
    let behind = ticks(&fleet, host).since(ticks(&fleet, watcher));
    assert!((178..=200).contains(&behind), "{behind} ticks");
    fleet.with(host, |now, game| game.input(now, PlayerId(0), &Count(true)));
    run(&mut fleet, 2500);
    assert_eq!((counted(&fleet, host), counted(&fleet, watcher)), (1, 0));
    run(&mut fleet, 1500);
    assert_eq!(counted(&fleet, watcher), 1);
}

#[test]
fn a_game_loaded_while_the_room_is_set_up_is_everyones() {
    let (mut fleet, host, to) = hosted(Duration::ZERO);
    let guest = start(&mut fleet, Role::Client(to), Duration::ZERO);
    run(&mut fleet, 1000);
    let load = |game: &mut Game, now| game.load(now, |world| world.state_mut().counted = 40);
    assert_eq!(fleet.with(guest, |now, game| load(game, now)), Some(false));
    assert_eq!(fleet.with(host, |now, game| load(game, now)), Some(true));
    run(&mut fleet, 500);
    assert_eq!(counted(&fleet, guest), 40);
    fleet.with(host, |now, game| game.session_mut().start(now));
    run(&mut fleet, 2000);
    fleet.with(guest, |now, game| {
        game.input(now, PlayerId(1), &Count(true))
    });
    run(&mut fleet, 1000);
    assert_eq!((counted(&fleet, host), counted(&fleet, guest)), (41, 41));
    assert_eq!(
        fleet.with(host, |now, game| load(game, now)),
        Some(false),
        "the game has begun"
    );
    assert_eq!(fleet.machine(guest).unwrap().status().desyncs, 0);
    for node in [host, guest] {
        let recorder = fleet.machine(node).unwrap().world().recorder().unwrap();
        let replay = Replay::parse(recorder.bytes()).unwrap();
        let world = Live::without_recording(Tally { counted: 0 });
        let verified = Playback::new(replay, world).unwrap().verify().unwrap();
        assert!(verified.checksums > 0 && verified.ticks > 100);
    }
}
