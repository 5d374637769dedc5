//! Hostile strangers: they see every datagram of the world, forge source addresses, and know the protocol.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use samestep_netem::Rng;
use samestep_proto::{Config, ConnectOptions, Endpoint};

use crate::NodeId;
use crate::network::damage;

/// One kind of hostile datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hostile {
    /// A real datagram of the past, from its real source.
    Replay,
    /// A real datagram, from another address.
    Spoof,
    /// A real datagram that ends early.
    Truncate,
    /// A real datagram with one to four bits flipped.
    BitFlip,
    /// A real datagram with rubbish behind it, up to 9,000 bytes.
    Oversize,
    /// Random bytes.
    Noise,
    /// The first datagram of a real client, from another address each time.
    Hello,
    /// A client's answer to the server's challenge with some bits flipped, from an address that passed the challenge:
    /// as far into the costly part of the handshake as one gets without being a client.
    Handshake,
}

impl Hostile {
    /// All kinds.
    pub const ALL: [Hostile; 8] = [
        Hostile::Replay,
        Hostile::Spoof,
        Hostile::Truncate,
        Hostile::BitFlip,
        Hostile::Oversize,
        Hostile::Noise,
        Hostile::Hello,
        Hostile::Handshake,
    ];
}

/// A stream of hostile datagrams to one node: see [`EndpointTestbed::add_attack`](crate::EndpointTestbed::add_attack).
pub struct Attack {
    target: NodeId,
    rate_hz: f64,
    kinds: Vec<Hostile>,
    until: Duration,
    rng: Rng,
    config: Config,
    hellos: Vec<Vec<u8>>,
    puppet: Option<Puppet>,
}

/// A client at an address of the attacker's own whose handshake is real but for the last step.
struct Puppet {
    endpoint: Endpoint,
    address: SocketAddr,
    born: Duration,
    answer: Option<Vec<u8>>,
}

/// A challenge is good for a while only: the puppet starts anew this often.
const PUPPET_LIFE: Duration = Duration::from_secs(2);

impl Attack {
    /// Sends `rate_hz` datagrams a second, each of one of the kinds given.
    pub fn new(target: NodeId, rate_hz: f64, kinds: &[Hostile]) -> Attack {
        assert!(
            rate_hz > 0.0 && !kinds.is_empty(),
            "an attack sends something"
        );
        Attack {
            target,
            rate_hz,
            kinds: kinds.to_vec(),
            until: Duration::MAX,
            rng: Rng::new(0),
            config: Config::default(),
            hellos: Vec::new(),
            puppet: None,
        }
    }

    /// The same, ending at a world time.
    pub fn until(mut self, end: Duration) -> Attack {
        self.until = end;
        self
    }

    pub(crate) fn target(&self) -> NodeId {
        self.target
    }

    /// Learns the target's configuration, so that forgeries look right.
    pub(crate) fn prepare(&mut self, config: &Config, seed: u64) {
        self.rng = Rng::new(seed);
        self.config = Config {
            accept: None,
            ..config.clone()
        };
        let nowhere = stranger(&mut self.rng);
        self.hellos = (0..16)
            .filter_map(|_| self.dial(Duration::ZERO, nowhere).1)
            .collect();
    }

    /// When the next datagram is due, unless the attack is over.
    pub(crate) fn next_strike(&mut self, now: Duration) -> Option<Duration> {
        let wait = self.rng.exponential() / self.rate_hz;
        (now < self.until).then(|| now + Duration::from_secs_f64(wait))
    }

    /// Makes one hostile datagram for `to` in `out` and returns its source address.
    pub(crate) fn forge(
        &mut self,
        now: Duration,
        tape: &Tape,
        to: SocketAddr,
        out: &mut Vec<u8>,
    ) -> SocketAddr {
        let kind = self.kinds[self.rng.range(0..self.kinds.len() as u64) as usize];
        match kind {
            Hostile::Hello => {
                let hello = &self.hellos[self.rng.range(0..self.hellos.len() as u64) as usize];
                out.extend_from_slice(hello);
                stranger(&mut self.rng)
            }
            Hostile::Handshake => self.forge_handshake(now, to, out),
            Hostile::Noise => {
                let bytes = self.rng.range(0..1500) as usize;
                out.resize(bytes, 0);
                self.rng.fill(out);
                stranger(&mut self.rng)
            }
            Hostile::Replay
            | Hostile::Spoof
            | Hostile::Truncate
            | Hostile::BitFlip
            | Hostile::Oversize => {
                let Some(real) = tape.pick(&mut self.rng, to) else {
                    return stranger(&mut self.rng);
                };
                out.extend_from_slice(&real.bytes);
                self.spoil(kind, out);
                match kind {
                    Hostile::Spoof => stranger(&mut self.rng),
                    _ => real.from,
                }
            }
        }
    }

    fn spoil(&mut self, kind: Hostile, bytes: &mut Vec<u8>) {
        match kind {
            Hostile::Truncate => bytes.truncate(self.rng.range(0..bytes.len() as u64 + 1) as usize),
            Hostile::BitFlip => {
                for _ in 0..self.rng.range(1..5) {
                    damage(bytes, self.rng.next_u64());
                }
            }
            Hostile::Oversize => {
                let real = bytes.len();
                bytes.resize(self.rng.range(real as u64 + 1..9_001) as usize, 0);
                self.rng.fill(&mut bytes[real..]);
            }
            _ => {}
        }
    }

    fn forge_handshake(&mut self, now: Duration, to: SocketAddr, out: &mut Vec<u8>) -> SocketAddr {
        match &self.puppet {
            Some(puppet) if now < puppet.born + PUPPET_LIFE => {
                if let Some(answer) = &puppet.answer {
                    out.extend_from_slice(answer);
                    let from = puppet.address;
                    let half = out.len() / 2;
                    damage(&mut out[half..], self.rng.next_u64());
                    return from;
                }
                out.extend_from_slice(&self.hellos[0]);
                puppet.address
            }
            _ => {
                let address = stranger(&mut self.rng);
                let (endpoint, hello) = self.dial(now, to);
                out.extend_from_slice(&hello.unwrap_or_default());
                self.puppet = Some(Puppet {
                    endpoint,
                    address,
                    born: now,
                    answer: None,
                });
                address
            }
        }
    }

    /// The target answered an address; if it is the puppet's, its next step becomes the mould for forgeries.
    pub(crate) fn on_reply(&mut self, at: Duration, reply: &Recorded) {
        let is_ours = |puppet: &&mut Puppet| puppet.address == reply.to;
        let Some(puppet) = self.puppet.as_mut().filter(is_ours) else {
            return;
        };
        let mut packet = vec![0; self.config.max_packet];
        let endpoint = &mut puppet.endpoint;
        endpoint.handle_datagram(at, reply.from, &mut reply.bytes.clone());
        if let Some(sent) = endpoint.poll_transmit(at, &mut packet) {
            packet.truncate(sent.len);
            puppet.answer.get_or_insert(packet);
        }
    }

    /// A client that starts connecting, and its first datagram.
    fn dial(&mut self, now: Duration, to: SocketAddr) -> (Endpoint, Option<Vec<u8>>) {
        let mut seed = [0; 32];
        self.rng.fill(&mut seed);
        let mut endpoint = Endpoint::new(self.config.clone(), seed)
            .expect("the target runs with this configuration");
        let mut packet = vec![0; self.config.max_packet];
        let _ = endpoint.connect(now, to, ConnectOptions::default());
        let hello = endpoint.poll_transmit(now, &mut packet).map(|sent| {
            packet.truncate(sent.len);
            packet
        });
        (endpoint, hello)
    }
}

/// An address outside the world.
fn stranger(rng: &mut Rng) -> SocketAddr {
    let [_, a, b, c] = rng.next_u32().to_be_bytes();
    SocketAddr::new(
        IpAddr::V4(Ipv4Addr::new(198, a, b, c)),
        rng.range(1024..65_536) as u16,
    )
}

/// The latest datagrams of the world, for those who listen in.
#[derive(Default)]
pub(crate) struct Tape {
    recorded: VecDeque<Recorded>,
    /// Those that went to addresses without a node, and when.
    unroutable: Vec<(Duration, Recorded)>,
}

pub(crate) struct Recorded {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// Datagrams kept: a few seconds of a busy world.
const TAPE_LENGTH: usize = 512;

impl Tape {
    pub(crate) fn record(
        &mut self,
        now: Duration,
        from: SocketAddr,
        to: SocketAddr,
        bytes: &[u8],
        is_routable: bool,
    ) {
        if !is_routable {
            let bytes = bytes.to_vec();
            self.unroutable.push((now, Recorded { from, to, bytes }));
        }
        let mut buffer = match self.recorded.len() {
            TAPE_LENGTH => self
                .recorded
                .pop_front()
                .map(|oldest| oldest.bytes)
                .unwrap_or_default(),
            _ => Vec::new(),
        };
        buffer.clear();
        buffer.extend_from_slice(bytes);
        self.recorded.push_back(Recorded {
            from,
            to,
            bytes: buffer,
        });
    }

    /// The datagrams to addresses without a node since the last call.
    pub(crate) fn take_unroutable(&mut self) -> Vec<(Duration, Recorded)> {
        std::mem::take(&mut self.unroutable)
    }

    /// A datagram that went to `to`, or any if a few draws find none.
    fn pick(&self, rng: &mut Rng, to: SocketAddr) -> Option<&Recorded> {
        let count = self.recorded.len() as u64;
        if count == 0 {
            return None;
        }
        let mut draw = || &self.recorded[rng.range(0..count) as usize];
        let first = draw();
        Some(
            (0..4)
                .map(|_| draw())
                .find(|real| real.to == to)
                .unwrap_or(first),
        )
    }
}
