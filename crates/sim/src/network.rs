//! The network of a world: one link per ordered pair of nodes, partitions, and buffers for datagrams under way.

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
    /// Time spent in the queue in front of the rate limit; zero for one that was lost.
    pub queued: Duration,
    /// World time of its first arrival, or `None` if it was lost.
    pub arrived: Option<Duration>,
}

/// Links by (from, to), made when first used from the configuration that then holds for the pair.
pub(crate) struct Network {
    seed: u64,
    default: LinkConfig,
    links: BTreeMap<(NodeId, NodeId), Way>,
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
        let fate = self.way(from, to).link.send(now, bytes.len());
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
