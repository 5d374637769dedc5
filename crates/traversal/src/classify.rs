//! What a datagram on the shared socket is, by its first bytes alone.

use std::net::SocketAddr;

use is::StunError;
use is::stun::StunMessage;

/// The magic cookie of STUN, RFC 8489.
const COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];

/// The shortest STUN message: a header without attributes.
const STUN_HEADER: usize = 20;

/// The kinds of datagrams that share a socket. WIRE.md says why no two can be mistaken for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A message of STUN, ICE or TURN.
    Stun,
    /// Data on a channel of TURN, if it comes from a relay.
    Channel,
    /// Everything else: the game's.
    Game,
}

/// Tells what a datagram is. `from_relay` says whether it comes from the address of the relay in use.
pub(crate) fn kind_of(datagram: &[u8], from_relay: bool) -> Kind {
    match datagram.first() {
        Some(0x40..=0x7f) if from_relay => Kind::Channel,
        Some(0x00..=0x3f) if is_stun(datagram) => Kind::Stun,
        _ => Kind::Game,
    }
}

fn is_stun(datagram: &[u8]) -> bool {
    let Some(header) = datagram.get(..STUN_HEADER) else {
        return false;
    };
    let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    header[4..8] == COOKIE && len + STUN_HEADER == datagram.len() && len.is_multiple_of(4)
}

/// Reads a check of ICE. Other messages of STUN are an error.
pub(crate) fn read_check(datagram: &[u8]) -> Result<StunMessage<'_>, StunError> {
    StunMessage::parse(datagram)
}

/// Whether nothing can be sent to an address, or nothing should be at the word of a peer.
pub(crate) fn is_useless(address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    let broadcast = matches!(ip, std::net::IpAddr::V4(v4) if v4.is_broadcast());
    address.port() == 0
        || ip.is_unspecified()
        || ip.is_multicast()
        || broadcast
        || crate::PeerId::from_address(address).is_some()
}

/// Whether an address means whatever computer it is used on.
pub(crate) fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_packet_of_the_game_is_taken_for_another() {
        // Handshakes: kinds 1 to 6, then the magic; whatever follows.
        for kind in 0..=0x3f_u8 {
            let mut hello = vec![0x21; 96];
            hello[..6].copy_from_slice(&[kind, b'S', b'S', b't', b'p', 2]);
            for from_relay in [false, true] {
                assert_eq!(kind_of(&hello, from_relay), Kind::Game);
            }
        }
        // Packets: 0x80, then anything, even a cookie in its place.
        let mut packet = vec![0x80, 0, 0, 12];
        packet.extend(COOKIE);
        packet.resize(32, 0);
        assert_eq!(kind_of(&packet, true), Kind::Game);
        assert_eq!(kind_of(&[], true), Kind::Game);
        assert_eq!(kind_of(&[0x40, 0, 0, 0], false), Kind::Game);
    }

    #[test]
    fn messages_of_stun_and_turn_are_recognised() {
        let mut binding = vec![0, 1, 0, 0];
        binding.extend(COOKIE);
        binding.resize(STUN_HEADER, 7);
        assert_eq!(kind_of(&binding, false), Kind::Stun);
        assert_eq!(kind_of(&binding[..19], false), Kind::Game);
        binding[3] = 4;
        assert_eq!(kind_of(&binding, false), Kind::Game);
        assert_eq!(kind_of(&[0x40, 0, 0, 0], true), Kind::Channel);
    }

    #[test]
    fn nothing_is_sent_to_addresses_that_no_peer_can_have() {
        for useless in [
            "0.0.0.0:5",
            "224.0.0.1:5",
            "255.255.255.255:5",
            "192.0.2.1:0",
            "[fd53:0:1:7065:6572::1]:1",
        ] {
            assert!(is_useless(useless.parse().unwrap()), "{useless}");
        }
        assert!(!is_useless("192.0.2.1:5".parse().unwrap()));
        for loopback in [
            "127.0.0.1:5",
            "127.9.9.9:5",
            "[::1]:5",
            "[::ffff:127.0.0.1]:5",
        ] {
            assert!(is_loopback(&loopback.parse().unwrap()), "{loopback}");
        }
    }
}
