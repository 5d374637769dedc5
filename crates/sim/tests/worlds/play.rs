//! Games in rooms, with every model: delayed spectators, save games loaded while the room is set up.

use std::time::Duration;

use crate::tally::{Game, Room, Tally};
use samestep_session::MatchEvent;
use samestep_sim::NodeId;
use samestep_sync::{
    Live, Lockstep, LockstepConfig, Model, ModelEvent, PeerId, Rollback, RollbackConfig,
};

const HOST: NodeId = NodeId(0);

fn lockstep(spectator_delay: Duration) -> Lockstep {
    Lockstep::new(LockstepConfig {
        spectator_delay,
        ..LockstepConfig::default()
    })
    .unwrap()
}

fn rollback(spectator_delay: Duration) -> Rollback {
    Rollback::new(RollbackConfig {
        spectator_delay,
        ..RollbackConfig::default()
    })
    .unwrap()
}

#[test]
fn a_spectator_sees_the_game_as_much_later_as_the_host_says() {
    see_later(lockstep);
    see_later(rollback);
}

fn see_later<M: Model>(model: impl Fn(Duration) -> M) {
    let mut room = Room::of(false, [model(Duration::from_secs(3))]);
    room.run(1000);
    let watcher = room.join(0, model(Duration::ZERO));
    room.run(6000);
    let behind = room.status(HOST).tick.since(room.status(watcher).tick);
    assert!((178..=200).contains(&behind), "{behind} ticks");
    room.count(HOST, 0);
    room.run(2500);
    assert_eq!(
        (room.state(HOST).counted, room.state(watcher).counted),
        (1, 0)
    );
    room.run(1500);
    assert_eq!(room.state(watcher).counted, 1);
}

#[test]
fn a_guest_whose_host_is_gone_waits_for_nobody_else() {
    wait_for_host(lockstep);
    wait_for_host(rollback);
}

fn wait_for_host<M: Model>(model: impl Fn(Duration) -> M) {
    let mut room = Room::new(false, model(Duration::ZERO));
    let guests = [0, 1].map(|_| room.join(1, model(Duration::ZERO)));
    room.start();
    room.run(3000);
    room.testbed.kill(HOST);
    let host = Some(PeerId(0));
    for _ in 0..250 {
        room.run(20);
        for guest in guests {
            let waits_for = room.status(guest).waiting_for;
            assert!(waits_for.is_none() || waits_for == host, "{waits_for:?}");
        }
    }
    assert_eq!(
        guests.map(|guest| room.status(guest).waiting_for),
        [host; 2]
    );
}

#[test]
fn a_game_loaded_while_the_room_is_set_up_is_everyones() {
    load(lockstep);
    load(rollback);
}

fn load<M: Model>(model: impl Fn(Duration) -> M) {
    let mut room = Room::new(false, model(Duration::ZERO));
    let guest = room.join(1, model(Duration::ZERO));
    room.run(1000);
    let loaded = Live::checkpoint_of(Tally {
        counted: 40,
        ..Tally::default()
    });
    let load = |now, game: &mut Game<M>| game.load(now, &loaded);
    assert_eq!(room.testbed.with(guest, load), Some(false));
    assert_eq!(room.testbed.with(HOST, load), Some(true));
    room.run(500);
    assert_eq!(room.state(guest).counted, 40);
    room.start();
    room.run(1000);
    room.count(guest, 0);
    room.run(1000);
    assert_eq!(
        (room.state(HOST).counted, room.state(guest).counted),
        (41, 41)
    );
    assert_eq!(
        room.testbed.with(HOST, load),
        Some(false),
        "the game has begun"
    );
    room.assert_same();
    room.assert_recorded();
}

#[test]
fn here_is_the_program_that_says_so() {
    let mut room = Room::of(false, [Lockstep::default(), Lockstep::default()]);
    let guest = NodeId(1);
    let tamper = |_, game: &mut Game<Lockstep>| game.world_mut().disturb(|tally| tally.of[5] = 7);
    room.testbed.with(guest, tamper);
    let until = room.testbed.now() + Duration::from_secs(4);
    let mut said = Vec::new();
    while let Some((_, node, event)) = room.testbed.next(until) {
        if let MatchEvent::Model(ModelEvent::Desync(report)) = event
            && let Some(difference) = report.difference
        {
            said.push((node, difference.to_string()));
        }
    }
    assert_eq!(said, [(guest, "globals, of.5: 7 here, 0 there".into())]);
    let trouble = room.status(HOST).trouble.unwrap_or_default();
    assert!(trouble.contains("of.5: 0 here, 7 there"), "{trouble}");
}
