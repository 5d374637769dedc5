//! Round-trip and loss estimates.
//!
//! The round trip is smoothed as in RFC 9002 (section 5). A packet is overdue by time alone: reordering that is seen widens the
//! threshold, where RFC 9002 also counts packets that overtook it.

use core::time::Duration;

/// Assumed before the first measurement.
const INITIAL: Duration = Duration::from_millis(150);
/// How long the worst reordering is remembered before it is believed to have lessened.
const LATENESS_HOLD: Duration = Duration::from_secs(2);

/// Smoothed round trip, its deviation, and the lowest seen.
#[derive(Debug)]
pub struct Rtt {
    smoothed: Option<Duration>,
    deviation: Duration,
    min: Duration,
    /// How much later than the round trip packets overtaken by others were acknowledged, lately.
    lateness: Duration,
    lateness_at: Duration,
}

impl Rtt {
    /// Nothing measured.
    pub fn new() -> Self {
        Self {
            smoothed: None,
            deviation: INITIAL / 2,
            min: Duration::MAX,
            lateness: Duration::ZERO,
            lateness_at: Duration::ZERO,
        }
    }

    /// A packet was acknowledged `elapsed` after it left; the other end held the answer back for `delay`, which
    /// is believed as far as it leaves no less than the lowest round trip.
    pub fn on_sample(&mut self, elapsed: Duration, delay: Duration) {
        let sample = match elapsed.checked_sub(delay) {
            Some(rest) if rest >= self.min || self.smoothed.is_none() => rest,
            Some(rest) if delay < Duration::from_millis(50) => rest,
            _ => self.min.min(elapsed),
        };
        self.min = self.min.min(sample);
        match self.smoothed {
            None => {
                self.smoothed = Some(sample);
                self.deviation = sample / 2;
            }
            Some(smoothed) => {
                let error = smoothed.abs_diff(sample);
                self.deviation = (self.deviation * 3 + error) / 4;
                self.smoothed = Some((smoothed * 7 + sample) / 8);
            }
        }
    }

    /// Smoothed round trip.
    pub fn smoothed(&self) -> Duration {
        self.smoothed.unwrap_or(INITIAL)
    }

    /// Lowest seen, or zero.
    pub fn min(&self) -> Duration {
        if self.min == Duration::MAX {
            Duration::ZERO
        } else {
            self.min
        }
    }

    /// Mean deviation.
    pub fn deviation(&self) -> Duration {
        self.deviation
    }

    /// A packet was acknowledged `elapsed` after it left, although later ones had been before: the path reorders.
    pub fn on_overtaken(&mut self, now: Duration, elapsed: Duration) {
        let late = elapsed.saturating_sub(self.smoothed());
        if late >= self.lateness {
            self.lateness = late;
            self.lateness_at = now;
        } else if now.saturating_sub(self.lateness_at) > LATENESS_HOLD {
            self.lateness = (self.lateness + late) / 2;
            self.lateness_at = now;
        }
    }

    /// How long after sending a packet is overdue, given that a later one was acknowledged.
    pub fn overdue(&self) -> Duration {
        let spread = (self.deviation * 4).max(self.lateness * 5 / 4);
        let most = self.smoothed().max(Duration::from_millis(10));
        self.smoothed() + spread.clamp(Duration::from_millis(2), most)
    }

    /// How long to wait for any acknowledgement at all before probing.
    pub fn probe_after(&self, ack_delay: Duration) -> Duration {
        self.smoothed() + (self.deviation * 4).max(Duration::from_millis(2)) + ack_delay
    }
}

/// How many packets are lost on the way out, as a fraction.
#[derive(Debug)]
pub struct LossEstimate {
    fraction: f32,
    /// The same without a first assumption.
    seen: f32,
    samples: u32,
    /// The same from packets alone, and how many there were, at most [`Self::MEMORY`].
    measured: f32,
    packets: u32,
}

impl LossEstimate {
    /// Memory in packets: about five seconds at 60 a second.
    const MEMORY: u32 = 300;
    /// Weight of the first assumption in packets.
    const PRIOR: u32 = 20;
    /// The loss is unknown before the fate of so many packets is known.
    const ENOUGH: u32 = 20;
    /// A resend over a round trip shorter than this comes about as soon as a repair would.
    const NEAR: Duration = Duration::from_millis(5);

    /// Assumes a bad link until it has shown better: the first messages matter.
    pub fn new() -> Self {
        Self {
            fraction: 0.1,
            seen: 0.0,
            samples: Self::PRIOR,
            measured: 0.0,
            packets: 0,
        }
    }

    /// A packet's fate became known.
    pub fn on_packet(&mut self, lost: bool) {
        self.samples = (self.samples + 1).min(Self::MEMORY);
        let target = if lost { 1.0 } else { 0.0 };
        self.fraction += (target - self.fraction) / self.samples as f32;
        self.seen += (target - self.seen) / self.samples as f32;
        self.packets = (self.packets + 1).min(Self::MEMORY);
        self.measured += (target - self.measured) / self.packets as f32;
    }

    /// A packet presumed lost arrived after all.
    pub fn on_late(&mut self) {
        self.fraction = (self.fraction - 1.0 / self.samples as f32).max(0.0);
        self.seen = (self.seen - 1.0 / self.samples as f32).max(0.0);
        self.measured = (self.measured - 1.0 / self.packets.max(1) as f32).max(0.0);
    }

    /// The estimate.
    pub fn fraction(&self) -> f32 {
        self.fraction
    }

    /// What was measured, without an assumption; `None` until there is enough of it.
    pub fn measured(&self) -> Option<f32> {
        (self.packets >= Self::ENOUGH).then_some(self.measured)
    }

    /// What to be prepared for on a path with this round trip. Where the other end is near, a loss that nobody has seen yet costs
    /// less to retransmit than to protect against.
    pub fn expected(&self, rtt: &Rtt) -> f32 {
        match rtt.smoothed() < Self::NEAR {
            true => self.seen,
            false => self.fraction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_a_steady_round_trip() {
        let mut rtt = Rtt::new();
        for i in 0..100u32 {
            rtt.on_sample(
                Duration::from_millis(100) + Duration::from_micros(u64::from(i % 7) * 100),
                Duration::ZERO,
            );
        }
        assert!(
            rtt.smoothed() > Duration::from_millis(100)
                && rtt.smoothed() < Duration::from_millis(101)
        );
        assert!(rtt.overdue() < Duration::from_millis(104));
    }

    #[test]
    fn a_lying_delay_is_not_believed() {
        let mut rtt = Rtt::new();
        rtt.on_sample(Duration::from_millis(100), Duration::ZERO);
        rtt.on_sample(Duration::from_millis(100), Duration::from_millis(99));
        assert_eq!(rtt.min(), Duration::from_millis(100));
    }

    #[test]
    fn loss_converges_from_the_first_assumption() {
        let mut loss = LossEstimate::new();
        assert!(loss.fraction() > 0.05);
        for _ in 0..3000 {
            loss.on_packet(false);
        }
        assert!(loss.fraction() < 0.001);
        for i in 0..3000 {
            loss.on_packet(i % 5 == 0);
        }
        assert!((loss.fraction() - 0.2).abs() < 0.05);
    }

    #[test]
    fn loss_is_unknown_until_it_is_measured() {
        let mut loss = LossEstimate::new();
        for _ in 0..19 {
            loss.on_packet(false);
            assert_eq!(loss.measured(), None);
        }
        loss.on_packet(false);
        assert_eq!(loss.measured(), Some(0.0), "nothing is assumed");
        for i in 0..3000 {
            loss.on_packet(i % 5 == 0);
        }
        assert!((loss.measured().unwrap() - 0.2).abs() < 0.05);
    }

    #[test]
    fn nearby_only_what_was_seen_to_get_lost_counts() {
        let mut near = Rtt::new();
        let mut loss = LossEstimate::new();
        assert!(loss.expected(&near) > 0.05, "nothing is known yet");
        near.on_sample(Duration::from_millis(1), Duration::ZERO);
        assert_eq!(loss.expected(&near), 0.0);
        loss.on_packet(true);
        assert!(loss.expected(&near) > 0.04);
    }
}
