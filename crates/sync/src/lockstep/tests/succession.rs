//! A host is followed, restarted, and its guests play on.

use super::virtual_room::{ManyStones, VirtualRoom};
use crate::lockstep::*;
use crate::test_room::TestPeer;
use crate::{Live, Standby};

fn predicting() -> Lockstep {
    let mut model = Lockstep::new(LockstepConfig {
        turn: Length::Fixed(1),
        ..LockstepConfig::default()
    })
    .unwrap();
    model.set_prediction(Prediction {
        window: 8,
        max: 8,
        lockstep_below: Duration::ZERO,
    });
    model
}

/// Runs, and has the standby follow the host; the guests push, if they are to.
fn run(
    room: &mut VirtualRoom,
    ms: u64,
    pushes: bool,
    standby: &mut Standby,
    world: &mut Live<ManyStones>,
) {
    for step in 0..ms {
        if pushes && step % 31 == 0 {
            room.push(1 + (step / 31 % 2) as usize, step as u8);
        }
        room.run(1);
        let host = &mut room.peers[0];
        if let Some(record) = host.model.feed(&mut host.world).unwrap() {
            standby.handle(&record, world).unwrap();
            let confirmed = host.model.status().confirmed_tick;
            assert_eq!(standby.tick(), Some(confirmed));
        }
    }
}

fn plays_on(model: impl Fn() -> Lockstep) {
    let mut room = VirtualRoom::of(3, false, 30, &model);
    room.run(1500);
    let (mut standby, mut world) = (Standby::new(), Live::new(ManyStones::new()));
    let now = room.now;
    let host = &mut room.peers[0];
    let record = host.model.begin_feed(now, &mut host.world).unwrap();
    standby.handle(&record, &mut world).unwrap();
    run(&mut room, 1500, true, &mut standby, &mut world);
    run(&mut room, 300, false, &mut standby, &mut world);
    let pushes = world.state().pushes;
    assert!(pushes > 40, "{pushes}");
    assert_eq!(room.peers[0].world.state().pushes, pushes);

    // The host is killed, and started again two seconds later; everyone comes back with another incarnation.
    room.peers[0].here = false;
    room.run(2000);
    room.on_the_way.clear();
    let reached = standby.tick().unwrap();
    room.peers[0] = TestPeer {
        model: model(),
        world,
        here: true,
    };
    room.incarnation = 2;
    room.pass_roster_on();
    let (now, handover) = (room.now, standby.handover().unwrap().clone());
    let host = &mut room.peers[0];
    let taken = host.model.take_over(now, &handover, &mut host.world);
    taken.unwrap();
    while host.model.poll_message().is_some() {}
    for guest in [1, 2] {
        room.hand_over(guest);
    }
    room.run(1500);
    let mut more = 0;
    for round in 0..60 {
        more += u32::from(room.push(1 + round % 2, round as u8));
        room.run(29);
    }
    room.run(1000);
    room.assert_same();
    assert_eq!(room.peers[0].world.state().pushes, pushes + more);
    let tick = room.peers[0].model.status().confirmed_tick;
    assert!(
        tick > reached + 200 && tick < reached + 300,
        "{reached} to {tick}"
    );
}

#[test]
fn guests_play_on_with_lockstep() {
    plays_on(|| Lockstep::new(LockstepConfig::default()).unwrap());
}

#[test]
fn guests_play_on_with_rollback() {
    plays_on(predicting);
}
