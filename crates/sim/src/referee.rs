//! Watches a whole world and holds it to the protocol's promises.

mod flow;

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_proto::{
    ChannelConfig, ChannelId, CloseReason, ConnectError, ConnectOptions, ConnectionId, Delivery,
    Event, Outcome, RefuseReason, SendError,
};

use crate::check::{BoundedMemory, Breach, CloseReasons, Progress, Promise};
use crate::stamp::Tag;
use crate::wake::{Received, Wake};
use crate::{EndpointTestbed, NodeId};
use flow::FlowChecks;

/// Makes and recognises every message of a world and feeds all checkers.
///
/// What it is to know of has to go through it: [`connect`](Referee::connect), [`send`](Referee::send),
/// [`close`](Referee::close), [`abort`](Referee::abort), [`restart`](Referee::restart), and every wake to
/// [`on_wake`](Referee::on_wake).
pub struct Referee {
    key: u64,
    deliveries: Vec<Delivery>,
    connections: Vec<Connection>,
    /// Which connection and side an endpoint's id stands for, while it is alive there.
    ends: BTreeMap<(NodeId, ConnectionId), (Tag, usize)>,
    memory: BTreeMap<NodeId, BoundedMemory>,
    progress: Progress,
    payload: Vec<u8>,
    accepted: u64,
    received: u64,
}

/// Side 0 connected, side 1 accepted.
struct Connection {
    nodes: [NodeId; 2],
    ends: [End; 2],
    hopeless: bool,
    reasons: CloseReasons,
    flows: BTreeMap<(usize, ChannelId), FlowChecks>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The accepting side has not heard of it yet.
    Unknown,
    Connecting(ConnectionId),
    Open(ConnectionId),
    /// This side has asked to close it.
    Closing(ConnectionId),
    Closed,
    /// The process died.
    Dead,
}

impl Referee {
    /// A referee for a world whose endpoints all have these channels. `key` makes its messages unlike any others;
    /// everything reliable must have arrived `bound` after [`on_healed`](Referee::on_healed).
    pub fn new(key: u64, channels: &[ChannelConfig], bound: Duration) -> Referee {
        Referee {
            key,
            deliveries: channels.iter().map(|channel| channel.delivery).collect(),
            connections: Vec::new(),
            ends: BTreeMap::new(),
            memory: BTreeMap::new(),
            progress: Progress::new(bound),
            payload: Vec::new(),
            accepted: 0,
            received: 0,
        }
    }

    /// Messages accepted by `send` so far.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Messages received so far.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Connects two nodes. The tag travels as user data, which is how the accepting side is recognised.
    pub fn connect(
        &mut self,
        world: &mut EndpointTestbed,
        from: NodeId,
        to: NodeId,
        options: ConnectOptions,
    ) -> Result<Tag, ConnectError> {
        let tag = Tag(self.connections.len() as u32);
        let user_data = tag.0.to_le_bytes().to_vec();
        let id = world.connect(
            from,
            to,
            ConnectOptions {
                user_data,
                ..options
            },
        )?;
        self.ends.insert((from, id), (tag, 0));
        self.connections.push(Connection {
            nodes: [from, to],
            ends: [End::Connecting(id), End::Unknown],
            hopeless: false,
            reasons: CloseReasons::default(),
            flows: BTreeMap::new(),
        });
        Ok(tag)
    }

    /// A connection that must never come about, because of a wrong password for instance.
    pub fn expect_refusal(&mut self, tag: Tag) {
        self.connections[tag.0 as usize].hopeless = true;
    }

    /// Sends a message of this length over one side (0: the connecting, 1: the accepting) of a connection, and returns
    /// its bytes, which no other message has.
    pub fn send(
        &mut self,
        world: &mut EndpointTestbed,
        tag: Tag,
        side: usize,
        channel: ChannelId,
        bytes: usize,
    ) -> Result<&[u8], SendError> {
        let connection = &mut self.connections[tag.0 as usize];
        let End::Open(id) = connection.ends[side] else {
            return Err(SendError::NotConnected);
        };
        let (key, delivery) = (self.key, self.deliveries[usize::from(channel.0)]);
        let flow = connection.flow(key, delivery, tag, side, channel);
        flow.origin.write_next(bytes, &mut self.payload);
        world.send(flow.flow.from, id, channel, &self.payload)?;
        flow.origin.on_sent(bytes);
        flow.exactly_once.on_sent();
        self.accepted += 1;
        Ok(&self.payload)
    }

    /// Closes a connection from one side, after its reliable messages.
    pub fn close(
        &mut self,
        world: &mut EndpointTestbed,
        tag: Tag,
        side: usize,
        code: u32,
        reason: &str,
    ) {
        if let Some((node, id)) = self.on_close(tag, side, code, reason) {
            world.close(node, id, code, reason);
        }
    }

    /// Closes a connection from one side at once.
    pub fn abort(
        &mut self,
        world: &mut EndpointTestbed,
        tag: Tag,
        side: usize,
        code: u32,
        reason: &str,
    ) {
        if let Some((node, id)) = self.on_close(tag, side, code, reason) {
            world.abort(node, id, code, reason);
        }
    }

    fn on_close(
        &mut self,
        tag: Tag,
        side: usize,
        code: u32,
        reason: &str,
    ) -> Option<(NodeId, ConnectionId)> {
        let connection = &mut self.connections[tag.0 as usize];
        let (End::Open(id) | End::Connecting(id)) = connection.ends[side] else {
            return None;
        };
        connection.ends[side] = End::Closing(id);
        connection.reasons.on_close(side, code, reason);
        Some((connection.nodes[side], id))
    }

    /// Lets a node's process die and start again.
    pub fn restart(&mut self, world: &mut EndpointTestbed, node: NodeId) {
        self.ends.retain(|(of, _), (tag, side)| {
            if *of == node {
                self.connections[tag.0 as usize].ends[*side] = End::Dead;
            }
            *of != node
        });
        world.restart(node);
    }

    /// The open ends: connection and side.
    pub fn open(&self) -> impl Iterator<Item = (Tag, usize)> {
        self.ends
            .values()
            .copied()
            .filter(|(tag, side)| self.is_open(*tag, *side))
    }

    /// Whether one side of a connection is open and not closing.
    pub fn is_open(&self, tag: Tag, side: usize) -> bool {
        matches!(self.connections[tag.0 as usize].ends[side], End::Open(_))
    }

    /// The nodes at both sides of a connection.
    pub fn nodes(&self, tag: Tag) -> [NodeId; 2] {
        self.connections[tag.0 as usize].nodes
    }

    /// Whether a node has a connection to another that it started and that is not over.
    pub fn is_connected(&self, from: NodeId, to: NodeId) -> bool {
        self.ends
            .values()
            .any(|(tag, side)| *side == 0 && self.connections[tag.0 as usize].nodes == [from, to])
    }

    /// Checks whatever the world reports.
    pub fn on_wake(&mut self, wake: &Wake) -> Result<(), Breach> {
        match wake {
            Wake::Timer { .. } => Ok(()),
            Wake::Message(received) => self.on_message(received),
            Wake::Event { at, node, event } => {
                let checked = self.on_event(*node, event);
                checked.map_err(|(promise, what)| promise.breach(*at, what))
            }
            Wake::Delivery {
                at,
                node,
                id,
                delivery,
            } => {
                let Some(&(tag, side)) = self.ends.get(&(*node, *id)) else {
                    return Ok(());
                };
                let connection = &mut self.connections[tag.0 as usize];
                let promised = self.deliveries[usize::from(delivery.channel.0)];
                let flow = connection.flow(self.key, promised, tag, side, delivery.channel);
                let number = delivery.message.0 as u32;
                let acked = delivery.outcome == Outcome::Acked;
                let name = flow.flow;
                flow.reports
                    .on_report(number, acked, flow.has_arrived(number))
                    .map_err(|what| {
                        let what = format!("{name}, {promised:?}: {what}");
                        Promise::HonestReports.breach(*at, what)
                    })
            }
        }
    }

    fn on_message(&mut self, message: &Received) -> Result<(), Breach> {
        let breach = |promise: Promise, what| promise.breach(message.at, what);
        let Some(&(tag, side)) = self.ends.get(&(message.node, message.from)) else {
            let what = format!(
                "{} got a message on an unknown connection {}",
                message.node, message.from
            );
            return Err(breach(Promise::LifeCycle, what));
        };
        let connection = &mut self.connections[tag.0 as usize];
        if let End::Connecting(_) = connection.ends[side] {
            let what = format!("{} got a message before it was connected", message.node);
            return Err(breach(Promise::LifeCycle, what));
        }
        let delivery = self.deliveries[usize::from(message.channel.0)];
        let flow = connection.flow(self.key, delivery, tag, 1 - side, message.channel);
        self.received += 1;
        let name = flow.flow;
        flow.on_received(&message.payload)
            .map_err(|(promise, what)| breach(promise, format!("{name}: {what}")))
    }

    fn on_event(&mut self, node: NodeId, event: &Event) -> Result<(), (Promise, String)> {
        let broken = |what: String| Err((Promise::LifeCycle, what));
        match event {
            Event::Connected {
                id,
                incoming: true,
                user_data,
                ..
            } => {
                let tag = match <[u8; 4]>::try_from(&user_data[..]) {
                    Ok(bytes) => Tag(u32::from_le_bytes(bytes)),
                    Err(_) => {
                        return broken(format!(
                            "{node} accepted a connection with user data {user_data:?}"
                        ));
                    }
                };
                let known = self
                    .connections
                    .get_mut(tag.0 as usize)
                    .filter(|known| known.nodes[1] == node);
                let Some(connection) = known else {
                    return broken(format!(
                        "{node} accepted connection {}, which nobody started",
                        tag.0
                    ));
                };
                if connection.hopeless {
                    return broken(format!(
                        "{node} accepted connection {}, which it had to refuse",
                        tag.0
                    ));
                }
                if !matches!(connection.ends[1], End::Unknown | End::Dead) {
                    return broken(format!("{node} accepted connection {} twice", tag.0));
                }
                connection.ends[1] = End::Open(*id);
                self.ends.insert((node, *id), (tag, 1));
                Ok(())
            }
            Event::Connected { id, .. } => match self.ends.get(&(node, *id)) {
                None => broken(format!(
                    "{node} is connected as {id}, which it did not start"
                )),
                Some(&(tag, side)) => match &mut self.connections[tag.0 as usize].ends[side] {
                    end @ End::Connecting(_) => {
                        *end = End::Open(*id);
                        Ok(())
                    }
                    End::Closing(_) => Ok(()),
                    end => broken(format!(
                        "{node} is connected as {id} (connection {}) when {end:?}",
                        tag.0
                    )),
                },
            },
            Event::Closed { id, reason } => {
                let Some((tag, side)) = self.ends.remove(&(node, *id)) else {
                    return broken(format!("{node} closed unknown connection {id}: {reason}"));
                };
                let connection = &mut self.connections[tag.0 as usize];
                let before = std::mem::replace(&mut connection.ends[side], End::Closed);
                if matches!(reason, CloseReason::Protocol(_)) {
                    return broken(format!(
                        "{node}: connection {} broke the protocol: {reason}",
                        tag.0
                    ));
                }
                if matches!(before, End::Open(_)) && matches!(reason, CloseReason::Local) {
                    return broken(format!("{node}: connection {} closed by itself", tag.0));
                }
                // A server may find out that it is full only after the client connected: then it closes by itself.
                let full = RefuseReason::Full.to_string();
                let turned_away =
                    matches!(reason, CloseReason::Remote { reason, .. } if *reason == full);
                if turned_away && side == 0 && connection.ends[1] == End::Unknown {
                    return Ok(());
                }
                let what = |what| {
                    (
                        Promise::CloseReasons,
                        format!("{node}, connection {}: {what}", tag.0),
                    )
                };
                connection.reasons.on_closed(side, reason).map_err(what)
            }
            Event::Moved { .. } | Event::Readable { .. } | Event::Refused { .. } => Ok(()),
        }
    }

    /// The network works from `now` on, and nothing more is sent, closed or moved.
    pub fn on_healed(&mut self, now: Duration) {
        self.progress.on_healed(now);
    }

    /// When everything must be settled, once healed.
    pub fn deadline(&self) -> Option<Duration> {
        self.progress.deadline()
    }

    /// Whether everything reliable has arrived and both ends of each connection agree whether it is open; after the
    /// deadline anything outstanding is a breach.
    pub fn settled(&self, now: Duration) -> Result<bool, Breach> {
        let outstanding = self.outstanding();
        let Some(what) = outstanding else {
            return Ok(true);
        };
        match self.progress.on_outstanding(now, || what) {
            Ok(()) => Ok(false),
            Err(what) => Err(Promise::Progress.breach(now, what)),
        }
    }

    fn outstanding(&self) -> Option<String> {
        for (tag, connection) in self.connections.iter().enumerate() {
            let [a, b] = connection.nodes;
            match connection.ends {
                [End::Open(_), End::Open(_)] => {
                    for flow in connection
                        .flows
                        .values()
                        .filter(|flow| flow.delivery.is_reliable())
                    {
                        let count = flow.exactly_once.outstanding();
                        if count > 0 {
                            let first = flow.exactly_once.finish().err().unwrap_or_default();
                            return Some(format!(
                                "{}: {count} messages outstanding, {first}",
                                flow.flow
                            ));
                        }
                    }
                }
                [
                    End::Closed | End::Dead,
                    End::Unknown | End::Closed | End::Dead,
                ] => {}
                ends => return Some(format!("connection {tag} of {a} and {b} is {ends:?}")),
            }
        }
        None
    }

    /// After a final, graceful close over a working network: what was sent before closing has arrived, and the reason
    /// too. `tags` are the connections that were closed then.
    pub fn finish(&self, now: Duration, tags: &[Tag]) -> Result<(), Breach> {
        for tag in tags {
            let connection = &self.connections[tag.0 as usize];
            let named =
                |what| Promise::CloseReasons.breach(now, format!("connection {}: {what}", tag.0));
            connection.reasons.finish().map_err(named)?;
            for ((side, _), flow) in connection
                .flows
                .iter()
                .filter(|(_, flow)| flow.delivery.is_reliable())
            {
                if connection.reasons.has_closed(*side) {
                    let named = |what| {
                        let what = format!("{}, after closing: {what}", flow.flow);
                        Promise::ExactlyOnce.breach(now, what)
                    };
                    flow.exactly_once.finish().map_err(named)?;
                }
            }
        }
        Ok(())
    }

    /// Sets how much memory a node's endpoint may hold.
    pub fn set_memory_limit(&mut self, node: NodeId, limit_bytes: usize) {
        let memory = self
            .memory
            .entry(node)
            .or_insert(BoundedMemory::new(limit_bytes));
        memory.set_limit(limit_bytes);
    }

    /// Measures the memory of every node that has a limit.
    pub fn measure_memory(&mut self, world: &EndpointTestbed) -> Result<(), Breach> {
        for (node, memory) in &mut self.memory {
            let checked = memory.on_measured(world.memory_bytes(*node));
            checked.map_err(|what| {
                Promise::BoundedMemory.breach(world.now(), format!("{node} {what}"))
            })?;
        }
        Ok(())
    }

    /// The most memory any node held when measured.
    pub fn peak_memory_bytes(&self) -> usize {
        self.memory
            .values()
            .map(BoundedMemory::peak_bytes)
            .max()
            .unwrap_or(0)
    }
}
