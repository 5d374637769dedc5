//! A game over real sockets, with each of the models, written with the façade alone.

use std::time::Duration;

use samestep::prelude::*;

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Add(u8);

impl Input for Add {
    fn predict(&self) -> Self {
        Add(0)
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Stone {
    weight: u32,
}

#[derive(Clone, Default, Replicate)]
struct Heap {
    stones: Entities<Stone>,
    players: u32,
}

impl Simulation for Heap {
    type Input = Add;
    type Event = u32;
    const NAME: &'static str = "heap";

    fn step(&mut self, inputs: &Inputs<'_, Add>, events: &mut Events<u32>) {
        self.players = inputs.players().len() as u32;
        for (_, Add(weight)) in inputs.given() {
            let weight = u32::from(*weight);
            self.stones.insert(Stone { weight });
            events.emit(weight);
        }
    }
}

type Game<M> = Driver<Udp, Match<Live<Heap>, M>>;

fn game<M: Model>(role: Role, model: M) -> Game<M> {
    let udp = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let config = SessionConfig::new("heap", 1).player("somebody");
    Driver::game(udp, config, role, model, Live::new(Heap::default())).unwrap()
}

/// Drives all of them until something holds, or for ten seconds.
fn drive_until<M: Model>(games: &mut [Game<M>], holds: impl Fn(&[Game<M>]) -> bool) {
    let end = games[0].now() + Duration::from_secs(10);
    while !holds(games) {
        assert!(games[0].now() < end, "did not happen in time");
        drive(games);
    }
}

fn drive<M: Model>(games: &mut [Game<M>]) {
    for game in games {
        while game.drive_for(Duration::from_millis(1)).unwrap().is_some() {}
    }
}

#[test]
fn a_guest_joins_a_running_game_in_lockstep_and_both_play() {
    join_and_play(|| Lockstep::new(LockstepConfig::default()).unwrap());
}

#[test]
fn a_guest_joins_a_running_game_with_rollback_and_both_play() {
    join_and_play(|| Rollback::new(RollbackConfig::default()).unwrap());
}

#[test]
fn a_guest_joins_a_running_game_by_snapshots_and_both_play() {
    join_and_play(|| Snapshot::new(SnapshotConfig::default()).unwrap());
}

#[test]
fn a_guest_joins_a_running_game_with_state_synchronisation_and_both_play() {
    join_and_play(|| StateSync::new(StateSyncConfig::default()).unwrap());
}

fn join_and_play<M: Model>(model: impl Fn() -> M) {
    let mut games = vec![game(Role::Host, model())];
    let now = games[0].now();
    games[0].machine_mut().session_mut().start(now);
    drive_until(&mut games, |games| {
        games[0].machine().status().tick > Tick(30)
    });
    let now = games[0].now();
    assert!(games[0].machine_mut().input(now, PlayerId(0), &Add(7)));
    drive_until(&mut games, |games| {
        !games[0].machine().world().state().stones.is_empty()
    });

    let host = games[0].local_addr();
    games.push(game(Role::Client(JoinTo::new(host)), model()));
    let state = |game: &Game<M>| game.machine().world().state().clone();
    drive_until(&mut games, |games| state(&games[1]).players == 2);
    let now = games[1].now();
    assert!(games[1].machine_mut().input(now, PlayerId(1), &Add(9)));
    drive_until(&mut games, |games| {
        games.iter().all(|game| state(game).stones.len() == 2)
    });
    let weights = |game: &Game<M>| {
        state(game)
            .stones
            .iter()
            .map(|(_, stone)| stone.weight)
            .sum::<u32>()
    };
    assert_eq!((weights(&games[0]), weights(&games[1])), (16, 16));
    // What is drawn may be a little later.
    let end = games[1].now() + Duration::from_secs(10);
    let shown = |game: &mut Game<M>| {
        let now = game.now();
        game.machine_mut().shown(now).stones.len()
    };
    while shown(&mut games[1]) < 2 {
        assert!(games[1].now() < end, "was not shown in time");
        drive(&mut games);
    }
    let until = games[1].now() + Duration::from_secs(2);
    games[1].leave_game("bye", until).unwrap();
    games.truncate(1);
    drive_until(&mut games, |games| state(&games[0]).players == 1);
}
