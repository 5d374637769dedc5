//! Messages as bytes: what is sent is what is received, and what was tampered with harms nobody.

use samestep_session::agreement::{
    AgreementConfig, Body, Entry, Incarnation, Message, Point, Request, Snapshot, Start, Suffix,
};
use samestep_session::wire::{decode_exact, encode_to_vec};

use crate::fault::Fault;
use crate::world::{Rng, World};

/// A room with everything going on, and all the messages in it.
fn traffic() -> (World, Vec<Message<u32>>) {
    let config = AgreementConfig {
        cuts: true,
        ..AgreementConfig::default()
    };
    let mut world = World::room(11, config, 4, Fault::None);
    world.record = Some(Vec::new());
    world.propose(1);
    world.run_for(300);
    world.compact(0);
    world.network.split(|a| u64::from(a == 0));
    world.run_for(2500);
    world.join(4);
    world.network.heal();
    world.run_for(2000);
    world.leave(2);
    world.run_for(300);
    assert_eq!(world.oracle.violation, None);
    let messages = world.record.take().unwrap_or_default();
    (world, messages)
}

#[test]
fn messages_are_the_same_after_encoding() {
    let (_, messages) = traffic();
    let mut kinds = std::collections::BTreeSet::new();
    for message in &messages {
        let bytes = encode_to_vec(message).expect("within the bounds");
        let again: Message<u32> = decode_exact(&bytes).expect("it was encoded");
        assert_eq!(*message, again);
        let text = format!("{:?}", message.body);
        kinds.insert(text.split([' ', '(']).next().unwrap_or_default().to_owned());
    }
    assert!(kinds.len() >= 17, "few kinds of messages: {kinds:?}");
}

#[test]
fn messages_that_were_tampered_with_do_not_panic() {
    let (mut world, messages) = traffic();
    let mut rng = Rng(5);
    let now = world.now;
    let mut taken = 0;
    for _ in 0..40_000 {
        let message = &messages[rng.below(messages.len() as u64) as usize];
        let mut bytes = encode_to_vec(message).expect("within the bounds");
        for _ in 0..1 + rng.below(3) {
            let bit = rng.below(bytes.len() as u64 * 8) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let Ok(tampered) = decode_exact::<Message<u32>>(&bytes) else {
            continue;
        };
        let living = world.living();
        let address = living[rng.below(living.len() as u64) as usize];
        // Now and then the victim keeps what it was told.
        let keeps = rng.percent(10);
        let Some(program) = &mut world.programs[address] else {
            continue;
        };
        let mut core = program.core.clone();
        let tampered = Message {
            room: 1,
            to: core.replica().me(),
            ..tampered
        };
        core.handle(now, tampered.from, tampered);
        core.handle_timeout(now + core::time::Duration::from_millis(700));
        while core.poll_message().is_some() {}
        while core.poll_event(now).is_some() {}
        taken += 1;
        if keeps {
            program.core = core;
        }
    }
    assert!(taken > 10_000, "{taken}");
}

#[test]
fn numbers_beyond_reason_are_dropped() {
    let world = World::room(12, AgreementConfig::default(), 3, Fault::None);
    let now = world.now;
    let (member, stranger) = (world.incarnation_at(1), Incarnation(99));
    let view = world.core(0).view().number;
    let point = Point {
        index: u64::MAX,
        ..Point::default()
    };
    let snapshot = Snapshot {
        point,
        state: Vec::new(),
    };
    let request = Request { by: member, n: 1 };
    let suffix = Suffix {
        start: Start::Snapshot(Box::new(snapshot)),
        entries: vec![Entry::Command {
            request,
            command: 1,
        }],
        decided: u64::MAX,
    };
    let learn = Body::Learn {
        slot: None,
        feed: true,
        ready: true,
    };
    let ask = Body::Request {
        first: u32::MAX,
        commands: vec![1, 2, 3],
    };
    for (from, view, decided, body) in [
        (stranger, 0, u64::MAX, learn),
        (member, view, 1, ask),
        (member, view + 1, 1, Body::CatchUp(suffix)),
    ] {
        let mut core = world.core(0).clone();
        let message = Message {
            room: 1,
            from,
            to: core.replica().me(),
            view,
            decided,
            body,
        };
        assert!(!message.is_bounded());
        core.handle(now, from, message);
        core.handle_timeout(now + core::time::Duration::from_millis(200));
        assert_eq!(core.view(), world.core(0).view());
        assert_eq!(core.replica().log(), world.core(0).replica().log());
    }
}
