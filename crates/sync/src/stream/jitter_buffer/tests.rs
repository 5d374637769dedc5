//! The display clock on networks of all sorts.

extern crate std;

use std::println;

use super::*;
use crate::Rng;

/// A network, in milliseconds.
#[derive(Clone, Copy)]
struct Network {
    delay: f64,
    jitter: f64,
    loss: f64,
    /// Whether each packet is as late as the one before, but for a little.
    in_gusts: bool,
}

const LAN: Network = Network {
    delay: 0.3,
    jitter: 0.0,
    loss: 0.0,
    in_gusts: false,
};

/// What became of a stream.
#[derive(Debug, Default)]
struct Outcome {
    /// The share of time in which a page had nothing newer to go to.
    missing: f64,
    /// The mean delay after the beginning, and the greatest, in milliseconds.
    delay: f64,
    greatest: f64,
    /// How far from 1 the speed was, after the beginning.
    slowest: f64,
    fastest: f64,
}

/// Plays 60 s of a stream of 20 snapshots a second, each of `parts` parts, on a screen of 60 pictures a second. `sleeps` is when it is not
/// looked at, in seconds.
fn play(seed: u64, network: Network, parts: u32, sleeps: Option<(f64, f64)>) -> Outcome {
    let mut rng = Rng::new(seed);
    let mut way = arrivals(&mut rng, network, parts);
    way.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut playout = JitterBuffer::new(JitterBufferConfig::default());
    let mut outcome = Outcome {
        slowest: 1.0,
        fastest: 1.0,
        ..Outcome::default()
    };
    let mut newest = std::vec![0.0f64; parts as usize];
    let (mut missing, mut looks, mut next) = (0u64, 0u64, 0);
    let mut before: Option<(f64, f64)> = None;
    for picture in 0..3600 {
        let now = 100.0 + f64::from(picture) / 60.0;
        if sleeps.is_some_and(|(from, to)| (from..to).contains(&(now - 100.0))) {
            before = None;
            continue;
        }
        while let Some(&(at, tick_time, number)) = way.get(next).filter(|way| way.0 <= now) {
            // Read at once, or when it wakes up.
            let read_at = match sleeps {
                Some((from, to)) if (from..to).contains(&(at - 100.0)) => now,
                _ => at,
            };
            playout.handle_arrival(seconds(read_at), seconds(tick_time), number);
            let page = &mut newest[(number % parts) as usize];
            *page = page.max(tick_time);
            next += 1;
        }
        let Some(shown) = playout.display_time(seconds(now)) else {
            continue;
        };
        let shown = shown.as_secs_f64();
        let age = now - 100.0;
        if let Some((before, shown_before)) = before {
            assert!(shown >= shown_before, "backwards at {age}");
            if age > 3.0 {
                let speed = (shown - shown_before) / (now - before);
                outcome.slowest = outcome.slowest.min(speed);
                outcome.fastest = outcome.fastest.max(speed);
            }
        }
        before = Some((now, shown));
        if age > 3.0 {
            looks += u64::from(parts);
            missing += newest.iter().filter(|newest| **newest < shown).count() as u64;
            let delay = playout.delay().as_secs_f64() * 1e3;
            outcome.delay += delay * f64::from(parts);
            outcome.greatest = outcome.greatest.max(delay);
        }
    }
    outcome.missing = missing as f64 / looks as f64;
    outcome.delay /= looks as f64;
    outcome
}

/// When each part arrives that does, what time it tells of, and its number.
fn arrivals(rng: &mut Rng, network: Network, parts: u32) -> Vec<(f64, f64, u32)> {
    let mut way = Vec::new();
    let mut gust = 0.5;
    for snapshot in 0..1200u32 {
        let tick_time = 100.0 + f64::from(snapshot) * 0.05;
        for part in 0..parts {
            let drawn = f64::from(rng.unit());
            gust = match network.in_gusts {
                true => 0.9 * gust + 0.1 * drawn,
                false => drawn,
            };
            if f64::from(rng.unit()) >= network.loss {
                let delay = network.delay + network.jitter * (2.0 * gust - 1.0);
                way.push((
                    tick_time + delay.max(0.0) / 1e3,
                    tick_time,
                    snapshot * parts + part,
                ));
            }
        }
    }
    way
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Plays on several seeds; the mean.
fn trial(name: &str, network: Network, parts: u32) -> Outcome {
    let mut mean = Outcome {
        slowest: 1.0,
        fastest: 1.0,
        ..Outcome::default()
    };
    for seed in 0..8 {
        let outcome = play(seed, network, parts, None);
        mean.missing += outcome.missing / 8.0;
        mean.delay += outcome.delay / 8.0;
        mean.greatest = mean.greatest.max(outcome.greatest);
        mean.slowest = mean.slowest.min(outcome.slowest);
        mean.fastest = mean.fastest.max(outcome.fastest);
    }
    println!("{name}, {parts} parts: {mean:.4?}");
    assert!(mean.slowest >= 0.949 && mean.fastest <= 1.021, "{mean:?}");
    mean
}

#[test]
fn a_lan_is_shown_one_interval_late() {
    for parts in [1, 20] {
        let outcome = trial("LAN", LAN, parts);
        assert!(outcome.missing < 0.005, "{outcome:?}");
        assert!(outcome.greatest < 57.0, "{outcome:?}");
    }
}

#[test]
fn jitter_is_waited_for() {
    let network = Network {
        delay: 200.0,
        jitter: 100.0,
        ..LAN
    };
    for parts in [1, 20] {
        let outcome = trial("jitter", network, parts);
        assert!(outcome.missing < 0.01, "{outcome:?}");
        assert!((300.0..380.0).contains(&outcome.delay), "{outcome:?}");
        let outcome = trial(
            "jitter in gusts",
            Network {
                in_gusts: true,
                ..network
            },
            parts,
        );
        assert!(outcome.missing < 0.015, "{outcome:?}");
        assert!(outcome.delay < 340.0, "{outcome:?}");
    }
}

#[test]
fn loss_is_waited_for_as_long_as_it_is_likely() {
    let network = Network {
        delay: 20.0,
        loss: 0.1,
        ..LAN
    };
    for parts in [1, 20] {
        let outcome = trial("loss", network, parts);
        assert!(outcome.missing < 0.01, "{outcome:?}");
        assert!((120.0..190.0).contains(&outcome.delay), "{outcome:?}");
    }
}

#[test]
fn jitter_and_loss_come_together() {
    let network = Network {
        delay: 200.0,
        jitter: 100.0,
        loss: 0.1,
        in_gusts: false,
    };
    for parts in [1, 20] {
        let outcome = trial("jitter and loss", network, parts);
        assert!(outcome.missing < 0.015, "{outcome:?}");
        assert!(outcome.delay < 450.0, "{outcome:?}");
    }
}

#[test]
fn a_tab_that_was_hidden_goes_on_as_before() {
    let network = Network {
        delay: 40.0,
        jitter: 10.0,
        ..LAN
    };
    for seed in 0..8 {
        let outcome = play(seed, network, 4, Some((20.0, 30.0)));
        println!("hidden: {outcome:.4?}");
        assert!(outcome.missing < 0.01, "{outcome:?}");
        assert!(outcome.greatest < 115.0, "{outcome:?}");
        assert!(outcome.slowest >= 0.949, "{outcome:?}");
    }
}

#[test]
fn a_network_that_is_away_for_a_while_changes_nothing_for_good() {
    let mut playout = JitterBuffer::new(JitterBufferConfig::default());
    let mut shown = Duration::ZERO;
    for ms in 0..40_000u64 {
        let now = Duration::from_millis(50_000 + ms);
        if ms % 50 == 20 && !(10_000..14_000).contains(&ms) {
            let tick_time = now - Duration::from_millis(20);
            playout.handle_arrival(now, tick_time, (ms / 50) as u32);
        }
        if let Some(time) = playout.display_time(now) {
            assert!(time >= shown);
            shown = time;
        }
    }
    assert!(playout.delay() < Duration::from_millis(80), "{playout:?}");
}

#[test]
fn a_fixed_delay_is_that_delay() {
    let delay = Duration::from_millis(150);
    let mut playout = JitterBuffer::new(JitterBufferConfig {
        delay: InterpolationDelay::Fixed(delay),
        ..JitterBufferConfig::default()
    });
    let mut rng = Rng::new(1);
    for tick in 0..500u32 {
        let now = Duration::from_millis(10_000 + 50 * u64::from(tick));
        let late = Duration::from_millis(u64::from(rng.below(400)));
        playout.handle_arrival(now, now - late, tick);
        assert_eq!(playout.display_time(now), Some(now - delay));
    }
}

#[test]
fn clocks_that_are_off_do_no_harm() {
    // By the common clock, parts arrive before they were sent.
    let mut playout = JitterBuffer::new(JitterBufferConfig::default());
    for number in 0..400u32 {
        let now = Duration::from_millis(10_000 + 50 * u64::from(number));
        playout.handle_arrival(now, now + Duration::from_millis(80), number);
        let shown = playout.display_time(now).expect("something has arrived");
        assert!(shown <= now + Duration::from_millis(80));
    }
    assert_eq!(playout.delay(), Duration::ZERO);
    let now = Duration::from_millis(10_000 + 50 * 400);
    let shown = playout.display_time(now).expect("something has arrived");
    assert!(shown > now, "{playout:?}");
}
