//! What strangers send changes nothing.

use crate::nat::NatKind::*;
use crate::world::{World, addr, ms, server};
use samestep_netem::Rng;
use samestep_traversal::{Path, PeerId, Received, TraversalEvent};

/// A check of ICE as the wire has it, with attributes but no right signature.
fn forged_check(kind: u16, name: &str, transaction: [u8; 12]) -> Vec<u8> {
    let mut message = Vec::new();
    message.extend(kind.to_be_bytes());
    message.extend([0, 0, 0x21, 0x12, 0xa4, 0x42]);
    message.extend(transaction);
    let mut attribute = |number: u16, value: &[u8]| {
        message.extend(number.to_be_bytes());
        message.extend((value.len() as u16).to_be_bytes());
        message.extend(value);
        while message.len() % 4 != 0 {
            message.push(0);
        }
    };
    attribute(0x0006, name.as_bytes());
    attribute(0x0024, &[0x6e, 0xff, 0xff, 0xff]);
    attribute(0x0025, &[]);
    attribute(0x8029, &[1; 8]);
    attribute(0x0020, &[0, 1, 1, 1, 2, 2, 2, 2]);
    attribute(0x0008, &[7; 20]);
    let len = (message.len() - 20) as u16;
    message[2..4].copy_from_slice(&len.to_be_bytes());
    message
}

#[test]
fn forged_checks_change_no_path() {
    let mut world = World::new([FullCone, PortRestricted], ms(100), 0.0, 1);
    world.start();
    world.run(ms(2000));
    let before = world.now;
    let names: Vec<String> = world
        .programs
        .iter()
        .map(|program| {
            let text = program
                .traversal
                .description(program.peer)
                .unwrap()
                .to_string();
            text.split(' ').nth(1).unwrap().to_owned()
        })
        .collect();
    let sent = world.programs[0].traversal.stats().sent_checks;
    let mut rng = Rng::new(5);
    for i in 0..2000_u32 {
        let mut transaction = [0; 12];
        rng.fill(&mut transaction);
        // Requests, answers and errors; from strangers, from the peer's address and from the relay's.
        let kind = [0x0001, 0x0101, 0x0111, 0x0113][i as usize % 4];
        let name = format!("{}:{}", names[0], names[1]);
        let check = forged_check(kind, &name, transaction);
        let from = [addr("198.51.100.66:6"), addr("192.0.2.2:5000"), server()][i as usize % 3];
        let now = world.now;
        world.programs[0].take(now, from, &check);
        if i % 100 == 0 {
            world.run(ms(20));
        }
    }
    let stats = world.programs[0].traversal.stats();
    assert!(stats.ignored >= 1900, "{stats:?}");
    assert!(stats.sent_checks - sent < 50, "no answers: {stats:?}");
    world.run(ms(500));
    let program = &world.programs[0];
    assert_eq!(program.path(), Path::Direct);
    assert!(!program.events.iter().any(|(at, event)| {
        *at > before
            && matches!(
                event,
                TraversalEvent::PathChanged { .. } | TraversalEvent::Lost { .. }
            )
    }));
    assert!(program.gap(before, world.now) <= ms(17));
}

#[test]
fn a_recorded_check_from_elsewhere_moves_nothing() {
    let mut world = World::new([FullCone, FullCone], ms(100), 0.0, 1);
    let start = world.start();
    world.run(ms(2000));
    // The attacker sees all that B's router sends, and repeats it from its own address.
    let captured = world.capture(ms(3000));
    assert!(
        captured.iter().any(|bytes| bytes[0] == 0),
        "checks among it"
    );
    let attacker = addr("198.51.100.66:6");
    for bytes in captured {
        let now = world.now;
        world.programs[0].take(now, attacker, &bytes);
    }
    world.run(ms(1000));
    let program = &world.programs[0];
    assert_eq!(program.path(), Path::Direct);
    assert!(program.gap(start + ms(500), world.now) <= ms(17));
    let sent_there = world.sent_to.get(&attacker).copied().unwrap_or_default();
    // Each repeated check is answered, and tried back, as ICE has it; the game's datagrams never go there.
    assert_eq!(sent_there.1, 0, "{sent_there:?}");
}

#[test]
fn garbage_never_panics_and_never_reaches_a_peers_name() {
    let mut world = World::new([FullCone, PortRestricted], ms(100), 0.0, 1);
    world.start();
    world.run(ms(2000));
    // Whole checks are authentic wherever they come from; the test before is about them.
    let mut captured = world.capture(ms(200));
    captured.retain(|bytes| bytes[0] >= 0x40);
    let mut rng = Rng::new(7);
    let relay_peer = addr("203.0.113.5:49153");
    for i in 0..60_000 {
        let mut bytes = match i % 3 {
            0 => captured[rng.range(0..captured.len() as u64) as usize].clone(),
            1 => forged_check(rng.next_u32() as u16 & 0x3fff, "a:b", [3; 12]),
            _ => vec![0; rng.range(0..100) as usize],
        };
        if i % 3 == 2 {
            rng.fill(&mut bytes);
        }
        for _ in 0..rng.range(1..5) {
            if !bytes.is_empty() {
                let at = rng.range(0..bytes.len() as u64) as usize;
                bytes[at] = rng.next_u32() as u8;
            }
        }
        let cut = rng.range(0..bytes.len() as u64 + 1) as usize;
        let bytes = if i % 5 == 0 {
            &bytes[..cut]
        } else {
            &bytes[..]
        };
        let from = [addr("198.51.100.66:6"), server(), relay_peer][i % 3];
        let now = world.now;
        let traversal = &mut world.programs[0].traversal;
        let received = traversal.handle_datagram(now, from, bytes);
        if from == addr("198.51.100.66:6") {
            assert!(!matches!(received, Received::Data { .. }));
        }
        let relay = world.relay.as_mut().unwrap();
        relay.handle_client(now, crate::world::UNIX_S, from, bytes);
        if i % 1000 == 0 {
            world.run(ms(5));
        }
    }
    world.run(ms(1000));
    assert_eq!(world.programs[0].path(), Path::Direct);
}

#[test]
fn the_address_of_a_peer_does_not_travel() {
    let mut world = World::new([FullCone, PortRestricted], ms(100), 0.0, 1);
    world.start();
    world.run(ms(1000));
    let now = world.now;
    let traversal = &mut world.programs[0].traversal;
    let forged = traversal.handle_datagram(now, PeerId(1).address(), &[0x80; 30]);
    assert_eq!(forged, Received::Consumed);
    let unknown = traversal.handle_datagram(now, addr("198.51.100.66:6"), &[0x80; 30]);
    assert_eq!(unknown, Received::Stranger);
}

#[test]
fn a_peer_cannot_have_the_game_sent_to_somebody_else() {
    let mut world = World::new([FullCone, FullCone], ms(100), 0.0, 1);
    // The second program names an address that is not its own, and sends nothing.
    let victim = addr("198.51.100.77:7");
    world.names = Some(format!("host={victim} reflexive={victim} relayed={victim}"));
    world.start();
    world.run(ms(60_000));
    let sent = world
        .relay_sent_to
        .get(&victim)
        .copied()
        .unwrap_or_default();
    let (checks, game) = world.sent_to.get(&victim).copied().unwrap_or_default();
    println!("to a victim in a minute: {checks} checks, {sent} datagrams by the relay");
    assert_eq!(game, 0);
    // Three seconds of the game, and checks both ways.
    assert!(sent <= 60 * 3 + 300 && checks <= 300, "{checks} {sent}");
}
