//! The attacker comes and goes, with a new key and from a new address each time. They want to use up something that a server counts:
//! slots, ids, memory.

use std::net::SocketAddr;

use samestep_proto::{ConnectOptions, Endpoint, Event};

use crate::world::*;

/// Lets `count` visitors connect and leave, one after the other. Returns what the server holds at a tenth of them, and at the end.
fn visits(count: u32) -> [usize; 2] {
    let mut server = Endpoint::new(config().plain().accepting(8), [2; 32]).unwrap();
    let there: SocketAddr = "10.0.0.2:2000".parse().unwrap();
    let (mut now, mut buf) = (secs(1), [0; 1500]);
    let mut held = [0; 2];
    for visit in 0..count {
        let mut seed = [1; 32];
        seed[..4].copy_from_slice(&visit.to_le_bytes());
        let mut client = Endpoint::new(config().plain(), seed).unwrap();
        let here = SocketAddr::from(([10, 1, (visit >> 8) as u8, visit as u8], 7));
        let options = ConnectOptions {
            server_key: Some(server.public_key()),
            ..ConnectOptions::default()
        };
        let id = client.connect(now, there, options).unwrap();
        let mut came = false;
        for round in 0..40 {
            while let Some(packet) = client.poll_transmit(now, &mut buf) {
                server.handle_datagram(now, here, &mut buf[..packet.len]);
            }
            while let Some(packet) = server.poll_transmit(now, &mut buf) {
                client.handle_datagram(now, there, &mut buf[..packet.len]);
            }
            while let Some(event) = server.poll_event() {
                came |= matches!(event, Event::Connected { .. });
            }
            if round == 2 {
                client.close(now, id, 0, "");
            }
            now += ms(50);
            server.handle_timeout(now);
            client.handle_timeout(now);
        }
        assert!(came, "visit {visit}");
        if visit == count / 10 {
            held[0] = server.memory_bytes();
        }
    }
    held[1] = server.memory_bytes();
    assert!(server.endpoint_stats().open <= 8);
    held
}

#[test]
fn three_thousand_visits_leave_nothing_behind() {
    let [early, late] = visits(3000);
    assert!(late <= early + 20_000, "{early} bytes, then {late}");
}

#[test]
#[ignore = "takes a minute: more visits than a connection id has values"]
fn seventy_thousand_visits_leave_nothing_behind() {
    let [early, late] = visits(70_000);
    assert!(late <= early + 20_000, "{early} bytes, then {late}");
}
