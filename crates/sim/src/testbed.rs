//! The one rig for virtual time: machines of any kind (endpoints, sessions, matches), their clocks, and the links between them.

mod clock;
mod drive;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use samestep_netem::{LinkConfig, LinkStats, Rng};
use samestep_proto::Machine;

use crate::agenda::Agenda;
use crate::attack::Tape;
use crate::network::{Network, Passage};
use crate::node::{NodeId, Pace, Traffic};
use clock::NodeClock;

/// Programs that talk over links with delays, losses and cuts, driven by what happens rather than by polling.
///
/// Each node has an address and a clock of its own, which starts anywhere and may drift; a [`Machine`] lives at it, or
/// none (not started yet, crashed). Everything follows from the seed.
///
/// ```
/// use samestep_netem::LinkConfig;
/// use samestep_proto::{Config, ConnectOptions, Endpoint, Event};
/// use samestep_sim::Testbed;
/// use std::time::Duration;
///
/// let mut testbed = Testbed::new(7);
/// let latency = Duration::from_millis(20);
/// testbed.set_links(LinkConfig { latency, ..LinkConfig::default() });
/// let [server, client] = [testbed.add_node(), testbed.add_node()];
/// let config = Config::new("example", 1);
/// testbed.start(server, |_, seed| Endpoint::new(config.clone().accepting(8), seed).unwrap());
/// testbed.start(client, |_, seed| Endpoint::new(config.clone(), seed).unwrap());
/// let to = testbed.address(server);
/// testbed.with(client, |now, endpoint| endpoint.connect(now, to, ConnectOptions::default())).unwrap()?;
/// let (at, node, event) = testbed.next(Duration::from_secs(1)).expect("somebody connects");
/// assert!(matches!(event, Event::Connected { .. }));
/// assert!(node == client && at < Duration::from_millis(200));
/// # Ok::<(), samestep_proto::ConnectError>(())
/// ```
pub struct Testbed<M: Machine> {
    rng: Rng,
    now: Duration,
    nodes: Vec<Node<M>>,
    routes: BTreeMap<SocketAddr, NodeId>,
    network: Network,
    agenda: Agenda<Scheduled>,
    ready: VecDeque<(Duration, NodeId, M::Event)>,
    timer: Option<(Duration, u64)>,
    dirty: Vec<NodeId>,
    packet: Vec<u8>,
    unroutable: u64,
    /// Whoever listens in hears every datagram.
    tape: Option<Tape>,
}

/// What the next step of a testbed brought.
pub(crate) enum Step<E> {
    Event(Duration, NodeId, E),
    Timer(Duration, u64),
}

/// What a datagram's receive time is at a node that reads once a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReceiveTime {
    /// When it arrived: the operating system stamps it.
    #[default]
    Arrival,
    /// When the program came round to reading it.
    Reading,
}

struct Node<M> {
    machine: Option<M>,
    address: SocketAddr,
    clock: NodeClock,
    pace: Pace,
    receive_time: ReceiveTime,
    dirty: bool,
    /// When the machine wants to be woken, in world time.
    deadline: Option<Duration>,
    /// The earliest entry for this node in the agenda.
    scheduled: Option<Duration>,
    /// Datagrams that wait for the next frame, with the world time of their arrival.
    socket: VecDeque<(Duration, SocketAddr, Vec<u8>)>,
    traffic: Traffic,
    /// Counts changes of pace: frames of an earlier one do not happen.
    frames: u32,
    spins: u32,
    spun_at: Duration,
}

/// What is due at a time.
enum Scheduled {
    Arrival {
        from: SocketAddr,
        to: SocketAddr,
        bytes: Vec<u8>,
    },
    Deadline(NodeId),
    Frame(NodeId, u32),
    Timer(u64),
}

impl<M: Machine> Testbed<M> {
    /// An empty world whose every random choice follows from `seed`. Links are perfect until set otherwise.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let network = Network::new(rng.next_u64());
        Testbed {
            rng,
            now: Duration::ZERO,
            nodes: Vec::new(),
            routes: BTreeMap::new(),
            network,
            agenda: Agenda::new(),
            ready: VecDeque::new(),
            timer: None,
            dirty: Vec::new(),
            packet: Vec::new(),
            unroutable: 0,
            tape: None,
        }
    }

    /// True world time. No node knows it.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Adds an address with a clock that shows anything, where nothing runs yet: see [`start`](Testbed::start).
    pub fn add_node(&mut self) -> NodeId {
        self.add_node_with(|rng, _| Duration::from_nanos(rng.next_u64() % 1_000_000_000_000))
    }

    /// Adds an address; `clock` chooses what its clock shows now, given the true time.
    pub(crate) fn add_node_with(
        &mut self,
        clock: impl FnOnce(&mut Rng, Duration) -> Duration,
    ) -> NodeId {
        let id = NodeId(self.nodes.len() as u16);
        let address = address(0, id);
        let shown = clock(&mut self.rng, self.now);
        self.nodes.push(Node {
            machine: None,
            address,
            clock: NodeClock::new(self.now, shown),
            pace: Pace::Immediate,
            receive_time: ReceiveTime::default(),
            dirty: false,
            deadline: None,
            scheduled: None,
            socket: VecDeque::new(),
            traffic: Traffic::default(),
            frames: 0,
            spins: 0,
            spun_at: Duration::ZERO,
        });
        self.routes.insert(address, id);
        id
    }

    /// Starts a program at a node, in the place of any that ran there; `make` gets the node's time and a seed.
    pub fn start(&mut self, node: NodeId, make: impl FnOnce(Duration, [u8; 32]) -> M) {
        self.place(node, make);
        self.touch(node);
    }

    /// The same for a machine that has nothing to do yet.
    pub(crate) fn place(&mut self, node: NodeId, make: impl FnOnce(Duration, [u8; 32]) -> M) {
        let mut seed = [0; 32];
        self.rng.fill(&mut seed);
        self.kill(node);
        let machine = make(self.local(node), seed);
        self.packet
            .resize(self.packet.len().max(machine.max_packet()), 0);
        self.nodes[node.index()].machine = Some(machine);
    }

    /// A node's program vanishes without a word, and with it what it had not told yet.
    pub fn kill(&mut self, node: NodeId) -> Option<M> {
        self.ready.retain(|(_, of, _)| *of != node);
        let node = &mut self.nodes[node.index()];
        node.socket.clear();
        node.deadline = None;
        node.machine.take()
    }

    /// Whether a program runs at a node.
    pub fn is_running(&self, node: NodeId) -> bool {
        self.nodes[node.index()].machine.is_some()
    }

    /// Does something with a node's machine at the node's time; `None` where nothing runs. What it wants to send leaves
    /// when the caller next asks for an event.
    pub fn with<T>(&mut self, node: NodeId, act: impl FnOnce(Duration, &mut M) -> T) -> Option<T> {
        let local = self.local(node);
        self.touch(node);
        let machine = self.nodes[node.index()].machine.as_mut()?;
        Some(act(local, machine))
    }

    /// A node's machine, to look at.
    pub fn machine(&self, node: NodeId) -> Option<&M> {
        self.nodes[node.index()].machine.as_ref()
    }

    /// What a node's own clock shows now.
    pub fn local(&self, node: NodeId) -> Duration {
        self.nodes[node.index()].clock.local(self.now)
    }

    /// Lets a node's clock show something else from now on.
    pub fn set_clock(&mut self, node: NodeId, shown: Duration) {
        let clock = &mut self.nodes[node.index()].clock;
        let ppm = clock.drift_ppm();
        *clock = NodeClock::new(self.now, shown);
        clock.set_drift(self.now, ppm);
        self.touch(node);
    }

    /// Lets a node's clock run fast (or slow) by this many millionths from now on.
    pub fn set_drift(&mut self, node: NodeId, ppm: f64) {
        self.nodes[node.index()].clock.set_drift(self.now, ppm);
        self.touch(node);
    }

    /// When a node's machine is driven; [`Pace::Immediate`] unless set. Frames begin at a random phase.
    pub fn set_pace(&mut self, node: NodeId, pace: Pace, receive_time: ReceiveTime) {
        let phase = self.rng.f64();
        self.set_pace_from(node, pace, receive_time, phase);
    }

    /// The same with the first frame after this share of a period.
    pub(crate) fn set_pace_from(
        &mut self,
        id: NodeId,
        pace: Pace,
        receive_time: ReceiveTime,
        phase: f64,
    ) {
        let node = &mut self.nodes[id.index()];
        node.pace = pace;
        node.receive_time = receive_time;
        node.frames += 1;
        if let Pace::Frames { period } = pace {
            let first = self.now + period.mul_f64(phase);
            self.agenda.add(first, Scheduled::Frame(id, node.frames));
        }
        self.touch(id);
    }

    /// Configures every link, present and future, in both directions.
    pub fn set_links(&mut self, config: LinkConfig) {
        self.network.set_all(config);
    }

    /// Configures the link from one node to another, in this direction only.
    pub fn set_link(&mut self, from: NodeId, to: NodeId, config: LinkConfig) {
        self.network.set(from, to, config);
    }

    /// Lets everything a node sends share a line of `rate_bps` before it takes the link to its receiver, as players behind one
    /// access line do: what would wait there for longer than `queue` is dropped. The rates of links are limits beside it.
    pub fn set_uplink(&mut self, node: NodeId, rate_bps: u64, queue: Duration) {
        self.network.set_uplink(node, rate_bps, queue);
    }

    /// Counters of a node's shared line.
    pub fn uplink_stats(&self, node: NodeId) -> LinkStats {
        self.network.uplink_stats(node)
    }

    /// Loses everything between two nodes, in both directions, until [`mend`](Testbed::mend).
    pub fn cut(&mut self, a: NodeId, b: NodeId) {
        self.network.cut(a, b);
        self.network.cut(b, a);
    }

    /// Loses everything in one direction only.
    pub fn cut_one_way(&mut self, from: NodeId, to: NodeId) {
        self.network.cut(from, to);
    }

    /// Undoes [`cut`](Testbed::cut) and [`cut_one_way`](Testbed::cut_one_way).
    pub fn mend(&mut self, a: NodeId, b: NodeId) {
        self.network.mend(a, b);
        self.network.mend(b, a);
    }

    /// Cuts a node off from all others until [`rejoin`](Testbed::rejoin).
    pub fn isolate(&mut self, node: NodeId) {
        self.network.isolate(node);
    }

    /// Undoes [`isolate`](Testbed::isolate).
    pub fn rejoin(&mut self, node: NodeId) {
        self.network.rejoin(node);
    }

    /// Cuts every link between the two groups that `on_one_side` makes.
    pub fn split(&mut self, on_one_side: impl Fn(NodeId) -> bool) {
        for a in self.nodes() {
            for b in self.nodes() {
                if on_one_side(a) != on_one_side(b) {
                    self.network.cut(a, b);
                }
            }
        }
    }

    /// Undoes every cut, split and isolation.
    pub fn mend_all(&mut self) {
        self.network.mend_all();
    }

    /// A node's address.
    pub fn address(&self, node: NodeId) -> SocketAddr {
        self.nodes[node.index()].address
    }

    /// All nodes, in the order in which they were added.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<M> {
        (0..self.nodes.len() as u16).map(NodeId)
    }

    /// What a node has sent to and received from the network.
    pub fn traffic(&self, node: NodeId) -> Traffic {
        self.nodes[node.index()].traffic
    }

    /// What has been sent and received on the way from one node to another; what a cut swallowed is not counted.
    pub fn traffic_between(&self, from: NodeId, to: NodeId) -> Traffic {
        let stats = self.link_stats(from, to);
        Traffic {
            datagrams_sent: stats.sent,
            bytes_sent: stats.bytes_sent,
            datagrams_received: stats.delivered,
            bytes_received: stats.bytes_delivered,
        }
    }

    /// Counters of the link from one node to another.
    pub fn link_stats(&self, from: NodeId, to: NodeId) -> LinkStats {
        self.network.stats(from, to)
    }

    /// Records every datagram on the link from one node to another, for [`passages`](Testbed::passages).
    pub fn watch_link(&mut self, from: NodeId, to: NodeId) {
        self.network.watch(from, to);
    }

    /// What a watched link did with each datagram so far.
    pub fn passages(&self, from: NodeId, to: NodeId) -> &[Passage] {
        self.network.passages(from, to)
    }

    /// Delivers a made-up datagram to an address, now.
    pub fn inject(&mut self, from: SocketAddr, to: SocketAddr, datagram: &[u8]) {
        let mut bytes = self.network.buffer();
        bytes.extend_from_slice(datagram);
        self.agenda
            .add(self.now, Scheduled::Arrival { from, to, bytes });
    }

    /// What waits for its time: datagrams under way, deadlines, timers.
    pub fn pending(&self) -> usize {
        self.agenda.len()
    }

    /// Datagrams sent to addresses where no node is.
    pub fn unroutable(&self) -> u64 {
        self.unroutable
    }

    /// Runs until a machine has an event, at most until world time `until`, and returns it with its time and node.
    ///
    /// `None` means that the world has reached `until` and nothing else happens before it.
    pub fn next(&mut self, until: Duration) -> Option<(Duration, NodeId, M::Event)> {
        loop {
            if let Step::Event(at, node, event) = self.next_step(until)? {
                return Some((at, node, event));
            }
        }
    }

    /// Runs for a while and drops what happens.
    pub fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while self.next(until).is_some() {}
    }

    /// Runs until `done` holds of every machine, looking every `step`, at most for `patience`: whether it does. What happens is dropped.
    pub fn wait_for_all(
        &mut self,
        patience: Duration,
        step: Duration,
        done: impl Fn(&M) -> bool,
    ) -> bool {
        let end = self.now + patience;
        while !self
            .nodes
            .iter()
            .filter_map(|node| node.machine.as_ref())
            .all(&done)
        {
            if self.now >= end {
                return false;
            }
            self.run_for(step);
        }
        true
    }

    /// The same as [`next`](Testbed::next), timers included.
    pub(crate) fn next_step(&mut self, until: Duration) -> Option<Step<M::Event>> {
        loop {
            if let Some((at, node, event)) = self.ready.pop_front() {
                return Some(Step::Event(at, node, event));
            }
            if let Some((at, key)) = self.timer.take() {
                return Some(Step::Timer(at, key));
            }
            self.drive_dirty();
            if !self.ready.is_empty() {
                continue;
            }
            match self.agenda.next_at() {
                Some(at) if at <= until => self.advance(),
                _ => {
                    self.now = self.now.max(until);
                    return None;
                }
            }
        }
    }

    pub(crate) fn set_timer(&mut self, at: Duration, key: u64) {
        self.agenda.add(at.max(self.now), Scheduled::Timer(key));
    }

    /// The latest datagrams, recorded from the first call on.
    pub(crate) fn tape(&mut self) -> &mut Tape {
        self.tape.get_or_insert_default()
    }

    /// A random number of the testbed's own.
    pub(crate) fn draw(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Gives a node another address. What is under way to the old one is lost.
    pub(crate) fn move_node(&mut self, node: NodeId, to: SocketAddr) -> SocketAddr {
        let before = std::mem::replace(&mut self.nodes[node.index()].address, to);
        self.routes.remove(&before);
        self.routes.insert(to, node);
        to
    }

    fn touch(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.index()];
        if !std::mem::replace(&mut node.dirty, true) {
            self.dirty.push(id);
        }
    }
}

/// 10.`moves`.x.y with a port of the node's own; `moves` counts changes of address on this testbed.
pub(crate) fn address(moves: u8, node: NodeId) -> SocketAddr {
    let [x, y] = node.0.to_be_bytes();
    SocketAddr::new(
        IpAddr::V4(Ipv4Addr::new(10, moves, x, y.wrapping_add(1))),
        40_000 + node.0 % 20_000,
    )
}
