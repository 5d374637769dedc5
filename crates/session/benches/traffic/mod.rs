//! The programs of one room, joined by a network that allocates nothing.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::Machine;
use samestep_session::{JoinTo, Role};

const PACKET: usize = 1200;

/// How the programs of a room are connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topology {
    /// The first program hosts, the others are its guests.
    Hosted,
    /// Every program is connected to every other.
    Mesh,
}

struct Datagram {
    at: Duration,
    from: usize,
    to: usize,
    len: usize,
    bytes: [u8; PACKET],
}

/// Programs that share a clock, and the datagrams between them.
pub struct Traffic<P: Machine> {
    pub now: Duration,
    pub programs: Vec<P>,
    /// Time a datagram takes.
    pub latency: Duration,
    /// Fraction of datagrams lost.
    pub loss: f64,
    /// Two programs between which all are.
    pub cut: Option<[usize; 2]>,
    luck: u64,
    in_flight: VecDeque<Datagram>,
    is_message: fn(&P::Event) -> bool,
    /// Game messages that the programs have read.
    pub received: u64,
}

impl<P: Machine> Traffic<P> {
    /// Opens a room with the first program and has the others join it; `is_message` says which events are counted.
    pub fn new(
        topology: Topology,
        size: usize,
        open: impl Fn(Role, [u8; 32]) -> P,
        is_message: fn(&P::Event) -> bool,
    ) -> Self {
        let programs = (0..size).map(|at| {
            let join = JoinTo::new(address(0));
            let role = match (topology, at) {
                (Topology::Hosted, 0) => Role::Host,
                (Topology::Hosted, _) => Role::Client(join),
                (Topology::Mesh, 0) => Role::Introducer,
                (Topology::Mesh, _) => Role::Peer(join),
            };
            open(role, [at as u8 + 1; 32])
        });
        let mut traffic = Self {
            now: Duration::ZERO,
            programs: programs.collect(),
            latency: Duration::ZERO,
            loss: 0.0,
            cut: None,
            luck: 0x9e37_79b9_7f4a_7c15,
            in_flight: VecDeque::with_capacity(4096),
            is_message,
            received: 0,
        };
        traffic.pass(Duration::from_secs(5));
        traffic
    }

    /// Lets time pass: everything that is due arrives.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            for from in 0..self.programs.len() {
                self.drain(from);
            }
            let arrival = self.in_flight.front().map(|datagram| datagram.at);
            let timers = self.programs.iter_mut().map(Machine::poll_timeout);
            let next = timers.chain([arrival]).flatten().min();
            let Some(next) = next.filter(|next| *next < end) else {
                break;
            };
            self.now = self.now.max(next);
            self.deliver();
            for program in &mut self.programs {
                if program.poll_timeout().is_some_and(|at| at <= self.now) {
                    program.handle_timeout(self.now);
                }
            }
        }
        self.now = end;
    }

    fn drain(&mut self, from: usize) {
        let program = &mut self.programs[from];
        while let Some(event) = program.poll_event() {
            self.received += u64::from((self.is_message)(&event));
        }
        let mut bytes = [0; PACKET];
        while let Some(packet) = program.poll_transmit(self.now, &mut bytes) {
            self.luck = self.luck.wrapping_mul(6_364_136_223_846_793_005) + 1;
            let to = usize::from(packet.to.port());
            let is_cut = self
                .cut
                .is_some_and(|cut| cut.contains(&from) && cut.contains(&to));
            if (self.luck >> 33) as f64 / (1u64 << 31) as f64 >= self.loss && !is_cut {
                self.in_flight.push_back(Datagram {
                    at: self.now + self.latency,
                    from,
                    to,
                    len: packet.len,
                    bytes,
                });
            }
        }
    }

    fn deliver(&mut self) {
        while self.in_flight.front().is_some_and(|d| d.at <= self.now)
            && let Some(mut datagram) = self.in_flight.pop_front()
        {
            self.programs[datagram.to].handle_datagram(
                self.now,
                address(datagram.from),
                &mut datagram.bytes[..datagram.len],
            );
        }
    }
}

/// The address of a program: its port is its number.
fn address(at: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], at as u16))
}
