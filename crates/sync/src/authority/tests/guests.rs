//! What those who follow see and do.

use core::time::Duration;

use super::test_network::{Signal, TestNetwork, WalkingGame};
use crate::{
    EventStage, InputKind, Model, PlayerId, Snapshot, SnapshotConfig, StateSync, StateSyncConfig,
    Tick, TimedEvent,
};

fn snapshot() -> Snapshot {
    Snapshot::new(SnapshotConfig::default()).unwrap()
}

fn state_sync() -> StateSync {
    StateSync::new(StateSyncConfig::default()).unwrap()
}

fn acknowledged<M: Model>(network: &mut TestNetwork<M>, at: usize) -> Vec<TimedEvent<Signal>> {
    let world = &mut network.peers[at].world;
    core::iter::from_fn(|| world.poll_event()).collect()
}

#[test]
fn guests_see_what_the_authority_simulates() {
    let mut network = TestNetwork::new(3, 40, &WalkingGame::new(200), snapshot);
    network.run(500);
    assert!(network.walk(1, 2, false));
    network.run(1000);
    assert!(network.walk(1, 0, true));
    network.run(1000);
    let there = network.place(0, 1);
    assert!(there > Some(100 + 110), "{there:?}");
    for at in [1, 2] {
        assert_eq!(network.place(at, 1), there);
        assert_eq!(network.drawn(at, 1), there);
        let delivered = acknowledged(&mut network, at);
        assert_eq!(delivered.len(), 1, "{delivered:?}");
        assert_eq!(
            (delivered[0].stage, delivered[0].event),
            (EventStage::Confirmed, Signal(PlayerId(1), 1))
        );
    }
    let blinking = |at: usize| network.peers[at].world.state().blinking.clone();
    assert!(blinking(1).len() == 200);
    assert_eq!(network.peers[1].model.status().refused, 0);
}

#[test]
fn one_s_own_input_takes_effect_at_once_and_nothing_is_corrected() {
    let mut network = TestNetwork::new(3, 50, &WalkingGame::new(50), state_sync);
    network.run(1000);
    let before = network.peers[1].model.status().corrections;
    let from = network.place(1, 1).unwrap();
    for step in 0..100u32 {
        let walk = if step % 10 < 5 { 3 } else { -1 };
        network.walk(1, walk, step % 10 == 3);
        network.run(20);
        if step == 1 {
            assert!(network.place(1, 1).unwrap() >= from + 3);
        }
    }
    network.walk(1, 0, false);
    network.run(500);
    assert_eq!(network.place(1, 1), network.place(0, 1));
    assert_eq!(network.place(2, 1), network.place(0, 1));
    let status = network.peers[1].model.status();
    assert_eq!(status.corrections, before, "{status:?}");
    assert!(status.lead > Duration::from_millis(50) && status.lead < Duration::from_millis(80));
    let delivered = acknowledged(&mut network, 1);
    let stages = |stage: EventStage| {
        delivered
            .iter()
            .filter(|delivered| delivered.stage == stage)
            .count()
    };
    assert_eq!(stages(EventStage::Predicted), 10);
    assert_eq!(stages(EventStage::Confirmed), 10);
    assert_eq!(stages(EventStage::Cancelled), 0);
    assert_eq!(acknowledged(&mut network, 0).len(), 10);
}

#[test]
fn loss_and_jitter_stop_nobody() {
    let mut network = TestNetwork::new(3, 50, &WalkingGame::new(300), state_sync);
    (network.loss, network.jitter_ms) = (20, 40);
    network.run(1000);
    for step in 0..150u32 {
        let walk = if step % 14 < 7 { 3 } else { -3 };
        network.walk(1, walk, step % 10 == 3);
        network.walk(2, -walk, false);
        network.run(20);
    }
    (network.loss, network.jitter_ms) = (0, 0);
    network.walk(1, 0, false);
    network.walk(2, 0, false);
    network.run(1000);
    for player in [1, 2] {
        assert_eq!(network.place(1, player), network.place(0, player));
        assert_eq!(network.place(2, player), network.place(0, player));
    }
    // Every signal came to pass once, whenever it arrived.
    let signals = network.peers[0].world.state().walker(PlayerId(1));
    assert_eq!(signals.unwrap().signals, 15);
    let confirmed = |delivered: Vec<TimedEvent<Signal>>| -> Vec<Signal> {
        let confirmed = delivered
            .iter()
            .filter(|delivered| delivered.stage == EventStage::Confirmed);
        confirmed.map(|delivered| delivered.event).collect()
    };
    let at_authority = confirmed(acknowledged(&mut network, 0));
    assert_eq!(confirmed(acknowledged(&mut network, 1)), at_authority);
    assert_eq!(confirmed(acknowledged(&mut network, 2)), at_authority);
}

#[test]
fn what_is_not_allowed_changes_nothing() {
    let mut network = TestNetwork::new(2, 10, &WalkingGame::new(0), state_sync);
    network.run(500);
    let before = network.place(0, 1);
    network.walk(1, 100, true);
    network.run(500);
    assert_eq!(network.place(0, 1), before);
    assert!(acknowledged(&mut network, 0).is_empty());
    assert!(network.peers[0].world.inputs_refused() > 0);
}

#[test]
fn nobody_acts_for_others() {
    let mut network = TestNetwork::new(3, 10, &WalkingGame::new(0), snapshot);
    network.run(500);
    let before = network.place(0, 2);
    let peer = &mut network.peers[1];
    assert!(
        !peer
            .model
            .input(network.now, PlayerId(2), &[5, 0], InputKind::Controls)
    );
    network.run(500);
    assert_eq!(network.place(0, 2), before);
}

#[test]
fn who_comes_later_is_given_what_it_may_see() {
    let mut network = TestNetwork::new(3, 30, &WalkingGame::new(100), snapshot);
    network.peers[2].here = false;
    network.pass_roster_on();
    network.run(1000);
    assert_eq!(network.place(0, 2), None);
    network.peers[2].here = true;
    network.pass_roster_on();
    network.hand_over(2);
    network.run(1000);
    assert_eq!(network.place(2, 1), network.place(0, 1));
    assert_eq!(network.place(2, 2), network.place(0, 2));
    assert!(network.peers[2].model.status().tick > Tick(100));
}

#[test]
fn what_is_hidden_is_not_there() {
    let mut game = WalkingGame::new(0);
    game.view_distance = 150;
    let mut network = TestNetwork::new(4, 20, &game, snapshot);
    network.run(500);
    network.walk(3, 1, true);
    network.run(500);
    // Walkers stand 100 apart.
    assert_eq!(network.place(1, 3), None);
    assert_eq!(network.place(1, 2), network.place(0, 2));
    assert!(acknowledged(&mut network, 1).is_empty());
    assert_eq!(acknowledged(&mut network, 0).len(), 1);
}

#[test]
fn others_are_drawn_where_they_were_and_oneself_where_one_is() {
    let mut network = TestNetwork::new(3, 50, &WalkingGame::new(0), state_sync);
    network.run(500);
    for at in [1, 2] {
        network.walk(at, 2, false);
    }
    for _ in 0..100 {
        network.run(16);
        network.drawn(1, 1);
    }
    let own = network.drawn(1, 1).unwrap() - 100;
    let other = network.drawn(1, 2).unwrap() - 200;
    let truth = network.place(0, 2).unwrap() - 200;
    // Two a tick: others about 100 ms ago, oneself more than 50 ms ahead.
    assert!((8..=16).contains(&(truth - other)), "{truth} {other}");
    assert!((4..=12).contains(&(own - truth)), "{truth} {own}");
}

#[test]
fn who_was_not_there_for_a_while_goes_on_from_what_is_right() {
    let mut network = TestNetwork::new(3, 30, &WalkingGame::new(100), state_sync);
    network.run(1000);
    network.walk(1, 2, false);
    network.run(1000);
    // A window that is hidden: nothing is done here for ten seconds.
    network.peers[1].here = false;
    network.run(10_000);
    network.peers[1].here = true;
    network.run(1000);
    network.walk(1, 0, false);
    network.run(500);
    assert_eq!(network.place(1, 1), network.place(0, 1));
    assert_eq!(network.place(2, 1), network.place(0, 1));
    let status = network.peers[1].model.status();
    assert!(status.max_rollback_depth <= 30, "{status:?}");
    assert!(status.lead < Duration::from_millis(120), "{status:?}");
}

#[test]
fn a_new_authority_goes_on_from_what_it_knows() {
    let mut network = TestNetwork::new(3, 30, &WalkingGame::new(100), state_sync);
    network.run(1000);
    network.walk(2, 2, false);
    network.run(1000);
    network.walk(2, 0, false);
    network.run(500);
    let there = network.place(0, 2);
    network.peers[0].here = false;
    network.authority = 1;
    network.pass_roster_on();
    network.run(1000);
    assert_eq!(network.place(1, 2), there);
    network.walk(2, 3, false);
    network.run(1000);
    network.walk(2, 0, false);
    network.run(500);
    assert!(network.place(1, 2) > there);
    assert_eq!(network.place(2, 2), network.place(1, 2));
}
