//! A server with a live plain connection gets arbitrary datagrams, from strangers and from its own client.
#![no_main]

#[path = "../../crates/proto/tests/pair/forge.rs"]
mod forge;

use arbitrary::Arbitrary;
use forge::{Exchange, Forger};
use libfuzzer_sys::fuzz_target;
use samestep_proto::{Config, ConnectOptions, Endpoint, Event};
use std::net::SocketAddr;
use std::time::Duration;

/// What one connection and its unread messages may take, given the limits set below.
const MEMORY: usize = 16 << 20;

#[derive(Arbitrary, Debug)]
enum Op<'a> {
    /// Anything from anywhere.
    Stranger {
        host: u8,
        bytes: &'a [u8],
    },
    /// A handshake datagram whose checksum fits.
    Handshake {
        host: u8,
        kind: u8,
        bytes: &'a [u8],
    },
    /// An authentic packet of the client with arbitrary content.
    Forged {
        host: u8,
        skip: u8,
        body: &'a [u8],
    },
    /// A packet for the connection whose checksum does not fit.
    Damaged {
        body: &'a [u8],
    },
    Wait {
        ms: u16,
    },
    Read,
}

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 7777))
}

/// A server with a connection from host 1, and what it takes to write that client's packets.
fn connected() -> (Endpoint, Forger) {
    let mut config = Config::new("fuzz", 1).plain();
    config.inbox_limit = 1 << 20;
    for channel in &mut config.channels {
        channel.max_message = 64 << 10;
        channel.queue_limit = 1 << 20;
    }
    let mut client = Endpoint::new(config.clone(), [1; 32]).expect("the settings are good");
    let mut server = Endpoint::new(config.accepting(4), [2; 32]).expect("the settings are good");
    client
        .connect(Duration::ZERO, address(200), ConnectOptions::default())
        .expect("there is room");
    let next = |endpoint: &mut Endpoint| {
        let mut buf = [0; 1200];
        let packet = endpoint.poll_transmit(Duration::ZERO, &mut buf);
        buf[..packet.expect("something to send").len].to_vec()
    };
    let mut hello = next(&mut client);
    server.handle_datagram(Duration::ZERO, address(1), &mut hello);
    let mut retry = next(&mut server);
    client.handle_datagram(Duration::ZERO, address(200), &mut retry);
    let key = server.public_key();
    let (exchange, mut connect) = Exchange::begin(&next(&mut client), key.as_bytes());
    server.handle_datagram(Duration::ZERO, address(1), &mut connect);
    let (forger, mut finish) = exchange.finish(&next(&mut server));
    server.handle_datagram(Duration::ZERO, address(1), &mut finish);
    (server, forger)
}

fuzz_target!(|ops: Vec<Op<'_>>| {
    let (mut server, mut forger) = connected();
    let mut now = Duration::ZERO;
    let mut buf = [0; 1200];
    for op in ops {
        match op {
            Op::Stranger { host, bytes } => {
                server.handle_datagram(now, address(host), &mut bytes.to_vec());
            }
            Op::Handshake { host, kind, bytes } => {
                let mut datagram = vec![kind % 7];
                datagram.extend_from_slice(b"SStp\x02");
                datagram.extend_from_slice(bytes);
                forge::close_handshake(&mut datagram);
                server.handle_datagram(now, address(host), &mut datagram);
            }
            Op::Forged { host, skip, body } => {
                forger.next += u64::from(skip >> 6);
                let mut packet = forger.packet(&body[..body.len().min(1180)]);
                server.handle_datagram(now, address(host), &mut packet);
            }
            Op::Damaged { body } => {
                let mut packet = forger.packet(body);
                forger.next -= 1;
                if let Some(last) = packet.last_mut() {
                    *last ^= 1;
                }
                server.handle_datagram(now, address(1), &mut packet);
            }
            Op::Wait { ms } => now += Duration::from_millis(u64::from(ms % 4096)),
            Op::Read => {
                while let Some(event) = server.poll_event() {
                    if let Event::Readable { id } = event {
                        while server.recv(id).is_some() {}
                    }
                }
            }
        }
        server.handle_timeout(now);
        let mut sent = 0;
        while server.poll_transmit(now, &mut buf).is_some() {
            sent += 1;
            assert!(sent < 1000, "answers come to an end");
        }
        assert!(server.memory_bytes() < MEMORY, "{}", server.memory_bytes());
    }
});
