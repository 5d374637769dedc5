//! The `protocol` suite: endpoints that connect, talk, move, close, die and return through all network conditions.

mod operations;

use std::time::Duration;

use samestep_netem::Rng;
use samestep_proto::{
    AcceptConfig, ChannelConfig, ChannelId, Cipher, Config, Delivery, LossRecovery, Security,
};

use super::conditions::{Severity, good_link};
use super::{Outcome, Trace};
use crate::check::{Breach, Promise};
use crate::stamp::{STAMP_BYTES, Tag};
use crate::{Attack, EndpointTestbed, Hostile, NodeId, Pace, Referee, Wake};

/// Messages each world sends at least.
const MESSAGES: u64 = 1_000;
/// How long the random part lasts at least.
const ACTIVE: Duration = Duration::from_secs(30);
/// A world that has not sent its messages by then makes no progress.
const LONGEST: Duration = Duration::from_secs(120);
/// How long after the network recovers everything must have arrived: time-outs of half-open connections included.
const HEAL_BOUND: Duration = Duration::from_secs(15);
/// Bytes a world sends at most, so that no seed takes much longer than the others.
const BYTES: usize = 3_000_000;
/// What an endpoint may hold: everything the world sends, and tables.
const MEMORY: usize = BYTES + (1 << 20);
/// What an endpoint may hold once all its connections are closed.
const MEMORY_IDLE: usize = 64 << 10;

/// Runs the world of `seed`: messages sent, and what went wrong.
pub(super) fn run(seed: u64, trace: Trace<'_>) -> Outcome {
    let mut script = Script::new(seed, trace);
    let result = script.run();
    (script.referee.accepted(), result)
}

/// Timer keys; those from `MEND` on end the separation of that index.
const OPERATION: u64 = 0;
const WEATHER: u64 = 1;
const MEASURE: u64 = 2;
const MEND: u64 = 16;

enum Separation {
    Pair(NodeId, NodeId),
    Node(NodeId),
}

struct Script<'t> {
    rng: Rng,
    world: EndpointTestbed,
    referee: Referee,
    severity: Severity,
    channels: Vec<ChannelConfig>,
    nodes: Vec<Member>,
    /// Pairs that connect, in this direction.
    routes: Vec<(NodeId, NodeId)>,
    separations: Vec<Separation>,
    password: Option<String>,
    timeout: Duration,
    bytes_left: usize,
    active: bool,
    trace: Trace<'t>,
}

struct Member {
    id: NodeId,
    security: Security,
    accepts: bool,
}

impl<'t> Script<'t> {
    fn new(seed: u64, trace: Trace<'t>) -> Script<'t> {
        let mut rng = Rng::stream(seed, 1);
        let severity = Severity::random(&mut rng);
        let channels = random_channels(&mut rng);
        let password = rng.chance(0.25).then(|| "open sesame".to_owned());
        let base = Config {
            game: "soak".into(),
            version: 1,
            channels: channels.clone(),
            keep_alive: Duration::from_millis(rng.range(300..1_200)),
            timeout: Duration::from_millis(rng.range(2_500..6_000)),
            connect_timeout: Duration::from_millis(rng.range(1_500..4_000)),
            ..Config::default()
        };
        let mut script = Script {
            world: EndpointTestbed::new(seed),
            referee: Referee::new(rng.next_u64(), &channels, HEAL_BOUND),
            severity,
            channels,
            nodes: Vec::new(),
            routes: Vec::new(),
            separations: Vec::new(),
            password,
            timeout: base.timeout,
            bytes_left: BYTES,
            active: true,
            trace,
            rng,
        };
        script.populate(&base);
        script
    }

    /// Two to sixteen nodes, more often few: a server with clients, or a mesh.
    fn populate(&mut self, base: &Config) {
        let rng = &mut self.rng;
        let share = rng.f64();
        let count = 2 + (share * share * 14.99) as usize;
        let mesh = rng.chance(0.35);
        let common = match rng.chance(0.5) {
            true => Security::Encrypted,
            false => Security::Plain,
        };
        let mixed = rng.chance(0.15);
        for index in 0..count {
            let security = match (mixed && index > 1 && rng.chance(0.3), common) {
                (true, Security::Encrypted) => Security::Plain,
                (true, Security::Plain) => Security::Encrypted,
                (false, common) => common,
            };
            let accepts = mesh || index == 0;
            let accept = accepts.then(|| AcceptConfig {
                capacity: if rng.chance(0.1) { 1 + count / 2 } else { 64 },
                password: self.password.clone().map(Into::into),
                ..AcceptConfig::default()
            });
            let id = self.world.add_node(Config {
                security,
                accept,
                cipher: if rng.chance(0.8) {
                    Cipher::Aes256Gcm
                } else {
                    Cipher::ChaCha20Poly1305
                },
                max_packet: [1200, 1200, 1200, 1350, 4000][rng.range(0..5) as usize],
                ..base.clone()
            });
            if rng.chance(0.15) {
                let period = Duration::from_micros(rng.range(4_000..34_000));
                self.world.set_pace(id, Pace::Frames { period });
            }
            self.referee.set_memory_limit(id, MEMORY);
            self.nodes.push(Member {
                id,
                security,
                accepts,
            });
        }
        if rng.chance(0.15) {
            let target = self.nodes[rng.range(0..count as u64) as usize].id;
            self.world
                .add_attack(Attack::new(target, 40.0, &Hostile::ALL).until(ACTIVE));
        }
        for (index, member) in self.nodes.iter().enumerate().skip(1) {
            self.routes.push((member.id, self.nodes[0].id));
            if mesh && index > 1 {
                let other = rng.range(1..index as u64) as usize;
                self.routes.push((member.id, self.nodes[other].id));
            }
        }
    }

    fn run(&mut self) -> Result<(), Breach> {
        self.active_phase()?;
        self.healing_phase()?;
        self.closing_phase()
    }

    fn active_phase(&mut self) -> Result<(), Breach> {
        for index in 0..self.nodes.len() {
            let Member {
                id,
                security,
                accepts,
            } = self.nodes[index];
            let address = self.world.address(id);
            self.trace(|| format!("{id} at {address}: {security:?}, accepts {accepts}"));
        }
        for index in 0..self.channels.len() {
            let ChannelConfig {
                delivery,
                priority,
                recovery,
                report,
                max_message,
                ..
            } = self.channels[index];
            self.trace(|| format!("channel {index}: {delivery:?}, {recovery:?}, priority {priority}, report {report}, up to {max_message}"));
        }
        // One world in ten starts with links without any delay, where everything happens in one instant.
        if self.rng.chance(0.9) {
            let link = self.severity.random_link(&mut self.rng);
            self.world.set_links(link);
        }
        for key in [OPERATION, WEATHER, MEASURE] {
            self.world.set_timer(Duration::ZERO, key);
        }
        for index in 0..self.routes.len() {
            self.connect(self.routes[index]);
        }
        let mut until = ACTIVE;
        loop {
            self.run_until(until)?;
            if self.referee.accepted() >= MESSAGES {
                return Ok(());
            }
            if until >= LONGEST {
                let what = format!("only {} messages could be sent", self.referee.accepted());
                return Err(Promise::Progress.breach(self.world.now(), what));
            }
            until += Duration::from_secs(1);
        }
    }

    /// The network recovers; everything under way must settle.
    fn healing_phase(&mut self) -> Result<(), Breach> {
        self.active = false;
        self.world.mend_all();
        self.world.set_links(good_link());
        self.referee.on_healed(self.world.now());
        while !self.referee.settled(self.world.now())? {
            self.run_until(self.world.now() + Duration::from_millis(250))?;
        }
        // Late copies would show up now, and ends that lost each other by both moving at once time out.
        self.run_until(self.world.now() + self.timeout + Duration::from_secs(1))?;
        self.referee.settled(self.world.now()).map(|_| ())
    }

    /// Every open connection says a last word and closes: the word and the reason must arrive.
    fn closing_phase(&mut self) -> Result<(), Breach> {
        // An end whose peer has given up just before does not know it yet: nothing is owed between them.
        let open: Vec<(Tag, usize)> = self.referee.open().collect();
        let tags: Vec<Tag> = open
            .iter()
            .filter(|(tag, side)| *side == 0 && open.contains(&(*tag, 1)))
            .map(|(tag, _)| *tag)
            .collect();
        for (index, tag) in tags.iter().enumerate() {
            let side = self.rng.range(0..2) as usize;
            for channel in 0..self.channels.len() as u8 {
                let bytes = self.rng.range(STAMP_BYTES as u64..2_000) as usize;
                let _ = self
                    .referee
                    .send(&mut self.world, *tag, side, ChannelId(channel), bytes);
            }
            self.referee.close(
                &mut self.world,
                *tag,
                side,
                index as u32,
                &format!("good night {index}"),
            );
        }
        self.run_until(self.world.now() + Duration::from_secs(4))?;
        let now = self.world.now();
        self.referee.finish(now, &tags)?;
        // Closed connections linger to answer repeats, longer where the round trip was long.
        self.run_until(now + Duration::from_secs(10))?;
        for member in &self.nodes {
            let open = self.world.endpoint(member.id).endpoint_stats().open;
            let bytes = self.world.memory_bytes(member.id);
            if open > 0 || bytes > MEMORY_IDLE {
                let what = format!(
                    "{} holds {open} connections and {bytes} bytes after all closed",
                    member.id
                );
                return Err(Promise::BoundedMemory.breach(now, what));
            }
        }
        Ok(())
    }

    fn run_until(&mut self, until: Duration) -> Result<(), Breach> {
        while let Some(wake) = self.world.next(until) {
            self.trace(|| format!("{wake:?}"));
            self.referee.on_wake(&wake)?;
            match wake {
                Wake::Timer { key: OPERATION, .. } if self.active => {
                    self.operate();
                    self.again(OPERATION, 0.05);
                }
                Wake::Timer { key: WEATHER, .. } if self.active => {
                    self.change_links();
                    self.again(WEATHER, 4.0);
                }
                Wake::Timer { key: MEASURE, .. } => {
                    self.referee.measure_memory(&self.world)?;
                    self.again(MEASURE, 1.0);
                }
                Wake::Timer { key, .. } if key >= MEND => {
                    self.trace(|| format!("separation {} ends", key - MEND));
                    match self.separations[(key - MEND) as usize] {
                        Separation::Pair(a, b) => self.world.mend(a, b),
                        Separation::Node(node) => self.world.rejoin(node),
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Tells whoever watches what happens; a timer is told as what it does.
    fn trace(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let what = what();
            if !what.starts_with("Timer") {
                trace(format!("{:.6} {what:.200}", self.world.now().as_secs_f64()));
            }
        }
    }

    fn again(&mut self, key: u64, mean_s: f64) {
        let wait = Duration::from_secs_f64(mean_s * self.rng.exponential());
        self.world.set_timer(self.world.now() + wait, key);
    }

    fn pick_node(&mut self) -> NodeId {
        self.nodes[self.rng.range(0..self.nodes.len() as u64) as usize].id
    }

    fn pick_route(&mut self) -> (NodeId, NodeId) {
        self.routes[self.rng.range(0..self.routes.len() as u64) as usize]
    }
}

/// One channel for each delivery, and some more with random settings.
fn random_channels(rng: &mut Rng) -> Vec<ChannelConfig> {
    let mut channels = Delivery::ALL.map(ChannelConfig::new).to_vec();
    for _ in 0..rng.range(0..5) {
        let delivery = Delivery::ALL[rng.range(0..Delivery::ALL.len() as u64) as usize];
        let mut channel = ChannelConfig::new(delivery).priority(rng.next_u32() as u8);
        if !delivery.is_redundant() {
            channel.recovery = [
                LossRecovery::Fec,
                LossRecovery::Repeat,
                LossRecovery::Retransmit,
            ][rng.range(0..3) as usize];
        }
        channel.report = rng.chance(0.3);
        if rng.chance(0.3) {
            channel.max_message = 8_000;
            channel.queue_limit = 16_000;
        }
        channels.push(channel);
    }
    channels
}
