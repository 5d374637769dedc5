//! What those who follow see and do.

use core::time::Duration;

use super::test_network::{Shout, TestNetwork, WalkingGame};
use crate::{
    EventStage, Model, PlayerId, Snapshot, SnapshotConfig, StateSync, StateSyncConfig, Tick,
    TimedEvent,
};

fn snapshot() -> Snapshot {
    Snapshot::new(SnapshotConfig::default()).unwrap()
}

fn state_sync() -> StateSync {
    StateSync::new(StateSyncConfig::default()).unwrap()
}

fn acknowledged<M: Model>(field: &mut TestNetwork<M>, at: usize) -> Vec<TimedEvent<Shout>> {
    let world = &mut field.peers[at].world;
    core::iter::from_fn(|| world.poll_event()).collect()
}

#[test]
fn guests_see_what_the_authority_simulates() {
    let mut field = TestNetwork::new(3, 40, &WalkingGame::new(200), snapshot);
    field.run(500);
    assert!(field.walk(1, 2, false));
    field.run(1000);
    assert!(field.walk(1, 0, true));
    field.run(1000);
    let there = field.place(0, 1);
    assert!(there > Some(100 + 110), "{there:?}");
    for at in [1, 2] {
        assert_eq!(field.place(at, 1), there);
        assert_eq!(field.drawn(at, 1), there);
        let told = acknowledged(&mut field, at);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(
            (told[0].stage, told[0].event),
            (EventStage::Confirmed, Shout(PlayerId(1), 1))
        );
    }
    let flowers = |at: usize| field.peers[at].world.state().flowers.clone();
    assert!(flowers(1).len() == 200);
    assert_eq!(field.peers[1].model.status().refused, 0);
}

#[test]
fn one_s_own_input_takes_effect_at_once_and_nothing_is_corrected() {
    let mut field = TestNetwork::new(3, 50, &WalkingGame::new(50), state_sync);
    field.run(1000);
    let before = field.peers[1].model.status().corrections;
    let from = field.place(1, 1).unwrap();
    for step in 0..100u32 {
        let walk = if step % 10 < 5 { 3 } else { -1 };
        field.walk(1, walk, step % 10 == 3);
        field.run(20);
        if step == 1 {
            assert!(field.place(1, 1).unwrap() >= from + 3);
        }
    }
    field.walk(1, 0, false);
    field.run(500);
    assert_eq!(field.place(1, 1), field.place(0, 1));
    assert_eq!(field.place(2, 1), field.place(0, 1));
    let status = field.peers[1].model.status();
    assert_eq!(status.corrections, before, "{status:?}");
    assert!(status.lead > Duration::from_millis(50) && status.lead < Duration::from_millis(80));
    let told = acknowledged(&mut field, 1);
    let stages = |stage: EventStage| told.iter().filter(|told| told.stage == stage).count();
    assert_eq!(stages(EventStage::Predicted), 10);
    assert_eq!(stages(EventStage::Confirmed), 10);
    assert_eq!(stages(EventStage::Cancelled), 0);
    assert_eq!(acknowledged(&mut field, 0).len(), 10);
}

#[test]
fn loss_and_jitter_stop_nobody() {
    let mut field = TestNetwork::new(3, 50, &WalkingGame::new(300), state_sync);
    (field.loss, field.jitter_ms) = (20, 40);
    field.run(1000);
    for step in 0..150u32 {
        let walk = if step % 14 < 7 { 3 } else { -3 };
        field.walk(1, walk, step % 10 == 3);
        field.walk(2, -walk, false);
        field.run(20);
    }
    (field.loss, field.jitter_ms) = (0, 0);
    field.walk(1, 0, false);
    field.walk(2, 0, false);
    field.run(1000);
    for player in [1, 2] {
        assert_eq!(field.place(1, player), field.place(0, player));
        assert_eq!(field.place(2, player), field.place(0, player));
    }
    // Every shout came to pass once, whenever it arrived.
    let shouts = field.peers[0].world.state().walker(PlayerId(1));
    assert_eq!(shouts.unwrap().shouts, 15);
    let confirmed = |told: Vec<TimedEvent<Shout>>| -> Vec<Shout> {
        let confirmed = told
            .iter()
            .filter(|told| told.stage == EventStage::Confirmed);
        confirmed.map(|told| told.event).collect()
    };
    let at_authority = confirmed(acknowledged(&mut field, 0));
    assert_eq!(confirmed(acknowledged(&mut field, 1)), at_authority);
    assert_eq!(confirmed(acknowledged(&mut field, 2)), at_authority);
}

#[test]
fn what_is_not_allowed_changes_nothing() {
    let mut field = TestNetwork::new(2, 10, &WalkingGame::new(0), state_sync);
    field.run(500);
    let before = field.place(0, 1);
    field.walk(1, 100, true);
    field.run(500);
    assert_eq!(field.place(0, 1), before);
    assert!(acknowledged(&mut field, 0).is_empty());
    assert!(field.peers[0].world.inputs_refused() > 0);
}

#[test]
fn nobody_acts_for_others() {
    let mut field = TestNetwork::new(3, 10, &WalkingGame::new(0), snapshot);
    field.run(500);
    let before = field.place(0, 2);
    let peer = &mut field.peers[1];
    assert!(!peer.model.input(field.now, PlayerId(2), &[5, 0]));
    field.run(500);
    assert_eq!(field.place(0, 2), before);
}

#[test]
fn who_comes_later_is_given_what_it_may_see() {
    let mut field = TestNetwork::new(3, 30, &WalkingGame::new(100), snapshot);
    field.peers[2].here = false;
    field.pass_roster_on();
    field.run(1000);
    assert_eq!(field.place(0, 2), None);
    field.peers[2].here = true;
    field.pass_roster_on();
    field.hand_over(2);
    field.run(1000);
    assert_eq!(field.place(2, 1), field.place(0, 1));
    assert_eq!(field.place(2, 2), field.place(0, 2));
    assert!(field.peers[2].model.status().tick > Tick(100));
}

#[test]
fn what_is_hidden_is_not_there() {
    let mut game = WalkingGame::new(0);
    game.view_time = 150;
    let mut field = TestNetwork::new(4, 20, &game, snapshot);
    field.run(500);
    field.walk(3, 1, true);
    field.run(500);
    // Walkers stand 100 apart.
    assert_eq!(field.place(1, 3), None);
    assert_eq!(field.place(1, 2), field.place(0, 2));
    assert!(acknowledged(&mut field, 1).is_empty());
    assert_eq!(acknowledged(&mut field, 0).len(), 1);
}

#[test]
fn others_are_drawn_where_they_were_and_oneself_where_one_is() {
    let mut field = TestNetwork::new(3, 50, &WalkingGame::new(0), state_sync);
    field.run(500);
    for at in [1, 2] {
        field.walk(at, 2, false);
    }
    for _ in 0..100 {
        field.run(16);
        field.drawn(1, 1);
    }
    let own = field.drawn(1, 1).unwrap() - 100;
    let other = field.drawn(1, 2).unwrap() - 200;
    let truth = field.place(0, 2).unwrap() - 200;
    // Two a tick: others about 100 ms ago, oneself more than 50 ms ahead.
    assert!((8..=16).contains(&(truth - other)), "{truth} {other}");
    assert!((4..=12).contains(&(own - truth)), "{truth} {own}");
}

#[test]
fn who_was_not_there_for_a_while_goes_on_from_what_is_right() {
    let mut field = TestNetwork::new(3, 30, &WalkingGame::new(100), state_sync);
    field.run(1000);
    field.walk(1, 2, false);
    field.run(1000);
    // A window that is hidden: nothing is done here for ten seconds.
    field.peers[1].here = false;
    field.run(10_000);
    field.peers[1].here = true;
    field.run(1000);
    field.walk(1, 0, false);
    field.run(500);
    assert_eq!(field.place(1, 1), field.place(0, 1));
    assert_eq!(field.place(2, 1), field.place(0, 1));
    let status = field.peers[1].model.status();
    assert!(status.max_rollback_depth <= 30, "{status:?}");
    assert!(status.lead < Duration::from_millis(120), "{status:?}");
}

#[test]
fn a_new_authority_goes_on_from_what_it_knows() {
    let mut field = TestNetwork::new(3, 30, &WalkingGame::new(100), state_sync);
    field.run(1000);
    field.walk(2, 2, false);
    field.run(1000);
    field.walk(2, 0, false);
    field.run(500);
    let there = field.place(0, 2);
    field.peers[0].here = false;
    field.authority = 1;
    field.pass_roster_on();
    field.run(1000);
    assert_eq!(field.place(1, 2), there);
    field.walk(2, 3, false);
    field.run(1000);
    field.walk(2, 0, false);
    field.run(500);
    assert!(field.place(1, 2) > there);
    assert_eq!(field.place(2, 2), field.place(1, 2));
}
