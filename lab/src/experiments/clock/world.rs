//! Sessions in virtual time that do nothing but keep time.

use std::time::Duration;

use samestep_netem::{LinkConfig, Path, Rng};
use samestep_proto::Machine;
use samestep_session::{JoinTo, Role, Session, SessionConfig};
use samestep_sim::{NodeId, Pace, ReceiveTime, Testbed};

use super::cycles::{CycleConfig, CycleProgram};
use super::trace::ClockTrace;

/// A client and a server.
pub struct Duo {
    /// The path between them.
    pub path: Path,
    /// Added to the way to the server, and to the way back, from the middle of the run on.
    pub step: (Duration, Duration),
    /// How much faster the client's clock runs.
    pub drift_ppm: f64,
    /// Time between two cycles; what is measured once a cycle is measured this often.
    pub interval: Duration,
    /// How long.
    pub length: Duration,
}

/// How often the truth is compared.
const LOOK: Duration = Duration::from_millis(20);
/// How often the frames of a game that polls lose their step: real ones are of uneven length, and no two games stay in phase.
const HITCH: Duration = Duration::from_millis(200);
/// Clocks show anything up to this at the beginning.
const OFFSETS: Duration = Duration::from_secs(36_000);

impl Duo {
    /// Runs it with the session's own clock, both programs reading on arrival.
    pub fn run_ours(&self, seed: u64) -> ClockTrace {
        let (mut testbed, [server, client]) = self.testbed(seed);
        start(&mut testbed, server, Role::Host);
        let to = JoinTo::new(testbed.address(server));
        start(&mut testbed, client, Role::Client(to));
        let mut trace = ClockTrace::default();
        let mut next_cycle = Duration::ZERO;
        while testbed.now() < self.length {
            let at = testbed.now();
            while testbed.next(at + LOOK).is_some() {}
            let joined = testbed.machine(client).is_some_and(|c| c.me().is_some());
            let time = |node| testbed.machine(node)?.time(testbed.local(node));
            trace.compare(testbed.now(), joined, time(server), time(client));
            let clock = testbed.machine(client).and_then(Session::clock);
            if let Some(clock) = clock.filter(|_| at >= next_cycle) {
                next_cycle = at + self.interval;
                let difference = clock.difference(testbed.local(client));
                trace.differences.push(difference * 1e3);
            }
        }
        trace
    }

    /// Runs it with published cycles, both programs reading once a frame.
    pub fn run_published(&self, cycles: &CycleConfig, seed: u64) -> ClockTrace {
        let (mut testbed, [server, client]) = self.testbed(seed);
        let epoch = testbed.local(server);
        let to = JoinTo::new(testbed.address(server));
        for (node, role) in [(server, Role::Host), (client, Role::Client(to))] {
            testbed.start(node, |now, seed| {
                CycleProgram::new(now, settings(), cycles, role, epoch, seed)
            });
        }
        let mut trace = ClockTrace::default();
        let (mut answered, mut next_hitch, mut next_cycle) = (0, Duration::ZERO, Duration::ZERO);
        while testbed.now() < self.length {
            let at = testbed.now();
            if at >= next_hitch {
                next_hitch = at + HITCH;
                for node in [server, client] {
                    let period = cycles.poll;
                    testbed.set_pace(node, Pace::Frames { period }, ReceiveTime::Reading);
                }
            }
            while testbed.next(at + LOOK).is_some() {}
            let program = |node| testbed.machine(node).expect("both run");
            let joined = program(client).session().me().is_some();
            let time = |node| program(node).time(testbed.local(node));
            trace.compare(testbed.now(), joined, time(server), time(client));
            match program(client).last_cycle() {
                Some(cycle) if cycle.number >= answered => {
                    answered = cycle.number + 1;
                    let difference = if cycle.applied { cycle.difference } else { 0.0 };
                    trace.differences.push(difference * 1e3);
                    trace.round_trips.push(cycle.rtt.as_secs_f64() * 1e3);
                }
                // Until the first answer there is nothing to correct.
                None if at >= next_cycle => {
                    next_cycle = at + self.interval;
                    trace.differences.push(0.0);
                }
                _ => {}
            }
        }
        trace
    }

    /// The server and the client, with their clocks and what lies between them.
    fn testbed<M: Machine>(&self, seed: u64) -> (Testbed<M>, [NodeId; 2]) {
        let mut rng = Rng::stream(seed, 1);
        let mut testbed = Testbed::new(rng.next_u64());
        let [server, client] = [testbed.add_node(), testbed.add_node()];
        for node in [server, client] {
            testbed.set_clock(node, OFFSETS.mul_f64(rng.f64()));
        }
        testbed.set_drift(client, self.drift_ppm);
        let middle = self.length / 2;
        testbed.set_link(client, server, longer(&self.path.up, middle, self.step.0));
        testbed.set_link(server, client, longer(&self.path.down, middle, self.step.1));
        (testbed, [server, client])
    }
}

fn settings() -> SessionConfig {
    let mut config = SessionConfig::new("samestep-lab", 1).player("");
    config.capacity = 64;
    config
}

fn start(testbed: &mut Testbed<Session>, node: NodeId, role: Role) {
    testbed.start(node, |now, seed| {
        Session::new(now, settings(), role, seed).expect("these settings are good")
    });
}

fn longer(link: &LinkConfig, from: Duration, by: Duration) -> LinkConfig {
    if by.is_zero() {
        return link.clone();
    }
    let later = LinkConfig {
        latency: link.latency + by,
        ..link.clone()
    };
    link.clone().then(from, later)
}

/// Peers that all talk to each other.
pub struct Mesh {
    /// How many.
    pub peers: usize,
    /// A link like that between any two of them, the same both ways.
    pub link: LinkConfig,
    /// Each pair is up to this much farther apart.
    pub spread: Duration,
    /// How much faster and slower than the truth their clocks run, at most.
    pub drift_ppm: f64,
    /// How long.
    pub length: Duration,
}

impl Mesh {
    /// Runs it. The errors are the differences between any two peers.
    pub fn run(&self, seed: u64) -> ClockTrace {
        let mut rng = Rng::stream(seed, 2);
        let mut testbed: Testbed<Session> = Testbed::new(rng.next_u64());
        let nodes: Vec<NodeId> = (0..self.peers).map(|_| testbed.add_node()).collect();
        for (index, node) in nodes.iter().enumerate() {
            testbed.set_clock(*node, OFFSETS.mul_f64(rng.f64()));
            testbed.set_drift(*node, self.drift_ppm * (2.0 * rng.f64() - 1.0));
            for other in &nodes[..index] {
                let link = LinkConfig {
                    latency: self.link.latency + self.spread.mul_f64(rng.f64()),
                    ..self.link.clone()
                };
                testbed.set_link(*node, *other, link.clone());
                testbed.set_link(*other, *node, link);
            }
        }
        start(&mut testbed, nodes[0], Role::Introducer);
        let to = JoinTo::new(testbed.address(nodes[0]));
        for node in &nodes[1..] {
            start(&mut testbed, *node, Role::Peer(to.clone()));
        }
        let mut trace = ClockTrace::default();
        while testbed.now() < self.length {
            let at = testbed.now();
            while testbed.next(at + LOOK).is_some() {}
            let mut times = Vec::new();
            for (index, node) in nodes.iter().enumerate() {
                let session = testbed.machine(*node).expect("everyone runs");
                if let Some(time) = session.time(testbed.local(*node)) {
                    trace.look(index, time);
                    times.push(time.as_secs_f64());
                }
            }
            if times.len() == nodes.len() {
                for (index, a) in times.iter().enumerate() {
                    let pairs = times[..index].iter().map(|b| (a - b) * 1e3);
                    let at = testbed.now().as_secs_f64();
                    trace.errors.extend(pairs.map(|error| (at, error)));
                }
            }
        }
        trace
    }
}
