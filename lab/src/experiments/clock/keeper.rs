//! A program that does nothing but keep time.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::{Machine, Transmit};
use samestep_session::PeerId;
use samestep_session::clock::{
    Clock, ClockConfig, CycleMessage, CycleServer, Exchange, MeshClock, MeshReport,
};
use samestep_wire::{Wire, decode_exact, encode_into};

/// A client, a server or a member of a mesh, that exchanges nothing but what clocks need.
pub struct Keeper {
    part: Part,
    out: VecDeque<(SocketAddr, Datagram)>,
}

enum Part {
    Server,
    Client {
        clock: Box<Clock>,
        server: SocketAddr,
    },
    Member {
        clock: Box<MeshClock>,
        peers: BTreeMap<SocketAddr, PeerId>,
        next_report: Duration,
    },
}

#[derive(Clone, Debug, Wire)]
enum Datagram {
    Cycle(CycleMessage),
    /// When it left.
    Ping(#[wire(varint)] u64),
    /// When the ping left, and when it arrived and was answered.
    Pong(#[wire(varint)] u64, #[wire(varint)] u64),
    Report(MeshReport),
}

/// How often members tell each other their offsets.
const REPORT_INTERVAL: Duration = Duration::from_millis(400);

impl Keeper {
    /// Answers with its own clock.
    pub fn server() -> Keeper {
        Keeper::new(Part::Server)
    }

    /// Follows a server's clock.
    pub fn client(now: Duration, config: &ClockConfig, server: SocketAddr) -> Keeper {
        let clock = Box::new(Clock::new(now, config));
        Keeper::new(Part::Client { clock, server })
    }

    /// Agrees on a time with peers; the first of them opens it.
    pub fn member(
        now: Duration,
        config: &ClockConfig,
        me: PeerId,
        peers: BTreeMap<SocketAddr, PeerId>,
    ) -> Keeper {
        let mut clock = Box::new(MeshClock::new(now, me, config));
        if me == PeerId(0) {
            clock.open(now);
        }
        let ids: Vec<PeerId> = peers.values().copied().collect();
        clock.set_members(now, &ids, PeerId(0));
        Keeper::new(Part::Member {
            clock,
            peers,
            next_report: now,
        })
    }

    fn new(part: Part) -> Keeper {
        Keeper {
            part,
            out: VecDeque::new(),
        }
    }

    /// The common time.
    pub fn time(&self, now: Duration) -> Option<Duration> {
        match &self.part {
            Part::Server => Some(now),
            Part::Client { clock, .. } => clock.time(now),
            Part::Member { clock, .. } => clock.time(now),
        }
    }

    /// A client's clock.
    pub fn clock(&self) -> Option<&Clock> {
        match &self.part {
            Part::Client { clock, .. } => Some(clock),
            _ => None,
        }
    }
}

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

impl Machine for Keeper {
    type Event = ();

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        let Ok(datagram) = decode_exact::<Datagram>(datagram) else {
            return;
        };
        match (datagram, &mut self.part) {
            (Datagram::Ping(sent), _) => {
                self.out
                    .push_back((from, Datagram::Pong(sent, micros(now))));
            }
            (Datagram::Pong(sent, answered), part) => {
                let answered_at = Duration::from_micros(answered);
                let exchange = Exchange {
                    sent_at: Duration::from_micros(sent),
                    received_at: answered_at,
                    answered_at,
                    returned_at: now,
                };
                match part {
                    Part::Server => {}
                    Part::Client { clock, .. } => clock.on_exchange(now, exchange),
                    Part::Member { clock, peers, .. } => {
                        if let Some(peer) = peers.get(&from) {
                            clock.on_exchange(now, *peer, exchange);
                        }
                    }
                }
            }
            (Datagram::Cycle(message), part) => {
                let answer = match part {
                    Part::Server => CycleServer.handle_cycle(now, message),
                    Part::Client { clock, .. } => clock.handle_cycle(now, message),
                    Part::Member { .. } => None,
                };
                self.out
                    .extend(answer.map(|answer| (from, Datagram::Cycle(answer))));
            }
            (Datagram::Report(report), Part::Member { clock, peers, .. }) => {
                if let Some(peer) = peers.get(&from) {
                    clock.on_report(now, *peer, &report);
                }
            }
            (Datagram::Report(_), _) => {}
        }
    }

    fn handle_timeout(&mut self, now: Duration) {
        match &mut self.part {
            Part::Server => {}
            Part::Client { clock, server } => {
                if let Some(message) = clock.poll_cycle(now) {
                    self.out.push_back((*server, Datagram::Cycle(message)));
                } else if clock.cycle().is_none() && clock.next_probe().is_some_and(|at| at <= now)
                {
                    clock.on_probe(now);
                    self.out.push_back((*server, Datagram::Ping(micros(now))));
                }
            }
            Part::Member {
                clock,
                peers,
                next_report,
            } => {
                for (address, peer) in &*peers {
                    if clock.next_probe(*peer).is_some_and(|at| at <= now) {
                        clock.on_probe(now, *peer);
                        self.out.push_back((*address, Datagram::Ping(micros(now))));
                    }
                }
                if *next_report <= now {
                    *next_report = now + REPORT_INTERVAL;
                    let report = clock.report(now);
                    let to = peers
                        .keys()
                        .map(|to| (*to, Datagram::Report(report.clone())));
                    self.out.extend(to);
                }
            }
        }
    }

    fn poll_transmit(&mut self, _now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        let (to, datagram) = self.out.pop_front()?;
        let len = encode_into(&datagram, buf).expect("reports are short enough for a packet");
        Some(Transmit { to, len })
    }

    fn poll_timeout(&mut self) -> Option<Duration> {
        match &self.part {
            Part::Server => None,
            Part::Client { clock, .. } => clock.next_probe(),
            Part::Member {
                clock,
                peers,
                next_report,
            } => {
                let probes = peers.values().filter_map(|peer| clock.next_probe(*peer));
                probes.chain([*next_report]).min()
            }
        }
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn max_packet(&self) -> usize {
        1200
    }
}
