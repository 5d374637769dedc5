//! What the programs of a room run on: virtual time, or sockets of this machine.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use samestep::Driver;
use samestep::netem::Path;
use samestep::transport::{Impaired, Transport, Udp};
use samestep_netem::{IP_UDP_OVERHEAD_BYTES, LinkConfig};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{Rng, Simulation};

use super::{DelayProgram, DelayRoomConfig};
use crate::real::LOCALHOST;

/// In virtual time the clocks of machines run fast or slow by up to as much, in parts per million.
const DRIFT_PPM: f64 = 30.0;
/// How often sockets are looked at.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// What a machine's clock shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeClock {
    shown_at_zero: f64,
    rate: f64,
}

/// The programs and what is between them.
pub(super) enum Network<G: Simulation, S> {
    Virtual {
        testbed: Box<Testbed<DelayProgram<G, S>>>,
        clocks: Vec<NodeClock>,
    },
    /// All on one thread; each has a socket of its own.
    Real {
        drivers: Vec<Driver<Impaired<Udp>, DelayProgram<G, S>>>,
        /// From the beginning of the room to the zero of each program's clock, in s.
        zeros: Vec<f64>,
        began: Instant,
        config: Box<(LinkConfig, u64)>,
    },
}

/// A place for a program: its address, or what it is bound to.
pub(super) enum Place {
    Node(NodeId),
    Socket(Box<Impaired<Udp>>),
}

impl<G: Simulation + Clone + 'static, S: 'static> Network<G, S> {
    pub(super) fn new(config: &DelayRoomConfig) -> Result<Network<G, S>, String> {
        if config.real {
            if !config.special.is_empty() {
                return Err("over real sockets all ways are equally slow".into());
            }
            return Ok(Network::Real {
                drivers: Vec::new(),
                zeros: Vec::new(),
                began: Instant::now(),
                config: Box::new((config.link.clone(), config.seed)),
            });
        }
        let mut testbed: Testbed<DelayProgram<G, S>> = Testbed::new(config.seed);
        testbed.set_links(config.link.clone());
        let mut rng = Rng::new(config.seed);
        let mut clocks = Vec::new();
        for _ in 0..config.players {
            let node = testbed.add_node();
            let ppm = DRIFT_PPM * (2.0 * f64::from(rng.unit()) - 1.0);
            testbed.set_drift(node, ppm);
            clocks.push(NodeClock {
                shown_at_zero: testbed.local(node).as_secs_f64(),
                rate: 1.0 + ppm * 1e-6,
            });
        }
        for (from, to, link) in &config.special {
            testbed.set_link(*from, *to, link.clone());
        }
        let testbed = Box::new(testbed);
        Ok(Network::Virtual { testbed, clocks })
    }

    /// The place of the next program, and its address.
    pub(super) fn place(&mut self, node: NodeId) -> Result<(Place, SocketAddr), String> {
        match self {
            Network::Virtual { testbed, .. } => Ok((Place::Node(node), testbed.address(node))),
            Network::Real { config, .. } => {
                let socket = Udp::bind(LOCALHOST).map_err(|error| format!("no socket: {error}"))?;
                let (link, seed) = &**config;
                // The way to another program is out of one impairment and into another.
                let mut path = Path::symmetric(link.clone());
                (path.up.latency, path.down.latency) = (link.latency / 2, link.latency / 2);
                path.down.jitter.amount = Duration::ZERO;
                path.down.loss = Default::default();
                let seed = seed.wrapping_add(u64::from(node.0));
                let socket = Impaired::new(socket, &path, seed).map_err(|e| e.to_string())?;
                let address = socket.local_addr();
                Ok((Place::Socket(Box::new(socket)), address))
            }
        }
    }

    /// Starts a program at a place.
    pub(super) fn start(
        &mut self,
        place: Place,
        make: impl FnOnce(Duration, [u8; 32]) -> DelayProgram<G, S>,
    ) {
        match (self, place) {
            (Network::Virtual { testbed, .. }, Place::Node(node)) => testbed.start(node, make),
            (
                Network::Real {
                    drivers,
                    zeros,
                    began,
                    config,
                },
                Place::Socket(socket),
            ) => {
                let now = socket.now();
                zeros.push(began.elapsed().as_secs_f64() - now.as_secs_f64());
                let mut seed = [drivers.len() as u8; 32];
                seed[..8].copy_from_slice(&config.1.to_le_bytes());
                drivers.push(Driver::over(*socket, make(now, seed)));
            }
            _ => unreachable!("a network makes places of its own kind"),
        }
    }

    /// True time since the beginning.
    pub(super) fn now(&self) -> Duration {
        match self {
            Network::Virtual { testbed, .. } => testbed.now(),
            Network::Real { began, .. } => began.elapsed(),
        }
    }

    /// Lets time pass.
    pub(super) fn run_until(&mut self, until: Duration) -> Result<(), String> {
        match self {
            Network::Virtual { testbed, .. } => {
                testbed.run_for(until.saturating_sub(testbed.now()));
            }
            Network::Real { drivers, began, .. } => loop {
                for driver in drivers.iter_mut() {
                    let now = driver.now();
                    while driver.drive(now).map_err(|e| e.to_string())?.is_some() {}
                }
                let now = began.elapsed();
                if now >= until {
                    break;
                }
                thread::sleep(LOOK_EVERY.min(until - now));
            },
        }
        Ok(())
    }

    pub(super) fn program(&self, node: NodeId) -> &DelayProgram<G, S> {
        match self {
            Network::Virtual { testbed, .. } => testbed.machine(node).expect("nobody ever stops"),
            Network::Real { drivers, .. } => drivers[usize::from(node.0)].machine(),
        }
    }

    pub(super) fn with<T>(
        &mut self,
        node: NodeId,
        act: impl FnOnce(Duration, &mut DelayProgram<G, S>) -> T,
    ) -> T {
        match self {
            Network::Virtual { testbed, .. } => testbed.with(node, act).expect("nobody ever stops"),
            Network::Real { drivers, .. } => {
                let driver = &mut drivers[usize::from(node.0)];
                act(driver.now(), driver.machine_mut())
            }
        }
    }

    /// The true time, in s, at which a program's clock shows this.
    pub(super) fn world_time(&self, node: NodeId, local: Duration) -> f64 {
        match self {
            Network::Virtual { clocks, .. } => {
                let clock = clocks[usize::from(node.0)];
                (local.as_secs_f64() - clock.shown_at_zero) / clock.rate
            }
            Network::Real { zeros, .. } => local.as_secs_f64() + zeros[usize::from(node.0)],
        }
    }

    /// Datagrams that a program has sent, and their bytes with all headers.
    pub(super) fn sent(&self, node: NodeId) -> (u64, u64) {
        if let Network::Virtual { testbed, .. } = self {
            let traffic = testbed.traffic(node);
            return (traffic.datagrams_sent, traffic.wire_bytes_sent());
        }
        let endpoint = self.program(node).game().session().endpoint();
        let stats = endpoint.connections().filter_map(|id| endpoint.stats(id));
        stats.fold((0, 0), |(packets, bytes), stats| {
            let headers = stats.packets_sent * IP_UDP_OVERHEAD_BYTES as u64;
            (
                packets + stats.packets_sent,
                bytes + stats.bytes_sent + headers,
            )
        })
    }
}
