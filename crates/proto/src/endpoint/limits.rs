//! Limits of what strangers may cost: token buckets, for everybody together and for each network.

use core::time::Duration;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// Networks with a bucket of their own; more share one.
const MAX_NETWORKS: usize = 8192;

/// What one subscriber usually has: an IPv4 address, or the first 56 bits of an IPv6 address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Network(IpAddr);

impl Network {
    pub(super) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(ip) => IpAddr::V4(ip),
            IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 72 << 72)),
        })
    }
}

/// How fast a bucket fills, and how much it holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub(super) per_second: f64,
    pub(super) at_once: f64,
}

/// A token bucket.
#[derive(Debug)]
pub(super) struct Bucket {
    left: f64,
    at: Duration,
}

impl Bucket {
    pub(super) fn full(rate: Rate) -> Self {
        Self {
            left: rate.at_once,
            at: Duration::ZERO,
        }
    }

    fn fill(&mut self, now: Duration, rate: Rate) {
        let elapsed = now.saturating_sub(self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.left = (self.left + elapsed * rate.per_second).min(rate.at_once);
    }

    pub(super) fn take(&mut self, now: Duration, rate: Rate) -> bool {
        self.fill(now, rate);
        let allowed = self.left >= 1.0;
        if allowed {
            self.left -= 1.0;
        }
        allowed
    }

    pub(super) fn give_back(&mut self, rate: Rate) {
        self.left = (self.left + 1.0).min(rate.at_once);
    }
}

/// A limit for each network, and behind it one for all of them: whoever exceeds the first takes nothing of the second.
#[derive(Debug)]
pub(super) struct Limit {
    each: Rate,
    total: Rate,
    by_network: BTreeMap<Network, Bucket>,
    /// Of all networks that found no room in the table.
    others: Bucket,
    together: Bucket,
}

impl Limit {
    pub(super) fn new(each: Rate, total: Rate) -> Self {
        Self {
            each,
            total,
            by_network: BTreeMap::new(),
            others: Bucket::full(each),
            together: Bucket::full(total),
        }
    }

    pub(super) fn take(&mut self, now: Duration, network: Network) -> bool {
        if self.by_network.len() >= MAX_NETWORKS && !self.by_network.contains_key(&network) {
            let each = self.each;
            self.by_network.retain(|_, bucket| {
                bucket.fill(now, each);
                bucket.left < each.at_once
            });
        }
        let bucket = if self.by_network.len() < MAX_NETWORKS {
            let new = || Bucket::full(self.each);
            self.by_network.entry(network).or_insert_with(new)
        } else {
            self.by_network
                .get_mut(&network)
                .unwrap_or(&mut self.others)
        };
        if !bucket.take(now, self.each) {
            return false;
        }
        if !self.together.take(now, self.total) {
            bucket.give_back(self.each);
            return false;
        }
        true
    }

    pub(super) fn give_back(&mut self, network: Network) {
        let bucket = self.by_network.get_mut(&network);
        bucket.unwrap_or(&mut self.others).give_back(self.each);
        self.together.give_back(self.total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACH: Rate = Rate {
        per_second: 2.0,
        at_once: 4.0,
    };
    const TOTAL: Rate = Rate {
        per_second: 10.0,
        at_once: 6.0,
    };

    fn network(text: &str) -> Network {
        Network::of(text.parse().unwrap())
    }

    #[test]
    fn a_network_is_an_address_or_a_prefix() {
        assert_eq!(network("10.0.0.1"), network("::ffff:10.0.0.1"));
        assert_ne!(network("10.0.0.1"), network("10.0.0.2"));
        let home = network("2001:db8:1:2300::1");
        assert_eq!(home, network("2001:db8:1:23ff:ffff::9"));
        assert_ne!(home, network("2001:db8:1:2400::1"));
    }

    #[test]
    fn whoever_exceeds_its_own_limit_takes_nothing_from_others() {
        let mut limit = Limit::new(EACH, TOTAL);
        let (loud, quiet) = (network("10.0.0.1"), network("10.0.0.2"));
        let taken = (0..1000).filter(|_| limit.take(Duration::ZERO, loud));
        assert_eq!(taken.count(), 4);
        assert!(limit.take(Duration::ZERO, quiet));
        assert!(limit.take(Duration::ZERO, quiet));
        assert!(!limit.take(Duration::ZERO, quiet), "the total is used up");
        limit.give_back(quiet);
        assert!(limit.take(Duration::ZERO, quiet));
        assert!(limit.take(Duration::from_secs(1), loud));
    }

    #[test]
    fn the_table_is_bounded_and_forgets_who_is_quiet() {
        let endless = Rate {
            per_second: 1e9,
            at_once: 1e9,
        };
        let mut limit = Limit::new(EACH, endless);
        for i in 0..100_000u32 {
            limit.take(Duration::ZERO, Network::of(IpAddr::V4(i.into())));
        }
        assert_eq!(limit.by_network.len(), MAX_NETWORKS);
        limit.take(Duration::from_secs(9), network("10.0.0.1"));
        assert_eq!(limit.by_network.len(), 1);
    }
}
