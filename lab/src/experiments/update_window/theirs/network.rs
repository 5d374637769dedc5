//! Datagrams on their way between the server and a client.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_netem::{IP_UDP_OVERHEAD_BYTES, Link};

/// One direction of a path, with what is on it. Messages are read when the receiver polls, in the order in which they arrived.
#[derive(Debug)]
pub(in crate::experiments) struct Wire<T> {
    link: Link,
    /// By the time of arrival, and in the order of sending.
    under_way: BTreeMap<(Duration, u64), T>,
    sent: u64,
    bytes: u64,
}

impl<T: Clone> Wire<T> {
    pub(in crate::experiments) fn new(link: Link) -> Wire<T> {
        Wire {
            link,
            under_way: BTreeMap::new(),
            sent: 0,
            bytes: 0,
        }
    }

    /// Sends a message that may be lost.
    pub(in crate::experiments) fn send(&mut self, now: Duration, bytes: usize, message: T) {
        self.sent += 1;
        self.bytes += (bytes + IP_UDP_OVERHEAD_BYTES) as u64;
        for at in self.link.send(now, bytes).arrivals.iter() {
            self.under_way.insert((*at, self.sent), message.clone());
        }
    }

    /// Sends a message again, after this time each, until it arrives.
    pub(in crate::experiments) fn send_reliably(
        &mut self,
        now: Duration,
        bytes: usize,
        resend_after: Duration,
        message: T,
    ) {
        // Nobody loses a hundred in a row.
        for attempt in 0..100 {
            let at = now + resend_after * attempt;
            let before = self.under_way.len();
            self.send(at, bytes, message.clone());
            if self.under_way.len() > before {
                return;
            }
        }
    }

    /// What has arrived by now.
    pub(in crate::experiments) fn poll(&mut self, now: Duration) -> Vec<T> {
        let later = self.under_way.split_off(&(now, u64::MAX));
        let arrived = std::mem::replace(&mut self.under_way, later);
        arrived.into_values().collect()
    }

    /// Bytes sent so far, headers included.
    pub(in crate::experiments) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use samestep_netem::LinkConfig;

    use super::*;

    fn wire() -> Wire<u32> {
        let config = LinkConfig {
            latency: Duration::from_millis(50),
            ..LinkConfig::default()
        };
        Wire::new(Link::new(config, 5).unwrap())
    }

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_message_arrives_when_the_link_says() {
        let mut wire = wire();
        wire.send(ms(0), 20, 1);
        wire.send(ms(1), 20, 2);
        assert!(wire.poll(ms(49)).is_empty());
        assert_eq!(wire.poll(ms(50)), [1]);
        assert_eq!(wire.poll(ms(60)), [2]);
        assert_eq!(wire.bytes(), 96);
    }

    #[test]
    fn what_is_sent_reliably_arrives_though_late() {
        let config = LinkConfig {
            latency: ms(50),
            loss: samestep_netem::Loss::Bernoulli(0.5),
            ..LinkConfig::default()
        };
        let mut wire = Wire::new(Link::new(config, 5).unwrap());
        // A link takes its datagrams in the order of time.
        for number in 0..100 {
            wire.send_reliably(ms(number * 20_000), 20, ms(150), number);
        }
        let all = wire.poll(ms(100 * 20_000));
        assert_eq!(all, (0..100).collect::<Vec<u64>>());
    }
}
