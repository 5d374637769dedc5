//! A few sessions joined by links in virtual time.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::net::SocketAddr;
use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_proto::Clock;
use samestep_session::{JoinTo, PeerId, Role, Session, SessionConfig, SessionEvent, State};
use samestep_sim::{NodeId, Testbed};

/// The number of a session in its network.
pub type NodeIndex = usize;

/// Sessions on a testbed, and everything each of them was told.
pub struct TestNetwork {
    testbed: Testbed<Session>,
    pub events: Vec<Vec<SessionEvent>>,
}

pub fn address(node: NodeIndex) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, node as u8 + 1], 40_000 + node as u16))
}

fn id(node: NodeIndex) -> NodeId {
    NodeId(node as u16)
}

pub fn config(name: &str) -> SessionConfig {
    SessionConfig::new("test", 1).player(name)
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl TestNetwork {
    pub fn new(seed: u64, link: LinkConfig) -> TestNetwork {
        let mut testbed = Testbed::new(seed);
        testbed.set_links(link);
        TestNetwork {
            testbed,
            events: Vec::new(),
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
            ("latency", "30"),
            ("jitter", "10"),
            ("loss", "0.1"),
            ("duplicate", "0.05"),
            ("reorder", "0.05"),
        ] {
            link.set(key, value).unwrap();
        }
        TestNetwork::new(seed, link)
    }

    pub fn enter(&mut self, config: SessionConfig, role: Role) -> NodeIndex {
        let node = usize::from(self.testbed.add_node().0);
        self.events.push(Vec::new());
        self.replace(node, config, role);
        node
    }

    /// A program starts where one was before.
    pub fn replace(&mut self, node: NodeIndex, config: SessionConfig, role: Role) {
        self.testbed.start(id(node), |now, seed| {
            Session::new(now, config, role, seed).unwrap()
        });
    }

    /// A host starts again where it was, with the room that it had saved.
    pub fn resume(&mut self, node: NodeIndex, config: SessionConfig, saved: &[u8]) {
        self.testbed.start(id(node), |now, seed| {
            Session::resume(now, config, seed, saved).unwrap()
        });
    }

    /// A program that knows the time of day.
    pub fn enter_at(&mut self, unix_s: u64, mut config: SessionConfig, role: Role) -> NodeIndex {
        let node = usize::from(self.testbed.add_node().0);
        self.events.push(Vec::new());
        self.testbed.start(id(node), |now, seed| {
            config.protocol.clock = Some(Clock::starting(now, unix_s));
            Session::new(now, config, role, seed).unwrap()
        });
        node
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

    pub fn now(&self) -> Duration {
        self.testbed.now()
    }

    /// The nodes at which a session runs.
    pub fn running(&self) -> impl Iterator<Item = NodeIndex> {
        let nodes = 0..self.events.len();
        nodes.filter(|node| self.testbed.is_running(id(*node)))
    }

    pub fn at(&self, node: NodeIndex) -> &Session {
        self.testbed.machine(id(node)).expect("a running session")
    }

    /// The peer id that a session was given; it need not be the number of its node.
    pub fn peer(&self, node: NodeIndex) -> PeerId {
        self.at(node).me().expect("it has been admitted")
    }

    pub fn with<R>(&mut self, node: NodeIndex, act: impl FnOnce(Duration, &mut Session) -> R) -> R {
        let done = self.testbed.with(id(node), act);
        done.expect("a running session")
    }

    /// Each program's clock has an epoch of its own.
    pub fn local(&self, node: NodeIndex) -> Duration {
        self.testbed.local(id(node))
    }

    /// Loses everything between two nodes.
    pub fn cut(&mut self, a: NodeIndex, b: NodeIndex) {
        self.testbed.cut(id(a), id(b));
    }

    /// Cuts every link between a group and the others.
    pub fn isolate(&mut self, group: &[NodeIndex]) {
        self.testbed
            .split(|node| group.contains(&usize::from(node.0)));
    }

    pub fn mend(&mut self) {
        self.testbed.mend_all();
    }

    /// The program vanishes without a word.
    pub fn kill(&mut self, node: NodeIndex) {
        self.testbed.kill(id(node));
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now() + time;
        self.run_to(end, |_| false);
    }

    /// Runs until it is so.
    #[track_caller]
    pub fn run_until(&mut self, at_most: Duration, so: impl Fn(&TestNetwork) -> bool) {
        let end = self.now() + at_most;
        assert!(self.run_to(end, so), "not within {at_most:?}: {self:#?}");
    }

    fn run_to(&mut self, end: Duration, so: impl Fn(&TestNetwork) -> bool) -> bool {
        while !so(self) {
            if self.now() >= end {
                return false;
            }
            let until = end.min(self.now() + ms(1));
            while let Some((_, node, event)) = self.testbed.next(until) {
                self.events[usize::from(node.0)].push(event);
            }
        }
        true
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
        writeln!(f, "at {:?}", self.now())?;
        for node in self.running() {
            let session = self.at(node);
            writeln!(f, "{node}: {session:?}")?;
            for peer in session.room().peers() {
                writeln!(f, "    {} {:?} {:?}", peer.id, peer.kind, peer.presence)?;
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
