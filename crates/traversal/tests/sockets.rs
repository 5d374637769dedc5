//! Endpoints of the game's protocol over real sockets on loopback, and a relay's.
#![cfg(feature = "transport")]

use samestep_proto::{ChannelId, Config, ConnectOptions, Endpoint, Event};
use samestep_transport::{Transport, Udp, now};
use samestep_traversal::{
    Path, PeerId, RelaySecret, RelayServer, RelayServerConfig, TraversalConfig, TraversalEvent,
    Traversed,
};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
const ORDERED: ChannelId = ChannelId(3);

struct Program {
    transport: Traversed<Udp>,
    endpoint: Endpoint,
    received: Vec<Vec<u8>>,
    connected: usize,
    closed: usize,
    relay_lost: bool,
}

impl Program {
    fn new(secret: &RelaySecret, relay: &RelayServer, number: u8) -> Program {
        let user = format!("user-{number}");
        let config = TraversalConfig {
            relay: Some(
                secret
                    .issue(relay.local_addr(), &user, u64::from(u32::MAX))
                    .unwrap(),
            ),
            ..TraversalConfig::default()
        };
        let socket = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let transport = Traversed::new(socket, config, [number; 32]).unwrap();
        let endpoint = Endpoint::new(Config::new("pong", 1).accepting(8), [number; 32]).unwrap();
        Program {
            transport,
            endpoint,
            received: vec![],
            connected: 0,
            closed: 0,
            relay_lost: false,
        }
    }

    /// What a driver does, for a moment.
    fn drive(&mut self) {
        let mut buf = [0; 1500];
        while let Some(datagram) = self.transport.recv().unwrap() {
            self.endpoint
                .handle_datagram(datagram.at, datagram.from, datagram.bytes);
        }
        self.endpoint.handle_timeout(now());
        while let Some(transmit) = self.endpoint.poll_transmit(now(), &mut buf) {
            self.transport
                .send(transmit.to, &buf[..transmit.len])
                .unwrap();
        }
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Connected { .. } => self.connected += 1,
                Event::Readable { id } => {
                    while let Some(message) = self.endpoint.recv(id) {
                        self.received.push(message.payload.to_vec());
                    }
                }
                Event::Closed { .. } => self.closed += 1,
                _ => {}
            }
        }
        while let Some(event) = self.transport.traversal().poll_event() {
            self.relay_lost |= event == TraversalEvent::RelayLost;
        }
        self.transport
            .wait(Some(now() + Duration::from_millis(2)))
            .unwrap();
    }
}

fn drive(programs: &mut [Program; 2], what: &str, done: impl Fn(&mut [Program; 2]) -> bool) {
    let until = now() + PATIENCE;
    while !done(programs) {
        programs.iter_mut().for_each(Program::drive);
        assert!(now() < until, "{what}");
    }
}

/// Two programs that have described themselves to each other, with the addresses of these kinds alone.
fn meet(relay: &RelayServer, secret: &RelaySecret, kinds: &[&str]) -> [Program; 2] {
    let mut programs = [1, 2].map(|number| Program::new(secret, relay, number));
    drive(&mut programs, "gathering", |programs| {
        programs
            .iter_mut()
            .all(|program| program.transport.traversal().is_gathered())
    });
    for program in &mut programs {
        program.transport.traversal().add_peer(PeerId(7)).unwrap();
    }
    let texts = programs.each_mut().map(|program| {
        let text = program
            .transport
            .traversal()
            .description(PeerId(7))
            .unwrap()
            .to_string();
        let words = text.split(' ').enumerate();
        let kept =
            words.filter(|(i, word)| *i < 3 || kinds.iter().any(|kind| word.starts_with(kind)));
        kept.map(|(_, word)| word).collect::<Vec<_>>().join(" ")
    });
    for (program, text) in programs.iter_mut().zip(texts.iter().rev()) {
        let traversal = program.transport.traversal();
        traversal
            .handle_description(now(), PeerId(7), text)
            .unwrap();
        traversal.set_expected(now(), PeerId(7), true);
    }
    programs
}

fn relay(secret: &RelaySecret) -> RelayServer {
    let config = RelayServerConfig::new("127.0.0.1:0".parse().unwrap());
    RelayServer::start(config, secret.clone(), [9; 32]).unwrap()
}

#[test]
fn an_endpoint_connects_to_a_peer_directly() {
    let secret = RelaySecret::new(b"a secret for this test alone").unwrap();
    let relay = relay(&secret);
    let mut programs = meet(&relay, &secret, &["host", "reflexive", "relayed"]);
    talk(&mut programs);
    drive(&mut programs, "the direct way", |programs| {
        programs
            .iter_mut()
            .all(|program| program.transport.traversal().path(PeerId(7)) == Path::Direct)
    });
    // Without the relay the connection goes on.
    drop(relay);
    drive(&mut programs, "the loss of the relay", |programs| {
        programs.iter().all(|program| program.relay_lost)
    });
    assert!(programs.iter().all(|program| program.closed == 0));
}

#[test]
fn an_endpoint_connects_to_a_peer_over_a_relay() {
    let secret = RelaySecret::new(b"a secret for this test alone").unwrap();
    let relay = relay(&secret);
    let mut programs = meet(&relay, &secret, &["relayed"]);
    talk(&mut programs);
    for program in &mut programs {
        assert_eq!(program.transport.traversal().path(PeerId(7)), Path::Relayed);
    }
    let until = now() + PATIENCE;
    while relay.stats().relayed < 10 {
        assert!(now() < until, "{:?}", relay.stats());
        programs.iter_mut().for_each(Program::drive);
    }
    // Who leaves gives back what it was lent.
    for mut program in programs {
        program.transport.traversal().close(now());
        program.transport.flush().unwrap();
    }
    while relay.stats().allocations > 0 {
        assert!(now() < until, "{:?}", relay.stats());
        std::thread::yield_now();
    }
    assert!(relay.is_running());
}

/// Connects one to the other, and sends a message of each kind of size.
fn talk(programs: &mut [Program; 2]) {
    let id = programs[0]
        .endpoint
        .connect(now(), PeerId(7).address(), ConnectOptions::default());
    let id = id.unwrap();
    drive(programs, "connecting", |programs| {
        programs.iter().all(|program| program.connected == 1)
    });
    for len in [1, 100, 5000] {
        programs[0]
            .endpoint
            .send(now(), id, ORDERED, &vec![5; len])
            .unwrap();
    }
    drive(programs, "messages", |programs| {
        programs[1].received.len() == 3
    });
    let lens: Vec<usize> = programs[1].received.iter().map(Vec::len).collect();
    assert_eq!(lens, [1, 100, 5000]);
}
