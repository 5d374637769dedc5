//! The tick that a rewinding authority tells its clients of.
//!
//! The authority tells of the newest tick that every client has spoken for. The attacker is a client whose messages name other ticks than it has
//! acted in: earlier ones, to hold the others back, or later ones, to have a tick told and to act in it afterwards, so that others are corrected.

use core::time::Duration;

use samestep_sync::{Model, Rewind, RewindConfig, SnapshotConfig, WindowLength};
use samestep_wire::encode_to_vec;

use crate::room::{Add, Room, message, put, take};

const ATTACKER: usize = 1;
const BYSTANDER: usize = 2;
const WINDOW_TICKS: u64 = 12;

fn room() -> Room<Rewind> {
    let model = || {
        Rewind::new(RewindConfig {
            window: WindowLength::Fixed(Duration::from_millis(200)),
            snapshot: SnapshotConfig {
                every: 1,
                ..SnapshotConfig::default()
            },
            ..RewindConfig::default()
        })
        .unwrap()
    };
    let mut room = Room::new(false, 3, 0, model);
    room.run(4000);
    room
}

/// Names another tick in every message with inputs.
fn names(room: &mut Room<Rewind>, other: impl Fn(u64) -> u64 + 'static) {
    let tamper = move |bytes: &mut Vec<u8>| {
        if bytes.first() == Some(&2) {
            let mut rest = &bytes[2..];
            let tick = take(&mut rest);
            let mut changed = bytes[..2].to_vec();
            put(&mut changed, other(tick));
            changed.extend_from_slice(rest);
            *bytes = changed;
        }
    };
    room.tampers = Some((ATTACKER, Box::new(tamper)));
}

/// How far behind the authority's present the bystander is told, at most, over two seconds.
fn told_behind(room: &mut Room<Rewind>) -> u64 {
    let mut most = 0;
    for _ in 0..100 {
        room.run(20);
        let told = room.programs[BYSTANDER].model.status().confirmed_tick.0;
        most = most.max(room.tick(0).saturating_sub(told));
    }
    most
}

#[test]
fn a_client_that_names_ticks_too_early_holds_others_back_by_the_window_at_most() {
    let mut room = room();
    let honest = told_behind(&mut room);
    for early in [5, 100, 1 << 40] {
        names(&mut room, move |tick| tick.saturating_sub(early));
        room.run(500);
        let behind = told_behind(&mut room);
        // The window, the way to the bystander, and the tick in which it arrives.
        assert!(
            behind <= WINDOW_TICKS + 3,
            "{behind} ticks, {honest} before"
        );
        assert!(room.add(BYSTANDER, 1));
    }
    room.run(1000);
    assert_eq!((room.total(0), room.total(BYSTANDER)), (3, 3));
}

#[test]
fn a_client_that_names_ticks_too_late_changes_nothing_for_others() {
    let mut room = room();
    let honest = told_behind(&mut room);
    let before = room.programs[BYSTANDER].model.status().corrections;
    names(&mut room, |tick| (tick + 100_000).min((1 << 48) - 1));
    room.run(500);
    assert!(told_behind(&mut room) <= honest + 1);
    // It acts in ticks that it said were done, and that others have been told of.
    let input = encode_to_vec(&Add(Some(50))).unwrap();
    for number in 0..20 {
        let tick = room.tick(0) - 6;
        let mut forged = message(2, &[]);
        forged.push(epoch(&room));
        for field in [tick, 0, 0, number, 1, ATTACKER as u64, 0] {
            put(&mut forged, field);
        }
        put(&mut forged, (input.len() as u64) << 2);
        forged.extend_from_slice(&input);
        room.say(ATTACKER, 0, forged);
        room.run(100);
    }
    let rewound = room.programs[0].model.rewound();
    assert_eq!(rewound.after_told, 0, "{rewound:?}");
    assert_eq!(room.programs[BYSTANDER].model.status().corrections, before);
    room.tampers = None;
    assert!(room.add(BYSTANDER, 1));
    room.run(1000);
    assert_eq!(room.total(0), room.total(BYSTANDER));
}

/// The epoch that the attacker's own messages carry.
fn epoch(room: &Room<Rewind>) -> u8 {
    let sent = room.received[0].iter().rev();
    let own = sent
        .filter(|received| received.from == ATTACKER)
        .find(|received| received.bytes.first() == Some(&2));
    own.expect("it has sent inputs").bytes[1]
}
