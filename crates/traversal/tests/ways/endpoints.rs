//! The game's protocol over ways that change: it notices nothing.

use crate::nat::NatKind::*;
use crate::world::{World, ms};
use samestep_proto::{ChannelId, Config, ConnectOptions, ConnectionId, Endpoint, Event};
use samestep_traversal::{Path, PeerId, Traversal};
use std::time::Duration;

const ORDERED: ChannelId = ChannelId(3);

/// An endpoint that sends the time in every frame, reliably and in order.
pub struct Talk {
    endpoint: Endpoint,
    connection: Option<ConnectionId>,
    /// When a message came, and when it was sent.
    pub received: Vec<(Duration, Duration)>,
    pub closed: bool,
}

impl Talk {
    fn new(number: u8) -> Talk {
        let endpoint = Endpoint::new(Config::new("pong", 1).accepting(8), [number; 32]).unwrap();
        Talk {
            endpoint,
            connection: None,
            received: vec![],
            closed: false,
        }
    }

    pub fn on_frame(&mut self, now: Duration) {
        if let Some(id) = self.connection {
            let time = (now.as_nanos() as u64).to_be_bytes();
            // Before it is connected, and while the window is full, it cannot.
            let _ = self.endpoint.send(now, id, ORDERED, &time);
        }
    }

    pub fn take(&mut self, now: Duration, peer: PeerId, datagram: &mut [u8]) {
        self.endpoint.handle_datagram(now, peer.address(), datagram);
    }

    pub fn poll_timeout(&mut self) -> Option<Duration> {
        self.endpoint.poll_timeout()
    }

    pub fn drive(&mut self, now: Duration, traversal: &mut Traversal) {
        if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
        }
        let mut buf = [0; 1500];
        while let Some(transmit) = self.endpoint.poll_transmit(now, &mut buf) {
            let peer = PeerId::from_address(transmit.to).expect("peers alone are known here");
            traversal.send(now, peer, &buf[..transmit.len]).unwrap();
        }
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Connected { id, .. } => self.connection = Some(id),
                Event::Readable { id } => {
                    while let Some(message) = self.endpoint.recv(id) {
                        let sent = u64::from_be_bytes(message.payload[..8].try_into().unwrap());
                        self.received.push((now, Duration::from_nanos(sent)));
                    }
                }
                Event::Closed { .. } => self.closed = true,
                _ => {}
            }
        }
    }
}

#[test]
fn a_connection_outlives_every_change_of_the_way() {
    for seed in 0..5 {
        let mut world = World::new([Restricted, PortRestricted], ms(100), 0.01, seed);
        for (number, program) in world.programs.iter_mut().enumerate() {
            program.talk = Some(Talk::new(number as u8 + 1));
        }
        let start = world.start();
        let (now, first) = (world.now, &mut world.programs[0]);
        let talk = first.talk.as_mut().unwrap();
        let address = first.peer.address();
        talk.endpoint
            .connect(now, address, ConnectOptions::default())
            .unwrap();
        world.run(ms(3000));
        world.cut = true;
        world.run(ms(3000));
        assert_eq!(world.programs[0].path(), Path::Relayed);
        world.cut = false;
        world.run(ms(6000));
        for program in &world.programs {
            assert_eq!(program.path(), Path::Direct);
            let talk = program.talk.as_ref().unwrap();
            assert!(!talk.closed);
            let connected = talk.received.first().unwrap().1 - start;
            assert!(connected <= ms(1000), "{connected:?}");
            // Sixty messages a second, every one, in order.
            let sent: Vec<Duration> = talk.received.iter().map(|(_, sent)| *sent).collect();
            assert!(
                sent.windows(2)
                    .all(|pair| pair[0] < pair[1] && pair[1] - pair[0] <= ms(17))
            );
            assert!(sent.len() >= 60 * 10, "{}", sent.len());
            let latest = talk
                .received
                .iter()
                .map(|(came, sent)| *came - *sent)
                .max()
                .unwrap();
            println!(
                "seed {seed}: {} messages, the latest after {latest:?}",
                sent.len()
            );
            assert!(latest <= ms(800), "{latest:?}");
        }
    }
}
