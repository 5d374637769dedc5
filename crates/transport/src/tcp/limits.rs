//! What keeps strangers from holding connections: counts per address, and deadlines.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// Connections by where they come from. Whoever has an IPv6 address has a whole prefix of them: 56 bits are what a provider gives to a household.
#[derive(Debug, Default)]
pub(super) struct PerAddress {
    counts: BTreeMap<IpAddr, usize>,
}

impl PerAddress {
    pub(super) fn of(&self, ip: IpAddr) -> usize {
        self.counts.get(&household(ip)).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, ip: IpAddr) {
        *self.counts.entry(household(ip)).or_insert(0) += 1;
    }

    pub(super) fn remove(&mut self, ip: IpAddr) {
        let ip = household(ip);
        if let Some(count) = self.counts.get_mut(&ip) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&ip);
            }
        }
    }
}

/// What addresses of one customer have in common.
fn household(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 72 << 72).into(),
        ip => ip,
    }
}

/// When connections are to be looked at, one time for each. A connection that was used meanwhile is given a later one when its time comes, so that
/// using it costs nothing.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    times: BTreeSet<(Duration, u64)>,
}

impl Deadlines {
    pub(super) fn set(&mut self, key: u64, at: Duration) {
        self.times.insert((at, key));
    }

    pub(super) fn remove(&mut self, key: u64, at: Duration) {
        self.times.remove(&(at, key));
    }

    pub(super) fn next(&self) -> Option<Duration> {
        self.times.first().map(|(at, _)| *at)
    }

    /// A connection whose time has come.
    pub(super) fn pop(&mut self, now: Duration) -> Option<u64> {
        self.next().filter(|at| *at <= now)?;
        self.times.pop_first().map(|(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_household_is_counted_as_one() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut count = PerAddress::default();
        for address in [
            "2001:db8:1:aa00::1",
            "2001:db8:1:aaff:1:2:3:4",
            "192.0.2.1",
            "::ffff:192.0.2.1",
        ] {
            count.add(ip(address));
        }
        assert_eq!(count.of(ip("2001:db8:1:aa12::9")), 2);
        assert_eq!(count.of(ip("2001:db8:1:ab00::1")), 0);
        assert_eq!(count.of(ip("192.0.2.1")), 2);
        assert_eq!(count.of(ip("192.0.2.2")), 0);
        count.remove(ip("2001:db8:1:aa00::1"));
        count.remove(ip("2001:db8:1:aaff:1:2:3:4"));
        assert_eq!(
            count.counts.len(),
            1,
            "nothing is kept of those who are gone"
        );
    }
}
