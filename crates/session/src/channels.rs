//! The channels of a session's connections: one for each delivery, and two of its own.

use samestep_proto::{ChannelConfig, ChannelId, Delivery};

/// The session's own messages, before everything else.
pub(crate) const CONTROL: ChannelId = ChannelId(5);
/// The game's state on its way to a joining peer, after everything else.
pub(crate) const BULK: ChannelId = ChannelId(6);
/// Control messages that may get lost.
pub(crate) const UNRELIABLE: ChannelId = channel(Delivery::Unreliable);

/// The channel that carries a delivery. The first deliveries have the numbers before the session's own, later ones those after.
pub(crate) const fn channel(delivery: Delivery) -> ChannelId {
    let number = delivery as u8;
    ChannelId(if number < CONTROL.0 {
        number
    } else {
        number + 2
    })
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
    let control = ChannelConfig::new(Delivery::ReliableOrdered).priority(200);
    let bulk = ChannelConfig::new(Delivery::ReliableUnordered).priority(50);
    channels.splice(
        usize::from(CONTROL.0)..usize::from(CONTROL.0),
        [control, bulk],
    );
    channels
}

/// The channel on which a host passes on what came on `from`. Sequenced messages of several peers would outdate each other
/// in one channel: they carry numbers of their own and travel on the channel without.
pub(crate) fn forwarding_channel(from: ChannelId) -> ChannelId {
    let mut sequenced = Delivery::ALL.into_iter().filter(|d| d.is_sequenced());
    match sequenced.any(|delivery| channel(delivery) == from) {
        true => UNRELIABLE,
        false => from,
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
        assert_eq!(channels[usize::from(CONTROL.0)].priority, 200);
        assert_eq!(channels[usize::from(BULK.0)].priority, 50);
        assert_eq!(STREAMS.map(stream), [0, 1, 2]);
    }
}
