//! All checks of one flow.

use samestep_proto::{ChannelId, Delivery};

use super::Connection;
use crate::check::{AtMostOnce, ExactlyOnce, HonestReports, InOrder, NeverBack, Origin, Promise};
use crate::stamp::{Flow, Tag};

/// What one side of a connection sends on one channel.
pub(super) struct FlowChecks {
    pub(super) delivery: Delivery,
    pub(super) flow: Flow,
    pub(super) origin: Origin,
    pub(super) at_most_once: AtMostOnce,
    pub(super) exactly_once: ExactlyOnce,
    pub(super) in_order: InOrder,
    pub(super) never_back: NeverBack,
    pub(super) reports: HonestReports,
}

impl Connection {
    /// The checks of what `side` sends on a channel.
    pub(super) fn flow(
        &mut self,
        key: u64,
        delivery: Delivery,
        tag: Tag,
        side: usize,
        channel: ChannelId,
    ) -> &mut FlowChecks {
        let [from, to] = [self.nodes[side], self.nodes[1 - side]];
        self.flows.entry((side, channel)).or_insert_with(|| {
            let flow = Flow {
                tag,
                from,
                to,
                channel,
            };
            FlowChecks {
                delivery,
                flow,
                origin: Origin::new(key, flow),
                at_most_once: AtMostOnce::default(),
                exactly_once: ExactlyOnce::default(),
                in_order: InOrder::default(),
                never_back: NeverBack::default(),
                reports: HonestReports::default(),
            }
        })
    }
}

impl FlowChecks {
    pub(super) fn on_received(&mut self, payload: &[u8]) -> Result<(), (Promise, String)> {
        let due = self.delivery.is_ordered().then(|| self.in_order.due());
        let named = |promise| move |what| (promise, what);
        let number = self
            .origin
            .on_received(payload, due)
            .map_err(named(Promise::NothingFromStrangers))?;
        match self.delivery.is_reliable() {
            true => self
                .exactly_once
                .on_received(number)
                .map_err(named(Promise::ExactlyOnce))?,
            false => self
                .at_most_once
                .on_received(number)
                .map_err(named(Promise::AtMostOnce))?,
        }
        if self.delivery.is_ordered() {
            self.in_order
                .on_received(number)
                .map_err(named(Promise::InOrder))?;
        }
        if self.delivery.is_sequenced() {
            self.never_back
                .on_received(number)
                .map_err(named(Promise::NeverBack))?;
        }
        Ok(())
    }

    /// Whether it may be believed that the other end has a message. On an ordered channel it may wait there for an
    /// earlier one; a sequenced one may have been dropped for a newer one.
    pub(super) fn has_arrived(&self, number: u32) -> bool {
        match (self.delivery.is_reliable(), self.delivery) {
            (_, delivery) if delivery.is_ordered() || delivery.is_sequenced() => true,
            (true, _) => self.exactly_once.has(number),
            (false, _) => self.at_most_once.has(number),
        }
    }
}
