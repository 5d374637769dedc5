//! Names of peers, and the one address under which each is known above, whatever way its datagrams take.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A peer, by a number that the application chooses, such as its place in the lobby's room.
///
/// All programs of a room should number its members alike: members tell each other the addresses of others, in a mesh and of standbys, and these are made of the numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerId(pub u32);

/// The last 80 bits of the address of every peer: `…:7065:6572::1`.
const SUFFIX: u128 = 0x7065_6572_0000_0000_0001;

/// The first 16 bits: the range for unique local addresses, RFC 4193.
const PREFIX: u128 = 0xfd53;

/// The port of every such address.
const PORT: u16 = 1;

impl PeerId {
    /// The address under which this peer is known above: `[fd53:N:N:7065:6572::1]:1`, where `N:N` is its number.
    ///
    /// It stays the same whatever way the peer's datagrams take, so nothing above notices a change of path. The address never travels: datagrams that
    /// come from it on the network are dropped. Each peer has a /48 of its own, so that limits that count by networks count peers.
    pub fn address(self) -> SocketAddr {
        let bits = PREFIX << 112 | u128::from(self.0) << 80 | SUFFIX;
        (Ipv6Addr::from_bits(bits), PORT).into()
    }

    /// The peer whose address this is.
    pub fn from_address(address: SocketAddr) -> Option<PeerId> {
        let IpAddr::V6(ip) = address.ip() else {
            return None;
        };
        let bits = ip.to_bits();
        let peer = PeerId((bits >> 80) as u32);
        (peer.address().ip() == address.ip() && address.port() == PORT).then_some(peer)
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_has_an_address_of_its_own() {
        assert_eq!(
            PeerId(0x1234_5678).address().to_string(),
            "[fd53:1234:5678:7065:6572::1]:1"
        );
        for number in [0, 1, 77, u32::MAX] {
            let peer = PeerId(number);
            assert_eq!(PeerId::from_address(peer.address()), Some(peer));
        }
        for other in [
            "[fd53:1234:5678:7065:6572::2]:1",
            "[fd53:1234:5678:7065:6572::1]:2",
            "[fd54:1234:5678:7065:6572::1]:1",
            "192.0.2.1:1",
        ] {
            assert_eq!(
                PeerId::from_address(other.parse().unwrap()),
                None,
                "{other}"
            );
        }
    }
}
