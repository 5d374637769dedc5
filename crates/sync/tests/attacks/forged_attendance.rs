//! Saying who comes and goes in a mesh without being the authority.
//!
//! The attacker is a member of a mesh that plays, and not the authority. It adds changes of attendance to its own input batches, and to what it answers about a
//! member that has departed. It wants another player to be gone from everyone's simulation, or everyone to wait for somebody who is not there.

use samestep_sync::{Held, Lockstep, Model, Rollback};

use crate::room::{Room, put, take};

const ATTACKER: usize = 1;
const VICTIM: u64 = 2;

/// A change of a batch, without its tick.
fn changes() -> [Vec<u64>; 5] {
    [
        vec![1, VICTIM],
        vec![3, VICTIM],
        vec![0, 77],
        vec![2, 9, 1, 1, 77],
        vec![4],
    ]
}

/// Adds a change to a batch behind a tag, three ticks after its end.
fn add(bytes: &mut Vec<u8>, change: &[u64]) {
    let mut rest = &bytes[1..];
    let numbers: [u64; 7] = core::array::from_fn(|_| take(&mut rest));
    let [.., ticks, _, count] = numbers;
    let mut out = vec![bytes[0]];
    numbers[..6]
        .iter()
        .for_each(|number| put(&mut out, *number));
    put(&mut out, count + 1);
    put(&mut out, ticks + 3);
    change.iter().for_each(|number| put(&mut out, *number));
    out.extend_from_slice(rest);
    *bytes = out;
}

/// Adds a change to every message of the attacker with one of these tags.
fn tamper<M: Model>(room: &mut Room<M>, tags: &'static [u8], change: Vec<u64>) {
    let tamper = move |bytes: &mut Vec<u8>| {
        if tags.contains(&bytes[0]) {
            add(bytes, &change);
        }
    };
    room.tampers = Some((ATTACKER, Box::new(tamper)));
}

/// The victim plays, and everyone sees it.
#[track_caller]
fn assert_victim_plays<M: Model>(room: &mut Room<M>, here: &[usize], name: &str) {
    let before = room.total(0);
    assert!(room.add(VICTIM as usize, 9));
    room.run(3000);
    for at in here {
        assert_eq!(room.total(*at), before + 9, "{name} at {at}");
        assert_eq!(room.programs[*at].model.status().desyncs, 0, "{name}");
    }
}

fn announce<M: Model>(model: impl Fn() -> M + Copy, name: &str) {
    for change in changes() {
        let mut room = Room::new(true, 4, 0, model);
        room.run(3000);
        let refused = room.refused(0);
        let name = format!("{name}, {change:?}");
        tamper(&mut room, &[0], change);
        room.run(8000);
        // It goes on lying, and has been found out.
        assert_victim_plays(&mut room, &[0, 2, 3], &name);
        assert!(room.refused(0) > refused, "{name}");
    }
}

#[test]
fn a_member_announces_nobodys_coming_or_going() {
    announce(Lockstep::default, "lockstep");
    announce(Rollback::default, "rollback");
}

fn answer<M: Model>(model: impl Fn() -> M + Copy, name: &str) {
    for change in changes() {
        let mut room = Room::new(true, 4, 0, model);
        room.run(3000);
        let name = format!("{name}, {change:?}");
        // The item of a cut is a batch without a tag.
        let tamper = |held: &mut Held| {
            assert!(!held.items.is_empty(), "{name}");
            for item in &mut held.items {
                item.insert(0, 0);
                add(item, &change);
                item.remove(0);
            }
        };
        let cut = room.cut(3, Some((ATTACKER, &tamper)));
        room.pass_cut_to(&cut, |_| true);
        room.run(3000);
        assert_victim_plays(&mut room, &[0, 1, 2], &name);
    }
}

#[test]
fn who_answers_a_flush_announces_nobodys_coming_or_going() {
    answer(Lockstep::default, "lockstep");
    answer(Rollback::default, "rollback");
}

fn hand_over<M: Model>(model: impl Fn() -> M + Copy, name: &str) {
    for late_ms in [0, 50, 400, 1500] {
        let mut room = Room::new(true, 4, 0, model);
        room.run(3000);
        // The authority is gone; one member hears later than the others who the next one is.
        let cut = room.cut(0, None);
        room.authority = 1;
        room.pass_cut_to(&cut, |at| at != 3);
        room.run(late_ms);
        room.pass_cut_to(&cut, |at| at == 3);
        room.run(3000);
        let before = room.total(1);
        for at in [1, 2, 3] {
            assert!(room.add(at, 9));
        }
        room.run(3000);
        for at in [1, 2, 3] {
            let name = format!("{name} at {at}, {late_ms} ms late");
            assert_eq!(room.total(at), before + 27, "{name}");
            assert_eq!(room.programs[at].model.status().desyncs, 0, "{name}");
        }
    }
}

#[test]
fn the_next_authority_is_believed_by_who_hears_of_it_late() {
    hand_over(Lockstep::default, "lockstep");
    hand_over(Rollback::default, "rollback");
}
