//! Who says what it may not changes nothing.

use samestep_wire::encode_to_vec;

use super::test_network::{TestNetwork, Walk, WalkingGame};
use crate::authority::message::{InputEntry, InputMessage, Message};
use crate::{InputKind, Model, PeerId, PlayerId, StateSync, StateSyncConfig, Tick, ViewTime};

fn network() -> TestNetwork<StateSync> {
    let model = || StateSync::new(StateSyncConfig::default()).unwrap();
    let mut network = TestNetwork::new(3, 10, &WalkingGame::new(10), model);
    network.run(500);
    network
}

/// The host receives a message that peer 1 would never send.
fn forge(network: &mut TestNetwork<StateSync>, message: InputMessage<'_>) {
    let mut bytes = Vec::new();
    Message::Inputs(message).write_to(&mut bytes);
    let now = network.now;
    network.peers[0]
        .model
        .handle_message(now, PeerId(1), &bytes);
}

fn input_message(
    network: &TestNetwork<StateSync>,
    entries: Vec<InputEntry<'_>>,
) -> InputMessage<'static> {
    let entries = entries.into_iter().map(|entry| InputEntry {
        input: entry.input.to_vec().leak(),
        ..entry
    });
    InputMessage {
        epoch: 1,
        tick: network.peers[0].model.status().tick,
        parts: None,
        events: Tick(0),
        early: 0,
        first: 0,
        entries: entries.collect(),
    }
}

#[test]
fn the_players_of_others_do_not_listen() {
    let mut network = network();
    let (tick, place) = (network.peers[0].model.status().tick, network.place(0, 2));
    let input = encode_to_vec(&Walk {
        walk: 5,
        signal: true,
    })
    .unwrap();
    let entry = InputEntry {
        kind: InputKind::Controls,
        player: PlayerId(2),
        tick: tick + 2,
        view_time: None,
        input: &input,
    };
    let forged = input_message(&network, vec![entry]);
    forge(&mut network, forged);
    network.run(300);
    assert_eq!(network.place(0, 2), place);
    assert!(network.peers[0].model.status().inputs_refused > 0);
}

#[test]
fn what_is_beyond_all_measure_is_refused() {
    let mut network = network();
    let (tick, place) = (network.peers[0].model.status().tick, network.place(0, 1));
    let fast = encode_to_vec(&Walk {
        walk: 127,
        signal: false,
    })
    .unwrap();
    let view_time = ViewTime {
        before: Tick(0),
        after: Tick(1 << 40),
        fraction: 0,
    };
    let entry = |at: u64, input| InputEntry {
        kind: InputKind::Controls,
        player: PlayerId(1),
        tick: Tick(at),
        view_time: Some(view_time),
        input,
    };
    let nonsense = [7];
    let entries = vec![
        entry(tick.0 + 1, &fast),
        entry(tick.0 + 2, &nonsense),
        entry(tick.0 + 1_000_000, &fast),
        entry(0, &[]),
    ];
    let forged = input_message(&network, entries);
    forge(&mut network, forged);
    network.run(500);
    assert_eq!(network.place(0, 1), place);
    assert_eq!(network.place(2, 1), place);
    assert!(network.peers[0].world.inputs_refused() > 0);
}

#[test]
fn numbers_out_of_turn_are_not_heard() {
    let mut network = network();
    let (tick, place) = (network.peers[0].model.status().tick, network.place(0, 1));
    let input = encode_to_vec(&Walk {
        walk: 5,
        signal: true,
    })
    .unwrap();
    let entry = InputEntry {
        kind: InputKind::Controls,
        player: PlayerId(1),
        tick: tick + 1,
        view_time: None,
        input: &input,
    };
    let mut forged = input_message(&network, vec![entry]);
    forged.first = u64::MAX;
    forged.parts = Some((u32::MAX, u128::MAX));
    forged.events = Tick(1 << 40);
    forge(&mut network, forged);
    network.run(500);
    assert_eq!(network.place(0, 1), place);
    // The forger still receives every update.
    network.walk(2, 3, true);
    network.run(300);
    network.walk(2, 0, false);
    network.run(300);
    assert_eq!(network.place(1, 2), network.place(0, 2));
}
