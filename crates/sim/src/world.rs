//! The world: nodes, the network between them, and the one loop that moves virtual time.

mod drive;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use samestep_netem::{LinkConfig, LinkStats, Rng};
use samestep_proto::{
    ChannelId, CloseReason, Config, ConnectError, ConnectOptions, ConnectionId, Endpoint, Event,
    MessageId, SendError,
};

use crate::agenda::Agenda;
use crate::attack::{Attack, Tape};
use crate::broken::Broken;
use crate::network::{Network, Passage};
use crate::node::{Node, NodeId, Pace, Traffic};
use crate::wake::{Received, Wake};

/// Endpoints in virtual time, and the network between them.
///
/// The caller owns the loop: [`next`](World::next) runs the world until something happens that an application would
/// notice and returns it; the caller answers with [`send`](World::send), [`set_timer`](World::set_timer) and so on.
/// Whatever a node is told between two calls of `next` leaves together, as it would at the end of a game's tick.
/// Everything follows from the seed: the same calls give the same world, byte for byte.
pub struct World {
    seed: u64,
    rng: Rng,
    now: Duration,
    nodes: Vec<Node>,
    routes: BTreeMap<SocketAddr, NodeId>,
    network: Network,
    agenda: Agenda<Happening>,
    ready: VecDeque<Wake>,
    log: Vec<Wake>,
    dirty: Vec<NodeId>,
    packet: Vec<u8>,
    attacks: Vec<Attack>,
    tape: Tape,
    moves: u8,
    unroutable: u64,
}

enum Happening {
    Arrival {
        from: SocketAddr,
        to: SocketAddr,
        bytes: Vec<u8>,
    },
    Due(NodeId),
    Frame(NodeId),
    Timer(u64),
    Attack(usize),
}

impl World {
    /// An empty world whose every random choice follows from `seed`. Links are perfect until set otherwise.
    pub fn new(seed: u64) -> World {
        let mut rng = Rng::new(seed);
        let network = Network::new(rng.next_u64());
        World {
            seed,
            rng,
            now: Duration::ZERO,
            nodes: Vec::new(),
            routes: BTreeMap::new(),
            network,
            agenda: Agenda::new(),
            ready: VecDeque::new(),
            log: Vec::new(),
            dirty: Vec::new(),
            packet: Vec::new(),
            attacks: Vec::new(),
            tape: Tape::default(),
            moves: 0,
            unroutable: 0,
        }
    }

    /// The seed given to [`new`](World::new).
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// True world time. No node knows it: each has a clock of its own.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Adds an endpoint with an address and a clock of its own.
    ///
    /// # Panics
    /// If the endpoint refuses the configuration: that is a mistake in the scenario.
    pub fn add_node(&mut self, config: Config) -> NodeId {
        let id = NodeId(self.nodes.len() as u16);
        let address = address(0, id);
        // Nothing may depend on equal epochs; one clock in eight starts at zero to keep that edge in view.
        let offset = match self.rng.chance(0.125) {
            true => Duration::ZERO,
            false => Duration::from_nanos(self.rng.next_u64() % 1_000_000_000_000),
        };
        let endpoint = self.endpoint_from(&config);
        self.packet
            .resize(self.packet.len().max(config.max_packet), 0);
        self.nodes
            .push(Node::new(endpoint, config, address, offset));
        self.routes.insert(address, id);
        id
    }

    /// The node's process dies without a word and starts again at the same address, remembering nothing.
    pub fn restart(&mut self, node: NodeId) {
        let config = self.nodes[node.index()].config().clone();
        let endpoint = self.endpoint_from(&config);
        self.nodes[node.index()].replace(endpoint);
        self.ready.retain(|wake| wake.node() != Some(node));
        self.touch(node);
    }

    fn endpoint_from(&mut self, config: &Config) -> Endpoint {
        let mut seed = [0; 32];
        for part in seed.chunks_exact_mut(8) {
            part.copy_from_slice(&self.rng.next_u64().to_le_bytes());
        }
        Endpoint::new(config.clone(), seed).expect("a valid endpoint configuration")
    }

    /// When a node's endpoint is driven; [`Pace::Immediate`] unless set.
    pub fn set_pace(&mut self, node: NodeId, pace: Pace) {
        self.nodes[node.index()].pace = pace;
        if let Pace::Frames { .. } = pace {
            self.agenda.add(self.now, Happening::Frame(node));
        }
        self.touch(node);
    }

    /// Puts a fault between a node's endpoint and its application, to see a checker find it.
    pub fn break_node(&mut self, node: NodeId, broken: Broken) {
        self.nodes[node.index()].broken = Some(broken);
    }

    /// Starts a connection from one node to the present address of another.
    pub fn connect(
        &mut self,
        from: NodeId,
        to: NodeId,
        options: ConnectOptions,
    ) -> Result<ConnectionId, ConnectError> {
        self.connect_to(from, self.address(to), options)
    }

    /// Starts a connection to any address, also one where nobody lives.
    pub fn connect_to(
        &mut self,
        from: NodeId,
        to: SocketAddr,
        options: ConnectOptions,
    ) -> Result<ConnectionId, ConnectError> {
        let now = self.now;
        let node = self.touch(from);
        let id = node.endpoint.connect(node.local(now), to, options)?;
        node.on_opened(id);
        Ok(id)
    }

    /// Connects two nodes and runs until both know: their ids for the connection, the caller's first. What else happens
    /// meanwhile is in the [`log`](World::log).
    pub fn join(
        &mut self,
        from: NodeId,
        to: NodeId,
        options: ConnectOptions,
    ) -> Result<[ConnectionId; 2], CloseReason> {
        let caller = self.address(from);
        let own = self
            .connect(from, to, options)
            .expect("room for one more connection");
        let (mut open, mut accepted) = (false, None);
        while let Some(wake) = self.next(self.now + Duration::from_secs(60)) {
            match &wake {
                Wake::Event {
                    node,
                    event:
                        Event::Connected {
                            id, peer, incoming, ..
                        },
                    ..
                } => {
                    open |= *node == from && *id == own;
                    accepted = match *node == to && *incoming && *peer == caller {
                        true => Some(*id),
                        false => accepted,
                    };
                }
                Wake::Event {
                    node,
                    event: Event::Closed { id, reason },
                    ..
                } if *node == from && *id == own => {
                    return Err(reason.clone());
                }
                _ => {}
            }
            self.log.push(wake);
            if let (true, Some(theirs)) = (open, accepted) {
                return Ok([own, theirs]);
            }
        }
        panic!("{from} neither reached {to} nor gave up");
    }

    /// Sends a message. It leaves when the caller next asks for a wake.
    pub fn send(
        &mut self,
        node: NodeId,
        to: ConnectionId,
        channel: ChannelId,
        message: &[u8],
    ) -> Result<MessageId, SendError> {
        let now = self.now;
        let node = self.touch(node);
        node.endpoint.send(node.local(now), to, channel, message)
    }

    /// Closes a connection after its reliable messages are delivered.
    pub fn close(&mut self, node: NodeId, id: ConnectionId, code: u32, reason: &str) {
        let now = self.now;
        let node = self.touch(node);
        node.endpoint.close(node.local(now), id, code, reason);
    }

    /// Closes a connection at once.
    pub fn abort(&mut self, node: NodeId, id: ConnectionId, code: u32, reason: &str) {
        let now = self.now;
        let node = self.touch(node);
        node.endpoint.abort(node.local(now), id, code, reason);
    }

    /// Configures every link, present and future, in both directions.
    pub fn set_links(&mut self, config: LinkConfig) {
        self.network.set_all(config);
    }

    /// Configures the link from one node to another, in this direction only.
    pub fn set_link(&mut self, from: NodeId, to: NodeId, config: LinkConfig) {
        self.network.set(from, to, config);
    }

    /// Loses everything between two nodes, in both directions, until [`mend`](World::mend).
    pub fn cut(&mut self, a: NodeId, b: NodeId) {
        self.network.cut(a, b);
        self.network.cut(b, a);
    }

    /// Loses everything in one direction only.
    pub fn cut_one_way(&mut self, from: NodeId, to: NodeId) {
        self.network.cut(from, to);
    }

    /// Undoes [`cut`](World::cut) and [`cut_one_way`](World::cut_one_way).
    pub fn mend(&mut self, a: NodeId, b: NodeId) {
        self.network.mend(a, b);
        self.network.mend(b, a);
    }

    /// Cuts a node off from all others until [`rejoin`](World::rejoin).
    pub fn isolate(&mut self, node: NodeId) {
        self.network.isolate(node);
    }

    /// Undoes [`isolate`](World::isolate).
    pub fn rejoin(&mut self, node: NodeId) {
        self.network.rejoin(node);
    }

    /// Undoes every cut and isolation.
    pub fn mend_all(&mut self) {
        self.network.mend_all();
    }

    /// Moves a node to a new IP address. What is under way to the old one is lost.
    pub fn roam(&mut self, node: NodeId) -> SocketAddr {
        self.moves = self.moves.wrapping_add(1).max(1);
        let to = address(self.moves, node);
        self.move_node(node, to)
    }

    /// Gives a node a new port at the same IP address, as a NAT does when it forgets a mapping.
    pub fn rebind(&mut self, node: NodeId) -> SocketAddr {
        let mut to = self.address(node);
        to.set_port(to.port().wrapping_add(1).max(1024));
        self.move_node(node, to)
    }

    fn move_node(&mut self, node: NodeId, to: SocketAddr) -> SocketAddr {
        let before = std::mem::replace(&mut self.nodes[node.index()].address, to);
        self.routes.remove(&before);
        self.routes.insert(to, node);
        to
    }

    /// A node's present address.
    pub fn address(&self, node: NodeId) -> SocketAddr {
        self.nodes[node.index()].address
    }

    /// All nodes, in the order in which they were added.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u16).map(NodeId)
    }

    /// A node's endpoint, to look at its statistics.
    pub fn endpoint(&self, node: NodeId) -> &Endpoint {
        &self.nodes[node.index()].endpoint
    }

    /// A node's endpoint, to do what the world has no call for. Times it expects are [`local`](World::local) ones.
    pub fn endpoint_mut(&mut self, node: NodeId) -> &mut Endpoint {
        &mut self.touch(node).endpoint
    }

    /// The time that a node's own clock shows now.
    pub fn local(&self, node: NodeId) -> Duration {
        self.nodes[node.index()].local(self.now)
    }

    /// What a node has sent to and received from the network.
    pub fn traffic(&self, node: NodeId) -> Traffic {
        self.nodes[node.index()].traffic
    }

    /// Memory held by a node's endpoint, including what a [`Broken`] one leaks.
    pub fn memory_bytes(&self, node: NodeId) -> usize {
        self.nodes[node.index()].memory_bytes()
    }

    /// Counters of the link from one node to another.
    pub fn link_stats(&self, from: NodeId, to: NodeId) -> LinkStats {
        self.network.stats(from, to)
    }

    /// Records every datagram on the link from one node to another, for [`passages`](World::passages).
    pub fn watch_link(&mut self, from: NodeId, to: NodeId) {
        self.network.watch(from, to);
    }

    /// What a watched link did with each datagram so far.
    pub fn passages(&self, from: NodeId, to: NodeId) -> &[Passage] {
        self.network.passages(from, to)
    }

    /// Datagrams sent to addresses where nobody lived.
    pub fn unroutable(&self) -> u64 {
        self.unroutable
    }

    /// Has `next` return [`Wake::Timer`] with this key at world time `at`.
    pub fn set_timer(&mut self, at: Duration, key: u64) {
        self.agenda.add(at.max(self.now), Happening::Timer(key));
    }

    /// Lets a hostile stranger send to a node from now on.
    pub fn add_attack(&mut self, mut attack: Attack) {
        attack.prepare(
            self.nodes[attack.target().index()].config(),
            self.rng.next_u64(),
        );
        self.tape.start();
        self.agenda
            .add(self.now, Happening::Attack(self.attacks.len()));
        self.attacks.push(attack);
    }

    /// Delivers a made-up datagram to an address, now.
    pub fn inject(&mut self, from: SocketAddr, to: SocketAddr, datagram: &[u8]) {
        let mut bytes = self.network.buffer();
        bytes.extend_from_slice(datagram);
        self.agenda
            .add(self.now, Happening::Arrival { from, to, bytes });
    }

    /// Runs until an application would notice something, at most until world time `until`, and returns it.
    ///
    /// `None` means that the world has reached `until` and nothing else happens before it.
    pub fn next(&mut self, until: Duration) -> Option<Wake> {
        loop {
            if let Some(wake) = self.ready.pop_front() {
                return Some(wake);
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

    /// Runs to world time `until`, collecting what `next` would have returned in the [`log`](World::log).
    pub fn run_until(&mut self, until: Duration) {
        while let Some(wake) = self.next(until) {
            self.log.push(wake);
        }
    }

    /// Runs for a while, as [`run_until`](World::run_until).
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// What happened during [`run_until`](World::run_until), oldest first.
    pub fn log(&self) -> &[Wake] {
        &self.log
    }

    /// The messages in the [`log`](World::log) that reached a node.
    pub fn received(&self, node: NodeId) -> impl Iterator<Item = &Received> {
        self.log.iter().filter_map(move |wake| match wake {
            Wake::Message(received) if received.node == node => Some(received),
            _ => None,
        })
    }

    /// The events in the [`log`](World::log) that concern a node.
    pub fn events(&self, node: NodeId) -> impl Iterator<Item = &Event> {
        self.log.iter().filter_map(move |wake| match wake {
            Wake::Event {
                node: of, event, ..
            } if *of == node => Some(event),
            _ => None,
        })
    }

    /// Empties the [`log`](World::log).
    pub fn take_log(&mut self) -> Vec<Wake> {
        std::mem::take(&mut self.log)
    }

    /// Happenings that wait for their time: datagrams under way, timers.
    pub fn pending(&self) -> usize {
        self.agenda.len()
    }

    fn touch(&mut self, id: NodeId) -> &mut Node {
        let node = &mut self.nodes[id.index()];
        if !std::mem::replace(&mut node.dirty, true) {
            self.dirty.push(id);
        }
        node
    }
}

/// 10.`moves`.x.y with a port of the node's own; `moves` counts changes of address in this world.
fn address(moves: u8, node: NodeId) -> SocketAddr {
    let [x, y] = node.0.to_be_bytes();
    SocketAddr::new(
        IpAddr::V4(Ipv4Addr::new(10, moves, x, y.wrapping_add(1))),
        40_000 + node.0 % 20_000,
    )
}
