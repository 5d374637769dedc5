//! How often batches are sent where nobody waits for them: at once when an input was given, and else as often as keeps the others sure.
//!
//! What a batch lacks is what `Input::predict` says anyway, so batches without inputs may wait; those with inputs are repeated until everyone has
//! acknowledged them.

use core::time::Duration;

use crate::Tick;

/// Packets are this many times farther apart while everyone has every input.
const QUIET: u32 = 4;

/// When the next batch is sent.
#[derive(Debug)]
pub(super) struct PacketRate {
    interval: Duration,
    last_sent: Option<Duration>,
    /// Turns before this tick have inputs or changes.
    news_upto: Tick,
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
            news_upto: Tick(0),
            at_once: 0,
            closed: false,
        }
    }

    /// A turn up to a tick was closed. With inputs in it, so many packets are sent at once: more than one where packets are lost.
    pub(super) fn on_turn(&mut self, to: Tick, has_news: bool, packets: u32) {
        self.closed = true;
        if has_news {
            self.news_upto = to;
            self.at_once = packets;
        }
    }

    /// Somebody lacks inputs: the next turn is sent at once.
    pub(super) fn hurry(&mut self) {
        self.at_once = self.at_once.max(1);
    }

    /// Whether a turn was closed and not considered yet.
    pub(super) fn has_closed(&self) -> bool {
        self.closed
    }

    /// Whether to send now, given how far everyone has acknowledged. Packets leave when a turn is closed, so that their age is known, unless no turn
    /// is closed for long.
    pub(super) fn is_due(&mut self, now: Duration, acknowledged: Tick) -> bool {
        let wait = match acknowledged >= self.news_upto {
            true => QUIET * self.interval,
            false => self.interval,
        };
        let waited = |wait| self.last_sent.is_none_or(|last| now >= last + wait);
        let is_due = match self.closed {
            true => self.at_once > 0 || waited(wait),
            false => self.at_once > 0 && waited(self.interval),
        };
        self.closed = false;
        if is_due {
            self.at_once = self.at_once.saturating_sub(1);
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

    /// When packets leave in a second of turns of 10 ms, with inputs in the one at 300 ms, which all have at `acknowledged` ms.
    fn sent(packets: u32, acknowledged: u64) -> Vec<u64> {
        let mut rate = PacketRate::new(ms(50));
        let mut sent = Vec::new();
        for at in 0..100 {
            rate.on_turn(Tick(at + 1), at == 30, packets);
            let known = if 10 * at < acknowledged {
                Tick(5)
            } else {
                Tick(31)
            };
            if rate.is_due(ms(10 * at), known.min(Tick(at))) {
                sent.push(10 * at);
            }
        }
        sent
    }

    #[test]
    fn inputs_leave_at_once_and_again_until_they_are_known() {
        assert_eq!(
            sent(1, 420),
            [0, 200, 300, 350, 400, 600, 800],
            "at once, then every 50 ms, then every 200 ms"
        );
        assert_eq!(sent(2, 420), [0, 200, 300, 310, 360, 410, 610, 810]);
    }

    #[test]
    fn packets_leave_with_turns_only_unless_somebody_asks() {
        let mut rate = PacketRate::new(ms(50));
        assert!(!rate.is_due(ms(0), Tick(0)));
        rate.on_turn(Tick(1), false, 1);
        assert!(rate.is_due(ms(0), Tick(0)));
        assert!(!rate.is_due(ms(900), Tick(0)));
        rate.hurry();
        assert!(rate.is_due(ms(901), Tick(0)));
    }
}
