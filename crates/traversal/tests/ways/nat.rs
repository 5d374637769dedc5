//! Routers that translate addresses, of the four kinds of RFC 3489.

use samestep_netem::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

/// What a router lets in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NatKind {
    /// Everybody, once its host has sent anything.
    FullCone,
    /// Addresses that its host has sent to.
    Restricted,
    /// Addresses and ports that its host has sent to.
    PortRestricted,
    /// The same, and it shows another port to each of them.
    Symmetric,
}

impl NatKind {
    pub const ALL: [NatKind; 4] = [
        NatKind::FullCone,
        NatKind::Restricted,
        NatKind::PortRestricted,
        NatKind::Symmetric,
    ];

    /// Whether two programs behind routers of these kinds can reach each other directly.
    pub fn meets(self, other: NatKind) -> bool {
        use NatKind::*;
        !matches!(
            (self, other),
            (Symmetric, Symmetric) | (PortRestricted, Symmetric) | (Symmetric, PortRestricted)
        )
    }
}

pub struct Nat {
    kind: NatKind,
    public: IpAddr,
    host: SocketAddr,
    /// The public port for each destination; `None` stands for all of them.
    ports: BTreeMap<Option<SocketAddr>, u16>,
    sent_to: BTreeMap<u16, BTreeSet<SocketAddr>>,
    rng: Rng,
}

impl Nat {
    pub fn new(kind: NatKind, public: IpAddr, host: SocketAddr, seed: u64) -> Self {
        Self {
            kind,
            public,
            host,
            ports: BTreeMap::new(),
            sent_to: BTreeMap::new(),
            rng: Rng::new(seed),
        }
    }

    pub fn public(&self) -> IpAddr {
        self.public
    }

    /// The address that a datagram of the host shows outside.
    pub fn out(&mut self, to: SocketAddr) -> SocketAddr {
        let key = (self.kind == NatKind::Symmetric).then_some(to);
        let free = loop {
            let port = self.rng.range(1024..65536) as u16;
            if !self.sent_to.contains_key(&port) {
                break port;
            }
        };
        let port = *self.ports.entry(key).or_insert(free);
        self.sent_to.entry(port).or_default().insert(to);
        SocketAddr::new(self.public, port)
    }

    /// Forgets every mapping, as after a restart: the host is seen at other ports from now on.
    pub fn forget(&mut self) {
        self.ports.clear();
        self.sent_to.clear();
    }

    /// The host, if a datagram from outside gets to it.
    pub fn host_behind(&self, from: SocketAddr, to: SocketAddr) -> Option<SocketAddr> {
        let sent_to = self.sent_to.get(&to.port())?;
        let passes = match self.kind {
            NatKind::FullCone => true,
            NatKind::Restricted => sent_to.iter().any(|sent| sent.ip() == from.ip()),
            NatKind::PortRestricted | NatKind::Symmetric => sent_to.contains(&from),
        };
        passes.then_some(self.host)
    }
}
