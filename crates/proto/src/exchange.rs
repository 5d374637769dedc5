//! Timestamps for clock synchronisation: what an acknowledgement says about the other end's clock.

use core::time::Duration;
use std::collections::VecDeque;

/// When a packet and its acknowledgement left and arrived, by both clocks: the four timestamps of NTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// When the packet left, on this end's clock.
    pub sent_at: Duration,
    /// When it arrived, on the other end's clock: microseconds, wrapping.
    pub received_at_us: u32,
    /// How long the other end waited with its answer, as it says.
    pub held: Duration,
    /// When the answer arrived, on this end's clock.
    pub returned_at: Duration,
}

/// The last exchanges not yet read.
#[derive(Debug, Default)]
pub(crate) struct Exchanges(VecDeque<Exchange>);

impl Exchanges {
    /// Older ones are dropped: a clock reads them after every datagram.
    const KEPT: usize = 8;

    pub(crate) fn push(&mut self, exchange: Exchange) {
        if self.0.len() == Self::KEPT {
            self.0.pop_front();
        }
        self.0.push_back(exchange);
    }

    pub(crate) fn pop(&mut self) -> Option<Exchange> {
        self.0.pop_front()
    }
}
