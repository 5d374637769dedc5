//! Checkers for one direction of one channel: how often and in which order messages arrive.

use super::Seen;

/// Unreliable: a message may be lost, never doubled.
#[derive(Clone, Debug, Default)]
pub struct AtMostOnce {
    seen: Seen,
}

impl AtMostOnce {
    /// Message `number` arrived.
    pub fn on_received(&mut self, number: u32) -> Result<(), String> {
        match self.seen.insert(number) {
            true => Ok(()),
            false => Err(format!("message {number} arrived twice")),
        }
    }

    /// Whether message `number` has arrived.
    pub fn has(&self, number: u32) -> bool {
        self.seen.contains(number)
    }
}

/// Reliable: what was sent arrives, once.
#[derive(Clone, Debug, Default)]
pub struct ExactlyOnce {
    sent: u32,
    seen: Seen,
}

impl ExactlyOnce {
    /// The next message was accepted by `send`.
    pub fn on_sent(&mut self) {
        self.sent += 1;
    }

    /// Message `number` arrived.
    pub fn on_received(&mut self, number: u32) -> Result<(), String> {
        match self.seen.insert(number) {
            true => Ok(()),
            false => Err(format!("message {number} arrived twice")),
        }
    }

    /// Whether message `number` has arrived.
    pub fn has(&self, number: u32) -> bool {
        self.seen.contains(number)
    }

    /// How many messages have not arrived yet.
    pub fn outstanding(&self) -> u32 {
        self.sent.saturating_sub(self.seen.count())
    }

    /// The flow is complete: fails if something is missing.
    pub fn finish(&self) -> Result<(), String> {
        match self.seen.first_missing(self.sent) {
            None => Ok(()),
            Some(number) => Err(format!("message {number} of {} never arrived", self.sent)),
        }
    }
}

/// Ordered: each message is the one after the last.
#[derive(Clone, Debug, Default)]
pub struct InOrder {
    next: u32,
}

impl InOrder {
    /// Message `number` arrived.
    pub fn on_received(&mut self, number: u32) -> Result<(), String> {
        let expected = std::mem::replace(&mut self.next, number + 1);
        match number == expected {
            true => Ok(()),
            false => Err(format!("message {number} arrived where {expected} was due")),
        }
    }

    /// The number of the message that is due next.
    pub fn due(&self) -> u32 {
        self.next
    }
}

/// Sequenced: gaps are fine, going back is not.
#[derive(Clone, Debug, Default)]
pub struct NeverBack {
    next: u32,
}

impl NeverBack {
    /// Message `number` arrived.
    pub fn on_received(&mut self, number: u32) -> Result<(), String> {
        if number < self.next {
            return Err(format!(
                "message {number} arrived after message {}",
                self.next - 1
            ));
        }
        self.next = number + 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_once_knows_what_is_missing() {
        let mut once = ExactlyOnce::default();
        (0..3).for_each(|_| once.on_sent());
        assert!(once.on_received(2).is_ok() && once.on_received(0).is_ok());
        assert_eq!(once.outstanding(), 1);
        assert_eq!(once.finish().unwrap_err(), "message 1 of 3 never arrived");
        assert!(once.on_received(2).is_err());
        assert!(once.on_received(1).is_ok() && once.finish().is_ok());
    }

    #[test]
    fn order_allows_no_gap_and_sequence_does() {
        let (mut order, mut back) = (InOrder::default(), NeverBack::default());
        for number in [0, 1] {
            assert!(order.on_received(number).is_ok() && back.on_received(number).is_ok());
        }
        assert!(order.on_received(4).is_err() && back.on_received(4).is_ok());
        assert!(back.on_received(4).is_err() && back.on_received(3).is_err());
    }
}
