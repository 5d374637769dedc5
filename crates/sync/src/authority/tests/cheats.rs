//! Who says what it may not changes nothing.

use samestep_wire::encode_to_vec;

use super::test_network::{TestNetwork, Walk, WalkingGame};
use crate::authority::message::{InputEntry, InputMessage, Message};
use crate::{Model, PeerId, PlayerId, StateSync, StateSyncConfig, Tick, ViewTime};

fn field() -> TestNetwork<StateSync> {
    let model = || StateSync::new(StateSyncConfig::default()).unwrap();
    let mut field = TestNetwork::new(3, 10, &WalkingGame::new(10), model);
    field.run(500);
    field
}

/// Has the host hear what peer 1 never said by itself.
fn forge(field: &mut TestNetwork<StateSync>, said: InputMessage<'_>) {
    let mut bytes = Vec::new();
    Message::Inputs(said).write_to(&mut bytes);
    let now = field.now;
    field.peers[0].model.handle_message(now, PeerId(1), &bytes);
}

fn said(field: &TestNetwork<StateSync>, entries: Vec<InputEntry<'_>>) -> InputMessage<'static> {
    let entries = entries.into_iter().map(|entry| InputEntry {
        input: entry.input.to_vec().leak(),
        ..entry
    });
    InputMessage {
        epoch: 1,
        tick: field.peers[0].model.status().tick,
        parts: None,
        events: Tick(0),
        first: 0,
        entries: entries.collect(),
    }
}

#[test]
fn the_players_of_others_do_not_listen() {
    let mut field = field();
    let (tick, place) = (field.peers[0].model.status().tick, field.place(0, 2));
    let input = encode_to_vec(&Walk {
        walk: 5,
        shout: true,
    })
    .unwrap();
    let entry = InputEntry {
        player: PlayerId(2),
        tick: tick + 2,
        view_time: None,
        input: &input,
    };
    let forged = said(&field, vec![entry]);
    forge(&mut field, forged);
    field.run(300);
    assert_eq!(field.place(0, 2), place);
    assert!(field.peers[0].model.status().inputs_refused > 0);
}

#[test]
fn what_is_beyond_all_measure_is_refused() {
    let mut field = field();
    let (tick, place) = (field.peers[0].model.status().tick, field.place(0, 1));
    let fast = encode_to_vec(&Walk {
        walk: 127,
        shout: false,
    })
    .unwrap();
    let view_time = ViewTime {
        before: Tick(0),
        after: Tick(u64::MAX),
        fraction: 0,
    };
    let entry = |at: u64, input| InputEntry {
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
    let forged = said(&field, entries);
    forge(&mut field, forged);
    field.run(500);
    assert_eq!(field.place(0, 1), place);
    assert_eq!(field.place(2, 1), place);
    assert!(field.peers[0].world.inputs_refused() > 0);
}

#[test]
fn numbers_out_of_turn_are_not_heard() {
    let mut field = field();
    let (tick, place) = (field.peers[0].model.status().tick, field.place(0, 1));
    let input = encode_to_vec(&Walk {
        walk: 5,
        shout: true,
    })
    .unwrap();
    let entry = InputEntry {
        player: PlayerId(1),
        tick: tick + 1,
        view_time: None,
        input: &input,
    };
    let mut forged = said(&field, vec![entry]);
    forged.first = u64::MAX;
    forged.parts = Some((u32::MAX, u128::MAX));
    forged.events = Tick(1 << 40);
    forge(&mut field, forged);
    field.run(500);
    assert_eq!(field.place(0, 1), place);
    // And who said it is told of everything all the same.
    field.walk(2, 3, true);
    field.run(300);
    field.walk(2, 0, false);
    field.run(300);
    assert_eq!(field.place(1, 2), field.place(0, 2));
}
