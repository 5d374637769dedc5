//! How often batches are sent where nobody waits for them: at once when an input was given, and then less and less often.
//!
//! What a batch lacks is what `Input::predict` says anyway, so batches without inputs may wait; those with inputs are followed by others that repeat
//! them, soon at first.

use core::time::Duration;

/// From one packet to the next while nothing new is given, in intervals; then always as long as the last.
const WAITS: [u32; 3] = [1, 3, 4];

/// When the next batch is sent.
#[derive(Debug)]
pub(super) struct PacketRate {
    /// From a packet with an input to the next that repeats it.
    interval: Duration,
    last_sent: Option<Duration>,
    /// Packets since the last that were sent at once.
    repeated: usize,
    /// Packets that are still to be sent without waiting.
    at_once: u32,
    /// A turn was closed since the last packet was considered.
    closed: bool,
}

impl PacketRate {
    pub(super) fn new(interval: Duration) -> PacketRate {
        PacketRate {
            interval,
            last_sent: None,
            repeated: 0,
            at_once: 0,
            closed: false,
        }
    }

    /// A turn was closed. With inputs in it, so many packets are sent at once: more than one where packets are lost.
    pub(super) fn on_turn(&mut self, has_news: bool, packets: u32) {
        self.closed = true;
        if has_news {
            (self.at_once, self.repeated) = (packets, 0);
        }
    }

    /// Somebody lacks inputs: the next turn is sent at once.
    pub(super) fn hurry(&mut self) {
        self.at_once = self.at_once.max(1);
    }

    /// The longest time from one packet to the next, as long as turns are closed.
    pub(super) fn longest_wait(&self) -> Duration {
        self.interval * WAITS[WAITS.len() - 1]
    }

    /// Whether to send now. Packets leave when a turn is closed, so that their age is known, unless no turn is closed for long.
    pub(super) fn is_due(&mut self, now: Duration) -> bool {
        let waited = |wait| self.last_sent.is_none_or(|last| now >= last + wait);
        let wait = self.interval * WAITS[self.repeated.min(WAITS.len() - 1)];
        let is_due = match core::mem::take(&mut self.closed) {
            true => self.at_once > 0 || waited(wait),
            false => self.at_once > 0 && waited(self.interval),
        };
        if is_due {
            match self.at_once.checked_sub(1) {
                Some(left) => self.at_once = left,
                None => self.repeated = (self.repeated + 1).min(WAITS.len()),
            }
            self.last_sent = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// When packets leave in a second of turns of 10 ms, with inputs in the one at 300 ms.
    fn sent(packets: u32) -> Vec<u64> {
        let mut rate = PacketRate::new(ms(50));
        let mut sent = Vec::new();
        for at in 0..100 {
            rate.on_turn(at == 30, packets);
            if rate.is_due(ms(10 * at)) {
                sent.push(10 * at);
            }
        }
        sent
    }

    #[test]
    fn inputs_leave_at_once_and_again_less_and_less_often() {
        assert_eq!(sent(1), [0, 150, 300, 350, 500, 700, 900]);
        assert_eq!(sent(2), [0, 150, 300, 310, 360, 510, 710, 910]);
    }

    #[test]
    fn packets_leave_with_turns_only_unless_somebody_asks() {
        let mut rate = PacketRate::new(ms(50));
        assert!(!rate.is_due(ms(0)));
        rate.on_turn(false, 1);
        assert!(rate.is_due(ms(0)));
        assert!(!rate.is_due(ms(900)));
        rate.hurry();
        assert!(rate.is_due(ms(901)));
    }
}
