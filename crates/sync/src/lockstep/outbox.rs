//! The messages that wait to be sent.

use std::collections::VecDeque;

use super::message::Message;
use crate::{Delivery, Outgoing, PeerId};

/// Messages that were sent whose memory is kept.
const MAX_SPARE: usize = 32;

/// Messages to be sent; the memory of those that were serves the next.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<Outgoing>,
    spare: Vec<Outgoing>,
}

impl Outbox {
    pub(super) fn push(
        &mut self,
        to: impl IntoIterator<Item = PeerId>,
        delivery: Delivery,
        message: &Message<'_>,
    ) {
        let mut outgoing = self.spare.pop().unwrap_or_else(|| Outgoing {
            to: Vec::new(),
            delivery,
            bytes: Vec::new(),
        });
        outgoing.to.clear();
        outgoing.to.extend(to);
        outgoing.delivery = delivery;
        outgoing.bytes.clear();
        message.write_to(&mut outgoing.bytes);
        self.waiting.push_back(outgoing);
    }

    pub(super) fn pop(&mut self) -> Option<Outgoing> {
        self.waiting.pop_front()
    }

    /// A message was sent.
    pub(super) fn reclaim(&mut self, sent: Outgoing) {
        if self.spare.len() < MAX_SPARE {
            self.spare.push(sent);
        }
    }
}
