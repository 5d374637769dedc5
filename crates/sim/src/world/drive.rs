//! The loop of a world: what is due happens, and whoever it happens to is driven.

use std::net::SocketAddr;

use super::{Happening, World};
use crate::broken::Broken;
use crate::node::{NodeId, Pace};
use crate::wake::Wake;

/// An endpoint that asks to be woken this often without time passing is stuck.
const SPIN_LIMIT: u32 = 10_000;
/// An endpoint that emits this many datagrams in one instant is stuck.
const TRANSMIT_LIMIT: u32 = 100_000;

impl World {
    pub(super) fn advance(&mut self) {
        let Some((at, what)) = self.agenda.pop() else {
            return;
        };
        self.now = self.now.max(at);
        match what {
            Happening::Arrival { from, to, bytes } => self.arrive(from, to, bytes),
            Happening::Due(id) => {
                let now = self.now;
                let node = &mut self.nodes[id.index()];
                // Overtaken by an earlier one, which has seen to what comes next.
                if node.scheduled != Some(at) {
                    return;
                }
                node.scheduled = None;
                if node.deadline.is_some_and(|deadline| deadline <= now) {
                    node.on_due(now, SPIN_LIMIT);
                    self.touch(id);
                } else {
                    self.schedule(id);
                }
            }
            Happening::Frame(id) => {
                let node = &mut self.nodes[id.index()];
                let Pace::Frames { period } = node.pace else {
                    return;
                };
                self.agenda.add(self.now + period, Happening::Frame(id));
                while let Some((at, from, mut bytes)) = node.socket.pop_front() {
                    node.endpoint.handle_datagram(at, from, &mut bytes);
                    self.network.recycle(bytes);
                }
                if node.deadline.is_some_and(|deadline| deadline <= self.now) {
                    node.on_due(self.now, SPIN_LIMIT);
                }
                self.touch(id);
            }
            Happening::Timer(key) => self.ready.push_back(Wake::Timer { at: self.now, key }),
            Happening::Attack(index) => self.strike(index),
        }
    }

    fn arrive(&mut self, from: SocketAddr, to: SocketAddr, mut bytes: Vec<u8>) {
        let Some(&id) = self.routes.get(&to) else {
            self.unroutable += 1;
            return self.network.recycle(bytes);
        };
        let node = &mut self.nodes[id.index()];
        node.traffic.on_received(bytes.len());
        let local = node.local(self.now);
        match node.pace {
            Pace::Frames { .. } => node.socket.push_back((local, from, bytes)),
            Pace::Immediate => {
                node.endpoint.handle_datagram(local, from, &mut bytes);
                self.network.recycle(bytes);
                self.touch(id);
            }
        }
    }

    fn strike(&mut self, index: usize) {
        let attack = &mut self.attacks[index];
        let Some(again) = attack.next_strike(self.now) else {
            return;
        };
        let to = self.nodes[attack.target().index()].address;
        let mut bytes = self.network.buffer();
        let from = attack.forge(self.now, &self.tape, to, &mut bytes);
        self.agenda
            .add(self.now, Happening::Arrival { from, to, bytes });
        self.agenda.add(again, Happening::Attack(index));
    }

    pub(super) fn drive_dirty(&mut self) {
        while let Some(id) = self.dirty.pop() {
            self.nodes[id.index()].dirty = false;
            self.transmit(id);
            self.nodes[id.index()].collect(self.now, id, &mut self.ready);
            self.schedule(id);
        }
    }

    fn transmit(&mut self, id: NodeId) {
        let World {
            nodes,
            network,
            routes,
            agenda,
            tape,
            attacks,
            now,
            packet,
            unroutable,
            ..
        } = self;
        let node = &mut nodes[id.index()];
        let (now, local, from) = (*now, node.local(*now), node.address);
        for count in 0.. {
            assert!(
                count < TRANSMIT_LIMIT,
                "{id} never stops transmitting at {now:?}"
            );
            let Some(transmit) = node.endpoint.poll_transmit(local, packet) else {
                break;
            };
            if node.broken.as_mut().is_some_and(Broken::swallows_datagram) {
                continue;
            }
            let bytes = &packet[..transmit.len];
            node.traffic.on_sent(bytes.len());
            tape.record(from, transmit.to, bytes);
            match routes.get(&transmit.to) {
                None => {
                    *unroutable += 1;
                    attacks
                        .iter_mut()
                        .for_each(|attack| attack.on_reply(now, from, transmit.to, bytes));
                }
                Some(&to) => network.carry(now, (id, to), bytes, |at, bytes| {
                    agenda.add(
                        at,
                        Happening::Arrival {
                            from,
                            to: transmit.to,
                            bytes,
                        },
                    );
                }),
            }
        }
    }

    /// Enters the node's next deadline unless an entry no later than it is there already.
    fn schedule(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.index()];
        node.refresh_deadline();
        if let (Some(deadline), Pace::Immediate) = (node.deadline, node.pace) {
            let at = deadline.max(self.now);
            if node.scheduled.is_none_or(|scheduled| at < scheduled) {
                node.scheduled = Some(at);
                self.agenda.add(at, Happening::Due(id));
            }
        }
    }
}
