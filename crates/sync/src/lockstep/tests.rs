//! Lockstep and rollback between models alone, in virtual time: what they say arrives, after a while.

mod rollback;
mod shore;

use core::time::Duration;

use super::*;
use crate::EventStage;
use shore::{Peer, Shore};

#[test]
fn a_hosted_game_runs_and_everyone_sees_every_push() {
    let mut shore = Shore::new(4, false, 30, LockstepConfig::default());
    shore.run(3000);
    for round in 0..20 {
        assert!(shore.push(round % 4, 1));
        shore.run(50);
    }
    shore.run(1000);
    shore.assert_same();
    assert_eq!(shore.peers[3].world.state().pushes, 20);
    assert!(
        shore.peers[3].model.next > Tick(230),
        "{:?}",
        shore.peers[3].model.status()
    );
    assert!(
        shore.peers[3].model.lagged < 10,
        "{:?}",
        shore.peers[3].model.status()
    );
}

#[test]
fn a_mesh_runs_and_everyone_sees_every_push() {
    let mut shore = Shore::new(4, true, 30, LockstepConfig::default());
    shore.run(3000);
    for round in 0..20 {
        assert!(shore.push(round % 4, 1));
        shore.run(50);
    }
    shore.run(1000);
    shore.assert_same();
    assert_eq!(shore.peers[3].world.state().pushes, 20);
    assert!(
        shore.peers[3].model.next > Tick(230),
        "{:?}",
        shore.peers[3].model.status()
    );
}

#[test]
fn events_are_confirmed_once() {
    let mut shore = Shore::new(2, false, 10, LockstepConfig::default());
    shore.run(2000);
    shore.push(1, 7);
    shore.run(1000);
    for peer in &mut shore.peers {
        let told: Vec<_> = core::iter::from_fn(|| peer.world.poll_event()).collect();
        assert_eq!(told.len(), 1);
        assert_eq!(
            (told[0].stage, told[0].event),
            (EventStage::Confirmed, (PlayerId(1), 7))
        );
    }
}

#[test]
fn a_member_of_a_mesh_that_vanishes_stops_nobody() {
    for gone in [0, 2] {
        let mut shore = Shore::new(4, true, 20, LockstepConfig::default());
        shore.run(3000);
        shore.push(gone, 9);
        shore.run(10);
        shore.peers[gone].here = false;
        shore.run(2000);
        if gone == 0 {
            shore.authority = 1;
        }
        shore.tell_roster();
        let before = shore.peers[3].model.next;
        shore.run(2000);
        shore.assert_same();
        assert!(
            shore.peers[3].model.next.since(before) > 90,
            "{:?}",
            shore.peers[3].model.status()
        );
        assert_eq!(shore.peers[3].model.present.players().len(), 3);
    }
}

#[test]
fn a_host_that_is_replaced_leaves_nothing_behind() {
    let mut shore = Shore::new(3, false, 20, LockstepConfig::default());
    shore.run(3000);
    shore.peers[0].here = false;
    shore.run(500);
    shore.authority = 2;
    shore.tell_roster();
    shore.run(500);
    shore.push(1, 4);
    shore.run(1500);
    shore.assert_same();
    assert_eq!(shore.peers[1].world.state().pushes, 1);
    assert_eq!(
        shore.peers[1].model.present.players(),
        [PlayerId(1), PlayerId(2)]
    );
}

#[test]
fn a_state_that_differs_is_named_and_repaired() {
    for spoiled in [0, 2] {
        let mut shore = Shore::new(4, false, 20, LockstepConfig::default());
        shore.run(2500);
        for round in 0..8 {
            shore.push(round % 4, 3);
            shore.run(20);
        }
        shore.peers[spoiled].world.state_mut().stones.as_mut_slice()[77].weight = 9999;
        let lagged: u64 = shore.peers.iter().map(|peer| peer.model.lagged).sum();
        shore.run(2500);
        let Peer { model, world, .. } = &mut shore.peers[spoiled];
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
        shore.run(3000);
        let after: u64 = shore.peers.iter().map(|peer| peer.model.lagged).sum();
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
        let mut shore = Shore::new(3, mesh, 20, config.clone());
        shore.run(2000);
        for round in 0..7usize {
            let holder = round % 3;
            let tick = shore.peers[1].model.next;
            shore.run(700);
            assert_eq!(shore.peers[1].model.next, tick, "nobody is hurried");
            assert_eq!(
                shore.peers[holder].model.status().initiative,
                Some(PlayerId(holder as u16)),
                "{round} {mesh}"
            );
            assert!(!shore.push((holder + 1) % 3, 1));
            assert!(shore.push(holder, 1));
            let now = shore.now;
            shore.peers[holder]
                .model
                .end_turn(now, PlayerId(holder as u16));
            shore.run(300);
        }
        shore.assert_same();
        assert_eq!(shore.peers[2].world.state().pushes, 7);
    }
}

#[test]
fn a_turn_that_nobody_was_there_to_hear_is_asked_for() {
    let config = LockstepConfig {
        pace: Pace::Initiative { ticks: 5 },
        ..LockstepConfig::default()
    };
    for mesh in [false, true] {
        let mut shore = Shore::new(2, mesh, 20, config.clone());
        shore.run(2000);
        assert!(shore.push(0, 1));
        let now = shore.now;
        shore.peers[0].model.end_turn(now, PlayerId(0));
        shore.run(10);
        assert!(!shore.on_the_way.is_empty(), "the turn is under way");
        shore.on_the_way.clear();
        shore.run(3000);
        let status = shore.peers[1].model.status();
        assert_eq!(status.initiative, Some(PlayerId(1)), "mesh: {mesh}");
        shore.assert_same();
        let said = shore.said;
        shore.run(60_000);
        assert!(
            shore.said < said + 200,
            "nobody nags: {}",
            shore.said - said
        );
    }
}

#[test]
fn who_asks_for_what_nobody_keeps_gets_the_whole_state() {
    let mut shore = Shore::new(2, false, 10, LockstepConfig::default());
    shore.run(2000);
    shore.push(0, 1);
    shore.peers[1].here = false;
    shore.run(30_000);
    shore.on_the_way.clear();
    shore.peers[1].here = true;
    shore.run(3000);
    shore.assert_same();
    assert_eq!(shore.peers[1].world.state().pushes, 1);
}

#[test]
fn a_slow_machine_slows_everyone_gently_or_is_sent_away() {
    let config = LockstepConfig {
        slow: SlowMachine::Drop { behind: 60 },
        ..LockstepConfig::default()
    };
    let mut shore = Shore::new(2, false, 10, config);
    shore.run(2000);
    let report = message::Report {
        tick: Tick(3),
        behind: 100,
        slack: None,
    };
    let bytes = Message::Report(report).write();
    for _ in 0..20 {
        let host = &mut shore.peers[0].model;
        host.handle_message(shore.now, PeerId(1), &bytes);
        shore.run(2);
    }
    let told = core::iter::from_fn(|| shore.peers[0].model.poll_event()).next();
    assert_eq!(
        told,
        Some(ModelEvent::TooSlow {
            peer: PeerId(1),
            ticks_behind: 100
        })
    );
}

#[test]
fn what_strangers_say_is_refused() {
    let mut shore = Shore::new(3, false, 10, LockstepConfig::default());
    shore.run(2000);
    let span = Message::Span(message::Span {
        voice: VoiceId {
            peer: PeerId(1),
            incarnation: 1,
        },
        slip: Duration::ZERO,
        from: Tick(0),
        to: Tick(4000),
        predicting: false,
        initiative: None,
        changes: Vec::new(),
        entries: message::Entries::encoded(&[]),
    });
    let bytes = span.write();
    let model = &mut shore.peers[2].model;
    model.handle_message(shore.now, PeerId(1), &bytes);
    model.handle_message(shore.now, PeerId(9), &bytes);
    model.handle_message(
        shore.now,
        PeerId(1),
        &Message::Checkpoint(&[1, 2, 3]).write(),
    );
    model.handle_message(
        shore.now,
        PeerId(1),
        &Message::Diverged {
            tick: Tick(60),
            ask: PeerId(1),
        }
        .write(),
    );
    assert_eq!(model.refused, 4);
    let Peer { model, .. } = &mut shore.peers[0];
    let mut foreign = Vec::new();
    message::write_inputs(&[(PlayerId(0), vec![vec![1, 2]])], &mut foreign);
    model.handle_message(
        shore.now,
        PeerId(1),
        &Message::Inputs(message::Entries::encoded(&foreign)).write(),
    );
    assert_eq!(model.inputs_refused, 1, "nobody acts for another's player");
}
