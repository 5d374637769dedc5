//! The races in the published design: each sees its own player exactly and the other's where the last packets say, and the synchronisation service of
//! the owner takes what the owner sees.

use std::time::Duration;

use samestep_netem::{Distribution, Jitter, Link, LinkConfig};
use samestep_sync::Rng;

use super::Outcome;
use super::races::{DISTANCE, REACH, SPEED, starts};
use crate::experiments::fireball::published::{Estimate, PACKET_BYTES, PACKETS_EVERY, Remote, Way};

/// The published tests ran at 16,000 pictures a second.
const STEP: Duration = Duration::from_nanos(62_500);
/// What two machines add to each packet: so much, and as much at random on average.
const MACHINES: (Duration, Duration) = (Duration::from_micros(500), Duration::from_micros(260));
/// How long a race lasts beyond the delays.
const LENGTH: Duration = Duration::from_millis(1800);

/// What a player's program sees of a race.
#[derive(Default)]
struct View {
    /// How far its own player has come.
    own: f64,
    remote: Remote,
    /// When its own player and the other came to the power-up.
    reached: [Option<Duration>; 2],
}

/// Runs so many races. Each player starts up to twice `clocks` late.
pub fn play(
    delay: Duration,
    links: [&LinkConfig; 2],
    lead: Duration,
    clocks: Duration,
    races: u64,
    seed: u64,
) -> Result<Outcome, String> {
    let mut rng = Rng::new(seed);
    let mut new_link = |link: &LinkConfig| {
        let mut link = link.clone();
        link.latency += MACHINES.0;
        if link.jitter.amount.is_zero() {
            link.jitter = Jitter {
                amount: MACHINES.1,
                distribution: Distribution::Exponential,
            };
        }
        Link::new(link, rng.next_u64()).map_err(|error| error.to_string())
    };
    let mut ways = [Way::new(new_link(links[0])?), Way::new(new_link(links[1])?)];
    let mut pings = [
        (new_link(links[0])?, new_link(links[1])?),
        (new_link(links[1])?, new_link(links[0])?),
    ];
    let mut estimates = [Estimate::default(), Estimate::default()];
    let mut outcome = Outcome::default();
    let length = LENGTH + delay + 2 * links[0].latency.max(links[1].latency);
    for which in 0..races {
        let begin = length.mul_f64(which as f64);
        // Clocks of whole milliseconds differ by up to one, the less the likelier.
        let mut wrong = || clocks.mul_f32(2.0 * rng.unit());
        let starts = starts(seed, which, lead).map(|start| begin + start + wrong());
        let mut next_packet = [0, 1].map(|_| begin + PACKETS_EVERY.mul_f32(rng.unit()));
        let mut views = [View::default(), View::default()];
        let mut told = [false; 2];
        ways.iter_mut().for_each(Way::clear);
        let mut now = begin;
        while now < begin + length {
            for me in 0..2 {
                let (there, back) = &mut pings[me];
                estimates[me].ping(now, there, back);
                let walks = now >= starts[me] + delay;
                let speed = if walks { SPEED } else { 0.0 };
                views[me].own += speed * STEP.as_secs_f64();
                // Who changes direction says so at once, where it will be after the delay.
                let is_news = now >= starts[me] && !told[me];
                if now >= next_packet[me] || is_news {
                    told[me] |= is_news;
                    if now >= next_packet[me] {
                        next_packet[me] += PACKETS_EVERY;
                    }
                    let place = views[me].own + speed * delay.as_secs_f64();
                    ways[me].send(now, PACKET_BYTES, place);
                }
            }
            for me in 0..2 {
                let wait = estimates[me].wait(delay);
                let view = &mut views[me];
                for place in ways[1 - me].arrived(now) {
                    view.remote.expect(now + wait, place);
                }
                view.remote.extrapolate(now, STEP, SPEED);
                let there = DISTANCE - REACH;
                let places = [view.own, view.remote.place];
                for (reached, place) in view.reached.iter_mut().zip(places) {
                    if reached.is_none() && place >= there {
                        *reached = Some(now);
                    }
                }
            }
            if views
                .iter()
                .all(|view| view.reached.iter().all(Option::is_some))
            {
                break;
            }
            now += STEP;
        }
        judge(&views, delay, &mut outcome);
    }
    Ok(outcome)
}

fn judge(views: &[View; 2], delay: Duration, outcome: &mut Outcome) {
    // Who sees itself first, or at the same time as the other: one's own player is looked at first.
    let sees_itself = |view: &View| match view.reached {
        [Some(own), Some(other)] => own <= other,
        [own, _] => own.is_some(),
    };
    let winners = [
        usize::from(!sees_itself(&views[0])),
        usize::from(sees_itself(&views[1])),
    ];
    // The second player owns the power-up: requests of the other are dropped, so that exactly one has it.
    let winner = winners[1];
    let agreed = winners[0] == winners[1];
    outcome.races += 1;
    outcome.one_winner += 1;
    outcome.agreed += u64::from(agreed);
    outcome.owner_wins += u64::from(winner == 1);
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    outcome.input_delay_ms.push(ms(delay));
    let [own, other] = views[1 - winner].reached;
    if !agreed && let Some((own, other)) = own.zip(other) {
        outcome.disagreed_ms.push(ms(own.abs_diff(other)));
    }
}
