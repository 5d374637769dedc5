//! What a message costs on its way from one program's `send_bytes` to the other's event, by every route a room has.
//!
//! `cargo bench -p samestep-session --bench messages`
// A benchmark is the one place in this crate that may look at the clock.
#![allow(clippy::disallowed_methods, missing_docs)]

mod traffic;

use std::time::{Duration, Instant};

use samestep_session::{Delivery, MessageKind, PeerId, Session, SessionConfig, SessionEvent, To};
use traffic::{Topology, Traffic};

const KIND: MessageKind = MessageKind(7);
const BATCHES: u32 = 250;
/// Messages that are sent at once.
const BATCH: u32 = 8;
const ROUNDS: usize = 30;

/// A route: its name, the room, who sends, to whom, and how many programs read each message.
type Path = (&'static str, Topology, usize, To, u32);

const PATHS: [Path; 5] = [
    ("guest to host", Topology::Hosted, 1, To::Authority, 1),
    ("host to guest", Topology::Hosted, 0, To::Peer(PeerId(1)), 1),
    (
        "guest to guest",
        Topology::Hosted,
        1,
        To::Peer(PeerId(2)),
        1,
    ),
    ("guest to others", Topology::Hosted, 1, To::Others, 3),
    ("mesh, to others", Topology::Mesh, 1, To::Others, 3),
];

fn open(topology: Topology) -> Traffic<Session> {
    let mut config = SessionConfig::new("messages", 1).player("Ann");
    config.protocol = config.protocol.plain();
    Traffic::new(
        topology,
        4,
        |role, seed| {
            Session::new(Duration::ZERO, config.clone(), role, seed).expect("the settings are good")
        },
        |event| matches!(event, SessionEvent::Message { .. }),
    )
}

/// Nanoseconds per message read.
fn measure(room: &mut Traffic<Session>, path: Path, delivery: Delivery, payload: &[u8]) -> f64 {
    let (_, _, from, to, readers) = path;
    let before = room.received;
    let start = Instant::now();
    for _ in 0..BATCHES {
        for _ in 0..BATCH {
            room.programs[from]
                .send_bytes(room.now, to, delivery, KIND, payload)
                .expect("the queues are short");
        }
        room.pass(Duration::from_millis(10));
    }
    let elapsed = start.elapsed();
    let read = BATCHES * BATCH * readers;
    assert_eq!(
        room.received - before,
        u64::from(read),
        "every message arrived"
    );
    elapsed.as_nanos() as f64 / f64::from(read)
}

fn main() {
    println!(
        "ns per message sent, carried and read (best of {ROUNDS} × {})",
        BATCHES * BATCH
    );
    for path in PATHS {
        for delivery in [Delivery::Unreliable, Delivery::ReliableOrdered] {
            for bytes in [32, 1000] {
                let payload = vec![7; bytes];
                let mut room = open(path.1);
                let best = (0..ROUNDS)
                    .map(|_| measure(&mut room, path, delivery, &payload))
                    .fold(f64::INFINITY, f64::min);
                println!(
                    "{:<17}{delivery:<17?}{bytes:>5} bytes {best:>7.0} ns",
                    path.0
                );
            }
        }
    }
}
