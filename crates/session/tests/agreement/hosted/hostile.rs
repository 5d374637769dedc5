//! Messages of hosted rooms as bytes: what is sent is what is received, and what was tampered with harms nobody.

use std::collections::BTreeSet;

use core::time::Duration;

use samestep_session::agreement::Message;
use samestep_session::wire::{decode_exact, encode_to_vec};

use super::fault::Fault;
use super::world::World;
use crate::world::Rng;

/// A room with everything going on, and all the messages in it.
fn traffic() -> (World, Vec<Message<u32>>) {
    let mut world = World::room(11, 6, 2, Fault::None);
    world.record = Some(Vec::new());
    world.ticks = true;
    world.run_for(400);
    world.with(0, |now, core| core.hand_over(now, None));
    world.run_for(600);
    (0..6).for_each(|a| world.compact(a));
    let host = world.host().unwrap_or_default();
    world.network.split(|a| u64::from(a == host));
    world.run_for(2500);
    world.join(6);
    world.network.heal();
    world.run_for(1500);
    let host = world.host().unwrap_or_default();
    world.leave(host);
    world.run_for(1500);
    assert_eq!(world.oracle.violation, None);
    let messages = world.record.take().unwrap_or_default();
    (world, messages)
}

#[test]
fn messages_are_the_same_after_encoding() {
    let (_, messages) = traffic();
    let mut kinds = BTreeSet::new();
    for message in &messages {
        let bytes = encode_to_vec(message).expect("within the bounds");
        let again: Message<u32> = decode_exact(&bytes).expect("it was encoded");
        assert_eq!(*message, again);
        let text = format!("{:?}", message.body);
        kinds.insert(text.split([' ', '(']).next().unwrap_or_default().to_owned());
    }
    for kind in ["Follow", "Tail", "Lease", "Granted", "HandOver"] {
        assert!(kinds.contains(kind), "no {kind} among {kinds:?}");
    }
}

#[test]
fn messages_that_were_tampered_with_do_not_panic() {
    let (mut world, messages) = traffic();
    let mut rng = Rng(5);
    let mut taken = 0;
    for _ in 0..20_000 {
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
        let now = world.now;
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
        core.handle_timeout(now + Duration::from_millis(700));
        while core.poll_message().is_some() {}
        while core.poll_event(now).is_some() {}
        taken += 1;
        if keeps {
            program.core = core;
        }
    }
    assert!(taken > 5_000, "{taken}");
}
