//! `Buckets`: how often an address, or a connection, may do something. Token buckets, for at most so many keys.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Who shares a limit: an IPv4 address, or an IPv6 prefix of 56 bits, which is what one household gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(IpAddr);

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => {
                let mut octets = address.octets();
                octets[7..].fill(0);
                Self(IpAddr::from(octets))
            }
        }
    }
}

/// How often something may be done: `burst` times at once, then `per_second`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// How many at once.
    pub burst: u32,
    /// How many in each second after that.
    pub per_second: f64,
}

impl Rate {
    /// `burst` at once, then `per_second`.
    pub const fn new(burst: u32, per_second: f64) -> Self {
        Self { burst, per_second }
    }
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// What is left of the burst at `at_ms`.
    left: f64,
    at_ms: u64,
}

/// A bucket for each key, at most so many.
#[derive(Debug)]
pub(crate) struct Buckets<K> {
    rate: Rate,
    limit: usize,
    buckets: BTreeMap<K, Bucket>,
}

impl<K: Ord + Copy> Buckets<K> {
    pub(crate) fn new(rate: Rate, limit: usize) -> Self {
        Self {
            rate,
            limit,
            buckets: BTreeMap::new(),
        }
    }

    fn left(&self, now_ms: u64, bucket: &Bucket) -> f64 {
        let seconds = now_ms.saturating_sub(bucket.at_ms) as f64 / 1000.0;
        (bucket.left + seconds * self.rate.per_second).min(f64::from(self.rate.burst))
    }

    /// Whether one more is allowed, without taking it.
    pub(crate) fn has(&self, now_ms: u64, key: K) -> bool {
        match self.buckets.get(&key) {
            Some(bucket) => self.left(now_ms, bucket) >= 1.0,
            None => self.buckets.len() < self.limit,
        }
    }

    /// Takes one, if it is allowed. With too many keys to remember, nothing is.
    pub(crate) fn take(&mut self, now_ms: u64, key: K) -> bool {
        if !self.buckets.contains_key(&key) && self.buckets.len() >= self.limit {
            self.forget(now_ms);
        }
        if !self.has(now_ms, key) {
            return false;
        }
        let left = match self.buckets.get(&key) {
            Some(bucket) => self.left(now_ms, bucket),
            None => f64::from(self.rate.burst),
        };
        let bucket = Bucket {
            left: left - 1.0,
            at_ms: now_ms,
        };
        self.buckets.insert(key, bucket);
        true
    }

    /// Forgets the keys whose buckets are full again, which are as if they had never been.
    pub(crate) fn forget(&mut self, now_ms: u64) {
        let full = f64::from(self.rate.burst);
        let buckets = std::mem::take(&mut self.buckets);
        let kept = buckets.into_iter();
        self.buckets = kept
            .filter(|(_, bucket)| self.left(now_ms, bucket) < full)
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_household_shares_a_limit() {
        let origin = |text: &str| Origin::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(origin("2001:db8::1"), origin("2001:db8:0:ff::2"));
        assert_ne!(origin("2001:db8::1"), origin("2001:db8:0:100::1"));
        assert_ne!(origin("192.0.2.1"), origin("192.0.2.2"));
        assert_eq!(origin("192.0.2.1"), origin("::ffff:192.0.2.1"));
    }

    #[test]
    fn a_burst_then_a_rate_and_no_more_keys_than_the_limit() {
        let mut buckets = Buckets::new(Rate::new(2, 0.5), 3);
        assert!(buckets.take(0, 1) && buckets.take(0, 1));
        assert!(!buckets.take(1999, 1));
        assert!(buckets.take(2000, 1) && !buckets.take(2000, 1));
        assert!(buckets.take(2000, 2) && buckets.take(2000, 3));
        assert!(!buckets.take(2000, 4), "no bucket is full again");
        assert!(buckets.take(6000, 4), "those of 1 to 3 are");
        assert_eq!(buckets.buckets.len(), 1);
    }
}
