//! Lockstep and rollback between models alone, in virtual time: messages arrive after a while.

mod departure;
mod parts;
mod rollback;
mod succession;
pub(super) mod virtual_room;

use core::time::Duration;

use super::*;
use crate::EventStage;
use crate::test_room::TestPeer;
use virtual_room::VirtualRoom;

#[test]
fn a_hosted_game_runs_and_everyone_sees_every_push() {
    let mut room = VirtualRoom::new(4, false, 30, LockstepConfig::default());
    room.run(3000);
    for round in 0..20 {
        assert!(room.push(round % 4, 1));
        room.run(50);
    }
    room.run(1000);
    room.assert_same();
    assert_eq!(room.peers[3].world.state().pushes, 20);
    assert!(
        room.peers[3].model.simulated.confirmed_tick > Tick(230),
        "{:?}",
        room.peers[3].model.status()
    );
    assert!(
        room.peers[3].model.stats.stalled_ticks < 10,
        "{:?}",
        room.peers[3].model.status()
    );
}

#[test]
fn a_mesh_runs_and_everyone_sees_every_push() {
    let mut room = VirtualRoom::new(4, true, 30, LockstepConfig::default());
    room.run(3000);
    for round in 0..20 {
        assert!(room.push(round % 4, 1));
        room.run(50);
    }
    room.run(1000);
    room.assert_same();
    assert_eq!(room.peers[3].world.state().pushes, 20);
    assert!(
        room.peers[3].model.simulated.confirmed_tick > Tick(230),
        "{:?}",
        room.peers[3].model.status()
    );
}

#[test]
fn events_are_confirmed_once() {
    let mut room = VirtualRoom::new(2, false, 10, LockstepConfig::default());
    room.run(2000);
    room.push(1, 7);
    room.run(1000);
    for peer in &mut room.peers {
        let delivered: Vec<_> = core::iter::from_fn(|| peer.world.poll_event()).collect();
        assert_eq!(delivered.len(), 1);
        assert_eq!(
            (delivered[0].stage, delivered[0].event),
            (EventStage::Confirmed, (PlayerId(1), 7))
        );
    }
}

#[test]
fn a_member_of_a_mesh_that_vanishes_stops_nobody() {
    for gone in [0, 2] {
        let mut room = VirtualRoom::new(4, true, 20, LockstepConfig::default());
        room.run(3000);
        room.push(gone, 9);
        room.run(10);
        room.peers[gone].here = false;
        room.run(2000);
        room.exclude(&[gone], u16::from(gone == 0));
        let before = room.peers[3].model.simulated.confirmed_tick;
        room.run(2000);
        room.assert_same();
        assert!(
            room.peers[3].model.simulated.confirmed_tick.since(before) > 90,
            "{:?}",
            room.peers[3].model.status()
        );
        assert_eq!(
            room.peers[3]
                .model
                .simulated
                .confirmed_players
                .players()
                .len(),
            3
        );
    }
}

#[test]
fn a_state_that_differs_is_named_and_repaired() {
    for spoiled in [0, 2] {
        let config = LockstepConfig {
            correct_host: true,
            ..LockstepConfig::default()
        };
        let mut room = VirtualRoom::new(4, false, 20, config);
        room.run(2500);
        for round in 0..8 {
            room.push(round % 4, 3);
            room.run(20);
        }
        room.peers[spoiled].world.state_mut().stones.as_mut_slice()[77].weight = 9999;
        let lagged: u64 = room
            .peers
            .iter()
            .map(|peer| peer.model.stats.stalled_ticks)
            .sum();
        room.run(2500);
        let TestPeer { model, world, .. } = &mut room.peers[spoiled];
        let events: Vec<_> = core::iter::from_fn(|| model.poll_event()).collect();
        let report = events.iter().find_map(|event| match event {
            ModelEvent::Desync(report) if report.difference.is_some() => Some(report),
            _ => None,
        });
        let report = report.unwrap_or_else(|| panic!("{events:?}"));
        assert_eq!(report.peer, PeerId(spoiled as u16));
        let difference = report.difference.clone().unwrap();
        assert_eq!(
            (&*difference.kind, &*difference.field),
            ("stones", "weight")
        );
        assert_eq!((&*difference.ours, &*difference.theirs), ("9999", "77"));
        assert!(report.bundle.is_some());
        assert!(
            events
                .iter()
                .any(|event| matches!(event, ModelEvent::Repaired { .. })),
            "{events:?}"
        );
        assert_eq!(world.state().stones.as_slice()[77].weight, 77);
        room.run(3000);
        let after: u64 = room
            .peers
            .iter()
            .map(|peer| peer.model.stats.stalled_ticks)
            .sum();
        assert_eq!(after, lagged, "nobody waits for a repair");
    }
}

#[test]
fn initiative_passes_from_player_to_player() {
    let config = LockstepConfig {
        pace: Pace::Initiative { ticks: 5 },
        ..LockstepConfig::default()
    };
    for mesh in [false, true] {
        let mut room = VirtualRoom::new(3, mesh, 20, config.clone());
        room.run(2000);
        for round in 0..7usize {
            let holder = round % 3;
            let tick = room.peers[1].model.simulated.confirmed_tick;
            room.run(700);
            assert_eq!(
                room.peers[1].model.simulated.confirmed_tick, tick,
                "nobody is hurried"
            );
            assert_eq!(
                room.peers[holder].model.status().initiative,
                Some(PlayerId(holder as u16)),
                "{round} {mesh}"
            );
            assert!(!room.push((holder + 1) % 3, 1));
            assert!(room.push(holder, 1));
            let now = room.now;
            room.peers[holder]
                .model
                .end_turn(now, PlayerId(holder as u16));
            room.run(300);
        }
        room.assert_same();
        assert_eq!(room.peers[2].world.state().pushes, 7);
    }
}

#[test]
fn a_turn_that_nobody_was_there_to_hear_is_asked_for() {
    let config = LockstepConfig {
        pace: Pace::Initiative { ticks: 5 },
        ..LockstepConfig::default()
    };
    for mesh in [false, true] {
        let mut room = VirtualRoom::new(2, mesh, 20, config.clone());
        room.run(2000);
        assert!(room.push(0, 1));
        let now = room.now;
        room.peers[0].model.end_turn(now, PlayerId(0));
        room.run(10);
        assert!(!room.on_the_way.is_empty(), "the turn is under way");
        room.on_the_way.clear();
        room.run(3000);
        let status = room.peers[1].model.status();
        assert_eq!(status.initiative, Some(PlayerId(1)), "mesh: {mesh}");
        room.assert_same();
        let messages_sent = room.messages_sent;
        room.run(60_000);
        assert!(
            room.messages_sent < messages_sent + 200,
            "nobody nags: {}",
            room.messages_sent - messages_sent
        );
    }
}

#[test]
fn who_asks_for_what_nobody_keeps_gets_the_whole_state() {
    let mut room = VirtualRoom::new(2, false, 10, LockstepConfig::default());
    room.run(2000);
    room.push(0, 1);
    room.peers[1].here = false;
    room.run(30_000);
    room.on_the_way.clear();
    room.peers[1].here = true;
    room.run(3000);
    room.assert_same();
    assert_eq!(room.peers[1].world.state().pushes, 1);
}

#[test]
fn a_slow_machine_slows_everyone_gently_or_is_sent_away() {
    let config = LockstepConfig {
        slow: SlowMachine::Drop { behind: 60 },
        ..LockstepConfig::default()
    };
    let mut room = VirtualRoom::new(2, false, 10, config);
    room.run(2000);
    let report = message::Report {
        tick: Tick(3),
        behind: 100,
        slack: None,
    };
    let bytes = Message::Report(report).write();
    for _ in 0..20 {
        let host = &mut room.peers[0].model;
        host.handle_message(room.now, PeerId(1), &bytes);
        room.run(2);
    }
    let delivered = core::iter::from_fn(|| room.peers[0].model.poll_event()).next();
    assert_eq!(
        delivered,
        Some(ModelEvent::TooSlow {
            peer: PeerId(1),
            ticks_behind: 100
        })
    );
}

#[test]
fn what_strangers_say_is_refused() {
    let mut room = VirtualRoom::new(3, false, 10, LockstepConfig::default());
    room.run(2000);
    let batch = Message::InputBatch(message::InputBatch {
        source: SourceId {
            peer: PeerId(1),
            incarnation: 1,
        },
        schedule_offset: Duration::ZERO,
        from: Tick(0),
        to: Tick(4000),
        predicting: false,
        initiative: None,
        changes: Vec::new(),
        entries: message::EncodedInputs::encoded(&[]),
    });
    let bytes = batch.write();
    let model = &mut room.peers[2].model;
    model.handle_message(room.now, PeerId(1), &bytes);
    model.handle_message(room.now, PeerId(9), &bytes);
    model.handle_message(
        room.now,
        PeerId(1),
        &Message::Checkpoint(&[1, 2, 3]).write(),
    );
    model.handle_message(
        room.now,
        PeerId(1),
        &Message::DesyncNotice {
            tick: Tick(60),
            ask: PeerId(1),
        }
        .write(),
    );
    assert_eq!(model.stats.refused, 4);
    let TestPeer { model, .. } = &mut room.peers[0];
    let mut foreign = Vec::new();
    message::encode_pending(&[(PlayerId(0), vec![vec![1, 2]])], &mut foreign);
    model.handle_message(
        room.now,
        PeerId(1),
        &Message::Inputs(message::EncodedInputs::encoded(&foreign)).write(),
    );
    assert_eq!(
        model.stats.inputs_refused, 1,
        "nobody acts for another's player"
    );
}
