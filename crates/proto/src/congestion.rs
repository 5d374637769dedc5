//! Congestion control: how fast to send so that the bottleneck stays busy and its queue short.
//!
//! It is delay-based. The rate follows the *delivery rate*, as in BBR (Cardwell et al. 2016); the queueing delay is held at
//! a target, as in Copa (Arun and Balakrishnan 2018), and measured one way, as in LEDBAT (RFC 6817). While the
//! bottleneck has a queue, the receiver takes in data at exactly the bottleneck's rate, so
//! `delivery rate × (1 + (target − queue) / time)` steers the queue to the target without any search. Loss is no signal.
//!
//! It departs from them in four things:
//!
//! - Delivery rate and queueing delay are read off the receiver's clock, so the return path does not matter.
//! - Startup reads the bottleneck's rate from packet trains ([`dispersion`]) instead of filling the queue to find it.
//! - The queue is drained now and then, not every few round trips, so that the path's own delay is seen again and a standing
//!   queue is never taken for it ([`delay`]).
//! - An application-limited sender is not slowed by jitter: what it delivers says nothing about the path.
//!
//! The target grows with the time one packet takes on the bottleneck, so flows with less than their share push harder than
//! those with more: sharing is fair.

mod available;
mod delay;
mod delivery;
mod dispersion;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use std::collections::VecDeque;
use std::time::Duration;

use tracing::debug;

use crate::pacing::{Burst, Pacer, Train};
use available::AvailableRate;
use delay::QueueDelay;
use delivery::DeliveryRate;
use dispersion::Dispersion;

/// What every datagram costs on the wire beyond its payload (IPv4 and UDP).
const IP_UDP_OVERHEAD_BYTES: usize = 28;
/// What a new connection may send in its first tenth of a second, and at once: enough for any game, and a train
/// long enough to measure.
const INITIAL_PACKETS: f64 = 32.0;
/// A burst so short that a single packet of any size ends it.
const ONE_BY_ONE: f64 = 1.0;
/// Queue to keep at the bottleneck, in seconds: this, and this share of one packet's time on it.
const TARGET_S: f64 = 0.005;
const TARGET_PACKETS: f64 = 0.7;
const TARGET_PACKETS_MAX_S: f64 = 0.05;
/// Loss that the rate makes up for instead of taking it for less capacity. Higher would flood a bottleneck that drops
/// instead of queueing.
const COMPENSATED_LOSS: f64 = 0.15;
/// Loss beyond which nobody should try for more: it may well be our own doing.
const HEAVY_LOSS: f64 = 0.1;
/// Never slower than this (bytes per second), nor than two packets a round trip: inputs get through whatever the
/// path looks like.
const SLOWEST: f64 = 12_500.0;
/// Packets remembered in flight; beyond it the oldest count as arrived.
const RECORDS: usize = 1 << 16;
/// How long the path's own delay may go unseen before the queue is drained to see it, and how long while it is in
/// doubt.
const UNSEEN: Duration = Duration::from_secs(5);
const UNSEEN_IN_DOUBT: Duration = Duration::from_secs(1);

/// What one acknowledgement says about the path.
#[derive(Clone, Debug)]
pub struct Ack {
    /// Largest packet number it newly acknowledges.
    pub largest: u64,
    /// When that packet left.
    pub sent_at: Duration,
    /// When it arrived: the receiver's clock in microseconds, which wraps. Only read if `rtt` is known.
    pub received_at_us: u32,
    /// How long the receiver then held the acknowledgement back.
    pub ack_delay: Duration,
    /// `now - sent_at - ack_delay`; unknown if the packet whose arrival is reported had been acknowledged before.
    pub rtt: Option<Duration>,
    /// Payload of all packets newly acknowledged, those declared lost before included.
    pub newly_acked_bytes: usize,
    /// Their number.
    pub newly_acked_packets: usize,
}

/// Decides when packets may leave. Rates inside are bytes per second on the wire, times seconds.
pub struct Congestion {
    packet: f64,
    sent: VecDeque<Sent>,
    in_flight: usize,
    next_packet: u64,
    /// When the application last had nothing more to send.
    dry_at: Option<Duration>,
    phase: Phase,
    rate: f64,
    pacer: Pacer,
    delay: QueueDelay,
    delivery: DeliveryRate,
    dispersion: Dispersion,
    loss: LossRate,
    /// Receiver's clock: last reading and the time it stands for.
    clock: Option<(u32, i64)>,
    /// A round trip is over when this packet is acknowledged.
    round_end: u64,
    /// Round trips in a row without a queue worth mentioning.
    calm_rounds: u32,
    updated: Duration,
    /// By then the rate tried at the start must have been delivered.
    prove_by: Duration,
    /// The path's own delay turned out lower than believed: look again soon.
    doubt: bool,
    available: AvailableRate,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// Looking for the bottleneck's rate.
    Startup,
    /// Holding the queue at the target.
    Cruise,
    /// Emptying the queue to see the path's own delay.
    Drain { until: Duration },
    /// Waiting until what is delivered reflects the present rate again.
    Settle { until: Duration },
}

struct Sent {
    packet: u64,
    bytes: u32,
    lost: bool,
    /// When the application last had nothing more to send, as of this packet.
    dry_at: Option<Duration>,
    train: Train,
}

impl Congestion {
    /// For packets of at most `max_packet` bytes (UDP payload).
    pub fn new(now: Duration, max_packet: usize) -> Self {
        let packet = (max_packet + IP_UDP_OVERHEAD_BYTES) as f64;
        let rate = INITIAL_PACKETS * packet / 0.1;
        let burst = Burst {
            paced: 2.0 * packet,
            idle: INITIAL_PACKETS * packet,
        };
        Self {
            packet,
            sent: VecDeque::new(),
            in_flight: 0,
            next_packet: 0,
            dry_at: None,
            phase: Phase::Startup,
            rate,
            pacer: Pacer::new(now, rate, burst),
            delay: QueueDelay::new(now),
            delivery: DeliveryRate::default(),
            dispersion: Dispersion::default(),
            loss: LossRate::default(),
            clock: None,
            round_end: 0,
            calm_rounds: 0,
            updated: now,
            prove_by: Duration::MAX,
            doubt: true,
            available: AvailableRate::default(),
        }
    }

    /// A packet left, with `bytes` of UDP payload; `backlog` if more was waiting.
    pub fn on_sent(&mut self, now: Duration, packet: u64, bytes: usize, backlog: bool) {
        let bytes = bytes + IP_UDP_OVERHEAD_BYTES;
        if !backlog {
            self.dry_at = Some(now);
        }
        if self.sent.len() == RECORDS {
            self.forget_oldest();
        }
        let train = self.pacer.on_sent(now, bytes as f64);
        self.sent.push_back(Sent {
            packet,
            bytes: bytes as u32,
            lost: false,
            dry_at: self.dry_at,
            train,
        });
        self.in_flight += bytes;
        self.next_packet = packet + 1;
    }

    /// A packet is believed lost. It may still turn up.
    pub fn on_lost(&mut self, _now: Duration, packet: u64, bytes: usize) {
        self.loss.on_lost((bytes + IP_UDP_OVERHEAD_BYTES) as f64);
        if let Ok(at) = self.sent.binary_search_by_key(&packet, |sent| sent.packet)
            && !self.sent[at].lost
        {
            self.sent[at].lost = true;
            self.in_flight -= self.sent[at].bytes as usize;
        }
    }

    /// An acknowledgement arrived that acknowledges packets for the first time.
    pub fn on_ack(&mut self, now: Duration, ack: &Ack) {
        let bytes =
            (ack.newly_acked_bytes + ack.newly_acked_packets * IP_UDP_OVERHEAD_BYTES) as f64;
        self.delivery.count(bytes);
        self.loss.on_acked(bytes);
        // In flight is what left after the newest acknowledged packet; of older ones, what is missing is late or
        // lost.
        let mut newest = None;
        while self
            .sent
            .front()
            .is_some_and(|sent| sent.packet <= ack.largest)
        {
            newest = self.forget_oldest();
        }
        let Some(rtt) = ack.rtt else { return };
        let received = self.receive_time(ack.received_at_us);
        self.delay
            .on_sample(now, received - ack.sent_at.as_secs_f64(), rtt.as_secs_f64());
        let window = match self.phase {
            Phase::Startup => 0.025,
            _ => self
                .delay
                .rtt()
                .clamp(0.05, 0.2)
                .max((8.0 * self.delay.noise()).min(0.4)),
        };
        self.delivery
            .mark(received + ack.ack_delay.as_secs_f64(), window);
        let Some(newest) = newest.filter(|sent| sent.packet == ack.largest) else {
            return;
        };
        if newest.dry_at == Some(ack.sent_at) && newest.train.ahead == 0.0 {
            self.dispersion = Dispersion::default();
        } else {
            self.dispersion.on_sample(newest.train, received);
        }
        if let Some((delivered, span)) = self.delivery.rate() {
            let dry = newest
                .dry_at
                .is_some_and(|at| at + seconds(span) > ack.sent_at);
            self.update(
                now,
                ack.largest,
                Reading {
                    delivered,
                    span,
                    dry,
                },
            );
        }
    }

    /// Bytes (UDP payload) that may leave now: at least one whole packet, or 0 to wait.
    pub fn budget(&mut self, now: Duration) -> usize {
        let room = self.window().saturating_sub(self.in_flight) as f64;
        let allowance = self.pacer.allowance(now).min(room);
        if allowance <= 0.0 {
            0
        } else {
            allowance.max(self.packet) as usize - IP_UDP_OVERHEAD_BYTES
        }
    }

    /// When there will be a budget, if only time is needed; `None` if it takes an acknowledgement.
    pub fn next_send(&self, now: Duration) -> Option<Duration> {
        (self.in_flight < self.window()).then(|| self.pacer.opens_at(now))
    }

    /// The peer's address changed: nothing known about the path holds any more.
    pub fn on_path_change(&mut self, now: Duration) {
        *self = Self::new(now, self.packet as usize - IP_UDP_OVERHEAD_BYTES);
    }

    /// Bits per second on the wire that it sends at most.
    pub fn bandwidth_bps(&self) -> u64 {
        (self.rate * 8.0) as u64
    }

    /// The rate to offer to the application: see [`AvailableRate::next`].
    pub fn available_rate(&mut self, jitter: Duration, queued: usize) -> u64 {
        let (measured, queueing) = (self.bandwidth_bps() / 8, self.queueing());
        self.available.next(measured, queueing, jitter, queued)
    }

    /// Bytes on the wire that may be unacknowledged. Pacing is what holds the rate; this stops a sender that no
    /// longer hears anything, so it leaves room for acknowledgements that are held back and for jitter.
    pub fn window(&self) -> usize {
        let time = 1.25 * self.delay.rtt() + 0.06 + 4.0 * self.delay.noise();
        let packets = if self.phase == Phase::Startup {
            INITIAL_PACKETS
        } else {
            4.0
        };
        (self.rate * time + packets * self.packet) as usize
    }

    /// Bytes on the wire that are neither acknowledged nor lost.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Estimated time in the path's queue.
    pub fn queueing(&self) -> Duration {
        seconds(self.delay.queue())
    }

    fn update(&mut self, now: Duration, acked: u64, reading: Reading) {
        let round = acked >= self.round_end;
        // Few samples cannot tell jitter from a queue at once: believe what lasts, or what stands out.
        let queue = match reading.dry {
            true => self
                .delay
                .standing()
                .max(self.delay.queue() - 3.0 * self.delay.noise()),
            false => self.delay.queue(),
        };
        match self.phase {
            Phase::Startup => self.start(now, round, queue, reading),
            Phase::Cruise => {
                if round {
                    self.round_end = self.next_packet;
                    self.calm_rounds = if queue < self.target() / 2.0 && !reading.dry {
                        self.calm_rounds + 1
                    } else {
                        0
                    };
                }
                self.steer(now, queue, reading);
                let unseen = if self.doubt { UNSEEN_IN_DOUBT } else { UNSEEN };
                if !reading.dry && now.saturating_sub(self.delay.seen()) > unseen {
                    self.doubt = false;
                    // At half the rate, twice the time.
                    self.drain(now, 2.0 * queue + 0.02);
                }
            }
            Phase::Drain { until } => {
                if self.delay.fell() {
                    self.doubt = true;
                    self.phase = Phase::Drain {
                        until: until.max(now + Duration::from_millis(60)),
                    };
                } else if now > until {
                    self.settle(
                        now,
                        self.delay.rtt() + self.delay.window() + 0.5 * reading.span,
                    );
                }
            }
            Phase::Settle { until } => {
                if now > until || queue > self.target() {
                    self.enter(Phase::Cruise);
                }
            }
        }
        self.updated = now;
        self.rate = self
            .rate
            .max(2.0 * self.packet / self.delay.srtt())
            .max(SLOWEST);
        self.pace(now);
    }

    /// One step towards the bottleneck's rate per round trip: to what trains of packets show, with caution as long
    /// as that is vague.
    fn start(&mut self, now: Duration, round: bool, queue: f64, reading: Reading) {
        if queue > self.target() + self.delay.noise() {
            self.rate = self.rate.min(reading.delivered);
            self.enter(Phase::Cruise);
            if !reading.dry {
                self.drain(now, 2.0 * queue + self.delay.rtt());
            }
            return;
        }
        if !round {
            return;
        }
        // What was sent at the present rate must have arrived before it says anything about a higher one.
        if reading.delivered < 0.75 * self.rate {
            if now > self.prove_by && !reading.dry {
                // It does not arrive, and there is no queue either: this bottleneck drops.
                self.rate = reading.delivered;
                self.enter(Phase::Cruise);
            }
            return;
        }
        self.round_end = self.next_packet;
        self.prove_by = now + seconds(2.0 * self.delay.srtt() + 0.1);
        let Some(estimate) = self.dispersion.rate() else {
            if !reading.dry {
                self.rate *= 2.0;
            }
            return;
        };
        let (step, safe) = (1.1 * self.rate, 0.95 * estimate.at_least);
        if estimate.is_firm() && safe < step {
            self.rate = self.rate.max(safe);
            self.settle(now, self.delay.rtt() + self.delay.window() + reading.span);
        } else {
            let likely = (0.6 * estimate.likely).min(2.0 * self.rate);
            self.rate = safe.max(likely).clamp(step, 10.0 * self.rate);
        }
    }

    /// Steers the queue to the target, in about twice the time it takes to see the effect: faster would oscillate.
    fn steer(&mut self, now: Duration, queue: f64, reading: Reading) {
        let target = self.target();
        let reaction = self.delay.rtt() + self.delay.window();
        let mut gain = (target - queue) / (2.0 * (reaction + 0.02));
        if self.calm_rounds > 1 && self.loss.rate < HEAVY_LOSS {
            // There is more to be had. Go for it, but so that overshooting would cost little more than the target
            // again.
            gain = (gain * f64::from(1u32 << self.calm_rounds.min(4))).min(target / reaction);
        }
        let lost = self.loss.rate.min(COMPENSATED_LOSS) * (2.0 - queue / target).clamp(0.0, 1.0);
        let rate = reading.delivered / (1.0 - lost) * (1.0 + gain.clamp(-0.5, 0.25));
        self.rate = if queue >= target {
            rate
        } else if reading.dry {
            rate.max(self.rate)
        } else {
            // Without a queue, a hole in what is delivered (a burst of losses) is no reason to fall at once.
            let elapsed = now.saturating_sub(self.updated).as_secs_f64();
            rate.max(self.rate * (1.0 - 0.25 * (elapsed / reaction).min(1.0)))
        };
    }

    fn drain(&mut self, now: Duration, length: f64) {
        self.delay.mark_seen(now);
        self.enter(Phase::Drain {
            until: now + seconds(length),
        });
    }

    fn settle(&mut self, now: Duration, length: f64) {
        self.enter(Phase::Settle {
            until: now + seconds(length),
        });
    }

    fn enter(&mut self, phase: Phase) {
        debug!(
            ?phase,
            bytes_per_s = self.rate as u64,
            "congestion control changes its phase"
        );
        self.phase = phase;
    }

    fn target(&self) -> f64 {
        let packets = (TARGET_PACKETS * self.packet / self.rate).min(TARGET_PACKETS_MAX_S);
        // With jitter of many milliseconds the queue is not known any better than this.
        TARGET_S + packets + (self.delay.noise() - 0.01).max(0.0)
    }

    fn pace(&mut self, now: Duration) {
        let packet = self.packet;
        let (rate, burst) = match self.phase {
            // Trains long enough to measure, short enough for whoever waits behind them.
            Phase::Startup => {
                let paced = (self.rate * 0.005).clamp(2.0 * packet, INITIAL_PACKETS * packet);
                (
                    self.rate,
                    Burst {
                        paced,
                        idle: INITIAL_PACKETS * packet,
                    },
                )
            }
            Phase::Drain { .. } => (
                0.5 * self.rate,
                Burst {
                    paced: ONE_BY_ONE,
                    idle: packet,
                },
            ),
            Phase::Cruise | Phase::Settle { .. } => {
                let paced = (self.rate * 0.001).clamp(ONE_BY_ONE, 16.0 * packet);
                (
                    self.rate,
                    Burst {
                        paced,
                        idle: (self.rate * 0.01).max(4.0 * packet),
                    },
                )
            }
        };
        self.pacer.set(now, rate, burst);
    }

    fn forget_oldest(&mut self) -> Option<Sent> {
        let oldest = self.sent.pop_front()?;
        if !oldest.lost {
            self.in_flight -= oldest.bytes as usize;
        }
        Some(oldest)
    }

    /// Seconds on the receiver's clock since its first reading.
    fn receive_time(&mut self, at_us: u32) -> f64 {
        let time = match self.clock {
            Some((last_us, time)) => time + i64::from(at_us.wrapping_sub(last_us) as i32),
            None => 0,
        };
        self.clock = Some((at_us, time));
        time as f64 / 1e6
    }
}

/// What the receiver took in lately.
#[derive(Clone, Copy)]
struct Reading {
    /// Bytes per second, over `span` seconds.
    delivered: f64,
    span: f64,
    /// The application had not enough to send in that time: it could have been more.
    dry: bool,
}

/// Share of bytes lost, averaged over some hundred packets.
#[derive(Default)]
struct LossRate {
    lost: f64,
    acked: f64,
    rate: f64,
}

impl LossRate {
    fn on_lost(&mut self, bytes: f64) {
        self.lost += bytes;
    }

    fn on_acked(&mut self, bytes: f64) {
        self.acked += bytes;
        let total = self.lost + self.acked;
        if total > 64_000.0 {
            self.rate += (self.lost / total - self.rate) / 8.0;
            (self.lost, self.acked) = (0.0, 0.0);
        }
    }
}

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value.clamp(0.0, 1e6))
}
