//! What one user of the relay, and one stranger, may cost: token buckets.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// Networks that have a bucket of their own; more share one.
const MAX_NETWORKS: usize = 4096;

/// A bucket that fills at a steady rate, and holds a second's worth.
#[derive(Debug)]
pub(super) struct Bucket {
    left: f64,
    at: Duration,
}

impl Bucket {
    pub(super) fn full(now: Duration, per_second: u32) -> Self {
        Self {
            left: per_second.into(),
            at: now,
        }
    }

    fn fill(&mut self, now: Duration, per_second: u32) {
        let most = f64::from(per_second);
        let elapsed = now.saturating_sub(self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.left = (self.left + elapsed * most).min(most);
    }

    /// Takes so much if it is there.
    pub(super) fn take(&mut self, now: Duration, per_second: u32, amount: usize) -> bool {
        self.fill(now, per_second);
        let allowed = self.left >= amount as f64;
        if allowed {
            self.left -= amount as f64;
        }
        allowed
    }
}

/// How many requests each network may make, an IPv4 address or the first 56 bits of an IPv6 address.
#[derive(Debug)]
pub(super) struct RequestLimit {
    per_second: u32,
    by_network: BTreeMap<IpAddr, Bucket>,
    others: Bucket,
}

impl RequestLimit {
    pub(super) fn new(per_second: u32) -> Self {
        Self {
            per_second,
            by_network: BTreeMap::new(),
            others: Bucket::full(Duration::ZERO, per_second),
        }
    }

    pub(super) fn take(&mut self, now: Duration, from: IpAddr) -> bool {
        let network = match from.to_canonical() {
            IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 72 << 72)),
            ip => ip,
        };
        if self.by_network.len() >= MAX_NETWORKS && !self.by_network.contains_key(&network) {
            return self.others.take(now, self.per_second, 1);
        }
        let bucket = self.by_network.entry(network);
        let bucket = bucket.or_insert_with(|| Bucket::full(now, self.per_second));
        bucket.take(now, self.per_second, 1)
    }

    /// Forgets networks whose buckets are full again.
    pub(super) fn forget(&mut self, now: Duration) {
        let full = Duration::from_secs(1);
        self.by_network.retain(|_, bucket| now < bucket.at + full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_has_its_own_allowance() {
        let mut limit = RequestLimit::new(10);
        let mut allowed = |now: u64, from: &str| {
            let now = Duration::from_millis(now);
            (0..20)
                .filter(|_| limit.take(now, from.parse().unwrap()))
                .count()
        };
        assert_eq!(allowed(0, "192.0.2.1"), 10);
        assert_eq!(allowed(0, "192.0.2.2"), 10);
        assert_eq!(allowed(500, "192.0.2.1"), 5);
        assert_eq!(allowed(0, "2001:db8::1"), 10);
        assert_eq!(allowed(0, "2001:db8:0:ff::1"), 0, "of one subscriber");
        limit.forget(Duration::from_secs(2));
        assert!(limit.by_network.is_empty());
    }

    #[test]
    fn no_number_of_networks_fills_the_memory() {
        let mut limit = RequestLimit::new(10);
        let bits = |i: u32| IpAddr::from((0x0a00_0000 + i).to_be_bytes());
        let all: Vec<_> = (0..100_000)
            .map(|i| limit.take(Duration::ZERO, bits(i)))
            .collect();
        assert_eq!(limit.by_network.len(), MAX_NETWORKS);
        assert_eq!(
            all.iter().filter(|allowed| **allowed).count(),
            MAX_NETWORKS + 10
        );
    }
}
