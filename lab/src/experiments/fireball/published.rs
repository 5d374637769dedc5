//! What the published designs have in common: ways with packets on them, latency as half the round trip, and a line through the last three places.

use std::time::Duration;

use samestep_netem::Link;

/// How often packets leave when nothing happens.
pub(in crate::experiments) const PACKETS_EVERY: Duration = Duration::from_millis(50);
/// The bytes of one.
pub(in crate::experiments) const PACKET_BYTES: usize = 20;
const PING_EVERY: Duration = Duration::from_secs(1);

/// A direction of the connection, and what is on its way.
pub(in crate::experiments) struct Way<T> {
    link: Link,
    on_the_way: Vec<(Duration, T)>,
    bytes: u64,
}

impl<T: Copy> Way<T> {
    pub fn new(link: Link) -> Way<T> {
        Way {
            link,
            on_the_way: Vec::new(),
            bytes: 0,
        }
    }

    pub fn send(&mut self, now: Duration, bytes: usize, message: T) {
        self.bytes += (bytes + samestep_netem::IP_UDP_OVERHEAD_BYTES) as u64;
        let fate = self.link.send(now, bytes);
        for arrival in fate.arrivals.iter() {
            self.on_the_way.push((*arrival, message));
        }
    }

    /// What has arrived, in the order in which it did. Nothing else is known of the order.
    pub fn arrived(&mut self, now: Duration) -> Vec<T> {
        if self.on_the_way.iter().all(|(at, _)| *at > now) {
            return Vec::new();
        }
        let mut arrived: Vec<(Duration, T)> = Vec::new();
        self.on_the_way.retain(|(at, message)| {
            if *at <= now {
                arrived.push((*at, *message));
            }
            *at > now
        });
        arrived.sort_by_key(|(at, _)| *at);
        arrived.into_iter().map(|(_, message)| message).collect()
    }

    /// Forgets what is on its way.
    pub fn clear(&mut self) {
        self.on_the_way.clear();
    }

    /// Bytes sent, headers included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Half the round trip, smoothed.
#[derive(Default)]
pub(in crate::experiments) struct Estimate {
    latency: Option<f64>,
    next: Duration,
}

impl Estimate {
    /// Pings at times; what a lost ping would have told is not learnt.
    pub fn ping(&mut self, now: Duration, there: &mut Link, back: &mut Link) {
        if now < self.next {
            return;
        }
        self.next = now + PING_EVERY;
        let one_way = |link: &mut Link| {
            let fate = link.send(now, PACKET_BYTES);
            fate.arrivals.iter().min().map(|at| *at - now)
        };
        if let Some((there, back)) = one_way(there).zip(one_way(back)) {
            let sample = (there + back).as_secs_f64() / 2.0;
            let before = self.latency.unwrap_or(sample);
            self.latency = Some(before + (sample - before) / 8.0);
        }
    }

    /// How long a message that has just arrived still waits, for a delay from its sending.
    pub fn wait(&self, delay: Duration) -> Duration {
        let latency = Duration::from_secs_f64(self.latency.unwrap_or(0.0));
        delay.saturating_sub(latency)
    }
}

/// Where a program has another player.
#[derive(Default)]
pub(in crate::experiments) struct Remote {
    pub place: f64,
    /// Places to come, and when they are reached.
    coming: Vec<(Duration, f64)>,
    /// The last three that were reached.
    reached: Vec<(Duration, f64)>,
}

impl Remote {
    pub fn at(place: f64) -> Remote {
        Remote {
            place,
            ..Remote::default()
        }
    }

    /// It will be there then.
    pub fn expect(&mut self, at: Duration, place: f64) {
        self.coming.push((at, place));
    }

    /// Moves to the next place that is known, or on in the direction of the last three.
    pub fn extrapolate(&mut self, now: Duration, step: Duration, speed: f64) {
        if self.coming.iter().any(|(at, _)| *at <= now) {
            let coming = core::mem::take(&mut self.coming);
            let (due, coming): (Vec<_>, Vec<_>) =
                coming.into_iter().partition(|(at, _)| *at <= now);
            self.coming = coming;
            for (at, place) in due {
                self.place = place;
                self.reached.push((at, place));
                let extra = self.reached.len().saturating_sub(3);
                self.reached.drain(..extra);
            }
        }
        let step = step.as_secs_f64();
        if let Some((_, place)) = self.coming.last() {
            let most = speed * step;
            self.place += (place - self.place).clamp(-most, most);
        } else if let [(first, from), .., (last, to)] = self.reached[..]
            && last > first
        {
            self.place += (to - from) / (last - first).as_secs_f64() * step;
        }
    }
}
