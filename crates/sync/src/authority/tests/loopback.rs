//! Who plays at an authority with an update window sees what a client in its place would.

use core::time::Duration;

use super::test_network::{Signal, TestNetwork, WalkingGame};
use crate::test_room::TestPeer;
use crate::{
    EventStage, Model, PlayerId, Rewind, Rng, Snapshot, StateSync, Switch, TimedEvent, World,
};

/// A game in which nobody sees farther than this. The players stand 100 apart.
fn foggy(view_distance: i32) -> WalkingGame {
    WalkingGame {
        view_distance,
        ..WalkingGame::new(0)
    }
}

fn has_loopback<M: Model>(network: &mut TestNetwork<M>) -> bool {
    let mut has = false;
    let world = &mut network.peers[0].world;
    world.with_loopback(&mut |_| has = true);
    has
}

fn delivered<M: Model>(network: &mut TestNetwork<M>, at: usize) -> Vec<TimedEvent<Signal>> {
    let world = &mut network.peers[at].world;
    core::iter::from_fn(|| world.poll_event()).collect()
}

#[test]
fn only_who_is_hidden_something_from_has_one() {
    for (view_distance, expected) in [(0, false), (150, true)] {
        let mut network = TestNetwork::new(3, 50, &foggy(view_distance), Rewind::default);
        network.run(2000);
        assert_eq!(has_loopback(&mut network), expected, "{view_distance}");
    }
}

#[test]
fn the_hosting_player_does_not_see_who_is_hidden_from_it() {
    let mut network = TestNetwork::new(3, 50, &foggy(150), Rewind::default);
    network.run(2000);
    network.walk(1, 1, false);
    network.walk(2, 5, false);
    network.run(500);
    network.walk(1, 0, false);
    network.walk(2, 0, false);
    network.run(500);
    assert_eq!(network.drawn(0, 1), network.place(0, 1));
    // The rules assume that every player begins somewhere, and where this one went is known to the authority alone.
    assert_eq!(network.drawn(0, 2), Some(200));
    assert!(network.place(0, 2) > Some(300));
    network.walk(2, -5, false);
    network.run(1000);
    network.walk(2, 0, false);
    network.run(500);
    assert_eq!(network.drawn(0, 2), network.place(0, 2));
}

#[test]
fn what_the_hosting_player_does_is_shown_in_the_next_tick() {
    let mut network = TestNetwork::new(3, 50, &foggy(150), Rewind::default);
    network.run(5000);
    for _ in 0..20 {
        let before = network.drawn(0, 0).unwrap();
        network.walk(0, 5, false);
        network.run(50);
        let after = network.drawn(0, 0).unwrap();
        assert!(after > before, "{before} {after}");
        network.walk(0, 0, false);
        network.run(300);
        assert_eq!(network.drawn(0, 0), network.place(0, 0));
    }
    let status = network.peers[0].model.status();
    assert_eq!((status.inputs_too_late, status.inputs_refused), (0, 0));
}

#[test]
fn a_remote_player_is_seen_as_late_as_by_a_client_without_latency() {
    let mut network = TestNetwork::new(3, 60, &foggy(150), Rewind::default);
    network.run(5000);
    assert!(has_loopback(&mut network));
    let before = network.place(0, 1).unwrap();
    network.walk(1, 5, false);
    // The authority places the input in its own tick, and tells of that tick: nothing of it is seen before it has come, and all of it at once then.
    let mut seen_at = None;
    for ms in 0..200 {
        network.run(1);
        if seen_at.is_none() && network.drawn(0, 1) != Some(before) {
            seen_at = Some(ms);
        }
    }
    let seen_at = seen_at.expect("it is seen");
    assert!((60..=160).contains(&seen_at), "{seen_at} ms");
}

#[test]
fn nothing_that_anybody_was_told_changes_with_a_client_at_the_authority() {
    let mut network = TestNetwork::new(4, 30, &foggy(250), Rewind::default);
    (network.loss, network.jitter_ms) = (5, 40);
    let mut rng = Rng::new(4);
    for _ in 0..600 {
        let at = rng.below(4) as usize;
        network.walk(at, rng.below(7) as i8 - 3, false);
        network.run(u64::from(rng.below(40)));
    }
    assert!(has_loopback(&mut network));
    let rewound = network.peers[0].model.rewound();
    assert!(rewound.rewinds > 100, "{rewound:?}");
    assert_eq!(rewound.after_told, 0, "{rewound:?}");
    let status = network.peers[0].model.status();
    assert_eq!(status.max_rollback_depth, rewound.deepest);
    assert!((1..=7).contains(&rewound.deepest), "{rewound:?}");
}

#[test]
fn each_event_is_told_once_and_only_to_whom_it_may_be_told() {
    let mut network = TestNetwork::new(3, 40, &foggy(150), Rewind::default);
    (network.loss, network.jitter_ms) = (5, 20);
    network.run(1000);
    let mut events = Vec::new();
    for _ in 0..40 {
        network.walk(0, 1, true);
        network.walk(1, 1, true);
        network.run(90);
        events.extend(delivered(&mut network, 0));
    }
    network.run(2000);
    events.extend(delivered(&mut network, 0));
    let own = PlayerId(0);
    let signals = network.peers[0].world.state().walker(own).unwrap().signals;
    assert_eq!(signals, 40);
    let with = |stage| events.iter().filter(move |event| event.stage == stage);
    // The rules let nobody perceive what others signal.
    let confirmed: Vec<Signal> = with(EventStage::Confirmed).map(|of| of.event).collect();
    let all: Vec<Signal> = (1..=40).map(|count| Signal(own, count)).collect();
    assert_eq!(confirmed, all);
    assert!(with(EventStage::Predicted).any(|of| of.event.0 == own));
    let open = with(EventStage::Predicted).count();
    let resolved = events.iter().filter(|of| of.predicted.is_some()).count();
    assert_eq!(resolved, 2 * open, "each prediction is resolved once");
}

#[test]
fn a_state_that_is_given_to_all_anew_reaches_the_players_here_too() {
    let mut network = TestNetwork::new(3, 30, &foggy(150), Rewind::default);
    network.run(3000);
    network.walk(0, 1, false);
    network.run(500);
    let now = network.now;
    let TestPeer { model, world, .. } = &mut network.peers[0];
    model.send_state_to_all(now, world);
    network.run(1000);
    network.walk(0, 0, false);
    network.run(500);
    assert!(has_loopback(&mut network));
    assert_eq!(network.drawn(0, 0), network.place(0, 0));
    assert_eq!(network.place(1, 0), network.place(0, 0));
    let takes_input = network.peers[0].model.status().takes_input_at.unwrap();
    assert!(takes_input <= network.now + Duration::from_millis(17));
}

#[test]
fn it_comes_and_goes_with_the_model() {
    let kinds = [StateSync::KIND, Rewind::KIND, Snapshot::KIND];
    let choices = || Switch::new(kinds.map(|kind| kind.config()).to_vec()).unwrap();
    let mut network = TestNetwork::new(3, 40, &foggy(150), choices);
    network.run(2000);
    network.walk(2, 5, false);
    network.run(1000);
    network.walk(2, 0, false);
    network.run(500);
    let mut events = Vec::new();
    let mut signals = 0;
    for (choice, kind) in [
        (1, "rewind"),
        (2, "snapshot"),
        (1, "rewind"),
        (0, "state-sync"),
    ] {
        let now = network.now;
        assert!(network.peers[0].model.to(now, choice), "{kind}");
        // The one who plays at the authority does not wait for the change.
        for _ in 0..20 {
            network.walk(0, 1, true);
            network.run(100);
            network.walk(0, -1, false);
            network.run(100);
            events.extend(delivered(&mut network, 0));
            signals += 1;
        }
        network.walk(0, 0, false);
        network.run(1000);
        events.extend(delivered(&mut network, 0));
        assert_eq!(network.peers[0].model.current(), choice, "{kind}");
        assert_eq!(has_loopback(&mut network), choice == 1, "{kind}");
        assert_eq!(network.drawn(0, 0), network.place(0, 0), "{kind}");
        assert_eq!(network.place(1, 0), network.place(0, 0), "{kind}");
        if choice == 1 {
            assert_ne!(network.drawn(0, 2), network.place(0, 2), "{kind}: hidden");
        }
    }
    let own = PlayerId(0);
    let counted = network.peers[0].world.state().walker(own).unwrap();
    assert_eq!(counted.signals, signals);
    let confirmed = events.iter().filter(|of| of.stage == EventStage::Confirmed);
    let confirmed: Vec<Signal> = confirmed.map(|of| of.event).collect();
    let all: Vec<Signal> = (1..=signals).map(|count| Signal(own, count)).collect();
    assert_eq!(confirmed, all, "each counts once, in order");
}
