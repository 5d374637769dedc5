//! A small discrete-event network for the tests: flows over one bottleneck, with the acknowledgement policy and the
//! time-based loss detection of a connection.

use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use crate::congestion::{Ack, Congestion};

const MAX_PACKET: usize = 1200;
/// Header and tag of a packet, and what a message adds to its payload.
const PACKET_OVERHEAD: usize = 25;
const MESSAGE_OVERHEAD: usize = 2;
const IP_UDP: usize = 28;

/// The way both directions behave; only the forward one has a bottleneck.
#[derive(Clone)]
pub struct Path {
    pub rate_bps: f64,
    pub queue: Duration,
    pub latency: Duration,
    pub jitter: Duration,
    pub loss: f64,
    /// Every so often, for so long, everything is lost.
    pub outage: Option<(Duration, Duration)>,
    /// The rate from this time on.
    pub changes: Vec<(Duration, f64)>,
}

/// What one flow wants to send.
#[derive(Clone, Default)]
pub struct App {
    pub start: Duration,
    /// Unreliable messages at 60 Hz: bytes each, how many per second.
    pub message_bytes: usize,
    pub messages_per_s: f64,
    /// Messages older than this are dropped at the sender.
    pub stale: Duration,
    /// A reliable block and when it begins.
    pub block_bytes: usize,
    pub block_at: Duration,
}

/// What a flow saw.
#[derive(Default)]
pub struct Report {
    /// (sent, latency) of every delivered message.
    pub latencies: Vec<(Duration, Duration)>,
    /// (sent, waiting time) of every packet that entered the bottleneck.
    pub waits: Vec<(Duration, Duration)>,
    /// (time, wire bytes) through the bottleneck.
    pub wire: Vec<(Duration, usize)>,
    pub payload_bytes: usize,
    pub offered: usize,
    pub stale_dropped: usize,
    pub block_done: Option<Duration>,
    pub packets: usize,
    pub lost: usize,
    pub spurious: usize,
}

impl Report {
    pub fn wire_bps(&self, from: Duration, to: Duration) -> f64 {
        let bytes: usize = self
            .wire
            .iter()
            .filter(|w| w.0 >= from && w.0 < to)
            .map(|w| w.1)
            .sum();
        bytes as f64 * 8.0 / (to - from).as_secs_f64()
    }
    pub fn wait(&self, quantile: f64, from: Duration, to: Duration) -> Duration {
        percentile(&self.waits, quantile, from, to)
    }
    pub fn latency(&self, quantile: f64, from: Duration, to: Duration) -> Duration {
        percentile(&self.latencies, quantile, from, to)
    }
}

fn percentile(
    of: &[(Duration, Duration)],
    quantile: f64,
    from: Duration,
    to: Duration,
) -> Duration {
    let mut values: Vec<_> = of
        .iter()
        .filter(|v| v.0 >= from && v.0 < to)
        .map(|v| v.1)
        .collect();
    values.sort();
    let at = ((values.len() as f64 * quantile).ceil() as usize).clamp(1, values.len().max(1)) - 1;
    values.get(at).copied().unwrap_or_default()
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Tick(usize),
    BlockStart(usize),
    Wake(usize),
    LossTimer(usize),
    Arrive(usize, u64),
    AckTimer(usize, u64),
    /// Flow, how much of its arrival log it covers, largest packet, when that arrived, delay since.
    AckArrive(usize, usize, u64, Duration, Duration),
}

struct Packet {
    sent: Duration,
    bytes: usize,
    messages: Vec<(Duration, usize)>,
    block: usize,
    acked: bool,
    lost: bool,
}

struct Flow {
    app: App,
    cc: Congestion,
    rng: Rng,
    queue: VecDeque<(Duration, usize)>,
    carry: f64,
    block_left: usize,
    block_delivered: usize,
    packets: Vec<Packet>,
    first_open: usize,
    newest_acked_sent: Duration,
    srtt: f64,
    rttvar: f64,
    late: f64,
    log_seen: usize,
    wake_at: Option<Duration>,
    timer_at: Option<Duration>,
    // receiver
    log: Vec<u64>,
    arrived: Vec<bool>,
    largest: Option<(u64, Duration)>,
    unacked: usize,
    ack_epoch: u64,
    report: Report,
}

pub struct World {
    path: Path,
    free_at: Duration,
    flows: Vec<Flow>,
    events: BinaryHeap<std::cmp::Reverse<(Duration, u64, Event)>>,
    serial: u64,
    now: Duration,
}

/// xorshift*, enough for tests.
pub struct Rng(u64);
impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }
    pub fn f64(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl World {
    pub fn new(path: Path, apps: &[App], seed: u64) -> Self {
        let mut world = Self {
            path,
            free_at: Duration::ZERO,
            flows: Vec::new(),
            events: BinaryHeap::new(),
            serial: 0,
            now: Duration::ZERO,
        };
        for (i, app) in apps.iter().enumerate() {
            world.flows.push(Flow {
                cc: Congestion::new(app.start, MAX_PACKET),
                app: app.clone(),
                rng: Rng::new(seed * 31 + i as u64),
                queue: VecDeque::new(),
                carry: 0.0,
                block_left: 0,
                block_delivered: 0,
                packets: Vec::new(),
                first_open: 0,
                newest_acked_sent: Duration::ZERO,
                srtt: 0.0,
                rttvar: 0.0,
                late: 0.0,
                log_seen: 0,
                wake_at: None,
                timer_at: None,
                log: Vec::new(),
                arrived: Vec::new(),
                largest: None,
                unacked: 0,
                ack_epoch: 0,
                report: Report::default(),
            });
            if app.messages_per_s > 0.0 {
                world.at(app.start, Event::Tick(i));
            }
            if app.block_bytes > 0 {
                world.at(app.block_at, Event::BlockStart(i));
            }
        }
        world
    }

    fn at(&mut self, when: Duration, event: Event) {
        self.serial += 1;
        self.events
            .push(std::cmp::Reverse((when, self.serial, event)));
    }

    /// Runs until `end`, or until all blocks are done if there are any.
    pub fn run(mut self, end: Duration) -> Vec<Report> {
        let blocks = self.flows.iter().any(|f| f.app.block_bytes > 0);
        while let Some(std::cmp::Reverse((when, _, event))) = self.events.pop() {
            if when > end {
                break;
            }
            self.now = when;
            if let Some(&(at, rate)) = self.path.changes.first()
                && when >= at
            {
                // What waits now leaves at the new rate.
                let waiting =
                    self.free_at.saturating_sub(when).as_secs_f64() * self.path.rate_bps / rate;
                self.free_at = when + Duration::from_secs_f64(waiting);
                self.path.rate_bps = rate;
                self.path.changes.remove(0);
            }
            self.handle(event);
            if blocks
                && self
                    .flows
                    .iter()
                    .all(|f| f.app.block_bytes == 0 || f.report.block_done.is_some())
            {
                break;
            }
        }
        self.flows.into_iter().map(|f| f.report).collect()
    }

    fn handle(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Tick(i) => {
                let flow = &mut self.flows[i];
                flow.carry += flow.app.messages_per_s / 60.0;
                while flow.carry >= 1.0 {
                    flow.carry -= 1.0;
                    flow.queue.push_back((now, flow.app.message_bytes));
                    flow.report.offered += 1;
                }
                self.at(now + Duration::from_nanos(16_666_667), Event::Tick(i));
                self.send(i);
            }
            Event::BlockStart(i) => {
                self.flows[i].block_left = self.flows[i].app.block_bytes;
                self.send(i);
            }
            Event::Wake(i) => {
                if self.flows[i].wake_at == Some(now) {
                    self.flows[i].wake_at = None;
                    self.send(i);
                }
            }
            Event::LossTimer(i) => {
                if self.flows[i].timer_at == Some(now) {
                    self.flows[i].timer_at = None;
                    self.detect_loss(i);
                    self.send(i);
                }
            }
            Event::Arrive(i, number) => self.arrive(i, number),
            Event::AckTimer(i, epoch) => {
                if self.flows[i].ack_epoch == epoch && self.flows[i].unacked > 0 {
                    self.acknowledge(i);
                }
            }
            Event::AckArrive(i, covers, largest, arrived, delay) => {
                self.acked(i, covers, largest, arrived, delay)
            }
        }
    }

    fn send(&mut self, i: usize) {
        let now = self.now;
        loop {
            let flow = &mut self.flows[i];
            while flow
                .queue
                .front()
                .is_some_and(|m| now - m.0 > flow.app.stale)
            {
                flow.queue.pop_front();
                flow.report.stale_dropped += 1;
            }
            if flow.queue.is_empty() && flow.block_left == 0 {
                break;
            }
            let budget = flow.cc.budget(now).min(MAX_PACKET);
            if budget < 200 {
                if let Some(at) = flow.cc.next_send(now) {
                    let at = at.max(now + Duration::from_micros(10));
                    if flow.wake_at.is_none_or(|w| w > at) {
                        flow.wake_at = Some(at);
                        self.at(at, Event::Wake(i));
                    }
                }
                break;
            }
            let mut room = budget - PACKET_OVERHEAD;
            let mut messages = Vec::new();
            while let Some(&(at, bytes)) = flow.queue.front() {
                if bytes + MESSAGE_OVERHEAD > room {
                    break;
                }
                room -= bytes + MESSAGE_OVERHEAD;
                messages.push((at, bytes));
                flow.queue.pop_front();
            }
            let block = flow.block_left.min(room);
            flow.block_left -= block;
            room -= block;
            let bytes = budget - room;
            let number = flow.packets.len() as u64;
            flow.packets.push(Packet {
                sent: now,
                bytes,
                messages,
                block,
                acked: false,
                lost: false,
            });
            flow.arrived.push(false);
            flow.report.packets += 1;
            let backlog = !flow.queue.is_empty() || flow.block_left > 0;
            flow.cc.on_sent(now, number, bytes, backlog);
            self.transmit(i, number, bytes + IP_UDP);
        }
        if self.flows[i].timer_at.is_none() {
            self.arm(i);
        }
    }

    fn transmit(&mut self, i: usize, number: u64, wire: usize) {
        let now = self.now;
        let flow = &mut self.flows[i];
        let out = self
            .path
            .outage
            .is_some_and(|(every, length)| now.as_nanos() % every.as_nanos() < length.as_nanos());
        if out || flow.rng.f64() < self.path.loss {
            return;
        }
        let wait = self.free_at.saturating_sub(now);
        if wait > self.path.queue {
            return;
        }
        self.free_at = now + wait + Duration::from_secs_f64(wire as f64 * 8.0 / self.path.rate_bps);
        flow.report.waits.push((now, wait));
        flow.report.wire.push((self.free_at, wire));
        let arrival = self.free_at + self.path.latency + self.path.jitter.mul_f64(flow.rng.f64());
        self.at(arrival, Event::Arrive(i, number));
    }

    fn arrive(&mut self, i: usize, number: u64) {
        let now = self.now;
        let flow = &mut self.flows[i];
        let packet = &flow.packets[number as usize];
        for &(at, bytes) in &packet.messages {
            flow.report.latencies.push((at, now - at));
            flow.report.payload_bytes += bytes;
        }
        flow.block_delivered += packet.block;
        if packet.lost {
            // Sent again already: the copy counts, this one does not.
            flow.block_delivered -= packet.block;
        }
        if flow.app.block_bytes > 0
            && flow.block_delivered >= flow.app.block_bytes
            && flow.report.block_done.is_none()
        {
            flow.report.block_done = Some(now);
        }
        flow.arrived[number as usize] = true;
        flow.log.push(number);
        flow.unacked += 1;
        let gap = match flow.largest {
            Some((largest, _)) => number > largest + 1,
            None => false,
        };
        if flow.largest.is_none_or(|l| number > l.0) {
            flow.largest = Some((number, now));
        }
        let first = flow.unacked == 1;
        let epoch = flow.ack_epoch;
        if flow.unacked >= 8 || gap {
            self.acknowledge(i);
        } else if first {
            self.at(now + Duration::from_millis(20), Event::AckTimer(i, epoch));
        }
    }

    fn acknowledge(&mut self, i: usize) {
        let now = self.now;
        let flow = &mut self.flows[i];
        flow.unacked = 0;
        flow.ack_epoch += 1;
        let Some((largest, arrived)) = flow.largest else {
            return;
        };
        let covers = flow.log.len();
        if flow.rng.f64() < self.path.loss {
            return;
        }
        let at = now + self.path.latency + self.path.jitter.mul_f64(flow.rng.f64());
        self.at(
            at,
            Event::AckArrive(i, covers, largest, arrived, now - arrived),
        );
    }

    fn acked(&mut self, i: usize, covers: usize, largest: u64, arrived: Duration, delay: Duration) {
        let now = self.now;
        let flow = &mut self.flows[i];
        if covers <= flow.log_seen {
            return;
        }
        let (mut bytes, mut packets, mut newest) = (0, 0, 0);
        for &number in &flow.log[flow.log_seen..covers] {
            let packet = &mut flow.packets[number as usize];
            packet.acked = true;
            if packet.lost {
                flow.report.spurious += 1;
            }
            bytes += packet.bytes;
            packets += 1;
            // Reordering shows in how late a packet is acknowledged, not in the round trips of the newest.
            flow.late = flow.late.max((now - packet.sent).as_secs_f64() - flow.srtt);
            newest = newest.max(number);
        }
        flow.log_seen = covers;
        flow.late -= flow.late * packets as f64 / 1024.0;
        let sent_at = flow.packets[newest as usize].sent;
        flow.newest_acked_sent = flow.newest_acked_sent.max(sent_at);
        let rtt = (newest == largest).then(|| now - sent_at - delay);
        if let Some(rtt) = rtt {
            let rtt = rtt.as_secs_f64();
            if flow.srtt == 0.0 {
                flow.srtt = rtt;
                flow.rttvar = rtt / 4.0;
            }
            flow.rttvar += ((rtt - flow.srtt).abs() - flow.rttvar) / 32.0;
            flow.srtt += (rtt - flow.srtt) / 16.0;
        }
        // The receiver's clock is far off ours and about to wrap.
        let received_at_us = (arrived.as_micros() as u32).wrapping_add(u32::MAX - 1_500_000);
        let ack = Ack {
            largest: newest,
            sent_at,
            received_at_us,
            ack_delay: delay,
            rtt,
            newly_acked_bytes: bytes,
            newly_acked_packets: packets,
        };
        flow.cc.on_ack(now, &ack);
        self.detect_loss(i);
        self.send(i);
    }

    fn deadline(flow: &Flow, packet: &Packet) -> Duration {
        let wait = flow.srtt + (4.0 * flow.rttvar).max(flow.late).max(0.005);
        let tail = if packet.sent <= flow.newest_acked_sent {
            0.0
        } else {
            0.045
        };
        packet.sent + Duration::from_secs_f64(if flow.srtt == 0.0 { 0.5 } else { wait + tail })
    }

    fn detect_loss(&mut self, i: usize) {
        let now = self.now;
        let flow = &mut self.flows[i];
        while flow
            .packets
            .get(flow.first_open)
            .is_some_and(|p| p.acked || p.lost)
        {
            flow.first_open += 1;
        }
        for number in flow.first_open..flow.packets.len() {
            let packet = &flow.packets[number];
            if packet.acked || packet.lost {
                continue;
            }
            if Self::deadline(flow, packet) > now {
                break;
            }
            flow.packets[number].lost = true;
            flow.report.lost += 1;
            let packet = &flow.packets[number];
            // A block's bytes go again, unless they arrived and only the acknowledgement is missing.
            flow.block_left += packet.block;
            if flow.arrived[number] {
                flow.block_delivered -= packet.block;
            }
            let bytes = packet.bytes;
            flow.cc.on_lost(now, number as u64, bytes);
        }
        self.arm(i);
    }

    fn arm(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        let next = flow.packets[flow.first_open..]
            .iter()
            .find(|p| !p.acked && !p.lost);
        if let Some(packet) = next {
            let at = Self::deadline(flow, packet).max(self.now + Duration::from_micros(10));
            if flow.timer_at.is_none_or(|t| t > at) {
                flow.timer_at = Some(at);
                self.at(at, Event::LossTimer(i));
            }
        }
    }
}
