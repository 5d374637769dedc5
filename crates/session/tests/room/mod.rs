//! A few sessions joined by links in virtual time.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use samestep_netem::{Link, LinkConfig, Rng};
use samestep_session::{JoinTo, Role, Session, SessionConfig, SessionEvent, State};

/// The number of a session in its network.
pub type NodeIndex = usize;

/// Sessions, the links between them, and everything each of them was told.
pub struct TestNetwork {
    pub now: Duration,
    pub sessions: Vec<Option<Session>>,
    pub events: Vec<Vec<SessionEvent>>,
    link: LinkConfig,
    links: BTreeMap<(NodeIndex, NodeIndex), Link>,
    cut: BTreeSet<(NodeIndex, NodeIndex)>,
    flying: BTreeMap<(Duration, u64), (NodeIndex, NodeIndex, Vec<u8>)>,
    count: u64,
    rng: Rng,
}

pub fn address(node: NodeIndex) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, node as u8 + 1], 4000))
}

pub fn config(name: &str) -> SessionConfig {
    SessionConfig::new("test", 1).player(name)
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl TestNetwork {
    pub fn new(seed: u64, link: LinkConfig) -> TestNetwork {
        TestNetwork {
            now: Duration::from_secs(1),
            sessions: Vec::new(),
            events: Vec::new(),
            link,
            links: BTreeMap::new(),
            cut: BTreeSet::new(),
            flying: BTreeMap::new(),
            count: 0,
            rng: Rng::new(seed),
        }
    }

    /// Perfect links of 10 ms.
    pub fn near(seed: u64) -> TestNetwork {
        let link = LinkConfig {
            latency: ms(10),
            ..LinkConfig::default()
        };
        TestNetwork::new(seed, link)
    }

    /// Links of 30 ms with jitter that lose, double and reorder.
    pub fn rough(seed: u64) -> TestNetwork {
        let mut link = LinkConfig::default();
        for (key, value) in [
            ("latency_ms", "30"),
            ("jitter_ms", "10"),
            ("loss", "0.1"),
            ("duplicate", "0.05"),
            ("reorder", "0.05"),
        ] {
            link.set(key, value).unwrap();
        }
        TestNetwork::new(seed, link)
    }

    pub fn enter(&mut self, config: SessionConfig, role: Role) -> NodeIndex {
        let node = self.sessions.len();
        self.sessions.push(None);
        self.events.push(Vec::new());
        self.replace(node, config, role);
        node
    }

    /// A program starts where one was before.
    pub fn replace(&mut self, node: NodeIndex, config: SessionConfig, role: Role) {
        let mut seed = [0; 32];
        for part in seed.chunks_exact_mut(8) {
            part.copy_from_slice(&self.rng.next_u64().to_le_bytes());
        }
        let now = self.local(node);
        let session = Session::new(now, config, role, seed).unwrap();
        self.sessions[node] = Some(session);
    }

    /// A host and clients, in sync.
    pub fn hosted(&mut self, config: SessionConfig, clients: usize) -> Vec<NodeIndex> {
        let mut nodes = vec![self.enter(config.clone(), Role::Host)];
        for _ in 0..clients {
            let role = Role::Client(JoinTo::new(address(nodes[0])));
            nodes.push(self.enter(config.clone(), role));
        }
        self.settle(&nodes);
        nodes
    }

    /// A mesh, in sync.
    pub fn mesh(&mut self, config: SessionConfig, members: usize) -> Vec<NodeIndex> {
        let mut nodes = vec![self.enter(config.clone(), Role::Introducer)];
        for _ in 1..members {
            let role = Role::Peer(JoinTo::new(address(nodes[0])));
            nodes.push(self.enter(config.clone(), role));
        }
        self.settle(&nodes);
        nodes
    }

    fn settle(&mut self, nodes: &[NodeIndex]) {
        self.run_until(ms(20_000), |network| {
            nodes.iter().all(|p| {
                *network.at(*p).state() == State::InSync
                    && network.at(*p).room() == network.at(nodes[0]).room()
                    && network.at(*p).room().peers().len() == nodes.len()
            })
        });
    }

    pub fn at(&self, node: NodeIndex) -> &Session {
        self.sessions[node].as_ref().expect("a running session")
    }

    pub fn with<R>(&mut self, node: NodeIndex, act: impl FnOnce(Duration, &mut Session) -> R) -> R {
        let now = self.local(node);
        act(
            now,
            self.sessions[node].as_mut().expect("a running session"),
        )
    }

    /// Each program's clock has an epoch of its own.
    pub fn local(&self, node: NodeIndex) -> Duration {
        self.now + Duration::from_secs(1000 * node as u64)
    }

    /// Two nodes no longer hear each other.
    pub fn cut(&mut self, a: NodeIndex, b: NodeIndex) {
        self.cut.insert((a, b));
        self.cut.insert((b, a));
    }

    pub fn isolate(&mut self, group: &[NodeIndex]) {
        for a in 0..self.sessions.len() {
            for b in 0..self.sessions.len() {
                if group.contains(&a) != group.contains(&b) {
                    self.cut(a, b);
                }
            }
        }
    }

    pub fn mend(&mut self) {
        self.cut.clear();
    }

    /// The program is gone without a word.
    pub fn kill(&mut self, node: NodeIndex) {
        self.sessions[node] = None;
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        self.run_to(end, |_| false);
    }

    /// Runs until it is so.
    #[track_caller]
    pub fn run_until(&mut self, at_most: Duration, so: impl Fn(&TestNetwork) -> bool) {
        let end = self.now + at_most;
        assert!(self.run_to(end, so), "not within {at_most:?}: {self:#?}");
    }

    fn run_to(&mut self, end: Duration, so: impl Fn(&TestNetwork) -> bool) -> bool {
        loop {
            self.exchange();
            if so(self) {
                return true;
            }
            let mut next = end;
            for node in 0..self.sessions.len() {
                let offset = Duration::from_secs(1000 * node as u64);
                let due = self.sessions[node].as_mut().and_then(Session::poll_timeout);
                if let Some(due) = due {
                    next = next.min(due.saturating_sub(offset).max(self.now));
                }
            }
            if let Some(((at, _), _)) = self.flying.first_key_value() {
                next = next.min(*at);
            }
            if next >= end {
                self.now = end;
                return so(self);
            }
            self.now = next.max(self.now);
            while let Some(((at, _), _)) = self.flying.first_key_value()
                && *at <= self.now
            {
                let (_, (from, to, mut bytes)) = self.flying.pop_first().unwrap();
                let now = self.local(to);
                if let Some(session) = &mut self.sessions[to] {
                    session.handle_datagram(now, address(from), &mut bytes);
                }
            }
            for node in 0..self.sessions.len() {
                let now = self.local(node);
                if let Some(session) = &mut self.sessions[node]
                    && session.poll_timeout().is_some_and(|at| at <= now)
                {
                    session.handle_timeout(now);
                }
            }
        }
    }

    fn exchange(&mut self) {
        let mut buf = [0; 1500];
        for node in 0..self.sessions.len() {
            let now = self.local(node);
            let Some(session) = &mut self.sessions[node] else {
                continue;
            };
            while let Some(event) = session.poll_event() {
                self.events[node].push(event);
            }
            while let Some(sent) = session.poll_transmit(now, &mut buf) {
                let SocketAddr::V4(to) = sent.to else {
                    continue;
                };
                let to = usize::from(to.ip().octets()[3]) - 1;
                if self.cut.contains(&(node, to)) || to >= self.events.len() {
                    continue;
                }
                let seed = self.rng.next_u64();
                let link = self
                    .links
                    .entry((node, to))
                    .or_insert_with(|| Link::new(self.link.clone(), seed).unwrap());
                for at in link.send(self.now, sent.len).arrivals {
                    self.count += 1;
                    let datagram = (node, to, buf[..sent.len].to_vec());
                    self.flying.insert((at, self.count), datagram);
                }
            }
            while let Some(event) = session.poll_event() {
                self.events[node].push(event);
            }
        }
    }

    /// Whether all these have the same room, and take part.
    pub fn agree(&self, nodes: &[NodeIndex]) -> bool {
        nodes.iter().all(|p| {
            *self.at(*p).state() == State::InSync && self.at(*p).room() == self.at(nodes[0]).room()
        })
    }

    pub fn seen(&self, node: NodeIndex, event: &SessionEvent) -> usize {
        self.events[node].iter().filter(|e| *e == event).count()
    }
}

impl std::fmt::Debug for TestNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "at {:?}", self.now)?;
        for (node, session) in self.sessions.iter().enumerate() {
            writeln!(f, "{node}: {session:?}")?;
            if let Some(session) = session {
                for peer in session.room().peers() {
                    writeln!(f, "    {} {:?} {:?}", peer.id, peer.kind, peer.presence)?;
                }
            }
            let from = self.events[node].len().saturating_sub(12);
            for event in &self.events[node][from..] {
                let event: String = format!("{event:?}").chars().take(100).collect();
                writeln!(f, "    {event}")?;
            }
        }
        Ok(())
    }
}
