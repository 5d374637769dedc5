//! Seeing the game without the delay that spectators have.
//!
//! The attacker is a spectator of a game whose spectators see everything some seconds later, so that they cannot tell a player what others do.
//! Its program asks for the state in every way there is: for the whole state, for inputs that are long forgotten, for all rows that differ from a
//! state it does not have, for the handover of a changed model. It wants to be answered with the present.

use core::time::Duration;

use samestep_sync::{
    Lockstep, LockstepConfig, Model, ModelConfig, Rollback, RollbackConfig, Snapshot,
    SnapshotConfig, Switch, World,
};

use crate::room::{Room, START, message, take};

const DELAY: Duration = Duration::from_secs(2);
const SPECTATOR: usize = 2;
/// Ticks per second.
const RATE: u64 = 60;

fn lockstep() -> LockstepConfig {
    LockstepConfig {
        spectator_delay: DELAY,
        keep: 300,
        ..LockstepConfig::default()
    }
}

fn rollback() -> RollbackConfig {
    RollbackConfig {
        spectator_delay: DELAY,
        keep: 300,
        ..RollbackConfig::default()
    }
}

/// The tick that a spectator may know of when something is sent, and a few more: turns are closed before they are due.
fn may_know(sent_at: Duration) -> u64 {
    let shown = sent_at.saturating_sub(START + DELAY);
    shown.as_millis() as u64 * RATE / 1000 + 20
}

/// Asks the host for everything, and returns how many states came, none of them newer than allowed.
fn states<M: Model>(room: &mut Room<M>, asks: &[fn(u64) -> Vec<u8>]) -> usize {
    room.run(8000);
    let since = room.now;
    for _ in 0..10 {
        let tick = room.tick(0);
        for ask in asks {
            room.say(SPECTATOR, 0, ask(tick));
        }
        room.add(1, 1);
        room.run(100);
    }
    room.run(2 * DELAY.as_millis() as u64);
    let mut states = 0;
    for received in &room.received[SPECTATOR] {
        let (Some(tag), true) = (received.bytes.first(), received.sent_at >= since) else {
            continue;
        };
        assert!(
            ![7, 9].contains(tag),
            "a delayed spectator takes part in no check"
        );
        if *tag != 11 {
            continue;
        }
        states += 1;
        let mut bytes = &received.bytes[1..];
        assert_eq!(take(&mut bytes), 3, "the layout");
        let (tick, known) = (take(&mut bytes), may_know(received.sent_at));
        assert!(
            tick <= known,
            "the state of tick {tick}, but {known} is allowed"
        );
    }
    states
}

#[test]
fn an_empty_request_for_the_whole_state_is_answered_with_the_delayed_one() {
    let asks: [fn(u64) -> Vec<u8>; 2] = [|_| message(19, &[0]), |_| message(4, &[0, 1, 0])];
    for asks in [&asks[..1], &asks[1..], &asks] {
        let mut room = Room::new(false, 2, 1, || Lockstep::new(lockstep()).unwrap());
        let states = states(&mut room, asks);
        assert!((1..=3).contains(&states), "{states} states");
        assert_eq!(room.total(0), 10);
        let mut room = Room::new(false, 2, 1, || Rollback::new(rollback()).unwrap());
        let states = self::states(&mut room, asks);
        assert!((1..=3).contains(&states), "{states} states");
    }
}

#[test]
fn checks_are_no_way_around_the_delay() {
    let asks: [fn(u64) -> Vec<u8>; 2] = [
        // An empty checksum tree of the last check, from which every row differs.
        |tick| message(8, &[tick - tick % 60, 0]),
        |tick| {
            let mut bytes = message(3, &[tick - tick % 60]);
            bytes.extend_from_slice(&[1; 8]);
            bytes
        },
    ];
    let mut room = Room::new(false, 2, 1, || Lockstep::new(lockstep()).unwrap());
    assert_eq!(states(&mut room, &asks), 0);
    assert!(room.refused(0) >= 20);
}

#[test]
fn a_player_that_leaves_does_not_give_its_inputs_away_before_time() {
    let mut room = Room::new(false, 3, 1, || Rollback::new(rollback()).unwrap());
    let spectator = 3;
    room.run(6000);
    let since = room.now;
    room.pass_roster_on(&[2].into());
    room.run(1000);
    let flushed = |room: &Room<Rollback>| {
        let received = room.received[spectator].iter();
        received
            .filter(|received| received.sent_at >= since && received.bytes.first() == Some(&6))
            .count()
    };
    assert_eq!(flushed(&room), 0);
    room.run(2000);
    assert_eq!(flushed(&room), 1);
}

#[test]
fn a_state_that_is_sent_to_everyone_waits_for_spectators() {
    let snapshot = || {
        Snapshot::new(SnapshotConfig {
            spectator_delay: DELAY,
            ..SnapshotConfig::default()
        })
        .unwrap()
    };
    let mut room = Room::new(false, 2, 1, snapshot);
    room.run(5000);
    let since = room.now;
    let host = &mut room.programs[0];
    host.model.send_state_to_all(since, &mut host.world);
    room.run(1500);
    let states = |room: &Room<Snapshot>, at: usize| {
        let received = room.received[at].iter();
        received
            .filter(|received| received.sent_at >= since && received.bytes.first() == Some(&3))
            .count()
    };
    assert_eq!((states(&room, 1), states(&room, SPECTATOR)), (1, 0));
    room.run(1000);
    assert_eq!(states(&room, SPECTATOR), 1);
}

#[test]
fn a_loaded_game_waits_for_spectators() {
    let mut room = Room::new(false, 2, 1, || Lockstep::new(lockstep()).unwrap());
    room.run(5000);
    let since = room.now;
    let checkpoint = room.programs[0].world.checkpoint();
    room.programs[0].model.replace_state(since, &checkpoint);
    room.run(1500);
    let replacements = |room: &Room<Lockstep>, at: usize| {
        let received = room.received[at].iter();
        received
            .filter(|received| received.sent_at >= since && received.bytes.first() == Some(&20))
            .count()
    };
    assert_eq!(
        (replacements(&room, 1), replacements(&room, SPECTATOR)),
        (1, 0)
    );
    room.run(1000);
    assert_eq!(replacements(&room, SPECTATOR), 1);
    room.add(1, 3);
    room.run(4000);
    assert_eq!(room.total(SPECTATOR), 3);
}

#[test]
fn a_handover_that_a_spectator_asks_for_waits_too() {
    let choices = || {
        vec![
            ModelConfig::Lockstep(lockstep()),
            ModelConfig::Rollback(rollback()),
        ]
    };
    let mut room = Room::new(false, 2, 1, || Switch::new(choices()).unwrap());
    room.run(5000);
    let since = room.now;
    for _ in 0..30 {
        room.say(SPECTATOR, 0, vec![4]);
        room.run(100);
    }
    let handed = room.received[SPECTATOR]
        .iter()
        .filter(|received| received.sent_at >= since && received.bytes.last() == Some(&2));
    let handed: Vec<Duration> = handed.map(|received| received.sent_at).collect();
    assert!(!handed.is_empty(), "it is answered");
    for sent_at in handed {
        assert!(
            sent_at >= since + DELAY,
            "{:?} after the question",
            sent_at - since
        );
    }
}
