//! Pacing: a token bucket that is emptied in bursts of a chosen size.

use std::time::Duration;

/// Packets that leave this close to each other are back to back, as far as a bottleneck can tell.
const BACK_TO_BACK: Duration = Duration::from_micros(200);

/// Spreads packets at a rate, in bytes and seconds. It opens when the bucket is no longer in debt and closes when a
/// burst is owed, so a packet is never cut to what happens to be left in the bucket.
pub(crate) struct Pacer {
    rate: f64,
    burst: Burst,
    credit: f64,
    refilled: Duration,
    open: bool,
    train: Train,
    last_sent: Duration,
}

/// Bytes that may leave back to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    /// While there is always more to send.
    pub(crate) paced: f64,
    /// After a pause.
    pub(crate) idle: f64,
}

/// Where in a row of packets that left back to back one packet stood.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Train {
    /// When the first of the row left.
    pub(crate) start: Duration,
    /// Bytes of the row that left before this packet.
    pub(crate) ahead: f64,
}

impl Pacer {
    /// As after a pause.
    pub(crate) fn new(now: Duration, rate: f64, burst: Burst) -> Self {
        let credit = burst.idle - burst.paced;
        Self {
            rate,
            burst,
            credit,
            refilled: now,
            open: true,
            train: Train::default(),
            last_sent: now,
        }
    }

    /// Changes the rate and the bursts from now on.
    pub(crate) fn set(&mut self, now: Duration, rate: f64, burst: Burst) {
        self.refill(now);
        (self.rate, self.burst) = (rate, burst);
        // What was within the longer burst may be beyond the shorter one.
        self.open &= self.credit > -self.burst.paced;
    }

    /// Bytes that may leave now; 0 while closed.
    pub(crate) fn allowance(&mut self, now: Duration) -> f64 {
        self.refill(now);
        if self.open {
            self.credit + self.burst.paced
        } else {
            0.0
        }
    }

    /// When it is open.
    pub(crate) fn opens_at(&self, now: Duration) -> Duration {
        let credit = self.credit + now.saturating_sub(self.refilled).as_secs_f64() * self.rate;
        if self.open || credit >= 0.0 {
            return now;
        }
        // Rounded up: a wake-up a nanosecond early would find it still closed.
        now + Duration::from_secs_f64(-credit / self.rate) + Duration::from_micros(1)
    }

    /// A packet left, whether allowed or not.
    pub(crate) fn on_sent(&mut self, now: Duration, bytes: f64) -> Train {
        self.refill(now);
        self.credit -= bytes;
        self.open &= self.credit > -self.burst.paced;
        if now.saturating_sub(self.last_sent) > BACK_TO_BACK || self.train.ahead == 0.0 {
            self.train = Train {
                start: now,
                ahead: 0.0,
            };
        }
        self.last_sent = now;
        let train = self.train;
        self.train.ahead += bytes;
        train
    }

    fn refill(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.refilled).as_secs_f64();
        self.refilled = self.refilled.max(now);
        let most = (self.burst.idle - self.burst.paced).max(0.0);
        self.credit = (self.credit + elapsed * self.rate).min(most);
        self.open |= self.credit >= 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn drain(pacer: &mut Pacer, now: Duration) -> usize {
        let mut packets = 0;
        while pacer.allowance(now) > 0.0 {
            pacer.on_sent(now, 1000.0);
            packets += 1;
        }
        packets
    }

    #[test]
    fn holds_the_rate_in_bursts() {
        let mut pacer = Pacer::new(
            MS,
            1e6,
            Burst {
                paced: 2000.0,
                idle: 2000.0,
            },
        );
        let (mut now, mut packets) = (MS, 0);
        while now < 101 * MS {
            assert!(pacer.opens_at(now) <= now);
            let burst = drain(&mut pacer, now);
            assert_eq!(burst, 2);
            packets += burst;
            now = pacer.opens_at(now);
        }
        assert!(
            (100..=102).contains(&packets),
            "{packets} packets of 1 kB in 100 ms at 1 MB/s"
        );
    }

    #[test]
    fn a_pause_earns_a_longer_burst_but_no_more() {
        let mut pacer = Pacer::new(
            MS,
            1e6,
            Burst {
                paced: 1000.0,
                idle: 5000.0,
            },
        );
        assert_eq!(drain(&mut pacer, MS), 5);
        assert_eq!(drain(&mut pacer, 3 * MS), 2);
        assert_eq!(drain(&mut pacer, 1000 * MS), 5);
    }

    #[test]
    fn knows_what_left_back_to_back() {
        let mut pacer = Pacer::new(
            MS,
            1e6,
            Burst {
                paced: 1000.0,
                idle: 5000.0,
            },
        );
        let ahead = |pacer: &mut Pacer, at| pacer.on_sent(at, 100.0).ahead;
        assert_eq!(
            [
                ahead(&mut pacer, MS),
                ahead(&mut pacer, MS),
                ahead(&mut pacer, 2 * MS)
            ],
            [0.0, 100.0, 0.0]
        );
    }
}
