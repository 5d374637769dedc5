//! The loop of a testbed: what is due happens, and the machines it happens to are driven.

use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::Machine;

use super::{Node, ReceiveTime, Scheduled, Testbed};
use crate::node::{NodeId, Pace};

/// A machine that asks to be woken this often without time passing is stuck.
const SPIN_LIMIT: u32 = 10_000;
/// A machine that emits this many datagrams in one instant is stuck.
const TRANSMIT_LIMIT: u32 = 100_000;

impl<M: Machine> Testbed<M> {
    pub(super) fn advance(&mut self) {
        let Some((at, what)) = self.agenda.pop() else {
            return;
        };
        self.now = self.now.max(at);
        match what {
            Scheduled::Arrival { from, to, bytes } => self.arrive(from, to, bytes),
            Scheduled::Deadline(id) => {
                let node = &mut self.nodes[id.index()];
                // Overtaken by an earlier one, which has seen to what comes next.
                if node.scheduled != Some(at) {
                    return;
                }
                node.scheduled = None;
                match node.on_due(self.now) {
                    true => self.touch(id),
                    false => self.schedule(id),
                }
            }
            Scheduled::Frame(id, frames) => self.frame(id, frames),
            Scheduled::Timer(key) => self.timer = Some((self.now, key)),
        }
    }

    fn arrive(&mut self, from: SocketAddr, to: SocketAddr, mut bytes: Vec<u8>) {
        let Some(&id) = self.routes.get(&to) else {
            self.unroutable += 1;
            return self.network.recycle(bytes);
        };
        let node = &mut self.nodes[id.index()];
        node.traffic.on_received(bytes.len());
        let Some(machine) = &mut node.machine else {
            return self.network.recycle(bytes);
        };
        match node.pace {
            Pace::Frames { .. } => node.socket.push_back((self.now, from, bytes)),
            Pace::Immediate => {
                machine.handle_datagram(node.clock.local(self.now), from, &mut bytes);
                self.network.recycle(bytes);
                self.touch(id);
            }
        }
    }

    fn frame(&mut self, id: NodeId, frames: u32) {
        let node = &mut self.nodes[id.index()];
        let Pace::Frames { period } = node.pace else {
            return;
        };
        if node.frames != frames {
            return;
        }
        self.agenda
            .add(self.now + period, Scheduled::Frame(id, frames));
        while let Some((arrived, from, mut bytes)) = node.socket.pop_front() {
            let read = match node.receive_time {
                ReceiveTime::Arrival => arrived,
                ReceiveTime::Reading => self.now,
            };
            let local = node.clock.local(read);
            if let Some(machine) = &mut node.machine {
                machine.handle_datagram(local, from, &mut bytes);
            }
            self.network.recycle(bytes);
        }
        node.on_due(self.now);
        self.touch(id);
    }

    pub(super) fn drive_dirty(&mut self) {
        while let Some(id) = self.dirty.pop() {
            self.nodes[id.index()].dirty = false;
            self.transmit(id);
            if let Some(machine) = &mut self.nodes[id.index()].machine {
                while let Some(event) = machine.poll_event() {
                    self.ready.push_back((self.now, id, event));
                }
            }
            self.schedule(id);
        }
    }

    fn transmit(&mut self, id: NodeId) {
        let Testbed {
            nodes,
            network,
            routes,
            agenda,
            now,
            packet,
            unroutable,
            tape,
            ..
        } = self;
        let node = &mut nodes[id.index()];
        let Some(machine) = &mut node.machine else {
            return;
        };
        let (now, local, from) = (*now, node.clock.local(*now), node.address);
        for count in 0.. {
            assert!(
                count < TRANSMIT_LIMIT,
                "{id} never stops transmitting at {now:?}"
            );
            let Some(transmit) = machine.poll_transmit(local, packet) else {
                break;
            };
            let bytes = &packet[..transmit.len];
            node.traffic.on_sent(bytes.len());
            let to = routes.get(&transmit.to).copied();
            if let Some(tape) = tape {
                tape.record(now, from, transmit.to, bytes, to.is_some());
            }
            let Some(node) = to else {
                *unroutable += 1;
                continue;
            };
            network.carry(now, (id, node), bytes, |at, bytes| {
                let to = transmit.to;
                agenda.add(at, Scheduled::Arrival { from, to, bytes });
            });
        }
    }

    /// Enters the node's next deadline unless an entry no later than it is there already.
    fn schedule(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.index()];
        node.deadline = node
            .machine
            .as_mut()
            .and_then(Machine::poll_timeout)
            .map(|local| node.clock.world(local));
        if let (Some(deadline), Pace::Immediate) = (node.deadline, node.pace) {
            let at = deadline.max(self.now);
            if node.scheduled.is_none_or(|scheduled| at < scheduled) {
                node.scheduled = Some(at);
                self.agenda.add(at, Scheduled::Deadline(id));
            }
        }
    }
}

impl<M: Machine> Node<M> {
    /// Lets the machine meet its deadline; false if that is not due yet.
    fn on_due(&mut self, now: Duration) -> bool {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return false;
        }
        let Some(machine) = &mut self.machine else {
            return false;
        };
        self.spins = if self.spun_at == now {
            self.spins + 1
        } else {
            0
        };
        self.spun_at = now;
        assert!(
            self.spins < SPIN_LIMIT,
            "{} asks again and again to be woken at {now:?}",
            self.address
        );
        machine.handle_timeout(self.clock.local(now));
        true
    }
}
