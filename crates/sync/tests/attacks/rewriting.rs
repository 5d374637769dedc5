//! Rewriting the authority's state by outvoting it.
//!
//! The attackers are three members who agree with each other. Each changes the state of its own program in the same way, so that their
//! checksums are equal and differ from the host's. They want the host to believe the majority, to ask one of them for the rows that differ, and
//! to take these over: then their state is everybody's.

use samestep_sync::{Lockstep, LockstepConfig, Model, Rollback, RollbackConfig};

use crate::room::Room;

/// What the attackers would like the sum to be.
const WANTED: u32 = 1_000_000;

fn conspire<M: Model>(room: &mut Room<M>, attackers: &[usize]) {
    room.run(2500);
    for round in 0..6 {
        assert!(room.add(1, 1));
        for attacker in attackers {
            room.programs[*attacker]
                .world
                .disturb(|sum| sum.total = WANTED);
        }
        room.run(1000 + round);
    }
}

fn lockstep(correct_host: bool) -> Lockstep {
    Lockstep::new(LockstepConfig {
        correct_host,
        ..LockstepConfig::default()
    })
    .unwrap()
}

fn rollback() -> Rollback {
    Rollback::new(RollbackConfig::default()).unwrap()
}

#[test]
fn three_spectators_do_not_rewrite_a_hosts_state() {
    let mut room = Room::new(false, 2, 3, || lockstep(false));
    conspire(&mut room, &[2, 3, 4]);
    assert_eq!((room.total(0), room.total(1)), (6, 6));
    let mut room = Room::new(false, 2, 3, rollback);
    conspire(&mut room, &[2, 3, 4]);
    assert_eq!((room.total(0), room.total(1)), (6, 6));
}

#[test]
fn spectators_have_no_vote_even_where_guests_may_correct_the_host() {
    let mut room = Room::new(false, 2, 3, || lockstep(true));
    conspire(&mut room, &[2, 3, 4]);
    assert_eq!((room.total(0), room.total(1)), (6, 6));
}

#[test]
fn three_guests_do_not_rewrite_a_hosts_state() {
    let mut room = Room::new(false, 5, 0, || lockstep(false));
    conspire(&mut room, &[2, 3, 4]);
    assert_eq!((room.total(0), room.total(1)), (6, 6));
    let mut room = Room::new(false, 5, 0, rollback);
    conspire(&mut room, &[2, 3, 4]);
    assert_eq!((room.total(0), room.total(1)), (6, 6));
}

#[test]
fn guests_correct_the_host_if_the_game_asks_for_it() {
    let mut room = Room::new(false, 5, 0, || lockstep(true));
    conspire(&mut room, &[2, 3, 4]);
    assert!(room.total(0) >= WANTED);
}

#[test]
fn rows_that_nobody_asked_for_change_nothing() {
    let mut room = Room::new(false, 3, 1, || lockstep(false));
    room.run(3000);
    room.add(1, 5);
    room.run(500);
    let checkpoint = {
        let world = &mut room.programs[2].world;
        world.disturb(|sum| sum.total = WANTED);
        samestep_sync::World::checkpoint(world)
    };
    let tick = room.tick(0);
    for from in [2, 3] {
        for to in [0, 1] {
            // Rows, a replacement and a whole state.
            let mut rows = crate::room::message(9, &[tick - tick % 60]);
            rows.extend_from_slice(&[0; 8]);
            rows.extend_from_slice(&checkpoint);
            let mut replacement = crate::room::message(20, &[tick + 20]);
            replacement.extend_from_slice(&checkpoint);
            let numbers = [2, tick + 1000, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0];
            let mut state = crate::room::message(11, &numbers);
            state.extend_from_slice(&checkpoint);
            for bytes in [rows, replacement, state] {
                room.say(from, to, bytes);
            }
        }
    }
    room.run(1000);
    assert_eq!((room.total(0), room.total(1)), (5, 5));
}
