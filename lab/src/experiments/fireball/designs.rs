//! The published designs between two peers, over the links of netem: one owns the walker, the other throws.
//!
//! They run in steps of a quarter of a millisecond, as the published tests ran without pictures. Latency is estimated as half the round trip. Packets leave at
//! once for an event and 20 times a second, carry events again, and have no sequence numbers: what arrives last counts.

use std::time::Duration;

use samestep_netem::{Link, LinkConfig};
use samestep_sync::Rng;

use super::published::{Estimate, PACKET_BYTES, PACKETS_EVERY, Remote, Way};
use super::scenario::{BALL_FROM, BALL_SPEED, CAST, Outcome, RADIUS, SPEED, Try};
use crate::delay_room::tries::LENGTH;

const STEP: Duration = Duration::from_micros(250);

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

/// The designs by their names.
pub const DESIGNS: [(&str, Design); 4] = [
    ("position", Design::Position),
    ("history", Design::History),
    ("pairs", Design::Pairs),
    ("frames", Design::Frames),
];

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

/// What a peer has of a try: its ball, and whether it saw it hit.
#[derive(Default)]
struct Ball {
    thrown: Option<Duration>,
    hit: Option<Duration>,
}

impl Ball {
    /// Whether the ball hits now, for the first time.
    fn hits(&mut self, now: Duration, place: f64) -> bool {
        let Some(thrown) = self.thrown.filter(|thrown| now >= *thrown) else {
            return false;
        };
        let flown = (now - thrown).as_secs_f64() - CAST;
        let y = BALL_SPEED * flown - BALL_FROM;
        let hits = self.hit.is_none() && flown >= 0.0 && place.hypot(y) <= RADIUS;
        if hits {
            self.hit = Some(now);
        }
        hits
    }
}

/// Plays so many tries.
pub fn play(
    design: Design,
    delay: Duration,
    links: [&LinkConfig; 2],
    tries: u64,
    seed: u64,
) -> Result<Outcome, String> {
    let mut rng = Rng::new(seed);
    let mut new_link = |link: &LinkConfig| {
        Link::new(link.clone(), rng.next_u64()).map_err(|error| error.to_string())
    };
    let mut there = Way::<Walked>::new(new_link(links[0])?);
    let mut back = Way::<Thrown>::new(new_link(links[1])?);
    let mut pings = (new_link(links[0])?, new_link(links[1])?);
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
        let begin = LENGTH.mul_f64(which as f64);
        let it = Try::of(seed, which);
        let (walk, throw) = (sampled(begin + it.walk), sampled(begin + it.throw));
        let mut place = it.place;
        let mut remote = Remote::at(place);
        let mut remote_walks_from: Option<Duration> = None;
        // Everybody stands still when a try begins: what is on its way says nothing.
        there.clear();
        back.clear();
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
                there.send(now, PACKET_BYTES, Walked { place, pressed });
                said_walk |= pressed;
            }
            let thrown = now >= throw;
            let is_news = (thrown && !said_throw) || (hit.is_some() && !said_hit);
            if regular || is_news {
                let hit = hit.is_some();
                back.send(now, PACKET_BYTES, Thrown { thrown, hit });
                (said_throw, said_hit) = (thrown, hit);
            }
            if thrown && at_thrower.thrown.is_none() {
                at_thrower.thrown = Some(throw + own_event);
            }
            for message in there.arrived(now) {
                if is_absolute {
                    remote.expect(now + wait, message.place);
                } else if message.pressed && remote_walks_from.is_none() {
                    let from = frame.map_or(now + wait, |_| (walk + delay).max(now));
                    // What a frame lacked is made up for while it is among the last four.
                    let is_kept = frame.is_none_or(|frame| now < walk + 4 * frame);
                    let late = now.saturating_sub(walk + delay).as_secs_f64();
                    if frame.is_some() && is_kept {
                        remote.place += SPEED * late;
                    }
                    remote_walks_from = Some(from);
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
                true => remote.extrapolate(now, STEP, SPEED),
                false if remote_walks_from.is_some_and(|from| now >= from) => {
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
        outcome.hits += u64::from(at_thrower.hit.is_some());
        outcome.agreed += u64::from(at_thrower.hit.is_some() == at_owner.hit.is_some());
        // Who threw decides: until the other is told, it may hold something else.
        let differed = match (at_thrower.hit, at_owner.hit) {
            (Some(one), Some(other)) => Some(one.abs_diff(other)),
            (Some(hit), None) => hit_known.map(|known| known.abs_diff(hit)),
            (None, Some(_)) => None,
            (None, None) => Some(Duration::ZERO),
        };
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        if let Some(differed) = differed {
            outcome.disagreed_ms.push(ms(differed));
        }
        outcome.input_delay_ms.push(ms(own_event));
        if let (Some(ours), Some(theirs)) = shown {
            outcome.apart.push((ours - theirs).abs());
        }
        if let Some((one, other)) = at_owner.thrown.zip(at_thrower.thrown) {
            let apart = one.abs_diff(other).as_secs_f64() * 1e3;
            outcome.events_apart_ms.push(apart);
        }
    }
    outcome.bytes = (there.bytes() + back.bytes()) / 2;
    outcome.seconds = LENGTH.as_secs_f64() * tries as f64;
    Ok(outcome)
}
