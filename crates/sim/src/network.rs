//! The network of a world: one link per ordered pair of nodes, lines that all links of a node share, partitions, and buffers for
//! datagrams under way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use samestep_netem::{Link, LinkConfig, LinkStats};

use crate::NodeId;

/// What happened to one datagram on a watched link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// World time at which it was handed to the link.
    pub at: Duration,
    /// UDP payload bytes.
    pub bytes: usize,
    /// Time spent in queues in front of rate limits, the sender's own line among them; zero for one that was lost.
    pub queued: Duration,
    /// World time of its first arrival, or `None` if it was lost.
    pub arrived: Option<Duration>,
}

/// Links by (from, to), made when first used from the configuration that then holds for the pair.
pub(crate) struct Network {
    seed: u64,
    default: LinkConfig,
    links: BTreeMap<(NodeId, NodeId), Way>,
    /// Lines out of a node: what it sends to anybody queues here before it takes the link to its receiver.
    uplinks: BTreeMap<NodeId, Link>,
    cuts: BTreeSet<(NodeId, NodeId)>,
    isolated: BTreeSet<NodeId>,
    pool: Vec<Vec<u8>>,
}

struct Way {
    link: Link,
    watched: Option<Vec<Passage>>,
}

/// Enough for any world we run; more than this many idle buffers would only hold memory.
const POOL_LIMIT: usize = 4096;

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        Network {
            seed,
            default: LinkConfig::default(),
            links: BTreeMap::new(),
            uplinks: BTreeMap::new(),
            cuts: BTreeSet::new(),
            isolated: BTreeSet::new(),
            pool: Vec::new(),
        }
    }

    pub(crate) fn set_all(&mut self, config: LinkConfig) {
        for way in self.links.values_mut() {
            way.link
                .set(config.clone())
                .expect("a valid link configuration");
        }
        self.default = config;
    }

    pub(crate) fn set(&mut self, from: NodeId, to: NodeId, config: LinkConfig) {
        self.way(from, to)
            .link
            .set(config)
            .expect("a valid link configuration");
    }

    /// Everything a node sends shares a line of this rate from now on; what would wait longer than `queue` is dropped.
    pub(crate) fn set_uplink(&mut self, node: NodeId, rate_bps: u64, queue: Duration) {
        let config = LinkConfig {
            rate_bps: Some(rate_bps),
            queue,
            ..LinkConfig::default()
        };
        let line = self.uplinks.entry(node);
        line.and_modify(|line| line.set(config.clone()).expect("a valid rate"))
            // A rate alone draws no random numbers.
            .or_insert_with(|| Link::new(config.clone(), 0).expect("a valid rate"));
    }

    pub(crate) fn uplink_stats(&self, node: NodeId) -> LinkStats {
        self.uplinks.get(&node).map(Link::stats).unwrap_or_default()
    }

    pub(crate) fn watch(&mut self, from: NodeId, to: NodeId) {
        self.way(from, to).watched.get_or_insert_default();
    }

    pub(crate) fn passages(&self, from: NodeId, to: NodeId) -> &[Passage] {
        self.links
            .get(&(from, to))
            .and_then(|way| way.watched.as_deref())
            .unwrap_or_default()
    }

    pub(crate) fn stats(&self, from: NodeId, to: NodeId) -> LinkStats {
        self.links
            .get(&(from, to))
            .map(|way| way.link.stats())
            .unwrap_or_default()
    }

    pub(crate) fn cut(&mut self, from: NodeId, to: NodeId) {
        self.cuts.insert((from, to));
    }

    pub(crate) fn mend(&mut self, from: NodeId, to: NodeId) {
        self.cuts.remove(&(from, to));
    }

    pub(crate) fn isolate(&mut self, node: NodeId) {
        self.isolated.insert(node);
    }

    pub(crate) fn rejoin(&mut self, node: NodeId) {
        self.isolated.remove(&node);
    }

    pub(crate) fn mend_all(&mut self) {
        self.cuts.clear();
        self.isolated.clear();
    }

    /// Sends one datagram: calls `arrive` with the time and the (perhaps damaged) bytes of every copy that gets through.
    pub(crate) fn carry(
        &mut self,
        now: Duration,
        (from, to): (NodeId, NodeId),
        bytes: &[u8],
        mut arrive: impl FnMut(Duration, Vec<u8>),
    ) {
        if self.cuts.contains(&(from, to))
            || self.isolated.contains(&from)
            || self.isolated.contains(&to)
        {
            return;
        }
        let line = self.uplinks.get_mut(&from);
        let line = line.map(|line| line.send(now, bytes.len()));
        let mut fate = match line {
            None => self.way(from, to).link.send(now, bytes.len()),
            Some(line) => match line.arrivals.first() {
                None => line,
                // A line keeps the order, so time does not run backwards on the links behind it.
                Some(&left) => self.way(from, to).link.send(left, bytes.len()),
            },
        };
        fate.queued += line.map_or(Duration::ZERO, |line| line.queued);
        for &at in fate.arrivals.iter() {
            let mut copy = self.buffer();
            copy.extend_from_slice(bytes);
            fate.damage(&mut copy);
            arrive(at, copy);
        }
        if let Some(seen) = &mut self.way(from, to).watched {
            let arrived = fate.arrivals.iter().min().copied();
            seen.push(Passage {
                at: now,
                bytes: bytes.len(),
                queued: fate.queued,
                arrived,
            });
        }
    }

    /// An empty buffer, reused where possible.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.pool.pop().unwrap_or_default()
    }

    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.pool.len() < POOL_LIMIT {
            buffer.clear();
            self.pool.push(buffer);
        }
    }

    fn way(&mut self, from: NodeId, to: NodeId) -> &mut Way {
        let (seed, default) = (self.seed, &self.default);
        self.links.entry((from, to)).or_insert_with(|| {
            let seed = mix(seed ^ mix(u64::from(from.0) << 32 | u64::from(to.0)));
            Way {
                link: Link::new(default.clone(), seed).expect("a valid link configuration"),
                watched: None,
            }
        })
    }
}

/// Flips one bit, chosen by `draw`.
pub(crate) fn damage(bytes: &mut [u8], draw: u64) {
    if !bytes.is_empty() {
        let bit = (draw % (bytes.len() as u64 * 8)) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

/// SplitMix64's finaliser: derives independent seeds from related numbers.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: NodeId = NodeId(0);

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn arrivals(network: &mut Network, to: NodeId, now: Duration) -> Vec<Duration> {
        let mut arrivals = Vec::new();
        // 97 bytes and 28 of headers are 1000 bits: 1 ms each at 1 Mbit/s.
        network.carry(now, (HOST, to), &[0; 97], |at, _| arrivals.push(at));
        arrivals
    }

    #[test]
    fn all_links_of_a_node_share_its_line() {
        let mut network = Network::new(1);
        network.set_all(LinkConfig {
            latency: ms(10),
            ..LinkConfig::default()
        });
        network.set_uplink(HOST, 1_000_000, ms(2));
        network.watch(HOST, NodeId(3));
        let to = |to: u16, network: &mut Network| arrivals(network, NodeId(to), ms(0));
        assert_eq!(to(1, &mut network), [ms(11)]);
        assert_eq!(to(2, &mut network), [ms(12)]);
        assert_eq!(to(3, &mut network), [ms(13)]);
        assert!(to(1, &mut network).is_empty(), "the line's queue is full");
        assert_eq!(network.passages(HOST, NodeId(3))[0].queued, ms(2));
        let mut back = Vec::new();
        network.carry(ms(0), (NodeId(1), HOST), &[0; 97], |at, _| back.push(at));
        assert_eq!(back, [ms(10)], "what comes in does not use the line");
        let stats = network.uplink_stats(HOST);
        assert_eq!((stats.sent, stats.dropped_queue), (4, 1));
        assert_eq!(arrivals(&mut network, NodeId(2), ms(100)), [ms(111)]);
    }
}
