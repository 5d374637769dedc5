//! Inputs in somebody else's name, with rollback in a hosted room, where the host relays everyone's.
//!
//! The attacker is a guest. It writes input batches that claim to be of other sources, and sends them to the host and, if the room carries that,
//! to other guests directly. It wants others to do what it likes, or two programs to believe different inputs of its own player.

use samestep_sync::{Model, Rollback};
use samestep_wire::encode_to_vec;

use crate::room::{Add, Room, message, put};

const ATTACKER: usize = 1;
const VICTIM: usize = 2;

/// A batch of a source from a tick on, in each tick of which a player adds 100.
fn batch(source: u64, incarnation: u64, from: u64, player: u64) -> Vec<u8> {
    let ticks = 20;
    let mut bytes = message(0, &[source, incarnation, 0, from, ticks, 0, 0]);
    let input = encode_to_vec(&Add(Some(100))).unwrap();
    for _ in 0..ticks {
        put(&mut bytes, 0);
        put(&mut bytes, 1);
        put(&mut bytes, player << 1 | 1);
        put(&mut bytes, input.len() as u64);
        bytes.extend_from_slice(&input);
    }
    bytes
}

fn room() -> Room<Rollback> {
    let mut room = Room::new(false, 4, 0, Rollback::default);
    room.run(3000);
    room
}

#[test]
fn two_hundred_forged_batches_of_a_guest_are_refused() {
    let mut room = room();
    let before = [0, VICTIM].map(|at| room.refused(at));
    for round in 0..50u64 {
        let from = room.tick(0) + round % 3;
        // To the host in the names of two others, and to a guest in the name of another and in its own.
        room.say(ATTACKER, 0, batch(2, 1, from, 2));
        room.say(ATTACKER, 0, batch(3, 1, from, 3));
        room.say(ATTACKER, VICTIM, batch(3, 1, from, 3));
        room.say(ATTACKER, VICTIM, batch(1, 1, from, 1));
        room.run(20);
    }
    assert!(room.add(3, 7));
    room.run(2000);
    let totals: Vec<u32> = (0..4).map(|at| room.total(at)).collect();
    assert_eq!(totals, [7; 4]);
    for (at, before) in [0, VICTIM].into_iter().zip(before) {
        assert_eq!(room.refused(at) - before, 100, "program {at}");
    }
    for at in 0..4 {
        assert_eq!(room.programs[at].model.status().desyncs, 0);
    }
}

#[test]
fn a_guest_announces_nobodys_coming_or_going() {
    let mut room = room();
    let tick = room.tick(0);
    for (kind, who) in [(1, VICTIM as u64), (3, VICTIM as u64), (0, 77), (4, 0)] {
        let mut bytes = message(0, &[1, 1, 0, tick, 1, 0, 1, 3, kind]);
        if kind != 4 {
            put(&mut bytes, who);
        }
        for to in [0, VICTIM, 3] {
            room.say(ATTACKER, to, bytes.clone());
        }
    }
    room.run(500);
    assert!(room.add(VICTIM, 9));
    room.run(1000);
    let totals: Vec<u32> = (0..4).map(|at| room.total(at)).collect();
    assert_eq!(totals, [9; 4]);
}

#[test]
fn a_hosts_word_is_not_taken_from_a_guest() {
    let mut room = room();
    let tick = room.tick(VICTIM);
    let mut relayed = message(18, &[0, tick, 3, 1, 0, 20 << 1]);
    relayed.extend_from_slice(&[]);
    let substitution = message(16, &[9, 2, 1, 0, tick, 20, 0, 0]);
    for bytes in [
        relayed,
        substitution,
        message(15, &[tick + 500, 0, 0]),
        message(13, &[3, 1]),
        message(14, &[3, 1]),
        message(6, &[3, 1, 0, tick, 0, 0, 0]),
        message(7, &[tick, 1]),
    ] {
        let before = room.refused(VICTIM);
        room.say(ATTACKER, VICTIM, bytes.clone());
        room.run(50);
        assert_eq!(room.refused(VICTIM), before + 1, "{bytes:?}");
    }
    room.add(3, 4);
    room.run(1000);
    assert_eq!(room.total(VICTIM), 4);
}

#[test]
fn a_guest_that_answers_a_flush_nobody_asked_for_does_not_replace_the_hosts_state() {
    let mut room = room();
    let tick = room.tick(0);
    // Another guest leaves; before the host has settled where its inputs end, the attacker claims to know later ones.
    room.pass_roster_on(&[3].into());
    for later in [1000, 20_000] {
        let bytes = message(5, &[3, 1, 0, tick + later, 10, 0, 0]);
        let now = room.now;
        let host = &mut room.programs[0].model;
        host.handle_message(now, samestep_sync::PeerId(1), &bytes);
    }
    room.run(200);
    let asked = room.received[ATTACKER].iter();
    let asked = asked.filter(|received| received.bytes.first() == Some(&19));
    assert_eq!(asked.count(), 0, "the host asks no guest for a state");
    room.add(VICTIM, 3);
    room.run(1000);
    assert_eq!(room.total(0), 3);
}
