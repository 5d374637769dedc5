//! The published designs between two peers, over the links of netem: one owns the walker, the other throws.
//!
//! They run in steps of a quarter of a millisecond, as the published tests ran without pictures. Latency is estimated as half the round trip. Packets leave at
//! once for an event and 20 times a second, carry events again, and have no sequence numbers: what arrives last counts.

use std::time::Duration;

use samestep_netem::{Link, LinkConfig};
use samestep_sync::Rng;

use super::scenario::{BALL_FROM, BALL_SPEED, CAST, LENGTH, Outcome, RADIUS, SPEED, Try};

const STEP: Duration = Duration::from_micros(250);
const PACKETS_EVERY: Duration = Duration::from_millis(50);
const PING_EVERY: Duration = Duration::from_secs(1);
const PACKET_BYTES: usize = 20;

/// A published design.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Design {
    /// Everything takes effect a delay after it was made, and places are sent as they will be then.
    Position,
    /// One's own movement takes effect at once, everything else of one's own after twice the delay, what others do after one.
    History,
    /// Keys and how long they are held travel, and are pressed elsewhere for as long.
    Pairs,
    /// Inputs take effect in frames as long as the delay, and each packet has those of the last four.
    Frames,
}

/// What the walker's owner sends.
#[derive(Clone, Copy, Debug)]
struct Walked {
    place: f64,
    pressed: bool,
}

/// What the thrower sends: whether it has thrown, and hit.
#[derive(Clone, Copy, Debug)]
struct Thrown {
    thrown: bool,
    hit: bool,
}

/// A direction of the connection, and what is on its way.
struct Way<T> {
    link: Link,
    on_the_way: Vec<(Duration, T)>,
}

impl<T: Copy> Way<T> {
    fn send(&mut self, now: Duration, message: T) {
        let fate = self.link.send(now, PACKET_BYTES);
        for arrival in fate.arrivals.iter() {
            self.on_the_way.push((*arrival, message));
        }
    }

    fn arrived(&mut self, now: Duration) -> Vec<T> {
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
}

/// Half the round trip, smoothed.
#[derive(Default)]
struct Estimate {
    latency: Option<f64>,
    next: Duration,
}

impl Estimate {
    /// Pings at times; what a lost ping would have told is not learnt.
    fn ping(&mut self, now: Duration, there: &mut Link, back: &mut Link) {
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
    fn wait(&self, delay: Duration) -> Duration {
        let latency = Duration::from_secs_f64(self.latency.unwrap_or(0.0));
        delay.saturating_sub(latency)
    }
}

/// What a peer has of a try: its ball, and whether it saw it hit.
#[derive(Default)]
struct Ball {
    thrown: Option<Duration>,
    hit: bool,
}

impl Ball {
    /// Whether the ball hits now, for the first time.
    fn hits(&mut self, now: Duration, place: f64) -> bool {
        let Some(thrown) = self.thrown.filter(|thrown| now >= *thrown) else {
            return false;
        };
        let flown = (now - thrown).as_secs_f64() - CAST;
        let y = BALL_SPEED * flown - BALL_FROM;
        let hits = !self.hit && flown >= 0.0 && place.hypot(y) <= RADIUS;
        self.hit |= hits;
        hits
    }
}

/// Where the thrower has the walker.
#[derive(Default)]
struct Remote {
    place: f64,
    /// Places to come, and when they are reached.
    coming: Vec<(Duration, f64)>,
    /// The last three that were reached.
    reached: Vec<(Duration, f64)>,
    walks_from: Option<Duration>,
}

impl Remote {
    /// Moves to the next place that is known, or on in the direction of the last three.
    fn extrapolate(&mut self, now: Duration) {
        let (due, coming): (Vec<_>, Vec<_>) = self.coming.drain(..).partition(|(at, _)| *at <= now);
        self.coming = coming;
        for (at, place) in due {
            self.place = place;
            self.reached.push((at, place));
            let extra = self.reached.len().saturating_sub(3);
            self.reached.drain(..extra);
        }
        let step = STEP.as_secs_f64();
        if let Some((_, place)) = self.coming.last() {
            let most = SPEED * step;
            self.place += (place - self.place).clamp(-most, most);
        } else if let [(first, from), .., (last, to)] = self.reached[..]
            && last > first
        {
            self.place += (to - from) / (last - first).as_secs_f64() * step;
        }
    }
}

/// Plays so many tries.
pub fn play(
    design: Design,
    delay: Duration,
    link: &LinkConfig,
    tries: u64,
    seed: u64,
) -> Result<Outcome, String> {
    let mut rng = Rng::new(seed);
    let mut new_link =
        || Link::new(link.clone(), rng.next_u64()).map_err(|error| error.to_string());
    let mut there = Way::<Walked> {
        link: new_link()?,
        on_the_way: Vec::new(),
    };
    let mut back = Way::<Thrown> {
        link: new_link()?,
        on_the_way: Vec::new(),
    };
    let mut pings = (new_link()?, new_link()?);
    let mut estimate = Estimate::default();
    let frame = (design == Design::Frames && !delay.is_zero()).then_some(delay);
    // The end of the frame that something made at a time belongs to.
    let sampled = |at: Duration| match frame {
        Some(frame) => frame * at.as_nanos().div_ceil(frame.as_nanos()) as u32,
        None => at,
    };
    let (own_walk, own_event) = match design {
        Design::History => (Duration::ZERO, 2 * delay),
        Design::Position | Design::Pairs | Design::Frames => (delay, delay),
    };
    let ahead = match design {
        Design::Position => delay,
        Design::History | Design::Pairs | Design::Frames => Duration::ZERO,
    };
    let is_absolute = matches!(design, Design::Position | Design::History);
    let mut outcome = Outcome::default();
    for which in 0..tries {
        let begin = LENGTH * which as u32;
        let it = Try::random(&mut rng);
        let (walk, throw) = (sampled(begin + it.walk), sampled(begin + it.throw));
        let mut place = it.place;
        let mut remote = Remote {
            place,
            ..Remote::default()
        };
        // Everybody stands still when a try begins: what is on its way says nothing.
        there.on_the_way.clear();
        back.on_the_way.clear();
        let (mut at_owner, mut at_thrower) = (Ball::default(), Ball::default());
        let (mut next_packet, mut said_walk, mut said_throw) = (begin, false, false);
        let (mut hit, mut said_hit) = (None, false);
        let (mut hit_known, mut shown) = (None, (None, None));
        let mut now = begin;
        while now < begin + LENGTH {
            estimate.ping(now, &mut pings.0, &mut pings.1);
            let wait = estimate.wait(delay);
            let walks = now >= walk + own_walk;
            let step = STEP.as_secs_f64();
            place += if walks { SPEED * step } else { 0.0 };
            // The owner of the walker and the thrower send at once, and 20 times a second.
            let regular = now >= next_packet;
            next_packet += if regular {
                PACKETS_EVERY
            } else {
                Duration::ZERO
            };
            let pressed = now >= walk;
            if regular || (pressed && !said_walk) {
                let velocity = if walks { SPEED } else { 0.0 };
                let place = place + velocity * ahead.as_secs_f64();
                there.send(now, Walked { place, pressed });
                said_walk |= pressed;
            }
            let thrown = now >= throw;
            let is_news = (thrown && !said_throw) || (hit.is_some() && !said_hit);
            if regular || is_news {
                let hit = hit.is_some();
                back.send(now, Thrown { thrown, hit });
                (said_throw, said_hit) = (thrown, hit);
            }
            if thrown && at_thrower.thrown.is_none() {
                at_thrower.thrown = Some(throw + own_event);
            }
            for message in there.arrived(now) {
                if is_absolute {
                    remote.coming.push((now + wait, message.place));
                } else if message.pressed && remote.walks_from.is_none() {
                    let from = frame.map_or(now + wait, |_| (walk + delay).max(now));
                    // What a frame lacked is made up for while it is among the last four.
                    let is_kept = frame.is_none_or(|frame| now < walk + 4 * frame);
                    let late = now.saturating_sub(walk + delay).as_secs_f64();
                    if frame.is_some() && is_kept {
                        remote.place += SPEED * late;
                    }
                    remote.walks_from = Some(from);
                }
            }
            for message in back.arrived(now) {
                if message.thrown && at_owner.thrown.is_none() {
                    let executed = frame.map_or(now + wait, |_| (throw + delay).max(sampled(now)));
                    at_owner.thrown = Some(executed);
                }
                if message.hit && hit_known.is_none() {
                    hit_known = Some(now + wait);
                }
            }
            match is_absolute {
                true => remote.extrapolate(now),
                false if remote.walks_from.is_some_and(|from| now >= from) => {
                    remote.place += SPEED * step;
                }
                false => {}
            }
            at_owner.hits(now, place);
            if at_thrower.hits(now, remote.place) {
                hit = Some(now);
            }
            if shown.0.is_none() && hit.is_some_and(|hit| now >= hit + own_event) {
                shown.0 = Some(remote.place);
            }
            if shown.1.is_none() && hit_known.is_some_and(|known| now >= known) {
                shown.1 = Some(place);
            }
            now += STEP;
        }
        outcome.tries += 1;
        outcome.hits += u64::from(at_thrower.hit);
        outcome.agreed += u64::from(at_thrower.hit == at_owner.hit);
        if let (Some(ours), Some(theirs)) = shown {
            outcome.apart.push((ours - theirs).abs());
        }
        if let Some((one, other)) = at_owner.thrown.zip(at_thrower.thrown) {
            let apart = one.abs_diff(other).as_secs_f64() * 1e3;
            outcome.throw_apart_ms.push(apart);
        }
    }
    Ok(outcome)
}
