//! Several programs that all reach each other: every datagram is its sender's.

use crate::world::ms;
use samestep_traversal::{
    MAX_PEERS, Path, PeerId, Received, Transmit, Traversal, TraversalConfig, TraversalError,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// Programs on one network without routers; a datagram takes 10 ms.
struct Mesh {
    now: Duration,
    programs: Vec<Traversal>,
    queue: BTreeMap<(Duration, usize), (usize, usize, Vec<u8>)>,
    /// Who heard whom, and as whom.
    heard: BTreeSet<(usize, u8, PeerId)>,
}

fn host(i: usize) -> SocketAddr {
    ([192, 168, 0, i as u8 + 1], 5000).into()
}

fn program(now: Duration, i: usize, seed: u8, count: usize) -> Traversal {
    let config = TraversalConfig::default();
    let mut program = Traversal::new(now, config, &[host(i)], [seed; 32]).unwrap();
    for peer in (0..count).filter(|peer| *peer != i) {
        program.add_peer(PeerId(peer as u32)).unwrap();
    }
    program
}

impl Mesh {
    fn new(count: usize) -> Mesh {
        let programs = (0..count)
            .map(|i| program(ms(0), i, i as u8, count))
            .collect();
        let mut mesh = Mesh {
            now: ms(0),
            programs,
            queue: BTreeMap::new(),
            heard: BTreeSet::new(),
        };
        for i in 0..count {
            mesh.introduce(i);
        }
        mesh
    }

    /// Tells all others what a program says of itself to each.
    fn introduce(&mut self, i: usize) {
        for other in (0..self.programs.len()).filter(|other| *other != i) {
            let text = self.programs[i]
                .description(PeerId(other as u32))
                .unwrap()
                .to_string();
            let now = self.now;
            let known = &mut self.programs[other];
            known
                .handle_description(now, PeerId(i as u32), &text)
                .unwrap();
        }
    }

    /// Everyone says its number to everyone, every 20 ms.
    fn run(&mut self, time: Duration) {
        let (until, mut out) = (self.now + time, [0; 1500]);
        while self.now < until {
            self.now += ms(5);
            let now = self.now;
            for (i, program) in self.programs.iter_mut().enumerate() {
                if now.as_millis().is_multiple_of(20) {
                    for peer in program.peers().collect::<Vec<_>>() {
                        program.send(now, peer, &[0x80, i as u8]).unwrap();
                    }
                }
                program.handle_timeout(now);
                while let Some(Transmit { to, len }) = program.poll_transmit(&mut out) {
                    let SocketAddr::V4(to) = to else { continue };
                    let key = (now + ms(10), self.queue.len());
                    let to = usize::from(to.ip().octets()[3]) - 1;
                    self.queue.insert(key, (i, to, out[..len].to_vec()));
                }
            }
            while let Some(entry) = self.queue.first_entry()
                && entry.key().0 <= now
            {
                let (from, to, bytes) = entry.remove();
                let received = self.programs[to].handle_datagram(now, host(from), &bytes);
                if let Received::Data { peer, range } = received {
                    self.heard.insert((to, bytes[range][1], peer));
                }
            }
        }
    }

    fn assert_all_heard(&mut self) {
        let count = self.programs.len();
        let heard = std::mem::take(&mut self.heard);
        for (_, number, peer) in &heard {
            assert_eq!(u32::from(*number), peer.0);
        }
        assert_eq!(heard.len(), count * (count - 1));
    }
}

#[test]
fn everyone_hears_everyone_as_who_they_are() {
    let mut mesh = Mesh::new(6);
    mesh.run(ms(1000));
    mesh.assert_all_heard();
    for program in &mesh.programs {
        assert!(
            program
                .peers()
                .all(|peer| program.path(peer) == Path::Direct)
        );
    }
}

#[test]
fn who_is_started_again_is_found_again() {
    let mut mesh = Mesh::new(4);
    mesh.run(ms(1000));
    // Another run of the first program: it has other names and passwords, and needs the others' descriptions.
    mesh.programs[0] = program(mesh.now, 0, 77, 4);
    mesh.queue.clear();
    for i in 0..4 {
        mesh.introduce(i);
    }
    mesh.heard.clear();
    mesh.run(ms(1000));
    mesh.assert_all_heard();
}

#[test]
fn who_was_removed_is_not_heard() {
    let mut mesh = Mesh::new(3);
    mesh.run(ms(1000));
    mesh.programs[0].remove_peer(PeerId(2));
    mesh.heard.clear();
    mesh.run(ms(500));
    assert!(
        !mesh
            .heard
            .iter()
            .any(|(to, number, _)| (*to, *number) == (0, 2))
    );
    assert_eq!(mesh.heard.iter().filter(|(to, ..)| *to == 0).count(), 1);
    let gone = mesh.programs[0].send(mesh.now, PeerId(2), b"\x80");
    assert_eq!(gone, Err(TraversalError::UnknownPeer(PeerId(2))));
}

#[test]
fn there_are_only_so_many_peers() {
    let mut program = program(ms(0), 0, 1, 1);
    for peer in 1..=MAX_PEERS as u32 {
        program.add_peer(PeerId(peer)).unwrap();
    }
    assert_eq!(
        program.add_peer(PeerId(999)),
        Err(TraversalError::TooManyPeers)
    );
    assert_eq!(
        program.add_peer(PeerId(1)),
        Err(TraversalError::PeerExists(PeerId(1)))
    );
}
