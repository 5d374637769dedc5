//! One address that the relay lends: whose it is, who may send to it, and for how long.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::limits::Bucket;
use turn_client_proto::types::stun::message::TransactionId;

/// How long a permission lasts unless it is renewed: RFC 8656, 9.
const PERMISSION_LIFE: Duration = Duration::from_secs(300);

/// How long a channel lasts unless it is renewed: RFC 8656, 12.
const CHANNEL_LIFE: Duration = Duration::from_secs(600);

/// The most permissions, and the most channels, of one allocation.
const MAX_PEERS: usize = 256;

/// The numbers of channels: RFC 8656, 12.
const CHANNELS: std::ops::RangeInclusive<u16> = 0x4000..=0x4fff;

/// The name of an allocation within one relay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AllocationId(pub u64);

#[derive(Debug)]
pub(super) struct Allocation {
    pub(super) client: SocketAddr,
    pub(super) user: String,
    pub(super) username: String,
    /// The address lent; not before the driver has opened it.
    pub(super) relayed: Option<SocketAddr>,
    /// The request that made it, whose repetitions get the same answer.
    pub(super) transaction: TransactionId,
    pub(super) expires: Duration,
    permissions: BTreeMap<IpAddr, Duration>,
    channels: BTreeMap<u16, (SocketAddr, Duration)>,
    by_peer: BTreeMap<SocketAddr, u16>,
    bytes: Bucket,
}

impl Allocation {
    pub(super) fn new(
        now: Duration,
        client: SocketAddr,
        user: &str,
        username: &str,
        transaction: TransactionId,
        expires: Duration,
        bytes_per_second: u32,
    ) -> Self {
        Self {
            client,
            user: user.to_owned(),
            username: username.to_owned(),
            relayed: None,
            transaction,
            expires,
            permissions: BTreeMap::new(),
            channels: BTreeMap::new(),
            by_peer: BTreeMap::new(),
            bytes: Bucket::full(now, bytes_per_second),
        }
    }

    /// Lets an address in. Returns whether there was room.
    pub(super) fn permit(&mut self, now: Duration, peer: IpAddr) -> bool {
        if self.permissions.len() >= MAX_PEERS && !self.permissions.contains_key(&peer) {
            self.permissions.retain(|_, expires| now < *expires);
        }
        let room = self.permissions.len() < MAX_PEERS || self.permissions.contains_key(&peer);
        if room {
            self.permissions.insert(peer, now + PERMISSION_LIFE);
        }
        room
    }

    pub(super) fn permits(&self, now: Duration, peer: IpAddr) -> bool {
        self.permissions
            .get(&peer)
            .is_some_and(|expires| now < *expires)
    }

    /// Gives a channel to an address, and lets it in. Refused if either is already bound to another, or there is no room.
    pub(super) fn bind(&mut self, now: Duration, channel: u16, peer: SocketAddr) -> bool {
        let expired: Vec<u16> = {
            let over = self
                .channels
                .iter()
                .filter(|(_, (_, expires))| now >= *expires);
            over.map(|(channel, _)| *channel).collect()
        };
        for channel in expired {
            if let Some((peer, _)) = self.channels.remove(&channel) {
                self.by_peer.remove(&peer);
            }
        }
        let other_peer = self
            .channels
            .get(&channel)
            .is_some_and(|(bound, _)| *bound != peer);
        let other_channel = self
            .by_peer
            .get(&peer)
            .is_some_and(|bound| *bound != channel);
        let full = self.channels.len() >= MAX_PEERS && !self.channels.contains_key(&channel);
        if !CHANNELS.contains(&channel) || other_peer || other_channel || full {
            return false;
        }
        if !self.permit(now, peer.ip()) {
            return false;
        }
        self.channels.insert(channel, (peer, now + CHANNEL_LIFE));
        self.by_peer.insert(peer, channel);
        true
    }

    /// The address of a channel.
    pub(super) fn peer_of(&self, now: Duration, channel: u16) -> Option<SocketAddr> {
        let (peer, expires) = self.channels.get(&channel)?;
        (now < *expires).then_some(*peer)
    }

    /// The channel of an address.
    pub(super) fn channel_of(&self, now: Duration, peer: SocketAddr) -> Option<u16> {
        let channel = *self.by_peer.get(&peer)?;
        self.peer_of(now, channel).map(|_| channel)
    }

    /// Whether so many bytes may pass now.
    pub(super) fn take(&mut self, now: Duration, bytes_per_second: u32, bytes: usize) -> bool {
        self.bytes.take(now, bytes_per_second, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocation() -> Allocation {
        let client = "198.51.100.1:5".parse().unwrap();
        let (now, later) = (Duration::ZERO, Duration::from_secs(600));
        Allocation::new(now, client, "ada", "9:ada", 7.into(), later, 1000)
    }

    fn peer(last: u8, port: u16) -> SocketAddr {
        ([192, 0, 2, last], port).into()
    }

    #[test]
    fn permissions_and_channels_last_for_their_time() {
        let mut allocation = allocation();
        let at = Duration::from_secs;
        assert!(allocation.permit(at(0), peer(1, 1).ip()));
        assert!(allocation.permits(at(299), peer(1, 2).ip()));
        assert!(!allocation.permits(at(300), peer(1, 1).ip()));
        assert!(!allocation.permits(at(0), peer(2, 1).ip()));
        assert!(allocation.bind(at(0), 0x4000, peer(2, 1)));
        assert!(allocation.permits(at(0), peer(2, 9).ip()));
        assert_eq!(allocation.channel_of(at(599), peer(2, 1)), Some(0x4000));
        assert_eq!(allocation.channel_of(at(600), peer(2, 1)), None);
        assert_eq!(allocation.peer_of(at(600), 0x4000), None);
    }

    #[test]
    fn a_channel_is_for_one_address_and_an_address_has_one_channel() {
        let (mut allocation, now) = (allocation(), Duration::ZERO);
        assert!(allocation.bind(now, 0x4000, peer(1, 1)));
        assert!(allocation.bind(now, 0x4000, peer(1, 1)), "renewed");
        assert!(!allocation.bind(now, 0x4000, peer(1, 2)));
        assert!(!allocation.bind(now, 0x4001, peer(1, 1)));
        assert!(!allocation.bind(now, 0x3fff, peer(1, 3)));
        assert!(!allocation.bind(now, 0x5000, peer(1, 3)));
        // Once it is over, both are free again.
        let later = Duration::from_secs(600);
        assert!(allocation.bind(later, 0x4000, peer(1, 2)));
        assert!(allocation.bind(later, 0x4001, peer(1, 1)));
    }

    #[test]
    fn an_allocation_has_room_for_so_many_and_carries_so_much() {
        let (mut allocation, now) = (allocation(), Duration::ZERO);
        let ip = |i: u32| IpAddr::from((0x0a00_0000 + i).to_be_bytes());
        let room = (0..1000).filter(|i| allocation.permit(now, ip(*i))).count();
        assert_eq!(room, MAX_PEERS);
        assert!(
            allocation.permit(PERMISSION_LIFE, ip(999)),
            "expired ones make room"
        );
        assert!(allocation.take(now, 1000, 900) && !allocation.take(now, 1000, 200));
        assert!(allocation.take(Duration::from_millis(200), 1000, 200));
    }
}
