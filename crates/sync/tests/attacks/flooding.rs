//! Filling the queues of others.
//!
//! The attacker is a member that sends more of one kind than anybody needs: input batches that wait for others, checksums of ticks to come,
//! requests for the whole state, messages of a model that has not begun. It wants what honest members send to find no room, or others to work
//! for it alone.

use samestep_sync::{Lockstep, LockstepConfig, Model, ModelConfig, Rollback, Switch};

use crate::room::{Room, message};

const ATTACKER: usize = 1;

#[test]
fn batches_that_wait_leave_room_for_those_of_others() {
    let mut room = Room::new(true, 3, 0, Lockstep::default);
    room.run(3000);
    for incarnation in 0..2000 {
        let tick = room.tick(0);
        room.say(
            ATTACKER,
            0,
            message(0, &[1, 100 + incarnation, 0, tick, 1, 0, 0]),
        );
    }
    room.run(50);
    // A batch of another member that came before the one that it follows is kept until that one arrives.
    let upto = room.tick(0) + 200;
    room.say(2, 0, message(0, &[2, 1, 0, upto, 5, 0, 0]));
    room.run(50);
    let waiting = room.programs[0].model.explain();
    assert!(waiting.contains("33 turns came too early"), "{waiting}");
}

#[test]
fn checksums_of_ticks_to_come_do_not_end_the_checks() {
    let mut room = Room::new(false, 3, 0, Lockstep::default);
    room.run(3000);
    for _ in 0..30 {
        let next = room.tick(0) / 60 * 60 + 60;
        for later in 0..400 {
            let mut bytes = message(3, &[next + 60 * later]);
            bytes.extend_from_slice(&[later as u8; 8]);
            room.say(ATTACKER, 0, bytes);
        }
        room.run(100);
    }
    // Somebody else really differs, and that is found out.
    room.programs[2].world.disturb(|sum| sum.total = 77);
    for _ in 0..30 {
        let next = room.tick(0) / 60 * 60 + 60;
        for later in 0..40 {
            let mut bytes = message(3, &[next + 60 * later]);
            bytes.extend_from_slice(&[later as u8; 8]);
            room.say(ATTACKER, 0, bytes);
        }
        room.run(100);
    }
    room.tampers = None;
    room.run(3000);
    assert_eq!(room.total(2), 0, "the member that differed was corrected");
}

#[test]
fn a_flood_of_requests_for_the_state_is_answered_now_and_then() {
    let mut room = Room::new(false, 3, 0, || {
        Lockstep::new(LockstepConfig {
            keep: 300,
            ..LockstepConfig::default()
        })
        .unwrap()
    });
    room.run(8000);
    let since = room.now;
    for _ in 0..1000 {
        room.say(ATTACKER, 0, message(19, &[0]));
        room.say(ATTACKER, 0, message(4, &[0, 1, 0]));
        room.run(1);
    }
    let states = room.received[ATTACKER].iter();
    let states = states.filter(|received| received.sent_at > since && received.bytes[0] == 11);
    let states = states.count();
    assert!(states <= 12, "{states} states within a second");
}

#[test]
fn messages_of_the_next_model_leave_room_for_those_of_others() {
    let choices = || {
        vec![
            ModelConfig::Lockstep(LockstepConfig::default()),
            ModelConfig::Rollback(Rollback::default().config().clone()),
        ]
    };
    let mut room = Room::new(false, 4, 0, || Switch::new(choices()).unwrap());
    room.run(4000);
    let now = room.now;
    assert!(room.programs[0].model.to(now, 1));
    // Whatever is marked as a message of the epoch that comes next waits for it.
    for _ in 0..3000 {
        room.say(ATTACKER, 0, vec![255, 0x81]);
    }
    room.run(3000);
    for at in [0, 2, 3] {
        assert_eq!(room.programs[at].model.current(), 1);
    }
    assert!(room.add(2, 8));
    room.run(1000);
    for at in [0, 2, 3] {
        assert_eq!(room.total(at), 8);
    }
    let refused = room.programs[0].model.status().refused;
    assert!(refused >= 2900, "{refused} refused");
}
