//! Packets by the time they were sent.

use std::net::SocketAddr;
use std::time::Duration;

use samestep_netem::IP_UDP_OVERHEAD_BYTES;

/// Every packet a program sent, in order.
#[derive(Clone, Debug, Default)]
pub struct PacketLog {
    packets: Vec<(Duration, SocketAddr, usize)>,
}

impl PacketLog {
    /// An empty log.
    pub const fn new() -> PacketLog {
        PacketLog {
            packets: Vec::new(),
        }
    }

    /// A packet with so many bytes of payload leaves.
    pub fn push(&mut self, at: Duration, to: SocketAddr, bytes: usize) {
        self.packets.push((at, to, bytes + IP_UDP_OVERHEAD_BYTES));
    }

    /// The packets to one address.
    pub fn of(&self, address: SocketAddr) -> PacketLog {
        let packets = self.packets.iter().filter(|(_, to, _)| *to == address);
        PacketLog {
            packets: packets.copied().collect(),
        }
    }

    /// How many there are.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// The bytes of all packets, IP and UDP headers included.
    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|(.., bytes)| *bytes as u64).sum()
    }

    /// The most bytes that were sent within any span of this length.
    pub fn most_within(&self, length: Duration) -> u64 {
        let (mut first, mut within, mut most) = (0, 0, 0);
        for (at, _, bytes) in &self.packets {
            within += *bytes as u64;
            while self.packets[first].0 + length <= *at {
                within -= self.packets[first].2 as u64;
                first += 1;
            }
            most = most.max(within);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_second_is_found_wherever_it_begins() {
        let to = SocketAddr::from(([10, 0, 0, 1], 7));
        let mut log = PacketLog::new();
        for (ms, bytes) in [(0, 72), (700, 172), (1_500, 172), (1_700, 72), (2_600, 72)] {
            log.push(Duration::from_millis(ms), to, bytes);
        }
        assert_eq!((log.packets(), log.bytes()), (5, 700));
        // From 0.7 s up to, not including, 1.7 s; the next begins with 1.5 s.
        assert_eq!(log.most_within(Duration::from_secs(1)), 400);
        assert_eq!(log.most_within(Duration::from_millis(900)), 400);
        assert_eq!(log.most_within(Duration::from_millis(100)), 200);
        let other = SocketAddr::from(([10, 0, 0, 2], 7));
        assert_eq!(log.of(other).most_within(Duration::from_secs(1)), 0);
    }
}
