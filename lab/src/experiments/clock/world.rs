//! Sessions in virtual time that do nothing but keep time.

use std::time::Duration;

use samestep_netem::{LinkConfig, Path, Rng};
use samestep_session::clock::{ClockConfig, ClockMethod};
use samestep_session::{JoinTo, Role, Session, SessionConfig};
use samestep_sim::{NodeId, Pace, ReceiveTime, Testbed};

use super::course::Course;

/// A client and a server.
pub struct Duo {
    /// How they keep time.
    pub config: ClockConfig,
    /// What lies between them.
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
    /// Runs it.
    pub fn run(&self, seed: u64) -> Course {
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
        start(&mut testbed, server, &self.config, Role::Host);
        let to = JoinTo::new(testbed.address(server));
        start(&mut testbed, client, &self.config, Role::Client(to));
        let poll = match &self.config.method {
            ClockMethod::Cycles(cycles) => cycles.poll,
            ClockMethod::Filtered(_) => None,
        };
        let mut course = Course::default();
        let (mut cycles, mut next_hitch, mut next_cycle) = (0, Duration::ZERO, Duration::ZERO);
        while testbed.now() < self.length {
            let at = testbed.now();
            if let Some(period) = poll.filter(|_| at >= next_hitch) {
                next_hitch = at + HITCH;
                for node in [server, client] {
                    testbed.set_pace(node, Pace::Frames { period }, ReceiveTime::Reading);
                }
            }
            while testbed.next(at + LOOK).is_some() {}
            look(&testbed, server, client, &mut course);
            let Some(clock) = testbed.machine(client).and_then(Session::clock) else {
                continue;
            };
            match clock.cycle() {
                Some(cycle) if cycle.number >= cycles => {
                    cycles = cycle.number + 1;
                    let difference = if cycle.applied { cycle.difference } else { 0.0 };
                    course.differences.push(difference * 1e3);
                    course.round_trips.push(cycle.rtt.as_secs_f64() * 1e3);
                }
                None if at >= next_cycle => {
                    next_cycle = at + self.interval;
                    let difference = clock.difference(testbed.local(client));
                    course.differences.push(difference * 1e3);
                }
                _ => {}
            }
        }
        course
    }
}

/// Starts a session that keeps time like that.
fn start(testbed: &mut Testbed<Session>, node: NodeId, clock: &ClockConfig, role: Role) {
    let mut config = SessionConfig::new("samestep-lab", 1).player("");
    config.capacity = 64;
    config.clock = clock.clone();
    testbed.start(node, |now, seed| {
        Session::new(now, config, role, seed).expect("these settings are good")
    });
}

/// Compares a client with its server.
fn look(testbed: &Testbed<Session>, server: NodeId, client: NodeId, course: &mut Course) {
    let now = testbed.now().as_secs_f64();
    if testbed.machine(client).is_some_and(|c| c.me().is_some()) {
        course.joined.get_or_insert(now);
    }
    let time = |node| testbed.machine(node)?.time(testbed.local(node));
    if let (Some(truth), Some(shown)) = (time(server), time(client)) {
        course.look(0, shown);
        let error = (shown.as_secs_f64() - truth.as_secs_f64()) * 1e3;
        course.errors.push((now, error));
    }
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
    /// How they keep time.
    pub config: ClockConfig,
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
    pub fn run(&self, seed: u64) -> Course {
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
        start(&mut testbed, nodes[0], &self.config, Role::Introducer);
        let to = JoinTo::new(testbed.address(nodes[0]));
        for node in &nodes[1..] {
            start(&mut testbed, *node, &self.config, Role::Peer(to.clone()));
        }
        let mut course = Course::default();
        while testbed.now() < self.length {
            let at = testbed.now();
            while testbed.next(at + LOOK).is_some() {}
            let mut times = Vec::new();
            for (index, node) in nodes.iter().enumerate() {
                let session = testbed.machine(*node).expect("everyone runs");
                if let Some(time) = session.time(testbed.local(*node)) {
                    course.look(index, time);
                    times.push(time.as_secs_f64());
                }
            }
            if times.len() == nodes.len() {
                for (index, a) in times.iter().enumerate() {
                    let pairs = times[..index].iter().map(|b| (a - b) * 1e3);
                    let at = testbed.now().as_secs_f64();
                    course.errors.extend(pairs.map(|error| (at, error)));
                }
            }
        }
        course
    }
}
