//! Endpoints on a testbed, and the applications at them.

mod application;

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use samestep_proto::{
    ChannelId, CloseReason, Config, ConnectError, ConnectOptions, ConnectionId, Endpoint, Event,
    MessageId, SendError,
};

use crate::attack::Attack;
use crate::broken::Broken;
use crate::node::{NodeId, Pace};
use crate::testbed::{ReceiveTime, Step, Testbed, address};
use crate::wake::{Received, Wake};
pub(crate) use application::{AppEvent, Application, Message};

/// A [`Testbed`] of endpoints whose applications are all played by the caller.
///
/// The caller owns the loop: [`next`](EndpointTestbed::next) runs until something happens that an application would
/// notice and returns it; the caller answers with [`send`](EndpointTestbed::send), [`set_timer`](EndpointTestbed::set_timer) and so on.
/// Whatever a node is told between two calls of `next` leaves together, as it would at the end of a game's tick.
/// Everything follows from the seed: the same calls give the same run, byte for byte.
pub struct EndpointTestbed {
    testbed: Testbed<Application>,
    log: Vec<Wake>,
    attacks: Vec<Attack>,
    moves: u8,
}

/// Timers with keys from here on belong to attacks.
const ATTACK: u64 = 1 << 63;

impl EndpointTestbed {
    /// An empty testbed whose every random choice follows from `seed`. Links are perfect until set otherwise.
    pub fn new(seed: u64) -> EndpointTestbed {
        EndpointTestbed {
            testbed: Testbed::new(seed),
            log: Vec::new(),
            attacks: Vec::new(),
            moves: 0,
        }
    }

    /// Adds an endpoint with an address and a clock of its own.
    ///
    /// # Panics
    /// If the endpoint refuses the configuration: that is a mistake in the scenario.
    pub fn add_node(&mut self, config: Config) -> NodeId {
        // Nothing may depend on equal epochs; one clock in eight starts at zero to keep that edge in view.
        let node = self.testbed.add_node_with(|rng, now| {
            now + match rng.chance(0.125) {
                true => Duration::ZERO,
                false => Duration::from_nanos(rng.next_u64() % 1_000_000_000_000),
            }
        });
        // A new endpoint has nothing to send yet: it is not driven before something happens to it.
        self.testbed
            .place(node, |_, seed| Application::new(config, seed, None));
        node
    }

    /// The node's process dies without a word and starts again at the same address, remembering nothing.
    pub fn restart(&mut self, node: NodeId) {
        let before = self.testbed.kill(node).expect("every node runs");
        let start = |_, seed| Application::new(before.config, seed, before.broken);
        self.testbed.start(node, start);
    }

    /// When a node's endpoint is driven; [`Pace::Immediate`] unless set. Frames begin now.
    pub fn set_pace(&mut self, node: NodeId, pace: Pace) {
        self.testbed
            .set_pace_from(node, pace, ReceiveTime::Arrival, 0.0);
    }

    /// Puts a fault between a node's endpoint and its application, to see a checker find it.
    pub fn break_node(&mut self, node: NodeId, broken: Broken) {
        self.with_app(node, |_, app| app.broken = Some(broken));
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

    /// Starts a connection to any address, also one without a node.
    pub fn connect_to(
        &mut self,
        from: NodeId,
        to: SocketAddr,
        options: ConnectOptions,
    ) -> Result<ConnectionId, ConnectError> {
        self.with_app(from, |now, app| app.connect(now, to, options))
    }

    /// Connects two nodes and runs until both know: their ids for the connection, the caller's first. What else happens
    /// meanwhile is in the [`log`](EndpointTestbed::log).
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
        while let Some(wake) = self.next(self.now() + Duration::from_secs(60)) {
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
        self.with_app(node, |now, app| {
            app.endpoint.send(now, to, channel, message)
        })
    }

    /// Closes a connection after its reliable messages are delivered.
    pub fn close(&mut self, node: NodeId, id: ConnectionId, code: u32, reason: &str) {
        self.with_app(node, |now, app| app.endpoint.close(now, id, code, reason));
    }

    /// Closes a connection at once.
    pub fn abort(&mut self, node: NodeId, id: ConnectionId, code: u32, reason: &str) {
        self.with_app(node, |now, app| app.endpoint.abort(now, id, code, reason));
    }

    /// Moves a node to a new IP address. What is under way to the old one is lost.
    pub fn roam(&mut self, node: NodeId) -> SocketAddr {
        self.moves = self.moves.wrapping_add(1).max(1);
        let to = address(self.moves, node);
        self.testbed.move_node(node, to)
    }

    /// Gives a node a new port at the same IP address, as a NAT does when it forgets a mapping.
    pub fn rebind(&mut self, node: NodeId) -> SocketAddr {
        let mut to = self.address(node);
        to.set_port(to.port().wrapping_add(1).max(1024));
        self.testbed.move_node(node, to)
    }

    /// A node's endpoint, to look at its statistics.
    pub fn endpoint(&self, node: NodeId) -> &Endpoint {
        &self.app(node).endpoint
    }

    /// Does something with a node's endpoint, at the time that the node's own clock shows.
    pub fn with_endpoint<T>(
        &mut self,
        node: NodeId,
        act: impl FnOnce(Duration, &mut Endpoint) -> T,
    ) -> T {
        self.with_app(node, |now, app| act(now, &mut app.endpoint))
    }

    /// Memory held by a node's endpoint, including what a [`Broken`] one leaks.
    pub fn memory_bytes(&self, node: NodeId) -> usize {
        self.app(node).memory_bytes()
    }

    /// Has `next` return [`Wake::Timer`] with this key at world time `at`.
    pub fn set_timer(&mut self, at: Duration, key: u64) {
        assert!(key < ATTACK, "keys from {ATTACK} on belong to attacks");
        self.testbed.set_timer(at, key);
    }

    /// Lets a hostile stranger send to a node from now on.
    pub fn add_attack(&mut self, mut attack: Attack) {
        let seed = self.testbed.draw();
        attack.prepare(&self.app(attack.target()).config, seed);
        self.testbed.tape();
        let (now, key) = (self.now(), ATTACK + self.attacks.len() as u64);
        self.testbed.set_timer(now, key);
        self.attacks.push(attack);
    }

    /// Runs until an application would notice something, at most until world time `until`, and returns it.
    ///
    /// `None` means that `until` is reached and nothing else happens before it.
    pub fn next(&mut self, until: Duration) -> Option<Wake> {
        loop {
            match self.testbed.next_step(until)? {
                Step::Event(at, node, event) => return Some(wake(at, node, event)),
                Step::Timer(at, key) if key < ATTACK => return Some(Wake::Timer { at, key }),
                Step::Timer(_, key) => self.strike(key),
            }
        }
    }

    fn strike(&mut self, key: u64) {
        let now = self.now();
        // Whoever attacks sees what is sent to addresses without a node, its own among them.
        for (at, reply) in self.testbed.tape().take_unroutable() {
            for attack in &mut self.attacks {
                attack.on_reply(at, &reply);
            }
        }
        let attack = &mut self.attacks[(key - ATTACK) as usize];
        let Some(again) = attack.next_strike(now) else {
            return;
        };
        let to = self.testbed.address(attack.target());
        let mut bytes = Vec::new();
        let from = attack.forge(now, self.testbed.tape(), to, &mut bytes);
        self.testbed.inject(from, to, &bytes);
        self.testbed.set_timer(again, key);
    }

    /// Runs to world time `until`, collecting what `next` would have returned in the [`log`](EndpointTestbed::log).
    pub fn run_until(&mut self, until: Duration) {
        while let Some(wake) = self.next(until) {
            self.log.push(wake);
        }
    }

    /// Runs for a while, as [`run_until`](EndpointTestbed::run_until).
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now() + time);
    }

    /// What happened during [`run_until`](EndpointTestbed::run_until), oldest first.
    pub fn log(&self) -> &[Wake] {
        &self.log
    }

    /// The messages in the [`log`](EndpointTestbed::log) that reached a node.
    pub fn received(&self, node: NodeId) -> impl Iterator<Item = &Received> {
        self.log.iter().filter_map(move |wake| match wake {
            Wake::Message(received) if received.node == node => Some(received),
            _ => None,
        })
    }

    /// The events in the [`log`](EndpointTestbed::log) that concern a node.
    pub fn events(&self, node: NodeId) -> impl Iterator<Item = &Event> {
        self.log.iter().filter_map(move |wake| match wake {
            Wake::Event {
                node: of, event, ..
            } if *of == node => Some(event),
            _ => None,
        })
    }

    /// Empties the [`log`](EndpointTestbed::log).
    pub fn take_log(&mut self) -> Vec<Wake> {
        std::mem::take(&mut self.log)
    }

    fn app(&self, node: NodeId) -> &Application {
        self.machine(node).expect("every node runs")
    }

    fn with_app<T>(
        &mut self,
        node: NodeId,
        act: impl FnOnce(Duration, &mut Application) -> T,
    ) -> T {
        self.testbed.with(node, act).expect("every node runs")
    }
}

/// Links, clocks and traffic are those of the testbed.
impl Deref for EndpointTestbed {
    type Target = Testbed<Application>;

    fn deref(&self) -> &Self::Target {
        &self.testbed
    }
}

impl DerefMut for EndpointTestbed {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.testbed
    }
}

fn wake(at: Duration, node: NodeId, event: AppEvent) -> Wake {
    match event {
        AppEvent::Event(event) => Wake::Event { at, node, event },
        AppEvent::Delivery(id, delivery) => Wake::Delivery {
            at,
            node,
            id,
            delivery,
        },
        AppEvent::Message(Message {
            from,
            channel,
            payload,
        }) => Wake::Message(Received {
            at,
            node,
            from,
            channel,
            payload,
        }),
    }
}
