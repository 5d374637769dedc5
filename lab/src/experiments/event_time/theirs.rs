//! Events in the published design: a receiver waits for what the delay exceeds half the round trip by.

use std::time::Duration;

use samestep_netem::{Link, LinkConfig};
use samestep_sync::Rng;

use super::{Outcome, Room, Ways};
use crate::experiments::fireball::published::{Estimate, PACKET_BYTES, PACKETS_EVERY};

/// The way from one player to another, and what that one thinks that it takes.
struct Pair {
    there: Link,
    pings: (Link, Link),
    estimate: Estimate,
}

pub(super) fn play(room: &Room, ways: &Ways, delay: Duration) -> Result<Outcome, String> {
    let mut rng = Rng::new(room.seed);
    let mut new_link = |link: &LinkConfig| {
        Link::new(link.clone(), rng.next_u64()).map_err(|error| error.to_string())
    };
    let mut pairs = Vec::new();
    for one in 0..room.players {
        for other in 0..room.players {
            let link = ways.of(one, other);
            pairs.push(Pair {
                there: new_link(link)?,
                pings: (new_link(link)?, new_link(link)?),
                estimate: Estimate::default(),
            });
        }
    }
    let mut outcome = Outcome::default();
    let period = Duration::from_secs_f64(1.0 / room.events_per_second);
    let count = (room.seconds * room.events_per_second) as u32;
    for number in 0..count {
        let at = period * number + period.mul_f32(rng.unit());
        let by = rng.below(room.players.into()) as usize;
        let (mut first, mut last, mut is_late) = (at + delay, at + delay, false);
        for other in (0..usize::from(room.players)).filter(|other| *other != by) {
            let pair = &mut pairs[by * usize::from(room.players) + other];
            pair.estimate.ping(at, &mut pair.pings.0, &mut pair.pings.1);
            // The packets that follow carry the event again, until one arrives.
            let mut sent = at;
            let arrived = loop {
                let fate = pair.there.send(sent, PACKET_BYTES);
                if let Some(arrived) = fate.arrivals.iter().min() {
                    break *arrived;
                }
                sent += PACKETS_EVERY;
            };
            let executed = arrived + pair.estimate.wait(delay);
            is_late |= arrived > at + delay;
            (first, last) = (first.min(executed), last.max(executed));
        }
        outcome.spread_ms.push((last - first).as_secs_f64() * 1e3);
        outcome.late += u64::from(is_late);
    }
    Ok(outcome)
}
