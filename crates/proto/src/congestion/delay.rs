//! The queueing delay of the path, from one-way delays.

use std::time::Duration;

/// The path's own delay is the lowest of the last one to two of these.
const BASE_MEMORY: Duration = Duration::from_secs(6);
/// Likewise for a queue that lasts.
const STANDING: Duration = Duration::from_millis(300);
/// A sample within this many seconds of the path's own delay met no queue.
const CLOSE: f64 = 0.002;

/// Separates queueing from the path's own delay, all in seconds. The receiver's clock has an unknown offset, so
/// only differences of delays mean anything. Jitter only ever adds, so of a few samples the lowest shows the queue.
pub(super) struct QueueDelay {
    base: Lowest,
    base_rtt: Lowest,
    recent: Lowest,
    lately: Lowest,
    seen: Duration,
    fell: bool,
    last: Option<f64>,
    noise: f64,
    srtt: f64,
}

impl QueueDelay {
    pub(super) fn new(now: Duration) -> Self {
        let none = Lowest::new(now);
        Self {
            base: none,
            base_rtt: none,
            recent: none,
            lately: none,
            seen: now,
            fell: false,
            last: None,
            noise: 0.01,
            srtt: 0.1,
        }
    }

    /// A packet took `delay` one way, give or take the clocks' offset, and `rtt` there and back.
    pub(super) fn on_sample(&mut self, now: Duration, delay: f64, rtt: f64) {
        match self.last {
            None => self.srtt = rtt,
            Some(last) => self.noise += ((delay - last).abs() - self.noise) / 16.0,
        }
        self.last = Some(delay);
        self.srtt += (rtt - self.srtt) / 16.0;
        self.fell = delay < self.base.value() - 0.0005;
        self.base.add(now, delay, BASE_MEMORY);
        self.base_rtt.add(now, rtt, BASE_MEMORY);
        self.recent
            .add(now, delay, Duration::from_secs_f64(self.window() / 2.0));
        self.lately.add(now, delay, STANDING);
        if delay < self.base.value() + CLOSE {
            self.seen = now;
        }
    }

    /// Present time in the queue, judged over `window`.
    pub(super) fn queue(&self) -> f64 {
        (self.recent.value() - self.base.value()).max(0.0)
    }

    /// Time in the queue that no packet got around for a while.
    pub(super) fn standing(&self) -> f64 {
        (self.lately.value() - self.base.value()).max(0.0)
    }

    /// Over how long the queue is judged: longer with more jitter.
    pub(super) fn window(&self) -> f64 {
        (self.rtt() / 4.0)
            .clamp(0.03, 0.1)
            .max((3.0 * self.noise).min(0.3))
    }

    /// How much the delay changes from sample to sample.
    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    /// Round trip without queues.
    pub(super) fn rtt(&self) -> f64 {
        self.base_rtt.value().min(self.srtt)
    }

    /// Smoothed round trip.
    pub(super) fn srtt(&self) -> f64 {
        self.srtt
    }

    /// When the path's own delay was last seen.
    pub(super) fn seen(&self) -> Duration {
        self.seen
    }

    /// It is being looked for: count from now.
    pub(super) fn mark_seen(&mut self, now: Duration) {
        self.seen = now;
    }

    /// The last sample was lower than what was believed to be the path's own delay.
    pub(super) fn fell(&self) -> bool {
        self.fell
    }
}

/// The lowest value of the last one to two slots of time.
#[derive(Clone, Copy)]
struct Lowest {
    slots: [f64; 2],
    since: Duration,
}

impl Lowest {
    fn new(now: Duration) -> Self {
        Self {
            slots: [f64::INFINITY; 2],
            since: now,
        }
    }

    fn add(&mut self, now: Duration, value: f64, slot: Duration) {
        let age = now.saturating_sub(self.since);
        if age > slot {
            let before = if age > 2 * slot {
                f64::INFINITY
            } else {
                self.slots[1]
            };
            *self = Self {
                slots: [before, f64::INFINITY],
                since: now,
            };
        }
        self.slots[1] = self.slots[1].min(value);
    }

    fn value(&self) -> f64 {
        self.slots[0].min(self.slots[1])
    }
}
