//! Using up what a room counts with.
//!
//! The attacker is anybody who comes and goes, 70,000 times: more often than there are peer ids. Each visitor may name an object before it
//! leaves. It wants the room to be full for ever.

use std::net::SocketAddr;
use std::time::Duration;

use samestep_session::{JoinTo, NetworkId, Role, Session, SessionConfig, SessionEvent, State};

const VISITS: u32 = 70_000;

fn config() -> SessionConfig {
    let mut config = SessionConfig::new("visits", 1).player("Ann");
    config.protocol = config.protocol.plain();
    config
}

fn address(of: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, of], 7777))
}

/// Hands on what each has to say until both are silent.
fn exchange(now: Duration, host: &mut Session, guest: &mut Session) {
    let mut buf = [0; 1200];
    loop {
        let mut sent = 0;
        while let Some(packet) = guest.poll_transmit(now, &mut buf) {
            host.handle_datagram(now, address(2), &mut buf[..packet.len]);
            sent += 1;
        }
        while let Some(packet) = host.poll_transmit(now, &mut buf) {
            guest.handle_datagram(now, address(1), &mut buf[..packet.len]);
            sent += 1;
        }
        if sent == 0 {
            return;
        }
    }
}

/// Somebody comes by the network, names an object now and then, and goes.
fn visit(now: &mut Duration, host: &mut Session, visit: u32) {
    let mut seed = [2; 32];
    seed[..4].copy_from_slice(&visit.to_le_bytes());
    let role = Role::Client(JoinTo::new(address(1)));
    let mut guest = Session::new(*now, config(), role, seed).unwrap();
    for _ in 0..8 {
        *now += Duration::from_millis(20);
        exchange(*now, host, &mut guest);
        guest.handle_timeout(*now);
        host.handle_timeout(*now);
        if *guest.state() == State::InSync {
            break;
        }
    }
    assert_eq!(*guest.state(), State::InSync, "visit {visit}");
    let id = guest.new_network_id(*now, 1).unwrap();
    exchange(*now, host, &mut guest);
    let named = host.room().network_objects().iter();
    assert_eq!(named.filter(|object| object.id == id).count(), 1);
    assert!(matches!(id, NetworkId::Dynamic { by, .. } if Some(by) == guest.me()));
    guest.leave(*now, "");
    exchange(*now, host, &mut guest);
    guest.hang_up(*now);
    *now += Duration::from_millis(100);
    exchange(*now, host, &mut guest);
    host.handle_timeout(*now);
}

#[test]
fn seventy_thousand_visits_do_not_fill_a_room() {
    let mut now = Duration::from_secs(1);
    let mut host = Session::new(now, config(), Role::Host, [1; 32]).unwrap();
    let mut ids = std::collections::BTreeSet::new();
    for visit in 0..VISITS {
        // All are admitted in the same way; the handshake before is that of every hundredth, and of those around where ids begin again.
        if visit % 100 == 0 || (65_500..65_600).contains(&visit) {
            self::visit(&mut now, &mut host, visit);
        } else {
            now += Duration::from_millis(1);
            host.let_in(now, visit);
            let guest = host.room().peers().last().unwrap().id;
            assert_eq!(host.room().peers().len(), 2, "visit {visit}");
            ids.insert(guest);
            host.kick(now, guest, "");
        }
        assert_eq!(host.room().peers().len(), 1, "visit {visit}");
        while let Some(event) = host.poll_event() {
            assert!(!matches!(event, SessionEvent::Left { .. }));
        }
    }
    // An id that an object is named by is not given again.
    let objects = host.room().network_objects().len();
    assert!(objects >= 790, "{objects} objects");
    assert!(ids.len() > 64_000 && ids.len() < usize::from(u16::MAX) - 600);
}

#[test]
fn objects_of_visitors_do_not_fill_a_room() {
    let mut now = Duration::from_secs(1);
    let mut host = Session::new(now, config(), Role::Host, [1; 32]).unwrap();
    // The host's own stay.
    for _ in 0..3_950 {
        assert!(host.new_network_id(now, 1).is_some());
    }
    for number in 0..150 {
        visit(&mut now, &mut host, number);
        while host.poll_event().is_some() {}
    }
    let objects = host.room().network_objects().iter();
    let own = |object: &&samestep_session::NetworkObject| matches!(object.id, NetworkId::Dynamic { by, .. } if Some(by) == host.me());
    assert_eq!((objects.len(), objects.filter(own).count()), (4_000, 3_950));
}
