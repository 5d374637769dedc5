//! The relay's limits, and who pays for it.

use crate::nat::NatKind::*;
use crate::world::{UNIX_S, World, ms, secret, server};
use samestep_traversal::{
    Path, Relay, RelayCommand, RelayConfig, Traversal, TraversalConfig, TraversalEvent,
};
use std::net::SocketAddr;
use std::time::Duration;

/// A client and a relay with no time between them, until the client has settled. Returns whether it was lent an address.
fn ask(
    relay: &mut Relay,
    host: SocketAddr,
    user: &str,
    unix_s: u64,
    expires: u64,
    password: Option<&str>,
) -> bool {
    let mut access = secret().issue(server(), user, expires).unwrap();
    if let Some(password) = password {
        access.password = password.to_owned();
    }
    let config = TraversalConfig {
        relay: Some(access),
        ..TraversalConfig::default()
    };
    let mut client = Traversal::new(Duration::ZERO, config, &[host], [1; 32]).unwrap();
    let (mut now, mut out, mut port) = (Duration::ZERO, [0; 2000], host.port());
    let mut ready = false;
    while !client.is_gathered() && now < ms(3000) {
        now += ms(10);
        client.handle_timeout(now);
        while let Some(transmit) = client.poll_transmit(&mut out) {
            relay.handle_client(now, unix_s, host, &out[..transmit.len]);
        }
        while let Some(command) = relay.poll_command() {
            if let RelayCommand::Open(id) = command {
                port += 1;
                relay.handle_opened(now, id, Some(port));
            }
        }
        while let Some(transmit) = relay.poll_transmit(&mut out) {
            client.handle_datagram(now, server(), &out[..transmit.len]);
        }
        while let Some(event) = client.poll_event() {
            ready |= event == TraversalEvent::RelayReady;
        }
    }
    ready
}

fn host(last: u8) -> SocketAddr {
    ([198, 51, 100, last], 5000).into()
}

#[test]
fn only_who_has_the_lobbys_leave_is_served_and_only_for_its_time() {
    let mut relay = Relay::new(RelayConfig::new(server().ip()), secret(), [9; 32]);
    assert!(ask(&mut relay, host(1), "ada", UNIX_S, UNIX_S + 60, None));
    assert!(
        !ask(&mut relay, host(2), "ada", UNIX_S, UNIX_S, None),
        "expired"
    );
    assert!(!ask(
        &mut relay,
        host(3),
        "ada",
        UNIX_S,
        UNIX_S + 60,
        Some("guess")
    ));
    let stats = relay.stats();
    assert_eq!((stats.allocations, stats.allocated), (1, 1));
    assert!(stats.unauthorised >= 2, "{stats:?}");
}

#[test]
fn a_user_has_so_many_addresses_and_all_together_so_many() {
    let config = RelayConfig {
        max_allocations: 6,
        max_allocations_per_user: 2,
        ..RelayConfig::new(server().ip())
    };
    let mut relay = Relay::new(config, secret(), [9; 32]);
    for i in 0..5 {
        assert!(ask(&mut relay, host(i), "ada", UNIX_S, UNIX_S + 60, None));
    }
    assert_eq!(relay.stats().allocations, 2, "the oldest gave way");
    for (i, user) in ["bob", "cleo", "dora", "eve"].into_iter().enumerate() {
        assert!(ask(
            &mut relay,
            host(10 + i as u8),
            user,
            UNIX_S,
            UNIX_S + 60,
            None
        ));
    }
    assert!(!ask(
        &mut relay,
        host(20),
        "finn",
        UNIX_S,
        UNIX_S + 60,
        None
    ));
    assert_eq!(relay.stats().allocations, 6);
    assert!(relay.stats().refused_full >= 1);
    // Ten minutes later all are free again.
    relay.handle_timeout(Duration::from_secs(1900));
    assert_eq!(relay.stats().allocations, 0);
}

#[test]
fn an_allocation_carries_so_much_and_no_more() {
    let mut world = World::new([Symmetric; 2], ms(50), 0.0, 1);
    world.limit_relay(RelayConfig {
        bytes_per_second: 5_000,
        ..RelayConfig::new(server().ip())
    });
    world.start();
    world.run(ms(10_000));
    let stats = world.relay.as_ref().unwrap().stats();
    assert!(stats.dropped_rate > 100, "{stats:?}");
    // Each datagram passes two allocations at most, and is counted where it leaves.
    assert!(stats.relayed_bytes <= 5_000 * 2 * 14, "{stats:?}");
}

#[test]
fn who_needs_the_relay_pays_and_nobody_else() {
    let relayed = |kinds| {
        let mut world = World::new(kinds, ms(100), 0.0, 1);
        world.start();
        world.run(ms(2000));
        let before = world.relay.as_ref().unwrap().stats().relayed_bytes;
        world.run(ms(10_000));
        let path = world.programs[0].path();
        (
            path,
            world.relay.as_ref().unwrap().stats().relayed_bytes - before,
        )
    };
    let (direct, little) = relayed([PortRestricted; 2]);
    let (over_relay, much) = relayed([Symmetric; 2]);
    println!("10 s: {little} bytes when direct, {much} when relayed");
    assert_eq!((direct, over_relay), (Path::Direct, Path::Relayed));
    // Two programs at 60 Hz with 200 bytes each.
    assert!(
        much >= 2 * 60 * 10 * 200 && little <= much / 10,
        "{little} {much}"
    );
}

#[test]
fn private_networks_behind_the_relay_are_out_of_reach() {
    // The hosts' own addresses are private ones, which each side's checks ask the relay to reach.
    let mut world = World::new([Symmetric; 2], ms(50), 0.0, 1);
    world.start();
    world.run(ms(2000));
    let mut reached = world.relay_sent_to.keys();
    assert!(!reached.any(|to| to.ip().to_string().starts_with("10.")));
    assert_eq!(world.programs[0].path(), Path::Relayed);
}

#[test]
fn strangers_get_short_answers_and_few() {
    let mut relay = Relay::new(RelayConfig::new(server().ip()), secret(), [9; 32]);
    let mut request = |kind: u16, attributes: &[u8]| {
        let mut message = kind.to_be_bytes().to_vec();
        message.extend((attributes.len() as u16).to_be_bytes());
        message.extend([0x21, 0x12, 0xa4, 0x42]);
        message.extend([5; 12]);
        message.extend(attributes);
        let (mut answers, mut longest, mut out) = (0, 0, [0; 2000]);
        let from = host((kind & 0xff) as u8);
        for _ in 0..1000 {
            relay.handle_client(ms(0), UNIX_S, from, &message);
            while let Some(transmit) = relay.poll_transmit(&mut out) {
                assert_eq!(transmit.to, from);
                answers += 1;
                longest = longest.max(transmit.len);
            }
        }
        (message.len(), answers, longest)
    };
    // Binding, and Allocate with REQUESTED-TRANSPORT and LIFETIME.
    let binding = request(0x0001, &[]);
    let udp = [0, 0x19, 0, 4, 17, 0, 0, 0, 0, 0x0d, 0, 4, 0, 0, 7, 8];
    let allocate = request(0x0003, &udp);
    println!("binding {binding:?}, allocate {allocate:?}: sent, answers, longest");
    assert!(binding.1 <= 100 && allocate.1 <= 100);
    assert!(
        binding.2 <= 32 && allocate.2 <= 92,
        "{binding:?} {allocate:?}"
    );
}
