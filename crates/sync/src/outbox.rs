//! The messages that wait to be sent.

use std::collections::VecDeque;

use crate::{Delivery, Outgoing, PeerId};

/// Messages that were sent whose memory is kept.
const MAX_SPARE: usize = 64;

/// Messages to be sent; the memory of those that were serves the next.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: VecDeque<Outgoing>,
    spare: Vec<Outgoing>,
}

impl Outbox {
    /// A message to be sent, in the memory of one that was; `write` appends its bytes.
    pub(crate) fn message(
        &mut self,
        to: impl IntoIterator<Item = PeerId>,
        delivery: Delivery,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Outgoing {
        let mut outgoing = self.spare.pop().unwrap_or_else(|| Outgoing {
            to: Vec::new(),
            delivery,
            bytes: Vec::new(),
        });
        outgoing.to.clear();
        outgoing.to.extend(to);
        outgoing.delivery = delivery;
        outgoing.bytes.clear();
        write(&mut outgoing.bytes);
        outgoing
    }

    pub(crate) fn push(&mut self, outgoing: Outgoing) {
        self.waiting.push_back(outgoing);
    }

    pub(crate) fn pop(&mut self) -> Option<Outgoing> {
        self.waiting.pop_front()
    }

    /// A message was sent.
    pub(crate) fn reclaim(&mut self, sent: Outgoing) {
        if self.spare.len() < MAX_SPARE {
            self.spare.push(sent);
        }
    }
}
