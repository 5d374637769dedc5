//! One endpoint of a world with its address, its clock and its driver loop.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_netem::IP_UDP_OVERHEAD_BYTES;
use samestep_proto::{Config, ConnectionId, Endpoint, Event};

use crate::broken::Broken;
use crate::wake::{Received, Wake};

/// A node of a world, counted from zero in the order of [`World::add_node`](crate::World::add_node).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(pub u16);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// When a node's endpoint sees what the network brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// On arrival, and its deadlines on time: a driver that sleeps until there is something to do.
    Immediate,
    /// Once a frame: datagrams wait in the socket, with their receive time, and deadlines are met late.
    Frames {
        /// Time between two frames.
        period: Duration,
    },
}

/// Datagrams and UDP payload bytes between one node and the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// UDP payload bytes sent.
    pub bytes_sent: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// UDP payload bytes received.
    pub bytes_received: u64,
}

impl Traffic {
    /// Bytes sent with IP and UDP headers: what a link has to carry.
    pub fn wire_bytes_sent(&self) -> u64 {
        self.bytes_sent + self.datagrams_sent * IP_UDP_OVERHEAD_BYTES as u64
    }

    /// Bytes received with IP and UDP headers.
    pub fn wire_bytes_received(&self) -> u64 {
        self.bytes_received + self.datagrams_received * IP_UDP_OVERHEAD_BYTES as u64
    }

    pub(crate) fn on_sent(&mut self, bytes: usize) {
        self.datagrams_sent += 1;
        self.bytes_sent += bytes as u64;
    }

    pub(crate) fn on_received(&mut self, bytes: usize) {
        self.datagrams_received += 1;
        self.bytes_received += bytes as u64;
    }
}

pub(crate) struct Node {
    pub(crate) endpoint: Endpoint,
    pub(crate) address: SocketAddr,
    pub(crate) pace: Pace,
    pub(crate) dirty: bool,
    /// When the endpoint wants to be woken, in world time.
    pub(crate) deadline: Option<Duration>,
    /// The earliest entry for this node in the agenda.
    pub(crate) scheduled: Option<Duration>,
    /// Datagrams that wait for the next frame, with their receive time on this node's clock.
    pub(crate) socket: VecDeque<(Duration, SocketAddr, Vec<u8>)>,
    pub(crate) traffic: Traffic,
    pub(crate) broken: Option<Broken>,
    config: Config,
    offset: Duration,
    /// Connections whose delivery reports are collected; empty unless some channel reports.
    reporting: Vec<ConnectionId>,
    reports: bool,
    spins: u32,
    spun_at: Duration,
}

impl Node {
    pub(crate) fn new(
        endpoint: Endpoint,
        config: Config,
        address: SocketAddr,
        offset: Duration,
    ) -> Node {
        let reports = config.channels.iter().any(|channel| channel.report);
        Node {
            endpoint,
            address,
            pace: Pace::Immediate,
            dirty: false,
            deadline: None,
            scheduled: None,
            socket: VecDeque::new(),
            traffic: Traffic::default(),
            broken: None,
            config,
            offset,
            reporting: Vec::new(),
            reports,
            spins: 0,
            spun_at: Duration::ZERO,
        }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn replace(&mut self, endpoint: Endpoint) {
        self.endpoint = endpoint;
        self.socket.clear();
        self.reporting.clear();
    }

    pub(crate) fn local(&self, now: Duration) -> Duration {
        now + self.offset
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.endpoint.memory_bytes() + self.broken.as_ref().map_or(0, Broken::leaked_bytes)
    }

    pub(crate) fn refresh_deadline(&mut self) {
        self.deadline = self
            .endpoint
            .poll_timeout()
            .map(|at| at.saturating_sub(self.offset));
    }

    pub(crate) fn on_due(&mut self, now: Duration, spin_limit: u32) {
        self.spins = if self.spun_at == now {
            self.spins + 1
        } else {
            0
        };
        self.spun_at = now;
        assert!(
            self.spins < spin_limit,
            "{} asks again and again to be woken at {now:?}",
            self.address
        );
        self.endpoint.handle_timeout(self.local(now));
    }

    pub(crate) fn on_opened(&mut self, id: ConnectionId) {
        if self.reports {
            self.reporting.push(id);
        }
    }

    /// Hands the endpoint's messages, events and delivery reports to the application.
    pub(crate) fn collect(&mut self, now: Duration, node: NodeId, out: &mut VecDeque<Wake>) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Readable { id } => self.read(now, node, id, out),
                Event::Closed { id, .. } => {
                    self.read(now, node, id, out);
                    self.report(now, node, id, out);
                    self.reporting.retain(|other| *other != id);
                    self.hand_over(
                        Wake::Event {
                            at: now,
                            node,
                            event,
                        },
                        out,
                    );
                }
                Event::Connected { id, incoming, .. } => {
                    if incoming {
                        self.on_opened(id);
                    }
                    self.hand_over(
                        Wake::Event {
                            at: now,
                            node,
                            event,
                        },
                        out,
                    );
                }
                event => self.hand_over(
                    Wake::Event {
                        at: now,
                        node,
                        event,
                    },
                    out,
                ),
            }
        }
        for index in 0..self.reporting.len() {
            self.report(now, node, self.reporting[index], out);
        }
    }

    fn read(&mut self, now: Duration, node: NodeId, from: ConnectionId, out: &mut VecDeque<Wake>) {
        while let Some(message) = self.endpoint.recv(from) {
            let received = Received {
                at: now,
                node,
                from,
                channel: message.channel,
                payload: message.payload.to_vec(),
            };
            match &mut self.broken {
                None => out.push_back(Wake::Message(received)),
                Some(broken) => broken.on_message(received, out),
            }
        }
    }

    fn report(&mut self, now: Duration, node: NodeId, id: ConnectionId, out: &mut VecDeque<Wake>) {
        while let Some(delivery) = self.endpoint.poll_delivery(id) {
            out.push_back(Wake::Delivery {
                at: now,
                node,
                id,
                delivery,
            });
        }
    }

    fn hand_over(&mut self, wake: Wake, out: &mut VecDeque<Wake>) {
        match &mut self.broken {
            None => out.push_back(wake),
            Some(broken) => broken.on_event(wake, out),
        }
    }
}
