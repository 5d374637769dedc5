//! The channels of a session's connections: one for each delivery, and two of its own.

use samestep_proto::{ChannelConfig, ChannelId, Delivery};

/// The session's own messages, before everything else.
pub(crate) const CONTROL: ChannelId = ChannelId(Delivery::ALL.len() as u8);
/// The game's state on its way to a joining peer, after everything else.
pub(crate) const BULK: ChannelId = ChannelId(CONTROL.0 + 1);
/// What may get lost.
pub(crate) const UNRELIABLE: ChannelId = channel(Delivery::Unreliable);

/// The channel that carries a delivery.
pub(crate) const fn channel(delivery: Delivery) -> ChannelId {
    ChannelId(delivery as u8)
}

/// The streams of reliable messages between the members of a mesh, each with the delivery it is resent by.
pub(crate) const STREAMS: [Delivery; 3] = [
    Delivery::ReliableUnordered,
    Delivery::ReliableOrdered,
    Delivery::Redundant,
];

/// The stream whose promise is that of a reliable delivery.
pub(crate) const fn stream(delivery: Delivery) -> u8 {
    match (delivery.is_ordered(), delivery.is_redundant()) {
        (false, _) => 0,
        (true, false) => 1,
        (true, true) => 2,
    }
}

/// The channels, each at the place that its number says.
pub(crate) fn channels() -> Vec<ChannelConfig> {
    let mut channels = Delivery::ALL.map(ChannelConfig::new).to_vec();
    channels.push(ChannelConfig::new(Delivery::ReliableOrdered).priority(200));
    channels.push(ChannelConfig::new(Delivery::ReliableUnordered).priority(50));
    channels
}

/// The channel on which a host passes on what came on `from`. Sequenced messages of several peers would outdate each other
/// in one channel: they carry numbers of their own and travel on the channel without.
pub(crate) fn forwarding_channel(from: ChannelId) -> ChannelId {
    match Delivery::ALL.get(usize::from(from.0)) {
        Some(delivery) if delivery.is_sequenced() => UNRELIABLE,
        _ => from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_delivery_has_its_channel() {
        let channels = channels();
        for delivery in Delivery::ALL {
            let ChannelId(index) = channel(delivery);
            assert_eq!(channels[usize::from(index)].delivery, delivery);
        }
        // The numbers of the wire format.
        assert_eq!(
            (UNRELIABLE, CONTROL, BULK),
            (ChannelId(0), ChannelId(5), ChannelId(6))
        );
        assert_eq!(STREAMS.map(stream), [0, 1, 2]);
        assert_eq!(channels.len(), usize::from(BULK.0) + 1);
    }
}
